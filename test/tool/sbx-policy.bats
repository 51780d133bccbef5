# sbx-policy: what it reads, what it decides, what it refuses, and what it leaves in the record.

load ../helpers

setup() {
	fresh_state
}

# events FILTER: of the record, one JSON value a line.
events() {
	jq -c "$1" "$T/var/audit.jsonl"
}

# edit FILE SED-EXPRESSION: in the policy directory.
edit() {
	sed -i "$2" "$T/policy/$1"
}

@test "usage, help, version" {
	run_sbx 0 sbx-policy --help
	assert_contains "$output" 'usage: sbx-policy'
	run_sbx 0 sbx-policy --version
	assert_contains "$output" 'sbx-policy '
	run_sbx 64 sbx-policy --unknown
	run_sbx 64 sbx-policy --peer --principal agent true
	run_sbx 64 sbx-policy --principal '-x' true
	run_sbx 64 sbx-policy --principal '' true
	run_sbx 64 sbx-policy list --yaml
	run_sbx 64 sbx-policy test again
	run_sbx 64 sbx-policy signals
	run_sbx 64 sbx-policy signals "$T"
	run_sbx 64 sbx-policy signals "$T" "$T/out" more
	run_sbx 64 sbx-policy --principal agent signals "$T" "$T/out"
	run_sbx 64 sbx-policy --explain list
	run_sbx 64 sbx-policy -x=1
	run_sbx 64 sbx-policy true word
	assert_call usage
	run_sbx 64 sbx-policy echo text=a text=b
	assert_call usage
}

@test "a call by arguments: the object, its seal, its directory" {
	run_sbx 0 sbx-policy --principal agent echo color=green number=5 loud=true dir=envs/staging
	assert_call
	assert_json .sbx 1
	assert_json .call.tool echo
	assert_json '.call.params | tojson' '{"color":"green","dir":"envs/staging","loud":true,"number":5}'
	assert_json '.call.principal | [.name, .via] | join(" ")' 'agent line'
	assert_json '.call | has("client")' false
	assert_json .policy.effect allow
	assert_json .policy.tier low
	assert_json '.policy.tier_from | join(" ")' tool
	assert_json .policy.rule tool:echo
	assert_json '.policy.run.steps[0].argv | join(" ")' 'echo --color=green 5 --loud --dir=envs/staging'
	assert_json '.seals | map(.stage) | join(" ")' policy
	assert_json 'has("error")' false
	assert_equal "$(stat -c %a "$T/var/runs/$(member .call.id <<<"$output")/policy")" 400
}

@test "the same by a request on stdin; members and types are strict there" {
	run_sbx 0 sbx-policy <<<'{"tool":"echo","params":{"number":5},"client":"a client"}'
	assert_json .call.client 'a client'
	assert_json .call.params.color red
	assert_json .policy.effect allow
	run_sbx 77 sbx-policy <<<'{"tool":"echo","params":{"number":"5"}}'
	assert_call bad_parameter
	run_sbx 65 sbx-policy <<<'{"tool":"echo","params":{},"principal":"root"}'
	assert_call unknown_member
	run_sbx 65 sbx-policy <<<'{"tool":"echo"}'
	assert_call bad_request
	run_sbx 65 sbx-policy <<<'{"tool":5,"params":{}}'
	assert_call bad_request
	run_sbx 65 sbx-policy <<<'{"tool":"echo","params":[]}'
	assert_call bad_request
	run_sbx 65 sbx-policy <<<'["echo"]'
	assert_call bad_request
	run_sbx 65 sbx-policy <<<"{\"tool\":\"echo\",\"params\":{},\"client\":\"$(printf '%257s' x)\"}"
	assert_call bad_request
	run_sbx 0 sbx-policy <<<"{\"tool\":\"echo\",\"params\":{},\"client\":\"$(printf '%256s' x)\"}"
	run_sbx 65 sbx-policy <<<"{\"tool\":\"$(printf '%129s' x)\",\"params\":{}}"
	assert_call bad_request
}

