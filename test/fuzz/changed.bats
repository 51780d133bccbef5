#!/usr/bin/env bats
# Every fuzz target over many changed copies of what it reads, the same in every run.

load ../helpers
load ../fuzz

setup() {
	fuzz_setup
	plans+=("$corpus"/plans-kubernetes/*.json)
}

@test "plan_read_fuzz" {
	fuzz plan_read_fuzz 5 20000 "${plans[@]}"
}

@test "kplan_read_fuzz" {
	kubernetes_cases
	fuzz kplan_read_fuzz 5 20000 "${cases[@]}"
}

@test "plan_tree_fuzz" {
	fuzz plan_tree_fuzz 5 20000 "${plans[@]}"
}

@test "json_lex_fuzz" {
	fuzz json_lex_fuzz 5 20000 "${plans[@]}"
}

@test "hcl_fuzz" {
	fuzz hcl_fuzz 5 20000 "$corpus"/hcl/*
}

@test "tool_argv_fuzz" {
	tool_policy
	fuzz tool_argv_fuzz 5 4000 "${choices[@]}"
}

@test "signal_table_fuzz" {
	fuzz signal_table_fuzz 5 5000 "$SBX_BUILD/share/sbx/signals.table"
}

# Bytes 1 to 7 stand for keys and options.
@test "signers_fuzz" {
	printf 'alice \5 \1\nbob \6,\7 \3\n' >options
	printf '# people\n\nalice \1 at home\n"carol c" \2\n*,!bob \4\n' >names
	fuzz signers_fuzz 5 20000 options names
}

# The first byte says how the rest is read.
@test "sshsig_fuzz" {
	ssh-keygen -q -t ed25519 -N '' -f key </dev/null
	ssh-keygen -q -Y sign -n sbx-approve@v1 -f key </dev/null >armor
	sed '1d;$d' armor | base64 -d >blob
	cut -d' ' -f2 key.pub | base64 -d >public
	{ printf '\0'; cat armor; } >0
	{ printf '\1'; cat public; } >1
	{ printf '\2'; cat blob; } >2
	{ printf '\3'; head -c 200 blob; } >3
	fuzz sshsig_fuzz 5 20000 0 1 2 3
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
