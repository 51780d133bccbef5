#!/usr/bin/env bats
# At each request of a call: the network ends there, or one process is killed while it waits for the answer and the others go on. Afterwards, where need be after
# mending, nothing is live, and nothing was minted twice.

load ../helpers
load vault
load ../tap

setup_file() { vault_setup_file; }
teardown_file() { vault_teardown_file; }

setup() { vault_chain_setup; }

teardown() {
	[ -z "$PID" ] || kill_session
	uncut
}

# What a call asks the server for, in this order.
minting=(lookup-self /roles/ token/create/ /creds/)
ending=(leases/revoke leases/lookup revoke-accessor)

# one NAME: the process of that name in the session of sbx-cred.
one() {
	pgrep -s "$PID" -x "$1"
}

# ended RC: sbx-cred has ended by itself; its object is $output.
ended() {
	local got=0
	wait "$PID" || got=$?
	PID=
	assert_equal "$got" "$1"
	output=$(cat "$T/out")
	assert_call
	LEASE=$(member '.credential[0].lease' <<<"$output")
}

minted_once() {
	[ "$(grep -c '/creds/' "$C/requests")" -le 1 ]
	[ "$(grep -c 'token/create/' "$C/requests")" -le 1 ]
}

all_gone() {
	wait_until 8 nothing_is_live || nothing_is_live
	assert_equal "$(ls "$T/var/leases" "$T/var/vault" | grep -v : | tr -d '\n')" ''
}

# at_each FAULT LOOK STEP...: at each step, before and after it, a call under that fault; LOOK ends it and says what came of it.
at_each() {
	local fault=$1 look=$2 step when
	for step in "${@:3}"; do
		for when in before after; do
			uncut
			cut_at "$fault-$when" "$step" 1
			start cred_show
			"$look" "$step" "$fault-$when"
			minted_once
			all_gone
			rm -f "$TAP/credentials"
		done
	done
}

revoked() {
	ended 0
	assert_json .revocation[0].state revoked
}

# What changes nothing may be asked again on a connection of its own, and what is asked after that.
refused_or_repeated() {
	if [[ $1 != */create/ && $1 != /creds/ ]] && wait "$PID"; then
		PID=
		LEASE=$(member '.credential[0].lease' <"$T/out")
		[ -s "$TAP/credentials" ]
		return
	fi
	ended 69
	assert_call server_cut
	assert_json .revocation[0].state revoked
	[ ! -e "$TAP/credentials" ]
}

kill_provider() { # STEP FAULT
	wait_until 10 grep -q "$1.* $2" "$C/requests"
	kill -9 "$(one sbx-cred-vault)"
}

given_back() {
	kill_provider "$@"
	ended 69
	assert_call provider_failed
	assert_json .revocation[0].state revoked
	[ ! -e "$TAP/credentials" ]
}

revoked_by_the_second_try() {
	kill_provider "$@"
	revoked
}

@test "the network ends before and after each request of a mint: refused by name, given back, nothing minted twice" {
	at_each cut refused_or_repeated "${minting[@]}"
}

@test "the network ends before and after each request of the end: revoked by the second try" {
	at_each cut revoked "${ending[@]}"
}

@test "the provider is killed at each request of a mint: sbx-cred gives back what it had made" {
	at_each hang given_back "${minting[@]}"
}

@test "the provider is killed at each request of the end: the second try revokes" {
	at_each hang revoked_by_the_second_try "${ending[@]}"
}

@test "sbx-cred is killed and its provider goes on: mended when that has ended, not before" {
	local step
	for step in token/create/ /creds/ leases/revoke; do
		uncut
		cut_at hang-after "$step" 1
		start cred_show
		wait_until 10 grep -q "$step.* hang-after" "$C/requests"
		LEASE=$(member .lease <"$(ls "$T"/var/leases/*.json)")
		local provider
		provider=$(one sbx-cred-vault)
		kill -9 "$(one sbx-cred)"
		if [ "$step" != leases/revoke ]; then
			run_sbx 69 "$I/bin/sbx-cred" --mend "$CALL"
			assert_contains "$stderr" call_running
		fi
		run_sbx 0 "$I/bin/sbx-cred" list
		assert_contains "$output" "$CALL/0"
		wait "$PID" 2>/dev/null || true
		wait_until 12 test ! -e "/proc/$provider"
		PID=
		minted_once
		uncut
		run_sbx 0 "$I/bin/sbx-cred" --mend "$CALL"
		all_gone
	done
}

@test "sbx-run is killed while it has the credential: sbx-cred revokes, and says that the outcome is not known" {
	start cred_sleep
	wait_until 10 grep -q "sandbox.started.*$CALL" "$T/var/audit.jsonl"
	tail -c +9 "$TAP/credentials" >"$T/minted"
	assert_equal "$(may list pods)" yes
	kill -9 "$(one sbx-run.real)"
	ended 3
	assert_call run_died
	assert_json .revocation[0].state revoked
	wait_until 12 refused
	all_gone
}
