# Lines that no friendly client sends: test/hostile/lines says what each must be answered with.

load ../helpers

@test "250 hostile lines: nothing kills it, and no answer is one that a client cannot place" {
	run_sbx 0 "$ROOT/test/hostile/drive" "$SBX_BIN/sbx-mcp" -- "$ROOT/test/fakes/door" echo
	refute_contains "$output" 'not ok'
	[ "$(grep -c '^ok' <<<"$output")" -ge 250 ]
}
