# The official conformance suite (over HTTP, through a bridge that changes no byte) on sbx-mcp with tool files of its fixtures.

load ../helpers
load conformance

setup() {
	[ -e "$SUITE/bridge.mjs" ] || skip "THERE IS NO $SUITE: the official suite was not run"
	with_npm
	profile
	BRIDGE=
}

teardown() {
	[ -z "$BRIDGE" ] || kill "$BRIDGE"
}

# conforms REVISION: exit 0 of the suite, whose baseline lists what is not offered.
conforms() {
	local port
	port=$(free_port)
	node "$SUITE/bridge.mjs" --port "$port" -- "$ROOT/test/conformance/server" 2>"$BATS_TEST_TMPDIR/bridge" 3>&- &
	BRIDGE=$!
	wait_until 10 listens "$port"
	SBX_TEST_TIMEOUT=400 run_sbx 0 "$CLIENTS/npm/node_modules/.bin/conformance" server --url "http://127.0.0.1:$port/mcp" --requirements "$1" \
		--expected-failures "$ROOT/test/conformance/baseline-$1.yml" -o "$BATS_TEST_TMPDIR/results"
	assert_contains "$output" 'Baseline check passed'
	refute_contains "$(cat "$BATS_TEST_TMPDIR/bridge")" 'NOT JSON'
}

@test "2025-11-25" {
	conforms 2025-11-25
}

@test "2026-07-28" {
	conforms 2026-07-28
}

@test "the baselines list prompts, resources, completions, sampling and logging, and nothing else" {
	run grep -hE '^  - ' "$ROOT"/test/conformance/baseline-*.yml
	[ "${#lines[@]}" -ge 20 ]
	run grep -vE '^  - (completion-|resources-|sep-2164-resource-|prompts-|logging-|tools-call-(sampling|with-logging)|caching:sep-2549-(prompts|resources)-|input-required-result-(basic-sampling|multiple-input-requests|capability-check|non-tool-request)$|server-stateless:sep-2575-(server-rejects-undeclared-capability|missing-capability-http-400)$)' <<<"$output"
	assert_equal "$output" ''
}
