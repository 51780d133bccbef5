#!/usr/bin/env bats
# check: true. A step that looks whether what a person signed is still so. When it does not end with 0 nothing is begun, and the approval can be used again;
# an ordinary program of the tests is the checker, and does what a file of the workspace spells out, which stands for the world.

load ../helpers

setup_file() {
	export WORLD=world$BASHPID$RANDOM # nobody else's
}

setup() {
	fresh_state basic guarded_tool
	world out as-planned
	signed
}

guarded_tool() {
	no_policy_tests
	sed -i 's/^  stepper: .*/  stepper: {path: "@STEPPER@", env_allowed: [SBX_TOKEN]}/; s|@STEPPER@|'"$SBX_BUILD/test/stepper|" "$T/policy/policy.yaml"
	tool guarded_change <<-EOT
		name: guarded_change
		description: Changes something, once its check says that it is as it was.
		tier: high
		workspace: {tree: ., cwd: envs/staging}
		steps:
		  - {argv: [stepper, follow, $WORLD], check: true}
		  - [stepper, out, changed]
		credentials: [{scope: test-read, as: token, env: SBX_TOKEN}]
		limits: {deadline: 30s, grace: 1s}
	EOT
	new_signer alice
}

# world WORD...: what the checker is to do.
world() {
	printf '%s\n' "$@" >"$T/work/envs/staging/$WORLD"
}

asked() {
	sbx-policy guarded_change 2>/dev/null | sbx-approve
}
chain() {
	asked | { echo "$BASHPID" >"$T/pid" && exec sbx-cred sbx-run; } | sbx-audit
}
export -f asked chain

# signed: a person signs; sets $approval.
signed() {
	asked >"$T/waiting" 2>"$T/err" || true
	approval=$(member .approval.id <"$T/waiting")
	sbx-approve sign "$approval" --key "$T/alice" >"$T/text" 2>"$T/sign.err" </dev/null || {
		cat "$T/err" "$T/sign.err"
		return 1
	}
}

# refused CODE: the call is refused, nothing was begun, and the next one has the same approval.
refused() {
	run_sbx 77 bash -c chain
	assert_call "$1"
	assert_json .approval.state claimed
	assert_json .approval.id "$approval"
	assert_json .result.state refused
	assert_json .result.stdout ''
	refute_contains "$stderr" 'step 2'
}

# runs: the same call, with the approval that was given at first; and then it is spent.
runs() {
	world out as-planned
	run_sbx 0 bash -c chain
	assert_json .approval.id "$approval"
	assert_json .result.state completed
	assert_json .result.stdout changed
	assert_contains "$stderr" 'step 2 of 2'
	run_sbx 75 bash -c chain
	refute_contains "$output" "$approval"
}

@test "it ends with 0: the steps run, and of what it printed nothing is in their output" {
	assert_contains "$(<"$T/text")" 'check'
	world out quiet then err 'a warning'
	run_sbx 0 bash -c chain
	assert_json .result.stdout changed
	assert_json .result.stderr 'a warning'
	assert_equal "$(jq -r .event "$T/var/audit.jsonl" | grep -c 'approval.released')" 0
}

@test "65: what was signed is not so any more; it says what, and the approval is there when it is again" {
	world err 'replicas: 3, was 5' then exit 65
	refused state_moved
	assert_contains "$(member .error.hint <<<"$output")" 'replicas: 3, was 5'
	assert_json .result.stderr 'replicas: 3, was 5'
	world err 'replicas: 3, was 5' then fill 2 10 then err 'image: b, was a' then fill 1 10 then err 'that is all' then exit 65
	refused state_moved
	assert_json .error.hint 'it said: replicas: 3, was 5; image: b, was a; that is all'
	world fill 2000 65 then exit 65
	refused state_moved
	[ "$(member .error.hint <<<"$output" | wc -c)" -lt 400 ]
	refused state_moved
	runs
	assert_equal "$(jq -r .event "$T/var/audit.jsonl" | grep -c 'approval.released')" 4
}

