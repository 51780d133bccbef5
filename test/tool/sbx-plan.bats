#!/usr/bin/env bats
# sbx-plan: every structural label of the corpus, every hostile file, options, exit statuses, confinement.

load ../helpers

setup_file() {
	export CORPUS=$BATS_TEST_DIRNAME/../corpus/plans
	export MANIFEST=$CORPUS/manifest.json REPLIES=$BATS_FILE_TMPDIR/replies
	judge_all "$CORPUS" >"$REPLIES"
	judge_all "$BATS_TEST_DIRNAME/../corpus/plans-kubernetes" >"$BATS_FILE_TMPDIR/kubernetes"
}

# judge RC FILE: run sbx-plan with FILE on stdin.
judge() {
	local want=$1 file=$2
	run_sbx "$want" sh -c 'exec sbx-plan <"$1"' - "$file"
}

# plan MEMBERS: a whole plan document with these members.
plan() {
	printf '{"format_version":"1.2","planned_values":{"root_module":{}},%s,"configuration":{"root_module":{}}}' "$1"
}

# change ADDRESS ACTIONS [MORE]: an entry of resource_changes.
change() {
	printf '{"address":"%s","mode":"managed","type":"t","name":"n","change":{"actions":%s%s}}' "$1" "$2" "${3-}"
}

# labels FILTER: nothing comes out of FILTER, which sees each case of the manifest as .case and our reply to its file as .got.
labels() {
	run jq -rn --slurpfile cases "$MANIFEST" --slurpfile replies "$REPLIES" '
		($replies | map({(.file): .got}) | add) as $got
		| {safe: 0, review: 1, destructive: 2} as $rank
		| $cases[0][] | {case: ., got: $got[.file]} | select('"$1"') | "\(.case.file): \(.got.findings | map([.address, .verdict, .signals]))"'
	assert_equal "$status $output" "0 "
}

