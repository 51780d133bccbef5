# The official clients on the conformance profile: the TypeScript SDK in both versions and all modes, the Python SDK in both, the Inspector.

load ../helpers
load conformance

setup() {
	profile
}

# After a client: its cancelled call and its timed-out one were stopped, and nothing is left running.
stopped_two() {
	wait_until 20 recorded cancelled 2
	run pgrep -f "config $SBX_PROFILE/sbx.yaml"
	[ "$status" -eq 1 ]
}

typescript() { # SDK MODE
	with_npm
	run_sbx 0 node "$ROOT/test/conformance/sdk.mjs" "$1" "$2" -- "$ROOT/test/conformance/server"
	assert_equal "$(grep -c '^ok ' <<<"$output")" 11
	stopped_two
}

python() { # VERSION MODE
	with_python "python-$1"
	run_sbx 0 "$PYTHON" "$ROOT/test/conformance/sdk.py" "$2" -- "$ROOT/test/conformance/server"
	assert_equal "$(grep -c '^ok ' <<<"$output")" 11
	stopped_two
}

@test "TypeScript SDK v1" { typescript v1 legacy; }
@test "TypeScript SDK v2, legacy" { typescript v2 legacy; }
@test "TypeScript SDK v2, auto" { typescript v2 auto; }
@test "TypeScript SDK v2, modern" { typescript v2 pin; }
@test "Python SDK 1.x" { python 1 legacy; }
@test "Python SDK 2.x, legacy" { python 2 legacy; }
@test "Python SDK 2.x, auto" { python 2 auto; }
@test "Python SDK 2.x, modern" { python 2 2026-07-28; }

inspect() { # STATUS ERA ARGUMENT...: the Inspector's command line
	run_sbx "$1" node "$CLIENTS/npm/node_modules/.bin/mcp-inspector" --cli -e "SBX_BUILD=$SBX_BUILD" -e "SBX_PROFILE=$SBX_PROFILE" "$ROOT/test/conformance/server" --protocol-era "$2" "${@:3}" --format json -q
}

@test "Inspector, in each era: list by its strict rules, call, error, progress, time-out, many at once" {
	with_npm
	local era
	for era in legacy auto modern; do
		inspect 0 "$era" --method tools/list --strict
		[ "$(printf '%s' "$output" | jq '[.. | .name? // empty | select(. == "sbx_result")] | length')" -ge 1 ]
		inspect 0 "$era" --method tools/call --tool-name test_simple_text
		assert_contains "$output" 'This is a simple text response for testing.'
		inspect 0 "$era" --method tools/call --tool-name test_tool_with_progress
		inspect 5 "$era" --method tools/call --tool-name test_error_handling
		inspect 5 "$era" --method tools/call --tool-name no_such_tool
	done
	inspect 0 modern --method tools/call --tool-name test_simple_text --load --load-requests 40 --load-concurrency 10
}

@test "Inspector: a call that outlives the server's deadline, and one whose client is ended" {
	with_npm
	local inspector=(node "$CLIENTS/npm/node_modules/.bin/mcp-inspector" --cli -e "SBX_BUILD=$SBX_BUILD" -e "SBX_PROFILE=$SBX_PROFILE" "$ROOT/test/conformance/server")
	run_sbx 5 "${inspector[@]}" --deadline 2s --method tools/call --tool-name wait --format json -q
	assert_contains "$output" 'is still at work'
	wait_until 20 recorded cancelled 1
	"${inspector[@]}" --method tools/call --tool-name wait -q >/dev/null 2>&1 3>&- &
	local pid=$!
	wait_until 20 bash -c "'$SBX_BIN/sbx-audit' --config '$SBX_PROFILE/sbx.yaml' show --json | jq -es '[.[] | select(.event == \"sandbox.started\")] | length == 2'"
	kill -INT "$pid"
	wait_until 20 recorded cancelled 2
}
