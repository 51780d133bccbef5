# Every stage, given what no stage before it gives: the exit status of the contract, a stable code, no action.

load ../helpers

setup() {
	fresh_state
}

# Commands of the stages that read a call.
stages=('sbx-approve' 'sbx-cred sbx-run' 'sbx-run' 'sbx-audit')

refused() { # STATUS CODE COMMAND...: with $T/in on stdin
	local want=$1 code=$2
	shift 2
	run_sbx "$want" bash -c "$* <'$T/in'"
	assert_call "$code" || {
		echo "stage: $*"
		return 1
	}
	refute_contains "$output$stderr" secret-in-the-input
	run grep -c sandbox.started "$T/var/audit.jsonl"
	[ "$output" = 0 ] || [ ! -e "$T/var/audit.jsonl" ]
}

good_call() { # a sealed call that is ready for sbx-approve
	sbx-policy true >"$T/call"
}

in_all_stages() { # CODE-IN-POLICY STATUS-IN-POLICY CODE-ELSEWHERE: what is in $T/in
	refused "$2" "$1" sbx-policy
	for stage in "${stages[@]}"; do
		refused 76 "$3" "$stage"
	done
}

@test "nothing on stdin" {
	: >"$T/in"
	in_all_stages no_input 66 no_input
	for stage in sbx-policy "${stages[@]}"; do
		run bash -c "$stage <&-"
		[ "$status" -ne 0 ]
		[ "$status" -lt 128 ]
	done
}

@test "half an object" {
	good_call
	for n in 1 10 200; do
		head -c "$n" "$T/call" >"$T/in"
		in_all_stages json_truncated 65 json_truncated
	done
}

@test "two objects" {
	good_call
	cat "$T/call" "$T/call" >"$T/in"
	in_all_stages json_trailing 65 json_trailing
}

@test "the same key twice, also when spelled with an escape" {
	printf '{"tool":"true","t\\u006fol":"secret-in-the-input","params":{}}' >"$T/in"
	in_all_stages json_duplicate_key 65 json_duplicate_key
}

@test "NUL, bytes that are not UTF-8, a lone surrogate, a BOM" {
	printf '{"tool":"tr\0ue","params":{}}' >"$T/in"
	in_all_stages json_control 65 json_control
	printf '{"tool":"\377","params":{}}' >"$T/in"
	in_all_stages json_utf8 65 json_utf8
	printf '{"tool":"\\ud800","params":{}}' >"$T/in"
	in_all_stages json_surrogate 65 json_surrogate
	printf '\357\273\277{"tool":"true","params":{}}' >"$T/in"
	in_all_stages json_bom 65 json_bom
}

@test "too deep, too large" {
	{
		printf '{"tool":"true","params":'
		printf '[%.0s' $(seq 64)
		printf ']%.0s' $(seq 64)
		printf '}'
	} >"$T/in"
	in_all_stages json_depth 65 json_depth
	{
		printf '{"tool":"true","params":{}'
		head -c $((1024 * 1024)) /dev/zero | tr '\0' ' '
		printf '}'
	} >"$T/in"
	in_all_stages too_large 65 too_large
}

@test "fractions, exponents, integers that readers do not agree on" {
	for number in 1.5 1e2 9007199254740992 01 +1 NaN; do
		printf '{"tool":"true","params":{"a":%s}}' "$number" >"$T/in"
		run_sbx 65 bash -c "sbx-policy <'$T/in'"
		for stage in "${stages[@]}"; do
			run_sbx 76 bash -c "$stage <'$T/in'"
		done
	done
}

@test "an object that is no call" {
	for text in '[]' '7' '"x"' '{}' '{"sbx":2}' '{"sbx":1,"call":"x","seals":[]}' '{"sbx":1,"policy":{"effect":"allow"}}'; do
		printf '%s' "$text" >"$T/in"
		for stage in "${stages[@]}"; do
			refused 76 bad_call "$stage"
		done
	done
}

@test "a hand-made call without seals, and one with the seal of another call" {
	good_call
	jq -c '.seals = []' "$T/call" >"$T/in"
	refused 77 seal_invalid sbx-approve
	sbx-policy true >"$T/other"
	jq -c --slurpfile other "$T/other" '.seals = $other[0].seals' "$T/call" >"$T/in"
	refused 77 seal_invalid sbx-approve
	jq -c '.policy.run.steps[0].argv[0] = "other"' "$T/call" >"$T/in"
	refused 77 seal_invalid sbx-approve
	jq -c '.approval = {state: "claimed"}' "$T/call" >"$T/in"
	refused 77 seal_invalid sbx-approve
	cp "$T/call" "$T/in"
	run_sbx 0 bash -c "sbx-approve <'$T/in'"
}

