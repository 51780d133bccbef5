#!/usr/bin/env bats
# sbx-run: options, bad input, what comes out of a sandbox, signals, drivers that misbehave, plans, states.

load ../helpers

# By this the processes of a run are found.
setup_file() {
	export MARK=mark$BASHPID$RANDOM
}

setup() {
	fresh_state basic tools_of_runs
	# Which sbx-cred runs with a call, that it may be kept.
	printf 'commands: [%s/capture]\n' "$T" >>"$T/sbx.yaml"
	PATH=$T:$PATH
}

tools_of_runs() {
	add_tools
	no_policy_tests
	# Scripts, since `timeout` and sbx-cred start programs alone.
	printf '#!/bin/bash\nsbx-policy "$@" | sbx-approve | sbx-cred sbx-run\n' >"$T/chain"
	printf '#!/bin/sh\nexec cat >"${0%%/*}/call"\n' >"$T/capture"
	chmod 755 "$T/chain" "$T/capture"
}

add_tools() {
	tool sleep <<-EOT
		name: sleep
		description: Waits until it is stopped.
		tier: low
		params:
		  stubborn: {type: boolean, default: false}
		steps:
		  - [stepper, out, $MARK, then, {if: stubborn, then: stubborn}, sleep]
		limits: {deadline: 20s, grace: 1s}
	EOT
	tool flood <<-'EOT'
		name: flood
		description: More than fits, all of it control characters.
		tier: low
		steps:
		  - [stepper, flood, "200000", "1", then, fill, "200000", "27"]
	EOT
	tool bytes <<-'EOT'
		name: bytes
		description: Bytes that are no text.
		tier: low
		steps:
		  - [stepper, flood, "3", "255", then, out, 'a\b']
	EOT
	tool ghost <<-EOT
		name: ghost
		description: Leaves a process behind.
		tier: low
		steps:
		  - [stepper, out, $MARK, then, linger, then, out, one]
		  - [stepper, out, two]
	EOT
	tool networked <<-'EOT'
		name: networked
		description: Needs a network.
		tier: low
		steps:
		  - ["true"]
		egress: [kubernetes-api]
	EOT
	tool envs <<-'EOT'
		name: envs
		description: Shows its environment.
		tier: low
		steps:
		  - [stepper, env, HOME, then, env, PATH, then, env, LD_PRELOAD, then, env, TF_CLI_ARGS, then, env, SBX_CONFIG]
	EOT
	tool nonsense_plan <<-'EOT'
		name: nonsense_plan
		description: Analyses what is no plan.
		tier: low
		steps:
		  - [stepper, write, plan.bin, x, then, out, secret-words, then, err, said-aloud]
		  - {argv: [stepper, out, '{{"no": "plan"}}'], analyse: terraform}
		produces: {plan: plan.bin}
	EOT
	tool write_state <<-'EOT'
		name: write_state
		description: Writes a state.
		tier: high
		params:
		  serial: {type: integer, min: 0, max: 100}
		  lineage: {type: string, pattern: "[a-z]+", default: one}
		  status: {type: string, pattern: "[0-9]", default: "0"}
		workspace: {tree: ., cwd: envs/staging, state: {path: envs/staging, access: write}}
		steps:
		  - [stepper, state, terraform.tfstate, "{serial}", "{lineage}", then, exit, "{status}"]
	EOT
	tool read_state <<-'EOT'
		name: read_state
		description: Reads a state, and tries to change it.
		tier: low
		workspace: {tree: ., cwd: envs/staging, state: {path: envs/staging, access: read}}
		steps:
		  - [stepper, cat, terraform.tfstate, then, state, terraform.tfstate, "99", other]
	EOT
	tool sleep_approved <<-EOT
		name: sleep_approved
		description: Waits, with an approval.
		tier: high
		steps:
		  - [stepper, out, $MARK, then, sleep]
		limits: {deadline: 20s, grace: 1s}
	EOT
}