# judge_all DIRECTORY: one line {"file", "got"} for each plan in it.
judge_all() {
	local file
	for file in "$1"/*.plan.json; do
		printf '{"file":"%s","got":%s}\n' "$(basename "$file")" "$(sbx-plan <"$file")"
	done
}

@test "corpus: every label is the verdict for its address" {
	labels '. as {$got, $case}
		| $case.expected | group_by(.address) | map({address: .[0].address, want: (map($rank[.verdict]) | max)})
		| map(select(.address | endswith("[*]") | not)
			| select(.want != ([.address as $a | $got.findings[] | select(.address == $a) | $rank[.verdict]] | max // 0)))
		| length > 0'
}

@test "corpus: nothing has a verdict that no label gives it" {
	# That a refresh-only plan leaves its objects out has no label.
	labels '[.case.expected[] | select(.verdict != "safe") | .address] as $labels
		| any(.got.findings[] | select(.signals != ["unlisted_objects"]); .address | IN($labels[]) | not)'
}

@test "corpus: the signal that the label names is among those of the finding" {
	labels '. as {$got, $case}
		| any($case.expected[] | select(.verdict != "safe" and .reason != "delete" and .reason != "moved" and .reason != "moved_across_types");
			. as $want | [$got.findings[] | select(.address == $want.address) | .signals[]] | index($want.reason) == null)'
}

@test "corpus: the overall verdict is the strongest, totals and counts add up" {
	labels '.got
		| (.findings | length) != .total or .sbx_plan != 1 or .format != "terraform"
		or ([.findings[].verdict] | if any(. == "destructive") then "destructive" elif any(. == "review") then "review" else "safe" end) != .verdict
		or ([.findings[].verdict | $rank[.]] | . != (sort | reverse))
		or any(.findings[]; .signals == [] or (.text | length) == 0)
		or (.safe | length) != .safe_total'
	run jq -n '[inputs.resource_changes[]?] | length' "$CORPUS"/*.plan.json
	assert_equal "$output" "$(jq -s '[.[].got.counts[]] | add' "$REPLIES")"
}

@test "corpus of real Kubernetes plans: what is destroyed, and which attribute forces it" {
	REPLIES=$BATS_FILE_TMPDIR/kubernetes MANIFEST=$BATS_TEST_DIRNAME/../corpus/plans-kubernetes/manifest.json
	[ "$(wc -l <"$REPLIES")" -eq 36 ]
	labels '. as {$got, $case}
		| ([$got.findings[] | select(.signals[0] == "replace") | .address] | sort) != ($case.expected.replace | sort)
		or ([$got.findings[] | select(.signals[0] == "delete") | .address] | sort) != ($case.expected.delete | sort)
		or any($case.expected.replace_paths | to_entries[];
			. as {$key, $value}
			| [$value[] | reduce .[] as $step (""; if $step | type == "number" then "\(.)[\($step)]" elif . == "" then $step else "\(.).\($step)" end)]
			!= [$got.findings[] | select(.address == $key and .signals[0] == "replace") | .because[0:($value | length)][]])'
}

@test "corpus of real Kubernetes plans: what changes in place is judged by what it means" {
	REPLIES=$BATS_FILE_TMPDIR/kubernetes MANIFEST=$BATS_TEST_DIRNAME/../corpus/plans-kubernetes/manifest.json
	local name word
	while read -r name word; do
		labels "(.case.file | startswith(\"$name-\")) and ([.got.findings[].signals[]] - [\"drift\"] | unique | join(\"+\")) != \"$word\""
	done <<-'LIST'
		deployment_scale_to_zero capacity_shrink
		role_rule_widened iam_widened
		service_type network_exposed
	LIST
	for name in config_map_data create deployment_image noop pvc_storage secret_data drift_deleted; do
		labels "(.case.file | startswith(\"$name-\")) and any(.got.findings[]; .signals != [\"drift\"])"
	done
}

@test "hostile: each file is refused, or read, as its manifest says" {
	local file expected
	while IFS=$'\t' read -r file expected; do
		if [ "$expected" = deny ]; then
			judge 65 "$CORPUS/$file"
			assert_json '.error.class' 65
			assert_json 'has("verdict") or has("findings")' false
			assert_contains "$stderr" "sbx-plan: "
		else
			judge 0 "$CORPUS/$file"
			assert_json .verdict "$expected"
		fi
	done < <(jq -r '.[] | [.file, .expected] | @tsv' "$CORPUS/hostile/manifest.json")
}

@test "hostile: the code says what was wrong, the message where, and no value is quoted" {
	local line file code place
	while read -r file code place; do
		judge 65 "$CORPUS/hostile/$file.json"
		assert_json .error.code "$code"
		assert_contains "$(member .error.message <<<"$output")" "$place"
		assert_contains "$stderr" "($code)"
		refute_contains "$stderr$output" terraform_data
	done <<-'LIST'
		dup_actions json_duplicate_key 1:578
		unknown_action plan_action 1:559
		rc_null plan_kind 1:435
		major2 plan_version 1:18
		version_missing plan_version version
		truncated json_truncated 1:1145
		trailing json_trailing 2:0
		bom json_bom 1:0
		bad_utf8 json_utf8 1:432
		lone_surrogate json_surrogate 1:438
		empty json_empty 1:0
	LIST
}

@test "a replacement names its address and the attribute path that forces it" {
	judge 0 "$CORPUS/replace_triggers.plan.json"
	assert_json '.findings[0] | [.address, .signals[0], .because[0], (.actions | join(",")), .signals[1]] | join(" ")' \
		"terraform_data.db replace triggers_replace delete,create replace_because_cannot_update"
	judge 0 "$CORPUS/replace_cbd.plan.json"
	assert_json '.findings[0].actions | join(",")' create,delete
	# Without a path the reason says it.
	judge 0 "$CORPUS/replace_by_request.plan.json"
	assert_json '.findings[0] | has("because")' false
	assert_json '.findings[0].reason' replace_by_request
	plan "\"resource_changes\":[$(change t.x '["delete","create"]' ',"replace_paths":[["metadata",0,"name"],["tags","a.b"]]')]" >"$BATS_TEST_TMPDIR/p"
	judge 0 "$BATS_TEST_TMPDIR/p"
	assert_json '.findings[0].because | join(" ")' 'metadata[0].name tags["a.b"]'
}

@test "a deposed object is told apart by its key" {
	plan "\"resource_changes\":[$(change t.x '["no-op"]'),{\"address\":\"t.x\",\"deposed\":\"ab12\",\"change\":{\"actions\":[\"delete\"]}}]" >"$BATS_TEST_TMPDIR/p"
	judge 0 "$BATS_TEST_TMPDIR/p"
	assert_json '.findings | length' 1
	assert_json '.findings[0] | .address + " " + .deposed + " " + .verdict' "t.x ab12 destructive"
}

# provider SETTINGS [MORE]: judge a plan whose provider "p" has these settings.
provider() {
	printf '{"format_version":"1.2","planned_values":{"root_module":{}},%s"configuration":{"provider_config":{"p":{"expressions":%s}},"root_module":{}}}' \
		"${2-}" "$1" >"$BATS_TEST_TMPDIR/plan"
	judge 0 "$BATS_TEST_TMPDIR/plan"
}

@test "a provider's setting that starts a program needs a person, whatever form it has" {
	local settings
	while read -r settings; do
		provider "$settings"
		assert_json '[.verdict, .findings[0].address, .findings[0].signals[0], .total] | join(" ")' "review provider.p provider_program 1"
	done <<-'LIST'
		{"exec":[{"command":{"constant_value":"./x"}}]}
		{"exec":{"command":{"references":["var.x"]}}}
		{"exec":[{"command":{}}]}
		{"kubernetes":[{"exec":[{"command":{"constant_value":"x"}}]}]}
		{"kubernetes":{"constant_value":{"host":"h","exec":{"command":"x"}}}}
		{"kubernetes":{"references":["local.k"]}}
		{"credential_process":{"constant_value":"./x"}}
		{"auth":[{"token_helper":{"constant_value":"./x"}}]}
		{"sign-command":{"constant_value":["./x"]}}
		{"plugins_path":{"references":["path.module"]}}
		{"ssh_opts":{"constant_value":["-o","ProxyCommand=./x"]}}
		{"uri":{"constant_value":"qemu+ext://h/?command=./x"}}
		{"config_path":{"constant_value":"kubeconfig"}}
		{"config_paths":{"constant_value":["/run/sbx/cred/0","kubeconfig"]}}
		{"config_path":{"constant_value":"/run/sbx/cred/../../../work/kubeconfig"}}
		{"config_path":{"references":["var.k"]}}
		{"shared_config_files":{"constant_value":["aws"]}}
		{"registry_auth":[{"config_file":{"constant_value":"docker.json"}}]}
	LIST
}

@test "an ordinary setting of a provider needs nobody" {
	local settings
	while read -r settings; do
		provider "$settings"
		assert_json '[.verdict, .total] | join(" ")' "safe 0"
	done <<-'LIST'
		{"region":{"constant_value":"eu-west-1"},"assume_role":[{"role_arn":{"references":["var.role"]}}]}
		{"host":{"references":["var.host"]},"token":{"references":["data.x.y.token","data.x.y"]},"cluster_ca_certificate":{}}
		{"features":[{"key_vault":[{"purge_soft_delete_on_destroy":{"constant_value":true}}]}]}
		{"config_path":{"constant_value":"/run/sbx/cred/0"},"load_config_file":{"constant_value":true}}
		{"config_path":{"constant_value":null},"exec":[],"enable_plugin":{"constant_value":false},"exec_timeout":{"constant_value":5}}
		{"default_tags":[{"tags":{"constant_value":{"command":"x","exec":"y"}}}]}
		{"uri":{"constant_value":"qemu:///system"},"executor_url":{"constant_value":"https://h/"}}
	LIST
}

@test "the program of a provider is shown first, quoted, and masked where it is a secret" {
	provider '{"exec":[{"api_version":{"constant_value":"v1"},"args":{"references":["var.a","local.b"]},"command":{"constant_value":"./x\u202e\"y"},"env":{"constant_value":{"T":"hunter2hunter2"}}}]}' \
		'"variables":{"t":{"value":"hunter2hunter2"}},'
	assert_json '.findings[0].because | join(" ")' "exec[0].command exec[0].api_version exec[0].args exec[0].env.T"
	assert_contains "$output" 'It names a program to start: \"exec[0].command\" (\"./x\\u202e\\\"y\")'
	assert_json '.findings[0].values[2].after' 'from ["var.a","local.b"]'
	assert_json '.findings[0].values[3].after' '"hunter2hunter2"'
	sed -i 's/"root_module":{}}}$/"root_module":{"variables":{"t":{"sensitive":true}}}}}/' "$BATS_TEST_TMPDIR/plan"
	judge 0 "$BATS_TEST_TMPDIR/plan"
	assert_json '.findings[0].values[3].after' '(sensitive)'
	refute_contains "$output" hunter2
	provider '{"exec":[{"command":{"constant_value":"x"},"env":{"constant_value":{"API_TOKEN":"hunter2hunter2","REGION":"eu-west"}}}]}'
	assert_contains "$(member '.findings[0].text' <<<"$output")" '"exec[0].env.API_TOKEN" ((sensitive))'
	assert_contains "$output" eu-west
	refute_contains "$output" hunter2
	run_sbx 0 sh -c 'exec sbx-plan -t <"$1"' - "$CORPUS/provider_exec_module.plan.json"
	assert_contains "$output" 'PROVIDER "module.m.provider.kubernetes.west"  [review]'
	assert_contains "$output" '"exec[0].command" (from ["var.program"])'
}

@test "what no provider marks and shows what it is is not told: a chart's values, a setting, a manifest; beside each the same that is not" {
	local hidden shown row filters=() changed i told wanted
	# PATH OBJECT: OBJECT is made anew because of what stands at PATH.
	mapfile -t hidden <<-'LIST'
		["values"] {"values":["db:\n  password: swordfish7777\n"]}
		["metadata"] {"metadata":[{"values":"{\"password\":\"swordfish7777\"}"}]}
		["set",0,"value"] {"set":[{"name":"db.password","value":"swordfish7777"}]}
		["spec"] {"spec":[{"env":[{"name":"DB_PASS","value":"swordfish7777"}]}]}
		["manifest"] {"manifest":{"kind":"Secret","data":{"a":"c3dvcmRmaXNo"}}}
		["manifest","data","a"] {"manifest":{"kind":"Secret","data":{"a":"c3dvcmRmaXNo"}}}
		["manifest","metadata","annotations","a"] {"manifest":{"kind":"Secret","metadata":{"annotations":{"a":"swordfish7777"}}}}
		["manifest","stringData","a"] {"manifest":{"stringData":{"a":"swordfish7777"}}}
		["command",1] {"command":["--password","swordfish7777"]}
		["passwords",0] {"passwords":["swordfish7777"]}
		["variables","API_KEY"] {"variables":{"API_KEY":"swordfish7777"}}
		["input"] {"input":"postgres://app:swordfish7777@db/x"}
	LIST
	mapfile -t shown <<-'LIST'
		["values"] {"values":["db:\n  region: eu-west\n"]}
		["metadata"] {"metadata":[{"values":"{\"region\":\"eu-west\"}"}]}
		["set",0,"value"] {"set":[{"name":"db.region","value":"eu-west"}]}
		["spec"] {"spec":[{"env":[{"name":"DB_REGION","value":"eu-west"}]}]}
		["manifest"] {"manifest":{"kind":"ConfigMap","data":{"a":"eu-west"}}}
		["manifest","data","a"] {"manifest":{"kind":"ConfigMap","data":{"a":"eu-west"}}}
		["manifest","metadata","annotations","a"] {"manifest":{"kind":"ConfigMap","metadata":{"annotations":{"a":"eu-west"}}}}
		["manifest","metadata","name"] {"manifest":{"kind":"Secret","metadata":{"name":"eu-west"}}}
		["command",1] {"command":["--region","eu-west"]}
		["command",2] {"command":["--password","x","eu-west"]}
		["regions",0] {"regions":["eu-west"]}
		["minimum_password_length"] {"minimum_password_length":14}
		["input"] {"input":"postgres://app@db.eu-west/x"}
	LIST
	for row in "${hidden[@]}" "${shown[@]}"; do
		filters+=(".resource_changes[0].change |= (.replace_paths = [${row%% *}] | .after = ${row#* })")
	done
	mapfile -t changed < <(each_changed "${filters[@]}" <<-'END'
		{"format_version": "1.2", "terraform_version": "1.11.4", "planned_values": {}, "configuration": {"root_module": {}},
		 "resource_changes": [{"address": "a_thing.x", "mode": "managed", "type": "a_thing", "name": "x", "provider_name": "registry.terraform.io/hashicorp/a",
		  "action_reason": "replace_because_cannot_update",
		  "change": {"actions": ["delete", "create"], "before": {}, "after_unknown": {}, "before_sensitive": {}, "after_sensitive": {}}}]}
		END
	)
	assert_equal "${#hidden[@]} ${#shown[@]} ${#changed[@]}" '12 13 25'
	for i in "${!changed[@]}"; do
		told=$(sbx-plan <<<"${changed[i]}" | member '.findings[0].values[0].after')
		((i < ${#hidden[@]})) && wanted='^\(sensitive\)$' || wanted='eu-west|^14$'
		[[ $told =~ $wanted ]] || {
			printf '%s: %s\n' "${filters[i]}" "$told"
			return 1
		}
	done
}

@test "settings of a provider that are more than a finding holds are said to be more" {
	provider "{\"exec\":[{\"command\":{\"constant_value\":\"x\"},$(printf '"a%d":{"constant_value":"b"},' {1..12} | sed 's/,$//')}]}"
	assert_json '.findings[0].because | length' 8
	assert_contains "$(member '.findings[0].text' <<<"$output")" "It has more such settings, which are not shown."
}

@test "control characters of an address are escaped in the reply" {
	judge 0 "$CORPUS/hostile_keys.plan.json"
	run grep -c "$(printf '[\001-\010\013-\037\177]')" <<<"$output"
	assert_equal "$output" 0
}

@test "an address of kilobytes is cut, and its digest tells it apart" {
	local key
	key=$(printf 'k%.0s' $(seq 3000))
	plan "\"resource_changes\":[$(change "t.${key}1" '["delete"]'),$(change "t.${key}2" '["delete"]')]" >"$BATS_TEST_TMPDIR/p"
	judge 0 "$BATS_TEST_TMPDIR/p"
	assert_json '.findings | map(.address) | unique | length' 2
	assert_json '.findings | map(.address | length < 520) | all' true
	assert_contains "$output" "$(printf 't.%s1' "$key" | sha256sum | cut -d' ' -f1)"
}

@test "a pipe gives the same as a file, however it is cut" {
	local file=$CORPUS/replace_triggered_by.plan.json whole
	judge 0 "$file"
	whole=$output
	run_sbx 0 sh -c 'cat "$1" | sbx-plan --format terraform' - "$file"
	assert_equal "$output" "$whole"
	run_sbx 0 sh -c 'dd bs=1 if="$1" 2>/dev/null | sbx-plan' - "$file"
	assert_equal "$output" "$whole"
}

@test "confined before the first byte: no open, no exec, no new descriptor" {
	local pid
	ldd "$SBX_BIN/sbx-plan" | grep -q asan && skip "sanitizers need more than this program may have"
	mkfifo "$BATS_TEST_TMPDIR/in"
	sbx-plan <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	pid=$!
	exec 9>"$BATS_TEST_TMPDIR/in"
	wait_until 10 grep -q '^Seccomp:[[:space:]]*2$' "/proc/$pid/status"
	grep -q '^NoNewPrivs:[[:space:]]*1$' "/proc/$pid/status"
	grep -q '^Max open files  *8  *8 ' "/proc/$pid/limits"
	cat "$CORPUS/noop.plan.json" >&9
	exec 9>&-
	wait "$pid"
	output=$(cat "$BATS_TEST_TMPDIR/out")
	assert_json .verdict safe
}

@test "refused input: nothing, no object, raw NUL, too deep, duplicate keys" {
	local t=$BATS_TEST_TMPDIR/p
	run_sbx 65 sh -c 'exec sbx-plan <&-'
	assert_json .error.code json_empty
	printf '[]' >"$t"
	judge 65 "$t"
	assert_json .error.code plan_kind
	printf '"x"' >"$t"
	judge 65 "$t"
	printf '{"a":"\0"}' >"$t"
	judge 65 "$t"
	assert_json .error.code json_control
	plan "\"x\":$(printf '[%.0s' $(seq 600))$(printf ']%.0s' $(seq 600))" >"$t"
	judge 65 "$t"
	assert_json .error.code json_depth
	plan "\"x\":$(printf '[%.0s' $(seq 500))$(printf ']%.0s' $(seq 500))" >"$t"
	judge 0 "$t"
	plan '"x":{"a":[{"k":1,"\u006b":2}]}' >"$t"
	judge 65 "$t"
	assert_json .error.code json_duplicate_key
	jq -c '{format_version: "1.0", terraform_version, values: .prior_state.values}' "$CORPUS/replace_cbd.plan.json" >"$t"
	judge 65 "$t"
	assert_json .error.code plan_is_state
}

@test "a reply that cannot be written is 74" {
	run_sbx 74 sh -c 'exec sbx-plan <"$1" >/dev/full' - "$CORPUS/noop.plan.json"
	run_sbx 74 sh -c 'exec sbx-plan <"$1" >&-' - "$CORPUS/noop.plan.json"
	run_sbx 74 sh -c 'exec sbx-plan </ ' -
}

@test "options" {
	run_sbx 0 sbx-plan --help
	assert_contains "$output" "usage: sbx-plan"
	run_sbx 0 sbx-plan -V
	assert_contains "$output" "sbx-plan "
	for words in --help --version; do
		run bash -c '"$1" "$2" >/dev/full' - sbx-plan "$words"
		assert_equal "$status" 74
	done
	run_sbx 64 sbx-plan --format pulumi
	run_sbx 64 sbx-plan --no-signals --signals x
	assert_equal "$output" ""
	run_sbx 64 sbx-plan --frobnicate
	run_sbx 64 sbx-plan plan.json
	run_sbx 0 sh -c 'exec sbx-plan -f terraform <"$1"' - "$CORPUS/noop.plan.json"
}

@test "the rules can only raise, are there without an option, and their absence is no mild verdict" {
	judge 0 "$CORPUS/sem_iam_widened.plan.json"
	assert_json '[.verdict, .findings[0].signals[0], .findings[0].because[0]] | join(" ")' "destructive iam_widened policy"
	run_sbx 0 sh -c 'exec sbx-plan --no-signals <"$1"' - "$CORPUS/sem_iam_widened.plan.json"
	assert_json '[.verdict, .safe_total] | join(" ")' "safe 1"
	run_sbx 0 sh -c 'exec sbx-plan -n <"$1"' - "$CORPUS/sem_kms_schedule.plan.json"
	assert_json .verdict destructive
	run_sbx 0 sh -c 'exec sbx-plan --signals "$2" <"$1"' - "$CORPUS/sem_iam_widened.plan.json" "$SBX_BUILD/share/sbx/signals.table"
	assert_json .verdict destructive
	run_sbx 78 sh -c 'exec sbx-plan --signals /nonexistent/table <"$1"' - "$CORPUS/noop.plan.json"
	assert_contains "$stderr" signals_missing
	printf 'no table' >"$BATS_TEST_TMPDIR/none"
	run_sbx 78 sh -c 'exec sbx-plan --signals "$2" <"$1"' - "$CORPUS/noop.plan.json" "$BATS_TEST_TMPDIR/none"
	assert_contains "$stderr" signals_invalid
	assert_equal "$output" ""
}

# unknown_at TYPE UNKNOWN EXPRESSIONS [BEFORE [AFTER]]: our verdict about such an object, whose configuration has these expressions.
unknown_at() {
	local actions='"create"' before=${4:-null}
	[ "$before" = null ] || actions='"update"'
	printf '{"format_version":"1.2","planned_values":{"root_module":{}},"resource_changes":[{"address":"%s.x","mode":"managed","type":"%s","name":"x",
		"change":{"actions":[%s],"before":%s,"after":%s,"after_unknown":%s}}],
		"configuration":{"root_module":{"resources":[{"address":"%s.x","expressions":%s}]}}}' \
		"$1" "$1" "$actions" "$before" "${5-"{\}"}" "$2" "$1" "$3" >"$BATS_TEST_TMPDIR/p"
	judge 0 "$BATS_TEST_TMPDIR/p"
	jq -r '[.verdict, .findings[0].signals[0] // "-"] | join(" ")' <<<"$output"
}

@test "a value that is known after apply only counts as the worst case, whoever makes it unknown, and not where the provider chooses it" {
	local attachment=aws_iam_role_policy_attachment group=aws_security_group worst='review unknown_after_apply'
	# A reference, a function such as timestamp(), a variable, a constant beside a dynamic block.
	assert_equal "$(unknown_at aws_iam_policy '{"policy":true}' '{"policy":{"references":["data.x.y.json","data.x.y"]}}')" "$worst"
	assert_equal "$(unknown_at aws_iam_policy '{"policy":true}' '{"policy":{}}')" "$worst"
	assert_equal "$(unknown_at aws_db_instance '{"publicly_accessible":true}' '{"publicly_accessible":{}}')" "$worst"
	assert_equal "$(unknown_at aws_db_instance '{"publicly_accessible":true}' '{"name":{"constant_value":"x"}}')" "safe -"
	# A dynamic block stands in no configuration: known in part, or beside static ones, or where there was something before.
	assert_equal "$(unknown_at $group '{"ingress":[{"cidr_blocks":true}]}' '{"name":{"constant_value":"x"}}' null '{"ingress":[{"from_port":22}]}')" "$worst"
	assert_equal "$(unknown_at $group '{"ingress":[{},{"cidr_blocks":true}]}' '{"ingress":[{"self":{"constant_value":true}}]}' null \
		'{"ingress":[{"self":true},{"from_port":22}]}')" "$worst"
	assert_equal "$(unknown_at $group '{"ingress":true}' '{"name":{"constant_value":"x"}}' '{"ingress":[{"cidr_blocks":["10.0.0.0/8"]}]}')" "$worst"
	assert_equal "$(unknown_at $group '{"ingress":true}' '{"name":{"constant_value":"x"}}')" "safe -"
	# A policy of the same plan names itself; what comes by another way may be any.
	assert_equal "$(unknown_at $attachment '{"policy_arn":true}' '{"policy_arn":{"references":["aws_iam_policy.p.arn","aws_iam_policy.p"]}}')" "safe -"
	assert_equal "$(unknown_at $attachment '{"policy_arn":true}' '{"policy_arn":{"references":["aws_iam_policy.p[0].arn","aws_iam_policy.p[0]","aws_iam_policy.p"]}}')" "safe -"
	for from in terraform_data.y.output local.arn var.arn module.m.arn data.aws_iam_policy.a.arn aws_ssm_parameter.p.value google_x.y.arn each.value; do
		assert_equal "$from: $(unknown_at $attachment '{"policy_arn":true}' "{\"policy_arn\":{\"references\":[\"$from\"]}}")" "$from: $worst"
	done
}

@test "text for people: the same findings, the cause first, printable ASCII" {
	run_sbx 0 sh -c 'exec sbx-plan --text <"$1"' - "$CORPUS/replace_triggers.plan.json"
	assert_contains "$output" 'verdict: destructive'
	assert_contains "$output" 'REPLACE "terraform_data.db"  [destructive]'
	assert_contains "$output" 'Because "triggers_replace" ('
	run_sbx 0 sh -c 'exec sbx-plan -t <"$1"' - "$CORPUS/hostile_keys.plan.json"
	run bash -c 'LC_ALL=C grep -c "[^ -~]" <<<"$1"' - "$output"
	assert_equal "$output" 0
	run_sbx 65 sh -c 'exec sbx-plan --text <"$1"' - "$CORPUS/hostile/empty.json"
	assert_equal "$output" ""
	assert_contains "$stderr" json_empty
}

@test "an object of a type that holds data is counted when it goes, and not when it stays" {
	plan "\"resource_changes\":[$(change t.x '["delete"]')]" >"$BATS_TEST_TMPDIR/p"
	judge 0 "$BATS_TEST_TMPDIR/p"
	assert_json .data_destroyed 0
	plan "\"resource_changes\":[$(change aws_db_instance.x '["delete","create"]'),$(change aws_db_instance.y '["update"]'),$(change aws_db_instance.z '["forget"]')]" |
		sed 's/"type":"t"/"type":"aws_db_instance"/g' >"$BATS_TEST_TMPDIR/p"
	judge 0 "$BATS_TEST_TMPDIR/p"
	assert_json .data_destroyed 1
	assert_json '.findings[] | select(.address == "aws_db_instance.x") | .holds_data' true
	assert_contains "$(jq -r '.findings[0].text' <<<"$output")" "It holds data, which is lost with it."
}

@test "real terraform: a replacement that the text of the plan does not call one" {
	command -v terraform >/dev/null || skip "no terraform"
	cd "$BATS_TEST_TMPDIR"
	printf 'resource "terraform_data" "a" { input = "1" }\nresource "terraform_data" "db" {\n  input = "x"\n  lifecycle { replace_triggered_by = [terraform_data.a] }\n}\n' >main.tf
	export CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1
	terraform init -input=false >/dev/null
	terraform apply -input=false -auto-approve >/dev/null
	sed -i 's/"1"/"2"/' main.tf
	terraform plan -input=false -out=plan.bin >text
	terraform show -json plan.bin >plan.json
	judge 0 plan.json
	assert_json '.findings[0] | [.address, .verdict, .signals[0], .reason] | join(" ")' \
		"terraform_data.db destructive replace replace_by_triggers"
	run grep -c -e 'forces replacement' -e 'will be destroyed' text
	assert_equal "$output" 0
}

@test "the examples of the manual run" {
	local examples
	cp "$CORPUS/replace_triggers.plan.json" "$BATS_TEST_TMPDIR/plan.json"
	cd "$BATS_TEST_TMPDIR"
	examples=$(sed -n 's/^\$ \(sbx-plan\)/\1/p' "$BATS_TEST_DIRNAME/../../man/sbx-plan.1")
	[ -n "$examples" ]
	while IFS= read -r line; do
		run_sbx 0 sh -c "$line"
		[ -n "$output" ]
	done <<<"$examples"
}
