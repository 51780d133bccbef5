# Shared by the bats files that look at what sbx-cred hands to sbx-run: an installation of its own, with test/fakes/sbx-run-tap in front of sbx-run, and
# a tool that holds a credential until it is stopped.

# tap_setup: $I is the installation, $TAP what the tap writes into. $T is there.
tap_setup() {
	I=$BATS_TEST_TMPDIR/i
	TAP=$I/bin/tap
	mkdir -p "$TAP" "$I/libexec"
	cp "$SBX_BIN"/sbx-{policy,approve,cred,audit,plan,call} "$I/bin/"
	cp "$SBX_BIN/sbx-run" "$I/bin/sbx-run.real"
	cp "$ROOT/test/fakes/sbx-run-tap" "$I/bin/sbx-run"
	cp -r "$SBX_LIBEXEC" "$I/libexec/sbx"
	cat >"$T/policy/tools/cred_sleep.yaml" <<-'EOT'
		name: cred_sleep
		title: Wait with a credential
		description: Holds a credential until it is stopped.
		tier: low
		steps:
		  - [stepper, env, SBX_TOKEN, then, sleep]
		credentials: [{scope: test-read, as: token, env: SBX_TOKEN}]
		limits: {deadline: 20s, grace: 1s}
		tests:
		  - {expect: allow}
	EOT
}

# start TOOL: the chain up to sbx-cred, in a session of its own, in the background; $CALL and $PID.
start() {
	"$I/bin/sbx-policy" "$1" 3>&- | "$I/bin/sbx-approve" >"$T/call.json" 3>&-
	CALL=$(member .call.id <"$T/call.json")
	setsid "$I/bin/sbx-cred" sbx-run <"$T/call.json" >"$T/out" 2>"$T/err" 3>&- &
	PID=$!
}

# kill_session: sbx-cred and what it started. None of them lives when this returns: one that is dying holds its lock still.
kill_session() {
	wait_until 10 session_is_dead
	wait "$PID" 2>/dev/null || true
	PID=
}
session_is_dead() {
	local pids
	mapfile -t pids < <(ps -o pid=,stat= --sid "$PID" | awk '$2 !~ /^Z/ {print $1}')
	[ "${#pids[@]}" -gt 0 ] || return 0
	kill -9 "${pids[@]}" 2>/dev/null || true
	return 1
}
