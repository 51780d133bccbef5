#!/usr/bin/env bats
# sbx-plan --format kubernetes: every label of the corpus, what kubectl printed of a real cluster, what is refused.

load ../helpers

setup_file() {
	export CORPUS=$BATS_TEST_DIRNAME/../corpus/kubernetes REPLIES=$BATS_FILE_TMPDIR/replies TEXTS=$BATS_FILE_TMPDIR/texts
	mkdir "$BATS_FILE_TMPDIR/cases"
	split_cases
	judge_cases
}

# Each case as a file of its lines; their names are the numbers of the lines in the corpus.
split_cases() {
	local number=0 line
	while IFS= read -r line; do
		case $line in
		case) number=$((number + 1)) ;;
		*) printf '%s\n' "$line" >>"$BATS_FILE_TMPDIR/cases/$number" ;;
		esac
	done < <(jq -r '"case", (.lines[] | tojson)' "$CORPUS/cases.jsonl")
	export CASES=$number
}

judge_cases() {
	local number
	for number in $(seq "$CASES"); do
		sbx-plan --format kubernetes <"$BATS_FILE_TMPDIR/cases/$number" || echo '{}'
		sbx-plan --format kubernetes --text <"$BATS_FILE_TMPDIR/cases/$number" >>"$TEXTS"
	done >"$REPLIES"
}

# labels FILTER: nothing comes out of FILTER, which sees each case as .case and our reply to it as .got.
labels() {
	run jq -rn --slurpfile cases "$CORPUS/cases.jsonl" --slurpfile replies "$REPLIES" '
		{safe: 0, review: 1, destructive: 2} as $rank
		| range($cases | length) | {case: $cases[.], got: $replies[.]} | select('"$1"')
		| "\(.case.name): \(.got | [.verdict, .data_destroyed, (.findings | map([.address, .signals]))])"'
	assert_equal "$status $output" "0 "
}

# judge RC [LINE...]: run it with these lines on stdin.
judge() {
	local want=$1
	shift
	printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/in"
	run_sbx "$want" sh -c 'exec sbx-plan -f kubernetes <"$1"' - "$BATS_TEST_TMPDIR/in"
}

# object [METADATA [MORE]]: a ConfigMap with these members of its metadata beside its name, and these of its own.
object() {
	printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"web"%s}%s}' "${1-,\"uid\":\"u\"}" "${2-}"
}

@test "corpus: every finding has the signals of its label, and nothing else has one" {
	[ "$CASES" -ge 120 ]
	assert_equal "$(wc -l <"$REPLIES")" "$CASES"
	labels '(.got.findings | map({key: .address, value: (.signals | sort)}) | from_entries) != (.case.findings | map_values(sort))'
}