@test "any other status, a signal, and a program that cannot be started: refused, and given back" {
	world err 'no answer' then exit 69
	refused check_failed
	assert_contains "$(member .error.hint <<<"$output")" 'no answer'
	world exit 1
	refused check_failed
	assert_json .error.hint null
	assert_contains "$(member .error.message <<<"$output")" 'did not end with 0'
	world err ouch then die
	refused check_failed
	assert_json .error.hint 'it said: ouch'
	assert_contains "$(member .error.message <<<"$output")" 'ended by a signal'
	runs
	cp "$T/policy/tools/guarded_change.yaml" "$T/tool"
	sed -i 's/check: true/check: true, credentials: false/; s/stepper, follow, world[0-9]*/stepper, cat, nowhere/' "$T/policy/tools/guarded_change.yaml"
	signed
	refused check_failed
	assert_contains "$(member .error.hint <<<"$output")" 'cannot open nowhere'
	cp "$T/tool" "$T/policy/tools/guarded_change.yaml"
	printf '#!/nonexistent\n' >"$T/broken"
	chmod 755 "$T/broken"
	sed -i "s|^programs:|programs:\n  broken: {path: $T/broken, env_allowed: [SBX_TOKEN]}|" "$T/policy/policy.yaml"
	sed -i 's/stepper, follow, world[0-9]*/broken/' "$T/policy/tools/guarded_change.yaml"
	signed
	refused check_failed
	assert_contains "$(member .error.message <<<"$output")" 'could not be started'
	assert_contains "$(member .error.hint <<<"$output")" 'cannot start'
}

@test "it hangs: the deadline ends it, and the approval is given back" {
	world stubborn then sleep
	sed -i 's/deadline: 30s/deadline: 1s/' "$T/policy/tools/guarded_change.yaml"
	signed
	run_sbx 1 bash -c chain
	assert_json .result.state timeout
	assert_json .result.code check_failed
	assert_json .result.stdout ''
	refute_contains "$stderr" 'step 2'
	assert_json .approval.id "$approval"
	# By this the next call has it back.
	[ -s "$T/var/runs/$(member .call.id <<<"$output")/refused" ]
}

@test "it is cancelled: the same" {
	world out asleep then sleep
	bash -c chain >"$T/out" 2>"$T/err" 3>&- &
	local chain=$!
	wait_until 10 pgrep -f "stepper follow $WORLD"
	kill -TERM "$(<"$T/pid")"
	wait "$chain" || true
	output=$(<"$T/out")
	assert_json .result.state cancelled
	runs
}

@test "it says a secret: nobody sees it" {
	world moan /run/sbx/cred/0 then cat /run/sbx/cred/0 then exit 65
	refused state_moved
	assert_contains "$(member .result.stderr <<<"$output")" REDACTED
	assert_contains "$(member .error.hint <<<"$output")" REDACTED
	run -1 grep -rqE 'eyJ[A-Za-z0-9_-]{20}' "$T/var/runs" "$T/var/audit.jsonl"
	refute_contains "$output" eyJ
	# Only in that step: the next one has it, too, and the last one leaves none.
	runs
}

@test "it forges frames, floods, and leaves somebody behind" {
	local N=00000000000000000000000000000000
	world out "sbx-frame $N step 2 0" then err "sbx-frame $N end 0 2" then exit 65
	refused state_moved
	assert_contains "$(member .result.stderr <<<"$output")" "sbx-frame $N end 0 2"
	world flood 3000000 65 then fill 3000000 66 then exit 65
	refused state_moved
	assert_json .result.truncated true
	world linger then exit 65
	refused state_moved
	runs
}

@test "what it leaves running is gone before the step" {
	world linger
	run_sbx 0 bash -c chain
	assert_json .result.stdout changed
}

@test "where check: may stand" {
	local file=$T/policy/tools/guarded_change.yaml
	cp "$file" "$T/good"
	# bad SED WORDS: the changed tool is refused, in these words.
	bad() {
		sed "$1" "$T/good" >"$file"
		run_sbx 78 sbx-policy list
		assert_contains "$stderr" "$2"
		cp "$T/good" "$file"
	}
	bad 's/- \[stepper, out, changed\]/- {argv: [stepper, out, x], check: true}/' 'no step to do anything'
	bad 's/  - {argv/  - [stepper, out, first]\n  - {argv/' 'behind a step that is none'
	bad 's/check: true/check: true, analyse: terraform/' 'makes nothing that could be analysed'
	bad 's/check: true/check: true, keeps: modules/' 'makes nothing that could be kept'
	bad 's/check: true/check: maybe/' 'must be true or false'
	bad 's/check: true/check: true, seals: state/; s/^workspace.*//' 'neither makes a plan nor takes one'
	bad 's/check: true/check: true, seals: state/; s/- \[stepper, out, changed\]/- {argv: [stepper, out, x], analyse: terraform}/' 'no seal to check the state by'
	bad 's/^steps:/produces: {made: made.bin}\nsteps:/; s/out, changed/cat, {artifact: made}/' 'a check would have to make it'
	bad "s/^steps:/produces: {made: made.bin}\nsteps:/; s/follow, $WORLD/cat, {artifact: made}/" 'the first step uses it already'
	run_sbx 0 sbx-policy list
}
