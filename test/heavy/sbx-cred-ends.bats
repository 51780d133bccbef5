#!/usr/bin/env bats
# sbx-cred: a signal at each time, and a provider's process that stays and ends otherwise than it should. Beside real providers and a played sbx-run.

load ../helpers
load ../cred

setup() {
	cred_setup
}

teardown() {
	cred_teardown
}

@test "one that stays and fails, whatever way: another process revokes" {
	local row
	for row in 'stay-ends mint revoke' 'stay-dies mint again revoke' 'stay-garbage mint again revoke' 'stay-large mint again revoke' \
		'stay-silent mint again revoke' 'stay-fails mint again revoke' 'stay-more mint again revoke'; do
		set -- $row
		rm -f "$TAP"/*
		make_call "$(credentials "$1")"
		cred 0 sbx-run
		assert_json '.revocation[0] | .state + ": " + .proof' 'revoked: on the revocation list that introspect reads'
		assert_equal "$(paste -sd' ' "$TAP/calls")" "${*:2}"
		refute_active "$TAP/token"
		refute_leases
	done
	# What it says before it is asked is none of its answers.
	rm -f "$RUN/argv"
	make_call "$(credentials stay-two)"
	cred 76 sbx-run
	assert_call provider_protocol
	refute_run
	refute_active "$TAP/token"
}

@test "one that stays and is killed while the command runs" {
	make_call "$(credentials stay)"
	start_cred sbx-run hold
	wait_until 10 test -e "$RUN/holding"
	kill -9 "$(cat "$TAP/staying")"
	: >"$RUN/go"
	wait "${started[0]}"
	assert_equal "$(jq -r '.revocation[0].state' "$T/out")" revoked
	assert_equal "$(paste -sd' ' "$TAP/calls")" 'mint revoke'
	refute_active "$TAP/token"
	refute_leases
}

@test "INT, TERM and HUP are passed on; the answer is waited for, the credential revoked" {
	local signal
	for signal in INT TERM HUP; do
		rm -f "$RUN/holding" "$RUN/signals"
		make_call "$(credentials ok)"
		start_cred sbx-run trap
		wait_until 10 test -e "$RUN/holding"
		is_active "$TAP/token"
		kill -$signal "${started[-1]}"
		status=0
		wait "${started[-1]}" || status=$?
		assert_equal "$status" 1
		assert_equal "$(head -n 1 "$RUN/signals")" $signal
		output=$(cat "$T/out")
		assert_json '.result.state + " " + .revocation[0].state' "cancelled revoked"
		refute_active "$TAP/token"
		refute_leases
	done
}

@test "a reader that has gone is a HUP for sbx-run" {
	make_call "$(credentials ok)"
	mkfifo "$T/pipe"
	"$I/bin/sbx-cred" sbx-run trap <"$T/call.json" >"$T/pipe" 2>"$T/err" 3>&- &
	started+=($!)
	exec 8<"$T/pipe"
	wait_until 10 test -e "$RUN/holding"
	exec 8<&-
	status=0
	wait "${started[0]}" || status=$?
	assert_equal "$status" 74
	assert_equal "$(head -n 1 "$RUN/signals")" HUP
	refute_active "$TAP/token"
}

@test "TERM during the mint: nothing runs, what was minted is revoked, the approval can be used again" {
	make_call "$(credentials slow)" approve
	start_cred sbx-run
	wait_until 10 test -e "$TAP/hanging"
	kill -TERM "${started[0]}"
	status=0
	wait "${started[0]}" || status=$?
	assert_equal "$status" 1
	output=$(cat "$T/out")
	assert_call cancelled
	refute_run
	refute_active "$TAP/token"
	[ -e "$T/var/runs/$CALL/refused" ]
}

@test "HUP during the mint ends a call, but not one that has spent an approval" {
	make_call "$(credentials slow)"
	start_cred sbx-run
	wait_until 10 test -e "$TAP/hanging"
	kill -HUP "${started[0]}"
	status=0
	wait "${started[0]}" || status=$?
	assert_equal "$status" 1
	refute_run
	rm "$TAP/hanging"
	make_call "$(credentials slow)" approve
	start_cred sbx-run
	wait_until 10 test -e "$TAP/hanging"
	kill -HUP "${started[1]}"
	wait "${started[1]}"
	output=$(cat "$T/out")
	assert_json .result.state completed
}

@test "a signal while there is no call yet ends it, after the stage before had its time to hand one over" {
	mkfifo "$T/in"
	"$I/bin/sbx-cred" sbx-run <"$T/in" >"$T/out" 2>"$T/err" 3>&- &
	started+=($!)
	exec 8>"$T/in"
	wait_until 10 grep -q 'SigBlk:.*4003$' "/proc/${started[0]}/status"
	kill -TERM "${started[0]}"
	status=0
	wait "${started[0]}" || status=$?
	exec 8>&-
	assert_equal "$status" 1
	output=$(cat "$T/out")
	assert_call cancelled
	assert_json 'keys | join(" ")' "error sbx"
}

@test "a signal that was there before the program is one: the call is refused by name and its approval given back" {
	make_call "$(credentials ok)" approve
	status=0
	env --block-signal=TERM sh -c 'kill -TERM $$; exec "$1" sbx-run' - "$I/bin/sbx-cred" <"$T/call.json" >"$T/out" 2>"$T/err" 3>&- || status=$?
	assert_equal "$status" 1
	output=$(cat "$T/out")
	assert_call cancelled
	assert_json '[.seals[].stage] | join(" ")' "policy approve cred"
	[ -e "$T/var/runs/$CALL/refused" ]
	refute_run
}

@test "a call that comes right after the signal is refused by name and its approval given back" {
	make_call "$(credentials ok)" approve
	mkfifo "$T/in"
	"$I/bin/sbx-cred" sbx-run <"$T/in" >"$T/out" 2>"$T/err" 3>&- &
	started+=($!)
	exec 8>"$T/in"
	wait_until 10 grep -q 'SigBlk:.*4003$' "/proc/${started[0]}/status"
	kill -TERM "${started[0]}"
	cat "$T/call.json" >&8
	exec 8>&-
	status=0
	wait "${started[0]}" || status=$?
	assert_equal "$status" 1
	output=$(cat "$T/out")
	assert_call cancelled
	assert_json '[.seals[].stage] | join(" ")' "policy approve cred"
	[ -e "$T/var/runs/$CALL/refused" ]
	refute_run
}
