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

# fuzz NAME SEED ROUNDS FILE...
fuzz() {
	run "$SBX_BUILD/test/$1" --mutate "$3" --seed "$2" "${@:4}"
	[ "$status" -eq 0 ] || base64 crash-input
	assert_equal "$status" 0
	assert_equal "$output" "$(($# - 3)) files, $3 changed copies"
}
