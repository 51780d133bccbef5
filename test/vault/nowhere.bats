#!/usr/bin/env bats
# The bytes of a credential are where its tool reads them and nowhere else: test/vault/seek looks for them, in every form, everywhere.

load ../helpers
load vault
load ../tap

setup_file() { vault_setup_file; }
teardown_file() { vault_teardown_file; }

setup() {
	vault_setup
	tap_setup
	sed -i "s|^  test-read:.*|  test-read: {provider: vault, mount: $NS, role: pod-reader, policy: sbx-$NS, namespaces: [$NS], permissions: [\"pods:list\"], reads_secrets: false}|" \
		"$T/policy/policy.yaml"
	sed -i -e "s|scope: test-read,|&namespace: $NS,|" -e 's|^steps:|params: {target: {type: target, optional: true}}\n&|' "$T"/policy/tools/cred_{sleep,show}.yaml
	sed -i 's|deadline: 20s|deadline: 150s|' "$T/policy/tools/cred_sleep.yaml"
	printf 'targets: {rig: {server: "%s", ca_file: "%s"}}\n' "$K8S_SERVER" "$K8S_CA" >>"$T/sbx.yaml"
	S=$BATS_TEST_TMPDIR/secret D=$BATS_TEST_TMPDIR/dumped
	mkdir "$S" "$D"
	touch "$S/before"
	PID= PLANTED=
}

teardown() {
	[ -z "$PID" ] || kill_session
	[ -z "$PLANTED" ] || kill -9 "$PLANTED" || true
	uncut
}

tapped() {
	tail -c +9 "$TAP/credentials" >"$S/minted"
	[ "$(wc -c <"$S/minted")" -ge 600 ]
	MINTED=$S/minted
}

# seek_here RC: everything of this installation and of this test. seek RC: and what the server logs, and whatever file was made meanwhile where programs
# put such things.
seek_here() {
	SBX_TEST_TIMEOUT=180 run_sbx "$1" "$ROOT/test/vault/seek" "$S/minted" --skip "$TAP" --skip "$S" "${@:2}" "$BATS_TEST_TMPDIR"
}
seek() {
	seek_here "$1" --since "$S/before" /tmp --since "$S/before" /var/tmp --since "$S/before" /dev/shm --since "$S/before" /run --since "$S/before" /var/log \
		${SBX_RIG_OPENBAO_AUDIT:+"$SBX_RIG_OPENBAO_AUDIT"}
}

# start TOOL: in a session of its own, with core files allowed, and a place for them.
start() {
	"$I/bin/sbx-policy" "$1" target=rig 3>&- | "$I/bin/sbx-approve" >"$T/call.json" 3>&-
	CALL=$(member .call.id <"$T/call.json")
	(
		cd "$D"
		ulimit -c unlimited
		exec setsid "$I/bin/sbx-cred" sbx-run <"$T/call.json" >"$T/out" 2>"$T/err" 3>&-
	) &
	PID=$!
}

running() {
	start cred_sleep
	wait_until 10 grep -q "sandbox.started.*$CALL" "$T/var/audit.jsonl"
	tapped
}

# dump NAME: the process of that name in the session of sbx-cred gets the signal that makes a core file.
dump() {
	local pid
	pid=$(pgrep -s "$PID" -x "$1")
	[ -n "$pid" ]
	kill -SEGV "$pid"
	wait_until 10 test ! -d "/proc/$pid/task"
}