@test "corpus: the verdict is that of the label, and the strongest of its findings" {
	labels '.got.verdict != .case.verdict or .got.data_destroyed != .case.data_destroyed
		or ([.got.findings[].verdict | $rank[.]] | (max // 0)) != $rank[.case.verdict]
		or .got.format != "kubernetes" or .got.sbx_plan != 1 or (.got.findings | length) != .got.total'
}

@test "corpus: for every signal there is a kind of object that has it in one case and not in another" {
	run jq -rn --slurpfile cases "$CORPUS/cases.jsonl" '
		def kind_of: .kind + (if (.apiVersion | contains("/")) then "." + (.apiVersion | split("/")[0]) else "" end);
		def kind_at: split("/") | .[length - 2];
		[$cases[] | .findings as $found | [.lines[] | (.live // .planned // .beside) | objects | kind_of] | unique[] | . as $kind
		  | {$kind, signals: ([$found | to_entries[] | select((.key | kind_at) == $kind) | .value[]] | unique)}] as $seen
		| [$seen[].signals[]] | unique[] | . as $signal
		| select(all($seen | group_by(.kind)[]; all(.[]; .signals | index($signal)) or all(.[]; .signals | index($signal) | not)))'
	assert_equal "$status $output" "0 "
}

@test "corpus: nothing that is secret is shown, as an object or as text" {
	local word count=0
	while IFS= read -r word; do
		count=$((count + 1))
		run grep -lF -- "$word" "$REPLIES" "$TEXTS"
		assert_equal "$word $output" "$word "
	done < <(jq -r '.hidden[]?' "$CORPUS/cases.jsonl" | sort -u)
	[ "$count" -ge 7 ]
	# And what is not secret is.
	grep -qF 'registry.example.com/api:1.5.0' "$REPLIES"
}

# A rule without a case could go, or be wrong, and nobody would see it.
@test "corpus: every rule about objects of a cluster is met by a case" {
	local text missing=0
	while IFS= read -r text; do
		grep -qF -- "It $text" "$REPLIES" || {
			printf 'no case meets: %s\n' "$text"
			missing=1
		}
	done < <(sed -n 's/^    text: //p' "$ROOT/policy/signals/kubernetes_objects.yaml")
	[ "$missing" -eq 0 ]
}

@test "what is secret in one place is told in no other; beside each the same that is not" {
	local hidden shown fragments changed i told wanted
	# What is in the same object as a command with the same text in it.
	mapfile -t hidden <<-'LIST'
		{"spec":{"env":[{"name":"DB_PASS","value":"hunter2hunter2"}]}}
		{"spec":{"env":[{"name":"AUTH","value":"hunter2hunter2"}]}}
		{"spec":{"kubeconfig":"hunter2hunter2"}}
		{"spec":{"objects":[{"kind":"Secret","data":{"a":"aHVudGVyMmh1bnRlcjI="}}]}}
		{"spec":{"objects":[{"kind":"Secret","stringData":{"a":"hunter2hunter2"}}]}}
		{"spec":{"template":{"stringData":{"a":"hunter2hunter2"}}}}
		{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"env\":[{\"name\":\"DB_PASS\",\"value\":\"hunter2hunter2\"}]}"}}}
		{"metadata":{"annotations":{"kapp.k14s.io/original":"{\"kind\":\"Secret\",\"data\":{\"a\":\"aHVudGVyMmh1bnRlcjI=\"}}"}}}
	LIST
	mapfile -t shown <<-'LIST'
		{"spec":{"env":[{"name":"DB_USER","value":"hunter2hunter2"}]}}
		{"spec":{"env":[{"name":"AUTHOR","value":"hunter2hunter2"}]}}
		{"spec":{"kubeconfigPath":"hunter2hunter2"}}
		{"spec":{"objects":[{"kind":"ConfigMap","data":{"a":"aHVudGVyMmh1bnRlcjI="}}]}}
		{"spec":{"objects":[{"kind":"Secret","name":"hunter2hunter2"}]}}
		{"spec":{"template":{"data":{"a":"hunter2hunter2"}}}}
		{"metadata":{"annotations":{"note":"hunter2hunter2"}}}
		{"metadata":{"annotations":{"kapp.k14s.io/identity":"hunter2hunter2"}}}
	LIST
	fragments=("${hidden[@]}" "${shown[@]}")
	mapfile -t changed < <(each_changed "${fragments[@]/#/. * }" <<-'END' | command jq -c '{live: ., planned: (.spec.template.spec.containers[0].command = ["log-hunter2hunter2"])}'
		{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "web", "uid": "u"},
		 "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "a", "image": "r/a:1"}]}}}}
		END
	)
	assert_equal "${#hidden[@]} ${#shown[@]} ${#changed[@]}" '8 8 16'
	for i in "${!changed[@]}"; do
		told=$(sbx-plan --format kubernetes <<<"${changed[i]}" | member '.findings[0].values[] | select(.path == "spec.template.spec.containers[0].command") | .after')
		((i < ${#hidden[@]})) && wanted='(sensitive)' || wanted='["log-hunter2hunter2"]'
		assert_equal "${fragments[i]} $told" "${fragments[i]} $wanted"
	done
}

@test "every value that becomes another is shown, though no rule asks for it; what is secret is said to be another" {
	judge 0 "$(jq -nc '{live: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "a", namespace: "web", uid: "u"},
			data: {mode: "a", "app.conf": "one\ntwo\n", conf: "password: x1y2z3"}}}
		| .planned = .live | .planned.data = {mode: "b", "app.conf": "one\n2\n", conf: "password: x1y2z4", new: "n\nFindings: 0"}
		| .planned.metadata.annotations = {"a\nVerdict": "c"} | .planned.metadata.labels = {l: ("y" * 130)}')"
	assert_json .verdict safe
	assert_json '.differences | map(.address) | unique | join(" ")' web/ConfigMap/a
	assert_json '.differences | map([.path, (.line // 0 | tostring), .before // "-", .after // "-"] | join(" ")) | join("|")' \
		'data.mode 0 "a" "b"|data["app.conf"] 2 "two" "2"|data.conf 0 (sensitive) (sensitive)|data.new 1 - "n"|data.new 2 - "Findings: 0"|metadata.annotations["a\nVerdict"] 0 - "c"|metadata.labels.l 0 - "'"$(printf 'y%.0s' {1..120})"'"...'
	assert_json '.differences | map(select(.after_sha256)) | map(.path) | join(" ")' metadata.labels.l
	assert_json '.differences[-1].after_sha256' "$(printf 'y%.0s' {1..130} | sha256sum | cut -d' ' -f1)"
	assert_json .differences_total 7
	judge 0 "{\"live\":$(object),\"planned\":$(object)}"
	assert_json 'has("differences") | tostring' false
}

@test "of very many values the first are shown, all are counted, and annotations push none of the others out" {
	judge 0 "$(jq -nc '{live: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "a", namespace: "web", uid: "u"}}}
		| .planned = .live | .planned.data = {last: "x"}
		| .planned.metadata.annotations = (reduce range(2000) as $i ({}; .["n\($i)"] = "v"))')"
	assert_json '[.differences_total, (.differences | length), .differences[0].path] | join(" ")' '2001 400 data.last'
	run_sbx 0 sh -c 'exec sbx-plan -f kubernetes -t <"$1"' - "$BATS_TEST_TMPDIR/in"
	assert_contains "$output" '  and 1601 more that are not shown'
	assert_contains "$output" '  "data.last" ((nothing) -> "x") in "web/ConfigMap/a"'
}

@test "whoever writes an object cannot hide what it runs: the same text under the name of a secret hides none that the API has a meaning for" {
	local path value edit
	while IFS=' ' read -r path value edit; do
		run_sbx 0 sh -c 'printf "%s\n" "$1" | sbx-plan --format kubernetes' - "$(command jq -c --argjson value "$value" '
			{live: ., planned: (.metadata.annotations = {"x/token": ($value | if type == "string" then . else tojson end)} | '"$edit"')}' <<-'END'
			{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "web", "uid": "u"},
			 "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "a", "image": "r/a:1"}]}}}}
			END
		)"
		assert_equal "$path $(command jq -r --arg path "$path" '.findings[0].values[] | select(.path | endswith($path)).after' <<<"$output")" \
			"$path $value"
	done <<-'LIST'
		image "evil.example/a:2" .spec.template.spec.containers[0].image = $value
		image "evil.example/a:ghp_0123456789abcdefghijABCDEFGHIJ012345" .spec.template.spec.containers[0].image = $value
		spec.replicas 0 .spec.replicas = $value
		hostNetwork true .spec.template.spec.hostNetwork = $value
		hostPath {"path":"/etc"} .spec.template.spec.volumes = [{name: "a", hostPath: $value}]
		serviceAccountName "admin" .spec.template.spec.serviceAccountName = $value
	LIST
}

@test "what kubectl printed of a real cluster: a change, a creation, a namespace and all in it" {
	run_sbx 0 sh -c 'exec sbx-plan -f kubernetes <"$1"' - "$CORPUS/recorded/change.jsonl"
	assert_json '[.verdict, .total, .findings[0].address, (.findings[0].signals | join("+"))] | join(" ")' \
		"destructive 1 k9-plan/Deployment.apps/api scaled_to_zero+capacity_shrink+image_changed"
	refute_contains "$output" hunter2
	run_sbx 0 sh -c 'exec sbx-plan -f kubernetes <"$1"' - "$CORPUS/recorded/create.jsonl"
	assert_json '[.verdict, .safe[0].address, .counts.create] | join(" ")' "safe k9-plan/Deployment.apps/new 1"
	run_sbx 0 sh -c 'exec sbx-plan -f kubernetes <"$1"' - "$CORPUS/recorded/delete.jsonl"
	assert_json '[.verdict, .total, .counts.delete, .data_destroyed] | join(" ")' "destructive 8 8 0"
	assert_json '[.findings[] | select(.signals[0] == "cascade")] | length' 7
}

@test "without the rules every kind is unknown, and nothing is safe but what stays as it is" {
	run_sbx 0 sh -c 'exec sbx-plan -f kubernetes -n <"$1"' - "$CORPUS/recorded/create.jsonl"
	assert_json '[.verdict, .findings[0].signals[0]] | join(" ")' "review unknown_kind"
	printf '{"live":%s,"planned":%s}\n' "$(object)" "$(object)" >"$BATS_TEST_TMPDIR/in"
	run_sbx 0 sh -c 'exec sbx-plan -f kubernetes -n <"$1"' - "$BATS_TEST_TMPDIR/in"
	assert_json '[.verdict, .counts.noop] | join(" ")' "safe 1"
}

@test "a pipe gives the same as a file; the last line needs no line feed" {
	local whole
	run_sbx 0 sh -c 'exec sbx-plan -f kubernetes <"$1"' - "$CORPUS/recorded/change.jsonl"
	whole=$output
	run_sbx 0 sh -c 'dd bs=7 if="$1" 2>/dev/null | sbx-plan -f kubernetes' - "$CORPUS/recorded/change.jsonl"
	assert_equal "$output" "$whole"
	run_sbx 0 sh -c 'printf "{\"live\":null,\"planned\":%s}" "$1" | sbx-plan -f kubernetes' - "$(object)"
	assert_json .verdict safe
}

@test "the same change has the same effect, whenever it was seen; another object of that name does not" {
	local first
	judge 0 "{\"live\":$(object ',"uid":"u","resourceVersion":"1"' ',"data":{"a":"b"}'),\"planned\":$(object ',"uid":"u","resourceVersion":"1"' ',"data":{"a":"c"}')}"
	first=$(member .digest.effect <<<"$output")
	judge 0 "{\"live\":$(object ',"uid":"u","resourceVersion":"9"' ',"data":{"a":"b"}'),\"planned\":$(object ',"uid":"u","generation":4' ',"data":{"a":"c"}')}"
	assert_json .digest.effect "$first"
	judge 0 "{\"live\":$(object ',"uid":"v"' ',"data":{"a":"b"}'),\"planned\":$(object ',"uid":"v"' ',"data":{"a":"c"}')}"
	[ "$(member .digest.effect <<<"$output")" != "$first" ]
	judge 0 "{\"live\":$(object ',"uid":"u"' ',"data":{"a":"b"}'),\"planned\":$(object ',"uid":"u"' ',"data":{"a":"d"}')}"
	[ "$(member .digest.effect <<<"$output")" != "$first" ]
}

@test "refused: what is no description of a change" {
	local line code
	while IFS=' ' read -r code line; do
		judge 65 "$line" || {
			printf '%s\n' "$line"
			return 1
		}
		assert_json .error.code "$code"
		assert_json 'has("verdict")' false
	done <<-LIST
		json_empty
		plan_kind []
		plan_kind "x"
		json_truncated {"live":null,
		json_duplicate_key {"live":null,"live":null,"planned":$(object)}
		plan_malformed {"live":null,"planned":null}
		plan_malformed {"live":[],"planned":null}
		plan_member {"planned":$(object)}
		plan_member {"live":$(object)}
		plan_member {"live":null,"planned":$(object),"beside":null}
		plan_member {"live":null,"planned":$(object),"propagation":"Orphan"}
		plan_member {}
		plan_kind {"live":null,"planned":[$(object)]}
		plan_kind {"live":1,"planned":$(object)}
		plan_malformed {"live":[$(object),$(object)],"planned":$(object)}
		plan_malformed {"live":null,"planned":{"apiVersion":"v1","kind":"List","items":[]}}
		plan_malformed {"live":null,"planned":{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"name":"a"},"items":[]}}
		plan_malformed {"live":null,"planned":{"apiVersion":"v1","kind":"PodSpec","metadata":{"name":"a"}}}
		plan_malformed {"live":null,"planned":{"kind":"ConfigMap","metadata":{"name":"a"}}}
		plan_malformed {"live":null,"planned":{"apiVersion":"v1","kind":"Config-Map","metadata":{"name":"a"}}}
		plan_malformed {"live":null,"planned":{"apiVersion":"a/b/c","kind":"ConfigMap","metadata":{"name":"a"}}}
		plan_malformed {"live":null,"planned":{"apiVersion":"/v1","kind":"ConfigMap","metadata":{"name":"a"}}}
		plan_malformed {"live":null,"planned":{"apiVersion":"v1","kind":"ConfigMap"}}
		plan_malformed {"live":null,"planned":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"a"}}}
		plan_malformed {"live":null,"planned":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a/b"}}}
		plan_malformed {"live":null,"planned":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":".."}}}
		plan_malformed {"live":null,"planned":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":1}}}
		plan_malformed {"live":null,"planned":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"web.b"}}}
		plan_malformed {"live":$(object),"planned":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"web"}}}
		plan_malformed {"live":$(object),"planned":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"web"}}}
		json_empty {"beside":$(object)}
		json_empty {"beside":null}
	LIST
}

