#!/usr/bin/env bats
# sbx-cred-kubernetes alone, with a fake server for what a real one does not do on demand. What a real one does is in test/credential.

load ../helpers
load ../kubernetes

setup_file() {
	kube_setup_file
	BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	fake_api
	export K KUBECONFIG_FILE PORT LIFE
}

teardown_file() {
	exec {LIFE}>&-
}

setup() {
	fresh_state
	P=$SBX_LIBEXEC/sbx-cred-kubernetes
	LEASE=0123456789abcdef0123456789abcdef
	NAME=sbx-cred-$LEASE
	server
}

# server MODE...: from here on it is like that, and our state is empty.
server() {
	rm -rf "$T/var/kubernetes"
	: >"$K/requests"
	printf '%s\n' "$*" >"$K/modes.new"
	mv "$K/modes.new" "$K/modes"
	settings
}

# settings [FILTER]: providers.kubernetes, changed by a jq filter.
settings() {
	sed -i '/^providers:/d' "$T/sbx.yaml"
	printf 'providers: {kubernetes: %s}\n' "$(printf '{"kubeconfig":"%s","context":"sandbox"}' "$KUBECONFIG_FILE" | jq -c "${1:-.}")" >>"$T/sbx.yaml"
}

request() {
	printf '{"scope":"pods-read","settings":{"namespace":"apps","account":"reader"},"target":null,"call":"%s","lease":"%s","principal":"agent",
		"lifetime_s":900,"config":{},"jti":null}' "$CALL" "$LEASE" | jq -c "${1:-.}" >"$T/request"
}

mint() { # RC [FILTER]
	request "${2:-.}"
	run_sbx "$1" bash -c '"$1" mint --secret-fd 7 <"$2" 7>"$3"' - "$P" "$T/request" "$T/fields"
}

revoke() { # RC [FILTER]
	request "${2:-.}"
	run_sbx "$1" "$P" revoke <"$T/request"
}

# The requests that the server got, without the namespace's path.
requests() {
	sed 's|/api[^ ]*/namespaces/||; s|?[^ ]*||' "$K/requests" | tr '\n' ' '
}

# posts PATTERN: how often something was made there.
posts() {
	grep -cE "^POST .*/$1" "$K/requests" || true
}

# refuses CODE RC FILTER MODE...: the mint fails so, gives no secret, asked once at most for whatever makes something; and what it left can be ended.
refuses() {
	server "${@:4}"
	mint "$2" "$3"
	assert_call "$1"
	assert_equal "$(cat "$T/fields")" ''
	[ "$(posts secrets)" -le 1 ] && [ "$(posts rolebindings)" -le 1 ] && [ "$(posts serviceaccounts)" -le 1 ]
	printf '' >"$K/requests"
	settled
	revoke 0
	assert_json .state revoked
	assert_equal "$(ls "$T/var/kubernetes")" ''
}

# The interrupted mint is so long ago that nothing of it can be at work.
settled() {
	jq -c '.made_at = 0' "$T/var/kubernetes/$LEASE" >"$T/journal"
	chmod 600 "$T/journal"
	mv "$T/journal" "$T/var/kubernetes/$LEASE"
}

@test "mint: an anchor, then a token bound to it, each asked for once; the secret in its field alone" {
	mint 0
	assert_call
	assert_json '[.provider, .lease, .jti, .fields[0], (.fields | length)] | map(tostring) | join(" ")' \
		"kubernetes $LEASE 11111111-2222-3333-4444-555555555555 token 1"
	assert_json '.expires_at | fromdate - now | . > 890 and . < 901' true
	assert_equal "$(requests)" 'POST apps/secrets 201 POST apps/serviceaccounts/reader/token 201 '
	output=$(cat "$K/posted-token")
	assert_json '.spec | [.expirationSeconds, .boundObjectRef.kind, .boundObjectRef.name, .boundObjectRef.uid, .audiences] | map(tostring) | join(" ")' \
		"900 Secret $NAME uid-$NAME null"
	output=$(cat "$K/posted-secret-$NAME")
	assert_json '[.immutable, has("data"), .metadata.annotations["sbx/principal"]] | map(tostring) | join(" ")' 'true false agent'
	assert_equal "$(tr '\0' '\n' <"$T/fields" | head -n 1)" token
	assert_equal "$(tr '\0' '\n' <"$T/fields" | sed -n 2p)" "$(tr '\0' '\n' <"$T/fields" | sed -n 3p | tr -d '\n' | wc -c)"
	refute_contains "$output$stderr$(cat "$T/var/kubernetes/$LEASE")" "$(tr '\0' '\n' <"$T/fields" | sed -n 3p)"
	mint 73
	assert_call exists
}

