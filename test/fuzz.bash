# Shared by the bats files that run fuzz targets over changed copies of what these read, the same in every run.

# fuzz_setup: in a directory of its own, where what a target was handed when it ended the process is kept.
fuzz_setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	corpus=$BATS_TEST_DIRNAME/../corpus
	plans=("$corpus"/plans/*.json "$corpus"/plans/hostile/*.json)
	[ "${#plans[@]}" -gt 60 ]
}

# kubernetes_cases: the cases of changes to a cluster, a file each, in the array cases.
kubernetes_cases() {
	jq -r '"case", (.lines[] | tojson)' "$corpus/kubernetes/cases.jsonl" | awk '/^case$/ { n++; next } { print > ("case-" n) }'
	cases=(case-* "$corpus"/kubernetes/recorded/*.jsonl)
	[ "${#cases[@]}" -gt 120 ]
}

# tool_policy: a policy with the tools that ship and those of the tests, for tool_argv_fuzz, and bytes that choose values for their parameters (the same
# ones in every run) in the array choices.
tool_policy() {
	local i
	cp -r "$ROOT/policy" policy
	cp "$ROOT"/test/fixtures/calls/tools/*.yaml policy/tools/
	sed -i 's/^scopes:/scopes:\n  kubernetes-write: {audience: a, reads_secrets: false}/' policy/policy.yaml
	chmod -R go-w policy
	export FUZZ_POLICY=$PWD/policy
	for i in 1 2 3 4 5 6 7 8; do
		head -c 2000 /dev/zero | openssl enc -aes-128-ctr -K "$(printf %032d "$i")" -iv "$(printf %032d 0)" >"choices-$i"
	done
	choices=(choices-*)
}

# fuzz NAME SEED ROUNDS FILE...
fuzz() {
	run "$SBX_BUILD/test/$1" --mutate "$3" --seed "$2" "${@:4}"
	[ "$status" -eq 0 ] || base64 crash-input
	assert_equal "$status" 0
	assert_equal "$output" "$(($# - 3)) files, $3 changed copies"
}