@test "input that is no request" {
	run_sbx 66 sbx-policy </dev/null
	assert_call no_input
	run_sbx 66 sbx-policy <<<'   '
	assert_call no_input
	run_sbx 66 bash -c 'exec sbx-policy <&-'
	assert_call no_input
	run_sbx 65 sbx-policy <<<'{"tool":"true","params":'
	assert_call
	run_sbx 65 sbx-policy <<<'{"tool":"true","params":{}}{}'
	assert_call
	run_sbx 65 sbx-policy <<<'{"tool":"true","tool":"echo","params":{}}'
	assert_call
	run_sbx 65 bash -c 'printf "{\"tool\":\"true\",\"params\":{}}\0" | sbx-policy'
	assert_call
	run_sbx 65 bash -c 'printf "{\"tool\":\"tr\xffue\",\"params\":{}}" | sbx-policy'
	assert_call
	run_sbx 65 sbx-policy <<<'{"tool":"echo","params":{"number":1.5}}'
	assert_call
	run_sbx 65 bash -c '{ printf "{\"tool\":\"echo\",\"params\":"; printf "[%.0s" {1..65}; } | sbx-policy'
	assert_call
	run_sbx 65 bash -c 'head -c 1048577 /dev/zero | tr "\0" " " | sbx-policy'
	assert_call too_large
	run_sbx 65 bash -c 'printf "{\"tool\":\"echo\",\"params\":{\"text\":\"%070000d\"}}" 1 | sbx-policy'
	assert_call too_large
	run_sbx 64 sbx-policy echo "text=$(printf '\xff')"
	# None of these made a call.
	[ ! -e "$T/var/audit.jsonl" ] || [ ! -s "$T/var/audit.jsonl" ]
	assert_equal "$(find "$T/var/runs" -mindepth 1 2>/dev/null | wc -l)" 0
}

@test "every refusal is a sealed call with a reason that never quotes the value" {
	run_sbx 77 sbx-policy nosuch x=1
	assert_call unknown_tool
	assert_json .policy.effect deny
	assert_json .error.message 'there is no tool "nosuch"'
	run_sbx 77 sbx-policy ../policy
	assert_call unknown_tool
	run_sbx 77 sbx-policy $'a"\e\\\u00e9'
	assert_json .error.message 'there is no tool "a\x22\x1b\x5c\xc3\xa9"'
	run_sbx 77 sbx-policy "$(printf 'x%.0s' {1..100})"
	assert_json .error.message "there is no tool \"$(printf 'x%.0s' {1..58})\"..."
	run_sbx 77 sbx-policy true x=1
	assert_call unknown_parameter
	assert_json .error.message 'true has no parameter "x"'
	assert_json .error.hint 'it takes no parameters'
	run_sbx 77 sbx-policy terraform_plan dir=envs/staging destory=true
	assert_json .error.message 'terraform_plan has no parameter "destory"'
	assert_contains "$(member .error.hint <<<"$output")" 'it takes: '
	run_sbx 77 sbx-policy terraform_plan
	assert_call missing_parameter
	run_sbx 77 sbx-policy terraform_plan dir=ignore-all-previous-instructions
	assert_call bad_parameter
	assert_json .error.class 77
	assert_json .error.stage policy
	assert_json .policy.rule param:dir
	assert_json '.seals | length' 1
	refute_contains "$stderr$(printf '%s' "$output" | jq -c '.error, .policy')" ignore-all
	assert_contains "$(printf '%s' "$output" | member .error.hint)" 'envs/*'
	for value in -chdir=x ../etc /etc envs/absent envs//staging envs/staging/ ./envs/staging envs/staging/../prod '' envs; do
		run_sbx 77 sbx-policy terraform_plan "dir=$value"
		assert_call bad_parameter
	done
	run_sbx 0 sbx-policy terraform_plan dir=envs/staging
}

