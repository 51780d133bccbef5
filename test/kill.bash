# Shared by the bats files that let a stage die, or a system call of it fail, in the middle of an approved call: an installation whose sbx-run can be
# followed too, a tool that leaves traces outside of the toolkit's reach, and what must hold afterwards.

# kill_setup: $T as fresh_state makes it, an installation $I in front of PATH, the tool `bump`, and the FIFO that it takes tickets from.
kill_setup() {
	fresh_state
	new_signer alice
	echo 'approval_pause: 0s' >>"$T/sbx.yaml"
	I=$BATS_TEST_TMPDIR/i
	FAULT=$SBX_BUILD/test/fault_at
	mkdir -p "$I/bin" "$I/libexec" "$I/tokens"
	cp "$SBX_BIN"/sbx-{policy,approve,cred,audit,plan,call} "$I/bin/"
	cp "$SBX_BIN/sbx-run" "$I/bin/sbx-run.real"
	cp -r "$SBX_LIBEXEC" "$I/libexec/sbx"
	# In the place of sbx-run: keeps the credentials that pass, and runs the real one, under fault_at when $I/fault says so.
	cat >"$I/bin/sbx-run" <<-EOF
		#!/bin/sh
		[ ! -e /proc/self/fd/3 ] || cat /proc/self/fd/3 >"$I/tokens/\$\$"
		# What check_left calls dead can be told from what lives.
		[ -e "$I/lived" ] || ! tail -c +9 "$I/tokens/\$\$" 2>/dev/null | "$I/libexec/sbx/sbx-cred-jwt" introspect --config "$T/sbx.yaml" >/dev/null 2>&1 ||
			: >"$I/lived"
		[ -s "$I/fault" ] || exec "$I/bin/sbx-run.real" "\$@"
		exec "$FAULT" \$(cat "$I/fault") -- "$I/bin/sbx-run.real" "\$@"
	EOF
	chmod 755 "$I/bin/sbx-run"
	PATH=$I/bin:$PATH
	mkfifo -m 666 "$T/tickets"
	exec {TICKETS}<>"$T/tickets"
	sed -i "s|^  stepper:|  bump: {path: \"$SBX_BUILD/test/bump\", mounts: [\"$T/tickets\"], env_allowed: [SBX_TOKEN]}\n&|" "$T/policy/policy.yaml"
	cat >"$T/policy/tools/bump.yaml" <<-EOF
		name: bump
		title: Count up a state
		description: Takes a ticket and counts up a state.
		tier: high
		params:
		  note: {type: string, max_length: 40}
		workspace: {tree: ., cwd: envs/staging, state: {path: envs/staging, access: write}}
		steps:
		  - [bump, $T/tickets, terraform.tfstate]
		credentials: [{scope: test-read, as: token, env: SBX_TOKEN}]
		tests:
		  - {params: {note: x}, expect: approve}
	EOF
	# shellcheck disable=SC2034
	STAGES=(policy approve cred run audit) NOTE=0 CALL=()
	sbx-policy list >/dev/null # the tests inside the policy, once
}

kill_teardown() {
	exec {TICKETS}>&-
}

# The pipe of one call, whose words are in CALL, as principal p$NOTE; the words FAULT... of fault_at are for stage STAGE.
chain() { # STAGE FAULT...
	local stage=$1 policy=() approve=() cred=() audit=() status=0
	shift
	rm -f "$I/fault"
	case $stage in
	policy) policy=("$FAULT" "$@" --) ;;
	approve) approve=("$FAULT" "$@" --) ;;
	cred) cred=("$FAULT" "$@" --) ;;
	run) echo "$*" >"$I/fault" ;;
	audit) audit=("$FAULT" "$@" --) ;;
	esac
	# A session of its own: a kill of the group is one of these stages and what they started.
	setsid -w bash -c '
		p=${0%%|*} a=${0#*|} c=${a#*|} u=${c#*|}
		a=${a%%|*} c=${c%%|*}
		$p sbx-policy --principal "$@" | $a sbx-approve | $c sbx-cred sbx-run | $u sbx-audit' \
		"${policy[*]}|${approve[*]}|${cred[*]}|${audit[*]}" "p$NOTE" "${CALL[@]}" >"$T/out" 2>>"$T/err" {TICKETS}>&- 3>&- || status=$?
	rm -f "$I/fault"
	return "$status"
}

