#!/usr/bin/env bats
# The connection to a real API server ends before and after each request of sbx-cred-kubernetes, and the provider, or sbx-cred with it, is killed at each;
# then it is mended. test/fakes/server-cut stands between.

load ../helpers
load credential
load ../tap

setup_file() {
	cluster_needed
	kube create role pod-reader --verb=get,list --resource=pods
	kube create serviceaccount pod-reader
	# With the rights of an administrator of the namespace: what cluster/credentials allows is another file's matter.
	kube create serviceaccount cutter
	kube create rolebinding cutter --clusterrole=admin --serviceaccount="$NS:cutter"
}
teardown_file() { [ -z "${NS:-}" ] || kubectl delete namespace "$NS" --wait=false 3>&-; }

setup() {
	fresh_state
	P=$SBX_LIBEXEC/sbx-cred-kubernetes
	PID=
	kubectl config view --raw --flatten -o json 3>&- >"$T/admin"
}

teardown() {
	[ -z "$PID" ] || kill_session
	uncut
}

# cut_at FAULT PATH: the next request there meets it, and none after that.
cut_at() {
	uncut
	C=$BATS_TEST_TMPDIR/cut
	mkdir "$C"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=cut -addext subjectAltName=IP:127.0.0.1 \
		-keyout "$C/tls.key" -out "$C/tls.crt" 2>/dev/null
	mkfifo "$C/life"
	"$ROOT/test/fakes/server-cut" "$C" "$K8S_SERVER" "$K8S_CA" "$1" "$2" 1 <"$C/life" 3>&- 2>"$C/stderr" &
	exec {LIFE}>"$C/life"
	wait_until 10 test -s "$C/port"
	kube create token cutter --duration=1h >"$T/cutter"
	jq -c --arg server "https://127.0.0.1:$(cat "$C/port")" --arg ca "$C/tls.crt" --rawfile token "$T/cutter" \
		'{contexts: [.contexts[0] + {name: "broker"}], clusters: [.clusters[0] + {cluster: {server: $server, "certificate-authority": $ca}}],
			users: [.users[0] + {user: {token: ($token | rtrimstr("\n"))}}]}' "$T/admin" >"$T/kubeconfig"
	chmod 600 "$T/kubeconfig"
	sed -i '/^providers:/d' "$T/sbx.yaml"
	echo "providers: {kubernetes: {kubeconfig: $T/kubeconfig, context: broker}}" >>"$T/sbx.yaml"
	LEASE=$(head -c 16 /dev/urandom | xxd -p)
}

uncut() {
	[ -z "${LIFE-}" ] || exec {LIFE}>&-
	unset LIFE
	rm -rf "$BATS_TEST_TMPDIR/cut"
}

bound='.settings.role = "pod-reader"'

@test "the connection ends before or after each request of the mint: nothing is asked for twice, and mending leaves nothing" {
	local step fault
	for step in /secrets /rolebindings /token; do
		for fault in cut-before cut-after; do
			cut_at "$fault" "$step"
			mint 69 "$bound"
			assert_call server_cut
			assert_equal "$(grep -c "^POST .*$step" "$C/requests")" 1
			revoke 0 revoked
			assert_equal "$(left)$(ls "$T/var/kubernetes")" ''
		done
	done
}

@test "the connection ends before or after a deletion: it is asked for again" {
	local step fault
	for step in /secrets/ /rolebindings/; do
		for fault in cut-before cut-after; do
			cut_at "$fault" "$step"
			mint 0 "$bound"
			revoke 0 revoked
			assert_equal "$(left)" ''
		done
	done
}

# stays FILTER: a mint whose process stays, and is asked to revoke.
stays() {
	local again
	rm -f "$T/again" "$T/said"
	mkfifo "$T/again"
	exec {again}<>"$T/again"
	request "$1 | .again_fd = 8"
	"$P" mint --secret-fd 7 --lock-fd 8 <"$T/request" 7>"$T/fields" 8<"$T/again" >"$T/said" 2>"$T/err" 3>&- {again}>&- &
	wait_until 10 grep -q '"stays":true' "$T/said"
	request "$1"
	cat "$T/request" >&"$again"
	exec {again}>&-
	wait "$!"
	assert_equal "$(tail -n 1 "$T/said" | jq -r .state)" revoked
	assert_equal "$(left)$(ls "$T/var/kubernetes")" ''
}

