#!/usr/bin/env bats
# The whole chain with credentials of a real server, and sbx-cred with its provider killed at each step; then sbx-cred --mend.

load ../helpers
load vault
load ../tap

setup_file() { vault_setup_file; }
teardown_file() { vault_teardown_file; }

setup() { vault_chain_setup; }

teardown() {
	[ -z "$PID" ] || killed
	uncut
}

# The token that sbx-run got, in $T/minted and its signature in $T/canary.
tapped() {
	tail -c +9 "$TAP/credentials" >"$T/minted"
	sed 's/.*\.//' "$T/minted" | tr -d '\n' >"$T/canary"
	[ "$(wc -c <"$T/canary")" -ge 86 ]
}

# killed: sbx-cred and what it started; the lease that it leaves is known.
killed() {
	LEASE=$(jq -r .lease "$T"/var/leases/*.json)
	kill_session
}

mended() {
	run_sbx 0 "$I/bin/sbx-cred" --mend "$CALL"
	wait_until 5 nothing_is_live
	assert_equal "$(ls "$T/var/leases" "$T/var/vault" | grep -v : | tr -d '\n')" ''
	assert_equal "$(jq -r 'select(.event == "credential.revoked" and .request_id == "'"$CALL"'") | "\(.state) \(.mended)"' "$T/var/audit.jsonl")" 'revoked true'
}

@test "through the chain: the tool gets it, nobody else does, and it is refused afterwards" {
	run_sbx 0 bash -o pipefail -c 'cd "$1" && ./sbx-policy cred_show | ./sbx-approve | ./sbx-cred sbx-run | ./sbx-audit' - "$I/bin"
	assert_json '.result.state + " " + .revocation[0].state' 'completed revoked'
	assert_json '.credential[0] | [.provider, (.jti | length)] | map(tostring) | join(" ")' 'vault 36'
	LEASE=$(member '.credential[0].lease' <<<"$output")
	tapped
	assert_contains "$(member .result.stdout <<<"$output")" REDACTED
	refute_contains "$output$stderr" "$(cat "$T/canary")"
	wait_until 12 refused
	nothing_is_live
}

@test "killed while the tool runs" {
	start cred_sleep
	wait_until 10 test -e "$TAP/credentials"
	wait_until 10 grep -q sandbox.started "$T/var/audit.jsonl"
	tapped
	assert_equal "$(may list pods)" yes
	killed
	mended
	wait_until 12 refused
}

# killed_at STEP...: at each of these requests, which the server has got or not.
killed_at() {
	local step fault
	for step in "$@"; do
		for fault in hang-before hang-after; do
			uncut
			cut_at "$fault" "$step"
			start cred_show
			wait_until 10 grep -q "$step.* $fault" "$C/requests"
			killed
			uncut
			mended
		done
	done
}

@test "killed at each request of the mint, the server having answered or not" {
	killed_at lookup-self token/create/ /creds/
}

@test "killed at each request of the end" {
	killed_at leases/revoke leases/lookup revoke-accessor
}
