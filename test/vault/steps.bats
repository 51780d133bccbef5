#!/usr/bin/env bats
# At each request of a call: the network ends there, or one process is killed while it waits for the answer and the others go on. Afterwards, where need be after
# mending, nothing is live, and nothing was minted twice.

load ../helpers
load vault
load ../tap

setup_file() { vault_setup_file; }
teardown_file() { vault_teardown_file; }

setup() {
	vault_setup
	tap_setup
	sed -i "s|^  test-read:.*|  test-read: {provider: vault, mount: $NS, role: pod-reader, policy: sbx-$NS, reads_secrets: false}|" "$T/policy/policy.yaml"
	PID=
}

teardown() {
	[ -z "$PID" ] || killed || true
	uncut
}

# What a call asks the server for, in this order.
minting=(lookup-self /roles/ token/create/ /creds/)
ending=(leases/revoke leases/lookup revoke-accessor)

# start TOOL: up to sbx-cred, in a session of its own.
start() {
	"$I/bin/sbx-policy" "$1" 3>&- | "$I/bin/sbx-approve" >"$T/call.json" 3>&-
	CALL=$(member .call.id <"$T/call.json")
	setsid "$I/bin/sbx-cred" sbx-run <"$T/call.json" >"$T/out" 2>"$T/err" 3>&- &
	PID=$!
}

killed() {
	local pids
	mapfile -t pids < <(ps -o pid= --sid "$PID")
	kill -9 "$PID" "${pids[@]}" || true
	wait "$PID" 2>/dev/null || true
	PID=
}

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

@test "the network ends before and after each request of a mint: refused by name, given back, nothing minted twice" {
	local step fault
	for step in "${minting[@]}"; do
		for fault in cut-before cut-after; do
			uncut
			cut_at "$fault" "$step" 1
			start cred_show
			# libcurl asks again for what changes nothing.
			if [[ $step = */create/ || $step = /creds/ ]]; then
				ended 69
				assert_call server_cut
				assert_json .revocation[0].state revoked
				[ ! -e "$TAP/credentials" ]
			else
				wait "$PID" || true
				PID=
				LEASE=$(member '.credential[0].lease' <"$T/out")
			fi
			minted_once
			all_gone
			rm -f "$TAP/credentials"
		done
	done
}

@test "the network ends before and after each request of the end: revoked by the second try" {
	local step fault
	for step in "${ending[@]}"; do
		for fault in cut-before cut-after; do
			uncut
			cut_at "$fault" "$step" 1
			start cred_show
			ended 0
			assert_json .revocation[0].state revoked
			minted_once
			all_gone
		done
	done
}

@test "the provider is killed at each request of a mint: sbx-cred gives back what it had made" {
	local step fault
	for step in "${minting[@]}"; do
		for fault in hang-before hang-after; do
			uncut
			cut_at "$fault" "$step" 1
			start cred_show
			wait_until 10 grep -q "$step.* $fault" "$C/requests"
			kill -9 "$(one sbx-cred-vault)"
			ended 69
			assert_call provider_failed
			assert_json .revocation[0].state revoked
			[ ! -e "$TAP/credentials" ]
			minted_once
			all_gone
		done
	done
}

@test "the provider is killed at each request of the end: the second try revokes" {
	local step fault
	for step in "${ending[@]}"; do
		for fault in hang-before hang-after; do
			uncut
			cut_at "$fault" "$step" 1
			start cred_show
			wait_until 10 grep -q "$step.* $fault" "$C/requests"
			kill -9 "$(one sbx-cred-vault)"
			ended 0
			assert_json .revocation[0].state revoked
			minted_once
			all_gone
		done
	done
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