@test "one that stays revokes by the connection that is there, or by a new one when the server has ended it; nothing is done twice" {
	local fault step
	# Looked for as gone, too.
	local all='POST secrets 201,POST rolebindings 201,POST token 201,DELETE rolebindings 200,DELETE rolebindings 404,DELETE secrets 200,DELETE secrets 404'
	for fault in 'none /none' 'end-after /token'; do
		cut_at $fault
		stays "$bound"
		assert_equal "$(sed -E 's|/[^ ]*/(secrets\|rolebindings\|token)[^ ]* |\1 |' "$C/requests" | paste -sd,)" "$all"
		assert_equal "$(wc -l <"$C/connections")" "$([ "$fault" = 'none /none' ] && echo 1 || echo 2)"
	done
	# It ends when the deletion was sent.
	for step in /rolebindings/ /secrets/; do
		for fault in cut-before cut-after; do
			cut_at "$fault" "$step"
			stays "$bound"
			assert_equal "$(grep -c '^POST ' "$C/requests")" 3
			assert_equal "$(grep '^DELETE ' "$C/requests" | grep -c ' 200$')" "$([ "$fault" = cut-before ] && echo 2 || echo 1)"
		done
	done
}

@test "an API server that does not answer: the mint ends in time, and what it made is found" {
	cut_at hang-after /secrets
	local began=$SECONDS
	mint 69 "$bound"
	assert_call server_timeout
	[ $((SECONDS - began)) -le 10 ]
	revoke 0 revoked
	assert_equal "$(left)" ''
}

# api_dies FAULT STEP VERB: the API server is killed at that request of the provider, having done it (hang-after) or not, and started again.
api_dies() {
	local pid
	PORT=${keep:+$(port)} cut_at "$1" "$2"
	(exec {LIFE}>&- && "${@:3}") 3>&- &
	pid=$!
	wait_until 10 grep -q "$2.* $1" "$C/requests"
	$SBX_STOP_API 3>&-
	uncut
	wait "$pid"
	detached $SBX_START_API
	wait_until 20 kubectl get --raw /readyz
}

@test "the API server is killed at each request: what it had made is found when it is back" {
	[ -n "${SBX_STOP_API:-}" ] && [ -n "${SBX_START_API:-}" ] || skip 'SBX_STOP_API and SBX_START_API are not set'
	local case
	for case in 'hang-after /secrets' 'hang-after /rolebindings' 'hang-before /token' 'hang-after /token'; do
		api_dies $case mint 69 "$bound"
		assert_equal "$(ls "$T/var/kubernetes")" "$LEASE"
		again revoked
	done
	for case in 'hang-after /rolebindings/' 'hang-after /secrets/'; do
		cut_at none /none
		mint 0 "$bound"
		keep=$LEASE
		api_dies $case revoke_kept
		again revoked
		wait_until 1 eval '[[ $(lists) == 40[13] ]]'
	done
}
# Where the last one was: a lease is of the server that made it.
port() { sed -n 's/.*127.0.0.1:\([0-9]*\)".*/\1/p' "$T/kubeconfig"; }
# The lease of the mint before, by a connection that ends.
revoke_kept() { LEASE=$keep revoke 69; }
again() { # STATE: with the server that is back.
	local lease=${keep:-$LEASE}
	PORT=$(port) cut_at none /none
	LEASE=$lease revoke 0 "$1"
	assert_equal "$(left)$(ls "$T/var/kubernetes")" ''
	keep=
}

mended() {
	run_sbx 0 "$I/bin/sbx-cred" --mend "$CALL"
	assert_equal "$(left)$(ls "$T/var/leases" "$T/var/kubernetes" | grep -v : | tr -d '\n')" ''
	assert_equal "$(jq -r 'select(.event == "credential.revoked" and .request_id == "'"$CALL"'") | "\(.state) \(.mended)"' "$T/var/audit.jsonl")" 'revoked true'
}

chain_setup() {
	tap_setup
	sed -i "s|^  test-read:.*|  test-read: {provider: kubernetes, namespace: $NS, account: pod-reader, role: pod-reader, reads_secrets: false}|" "$T/policy/policy.yaml"
}

@test "sbx-cred and its provider are killed at each request, the server having answered or not: mended, nothing is left" {
	local step fault
	chain_setup
	for step in /secrets /rolebindings /token /rolebindings/ /secrets/; do
		for fault in hang-before hang-after; do
			cut_at "$fault" "$step"
			start cred_show
			wait_until 10 grep -q "$step.* $fault" "$C/requests"
			kill_session
			mended
		done
	done
}

@test "killed while the tool runs: the token works, is ended by mending, and refused" {
	chain_setup
	cut_at none /none
	start cred_sleep
	wait_until 10 test -e "$TAP/credentials"
	wait_until 10 grep -q sandbox.started "$T/var/audit.jsonl"
	tail -c +9 "$TAP/credentials" >"$T/minted"
	wait_until 5 eval '[ "$(lists)" = 200 ]'
	kill_session
	mended
	wait_until 1 eval '[[ $(lists) == 40[13] ]]'
	wait_until 12 refused
}
