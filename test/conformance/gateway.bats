# A gateway from npm that makes an HTTP server of a stdio one, with sbx-mcp behind it, judged by scenarios of the official suite.

load ../helpers
load conformance

setup() {
	with_npm
	profile
	GATEWAY=
}

teardown() {
	[ -z "$GATEWAY" ] || kill "$GATEWAY"
}

@test "supergateway: initialize, list, call, error, progress, a question, over HTTP" {
	local port scenario
	port=$(free_port)
	node "$CLIENTS/npm/node_modules/.bin/supergateway" --stdio "$ROOT/test/conformance/server" --outputTransport streamableHttp --stateful --port "$port" \
		--logLevel none >/dev/null 2>&1 3>&- &
	GATEWAY=$!
	wait_until 20 listens "$port"
	for scenario in server-initialize ping tools-list tools-call-simple-text tools-call-image tools-call-error tools-call-with-progress tools-call-elicitation; do
		run_sbx 0 "$CLIENTS/npm/node_modules/.bin/conformance" server --url "http://127.0.0.1:$port/mcp" --scenario "$scenario" --spec-version 2025-11-25 \
			-o "$BATS_TEST_TMPDIR/results"
	done
}