# tickets: how many the FIFO holds.
tickets() {
	"$SBX_BUILD/test/bump" --left "$T/tickets"
}

# The approved request $ID for the call of `bump` with the next note.
approved_call() {
	NOTE=$((NOTE + 1))
	CALL=(bump "note=n$NOTE")
	chain none || true
	ID=$(member .approval.id <"$T/out")
	sbx-approve sign "$ID" --key "$T/alice" </dev/null >/dev/null 2>&1
}

# Everything that the killed call left has ended or is mended. Its stage files look old, so that a call without a dead stage counts as dead too.
mend() {
	local said line end=$((SECONDS + 60))
	while :; do
		find "$T/var/runs" -mindepth 2 -maxdepth 2 -type f ! -name 'ended*' -newermt '-70 seconds' -exec touch -c -d '-2 minutes' {} + 2>/dev/null
		find "$T/var/runs" -mindepth 1 -maxdepth 1 -type d -empty -exec touch -c -d '-2 minutes' {} +
		said=$(sbx-audit --mend 2>&1) || true
		line=${said##*$'\n'}
		case $line in
		*' 0 at work, 0 failed') return 0 ;;
		esac
		[ "$SECONDS" -lt "$end" ] || {
			echo "mending does not end: $said"
			return 1
		}
		sleep 0.02
	done
}

complain() {
	printf '%s\n' "$@" "point: $POINT" "--- stderr" "$(tail -n 30 "$T/err")" '--- record' "$(tail -n 40 "$T/var/audit.jsonl" |
		jq -rc '[.event, .request_id[0:6], .approval[0:6]?, .state?, .code?] | map(. // "-") | join(" ")')"
	return 1
}

# events NAME [OF]: the calls of the events NAME about this point's approval, or of the calls that claimed it.
claims() {
	grep -F "\"approval\":\"$ID\"" "$T/var/audit.jsonl" | grep -F '"event":"approval.claimed"' | grep -o '"request_id":"[0-9a-f]*"' | cut -d'"' -f4
}

result_of() { # CALL
	grep -F "\"request_id\":\"$1\"" "$T/var/audit.jsonl" | grep -F '"event":"tool.result"' | grep -oE '"(state|code)":"[a-z_]*"' | cut -d'"' -f4 | tail -n 1
}

# point STAGE FAULT...: one approved call that meets the fault, mending, the same call again, and what must hold. What became of it is counted in SEEN.
declare -gA SEEN
point() {
	local before ran claimed status state calls
	POINT="$*"
	approved_call || complain 'the request was not made' || return 1
	printf 'xxxx' >&"$TICKETS"
	before=$(tickets)
	chain "$@" || true
	mend || complain || return 1
	ran=$((before - $(tickets)))
	calls=$(claims)
	claimed=$(wc -w <<<"$calls")
	state=none
	[ "$claimed" -eq 0 ] || state=$(result_of "$(tail -n 1 <<<"$calls")")
	[ "$ran" -le 1 ] || complain "it ran $ran times" || return 1
	[ "$ran" -eq 0 ] || [ "$claimed" -eq 1 ] || complain "it ran without a claim in the record" || return 1
	case $ran:$state in
	1:completed | 1:failed | 1:unknown | 1:run_died | 0:unknown | 0:run_died | 0:cancelled | 0:none) ;;
	0:failed | 0:refused) ;;
	0:*_*) ;; # the code of an error
	*) complain "it ran $ran times and the record says $state" || return 1 ;;
	esac
	check_left || return 1
	again "$ran" "$state" || return 1
	# The rest of the tickets, so that every point begins with the same.
	read -r -N "$(tickets)" <&"$TICKETS"
}

