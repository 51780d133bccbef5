# sbx-entry and the lock of a state that a dead call left: looked at, and taken away if one of the table's calls has left it. In a real sandbox, with
# test/helpers/unlocker in the place of Terraform, which lets somebody be faster, and says what no backend would. The real ones are in remote-state*.bats.

load ../helpers
load ../sandbox

setup_file() { sandbox_setup_file; }
teardown_file() { sandbox_teardown_file; }

setup() {
	sandbox_setup
	cp "$SBX_BUILD/test/unlocker" "$PLACE/unlocker"
	OPTIONS+=(--bind "$PLACE/unlocker:/app/unlocker")
	DEAD=$(printf 'a%.0s' {1..32}) OTHER=$(printf 'b%.0s' {1..32}) ID=9db590f1-b6fe-c5f2-2678-8804f089deba
	mkdir "$D/tree"
	lock "$ID" "@sbx-$DEAD"
}
teardown() { sandbox_teardown; }

# lock ID WHO: is there.
lock() { echo "$*" >"$D/tree/lock"; }

# runs WORD...: with such a check; what it asked for is in $D/asked, and in $left what lock there is then ("": none).
runs() {
	sandbox 0 "tree=$D/tree" "$@" step check /app/unlocker force-unlock -force %lock end step /app/probe print begun end \
		step /app/probe cat asked end step /app/probe cat lock end
	assert_equal "$(said out 2)" begun
	said out 3 >"$D/asked"
	left=$(said out 4)
	# What it says is for nobody.
	assert_equal "$(jq -r 'select(.step == 1 and .type != "unlocked") | .type' "$D/lines")" ''
}

unlocked() { jq -c 'select(.type == "unlocked") | [.step, .json]' "$D/lines"; }

# stays WORD...: it is looked at, nothing is taken away, and the run goes on.
stays() {
	local there
	there=$(cat "$D/tree/lock" 2>/dev/null) || true
	runs "$@"
	assert_equal "$(wc -l <"$D/asked")" 1
	assert_equal "$left" "$there"
	assert_equal "$(unlocked)" ''
}

@test "that of a call of the list is taken away, and told by a frame before the first step" {
	runs "dead=$OTHER" "dead=$DEAD"
	assert_equal "$left" ''
	assert_equal "$(unlocked)" "[1,{\"call\":\"$DEAD\",\"lock\":\"$ID\"}]"
	assert_equal "$(jq -r .type "$D/lines" | head -n 3 | tr '\n' ' ')" 'hello unlocked step '
	assert_equal "$(tail -n 1 "$D/asked")" "$ID"
	assert_equal "$(wc -l <"$D/asked")" 2
	# A Pod's name has a suffix.
	lock "$ID" "root@sbx-$DEAD-x7k2p"
	runs "dead=$DEAD"
	assert_equal "$left" ''
	assert_equal "$(unlocked)" "[1,{\"call\":\"$DEAD\",\"lock\":\"$ID\"}]"
}

@test "nobody can know the ID that it is asked for first: another one each time, in the form of one" {
	for _ in 1 2; do
		stays "dead=$OTHER"
		cat "$D/asked" >>"$D/all"
	done
	assert_equal "$(sort -u "$D/all" | grep -cxE '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')" 2
}

@test "without a dead call it is not even looked at" {
	sandbox 0 "tree=$D/tree" step check /app/unlocker force-unlock -force %lock end step /app/probe cat asked end
	refute_contains "$(said out 2)" -
	assert_equal "$(frame exit .exit)" 1
	sandbox 0 "tree=$D/tree" step check /app/unlocker force-unlock -force %lock end step /app/probe cat lock end
	assert_equal "$(said out 2)" "$ID @sbx-$DEAD"
}

@test "that of anybody else stays" {
	stays "dead=$OTHER"
	for who in alice@laptop.example "sbx-$DEAD" "x@sbx-$DEAD@laptop" "@sbx-${DEAD}a" "@sbx-${DEAD%a}" '' "a b" $'x@\x1b[2Jsbx-'"$DEAD"; do
		lock "$ID" "$who"
		stays "dead=$DEAD"
	done
	lock -force "@sbx-$DEAD"
	stays "dead=$DEAD"
	rm "$D/tree/lock"
	stays "dead=$DEAD"
}

