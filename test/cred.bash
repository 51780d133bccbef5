# sbx-cred between real providers and a played sbx-run (test/fakes): $I is an installation of its own, $TAP what the provider leaves, $RUN what sbx-run left.

load ../fakes/seal

cred_setup() {
	fresh_state
	I=$BATS_TEST_TMPDIR/i
	TAP=$BATS_TEST_TMPDIR/tap
	RUN=$I/bin/tap
	mkdir -p "$I/libexec/sbx" "$RUN" "$TAP"
	cp "$SBX_BIN/sbx-cred" "$I/bin/"
	cp "$SBX_LIBEXEC/sbx-cred-jwt" "$ROOT/test/fakes/sbx-cred-fault" "$I/libexec/sbx/"
	cp "$ROOT/test/fakes/sbx-run-fault" "$I/bin/sbx-run"
	cp "$ROOT/test/fakes/seal.bash" "$I/bin/"
	printf '%s' "$T/var" >"$RUN/state"
	cat >>"$T/sbx.yaml" <<-EOF
		providers: {fault: {tap: "$TAP"}}
		targets:
		  prod: {server: "https://k.example:6443", ca_file: ca.pem}
		  clear: {server: "http://k.example"}
	EOF
	echo PEM >"$T/ca.pem"
	mkdir -p "$T/var"
	chmod 700 "$T/var"
	head -c 32 /dev/urandom >"$T/var/seal.key"
	head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$T/var/installation"
	chmod 600 "$T/var/seal.key" "$T/var/installation" "$T/ca.pem"
	started=()
}

cred_teardown() {
	local pid
	: >"$RUN/go"
	for pid in "${started[@]}"; do
		kill -9 "$pid" 2>/dev/null || true
	done
	if [ -s "$TAP/hanging" ]; then
		kill -9 "$(cat "$TAP/hanging")" 2>/dev/null || true
	fi
}

# credentials FAULT...: the policy's list, one for each fault ("": the jwt provider).
credentials() {
	local fault list=
	for fault; do
		list+=${list:+,}
		list+='{"as":"token","env":"TOKEN_FILE","lifetime_s":600,"provider":"'$([ -z "$fault" ] && echo jwt || echo fault)'","scope":"test-read",'
		list+='"settings":{"audience":"https://api.test","fault":"'$fault'","permissions":["pods:read"]},"target":null}'
	done
	printf '[%s]' "$list"
}

# new_call: $CALL is the id of a call whose directory is there.
new_call() {
	CALL=$(od -An -v -tx1 -N16 /dev/urandom)
	CALL=${CALL//[[:space:]]/}
	mkdir -p -m 700 "$T/var/runs/$CALL"
}

# make_call [CREDENTIALS [EFFECT [PRINCIPAL [APPROVAL]]]]: $T/call.json is a new call as sbx-approve would give it. CREDENTIALS must be written as sealed.
make_call() {
	local approval='{"state":"none"}'
	[ "${2:-allow}" = allow ] || approval='{"id":"0123456789abcdef0123456789abcdef","signers":["anna"],"state":"claimed"}'
	new_call
	sealed_call "$T/var" '{"call":{"id":"'$CALL'","params":{},"principal":{"name":"'"${3:-agent}"'","uid":0,"via":"uid"},"time":"2026-01-01T00:00:00Z","tool":"t"},"policy":{"credentials":'"${1:-[]}"',"effect":"'"${2:-allow}"'","run":{"limits":{"deadline_ms":20000,"grace_ms":1000}},"tier":"low"},"sbx":1}' \
		"${4:-$approval}" >"$T/call.json"
}

cred() {
	run_sbx "$1" "$I/bin/sbx-cred" "${@:2}" <"$T/call.json"
}

# start_cred ARGUMENT...: in the background, with the call; its pid in $!.
start_cred() {
	"$I/bin/sbx-cred" "$@" <"$T/call.json" >"$T/out" 2>"$T/err" 3>&- &
	started+=($!)
}

is_active() {
	"$I/libexec/sbx/sbx-cred-jwt" introspect <"$1" >/dev/null 2>&1
}

refute_active() {
	run "$I/libexec/sbx/sbx-cred-jwt" introspect <"$1"
	[ "$status" -eq 1 ] || {
		printf 'the token is still good: %s\n' "$output"
		return 1
	}
}

events() {
	jq -r 'select(.event != "audit.open") | .event' "$T/var/audit.jsonl" 2>/dev/null | paste -sd' '
}

# The token that the played sbx-run was given as its first credential.
token_of_run() {
	tail -c +9 "$RUN/credentials" >"$T/token"
}

refute_leases() {
	run find "$T/var/leases" -name '*.json'
	assert_equal "$output" ""
}

refute_run() {
	[ ! -e "$RUN/argv" ] || {
		echo "sbx-run was started"
		return 1
	}
}