@test "revoke: deleted, and asked for again until there is none; then there is nothing to do" {
	mint 0 '.settings.role = "reader"'
	: >"$K/requests"
	revoke 0
	assert_json '[.state, .proof] | join(": ")' \
		'revoked: role binding and anchor deleted and looked for as gone; the API server may accept the token for 10 s more'
	assert_equal "$(requests)" "DELETE apps/rolebindings/$NAME 200 DELETE apps/rolebindings/$NAME 404 DELETE apps/secrets/$NAME 200 DELETE apps/secrets/$NAME 404 "
	: >"$K/requests"
	revoke 0
	assert_json .state revoked
	assert_equal "$(requests)" ''
}

@test "audiences, a role of the cluster, a token that is not bound" {
	mint 0 '.settings += {audiences: ["a", "https://b"], cluster_role: "view"}'
	output=$(cat "$K/posted-token")
	assert_json '.spec.audiences | join(" ")' 'a https://b'
	output=$(cat "$K/posted-binding-$NAME")
	assert_json '[.roleRef.kind, .roleRef.name, .subjects[0].kind, .subjects[0].name, .subjects[0].namespace, .metadata.ownerReferences[0].uid] | join(" ")' \
		"ClusterRole view ServiceAccount reader apps uid-$NAME"
	server
	mint 0 '.settings.bound = false'
	assert_equal "$(requests)" 'POST apps/serviceaccounts/reader/token 201 '
	local end
	end=$(member .expires_at <<<"$output")
	revoke 0
	assert_json '[.state, .proof] | join(": ")' "expires: the token of a fixed service account lives until $end"
}

@test "each fault of each request of a mint has its code, nothing that makes something is sent twice, and what it left can be ended" {
	local step with='.settings.role = "reader"'
	refuses cluster_busy 69 . secret-html
	refuses cluster_quota 69 . secret-quota
	refuses cluster_admission 77 . secret-denied
	refuses cluster_unauthenticated 78 . secret-unauthorized
	refuses cluster_missing 78 . secret-missing
	refuses cluster_exists 73 . secret-exists
	refuses server_cut 69 . secret-truncated
	refuses cluster_answer 76 . secret-list
	for step in secret binding token; do
		refuses cluster_busy 69 "$with" "$step-failed"
		refuses cluster_forbidden 77 "$with" "$step-forbidden"
		refuses server_cut 69 "$with" "$step-cut"
		refuses cluster_answer 76 "$with" "$step-garbage"
	done
	refuses cluster_missing 78 . token-missing
	refuses cluster_invalid 76 . token-invalid
	refuses too_large 76 . token-huge
	refuses cluster_answer 76 . secret-empty
	refuses cluster_answer 76 . token-empty
	refuses cluster_busy 69 . token-changed
}

@test "a token that is not what was asked for is not handed over" {
	refuses token_unbound 76 . token-unbound
	refuses token_unbound 76 . token-elsewhere
	refuses token_short 78 . token-short
	refuses cluster_answer 76 . token-nojwt
	refuses cluster_answer 76 . token-endless
}

@test "what was surely not done is asked for again" {
	local step
	for step in secret binding token; do
		server "$step-busy-once"
		mint 0 '.settings.role = "reader"'
	done
	assert_equal "$(posts secrets) $(posts rolebindings) $(posts serviceaccounts)" '1 1 2'
}

@test "an answer is lost: what it made is ended all the same, once nothing can be at work" {
	server token-lost
	mint 69
	revoke 0
	assert_json .state revoked
	server secret-lost-once
	mint 69
	revoke 0
	assert_json .state revoked
	assert_contains "$(requests)" "DELETE apps/secrets/$NAME 200"
}

