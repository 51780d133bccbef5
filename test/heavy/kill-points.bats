# kill -9 of a stage at the steps that matter between decision and result, and what the points have come to: never two runs, never a run without a consumed
# approval, and the state afterwards says what happened.

load ../helpers
load ../kill

setup() {
	kill_setup
}

teardown() {
	kill_teardown
}

# became WHAT: what the points so far have come to, as END:STATE of test/kill.bash.
became() {
	assert_equal "${!SEEN[*]}" "$1"
	SEEN=()
}

@test "sbx-approve: before its claim is in the record, behind that, behind the transaction, behind its answer" {
	point_at approve before write audit.jsonl
	became claimed:none
	point_at approve after write audit.jsonl
	became replayed:cancelled
	point_at approve after unlink approvals.db-journal
	became asked:cancelled
	# The first such write is to who verifies the signature.
	point_at approve group-after write 'pipe:[#]' 2
	became asked:cancelled
	record_is_whole
}

@test "sbx-cred: before the mint, behind it, when the command starts, when its end has come" {
	point_at cred after linkat '#-#.json'
	became asked:cancelled
	point_at cred after renameat '#-#.json'
	became asked:cancelled
	# Who mints, and stays to revoke; the command.
	point_at cred group-after clone3 - 2
	became asked:cancelled
	# The request to mint, the call, the request to revoke: the command has ended by then.
	point_at cred after write 'pipe:[#]' 3
	became asked:completed
	record_is_whole
}

@test "sbx-run: before the start is in the record, behind it, behind the end" {
	point_at run before write audit.jsonl
	became unknown:run_died
	point_at run after write audit.jsonl
	became unknown:run_died
	point_at run after write audit.jsonl 2
	became unknown:run_died
	record_is_whole
}

@test "sbx-audit: before the result is in the record, behind it, behind the object" {
	point_at audit before write audit.jsonl
	became asked:completed
	point_at audit after write audit.jsonl
	became asked:completed
	point_at audit after linkat object
	became asked:completed
	record_is_whole
}

@test "a signal that comes while sbx-run starts is not its end" {
	printf '#!/bin/sh\nkill -HUP $(pgrep -f "^%s .*%s")\n' "$I/bin/sbx-run.real" "$T/sbx.yaml" >"$T/hup"
	chmod 755 "$T/hup"
	approved_call
	printf 'x' >&"$TICKETS"
	chain run meet 1 "$T/hup"
	assert_equal "$(member .result.state <"$T/out")" completed
	# TERM is the cancel: nothing ran, and the approval comes back.
	sed -i 's/HUP/TERM/' "$T/hup"
	approved_call
	printf 'x' >&"$TICKETS"
	chain run meet 1 "$T/hup" || true
	assert_equal "$(member .result.state <"$T/out")" cancelled
	assert_equal "$(tickets)" 1
	chain none
	assert_equal "$(member .approval.id <"$T/out")" "$ID"
}
