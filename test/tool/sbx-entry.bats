# sbx-entry by itself: outside a sandbox it never starts anything.

load ../helpers

setup() {
	D=$BATS_TEST_TMPDIR
	mkfifo "$D/control"
	exec {HOLD}<>"$D/control"
	cat >"$D/entry" <<-EOF
		#!/bin/bash
		exec "$SBX_LIBEXEC/sbx-entry" "\$@" 3<"\${TABLE:-$D/table}" 4<"$D/inputs" 5<"$D/control" >"\${FRAMES:-$D/frames}"
	EOF
	chmod +x "$D/entry"
	"$SBX_BUILD/test/mksteps" "$D/table" "$D/inputs" step "$SBX_BUILD/test/probe" write "$D/ran" x end
}

teardown() {
	exec {HOLD}<&-
}

entry() {
	run_sbx "$1" "$D/entry" --entry-fd 3 --inputs-fd 4 --control-fd 5 "${@:2}"
}

lines() {
	"$SBX_BUILD/test/mksteps" frames "$D" <"$D/frames"
}

@test "it is static" {
	run readelf -l "$SBX_LIBEXEC/sbx-entry"
	refute_contains "$output" INTERP
	run readelf -d "$SBX_LIBEXEC/sbx-entry"
	refute_contains "$output" NEEDED
}

@test "usage: missing, unknown and closed descriptors are 64" {
	run_sbx 64 "$D/entry"
	assert_contains "$stderr" "usage: sbx-entry"
	run_sbx 64 "$D/entry" --entry-fd 3 --inputs-fd 4 --control-fd 99
	run_sbx 64 "$D/entry" --entry-fd 3 --inputs-fd 4 --control-fd x
	run_sbx 64 "$D/entry" --entry-fd 3 --inputs-fd 4 --control-fd 5 extra
	entry 64 --frobnicate
}

@test "outside a sandbox it says what it found, refuses, and starts nothing" {
	entry 0
	assert_equal "$(lines | jq -r .type | tr '\n' ' ')" "hello refused "
	assert_equal "$(lines | jq -r 'select(.type == "hello").json.isolation')" none
	assert_equal "$(lines | jq -r 'select(.type == "refused").json.code')" isolation_too_weak
	[ ! -e "$D/ran" ]
}

@test "limits are passed on in the evidence" {
	entry 0 --limits '{"memory":"none"}'
	assert_equal "$(lines | jq -r 'select(.type == "hello").json.limits.memory')" none
}

@test "a table that is cut off, empty, too long or of another version is refused" {
	head -c $(($(stat -c %s "$D/table") - 1)) "$D/table" >"$D/short"
	TABLE=$D/short entry 0
	assert_equal "$(lines | jq -r 'select(.type == "refused").json.code')" wire_malformed
	TABLE=/dev/null entry 0
	assert_equal "$(lines | jq -r .type | tr '\n' ' ')" "hello refused "
	{ cat "$D/table" && printf x; } >"$D/long"
	TABLE=$D/long entry 0
	assert_equal "$(lines | jq -r 'select(.type == "refused").json.code')" bad_steps
	{ printf '\0\0\0\11' && tail -c +5 "$D/table"; } >"$D/version"
	TABLE=$D/version entry 0
	assert_equal "$(lines | jq -r 'select(.type == "refused").json.code')" bad_steps
}

@test "each run has a nonce of its own" {
	entry 0
	first=$(head -1 "$D/frames" | cut -d' ' -f2)
	entry 0
	assert_equal "${#first}" 32
	[ "$first" != "$(head -1 "$D/frames" | cut -d' ' -f2)" ]
}

@test "frames that cannot be written are 74" {
	FRAMES=/dev/full entry 74
	assert_contains "$stderr" io_error
}