@test "a stage skipped, or given twice" {
	good_call
	cp "$T/call" "$T/in"
	refused 77 seal_invalid sbx-cred sbx-run
	refused 77 seal_invalid sbx-run
	refused 77 seal_invalid sbx-audit
	sbx-approve <"$T/call" >"$T/approved"
	cp "$T/approved" "$T/in"
	refused 77 seal_invalid sbx-run
	refused 77 seal_invalid sbx-approve
}

@test "the same call twice" {
	good_call
	cp "$T/call" "$T/in"
	run_sbx 0 bash -c "sbx-approve <'$T/in' >'$T/approved'"
	refused 77 call_reused sbx-approve
	run_sbx 0 bash -c "sbx-cred sbx-run <'$T/approved' >'$T/ran'"
	run_sbx 77 bash -c "sbx-cred sbx-run <'$T/approved'"
	assert_call call_reused
	run_sbx 0 bash -c "sbx-audit <'$T/ran'"
	run_sbx 77 bash -c "sbx-audit <'$T/ran'"
	assert_call call_reused
	assert_equal "$(grep -c sandbox.started "$T/var/audit.jsonl")" 1
}

@test "a call of another installation" {
	good_call
	cp "$T/call" "$T/in"
	mv "$T/var" "$T/var.old"
	run_sbx 77 bash -c "sbx-approve <'$T/in'"
	assert_call seal_invalid
}

@test "unknown tool, unknown parameter, wrong type, values that would be options or leave the tree" {
	mkdir -p "$T/work/envs/staging"
	ln -s /etc "$T/work/envs/out"
	while IFS='|' read -r status code request; do
		printf '%s' "$request" >"$T/in"
		run_sbx "$status" bash -c "sbx-policy <'$T/in' | tee '$T/out'; exit \${PIPESTATUS[0]}"
		assert_json .error.code "$code" || {
			echo "request: $request"
			return 1
		}
	done <<-'EOF'
		77|unknown_tool|{"tool":"rm_everything","params":{}}
		77|unknown_parameter|{"tool":"terraform_plan","params":{"dir":"envs/staging","extra":1}}
		77|bad_parameter|{"tool":"terraform_plan","params":{"dir":7}}
		77|bad_parameter|{"tool":"terraform_plan","params":{"dir":"-chdir=x"}}
		77|bad_parameter|{"tool":"terraform_plan","params":{"dir":"../etc"}}
		77|bad_parameter|{"tool":"terraform_plan","params":{"dir":"/etc"}}
		77|bad_parameter|{"tool":"terraform_plan","params":{"dir":"envs/out"}}
		77|bad_parameter|{"tool":"terraform_plan","params":{"dir":"envs/../envs/staging"}}
		77|bad_parameter|{"tool":"terraform_plan","params":{"dir":""}}
		77|missing_parameter|{"tool":"terraform_plan","params":{}}
		65|unknown_member|{"tool":"true","params":{},"principal":{"name":"root"}}
	EOF
	assert_equal "$(grep -c '"event":"guardrail.decision"' "$T/var/audit.jsonl")" 10
}

@test "a denied call goes through the pipe, is recorded, and starts nothing" {
	run_sbx 77 bash -c 'sbx-policy rm_everything 2>/dev/null | sbx-approve | sbx-cred sbx-run | sbx-audit'
	assert_call unknown_tool
	assert_json '[.seals[].stage] | join(" ")' 'policy approve cred audit'
	assert_equal "$(jq -r .event "$T/var/audit.jsonl" | tail -n 1)" tool.result
	run grep -c sandbox.started "$T/var/audit.jsonl"
	assert_equal "$output" 0
}

@test "a full disk behind stdout is never 0" {
	good_call
	for command in 'sbx-policy true' "sbx-approve <'$T/call'"; do
		run_sbx 74 bash -c "$command >/dev/full"
	done
	sbx-policy true | sbx-approve >"$T/approved"
	run_sbx 74 bash -c "sbx-cred sbx-run <'$T/approved' >/dev/full"
	sbx-policy true | sbx-approve | sbx-cred sbx-run >"$T/ran"
	run_sbx 74 bash -c "sbx-audit <'$T/ran' >/dev/full"
}
