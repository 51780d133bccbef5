#!/usr/bin/env bats
# sshsig against ssh-keygen in whole: every hash, text and kind of key, and every byte of a signature changed.

load ../helpers

@test "sshsig and ssh-keygen give the same verdict, but for what sshsig.h names" {
	SBX_TEST_TIMEOUT=300 run_sbx 0 "$SBX_BUILD/test/sshsig_oracle_test" all
	# It ran to its end, and in whole.
	assert_equal "$(grep -c '^ok ' <<<"$output")" "${lines[-1]#1..}"
	[ "${lines[-1]#1..}" -gt 1400 ]
	assert_equal "$(grep -c '^# [a-z0-9-]*: 12 of 12$' <<<"$output")" 7
}
