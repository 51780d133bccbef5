# sbx-cred when its provider, sbx-run, its disk or itself fails, in every way and to the end of each deadline: what it minted it revokes, or leaves to mending.

load ../helpers
load ../cred

setup() {
	cred_setup
}

teardown() {
	cred_teardown
}

@test "a mint that fails, whatever way: no run, the lease given back, the error under the one seal" {
	local row
	for row in 'lost 69 provider_failed' 'die 69 provider_failed' 'die-before 69 provider_failed' 'error 77 role_denied' 'error-garbage 69 provider_failed' \
		'error-with-secret 69 provider_failed' 'garbage 76 provider_protocol' 'two 76 provider_protocol' 'large 76 provider_protocol' \
		'large-secret 76 provider_protocol' 'no-secret 76 provider_protocol' 'short-secret 76 provider_protocol' 'quoted-secret 76 provider_protocol' \
		'wrong-lease 76 provider_protocol' 'wrong-provider 76 provider_protocol' 'wrong-fields 76 provider_protocol' 'expired 76 provider_protocol' \
		'no-expiry 76 provider_protocol' 'bad-jti 76 provider_protocol' 'leak 76 provider_protocol'; do
		set -- $row
		rm -f "$TAP"/*
		make_call "$(credentials "$1")" approve
		cred "$2" sbx-run
		assert_json '[.error.stage, .error.code, .revocation[0].state, (.credential | length), .seals[].stage] | map(tostring) | join(" ")' \
			"cred $3 revoked 1 policy approve cred"
		assert_equal "$(grep -F "$CALL" "$T/var/audit.jsonl" | grep -o '"event":"[a-z.]*"' | cut -d'"' -f4 | paste -sd' ')" \
			"credential.requested credential.$([ "$1" = quoted-secret ] && echo issued || echo failed) credential.revoked"
		refute_contains "$output$stderr" hunter2
		if [ -e "$TAP/token" ]; then
			refute_active "$TAP/token"
			refute_contains "$output$stderr" "$(sed 's/.*\.//' "$TAP/token")"
		fi
		# The approval that it had claimed can be used again.
		assert_contains "$(cat "$T/var/runs/$CALL/refused")" '"approval":"0123456789abcdef0123456789abcdef","call":"'"$CALL"
		refute_leases
		refute_run
	done
	# The same without a fault.
	make_call "$(credentials ok)" approve
	cred 0 sbx-run
	[ ! -e "$T/var/runs/$CALL/refused" ]
}

@test "a provider that hangs is killed at its deadline, and what it minted is revoked" {
	make_call "$(credentials hang)"
	cred 69 sbx-run
	assert_call provider_timeout
	refute_active "$TAP/token"
	refute_leases
	run kill -0 "$(cat "$TAP/hanging")"
	[ "$status" -ne 0 ]
}

@test "one that stays and hangs when it is asked again is killed at its deadline, and another process revokes" {
	make_call "$(credentials stay-hangs)"
	cred 0 sbx-run
	assert_json '.revocation[0].state' revoked
	assert_equal "$(paste -sd' ' "$TAP/calls")" 'mint again revoke'
	refute_active "$TAP/token"
	refute_leases
	run ! kill -0 "$(cat "$TAP/staying")"
}

@test "kill -9 while one stays: it ends unasked and keeps nobody from mending, be it stopped" {
	local how
	for how in '' STOP; do
		rm -f "$RUN/holding" "$RUN/go" "$TAP"/*
		make_call "$(credentials stay)"
		start_cred sbx-run hold
		wait_until 10 test -e "$RUN/holding"
		[ -z "$how" ] || kill -STOP "$(cat "$TAP/staying")"
		kill -9 "${started[-1]}"
		wait "${started[-1]}" || true
		[ -n "$how" ] || wait_until 10 grep -q unasked "$TAP/calls"
		is_active "$TAP/token"
		: >"$RUN/go"
		wait_until 10 "$I/bin/sbx-cred" --mend "$CALL"
		refute_active "$TAP/token"
		refute_leases
		[ -z "$how" ] || kill -9 "$(cat "$TAP/staying")"
		assert_equal "$(grep -c again "$TAP/calls")" 0
	done
}

# revokes PID: it is a provider's process for revoke, and nothing of a mint.
revokes() {
	[[ $(tr '\0' ' ' <"/proc/$1/cmdline") == "sbx-cred-jwt revoke --config "* ]]
}

@test "behind a long command the one that stays has become another: with no memory of the mint, and it revokes" {
	make_call "$(credentials '')"
	start_cred sbx-run hold
	wait_until 10 test -e "$RUN/holding"
	local stays
	stays=$(pgrep -P "${started[0]}" sbx-cred-jwt)
	run ! revokes "$stays"
	wait_until 20 revokes "$stays"
	refute_contains "$(ls -l "/proc/$stays/fd")" "$T/var/runs"
	: >"$RUN/go"
	wait "${started[0]}"
	assert_equal "$(jq -r '.revocation[0].state' "$T/out")" revoked
	token_of_run
	refute_active "$T/token"
	refute_leases
	# And one whose sbx-cred was killed ends there, too.
	rm -f "$RUN/holding" "$RUN/go"
	make_call "$(credentials '')"
	start_cred sbx-run hold
	wait_until 10 test -e "$RUN/holding"
	stays=$(pgrep -P "${started[-1]}" sbx-cred-jwt)
	wait_until 20 revokes "$stays"
	kill -9 "${started[-1]}"
	wait_until 10 bash -c '! kill -0 "$1" 2>/dev/null' - "$stays"
	: >"$RUN/go"
	wait_until 10 "$I/bin/sbx-cred" --mend "$CALL"
	refute_leases
}

@test "a revocation that fails is tried again, then put off and left to mending" {
	make_call "$(credentials revoke-fails)"
	cred 0 sbx-run
	assert_json '.revocation[0].state' deferred
	assert_json '.result.state' completed
	assert_contains "$stderr" "--mend $CALL"
	assert_equal "$(grep -c revoke "$TAP/calls")" 2
	is_active "$TAP/token"
	assert_equal "$(jq -r .state "$T/var/leases/$CALL-0.json")" deferred
	run_sbx 69 "$I/bin/sbx-cred" --mend "$CALL"
	is_active "$TAP/token"
	# The provider is well again.
	jq -c '.settings.fault = "ok"' "$T/var/leases/$CALL-0.json" >"$T/lease"
	cat "$T/lease" >"$T/var/leases/$CALL-0.json"
	run_sbx 0 "$I/bin/sbx-cred" --mend "$CALL"
	refute_active "$TAP/token"
	refute_leases
	assert_equal "$(jq -r 'select(.event == "credential.revoked") | .state + " " + (.mended | tostring)' "$T/var/audit.jsonl" | paste -sd,)" \
		"deferred null,deferred true,revoked true"
}

@test "an answer to revoke that is none counts as a failure" {
	make_call "$(credentials revoke-garbage)"
	cred 0 sbx-run
	assert_json '.revocation[0] | .state + " " + .proof' "deferred provider_protocol"
}

@test "no whole answer of sbx-run: run_died, and the credential is revoked" {
	local mode
	make_call
	cred 0 sbx-run
	cp "$RUN/call" "$RUN/other"
	for mode in unread die nothing garbage cut two unsealed bare changed forged other large; do
		make_call "$(credentials ok)" approve
		cred 3 sbx-run $mode
		assert_json '[.error.stage, .error.code, .error.class, .revocation[0].state, has("result"), .seals[].stage] | map(tostring) | join(" ")' \
			"run run_died 3 revoked false policy approve cred revoke"
		refute_active "$TAP/token"
		refute_leases
		# What it did is not known: its approval stays spent.
		[ ! -e "$T/var/runs/$CALL/refused" ]
	done
}

@test "kill -9 while the command runs: the lease is on disk, and mending revokes it once nobody works on the call" {
	make_call "$(credentials ok)"
	start_cred sbx-run hold
	wait_until 10 test -e "$RUN/holding"
	kill -9 "${started[0]}"
	wait "${started[0]}" || true
	is_active "$TAP/token"
	# sbx-run still holds the lock of sbx-cred.
	run_sbx 69 "$I/bin/sbx-cred" --mend "$CALL"
	assert_contains "$stderr" call_running
	is_active "$TAP/token"
	: >"$RUN/go"
	wait_until 10 "$I/bin/sbx-cred" --mend "$CALL"
	refute_active "$TAP/token"
	refute_leases
	assert_equal "$(jq -r 'select(.event == "credential.revoked") | .mended' "$T/var/audit.jsonl")" true
	local before
	before=$(wc -l <"$T/var/audit.jsonl")
	run_sbx 0 "$I/bin/sbx-cred" --mend "$CALL"
	assert_equal "$output" ""
	assert_equal "$(wc -l <"$T/var/audit.jsonl")" "$before"
}

@test "kill -9 during the mint: what the provider had minted is revoked by mending, though nobody got its answer" {
	make_call "$(credentials hang)"
	start_cred sbx-run
	wait_until 10 test -s "$TAP/hanging"
	kill -9 "${started[0]}"
	wait "${started[0]}" || true
	assert_equal "$(jq -r .state "$T/var/leases/$CALL-0.json")" requested
	is_active "$TAP/token"
	run_sbx 69 "$I/bin/sbx-cred" --mend "$CALL"
	kill -9 "$(cat "$TAP/hanging")"
	wait_until 10 "$I/bin/sbx-cred" --mend "$CALL"
	refute_active "$TAP/token"
	refute_leases
}

# full_at FAULT: a disk for the leases that is full before or during the mint; the exit status in $status.
full_at() {
	make_call "$(credentials "$1")" approve
	mkdir -p -m 700 "$T/var/leases"
	rm -f "$TAP"/*
	run_sbx 0 unshare -m bash -c '
		mount -t tmpfs -o size=64k,mode=700 sbx-test "$1/var/leases" || exit 90
		ln -s "$1/var/leases/filler" "$2/filler"
		[ "$3" != ok ] || dd if=/dev/zero of="$2/filler" bs=4k 2>/dev/null
		"$4" sbx-run <"$1/call.json" >"$1/full.out" 2>"$1/full.err" 3>&-
		echo "$?"
		ls "$1/var/leases" | grep -v filler
		rm "$1/var/leases/filler"
		"$4" --mend "$5" 2>&1
		ls "$1/var/leases"' - "$T" "$TAP" "$1" "$I/bin/sbx-cred" "$CALL"
	said=$(cat "$T/full.out")
}

@test "a lease that cannot be written down: nothing is minted, or what was minted is revoked; nothing runs" {
	[ "$(id -u)" -eq 0 ] || skip 'mounts a small file system: needs root'
	full_at ok
	assert_equal "${lines[0]}" 74
	assert_equal "${#lines[@]}" 1
	[ ! -e "$TAP/calls" ]
	refute_run
	output=$said
	assert_call io_error
	assert_json 'has("credential")' false
	[ -e "$T/var/runs/$CALL/refused" ]
	# Full when the answer of the mint is there: what it made is known by the intent that was written before.
	full_at fill
	assert_equal "${lines[0]}" 74
	assert_equal "${#lines[@]}" 1
	assert_equal "$(paste -sd' ' "$TAP/calls")" 'mint revoke'
	refute_run
	output=$said
	assert_call io_error
	assert_json '.revocation[0].state' revoked
	refute_active "$TAP/token"
	[ -e "$T/var/runs/$CALL/refused" ]
	# With room.
	make_call "$(credentials ok)" approve
	cred 0 sbx-run
}

@test "--mend: an unknown call is fine, a damaged lease is told and does not hide the others" {
	run_sbx 0 "$I/bin/sbx-cred" --mend 0123456789abcdef0123456789abcdef
	make_call "$(credentials revoke-fails)"
	cred 0 sbx-run
	jq -c '.settings.fault = "ok" | .index = 1' "$T/var/leases/$CALL-0.json" >"$T/var/leases/$CALL-1.json"
	chmod 600 "$T/var/leases/$CALL-1.json"
	echo '{' >"$T/var/leases/$CALL-0.json"
	run_sbx 78 "$I/bin/sbx-cred" --mend "$CALL"
	assert_contains "$stderr" bad_lease
	refute_active "$TAP/token"
	# The call's directory may be gone by then.
	make_call "$(credentials revoke-fails)"
	cred 0 sbx-run
	jq -c '.settings.fault = "ok"' "$T/var/leases/$CALL-0.json" >"$T/lease"
	cat "$T/lease" >"$T/var/leases/$CALL-0.json"
	rm -r "$T/var/runs/$CALL"
	run_sbx 0 "$I/bin/sbx-cred" --mend "$CALL"
	refute_active "$TAP/token"
}
