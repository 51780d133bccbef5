#!/usr/bin/env bats
# The credential through the whole real chain, from policy to record, and into a real sandbox. A tap before sbx-run tells the test the token.

load ../helpers
load ../tap

setup() {
	fresh_state
	tap_setup
	started=()
}

teardown() {
	local pid
	for pid in "${started[@]}"; do
		kill -9 "$pid" 2>/dev/null || true
	done
}

token() {
	tail -c +9 "$TAP/credentials" >"$T/token"
	sed 's/.*\.//' "$T/token" >"$T/canary"
	[ "$(wc -c <"$T/canary")" -ge 86 ]
}

is_active() {
	"$I/libexec/sbx/sbx-cred-jwt" introspect <"$T/token" >/dev/null 2>&1
}

refute_active() {
	run "$I/libexec/sbx/sbx-cred-jwt" introspect <"$T/token"
	assert_equal "$status" 1
}

chain() {
	bash -o pipefail -c 'cd "$1" && ./sbx-policy "${@:2}" | ./sbx-approve | ./sbx-cred sbx-run | ./sbx-audit' - "$I/bin" "$@" 3>&-
}

# start_sleep: the chain up to sbx-cred in the background, its pid in ${started[0]}, its output in $T/out.
start_sleep() {
	"$I/bin/sbx-policy" cred_sleep 3>&- | "$I/bin/sbx-approve" >"$T/call.json" 3>&-
	CALL=$(jq -r .call.id "$T/call.json")
	"$I/bin/sbx-cred" sbx-run <"$T/call.json" >"$T/out" 2>"$T/err" 3>&- &
	started+=($!)
	wait_until 10 grep -q sandbox.started "$T/var/audit.jsonl"
	wait_until 10 test -e "$TAP/credentials"
	token
}

@test "a tool that prints its credential: the token is in nothing that comes out, and refused afterwards" {
	run --separate-stderr chain cred_show
	assert_equal "$status" 0
	token
	assert_json '.result.state + " " + .revocation[0].state' "completed revoked"
	# It had it: something stands in the place of the secret.
	assert_contains "$(member .result.stdout <<<"$output")" REDACTED
	refute_contains "$output$stderr" "$(cat "$T/canary")"
	refute_canary
	refute_active
	assert_equal "$(jq -r .event "$T/var/audit.jsonl" | grep -v audit.open | paste -sd' ')" \
		"tool.request guardrail.decision credential.requested credential.issued sandbox.started sandbox.completed credential.revoked tool.result"
}

@test "while a tool runs: the token is good, and nowhere but in the sandbox" {
	start_sleep
	is_active
	refute_canary
	kill -TERM "${started[0]}"
	status=0
	wait "${started[0]}" || status=$?
	assert_equal "$status" 1
	output=$(cat "$T/out")
	assert_json '.result.state + " " + .revocation[0].state' "cancelled revoked"
	refute_active
	refute_canary
	refute_contains "$(cat "$T/out" "$T/err")" "$(cat "$T/canary")"
}

@test "kill -9 of sbx-cred: sbx-run stops by itself, mending revokes" {
	start_sleep
	kill -9 "${started[0]}"
	wait "${started[0]}" || true
	wait_until 20 "$I/bin/sbx-cred" --mend "$CALL"
	refute_active
	run find "$T/var/leases" -name '*.json'
	assert_equal "$output" ""
	refute_canary
}

@test "kill -9 of sbx-run: the credential is revoked all the same" {
	start_sleep
	pid=$(pgrep -P "${started[0]}" -f sbx-run)
	kill -9 "$pid"
	status=0
	wait "${started[0]}" || status=$?
	assert_equal "$status" 3
	output=$(cat "$T/out")
	assert_call run_died
	assert_json '.revocation[0].state' revoked
	refute_active
	refute_canary
}
