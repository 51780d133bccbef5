#!/usr/bin/env bats
# The fuzz targets over the corpus and some thousand changed copies of it, the same in every run.

load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR"
	corpus=$BATS_TEST_DIRNAME/../corpus
	plans=("$corpus"/plans/*.json "$corpus"/plans/hostile/*.json)
	[ "${#plans[@]}" -gt 60 ]
}

# fuzz NAME ROUNDS: what the target was handed when it ended the process is shown.
fuzz() {
	run "$SBX_BUILD/test/$1" --mutate "$2" --seed 4 "${plans[@]}"
	[ "$status" -eq 0 ] || base64 crash-input
	assert_equal "$status" 0
	assert_equal "$output" "${#plans[@]} files, $2 changed copies"
}

@test "plan_read_fuzz: a refusal or a sound report, whatever the plan" {
	fuzz plan_read_fuzz 4000
}

@test "plan_tree_fuzz: a tree of any value, the same in any order" {
	fuzz plan_tree_fuzz 4000
}

@test "json_lex_fuzz: what is accepted, libjq reads too, and the same from a descriptor" {
	fuzz json_lex_fuzz 4000
}

@test "hcl_fuzz: tokens that end, locks that are safe as paths, a backend for everything" {
	run "$SBX_BUILD/test/hcl_fuzz" --mutate 4000 --seed 4 "$corpus"/hcl/*
	[ "$status" -eq 0 ] || base64 crash-input
	assert_equal "$status" 0
	assert_equal "$output" "4 files, 4000 changed copies"
}

@test "a target that finds something ends, and what it was handed is kept" {
	run "$SBX_BUILD/test/json_lex_fuzz" --mutate x
	assert_equal "$status" 64
	run "$SBX_BUILD/test/json_lex_fuzz" /nonexistent/file
	assert_equal "$status" 2
}