@test "one that somebody takes between the look and the release stays" {
	echo "11111111-2222-3333-4444-555555555555 alice@laptop.example" >"$D/tree/next"
	runs "dead=$DEAD"
	assert_equal "$left" "$(cat "$D/tree/next")"
	assert_equal "$(tail -n 1 "$D/asked")" "$ID"
	assert_equal "$(unlocked)" ''
	# Were it a call of the list: it was not looked at.
	echo "11111111-2222-3333-4444-555555555555 @sbx-$OTHER" >"$D/tree/next"
	runs "dead=$DEAD" "dead=$OTHER"
	assert_equal "$left" "$(cat "$D/tree/next")"
	assert_equal "$(unlocked)" ''
}

@test "other words, too many, or none, and a program that cannot be started, take nothing away, and the run goes on" {
	local failed="Failed to unlock state: lock id \"%\" does not match existing lock"
	info() { printf 'Lock Info:\n  ID:        %s\n  Path:      a\n  Operation: x\n  Who:       %s\n  Version:   1\n  Created:   2026\n  Info:      \n' "$1" "@sbx-$DEAD"; }
	for words in '' 'no' "$failed" "$(info "$ID")" "Error: Error acquiring the state lock"$'\n'"$(info "$ID")" "$failed"$'\n'"$(info "$ID")"$'\n'"$failed"$'\n'"$(info "$ID")"; do
		printf '%s\n' "$words" >"$D/tree/words"
		runs "dead=$DEAD"
		assert_equal "$(wc -l <"$D/asked")" 1
		assert_equal "$(unlocked)" ''
	done
	# Its twin is believed, also behind much else; but only what comes first is heard.
	{ echo "$failed" && info "$ID"; } >"$D/tree/words"
	runs "dead=$DEAD"
	assert_equal "$(tail -n 1 "$D/asked")" "$ID"
	assert_equal "$(unlocked)" '' # it goes on saying so: nothing was taken away
	{ head -c 60000 /dev/zero | tr '\0' 'x' && echo && echo "$failed" && info "$ID"; } >"$D/tree/words"
	runs "dead=$DEAD"
	assert_equal "$(wc -l <"$D/asked")" 2
	{ head -c 70000 /dev/zero | tr '\0' 'x' && echo && echo "$failed" && info "$ID"; } >"$D/tree/words"
	runs "dead=$DEAD"
	assert_equal "$(wc -l <"$D/asked")" 1
	sandbox 0 "tree=$D/tree" "dead=$DEAD" step check /app/nowhere force-unlock -force %lock end step /app/probe cat lock end
	assert_equal "$(said out 2)" "$ID @sbx-$DEAD"
}

@test "a child of the program cannot put its words in the program's mouth" {
	printf 'Failed to unlock state: lock id "%%" does not match existing lock\nLock Info:\n  ID:        %s\n  Path:      a\n  Operation: x\n  Who:       %s\n  Version:   1\n  Created:   2026\n  Info:      \n' \
		"$ID" "@sbx-$DEAD" >"$D/tree/forged"
	stays "dead=$DEAD"
	# The same words are believed when the program says them itself.
	mv "$D/tree/forged" "$D/tree/words"
	runs "dead=$DEAD"
	assert_equal "$(tail -n 1 "$D/asked")" "$ID"
}

@test "a stop while it looks ends the run as it does for any check" {
	touch "$D/tree/hangs"
	DEADLINE=700
	sandbox 0 "tree=$D/tree" "dead=$DEAD" step check /app/unlocker force-unlock -force %lock end step /app/probe print never end
	assert_equal "$(frame refused .code)" check_failed
	assert_contains "$(frame refused .message)" 'was stopped'
	assert_equal "$(unlocked)" ''
	rm "$D/tree/hangs"
	DEADLINE=20000
	runs "dead=$DEAD"
	assert_equal "$left" ''
}
