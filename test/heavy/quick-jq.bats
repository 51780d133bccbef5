#!/usr/bin/env bats
# The jq of the tests (test/helpers/jq.c) against the real one, which alone the other files would not notice to differ.

load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	cat >document <<-'EOT'
		{"name":"a \"b\" \u00e9\n","number":5,"large":9007199254740991,"half":0.5,"yes":true,"no":false,"nothing":null,"list":[3,"x",null,true,[1]],
		"words":["b","a"],"empty":[],"things":[{"id":1,"tag":"x"},{"id":2},{"id":3,"tag":null}],"deep":{"a":{"b":{"c":[{"d":"e"}]}}},"a-b":7,"or":1}
	EOT
}

# What both know; each alone is a filter of the document.
filters=(
	. .name .number .large .half .yes .nothing .absent .absent.more .absent[0] .list .list[0] '.list[1]' .list[9] '.list[]' .deep.a.b.c[0].d '.["a-b"]' '."a-b"'
	'.deep["a"].b' '.things[].id' '.things[] | .tag' '[.things[].tag]' '.things[1].id, .number' '[]' '[.list[], 1]' '[.words[] | [.]]' .or
	'.number == 5' '.number == "5"' '.number != 5' '.list == [3, "x", null, true, [1]]' '.half == .half' '"text"' '"a\"\u00e9\\n"' 17 true false null
	'.yes and .no' '.no and .absent' '.yes or .no' '.nothing or .no' '.yes or .no and .no' '.no or .no == .no' '(.yes or .no) and .no'
	'.nothing // "none"' '.no // .nothing // 3' '.yes // 3' '.things[].tag // "none"' '.nothing // .no' '.no, .yes // 7' '.number, .name | type'
	'.name | length' '.list | length' '. | length' '.empty | length' 'keys' '.deep | keys[0]' '.things[0] | keys' 'type' '.list | map(type)' '.nothing | type'
	'tojson' '.list | tojson' '.name | tojson' '.name | tostring' '.list | tostring' '.half | tostring' 'has("name")' 'has("absent")' '.list | has(1)'
	'.things | map(.id)' '.things | map(select(.tag))' '.things | map(has("tag"))' '.things[] | select(.id == 2)' '[.things[] | select(.tag == null) | .id]'
	'.words | join(" ")' '.empty | join(",")' '[.name, .number, .yes, .nothing, .half] | join("-")' '[.nothing] | join(",")' '[.number, .absent] | map(tostring) | join(" ")'
	'.things | map(select(.id != 2)) | length' '[.things[] | .id == 2 or .tag == "x"]' '(.number)' '.name,.number|[.]' '$text' '$value.a[1]'
	'.things[] | select(.tag == $text and .id == $value.a[0])' empty '.list[] | empty' '.nothing // empty' '.name // empty' '.name | startswith("a ")' '.name | startswith("")'
	'.name | startswith("b")' '.words[] | select(startswith("a"))' '"" | startswith("a")' '.words[0] + "-" + .words[1]' '.words[0] + "x" == "bx"' '.words[1] + "x", .name'
)

@test "the same values by the same filters" {
	local all='' i args=(--arg text x --argjson value '{"a":[1,2]}')
	for i in "${!filters[@]}"; do
		all+="${all:+, }[${filters[i]}]"
	done
	command jq -c "${args[@]}" "$all" document >wanted
	for i in "${!filters[@]}"; do
		JQ_QUICK=only jq -c "${args[@]}" "[${filters[i]}]" document || echo "handed over: ${filters[i]}"
	done >got 2>&1
	assert_equal "$(wc -l <wanted)" "${#filters[@]}"
	run diff wanted got
	assert_equal "$output" ""
}

@test "the same forms of output, from a file and from stdin" {
	local options
	for options in -r -c -j -rc -jc -S -cS -Sr -S\ -c; do
		# shellcheck disable=SC2086 # words
		command jq $options '.name, .list, .number, .' document >wanted
		# shellcheck disable=SC2086
		JQ_QUICK=only jq $options '.name, .list, .number, .' <document >got
		cmp wanted got
	done 2>&1
	printf '{"a":1} {"a":"x"}\n\n[]3' >several
	assert_equal "$(JQ_QUICK=only jq -c . several | paste -sd' ')" '{"a":1} {"a":"x"} [] 3'
	assert_equal "$(JQ_QUICK=only jq -n '[1, "x"] | length' </dev/null)" 2
	assert_equal "$(JQ_QUICK=only jq . </dev/null)" ""
}

@test "what it does not know is jq's" {
	local filter
	for filter in '.number + 1' '.number - 1' '.number < 6' '.number = 1' '.number |= 1' '.no //= 1' '.. | type' '.list[-1]' '.list[1:]' '.list[.number]' '.name?' \
		'"\(.number)"' '{name}' 'def f: 1; f' '.list as $x | 1' 'if .yes then 1 else 2 end' '.list | sort' '$ENV | type' '@text' '.words | add' 'reduce .list[] as $i (0; 1)' \
		'.number | length' '.name.x' '.number[0]' '.number[]' '.list | join(",")' '.list | keys' '.words | map(.x)' 'has(1)' '.name | map(1)' '.number == 5 == true' '1.5' \
		'.list[] == 1' '.list[] + "x"' '.nothing + "x"' '.name += "x"' '.number | startswith("1")' '.name | startswith(1)' 'select(.list[])' '' '.name |' '(.name' '.name)' '[.name' 'nothing' '$absent' 'join(",";1)' '.deep | .[]' '"open' '.deep . a'; do
		run --separate-stderr env JQ_QUICK=only "$SBX_BUILD/test/jq" "$filter" document
		assert_equal "$filter: $status $output" "$filter: 70 "
	done
	for filter in -s -e --tab -R --slurp; do
		run --separate-stderr env JQ_QUICK=only "$SBX_BUILD/test/jq" "$filter" .number document
		assert_equal "$filter: $status $output" "$filter: 70 "
	done
	for text in '{' '{"a":1}{' '{"a":1} x' "{'a':1}"; do
		run --separate-stderr env JQ_QUICK=only "$SBX_BUILD/test/jq" . <<<"$text"
		assert_equal "$text: $status $output" "$text: 70 "
	done
	# And jq gets it whole.
	assert_equal "$(jq '.number + 1' <document)" 6
	assert_equal "$(jq '.number + 1' document)" 6
	run jq .name.x document
	assert_equal "$status" 5
	run --separate-stderr jq -c . <<<'{"a":1} x'
	[ "$status" -ne 0 ]
	assert_equal "$output" '{"a":1}'
}
