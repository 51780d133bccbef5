#!/usr/bin/env bats
# What sbx-cred makes of its witness: who is asked, what is awaited, and what is left to another process when the call has its answer. Provider, sbx-run and
# API server are played.

load ../helpers
load ../fake-server
load ../fakes/seal

setup_file() {
	export A=$BATS_FILE_TMPDIR/api
	fake_server "$A" witness-api
}

teardown_file() { fake_server_end "$A"; }

setup() {
	fresh_state
	I=$BATS_TEST_TMPDIR/i
	mkdir -p "$I/libexec/sbx" "$I/bin/tap"
	cp "$SBX_BIN/sbx-cred" "$ROOT/test/fakes/seal.bash" "$I/bin/"
	cp "$ROOT/test/fakes/sbx-run-fault" "$I/bin/sbx-run"
	cp "$SBX_LIBEXEC/sbx-witness" "$I/libexec/sbx/"
	printf '%s' "$T/var" >"$I/bin/tap/state"
	# It ends nothing: what the API server answers from then on is in its settings.
	cat >"$I/libexec/sbx/sbx-cred-says" <<-'EOT'
		#!/bin/bash
		request=$(cat)
		lease=$(jq -r .lease <<<"$request")
		if [ "$1" = revoke ]; then
			then=$(jq -r '.settings.then // empty' <<<"$request")
			[ -z "$then" ] || { printf '%s' "$then" >"$A_STATUS.new"; mv "$A_STATUS.new" "$A_STATUS"; }
			echo '{"state":"revoked","proof":"said so"}'
		else
			printf 'token\0%s\0%s' 22 a-token-of-some-length >&3
			printf '{"provider":"says","lease":"%s","jti":null,"expires_at":"%s","fields":["token"]}\n' "$lease" "$(date -u -d '+20 minutes' +%FT%TZ)"
		fi
	EOT
	sed -i "s|\$A_STATUS|$A/status|g" "$I/libexec/sbx/sbx-cred-says"
	chmod +x "$I/libexec/sbx/sbx-cred-says"
	mkdir -p -m 700 "$T/var"
	head -c 32 /dev/urandom >"$T/var/seal.key"
	head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$T/var/installation"
	chmod 600 "$T/var/seal.key" "$T/var/installation"
	target 12s
	status 200
}

status() {
	printf '%s' "$1" >"$A/status.new"
	mv "$A/status.new" "$A/status"
}

target() { # WITNESS
	sed -i '/^targets:/,$d' "$T/sbx.yaml"
	printf 'targets: {web: {server: "https://127.0.0.1:%s", ca_file: "%s", witness: %s}}\n' "$(cat "$A/port")" "$A/tls.crt" "$1" >>"$T/sbx.yaml"
}

# cred THEN [PERMISSION [COUNT]]: a call with COUNT credentials; $output.
cred() {
	local list= i
	for ((i = 0; i < ${3:-1}; i++)); do
		list+='{"as":"token","lifetime_s":600,"namespace":"web","permissions":["'${2:-pods:get}'"],"provider":"says","scope":"web","settings":{"then":"'$1'"},"target":"web"},'
	done
	CALL=$(head -c 16 /dev/urandom | xxd -p)
	mkdir -p -m 700 "$T/var/runs/$CALL"
	sealed_call "$T/var" '{"call":{"id":"'$CALL'","params":{},"principal":{"name":"agent","uid":0,"via":"uid"},"time":"2026-01-01T00:00:00Z","tool":"t"},"policy":{"credentials":['"${list%,}"'],"effect":"allow","run":{"limits":{"deadline_ms":20000,"grace_ms":1000}},"tier":"low"},"sbx":1}' \
		'{"state":"none"}' >"$T/call.json"
	run_sbx 0 "$I/bin/sbx-cred" sbx-run <"$T/call.json"
}

# proof: state, refused and unproven of the first credential.
proof() {
	member '.revocation[0] | [.state, .refused // 0, .unproven // "-"] | map(tostring) | join(" ")' <<<"$output"
}
witnessed() {
	jq -r 'select(.event == "credential.witnessed") | [.state, .refused // 0, .unproven // "-"] | map(tostring) | join(" ")' "$T/var/audit.jsonl"
}
has_witnessed() { [ "$(witnessed | wc -l)" -ge "$1" ]; }
is_over() { [ -z "$(ls "$T/var/leases")" ] && ! waits; }
waits() { pgrep -f "sbx-cred --config $T/sbx.yaml --witness $CALL" >/dev/null; }

@test "refused at once: the call says so" {
	local refusal
	for refusal in 401 403; do
		status 404
		cred $refusal
		assert_equal "$(proof)" "revoked $refusal -"
		assert_json '.revocation[0].refused_ms < 5000' true
		assert_equal "$(witnessed)" ''
		is_over
	done
}

@test "refused later: the call has its answer before, the record the proof when it comes" {
	cred '' pods:get 2
	assert_equal "$(proof)" 'revoked 0 not_yet_refused'
	assert_equal "$(witnessed)" ''
	assert_equal "$(jq -r 'select(.event == "credential.revoked") | .state + " " + .unproven' "$T/var/audit.jsonl" | sort -u)" 'revoked not_yet_refused'
	run_sbx 0 "$I/bin/sbx-cred" list
	assert_contains "$output" ' running "revoked" "agent" '
	# Whoever mends leaves it alone.
	run -69 "$I/bin/sbx-cred" --mend "$CALL"
	assert_contains "$output" call_running
	status 401
	wait_until 5 has_witnessed 2
	assert_equal "$(witnessed | sort -u)" 'revoked 401 -'
	wait_until 5 is_over
	# Its stage is done: nothing is left to mend.
	assert_equal "$(stat -c %a "$T/var/runs/$CALL/cred")" 400
}