@test "a revoke that nobody hears is an error, what passes is waited for, and what is known is kept" {
	local fault
	for fault in forbidden unauthorized redirect invalid; do
		server "secrets-$fault"
		mint 0 '.settings.role = "reader"'
		request
		run "$P" revoke <"$T/request"
		[ "$status" -eq 76 ] || [ "$status" -eq 77 ] || [ "$status" -eq 78 ]
		[ -s "$T/var/kubernetes/$LEASE" ]
		# The binding is gone for all that.
		assert_contains "$(requests)" "DELETE apps/rolebindings/$NAME 404"
	done
	server secrets-busy-once
	mint 0
	revoke 0
	assert_json .state revoked
	server secrets-held
	mint 0
	revoke 0
	assert_json .state deferred
	[ -s "$T/var/kubernetes/$LEASE" ]
}

@test "another server's certificate, no server, and a lease of another server" {
	local kubeconfig=$KUBECONFIG_FILE
	mint 0
	sed "s|https://127.0.0.1:[0-9]*|https://127.0.0.1:1|" "$kubeconfig" >"$T/kubeconfig"
	chmod 600 "$T/kubeconfig"
	settings ".kubeconfig = \"$T/kubeconfig\""
	revoke 78
	assert_call cluster_target
	LEASE=${LEASE//?/a} mint 69
	assert_call server_unreachable
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other -keyout "$T/other.key" -out "$T/other.crt" 2>/dev/null
	sed "s|certificate-authority-data: .*|certificate-authority: $T/other.crt|" "$kubeconfig" >"$T/kubeconfig"
	LEASE=${LEASE//?/b} mint 78
	assert_call server_not_trusted
	settings
	revoke 0
	assert_json .state revoked
}

@test "targets: each has its own login; one login is for its own server alone" {
	local here="https://127.0.0.1:$PORT" there=https://other.example:6443
	mint 0 ".target = {name: \"a\", server: \"$here\"}"
	LEASE=${LEASE//?/a} mint 78 ".target = {name: \"a\", server: \"$there\"}"
	assert_call cluster_target
	assert_contains "$output" 'targets: {a: {kubeconfig'
	settings '{targets: {a: .}}'
	LEASE=${LEASE//?/a} mint 0 ".target = {name: \"a\", server: \"$there\"}"
	LEASE=${LEASE//?/b} mint 78 ".target = {name: \"b\", server: \"$here\"}"
	assert_call cluster_settings
	LEASE=${LEASE//?/b} mint 78
	assert_call cluster_settings
	settings '. + {targets: {a: .}}'
	LEASE=${LEASE//?/b} mint 78 ".target = {name: \"a\"}"
	assert_call cluster_settings
	settings '{targets: {a: (. + {other: 1})}}'
	LEASE=${LEASE//?/b} mint 78 ".target = {name: \"a\"}"
	assert_call cluster_settings
	assert_contains "$output" 'providers.kubernetes.targets.a'
}

@test "the namespace is that of the call: the scope names the same, or none" {
	mint 0 '.namespace = "team" | del(.settings.namespace)'
	assert_contains "$(requests)" 'POST team/secrets 201 POST team/serviceaccounts/reader/token 201'
	LEASE=${LEASE//?/a} mint 0 '.namespace = "apps"'
	LEASE=${LEASE//?/b} mint 78 '.namespace = "team"'
	assert_call cluster_scope
}

@test "a redirect is not followed: the other server gets nothing, and takes the same when it is the one that is named" {
	local W=$BATS_TEST_TMPDIR/twin
	mkdir "$W"
	cp "$K"/tls.* "$W"
	mkfifo "$W/life"
	"$ROOT/test/fakes/kube-api" "$W" <"$W/life" 3>&- 2>"$W/stderr" &
	exec {TWIN}>"$W/life"
	wait_until 10 test -s "$W/port"
	echo "https://127.0.0.1:$(cat "$W/port")" >"$K/elsewhere"
	refuses cluster_redirect 78 . secret-redirect
	refuses cluster_redirect 78 . token-redirect
	assert_equal "$(cat "$W/requests")" ''
	server
	sed "s|https://127.0.0.1:[0-9]*|$(cat "$K/elsewhere")|" "$KUBECONFIG_FILE" >"$T/kubeconfig"
	chmod 600 "$T/kubeconfig"
	settings ".kubeconfig = \"$T/kubeconfig\""
	mint 0
	assert_equal "$(wc -l <"$W/requests") $(cat "$K/requests")" '2 '
	rm "$K/elsewhere"
	exec {TWIN}>&-
}

@test "settings and scope: each member that is wrong" {
	local filter
	for filter in 'del(.kubeconfig)' '.kubeconfig = "relative"' 'del(.context)' '.other = 1' '. + {in_cluster: true}' '{targets: 1}'; do
		settings "$filter"
		mint 78
		assert_call cluster_settings
	done
	settings '.context = "nowhere"'
	mint 78
	assert_call kubeconfig
	settings
	for filter in 'del(.namespace)' '.namespace = "a/b"' 'del(.account)' '.account = "A"' '.role = ""' '.role = "a/b"' '. + {role: "a", cluster_role: "b"}' \
		'.audiences = []' '.audiences = "x"' '.audiences = [1]' '.audiences = ["a b"]' '.audiences = ["1","2","3","4","5","6","7","8","9"]' '.bound = "no"' '.other = 1'; do
		mint 78 ".settings |= ($filter)"
		assert_call cluster_scope
	done
	assert_equal "$(requests)" ''
}

@test "files that others may read are refused" {
	cp "$KUBECONFIG_FILE" "$T/kubeconfig"
	chmod 640 "$T/kubeconfig"
	settings ".kubeconfig = \"$T/kubeconfig\""
	mint 78
	assert_call unsafe_file
	chmod 600 "$T/kubeconfig"
	mint 0
	chmod 644 "$T/var/kubernetes/$LEASE"
	revoke 78
	assert_call unsafe_file
	chmod 600 "$T/var/kubernetes/$LEASE"
	printf 'x' >"$T/var/kubernetes/$LEASE"
	revoke 78
	assert_call bad_journal
	printf '{"namespace":"../x","server":"y"}' >"$T/var/kubernetes/$LEASE"
	revoke 78
	assert_call bad_journal
}

@test "a mint that wrong settings refused has made nothing: its revoke needs no server; with something to end it does" {
	server
	settings '.context = "other"'
	mint 78
	assert_call kubeconfig
	revoke 0
	assert_json .state revoked
	assert_contains "$output" 'nothing is kept'
	settings
	mint 0
	settings '.context = "other"'
	revoke 78
	assert_call kubeconfig
	settings
	revoke 0
	assert_json .state revoked
}

# login BODY: the kubeconfig has its token from a program that does this first.
login() {
	printf '#!/bin/sh\n%s\n' "$1" "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"of-the-program\"}}'" >"$T/program"
	chmod 755 "$T/program"
	sed 's|token: not-a-secret-token|exec: {apiVersion: client.authentication.k8s.io/v1, command: vendor-auth, interactiveMode: Never}|' "$KUBECONFIG_FILE" >"$T/kubeconfig"
	chmod 600 "$T/kubeconfig"
	settings ".kubeconfig = \"$T/kubeconfig\" | .exec = {\"vendor-auth\": \"$T/program\"}"
}

@test "a program that hangs over the login is killed while there is time to say so, and nothing was made; one that is slow is waited for" {
	login 'sleep 300 & echo $! >"'"$T"'/sleeps"; wait'
	local began=$SECONDS
	mint 69
	# sbx-cred kills its provider after ten.
	[ $((SECONDS - began)) -lt 10 ]
	assert_call credential_program
	assert_contains "$output" 'did not answer in time'
	gone() { ! kill -0 "$(cat "$T/sleeps")" 2>/dev/null; }
	wait_until 5 gone
	assert_equal "$(requests)" ''
	login 'sleep 1'
	mint 0
	assert_equal "$(tail -n 1 "$K/authorization")" 'Bearer of-the-program'
	revoke 0
	assert_json .state revoked
}

@test "usage, requests" {
	run_sbx 0 "$P" --help
	assert_contains "$output" 'usage: sbx-cred-kubernetes mint'
	run_sbx 0 "$P" --version
	run_sbx 64 "$P"
	run_sbx 64 "$P" mint
	run_sbx 64 "$P" mint --secret-fd 99
	run_sbx 64 "$P" revoke --other
	run_sbx 64 "$P" renew
	run_sbx 65 "$P" revoke <<<'{'
	run_sbx 65 "$P" revoke <<<'{"lease":"x"}'
	assert_call bad_request
	mint 65 'del(.principal)'
	assert_call bad_request
	mint 65 '.call = "x y"'
	assert_call bad_request
	mint 65 '.lifetime_s = 100000'
	assert_call bad_request
	[ "$(find "$T/var/kubernetes" -type f | wc -l)" -eq 0 ]
}