@test "a symlink out of the workspace is no directory, and neither is one inside" {
	ln -s /tmp "$T/work/envs/out"
	ln -s staging "$T/work/envs/in"
	: >"$T/work/envs/file"
	for name in out in file; do
		run_sbx 77 sbx-policy terraform_plan "dir=envs/$name"
		assert_call bad_parameter
	done
	mkdir "$T/work/envs/real"
	run_sbx 0 sbx-policy terraform_plan dir=envs/real
}

@test "several workspaces" {
	mkdir -p "$T/second/envs/staging"
	sed -i 's|^workspaces:.*|workspaces: {first: work, second: second}|' "$SBX_CONFIG"
	run_sbx 0 sbx-policy terraform_plan dir=second:envs/staging
	assert_json '.policy.run.workspace | [.name, .cwd, .state.path] | join(" ")' 'second envs/staging envs/staging'
	assert_json .call.params.dir second:envs/staging
	run_sbx 77 sbx-policy terraform_plan dir=envs/staging
	assert_call bad_parameter
	run_sbx 77 sbx-policy terraform_plan dir=third:envs/staging
	assert_call bad_parameter
}

@test "tiers: what needs an approval says so, with its terms" {
	run_sbx 0 sbx-policy apply_true
	assert_json .policy.effect approve
	assert_json .policy.tier high
	assert_json '.policy.approval | tojson' '{"threshold":1,"ttl_s":1800}'
	mkdir -p "$T/work/agent/scratch"
	run_sbx 0 sbx-policy terraform_plan dir=agent/scratch
	assert_json .policy.effect approve
	assert_json '.policy.tier_from | join(" ")' agent_writable
}

@test "rules raise and deny" {
	add_tool guarded
	run_sbx 0 sbx-policy guarded word=short
	assert_json .policy.effect allow
	run_sbx 0 sbx-policy guarded word=a-rather-long
	assert_json '.policy.tier_from | join(" ")' when:long-words
	run_sbx 77 sbx-policy guarded word=bad
	assert_call denied
	assert_json .policy.rule when:bad-words
	run_sbx 77 sbx-policy --principal nobody guarded word=short
	assert_call denied
}

@test "the caller's .jq changes no rule" {
	add_tool guarded
	mkdir "$T/home"
	printf 'def length: 0; def test(x): false;\n' >"$T/home/.jq"
	run_sbx 77 env HOME="$T/home" sbx-policy guarded word=bad
	assert_call denied
	run_sbx 0 env HOME="$T/home" sbx-policy guarded word=a-rather-long
	assert_json .policy.tier high
}

@test "digests: the same question has the same subject, another has not" {
	subject() {
		run_sbx 0 sbx-policy "$@"
		printf '%s' "$output" | jq -r .policy.subject_sha256
	}
	first=$(subject --principal a apply_true note=x)
	assert_equal "$(subject --principal a apply_true note=x)" "$first"
	[ "$(subject --principal b apply_true note=x)" != "$first" ]
	[ "$(subject --principal a apply_true note=y)" != "$first" ]
	printf '# a comment\n' >>"$T/policy/tools/apply_true.yaml"
	assert_equal "$(subject --principal a apply_true note=x)" "$first"
	printf 'limits: {pids: 7}\n' >>"$T/policy/tools/apply_true.yaml"
	[ "$(subject --principal a apply_true note=x)" != "$first" ]
}

@test "the record: request and decision of every call, before the object" {
	run_sbx 0 sbx-policy --principal agent true
	id=$(printf '%s' "$output" | member .call.id)
	run_sbx 77 sbx-policy --principal agent nosuch
	assert_equal "$(events 'select(.request_id).event' | tr '\n' ' ')" '"tool.request" "guardrail.decision" "tool.request" "guardrail.decision" '
	assert_equal "$(events "select(.request_id == \"$id\" and .event == \"tool.request\") | [.tool, .principal, .via]")" '["true","agent","line"]'
	assert_equal "$(events "select(.request_id == \"$id\" and .event == \"guardrail.decision\") | [.effect, .tier, .rule]")" '["allow","low","tool:true"]'
	assert_equal "$(events 'select(.code) | [.effect, .code]')" '["deny","unknown_tool"]'
}