mended() {
	LEASE=$(jq -r .lease "$T"/var/leases/*.json)
	run_sbx 0 "$I/bin/sbx-cred" --mend "$CALL"
	wait_until 5 nothing_is_live || nothing_is_live
	wait_until 12 refused
}

@test "while its tool runs, and afterwards: in no record, object, file, log, argument or environment" {
	running
	seek 0
	kill -TERM "$PID"
	wait "$PID" || true
	PID=
	seek 0
	output=$(cat "$T/out")
	assert_json '.result.state + " " + .revocation[0].state' 'cancelled revoked'
	refused
}

@test "a tool that prints it: scrubbed in the object, in what is kept whole, in the record and in what people read" {
	run_sbx 0 bash -o pipefail -c 'cd "$1" && ./sbx-policy cred_show target=rig | ./sbx-approve | ./sbx-cred sbx-run | ./sbx-audit' - "$I/bin"
	printf '%s\n%s\n' "$output" "$stderr" >"$T/said"
	assert_contains "$(member .result.stdout <<<"$output")" REDACTED
	tapped
	seek 0
}

@test "the search finds what is planted, in each form and place" {
	running
	local row token
	token=$(cat "$S/minted")
	# Parts of it, written as others would write them.
	for row in "cat" "base64 -w0" "xxd -p -c0" "cut -c100-160" "jq -Rs ." "sed s/^/xx/ | base64 -w0 | tr +/ -_" "xxd -u -p -c0"; do
		bash -c "cat '$S/minted' | $row" >"$T/var/planted"
		seek_here 1
		assert_contains "$output" "$T/var/planted: "
	done
	mv "$T/var/planted" "$T/planted"
	mv "$T/planted" "$(mktemp -p /tmp "sbx-planted-$$-XXXXXX")"
	seek 1
	assert_contains "$output" "/tmp/sbx-planted-$$-"
	rm /tmp/sbx-planted-$$-*
	: >"$T/var/${token:700:60}"
	seek_here 1
	assert_contains "$output" ': in its name'
	rm "$T/var/${token:700:60}"
	TOKEN=$token sleep 600 3>&- &
	PLANTED=$!
	wait_until 5 grep -q sleep "/proc/$PLANTED/cmdline"
	seek_here 1
	assert_contains "$output" "/proc/$PLANTED/environ: raw"
	kill -9 "$PLANTED"
	wait "$PLANTED" || true
	bash -c 'sleep 600; :' "$token" 3>&- &
	PLANTED=$!
	wait_until 5 grep -q sleep "/proc/$PLANTED/cmdline"
	seek_here 1
	assert_contains "$output" "/proc/$PLANTED/cmdline: raw"
	pkill -9 -P "$PLANTED" || true
	kill -9 "$PLANTED" || true
	wait "$PLANTED" || true
	PLANTED=
	seek_here 0
	kill_session
	mended
}

@test "dumped while the tool runs: no core file of sbx-run or sbx-cred, and the search would find one" {
	[[ $(cat /proc/sys/kernel/core_pattern) != */* && $(cat /proc/sys/kernel/core_pattern) != '|'* ]] || skip 'core files do not go to the current directory here'
	running
	# A program that takes no care, in the same place.
	(
		cd "$D"
		ulimit -c unlimited
		exec bash -c 'read -r TOKEN <"$1"; kill -SEGV $$' - "$S/minted" 3>&-
	) || true
	[ -n "$(ls "$D")" ]
	seek 1
	assert_contains "$output" "$D/core"
	rm -f "$D"/*
	# sbx-run ends: sbx-cred revokes, and can be dumped where it holds the token for the API server's refusal.
	dump sbx-run.real
	wait "$PID" || true
	PID=
	output=$(cat "$T/out")
	assert_json '.error.code + " " + .revocation[0].state' 'run_died revoked'
	assert_equal "$(ls "$D")" ''
	seek 0
	rm "$TAP/credentials"
	running
	dump sbx-cred
	wait "$PID" || true
	kill_session
	assert_equal "$(ls "$D")" ''
	seek 0
	mended
}

@test "dumped while it is minted and revoked: no core file of sbx-cred-vault or sbx-witness" {
	[[ $(cat /proc/sys/kernel/core_pattern) != */* && $(cat /proc/sys/kernel/core_pattern) != '|'* ]] || skip 'core files do not go to the current directory here'
	# The provider holds the child token here, whose answer the server has given.
	cut_at hang-after /creds/
	start cred_sleep
	wait_until 10 grep -q '/creds/.* hang-after' "$C/requests"
	dump sbx-cred-vault
	wait "$PID" || true
	uncut
	PID=
	[ ! -e "$TAP/credentials" ]
	assert_equal "$(ls "$D")" ''
	output=$(cat "$T/out")
	assert_json '.error.code + " " + .revocation[0].state' 'provider_failed revoked'
	# The witness waits for the end of a revocation that hangs.
	cut_at hang-before leases/revoke
	running
	kill -TERM "$PID"
	wait_until 10 grep -q 'leases/revoke hang-before' "$C/requests"
	dump sbx-witness
	uncut
	wait "$PID" || true
	PID=
	assert_equal "$(ls "$D")" ''
	seek 0
	[ ! -e "$T/var/leases/$CALL-0.json" ] || mended
}