# No lease, no live credential, a whole record.
check_left() {
	local token
	[ -z "$(find "$T/var/leases" -type f -name '*.json' 2>/dev/null)" ] || complain 'a lease is left' || return 1
	for token in "$I/tokens"/*; do
		[ -s "$token" ] || continue
		if tail -c +9 "$token" | "$I/libexec/sbx/sbx-cred-jwt" introspect --config "$T/sbx.yaml" >/dev/null 2>&1; then
			complain 'a credential lives' || return 1
		fi
	done
	rm -f "$I/tokens"/*
}

# The same call again, without a fault: it runs only what was not claimed, and asks anew only for what is known.
again() { # RAN STATE
	local before status code
	before=$(tickets)
	status=0
	chain none || status=$?
	code=$(member .error.code <"$T/out" 2>/dev/null || true)
	case $status:$code in
	0:*)
		[ "$1" -eq 0 ] && [ $((before - $(tickets))) -eq 1 ] || complain "a second run: $1 before" || return 1
		end=claimed
		;;
	75:approval_required) end=asked ;;
	77:approval_replayed)
		[ "$1" -eq 0 ] || complain "replayed, but it ran" || return 1
		status=0
		chain none || status=$?
		[ "$status" -eq 75 ] || complain "replayed, then $status" || return 1
		end=replayed
		;;
	77:outcome_unknown)
		[ "$2" = unknown ] || [ "$2" = run_died ] || complain "unknown, but the record says $2" || return 1
		sbx-approve resolve "$ID" >/dev/null 2>&1 || complain 'not resolved' || return 1
		status=0
		chain none || status=$?
		[ "$status" -eq 75 ] || complain "resolved, then $status" || return 1
		end=unknown
		;;
	*) complain "the same call again: status $status, $code" || return 1 ;;
	esac
	[ "$end" = claimed ] || [ "$(tickets)" -eq "$before" ] || complain "it ran without an approval" || return 1
	[ "$end" != asked ] || [ "$2" != unknown ] && [ "$2" != run_died ] || [ "$end" = unknown ] || complain "a blind retry" || return 1
	SEEN[$end:$2]=$((${SEEN[$end:$2]:-0} + 1))
}

# point_at STAGE FAULT NAME OBJECT [WHICH]: the point at the first, or WHICHth, of these calls.
point_at() {
	point "$1" --log "$T/struck" "$2" "$3/$4/${5:-1}"
	[ -s "$T/struck" ] || {
		echo "sbx-$1 does not call $3 $4 ${5:-1} times"
		return 1
	}
	rm "$T/struck"
}

# named: the log of fault_at on stdin, with NAME/OBJECT/N in the place of the number, which is the same in the next run.
named() {
	awk '{this = $2 "/" $3; $1 = this "/" ++n[this]; print}'
}

# points STAGE: where it can be struck, one a line: POINT NAME OBJECT; of the same thing several times on end the first and the last.
points() {
	approved_call || return 1
	printf 'xxxx' >&"$TICKETS"
	rm -f "$T/points"
	chain "$1" --log "$T/points" count || return 1
	read -r -N "$(tickets)" <&"$TICKETS"
	named <"$T/points" | awk '{this = $2 " " $3} this != last {if (line != "" && line != shown) print line; print; shown = $0}
		{line = $0; last = this} END {if (line != shown) print line}'
}

# Nothing is open in the record when all is over.
record_is_whole() {
	run_sbx 0 sbx-audit verify --json
	assert_json '.integrity' ok
	assert_json '.spent_twice | length' 0
	assert_json '.not_given_back | length' 0
	assert_json '.without_result | length' 0
	# Each run of what needs an approval stands behind the claim of its own call.
	run jq -s 'def calls(test): map(select(test) | {key: .request_id, value: .seq}) | from_entries;
		calls(.event == "approval.claimed") as $claimed | calls(.event == "guardrail.decision" and .effect == "approve") as $guarded |
		[.[] | select(.event == "sandbox.started" and $guarded[.request_id])] |
		[length > 0, all(($claimed[.request_id] // infinite) < .seq)] | all' "$T/var/audit.jsonl"
	assert_equal "$output" true
}

show_seen() { # TITLE
	local key
	printf '# %s:' "$1" >&3
	for key in "${!SEEN[@]}"; do
		printf ' %s %s' "${SEEN[$key]}" "$key" >&3
	done
	printf '\n' >&3
	SEEN=()
}

# strike_each STAGE MODE: every point of the stage, and before the first.
strike_each() {
	local line
	point "$1" "${2/after/before}" 1
	points "$1" >"$T/all"
	[ -s "$T/all" ]
	while read -r -a line; do
		point "$1" "$2" "${line[0]}" || {
			echo "at ${line[*]}"
			return 1
		}
	done <"$T/all"
	show_seen "$1, $2"
}