@test "no record, no decision" {
	mkdir -p "$T/var"
	chmod 700 "$T/var"
	mkdir "$T/var/audit.jsonl"
	run_sbx 74 sbx-policy true || run_sbx 78 sbx-policy true
	assert_json 'has("policy")' false
	assert_json .error.stage policy
	rmdir "$T/var/audit.jsonl"
	run_sbx 0 sbx-policy true
}

@test "a policy that does not load is 78 with file and line, and is recorded" {
	printf 'surprise: 1\n' >>"$T/policy/tools/true.yaml"
	line=$(wc -l <"$T/policy/tools/true.yaml")
	run_sbx 78 sbx-policy true
	assert_call policy_invalid
	assert_contains "$stderr" "tools/true.yaml:$line: unknown key"
	assert_contains "$stderr" 'known here: name'
	assert_equal "$(events 'select(.event == "guardrail.decision") | [.effect, .code]')" '["error","policy_invalid"]'
	# A fault in any file stops every tool: nobody knows what the rest relied on.
	run_sbx 78 sbx-policy echo
	edit tools/true.yaml '$d'
	run_sbx 0 sbx-policy true
	run_sbx 78 sbx-policy --config "$T/nosuch.yaml" true
	chmod g+w "$T/policy/policy.yaml"
	run_sbx 78 sbx-policy true
	assert_call unsafe_file
	chmod g-w "$T/policy/policy.yaml"
	chmod o+w "$T/policy/tools"
	run_sbx 78 sbx-policy true
	assert_call unsafe_file
	chmod o-w "$T/policy/tools"
	mv "$T/policy/policy.yaml" "$T/policy/gone.yaml"
	run_sbx 78 sbx-policy true
	assert_call missing_file
}

@test "a tool is not called like a word of the command line" {
	for name in list test signals sbx_result; do
		sed "s|^name: .*|name: $name|" "$T/policy/tools/true.yaml" >"$T/policy/tools/$name.yaml"
		run_sbx 78 sbx-policy true
		assert_contains "$stderr" 'this name is taken by the toolkit itself'
		rm "$T/policy/tools/$name.yaml"
	done
	sed 's|^name: .*|name: signal|' "$T/policy/tools/true.yaml" >"$T/policy/tools/signal.yaml"
	run_sbx 0 sbx-policy signal
}

@test "a tool whose tests fail is not served, and others are" {
	printf '  - {expect: deny}\n' >>"$T/policy/tools/true.yaml"
	run_sbx 78 sbx-policy true
	assert_call tool_not_served
	run_sbx 0 sbx-policy echo
	run_sbx 0 sbx-policy list --json
	assert_json '.tools | map(.name) | [index("true"), index("echo") != null] | tojson' '[null,true]'
	assert_contains "$stderr" '1 tool is not served, because its tests fail'
	run_sbx 78 sbx-policy test
	assert_contains "$output" 'not ok'
	assert_contains "$output" 'true 3: expected deny, got allow'
	assert_equal "$stderr" "sbx-policy: 1 of $(grep -c '^\(not \)\?ok ' <<<"$output") failed: true 1"
	edit tools/true.yaml '$d'
	run_sbx 0 sbx-policy test
	refute_contains "$output" 'not ok'
	assert_equal "$stderr" ""
	run_sbx 0 sbx-policy true
}

