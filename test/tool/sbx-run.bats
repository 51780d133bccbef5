#!/usr/bin/env bats
# sbx-run: options, bad input, what comes out of a sandbox, signals. Its drivers: sbx-run-driver.bats; states and plans: sbx-run-plan.bats.

load ../helpers
load ../runs

setup_file() { runs_setup_file; }
setup() { runs_setup; }

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
