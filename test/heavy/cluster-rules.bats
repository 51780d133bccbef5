# Each rule about objects of a cluster is taken away, and each alternative and each condition of one: then something that sbx-plan says of the corpus is
# another, or an example of the rule does not hold. What could go without notice would be no rule.

load ../helpers

setup_file() {
	export CASES=$BATS_FILE_TMPDIR/cases RULES=$ROOT/policy/signals/kubernetes_objects.yaml
	mkdir "$CASES" "$BATS_FILE_TMPDIR/rules"
	jq -r '"case", (.lines[] | tojson)' "$BATS_TEST_DIRNAME/../corpus/kubernetes/cases.jsonl" |
		(cd "$CASES" && awk '/^case$/ { n++; next } { print > ("case-" n) }')
	# These rules alone: one of another file that met the same objects would hide what is gone.
	without 1
	judge "$BATS_FILE_TMPDIR/table" >"$BATS_FILE_TMPDIR/whole"
}

# judge TABLE: what sbx-plan says of every case.
judge() {
	local file
	for file in "$CASES"/*; do
		sbx-plan --format kubernetes --text --signals "$1" <"$file"
	done
}

# without AWK-CONDITION: the lines of the rules for which it holds are compiled; not 0 when they are no rules, or an example of one does not hold.
without() {
	awk "$1" "$RULES" >"$BATS_FILE_TMPDIR/rules/kubernetes_objects.yaml"
	sbx-policy signals "$BATS_FILE_TMPDIR/rules" "$BATS_FILE_TMPDIR/table" >/dev/null 2>&1
}

@test "no rule can go without notice" {
	local number count unseen=
	count=$(grep -c '^  - signal:' "$RULES")
	[ "$count" -ge 60 ]
	for number in $(seq "$count"); do
		without "/^  - signal:/ { n++ } n != $number"
		judge "$BATS_FILE_TMPDIR/table" >"$BATS_FILE_TMPDIR/less"
		! cmp -s "$BATS_FILE_TMPDIR/less" "$BATS_FILE_TMPDIR/whole" || unseen="$unseen $number"
	done
	assert_equal "$unseen" ""
}

@test "no alternative and no condition of a rule can go without notice" {
	local line count=0 unseen=
	without 1
	while IFS=: read -r line _; do
		count=$((count + 1))
		! without "NR != $line" || unseen="$unseen $line"
	done < <(grep -nE '^ {8,}- \{.*(at|was):.*\}$' "$RULES" | grep -vE 'before:|after:|type:')
	[ "$count" -ge 150 ]
	assert_equal "$unseen" ""
}
