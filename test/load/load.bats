# Many calls: no answer lost or doubled, no process, descriptor or byte left behind. Takes minutes; make test-load. SBX_LOAD_SHARE=N does an Nth of the
# calls, and says so.

load ../helpers

setup() {
	PLACE=
	export SBX_TEST_TIMEOUT=3000
}

teardown() {
	[ -z "$PLACE" ] || rm -rf "$PLACE"
}

drive() { run_sbx 0 "$ROOT/test/load/drive" "$@"; }

# share CALLS: how many of them are done, in CALLS.
share() {
	CALLS=$(($1 / ${SBX_LOAD_SHARE:-1}))
	[ "$CALLS" -eq "$1" ] || echo "# $CALLS of $1 calls (SBX_LOAD_SHARE)" >&3
}

# An installation whose state is in memory, where there is room for it.
profile() {
	PLACE=$(mktemp -d "$([ "$(df --output=avail /dev/shm | tail -1)" -gt 1000000 ] && echo /dev/shm || echo "$BATS_TEST_TMPDIR")/sbx-load.XXXXXX")
	SBX_BUILD=$SBX_BUILD "$ROOT/test/conformance/install" "$PLACE/profile"
	DOOR=("$SBX_BIN/sbx-call" --config "$PLACE/profile/sbx.yaml" --wait 0s)
}

# By the record: so many calls completed, each by one sandbox.
completed() {
	local events
	events=$("$SBX_BIN/sbx-audit" --config "$PLACE/profile/sbx.yaml" show --json | jq -c '[.event, .request_id, .state]')
	assert_equal "$(grep -c '"tool.result",.*"completed"' <<<"$events")" "$1"
	assert_equal "$(grep '"sandbox.started"' <<<"$events" | sort | uniq -d)" ''
	assert_equal "$(grep -c '"sandbox.started"' <<<"$events")" "$1"
}

@test "100,000 calls, 16 at a time, on a door that costs one process" {
	share 100000
	drive "$CALLS" 16 hello -- "$SBX_BIN/sbx-mcp" -- "$SBX_BUILD/test/cheapdoor"
	assert_json '.late.fds' 4
	[ "$(printf '%s' "$output" | jq '.late.rss_kib - .early.rss_kib')" -lt 1024 ]
}

@test "9,500 real calls, 16 at a time, with AddressSanitizer in the dispatcher" {
	[ -x "$SBX_BUILD-sanitize/bin/sbx-mcp" ] || skip "$SBX_BUILD-sanitize/bin/sbx-mcp IS NOT BUILT: make test-load builds it"
	profile
	share 9500
	drive "$CALLS" 16 test_simple_text -- "$SBX_BUILD-sanitize/bin/sbx-mcp" -- "${DOOR[@]}"
	refute_contains "$stderr" ERROR:
	completed "$CALLS"
}

@test "500 real calls, 16 at a time, with valgrind under the dispatcher" {
	command -v valgrind >/dev/null || skip 'THERE IS NO valgrind HERE'
	profile
	share 500
	drive "$CALLS" 16 test_simple_text -- valgrind -q --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --error-exitcode=99 \
		"$SBX_BUILD/test/mcpserve" "${DOOR[@]}"
	completed "$CALLS"
}
