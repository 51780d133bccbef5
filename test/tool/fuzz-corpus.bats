#!/usr/bin/env bats
# The fuzz targets over the corpus and some thousand changed copies of it, the same in every run.

load ../helpers
load ../fuzz

setup() { fuzz_setup; }

@test "plan_read_fuzz: a refusal or a sound report, whatever the plan" {
	fuzz plan_read_fuzz 4 4000 "${plans[@]}"
}

@test "kplan_read_fuzz: a refusal or a sound report, whatever the changes to a cluster" {
	kubernetes_cases
	fuzz kplan_read_fuzz 4 3000 "${cases[@]}"
}

@test "plan_tree_fuzz: a tree of any value, the same in any order" {
	fuzz plan_tree_fuzz 4 4000 "${plans[@]}"
}

@test "json_lex_fuzz: what is accepted, libjq reads too, and the same from a descriptor" {
	fuzz json_lex_fuzz 4 4000 "${plans[@]}"
}

@test "hcl_fuzz: tokens that end, locks that are safe as paths, a backend for everything" {
	local files=("$corpus"/hcl/*)
	[ "${#files[@]}" -ge 4 ]
	fuzz hcl_fuzz 4 4000 "${files[@]}"
}

@test "tool_argv_fuzz: no value adds an argument, an option, an object or a file outside, whatever tool" {
	tool_policy
	fuzz tool_argv_fuzz 4 300 "${choices[@]}"
}

@test "tool_argv_fuzz finds a tool that takes any text for a name" {
	tool_policy
	sed -i 's/^  name: {type: dns_subdomain/  name: {type: string/' policy/tools/k8s_get.yaml
	run "$SBX_BUILD/test/tool_argv_fuzz" --mutate 300 --seed 4 "${choices[@]}"
	assert_equal "$status" 134
	# And one that could never be called is no proof.
	rm policy/tools/*.yaml
	cp "$ROOT/policy/tools/terraform_apply.yaml" policy/tools/
	run "$SBX_BUILD/test/tool_argv_fuzz" --mutate 300 --seed 4 "${choices[@]}"
	assert_equal "$status" 1
	assert_contains "$output" 'calls 0 were allowed'
}

@test "a target that finds something ends, and what it was handed is kept" {
	run "$SBX_BUILD/test/json_lex_fuzz" --mutate x
	assert_equal "$status" 64
	run "$SBX_BUILD/test/json_lex_fuzz" /nonexistent/file
	assert_equal "$status" 2
}