@test "still taken when it has waited: it stays in the list, and mending says so until it ends" {
	target 1s
	cred ''
	wait_until 5 has_witnessed 1
	assert_equal "$(witnessed)" 'revoked 0 still_taken'
	assert_equal "$(jq -r 'select(.event == "credential.witnessed") | .expires_at' "$T/var/audit.jsonl")" "$(member '.credential[0].expires_at' <<<"$output")"
	stays() { [[ $("$I/bin/sbx-cred" list) == *' left "still_taken" "agent" '* ]]; }
	wait_until 5 stays
	run -69 "$I/bin/sbx-cred" --mend "$CALL"
	assert_contains "$output" revoke_deferred
	stays
	# When it has ended by itself that is over.
	jq -c '.expires_at = "2020-01-01T00:00:00Z"' "$T/var/leases/$CALL-0.json" >"$T/lease"
	cat "$T/lease" >"$T/var/leases/$CALL-0.json"
	run_sbx 0 "$I/bin/sbx-cred" --mend "$CALL"
	is_over
}

@test "killed while it waits: mending gives the lease back once more, and the proof alone is lost" {
	witnesses() { find /proc -maxdepth 2 -name exe -lname "$I/libexec/sbx/sbx-witness" 2>/dev/null; }
	no_witness() { [ -z "$(witnesses)" ]; }
	cred ''
	waits
	[ -n "$(witnesses)" ]
	pkill -9 -f "sbx-cred --config $T/sbx.yaml --witness $CALL"
	wait_until 5 no_witness
	run_sbx 0 "$I/bin/sbx-cred" list
	assert_contains "$output" ' left "revoked" '
	run_sbx 0 "$I/bin/sbx-cred" --mend "$CALL"
	is_over
	assert_equal "$(witnessed)" ''
	assert_equal "$(jq -r 'select(.event == "credential.revoked" and .mended) | .state' "$T/var/audit.jsonl")" revoked
}

@test "what makes a refusal no proof: refused_before, no_answer, witness_failed, witness_discovery" {
	status 403
	cred 401
	assert_equal "$(proof)" 'revoked 0 refused_before'
	status 500
	cred 401
	assert_equal "$(proof)" 'revoked 0 no_answer'
	status no-version
	cred 401 deployments.apps:get
	assert_equal "$(proof)" 'revoked 0 witness_discovery'
	status 200
	printf '#!/bin/bash\nexit 1\n' >"$I/libexec/sbx/sbx-witness"
	cred 401
	assert_equal "$(proof)" 'revoked 0 witness_failed'
	# The same with the real one.
	cp "$SBX_LIBEXEC/sbx-witness" "$I/libexec/sbx/"
	status 200
	cred 401 deployments.apps:get
	assert_equal "$(proof)" 'revoked 401 -'
}

@test "usage of --witness" {
	local id=0123456789abcdef0123456789abcdef
	run_sbx 64 "$I/bin/sbx-cred" --witness "$id"
	run_sbx 64 "$I/bin/sbx-cred" --witness "$id" --lock-fd 3
	run_sbx 64 "$I/bin/sbx-cred" --witness "$id" --witness-fd 3
	run_sbx 64 "$I/bin/sbx-cred" --witness other --lock-fd 3 --witness-fd 4
	run_sbx 64 "$I/bin/sbx-cred" --lock-fd 3 --witness-fd 4 list
	run bash -c 'echo "[{\"index\":0}]" | "$1" --witness "$2" --lock-fd 3 --witness-fd 4 3</dev/null 4</dev/null' - "$I/bin/sbx-cred" "$id"
	assert_equal "$status" 65
	assert_contains "$output" bad_request
}

@test "a witness that cannot be heard: its lease stays, and is given back by mending" {
	local fd lease=$T/var/leases/0123456789abcdef0123456789abcdef-0.json
	CALL=0123456789abcdef0123456789abcdef
	mkdir -p -m 700 "$T/var/runs/$CALL" "$T/var/leases"
	for fd in 8 9; do
		: >"$T/var/runs/$CALL/cred"
		printf '{"call":"%s","index":0,"lease":"%s","provider":"says","scope":"web","state":"revoked"}' "$CALL" "$CALL" >"$lease"
		chmod 600 "$lease"
		printf '[{"index":0,"began_ms":0,"ends_ms":0,"wait_ms":0}]' >"$T/request"
		# 8 is open, and its witness has gone; 9 is not.
		run_sbx "$([ $fd = 8 ] && echo 0 || echo 71)" "$I/bin/sbx-cred" --witness "$CALL" --lock-fd 7 --witness-fd $fd <"$T/request" 7<>"$T/var/runs/$CALL/cred" 8</dev/null
		if [ $fd = 8 ]; then
			[ ! -e "$lease" ]
		else
			assert_contains "$stderr" 'cannot hear a witness'
			assert_equal "$(jq -r .state "$lease")" revoked
		fi
		assert_equal "$(witnessed)" 'revoked 0 witness_failed'
	done
	run_sbx 0 "$I/bin/sbx-cred" --mend "$CALL"
	[ ! -e "$lease" ]
	assert_equal "$(jq -r 'select(.event == "credential.revoked") | "\(.state) \(.mended)"' "$T/var/audit.jsonl")" 'revoked true'
}