# make_call TOOL ARG...: $T/call is a call as sbx-cred gives it to sbx-run.
make_call() {
	sbx-policy "$@" 2>"$T/policy.err" | sbx-approve 2>"$T/approve.err" | sbx-cred "$T/capture" >"$T/cred.out" 2>"$T/cred.err" || true
	[ -s "$T/call" ] || {
		cat "$T"/*.err "$T/cred.out"
		return 1
	}
}

# make_approved_call TOOL ARG...: the same, with an approval that a person gave.
make_approved_call() {
	[ -f "$T/alice" ] || new_signer alice
	sbx-policy "$@" 2>/dev/null | sbx-approve >"$T/waiting" 2>/dev/null || true
	sbx-approve sign "$(jq -r .approval.id "$T/waiting")" --key "$T/alice" >/dev/null 2>"$T/sign.err" </dev/null || {
		cat "$T/sign.err"
		return 1
	}
	make_call "$@"
	[ "$(jq -r .approval.state "$T/call")" = claimed ]
}

call_dir() {
	printf '%s/var/runs/%s' "$T" "$(jq -r .call.id "${1:-$T/call}")"
}

events() {
	jq -r '.event' "$T/var/audit.jsonl" | tr '\n' ' '
}

# fake_driver < SHELL: a driver of the test's own; sbx-run of $FAKE/bin finds it. The words hello, frame and event are given.
fake_driver() {
	FAKE=$T/prefix
	mkdir -p "$FAKE/bin" "$FAKE/libexec/sbx"
	cp "$SBX_BIN/sbx-run" "$SBX_BIN/sbx-plan" "$FAKE/bin/"
	{
		cat <<-'EOT'
			#!/bin/bash
			N=0123456789abcdef0123456789abcdef
			frame() { printf 'sbx-frame %s %s %s %s\n%s\n' "$N" "$1" "$2" "${#3}" "$3"; }
			event() { printf 'sbx-frame 00000000000000000000000000000000 event 0 %s\n%s\n' "${#1}" "$1"; }
			hello() { frame hello 0 '{"isolation":"local"}'; }
		EOT
		cat
	} >"$FAKE/libexec/sbx/sbx-run-fake"
	chmod 755 "$FAKE/libexec/sbx/sbx-run-fake"
	grep -q ^driver "$T/sbx.yaml" || printf 'driver: fake\n' >>"$T/sbx.yaml"
}

run_fake() {
	local want=$1
	shift
	run_sbx "$want" bash -c "'$FAKE/bin/sbx-run' <'$T/call'"
}

# start_run: sbx-run in the background on $T/call, until its step has begun; $RUN is its pid.
start_run() {
	sbx-run <"$T/call" >"$T/out" 2>"$T/err" 3>&- &
	RUN=$!
	wait_until 10 sleeps
}

end_run() {
	status=0
	wait "$RUN" || status=$?
	output=$(cat "$T/out")
}

# A process of this test's own sandbox: the words of its command line are nobody else's.
sleeps() {
	pgrep -f "stepper out $MARK" >/dev/null
}

no_sleeper() {
	! sleeps
}

# --- options ---

@test "help and version" {
	run_sbx 0 sbx-run --help
	assert_contains "$output" "usage: sbx-run"
	run_sbx 0 sbx-run -h
	run_sbx 0 sbx-run -V
	assert_contains "$output" "sbx-run "
}

@test "wrong options are 64" {
	run_sbx 64 sbx-run --nonsense
	run_sbx 64 sbx-run something
	run_sbx 64 sbx-run --credentials-fd 99 --secrets-fd 98
	run_sbx 64 bash -c 'exec 8</dev/null; sbx-run --credentials-fd 8'
	run_sbx 64 sbx-run --lock-fd 1
	run_sbx 64 sbx-run --mend not-an-id
	run_sbx 64 sbx-run --check --mend 0123456789abcdef0123456789abcdef
	run_sbx 64 sbx-run adopt-state envs/staging
	run_sbx 64 sbx-run adopt-state --nonsense envs/staging file
}

@test "without settings it is 78" {
	run_sbx 78 sbx-run --config "$T/none.yaml"
	assert_call
	assert_json .error.stage run
}

@test "--check says that this machine can make a sandbox" {
	run_sbx 0 sbx-run --check
	assert_equal "${output%% *}" OK
	assert_equal "$(printf '%s' "${output#OK }" | member .isolation)" local
}

# --- what is no call ---

@test "nothing and half an object are 76" {
	run_sbx 76 bash -c 'sbx-run </dev/null'
	assert_call no_input
	run_sbx 76 bash -c 'sbx-run <&-'
	assert_call
	run_sbx 76 bash -c "printf '{\"sbx\":1' | sbx-run"
	assert_call
}

@test "JSON that is not strict is 76 and starts nothing" {
	local deep
	deep=$(printf '[%.0s' {1..65})$(printf ']%.0s' {1..65})
	for text in '{"sbx":1}{"sbx":1}' '{"sbx":1,"sbx":1}' '[]' '{"sbx":1.5}' '{"sbx":"1"}' "{\"a\":$deep}" '{"sbx":1,"call":7}'; do
		run_sbx 76 bash -c "printf '%s' '$text' | sbx-run"
		assert_call
	done
	run_sbx 76 bash -c "printf '{\"sbx\":\\0}' | sbx-run"
	run_sbx 76 bash -c "printf '{\"sbx\":\"\\377\"}' | sbx-run"
	run_sbx 76 bash -c "{ printf '{\"a\":\"'; head -c 1048577 /dev/zero | tr '\\0' x; printf '\"}'; } | sbx-run"
	[ ! -e "$T/var/audit.jsonl" ] || refute_contains "$(events)" sandbox
}

@test "a call without the seal of sbx-cred, or changed, is refused" {
	sbx-policy true >"$T/early" 2>/dev/null
	run_sbx 77 bash -c "sbx-run <'$T/early'"
	assert_call seal_invalid
	make_call true
	jq -c '.policy.run.steps[0].argv = ["true", "x"]' "$T/call" >"$T/changed"
	run_sbx 77 bash -c "sbx-run <'$T/changed'"
	assert_call seal_invalid
	refute_contains "$(events)" sandbox
	run_sbx 0 bash -c "sbx-run <'$T/call'"
}

@test "the same call twice is refused" {
	make_call true
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	run_sbx 77 bash -c "sbx-run <'$T/call'"
	assert_call call_reused
}

@test "a call that is closed is refused" {
	make_call true
	rm -r "$(call_dir)"
	run_sbx 77 bash -c "sbx-run <'$T/call'"
	assert_call call_closed
}

@test "an error passes through with its class" {
	run_sbx 69 bash -c "printf '{\"sbx\":1,\"error\":{\"stage\":\"cred\",\"class\":69,\"code\":\"x\",\"message\":\"y\"}}' | sbx-run"
	assert_call x
	[ ! -e "$T/var/audit.jsonl" ]
}

# --- what comes out ---

@test "a step that ends well" {
	run_sbx 0 chain true
	assert_call
	assert_json .result.state completed
	assert_json .result.exit 0
	assert_json .result.stdout ""
	assert_json '.result.isolation.isolation' local
	assert_json '.result.isolation.no_new_privs' 1
	assert_json '.result.isolation.cap_eff' 0000000000000000
	assert_json '[.seals[].stage] | join(" ")' "policy approve cred run revoke"
	assert_contains "$(events)" "sandbox.started sandbox.completed "
	assert_equal "$(jq -r 'select(.event == "sandbox.completed") | .state' "$T/var/audit.jsonl")" completed
}

@test "a step that does not end well is a result, not an error" {
	run_sbx 1 chain fail status=7
	assert_json .result.state failed
	assert_json .result.exit 7
	assert_json .result.stdout some
	assert_json .result.stderr words
	assert_json .error null
	assert_contains "$stderr" 'sbx-run: step 1 of 1: stepper ended with 7: words'
	for stream in stdout stderr; do
		assert_json ".result.artifacts[] | select(.name == \"$stream\") | .sha256" \
			"$(sha256sum "$T/var/runs/$(printf '%s' "$output" | member .call.id)/$stream" | cut -d' ' -f1)"
	done
}

@test "a step that does not end well is said with its own last words" {
	tool words <<-'EOT'
		name: words
		description: Complains.
		tier: low
		params:
		  token: {type: string, pattern: ".*", default: "x"}
		steps:
		  - [stepper, err, "Error: of another step", then, fill, "1", "10"]
		  - [stepper, err, warning, then, fill, "1", "10", then, err, "│ ", then, fill, "1", "10", then, err, "│ Error: no é here{token}",
		     then, fill, "1", "10", then, err, "the end", then, fill, "2", "10", then, exit, "3"]
	EOT
	run_sbx 1 chain words
	assert_equal "$(grep -c ended <<<"$stderr")" 1
	assert_contains "$stderr" 'sbx-run: step 2 of 2: stepper ended with 3: Error: no \xc3\xa9 herex'
	# Cut, and without what nobody may see.
	run_sbx 1 chain words "token=$(printf 'y%.0s' {1..300})"
	assert_equal "$(grep -o 'Error: no.*' <<<"$stderr" | wc -c)" 201
	run_sbx 1 chain words "token= AKIAIOSFODNN7EXAMPLE"
	assert_contains "$(member .result.stderr <<<"$output")" REDACTED
	refute_contains "$stderr" AKIAIOSFODNN7
	# None that begins so: the last one. None at all: none.
	sed -i 's/│ Error: no/│ no/' "$T/policy/tools/words.yaml"
	run_sbx 1 chain words
	assert_contains "$stderr" 'stepper ended with 3: the end'
	tool words <<-'EOT'
		name: words
		description: Says nothing.
		tier: low
		steps:
		  - [stepper, err, "Error: of another step"]
		  - [stepper, out, "Error: is no error", then, exit, "3"]
	EOT
	run_sbx 1 chain words
	assert_contains "$stderr"$'\n' $'stepper ended with 3\n'
}

@test "control characters without end still give a legal object" {
	run_sbx 0 chain flood
	assert_call
	assert_json .result.truncated true
	assert_json '.result.encoding' utf-8
	[ "$(printf '%s' "$output" | jq -c .result.stdout | wc -c)" -le $((64 * 1024 + 3)) ]
	[ "$(printf '%s' "$output" | jq -c .result.stderr | wc -c)" -le $((16 * 1024 + 3)) ]
	assert_equal "$(stat -c %s "$T/var/runs/$(printf '%s' "$output" | member .call.id)/stdout")" 200000
}

@test "bytes that are no text are shown escaped" {
	run_sbx 0 chain bytes
	assert_json .result.encoding escaped
	assert_json .result.stdout '\xff\xff\xffa\\b'
}

@test "a process that a step leaves behind is gone before the next" {
	run_sbx 0 chain ghost
	assert_json '.result.stdout | endswith("two")' true
	run no_sleeper
	[ "$status" -eq 0 ]
}

@test "nothing of the caller's environment is inside" {
	run_sbx 0 env LD_PRELOAD=/nonexistent.so TF_CLI_ARGS=-destroy HOME=/root bash -c 'sbx-policy envs | sbx-approve | sbx-cred sbx-run' 
	assert_json .result.stdout "$(printf 'HOME=/tmp/home\nPATH=/usr/bin:/bin\nLD_PRELOAD=(unset)\nTF_CLI_ARGS=(unset)\nSBX_CONFIG=(unset)')"
}

@test "a credential that a step prints does not leave" {
	run_sbx 0 chain cred_show
	assert_contains "$(printf '%s' "$output" | member .result.stdout)" "SBX_TOKEN=/run/sbx/cred/0"
	run grep -rlE 'eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.' "$T/var" --include=stdout --include=object --include=audit.jsonl
	[ "$status" -eq 1 ]
	refute_contains "$output" eyJ
}

@test "a full disk behind stdout is 74" {
	make_call true
	run_sbx 74 bash -c "sbx-run <'$T/call' >/dev/full"
}

# --- refused before anything starts ---

@test "a destination that nothing explains" {
	make_call networked
	run_sbx 78 bash -c "sbx-run <'$T/call'"
	assert_call egress_unsupported
	assert_json .result.state refused
	refute_contains "$(events)" sandbox.started
}

@test "a program that is not there" {
	make_call true
	sed -i "s|$SBX_BUILD/test/true|$T/true|" "$T/policy/policy.yaml"
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	make_call true
	run_sbx 78 bash -c "sbx-run <'$T/call'"
	assert_call missing_program
	cp "$SBX_BUILD/test/true" "$T/true"
	chmod 775 "$T/true"
	make_call true
	run_sbx 78 bash -c "sbx-run <'$T/call'"
	assert_call unsafe_file
	chmod 755 "$T/true"
	run_sbx 0 chain true
}

@test "a record that cannot be written stops the run" {
	make_call true
	mv "$T/var/audit.jsonl" "$T/kept"
	mkdir "$T/var/audit.jsonl"
	run_sbx 74 bash -c "sbx-run <'$T/call'"
	assert_call audit_unavailable
	assert_json .result.state refused
	assert_json '.result.isolation' null
	[ ! -e "$(call_dir)/stdout" ]
}

@test "credentials that did not come" {
	make_call cred_show
	run_sbx 76 bash -c "sbx-run <'$T/call'"
	assert_call no_credentials
}

# --- stopping ---

@test "TERM and INT cancel" {
	for sig in TERM INT; do
		make_call sleep
		start_run
		kill -"$sig" "$RUN"
		end_run
		assert_equal "$status" 1
		assert_json .result.state cancelled
		# The signal may come before the step has its handler.
		assert_json '.result.exit == 130 or .result.signal == 2' true
	done
	run no_sleeper
	[ "$status" -eq 0 ]
}

@test "a step that ignores INT is killed after the grace" {
	make_call sleep stubborn=true
	start_run
	kill -TERM "$RUN"
	end_run
	assert_equal "$status" 1
	assert_json .result.state cancelled
	assert_json .result.signal 9
}

@test "HUP and a reader that has gone cancel a call without an approval" {
	make_call sleep
	start_run
	kill -HUP "$RUN"
	end_run
	assert_json .result.state cancelled

	make_call sleep
	{ sbx-run <"$T/call" 2>"$T/err" 3>&- || echo $? >"$T/status"; } | true &
	wait_until 10 test -s "$T/status"
	assert_equal "$(cat "$T/status")" 74
	assert_equal "$(jq -r 'select(.event == "sandbox.completed") | .state' "$T/var/audit.jsonl" | tail -1)" cancelled
}

@test "a call that spent an approval does not mind HUP, but TERM" {
	make_approved_call sleep_approved
	start_run
	kill -HUP "$RUN"
	run timeout 0.5 tail --pid="$RUN" -f /dev/null
	assert_equal "$status" 124
	kill -TERM "$RUN"
	end_run
	assert_json .result.state cancelled
	[ ! -e "$(call_dir)/refused" ]
}

@test "a call that comes with the signal is cancelled, and its approval given back" {
	make_approved_call sleep_approved
	mkfifo "$T/in"
	sbx-run <"$T/in" >"$T/out" 2>"$T/err" 3>&- &
	RUN=$!
	exec 8>"$T/in"
	wait_until 10 grep -q 'SigBlk:.*4003$' "/proc/$RUN/status"
	kill -STOP "$RUN"
	cat "$T/call" >&8
	exec 8>&-
	kill -TERM "$RUN"
	kill -CONT "$RUN"
	end_run
	assert_equal "$status" 1
	assert_json .result.state cancelled
	[ -s "$(call_dir)/refused" ]
	run sleeps
	assert_equal "$status" 1
}

@test "a signal while there is no call ends it" {
	mkfifo "$T/in"
	sbx-run <"$T/in" >"$T/out" 2>"$T/err" 3>&- &
	RUN=$!
	exec 8>"$T/in"
	wait_until 10 grep -q 'SigBlk:.*4003$' "/proc/$RUN/status"
	kill -TERM "$RUN"
	end_run
	exec 8>&-
	assert_equal "$status" 143
}

@test "a deadline is a timeout" {
	sed -i 's/deadline: 20s/deadline: 1s/' "$T/policy/tools/sleep.yaml"
	make_call sleep
	run_sbx 1 sbx-run <"$T/call"
	assert_json .result.state timeout
	assert_json .result.stdout "${MARK}asleep"
}

@test "a killed sbx-run takes its sandbox along, and can be mended" {
	make_call sleep
	start_run
	kill -KILL "$RUN"
	wait "$RUN" || true
	wait_until 10 no_sleeper
	local id
	id=$(jq -r .call.id "$T/call")
	wait_until 10 sbx-run --mend "$id"
	run_sbx 0 sbx-run --mend "$id"
	assert_json .mended true
	assert_json .state_file unchanged
	run_sbx 77 sbx-run --mend 00000000000000000000000000000000
}

@test "the state that a killed run had written is taken back by mending" {
	tool write_and_sleep <<-EOT
		name: write_and_sleep
		description: Writes a state and waits.
		tier: high
		workspace: {tree: ., cwd: envs/staging, state: {path: envs/staging, access: write}}
		steps:
		  - [stepper, state, terraform.tfstate, "7", one, then, sleep]
		limits: {deadline: 20s, grace: 1s}
	EOT
	make_approved_call write_and_sleep
	sbx-run <"$T/call" >"$T/out" 2>"$T/err" 3>&- &
	RUN=$!
	wait_until 10 grep -q '"serial":7' "$(call_dir)/state"
	kill -KILL "$RUN"
	wait "$RUN" || true
	wait_until 10 sbx-run --mend "$(jq -r .call.id "$T/call")"
	[ ! -e "$(call_dir)/state" ]
	[ ! -e "$(call_dir)/refused" ]
	run_sbx 0 chain read_state
	assert_json '.result.stdout | contains("\"serial\":7")' true
}

@test "a call that runs is not mended" {
	make_call sleep
	start_run
	run_sbx 69 sbx-run --mend "$(jq -r .call.id "$T/call")"
	assert_contains "$stderr" call_running
	kill -TERM "$RUN"
	end_run
}

# --- drivers that misbehave ---

@test "a driver that dies before it starts anything" {
	fake_driver <<<'exit 71'
	make_call true
	run_fake 71
	assert_call driver_failed
}

@test "a driver that tells its end: its code and its class are taken where they are some" {
	local want class code told long
	long=$(printf 'a%.0s' {1..40})
	# shellcheck disable=SC2016 # the driver's own
	fake_driver <<<'event "$(cat "$0.end")"'
	while read -r want class code told; do
		make_call true
		printf '{"event":"failed","message":"it fell over","class":%s,"code":%s}' "$class" "$told" >"$FAKE/libexec/sbx/sbx-run-fake.end"
		run_fake "$want"
		assert_call "$code"
	done <<-EOT
		78 78 node_gone "node_gone"
		70 70 node_gone "node_gone"
		69 75 node_gone "node_gone"
		69 2 node_gone "node_gone"
		69 "78" ${long:1} "${long:1}"
		78 78 driver_failed "$long"
		78 78 driver_failed ""
		78 78 driver_failed "Node gone"
	EOT
}

@test "a driver that refuses" {
	fake_driver <<-'EOT'
		hello
		frame refused 0 '{"code":"isolation_too_weak","message":"not enough"}'
	EOT
	make_approved_call apply_true
	run_fake 77
	assert_call isolation_too_weak
	assert_json .result.state refused
	[ -s "$(call_dir)/refused" ]
	sbx-policy apply_true 2>/dev/null | sbx-approve >"$T/again" 2>/dev/null
	assert_equal "$(jq -r .approval.state "$T/again")" claimed
}

@test "a driver with an image gets the signed text, and no other than the approval names; the local one gets none" {
	make_approved_call sleep_approved
	[ ! -e "$(call_dir)/signed" ]
	fake_driver <<-'EOT'
		while [ $# -gt 0 ]; do
			case $1 in
			--inputs-fd) cat "/proc/self/fd/$2" >"$(dirname "$0")/../../inputs" ;;
			esac
			shift
		done
		hello
		frame step 1 ''
		frame exit 1 '{"exit":0,"out_bytes":0,"out_dropped":0,"err_bytes":0,"err_dropped":0,"took_ms":1}'
		frame end 0 '{"state_changed":false,"stopped":false}'
	EOT
	make_approved_call sleep_approved
	assert_equal "$(stat -c %a "$(call_dir)/signed")" 600
	sed -i 's/Asked by principal/Asked by Principal/' "$(call_dir)/signed"
	run_fake 77
	assert_call approval_mismatch
	# What was refused is not spent.
	make_call sleep_approved
	run_fake 0
	cmp "$FAKE/inputs" "$(call_dir)/signed"
	run_sbx 0 bash -c "'$SBX_LIBEXEC/sbx-signed' '$T/allowed_signers' any <'$FAKE/inputs'"
	assert_equal "$output" 'ok alice'
}

@test "a driver that is killed before it said anything: the outcome is unknown, and it is asked to remove what it left" {
	fake_driver <<-EOT
		[ "\$1" != --mend ] || exec bash -c 'echo "\$0" >>"\$1"; cat >>"\$1"' "\$2" "$T/mended"
		kill -9 \$\$
	EOT
	make_approved_call apply_true
	run_fake 3
	assert_json .result.state unknown
	assert_json .result.code driver_died
	[ ! -e "$(call_dir)/refused" ]
	assert_equal "$(head -n 1 "$T/mended")" "$(jq -r .call.id "$T/call")"
	# One that ended by itself has seen to that.
	rm "$T/mended"
	fake_driver <<-EOT
		[ "\$1" != --mend ] || exec touch "$T/mended"
		exit 71
	EOT
	make_call true
	run_fake 71
	[ ! -e "$T/mended" ]
}

@test "a driver that has lost its sandbox, or cannot remove it: the stage is not done, so that mending asks again" {
	local script DONE
	make_call true
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	DONE=$(stat -c %a "$(call_dir)/run")
	for script in 'event "{\"event\":\"lost\",\"message\":\"gone\",\"code\":\"cluster_lost\",\"class\":3}"' 'kill -9 $$'; do
		fake_driver <<-EOT
			[ "\$1" != --mend ] || exec test -e "$T/reachable"
			hello
			frame step 1 ''
			$script
		EOT
		rm -f "$T/reachable"
		make_call true
		run_fake 3
		assert_json .result.state unknown
		[ "$(stat -c %a "$(call_dir)/run")" != "$DONE" ]
		run -69 "$FAKE/bin/sbx-run" --mend "$(jq -r .call.id "$T/call")"
		touch "$T/reachable"
		run -0 "$FAKE/bin/sbx-run" --mend "$(jq -r .call.id "$T/call")"
		# It is asked at once when it was killed; then nothing is left.
		make_call true
		run_fake 3
		[[ $script == event* ]] || [ "$(stat -c %a "$(call_dir)/run")" = "$DONE" ]
	done
}

@test "a driver that dies while a step runs leaves an unknown outcome, and a spent approval" {
	fake_driver <<-'EOT'
		hello
		frame step 1 ''
		frame out 1 half
		kill -9 $$
	EOT
	make_approved_call apply_true
	run_fake 3
	assert_json .result.state unknown
	assert_json .result.code driver_died
	assert_json .result.stdout half
	[ ! -e "$(call_dir)/refused" ]
}

@test "a driver that breaks its contract is not believed" {
	local script
	for script in 'echo garbage' 'hello; frame step 2 ""' 'hello; frame step 1 ""; frame step 1 ""' \
		'hello; frame step 1 ""; frame exit 1 "{\"exit\":0}"; frame end 0 "{}"; frame out 1 late' \
		'hello; frame step 1 ""; frame refused 0 "{}"' 'hello; frame step 1 ""; frame data 1 x' 'frame out 1 x' 'hello; hello' \
		'hello; frame step 1 ""; frame artifact 1 "{\"name\":\"plan\",\"sha256\":\"00\",\"size\":1}"; frame data 1 x' \
		'hello; frame step 1 ""; frame exit 1 "[]"'; do
		fake_driver <<<"$script"
		make_call true
		run bash -c "'$FAKE/bin/sbx-run' <'$T/call'"
		[ "$status" -eq 3 ] || [ "$status" -eq 76 ] || {
			printf '%s: %s %s\n' "$script" "$status" "$output"
			return 1
		}
		refute_contains "$output" '"state":"completed"'
		assert_contains "$output" bad_frame
	done
}

@test "a driver gets what its contract says, and an other driver than local a JSON object" {
	fake_driver <<-EOT
		printf '%s\n' "\$@" >$T/args
		cat >$T/stdin
		hello
		frame step 1 ''
		frame exit 1 '{"exit":0,"took_ms":1}'
		frame end 0 '{"state_changed":false}'
	EOT
	make_call true
	run_fake 0
	assert_contains "$(tr '\n' ' ' <"$T/args")" "--entry-fd 3 --inputs-fd 4 --control-fd 5"
	assert_equal "$(jq -r '.limits.deadline_ms' "$T/stdin")" 30000
	assert_equal "$(jq -r '.mounts[0].target' "$T/stdin")" /opt/sbx/true/true
}

@test "a driver that does not exist" {
	printf 'driver: nowhere\n' >>"$T/sbx.yaml"
	make_call true
	run_sbx 78 bash -c "sbx-run <'$T/call'"
	assert_call missing_helper
}

# --- state ---

@test "adopt-state takes a state once" {
	local state='{"version":4,"terraform_version":"1.11.4","serial":3,"lineage":"one","outputs":{},"resources":[]}'
	printf '%s\n' "$state" >"$T/old.tfstate"
	run_sbx 0 sbx-run adopt-state envs/staging "$T/old.tfstate"
	run_sbx 0 sbx-run adopt-state envs/staging "$T/old.tfstate"
	printf '%s\n' "${state/:3/:4}" >"$T/other.tfstate"
	run_sbx 73 sbx-run adopt-state envs/staging "$T/other.tfstate"
	assert_contains "$stderr" state_exists
	run_sbx 66 sbx-run adopt-state envs/prod "$T/none"
	run_sbx 65 sbx-run adopt-state envs/prod "$T/sbx.yaml"
	assert_contains "$stderr" "$T/sbx.yaml is no Terraform state (state_unreadable)"
	run_sbx 77 sbx-run adopt-state envs/nowhere "$T/old.tfstate"
	run_sbx 77 sbx-run adopt-state --workspace other envs/staging "$T/old.tfstate"
	run_sbx 0 chain read_state
	assert_json '.result.stdout | contains("\"serial\":3")' true
}

@test "a change to a state that is for reading is a finding and thrown away" {
	printf '{"version":4,"terraform_version":"1.11.4","serial":3,"lineage":"one","outputs":{},"resources":[]}\n' >"$T/old.tfstate"
	sbx-run adopt-state envs/staging "$T/old.tfstate"
	run_sbx 0 chain read_state
	assert_json '.result.findings[0].signals | join(" ")' state_changed
	assert_json '.result.findings[0].verdict' review
	run_sbx 0 chain read_state
	assert_json '.result.stdout | contains("\"serial\":3")' true
}

@test "a state that is written is taken back when it is a successor" {
	make_approved_call write_state serial=1
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	assert_json .result.state_file taken
	make_approved_call write_state serial=5 status=4
	run_sbx 1 bash -c "sbx-run <'$T/call'"
	assert_json .result.state_file taken
	make_approved_call write_state serial=5
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	assert_json .result.state_file unchanged
	make_approved_call write_state serial=4
	run_sbx 1 bash -c "sbx-run <'$T/call'"
	assert_json .result.state_file kept_beside
	assert_json .result.code state_rejected
	[ -s "$(call_dir)/state.rejected" ]
	make_approved_call write_state serial=9 lineage=two
	run_sbx 1 bash -c "sbx-run <'$T/call'"
	assert_json .result.code state_rejected
	run_sbx 0 chain read_state
	assert_json '.result.stdout | contains("\"serial\":5")' true
}

@test "a state that cannot be taken back waits for mending" {
	make_approved_call write_state serial=1
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	local backup
	backup=$(dirname "$(find "$T/var/state/ws" "$T/var/ws" -name terraform.tfstate 2>/dev/null)")/terraform.tfstate.backup
	mkdir -p "$backup/in-the-way"
	make_approved_call write_state serial=2
	run_sbx 1 bash -c "sbx-run <'$T/call'"
	assert_json .result.code state_not_taken
	assert_json .result.state failed
	assert_json .result.state_file not_taken
	assert_contains "$output" "sbx-run --mend $(jq -r .call.id "$T/call")"
	[ -s "$(call_dir)/state" ]
	[ ! -e "$(call_dir)/state.rejected" ]
	rm -r "$backup"
	run_sbx 0 sbx-run --mend "$(jq -r .call.id "$T/call")"
	assert_json .state_file taken
	run_sbx 0 chain read_state
	assert_json '.result.stdout | contains("\"serial\":2")' true
}

# --- plans ---

terraform_dir() {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip "neither terraform nor tofu is here"
	cat >"$T/work/envs/staging/main.tf" <<-'EOT'
		resource "terraform_data" "web" {
		  input = "v1"
		}
	EOT
}

# every_apply_is_signed: terraform_apply asks a person whatever the plan does.
every_apply_is_signed() {
	sed -i 's/^tier: medium/tier: high/' "$T/policy/tools/terraform_apply.yaml"
}

plan_id() {
	printf '%s' "$output" | member .result.plan.id
}

@test "a plan is judged, kept and applied once; a safe one without a person" {
	terraform_dir
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json .result.state completed
	assert_json .result.verdict safe
	assert_json '.result.findings | length' 0
	assert_json '.result.safe[0].address' terraform_data.web
	assert_json '.result.safe[0].actions | join(" ")' create
	assert_json .result.safe_total 1
	assert_json .result.counts.create 1
	assert_json .result.data_destroyed 0
	assert_json '.result.digest | [.artefact, .effect] | map(length) | join(" ")' '64 64'
	assert_json .result.stdout ""
	assert_json .result.stderr ""
	local plan
	plan=$(plan_id)
	assert_equal "$(jq -c '.seal | [.verdict, .data_destroyed, (.digest | keys)]' "$T/var/plans/$plan/seal.json")" '["safe",0,["artefact","effect"]]'
	run_sbx 0 chain terraform_apply "plan=$plan"
	assert_json .policy.tier medium
	assert_json .approval.state none
	assert_json .result.state completed
	assert_json .result.state_file taken
	assert_equal "$(ls -A "$T/var/plans")" ''
	run_sbx 77 sbx-policy terraform_apply "plan=$plan"
	assert_call plan_unknown
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json .result.findings_total 0
	assert_json .result.safe_total 0
	assert_json .result.counts.noop 1
}

@test "an apply that ends well and leaves the state as it was is no success, unless the plan changes nothing" {
	terraform_dir
	tool lazy_apply <<-'EOT'
		name: lazy_apply
		description: Says that it applied a plan.
		tier: medium
		params:
		  plan: {type: plan}
		workspace: {state: {access: write}}
		steps:
		  - [stepper, cat, {artifact: plan}]
	EOT
	run_sbx 0 chain terraform_plan dir=envs/staging
	run_sbx 1 chain lazy_apply "plan=$(plan_id)"
	assert_json .result.state failed
	assert_json .result.code state_unchanged
	assert_json .result.state_file unchanged
	run_sbx 0 chain terraform_plan dir=envs/staging
	run_sbx 0 chain terraform_apply "plan=$(plan_id)"
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json .result.counts.noop 1
	run_sbx 0 chain lazy_apply "plan=$(plan_id)"
	assert_json .result.state completed
}

@test "a plan with a finding needs a person" {
	terraform_dir
	sed -i 's|input = "v1"|input = "v1"\n  triggers_replace = ["a"]|' "$T/work/envs/staging/main.tf"
	run_sbx 0 chain terraform_plan dir=envs/staging
	run_sbx 0 chain terraform_apply "plan=$(plan_id)"
	sed -i 's|\["a"\]|["b"]|' "$T/work/envs/staging/main.tf"
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json .result.verdict destructive
	assert_json '.result.findings[0].signals[0]' replace
	assert_json '.result.findings[0].because[0]' triggers_replace
	local plan
	plan=$(plan_id)
	run_sbx 75 chain terraform_apply "plan=$plan"
	assert_json .policy.tier high
	assert_json '.policy.tier_from | join(" ")' plan
	make_approved_call terraform_apply "plan=$plan"
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	assert_json .result.state completed
}

@test "a plan that destroys what holds data needs several people, or one where the policy says so" {
	terraform_dir
	sed -i 's|input = "v1"|input = "v1"\n  triggers_replace = ["a"]|' "$T/work/envs/staging/main.tf"
	mkdir -p "$T/policy/signals"
	echo 'holds_data: [terraform_data]' >"$T/policy/signals/data.yaml"
	chmod -R go-w "$T/policy"
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json .result.data_destroyed 0
	run_sbx 0 chain terraform_apply "plan=$(plan_id)"
	sed -i 's|\["a"\]|["b"]|' "$T/work/envs/staging/main.tf"
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json .result.data_destroyed 1
	assert_json '.result.findings[0].holds_data' true
	local plan
	plan=$(plan_id)
	run_sbx 75 chain terraform_apply "plan=$plan"
	assert_json .approval.needed 2
	assert_json .policy.tier critical
	assert_json '.policy.tier_from | join(" ")' plan_data
	echo 'tiers: {critical: {threshold: 1, user_verification: false}}' >>"$T/policy/policy.yaml"
	run_sbx 75 chain terraform_apply "plan=$plan"
	assert_json .policy.tier critical
	run_sbx 0 sbx-approve show "$(printf '%s' "$output" | member .approval.id)"
	assert_contains "$output" "Data is lost: 1 object that holds data is destroyed"
	assert_contains "$output" "the data in it is lost [destructive]"
	make_approved_call terraform_apply "plan=$plan"
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	assert_json .result.state completed
}

# A plan that a tool of the test makes and applies: it has no state, so no lock of a state keeps two runs apart.
add_plan_tools() {
	cp "$ROOT/test/corpus/plans/create.plan.json" "$T/work/plan.json"
	tool made_plan <<-'EOT'
		name: made_plan
		description: Keeps a plan that creates things.
		tier: low
		workspace: {tree: ., cwd: .}
		steps:
		  - [stepper, write, plan.bin, x]
		  - {argv: [stepper, cat, plan.json], analyse: terraform}
		produces: {plan: plan.bin}
	EOT
	tool slow_apply <<-EOT
		name: slow_apply
		description: Runs a plan, and waits.
		tier: medium
		params:
		  plan: {type: plan}
		workspace: {}
		steps:
		  - [stepper, out, $MARK, then, sleep, {artifact: plan}]
		limits: {deadline: 20s, grace: 1s}
	EOT
}

@test "two calls with one safe plan at once: one runs, and HUP stops it" {
	add_plan_tools
	run_sbx 0 chain made_plan
	assert_json .result.verdict safe
	local plan
	plan=$(plan_id)
	make_call slow_apply "plan=$plan"
	mv "$T/call" "$T/second"
	make_call slow_apply "plan=$plan"
	assert_equal "$(jq -r .approval.state "$T/call")" none
	start_run
	run_sbx 77 bash -c "sbx-run <'$T/second'"
	assert_call plan_unknown
	assert_json .result.state refused
	run_sbx 77 sbx-policy slow_apply "plan=$plan"
	assert_call plan_unknown
	# Nobody signed for it, so it is worth stopping when its reader goes.
	kill -HUP "$RUN"
	end_run
	assert_json .result.state cancelled
	assert_equal "$(ls -A "$T/var/plans")" ''
	assert_equal "$(grep -c '"event":"sandbox.started"' "$T/var/audit.jsonl")" 2
}

@test "a principal keeps twenty plans, and no more" {
	add_plan_tools
	run_sbx 0 chain made_plan
	local kept i
	kept=$(plan_id)
	for i in {10..28}; do
		cp -r "$T/var/plans/$kept" "$T/var/plans/000000000000000000000000000000$i"
	done
	run_sbx 69 chain made_plan
	assert_call too_many_plans
	assert_contains "$output" "expires"
	assert_json .result.plan null
	assert_equal "$(find "$T/var/plans" -mindepth 1 -maxdepth 1 | wc -l)" 20
	rm -r "$T/var/plans/00000000000000000000000000000010"
	run_sbx 0 chain made_plan
}

@test "many calls with one safe plan: the state lock and the plan let one through" {
	terraform_dir
	run_sbx 0 chain terraform_plan dir=envs/staging
	local plan i
	plan=$(plan_id)
	for i in 1 2 3 4; do
		make_call terraform_apply "plan=$plan"
		mv "$T/call" "$T/call$i"
	done
	for i in 1 2 3 4; do
		sbx-run <"$T/call$i" >"$T/out$i" 2>/dev/null 3>&- &
	done
	wait
	assert_equal "$(jq -s 'map(select(.result.state == "completed")) | length' "$T"/out?)" 1
	assert_equal "$(jq -rs 'map(select(.error).error.code) | unique | join(" ")' "$T"/out?)" plan_unknown
}

@test "a plan whose run was killed is gone, one that was never begun is not" {
	add_plan_tools
	run_sbx 0 chain made_plan
	local plan
	plan=$(plan_id)
	# No record, no action: and the plan is as it was.
	make_call slow_apply "plan=$plan"
	chmod 666 "$T/var/audit.jsonl"
	run_sbx 78 bash -c "sbx-run <'$T/call'"
	assert_call audit_unsafe
	chmod 600 "$T/var/audit.jsonl"
	[ -s "$T/var/plans/$plan/seal.json" ]
	make_call slow_apply "plan=$plan"
	start_run
	kill -KILL "$RUN"
	wait "$RUN" || true
	wait_until 10 no_sleeper
	run_sbx 77 sbx-policy slow_apply "plan=$plan"
	assert_call plan_unknown
	# What is left of it goes when the call is mended.
	[ -e "$T/var/plans/.used-$plan/plan.bin" ]
	wait_until 10 sbx-audit --mend "$(jq -r .call.id "$T/call")"
	[ ! -e "$T/var/plans/.used-$plan" ]
}

@test "a driver that refuses gives the plan back, one that dies does not" {
	add_plan_tools
	fake_driver <<-EOT
		hello
		frame step 1 ''
		frame exit 1 '{"exit":0}'
		frame artifact 1 '{"name":"plan","sha256":"$(printf x | sha256sum | cut -d' ' -f1)","size":1}'
		frame data 1 x
		frame step 2 ''
		frame out 2 "\$(cat "$T/work/plan.json")"
		frame exit 2 '{"exit":0}'
		frame end 0 '{}'
	EOT
	make_call made_plan
	run_fake 0
	local plan
	plan=$(plan_id)
	fake_driver <<<'hello; frame refused 0 "{\"code\":\"isolation_too_weak\",\"message\":\"not enough\"}"'
	make_call slow_apply "plan=$plan"
	run_fake 77
	assert_call isolation_too_weak
	[ -s "$T/var/plans/$plan/seal.json" ]
	fake_driver <<<'exit 71'
	make_call slow_apply "plan=$plan"
	run_fake 71
	assert_call driver_failed
	assert_equal "$(ls -A "$T/var/plans")" ''
}

@test "without the signal rules of its policy no plan is judged" {
	add_plan_tools
	make_call made_plan
	local signals
	signals=$T/var/cache/$(jq -r .policy.policy_sha256 "$T/call")/signals
	mv "$signals" "$T/kept"
	run_sbx 78 bash -c "sbx-run <'$T/call'"
	assert_call signals_missing
	assert_contains "$output" 'sbx-policy test'
	assert_json .result.state refused
	refute_contains "$(events)" sandbox.started
	# A tool that judges nothing needs none.
	run_sbx 0 chain true
	make_call made_plan
	ln -sf "$T/kept" "$signals"
	run_sbx 78 bash -c "sbx-run <'$T/call'"
	assert_call signals_missing
	make_call made_plan
	mv "$T/kept" "$signals"
	run_sbx 0 bash -c "sbx-run <'$T/call'"
}

@test "what changed since the plan was made is named, and the approval comes back" {
	terraform_dir
	every_apply_is_signed
	local plan
	plan=$(chain terraform_plan dir=envs/staging 2>/dev/null | member .result.plan.id)
	make_approved_call terraform_apply "plan=$plan"
	echo '# a comment' >>"$T/work/envs/staging/main.tf"
	run_sbx 77 bash -c "sbx-run <'$T/call'"
	assert_call plan_tree_changed
	assert_contains "$(printf '%s' "$output" | member .error.message)" "the directory changed"
	[ -s "$(call_dir)/refused" ]
	sed -i '$d' "$T/work/envs/staging/main.tf"
	sbx-policy terraform_apply "plan=$plan" 2>/dev/null | sbx-approve >"$T/again" 2>/dev/null
	assert_equal "$(jq -r .approval.state "$T/again")" claimed
}

@test "a lock file and a state that changed are named" {
	terraform_dir
	every_apply_is_signed
	local plan
	plan=$(chain terraform_plan dir=envs/staging 2>/dev/null | member .result.plan.id)
	make_approved_call terraform_apply "plan=$plan"
	: >"$T/work/envs/staging/.terraform.lock.hcl"
	run_sbx 77 bash -c "sbx-run <'$T/call'"
	assert_contains "$(printf '%s' "$output" | member .error.message)" "lock file"
	rm "$T/work/envs/staging/.terraform.lock.hcl"
	make_call terraform_apply "plan=$plan"
	printf '{"version":4,"terraform_version":"1.11.4","serial":3,"lineage":"one","outputs":{},"resources":[]}\n' >"$T/s"
	sbx-run adopt-state envs/staging "$T/s"
	run_sbx 77 bash -c "sbx-run <'$T/call'"
	assert_contains "$(printf '%s' "$output" | member .error.message)" "state"
}

@test "a plan that sbx-plan does not take is not kept, and its words stay here" {
	run_sbx 1 chain nonsense_plan
	assert_json .result.state failed
	assert_json .result.code plan_unreadable
	assert_json .result.plan null
	assert_json .result.stdout ""
	assert_json .result.stderr said-aloud
	refute_contains "$(printf '%s' "$output" | jq -c .result)" secret-words
	[ ! -e "$T/var/plans" ] || [ -z "$(ls "$T/var/plans")" ]
}

@test "an init that cannot fetch says how to" {
	terraform_dir
	cat >"$T/work/envs/staging/main.tf" <<-'EOT'
		terraform {
		  required_providers {
		    null = { source = "hashicorp/null" }
		  }
		}
		resource "null_resource" "x" {}
	EOT
	run_sbx 1 chain terraform_plan dir=envs/staging
	assert_json .result.state failed
	assert_json .result.code not_fetched
	assert_contains "$(printf '%s' "$output" | member .result.hint)" "providers mirror"
	mkdir "$T/mirror"
	printf 'mirror: %s\n' "$T/mirror" >>"$T/policy/policy.yaml"
	run_sbx 1 chain terraform_plan dir=envs/staging
	assert_contains "$(printf '%s' "$output" | member .result.hint)" "terraform providers mirror $T/mirror"
}
