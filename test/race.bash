# Shared by the bats files that let filters race for one approval.

race_setup() {
	fresh_state
	new_signer alice
	echo 'approval_pause: 0s' >>"$T/sbx.yaml"
	sbx-policy list >/dev/null # the tests inside the policy, once
}

# race_round: eight identical calls, one signed approval, and eight sbx-approve that get them at one moment. One wins; the others are told that it is
# taken; and the record has one claim.
race_round() { # ROUND
	local i id statuses
	for i in 0 1 2 3 4 5 6 7 8; do
		sbx-policy apply_true note="round $1" >"$T/race.$i" 2>/dev/null
	done
	id=$(sbx-approve <"$T/race.0" 2>/dev/null | member .approval.id)
	sbx-approve sign "$id" --key "$T/alice" </dev/null >/dev/null 2>&1
	mkdir -p "$T/answers"
	statuses=$("$SBX_BUILD/test/race" "$T/answers" "$T"/race.{1,2,3,4,5,6,7,8} -- "$SBX_BIN/sbx-approve")
	statuses=$(tr ' ' '\n' <<<"$statuses" | sort -n | paste -sd' ')
	# Who comes when the winner has ended is in nobody's way and asks anew: 75.
	[[ $statuses =~ ^0(\ 69)*(\ 75)*$ ]] || {
		echo "round $1: $statuses"
		cat "$T/answers"/*
		return 1
	}
	assert_equal "$(grep -F "\"approval\":\"$id\"" "$T/var/audit.jsonl" | grep -cF '"event":"approval.claimed"')" 1
	assert_equal "$(grep -lF "\"id\":\"$id\"" "$T/answers"/* | xargs grep -lF '"state":"claimed"' | wc -l)" 1
	COLLIDED=$((COLLIDED + $(grep -o 69 <<<"$statuses" | wc -l)))
	[[ ! $statuses =~ 75 ]] || LATE=$((LATE + 1))
}

race_rounds() { # ROUNDS
	local round
	LATE=0 COLLIDED=0
	for ((round = 1; round <= $1; round++)); do
		# A principal has five open requests at most.
		[ "$LATE" -lt 4 ] || {
			sbx-approve list | cut -d' ' -f1 | xargs -n 1 sbx-approve deny >/dev/null 2>&1
			LATE=0
		}
		race_round "$round"
	done
	printf '# %s rounds: %s of %s losers met the winner at work\n' "$1" "$COLLIDED" $((7 * $1)) >&3
	# Else they did not race.
	[ "$COLLIDED" -gt "$1" ]
}
