# The relay of the local driver under random interleavings of connect, send, end and reset on both sides, for SBX_RELAY_SECONDS (default: 20).

load ../helpers

@test "random interleavings neither hang the relay nor lose a byte nor leak a descriptor" {
	local seconds=${SBX_RELAY_SECONDS:-20}
	SBX_TEST_TIMEOUT=$((seconds + 120)) run_sbx 0 "$SBX_BUILD/test/egress_relay_test" "$seconds"
	printf '# %s\n' "$(grep rounds <<<"$output")" >&3
	assert_equal "$(grep -c '^ok ' <<<"$output")" "${lines[-1]#1..}"
}