@test "refused: lines that do not go together, with the number of the line" {
	judge 65 "{\"live\":$(object)}" "{\"live\":null,\"planned\":$(object)}"
	assert_json '[.error.code, (.error.message | split(":")[0])] | join(" ")' "plan_member line 2"
	judge 65 "{\"live\":null,\"planned\":$(object)}" "{\"live\":null,\"planned\":$(object)}"
	assert_json '[.error.code, (.error.message | split(":")[0])] | join(" ")' "plan_malformed line 2"
	judge 65 "{\"live\":null,\"planned\":$(object)}" '{"beside":null}' "{\"beside\":$(object)}"
	assert_json '[.error.code, (.error.message | split(":")[0])] | join(" ")' "plan_malformed line 3"
	judge 65 "{\"live\":null,\"planned\":$(object)}" '' "{\"beside\":$(object)}"
	assert_json .error.code json_empty
}

@test "an object beside that is given twice is told once, and one that is changed itself is not told again" {
	local namespace='{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"web","uid":"n"}}'
	judge 0 "{\"live\":$namespace,\"planned\":null}" "{\"beside\":$(object)}" "{\"beside\":$(object)}" "{\"beside\":$namespace}" '{"beside":null}'
	assert_json '[.total, .counts.delete] | join(" ")' "2 2"
	judge 0 "{\"live\":$namespace,\"planned\":null}" "{\"live\":$(object),\"planned\":null}" "{\"beside\":$(object)}" '{"beside":null}'
	assert_json '[.total, .counts.delete] | join(" ")' "2 2"
}

@test "a text of the cluster is escaped, whatever it holds" {
	judge 65 "{\"live\":null,\"planned\":{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\\u001b[2J\",\"uid\":\"u\"}}}"
	judge 0 "{\"live\":null,\"planned\":{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\\u202eb\",\"uid\":\"u\"}}}"
	assert_contains "$output" '"address":"Namespace/a\u202eb"'
	run_sbx 0 sh -c 'exec sbx-plan -t -f kubernetes <"$1"' - "$BATS_TEST_TMPDIR/in"
	run bash -c 'LC_ALL=C grep -c "[^ -~]" <<<"$1"' - "$output"
	assert_equal "$output" 0
}

@test "a pod of very many containers is not looked at in whole, and that is said" {
	jq -nc '{apiVersion: "v1", kind: "Pod", metadata: {name: "a", namespace: "web", uid: "u"}, spec: {containers: [range(2000) | {name: "c\(.)", image: "x"}]}}
		| {live: null, planned: .}' >"$BATS_TEST_TMPDIR/in"
	run_sbx 0 sh -c 'exec sbx-plan -f kubernetes <"$1"' - "$BATS_TEST_TMPDIR/in"
	assert_json '[.verdict, .findings[0].signals[0]] | join(" ")' "review not_readable"
}
