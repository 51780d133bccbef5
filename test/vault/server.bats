#!/usr/bin/env bats
# The server dies, is sealed, or its cluster does not answer.

load ../helpers
load vault

setup_file() { vault_setup_file; }
teardown_file() {
	vault_teardown_file
}
setup() { vault_setup; }
teardown() {
	[ -z "${DEAF:-}" ] || kill "$DEAF" || true
	uncut
}

rig_alone() {
	[ -x "$RIG/openbao" ] && [ "$("$RIG/openbao" up 3>&- | grep -c "$VAULT_ADDR")" = 1 ] || skip 'the server is not that of the rig, and is not killed or sealed'
}

@test "the server is killed while a credential is live: an error, and revoked when it is back" {
	rig_alone
	local pid
	mint 0
	pid=$(cat "$(dirname "$VAULT_CACERT")/pid")
	kill -9 "$pid"
	wait_until 5 test ! -e "/proc/$pid"
	revoke 69
	assert_call server_unreachable
	"$RIG/openbao" up >/dev/null 3>&-
	revoke 0 revoked
	nothing_is_live
}

# server_dies_at STEP FAULT VERB: the server is killed while the verb waits for the answer to that request, which it has got or not; then it is back.
server_dies_at() {
	local pid
	cut_at "$2" "$1"
	request
	"$V" "$3" $([ "$3" = revoke ] || echo --secret-fd 7) <"$T/request" 7>"$T/fields" >"$T/answer" 2>"$T/errors" 3>&- &
	pid=$!
	wait_until 5 grep -q "$1.* $2" "$C/requests"
	kill -9 "$(cat "$(dirname "$VAULT_CACERT")/pid")"
	uncut
	wait "$pid" || true
	"$RIG/openbao" up >/dev/null 3>&-
	wait_until 5 api GET auth/token/lookup-self
}

@test "the server is killed at each request of a mint: no credential, and nothing is live when it is back" {
	rig_alone
	local step fault
	for step in lookup-self token/create/ /creds/; do
		for fault in hang-before hang-after; do
			LEASE=$(head -c 16 /dev/urandom | xxd -p)
			server_dies_at "$step" "$fault" mint
			assert_equal "$(grep -c lease "$T/answer" "$T/fields" | grep -cv ':0$')" 0
			wait_until 5 revoke_is revoked
			wait_until 5 no_lease
			# What the engine had begun in the cluster it removes after ten minutes, by its own journal. No token of it was handed over.
			accounts | xargs -r kubectl --namespace="$NS" delete >/dev/null 3>&-
		done
	done
}
no_lease() {
	[ -z "$(children)$(leases)" ]
}

@test "the server is killed at each request of the end: revoked when it is back" {
	rig_alone
	local step
	for step in leases/revoke leases/lookup revoke-accessor; do
		LEASE=$(head -c 16 /dev/urandom | xxd -p)
		mint 0
		server_dies_at "$step" hang-after revoke
		wait_until 5 revoke_is revoked
		wait_until 12 refused
		wait_until 5 nothing_is_live
	done
}

@test "a sealed server has its own code" {
	rig_alone
	mint 0
	api POST sys/seal '{}'
	revoke 69
	assert_call vault_sealed
	LEASE=00000000000000000000000000000000 mint 69
	assert_call vault_sealed
	"$RIG/openbao" up >/dev/null 3>&-
	wait_until 5 api GET auth/token/lookup-self
	revoke 0 revoked
	nothing_is_live
}

# The engine's cluster is at HOST from here on.
cluster_at() {
	jq --arg host "$1" '.kubernetes_host = $host' "$BATS_FILE_TMPDIR/config.json" >"$T/config.json"
	api POST "$NS/config" "@$T/config.json"
}

@test "the cluster is down: the end is queued, deferred, and done when it is back" {
	mint 0
	cluster_at https://127.0.0.1:1
	revoke 0 deferred
	assert_equal "$(children | wc -l) $(leases | wc -l)" '0 1'
	cluster_at "$K8S_SERVER"
	wait_until 15 revoke_is revoked
	nothing_is_live
}
revoke_is() {
	revoke 0 "$1"
}

# The server holds the lease meanwhile, and neither queues its end nor ends the child token.
@test "the cluster takes the connection and says nothing: given up in time, and revoked when it is back" {
	mint 0
	python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(60)' >"$T/port" 3>&- &
	DEAF=$!
	wait_until 5 test -s "$T/port"
	cluster_at "https://127.0.0.1:$(cat "$T/port")"
	local began=$SECONDS
	revoke 69
	assert_call server_timeout
	[ $((SECONDS - began)) -le 10 ]
	cluster_at "$K8S_SERVER"
	kill "$DEAF"
	DEAF=
	wait_until 15 revoke_is revoked
	nothing_is_live
}

@test "the cluster is down for a mint: no credential, and nothing is left" {
	cluster_at https://127.0.0.1:1
	mint 69
	cluster_at "$K8S_SERVER"
	assert_call vault_failed
	revoke 0 revoked
	nothing_is_live
}