@test "the cache of test outcomes belongs to one digest, and a forged one of another does not count" {
	run_sbx 0 sbx-policy true
	[ "$(find "$T/var/cache" -name tests | wc -l)" -eq 1 ]
	printf '# changed\n' >>"$T/policy/policy.yaml"
	run_sbx 0 sbx-policy true
	[ "$(find "$T/var/cache" -name tests | wc -l)" -eq 2 ]
	for file in "$T"/var/cache/*/tests; do
		printf 'not json' >"$file"
	done
	run_sbx 0 sbx-policy true
	jq -e .version "$T/var/cache/$(printf '%s' "$output" | jq -r .policy.policy_sha256)/tests"
}

# add_signals: a rule that opens, in the policy directory.
add_signals() {
	mkdir -p "$T/policy/signals"
	cat >"$T/policy/signals/net.yaml" <<-'EOF'
		holds_data: [store]
		signals:
		  - signal: opened
		    verdict: destructive
		    types: [gate]
		    when: {at: "from[*]", prefix_below: 8}
		    text: lets everybody in
		    examples:
		      match:
		        - {after: {from: [10.0.0.0/8, "::/0"]}}
		      no_match:
		        - {after: {from: [10.0.0.0/8]}}
	EOF
	chmod -R go-w "$T/policy"
}

# kept: the tables in the cache, one a line.
kept() {
	find "$T/var/cache" -name signals
}

@test "signals: compiled and tried once for each policy, and kept for sbx-run" {
	run_sbx 0 sbx-policy true
	[ "$(kept | wc -l)" -eq 1 ]
	add_signals
	run_sbx 0 sbx-policy true
	table=$T/var/cache/$(printf '%s' "$output" | jq -r .policy.policy_sha256)/signals
	[ "$(kept | wc -l)" -eq 2 ]
	assert_equal "$(stat -c %a "$table")" 600
	assert_equal "$(head -c 7 "$table")" sbxsgnl
	# It is the table that the other way of compiling gives.
	run_sbx 0 sbx-policy signals "$T/policy/signals" "$T/table"
	cmp "$table" "$T/table"
	# Kept as long as it is there; made again when it is not.
	touch -d 2001-01-01 "$table"
	run_sbx 0 sbx-policy true
	assert_equal "$(stat -c %Y "$table")" "$(date -d 2001-01-01 +%s)"
	rm "$table"
	run_sbx 0 sbx-policy true
	cmp "$table" "$T/table"
	# A version that does not believe the tests' outcome makes the table again too.
	printf x >"$table"
	jq -c '.signals = 0' "$(dirname "$table")/tests" >"$T/tests"
	cp "$T/tests" "$(dirname "$table")/tests"
	run_sbx 0 sbx-policy true
	cmp "$table" "$T/table"
	run_sbx 0 sbx-policy list
}

@test "signals: a fault stops every tool, with file and line" {
	run_sbx 0 sbx-policy true
	add_signals
	printf '    then: x\n' >>"$T/policy/signals/net.yaml"
	run_sbx 78 sbx-policy true
	assert_call policy_invalid
	assert_json '[has("policy"), .error.class] | tojson' '[false,78]'
	assert_contains "$stderr" 'signals/net.yaml:13: unknown key "then"'
	assert_contains "$stderr" 'known here: signal verdict types'
	assert_equal "$(events 'select(.event == "guardrail.decision") | .code' | tail -1)" '"policy_invalid"'
	run_sbx 78 sbx-policy list
	run_sbx 78 sbx-policy list --json
	run_sbx 78 sbx-policy --explain true
	run_sbx 78 sbx-policy test
	edit signals/net.yaml '$d'
	run_sbx 0 sbx-policy true
	# An example that does not hold is a fault like any other.
	edit signals/net.yaml 's|"::/0"|"fd00::/64"|'
	run_sbx 78 sbx-policy true
	assert_call policy_invalid
	assert_contains "$stderr" 'signals/net.yaml:10: opened is not met with this example'
	edit signals/net.yaml 's|"fd00::/64"|0.0.0.0/0|'
	run_sbx 0 sbx-policy true
	edit signals/net.yaml 's|when:.*|when: {at: from, prefix_under: 8}|'
	run_sbx 78 sbx-policy true
	assert_contains "$stderr" 'signals/net.yaml:6: unknown key "prefix_under"'
	[ "$(kept | wc -l)" -eq 3 ]
}

@test "files of the policy are named by their whole paths" {
	says() { # TEXT [HINT]
		run_sbx 78 sbx-policy list
		assert_contains "$stderr" "$1"
		assert_contains "$stderr" "${2:-}"
	}
	: >"$T/policy/tools/true.yaml~"
	says "$T/policy/tools holds \"true.yaml~\", whose name is not NAME.yaml"
	rm "$T/policy/tools/true.yaml~"
	chmod g+w "$T/policy/tools/true.yaml"
	says "$T/policy/tools/true.yaml may be written by others" "chmod go-w $T/policy/tools/true.yaml"
	chmod g-w "$T/policy/tools/true.yaml"
	chmod g+w "$T/policy/tools"
	says "$T/policy/tools may be written by others" "chmod go-w $T/policy/tools"
	chmod g-w "$T/policy/tools"
	edit tools/true.yaml 's/^tier: low/tier: lo/'
	says "$T/policy/tools/true.yaml:4: no such tier"
	edit tools/true.yaml 's/^tier: lo$/tier: low/'
	add_signals
	edit signals/net.yaml 's|verdict: .*|verdict: safe|'
	says "$T/policy/signals/net.yaml:4: is no verdict of a signal"
	edit signals/net.yaml 's|verdict: .*|verdict: review|'
	run_sbx 0 sbx-policy list
	mv "$T/policy/policy.yaml" "$T/policy/aside"
	says "there is no file $T/policy/policy.yaml"
}

@test "signals: a tool that makes plans is not served without the directory, be it empty" {
	run_sbx 0 sbx-policy true
	run_sbx 0 sbx-policy list --json
	rmdir "$T/policy/signals"
	run_sbx 78 sbx-policy terraform_plan dir=envs/staging
	assert_call signals_missing
	assert_json .error.message "there is no directory $T/policy/signals, by which terraform_plan judges its plans"
	assert_json .error.hint "copy PREFIX/share/sbx/policy/signals there; to judge by structure alone make an empty one"
	run_sbx 78 sbx-policy list
	run_sbx 78 sbx-policy list --json
	run_sbx 78 sbx-policy test
	assert_contains "$stderr" signals_missing
	# Nothing to judge, nothing that is needed.
	rm "$T/policy/tools/terraform_plan.yaml"
	run_sbx 0 sbx-policy true
	run_sbx 0 sbx-policy list --json
	cp "$ROOT/test/fixtures/basic/tools/terraform_plan.yaml" "$T/policy/tools/"
	mkdir -p "$T/policy/signals"
	run_sbx 0 sbx-policy terraform_plan dir=envs/staging
}

@test "signals: test shows every example" {
	add_signals
	run_sbx 0 sbx-policy test
	assert_contains "$output" 'ok 1 - signals/net.yaml opened match 1'
	assert_contains "$output" 'ok 2 - signals/net.yaml opened no_match 1'
	refute_contains "$output" 'not ok'
	edit signals/net.yaml 's|"::/0"|"fd00::/64"|'
	run_sbx 78 sbx-policy test
	assert_contains "$output" 'not ok 1 - signals/net.yaml opened match 1: signals/net.yaml:10: it is not met'
	assert_contains "$output" 'ok 2 - signals/net.yaml opened no_match 1'
	# The rest is tried too.
	assert_contains "$output" 'true 1'
	edit signals/net.yaml 's|"fd00::/64"|"::/0"|'
	edit signals/net.yaml 's|{after: {from: \[10.0.0.0/8\]}}|{after: {}, unknown: {from: true}}|'
	run_sbx 78 sbx-policy test
	assert_contains "$output" 'not ok 2 - signals/net.yaml opened no_match 1: signals/net.yaml:12: it is unknown'
}

@test "signals DIRECTORY OUTPUT: needs no settings, and leaves the old table when it fails" {
	unset SBX_CONFIG
	add_signals
	run_sbx 0 sbx-policy signals "$T/policy/signals" "$T/table"
	assert_equal "$output" ''
	cp "$T/table" "$T/first"
	(cd "$T" && sbx-policy signals policy/signals second)
	cmp "$T/first" "$T/second"
	# Sources may be writable by others.
	chmod -R g+w "$T/policy/signals"
	run_sbx 0 sbx-policy signals "$T/policy/signals" "$T/table"
	edit signals/net.yaml 's|verdict: .*|verdict: safe|'
	run_sbx 78 sbx-policy signals "$T/policy/signals" "$T/table"
	assert_contains "$stderr" 'signals/net.yaml:4: is no verdict of a signal'
	cmp "$T/first" "$T/table"
	edit signals/net.yaml 's|verdict: .*|verdict: review|'
	run_sbx 0 sbx-policy signals "$T/policy/signals" "$T/table"
	run cmp -s "$T/first" "$T/table"
	[ "$status" -eq 1 ]
	run_sbx 78 sbx-policy signals "$T/absent" "$T/table"
	run_sbx 78 sbx-policy signals "$T/policy/policy.yaml" "$T/table"
	run_sbx 73 sbx-policy signals "$T/policy/signals" "$T/absent/table"
	: >"$T/policy/signals/README"
	run_sbx 78 sbx-policy signals "$T/policy/signals" "$T/table"
	assert_contains "$stderr" "$T/policy/signals holds \"README\", whose name is not NAME.yaml"
	mkdir "$T/empty"
	run_sbx 0 sbx-policy signals "$T/empty" "$T/table"
	[ "$(find "$T" -name '.tmp-*' | wc -l)" -eq 0 ]
}

@test "signals: the example in the manual holds, and what it says of it" {
	mkdir -p "$T/policy/signals"
	sed -n '/^holds_data: /,/^\.Ed/p' "$ROOT/man/sbx-policy.5" | sed '$d' >"$T/policy/signals/example.yaml"
	chmod -R go-w "$T/policy"
	run_sbx 0 sbx-policy test
	assert_contains "$output" 'ok 1 - signals/example.yaml network_exposed match 1'
	assert_contains "$output" 'signals/example.yaml network_exposed unknown 1'
	assert_contains "$output" 'signals/example.yaml capacity_shrink no_match 1'
	refute_contains "$output" 'not ok'
	# It says something: without its key the rule would tell an old opening anew.
	edit signals/example.yaml '/^    key: /d'
	run_sbx 78 sbx-policy test
	assert_contains "$output" 'network_exposed no_match 2: signals/example.yaml:'
}

@test "list: what a client sees" {
	run_sbx 0 sbx-policy list
	assert_contains "$output" 'terraform_apply          medium'
	run_sbx 0 sbx-policy list --json
	assert_json '.tools | map(.name) == (map(.name) | sort)' true
	assert_json '.tools[] | select(.name == "echo").inputSchema | [.type, .additionalProperties, has("required")] | tojson' '["object",false,false]'
	assert_json '.tools[] | select(.name == "echo").inputSchema.properties.number | [.type, .minimum, .maximum] | tojson' '["integer",0,100]'
	assert_json '.tools[] | select(.name == "echo").inputSchema.properties.word.pattern' '^([a-z]+(-[a-z]+)*)$'
	assert_json '.tools[] | select(.name == "echo").inputSchema.properties.color.enum | join(" ")' 'red green'
	assert_json '.tools[] | select(.name == "terraform_plan").inputSchema.required | join(" ")' dir
	assert_json '.tools[] | select(.name == "terraform_plan").annotations.readOnlyHint' true
	assert_json '.tools[] | select(.name == "terraform_apply").annotations | [.readOnlyHint, .destructiveHint] | tojson' '[false,true]'
	# Looking is no call.
	[ ! -s "$T/var/audit.jsonl" ]
}

@test "explain: the decision in words, and neither call nor event" {
	run_sbx 0 sbx-policy --explain terraform_plan dir=envs/staging destroy=true
	assert_contains "$output" 'decision    allow'
	assert_contains "$output" '"-out=plan.bin","-destroy"]'
	assert_contains "$output" 'artifact    "plan" is "plan.bin", taken after step 2'
	assert_contains "$output" 'runs in "envs/staging"'
	run_sbx 75 sbx-policy --explain apply_true
	assert_contains "$output" 'decision    approve'
	run_sbx 77 sbx-policy --explain terraform_plan dir=/etc
	assert_contains "$output" 'decision    deny'
	run_sbx 0 sbx-policy --explain cred_show
	assert_contains "$output" 'credential  test-read as token from jwt, named by SBX_TOKEN'
	[ ! -s "$T/var/audit.jsonl" ]
	[ ! -d "$T/var/runs" ] || [ -z "$(ls "$T/var/runs")" ]
}

@test "who asks: by the line, by the peer, by the uid, and never by the request" {
	run_sbx 0 sbx-policy true
	assert_json '.call.principal | [.name, .via] | join(" ")' "$(id -un) uid"
	run_sbx 0 sbx-policy --principal agent-7 true
	assert_json '.call.principal | [.name, .via] | join(" ")' 'agent-7 line'
	run_sbx 77 sbx-policy --peer true </dev/null
	assert_call no_principal
	command -v python3 >/dev/null || skip 'python3 makes the socket'
	run_sbx 0 python3 -c '
import socket, subprocess, sys
ours, theirs = socket.socketpair()
ours.sendall(b"{\"tool\":\"true\",\"params\":{}}")
ours.shutdown(socket.SHUT_WR)
sys.exit(subprocess.run(["sbx-policy", "--peer"], stdin=theirs).returncode)'
	assert_json '.call.principal | [.name, .via] | join(" ")' "$(id -un) peer"
}

@test "the last write is checked" {
	run_sbx 74 bash -c 'sbx-policy true >/dev/full'
	run_sbx 74 bash -c 'sbx-policy list >/dev/full'
	run_sbx 74 bash -c 'sbx-policy --help >/dev/full'
	run_sbx 74 bash -c 'sbx-policy nosuch >/dev/full'
}

@test "a plan is an id that this principal got, and decides nothing by itself" {
	run_sbx 77 sbx-policy terraform_apply plan=00000000000000000000000000000001
	assert_call plan_unknown
	run_sbx 77 sbx-policy terraform_apply plan=-auto-approve
	assert_call bad_parameter
	run_sbx 77 sbx-policy terraform_apply plan=/proc/self/fd/3
	assert_call bad_parameter
}

@test "what ships passes its own tests" {
	rm -r "$T/policy"
	cp -r "$ROOT/policy" "$T/policy"
	chmod -R go-w "$T/policy"
	run_sbx 0 sbx-policy test
	refute_contains "$output" 'not ok'
	[ "$(printf '%s\n' "$output" | grep -c '^ok')" -ge 25 ]
}

@test "the tool in the manual's example loads and passes its tests" {
	sed -n '/^name: tree_size/,/^\.Ed/p' "$ROOT/man/sbx-policy.5" | sed '$d' >"$T/policy/tools/tree_size.yaml"
	sed -n '/^  du: /p' "$ROOT/man/sbx-policy.5" >"$T/du"
	edit policy.yaml "/^programs:/r $T/du"
	{
		sed -n '/^when:/,/^\.Ed/p' "$ROOT/man/sbx-policy.5" | sed '$d'
	} >>"$T/policy/tools/terraform_plan.yaml"
	run_sbx 0 sbx-policy test
	assert_contains "$output" 'tree_size 2'
	mkdir "$T/work/envs/dev"
	run_sbx 0 sbx-policy tree_size dir=envs/dev
	run_sbx 0 sbx-policy terraform_plan dir=envs/prod destroy=true
	assert_json .policy.tier critical
}

@test "the policy for a cluster passes its own tests" {
	cp -r "$ROOT/cluster/policy" "$T/cluster"
	cp -r "$ROOT/policy/signals" "$T/cluster/"
	cat >"$T/cluster.yaml" <<-'EOT'
		policy: cluster
		state: var-cluster
		driver: kubernetes
		workspaces: work
		allowed_signers: allowed_signers
		targets:
		  dev: {server: "https://192.0.2.1:6443"}
	EOT
	chmod -R go-w "$T"
	run_sbx 0 sbx-policy --config "$T/cluster.yaml" test
	assert_contains "$output" 'ok 1200 - '
	refute_contains "$output" 'not ok'
	run_sbx 0 sbx-policy --config "$T/cluster.yaml" list
	assert_contains "$output" terraform_apply
}
