#!/usr/bin/env bats
# sbx-cred-vault alone, with a fake server for what a real one does not do on demand. What the real ones do is in test/vault.

load ../helpers
load ../vault-fake

setup_file() { fake_vault_setup_file; }
teardown_file() { fake_vault_teardown_file; }
setup() { fake_vault_setup; }

@test "mint: each request once, in order, with the child's token for the credential; the secret in its field alone" {
	server
	mint 0
	assert_call
	assert_json '[.provider, .lease, .jti, .fields[0], (.fields | length)] | map(tostring) | join(" ")' \
		"vault $LEASE 11111111-2222-3333-4444-555555555555 token 1"
	assert_json '.expires_at | fromdate - now | . > 800 and . < 901' true
	assert_equal "$(cut -d' ' -f1,2 "$S/requests" | tr '\n' ' ')" \
		'GET /v1/auth/token/lookup-self GET /v1/kubernetes/roles/pod-reader POST /v1/auth/token/create/sbx-child POST /v1/kubernetes/creds/pod-reader '
	assert_equal "$(tr '\0' '\n' <"$T/fields" | head -n 1)" token
	assert_equal "$(tr '\0' '\n' <"$T/fields" | sed -n 2p)" "$(tr '\0' '\n' <"$T/fields" | sed -n 3p | tr -d '\n' | wc -c)"
	refute_contains "$output$stderr$(cat "$T/var/vault/$LEASE")" "$(tr '\0' '\n' <"$T/fields" | sed -n 3p)"
	refute_contains "$output$stderr$(cat "$T/var/vault/$LEASE")" s.
	mint 73
	assert_call exists
}

@test "revoke: lease, look, child token; then there is nothing to do" {
	server
	mint 0
	: >"$S/requests"
	revoke 0
	assert_json '[.state, .proof] | join(": ")' 'revoked: lease revoked and looked up as gone; child token revoked'
	assert_equal "$(cut -d' ' -f2,3 "$S/requests" | tr '\n' ' ')" '/v1/sys/leases/revoke 204 /v1/sys/leases/lookup 400 /v1/auth/token/revoke-accessor 204 '
	: >"$S/requests"
	revoke 0
	assert_json .state revoked
	assert_equal "$(cat "$S/requests")" ''
}

@test "each fault of each request of a mint has its code, and nothing that makes something is sent twice" {
	local step
	for step in self role child creds; do
		refuses vault_sealed 69 "$step-sealed"
		refuses vault_failed 69 "$step-failed"
		refuses vault_failed 69 "$step-gateway"
		refuses vault_refused 78 "$step-refused"
		refuses vault_token 78 "$step-token"
		refuses vault_denied 77 "$step-denied"
		refuses vault_missing 78 "$step-missing"
		refuses vault_answer 76 "$step-method"
		refuses vault_answer 76 "$step-teapot"
		refuses vault_redirect 78 "$step-redirect"
		refuses server_cut 69 "$step-cut"
		refuses vault_answer 76 "$step-garbage"
		refuses vault_answer 76 "$step-list"
		refuses vault_answer 76 "$step-twice"
		refuses vault_answer 76 "$step-half"
		refuses too_large 76 "$step-huge"
	done
}

@test "what was surely not done is asked for again" {
	local fault
	for fault in noleader standby behind; do
		server "creds-$fault-once"
		mint 0
		assert_equal "$(asked kubernetes/creds)" 2
	done
	server child-standby-once
	mint 0
}

@test "a child token that is more than was asked for makes nothing" {
	local fault
	for fault in policies root batch renewable short; do
		refuses vault_child 78 "child-$fault"
		assert_equal "$(asked kubernetes/creds)" 0
		revoke 0
		assert_equal "$(asked auth/token/revoke-accessor)" 1
	done
	for fault in notoken noaccessor escaped; do
		refuses vault_answer 76 "child-$fault"
		assert_equal "$(asked kubernetes/creds)" 0
	done
	refuses vault_root_token 78 self-root
	assert_equal "$(asked auth/token/create)" 0
}

@test "an answer of the mint that is not whole gives no credential, and its lease is ended" {
	local fault
	for fault in notoken nojwt; do
		refuses vault_answer 76 "creds-$fault"
		revoke 0
		assert_equal "$(asked sys/leases/revoke)" 1
	done
	for fault in short leaseshort; do
		refuses vault_short 78 "creds-$fault"
		revoke 0
		assert_equal "$(asked sys/leases/revoke)" 1
	done
	for fault in nolease otherlease; do
		refuses vault_answer 76 "creds-$fault"
		[ -s "$T/var/vault/$LEASE" ]
		revoke 0
		assert_equal "$(asked auth/token/revoke-accessor)" 1
	done
}

@test "the accessor was lost: the child token is found by its metadata; without the right to look, that is said" {
	server child-cut-once
	mint 69
	long_ago
	revoke 0
	assert_json '[.state, .proof] | join(": ")' 'revoked: no child token was made'
	server child-half-once
	mint 76
	server_meta
	long_ago
	revoke 0
	assert_json '[.state, .proof] | join(": ")' 'revoked: child token found by its metadata and revoked; it had made nothing'
	server child-cut list-denied
	mint 69
	long_ago
	revoke 0
	assert_json .state expires
	assert_contains "$output" 'a child token that nobody holds may live until 20'
}

# The server made the child token, though its answer was not understood: another mint leaves its metadata there.
server_meta() {
	local mine=$LEASE
	mv "$T/var/vault" "$T/var/vault-mine"
	mint 0
	rm -r "$T/var/vault"
	mv "$T/var/vault-mine" "$T/var/vault"
	LEASE=$mine
}

@test "the cluster does not do its part: queued, and looked up until it is gone" {
	server revoke-cluster
	mint 0
	revoke 0
	assert_json .state revoked
	assert_equal "$(asked sys/leases/revoke)" 2
	[ "$(asked sys/leases/lookup)" -gt 1 ]
}

@test "a revoke that nobody hears is an error, and what it knows is kept" {
	local fault
	for fault in accessor-sealed accessor-failed accessor-token lookup-token revoke-token revoke-denied; do
		server "$fault"
		mint 0
		run_revoke_fails
		[ -s "$T/var/vault/$LEASE" ]
	done
}
run_revoke_fails() {
	request
	run "$V" revoke <"$T/request"
	[ "$status" -eq 69 ] || [ "$status" -eq 77 ] || [ "$status" -eq 78 ]
}

@test "another server's certificate, and no server" {
	server
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other -keyout "$T/other.key" -out "$T/other.crt" 2>/dev/null
	settings ".ca_file = \"$T/other.crt\""
	mint 78
	assert_call server_not_trusted
	assert_equal "$(cat "$S/requests")" ''
	settings '.address = "https://127.0.0.1:1"'
	mint 69
	assert_call server_unreachable
}

# twin: another server like it, on its own port; $W is its directory.
twin() {
	W=$BATS_TEST_TMPDIR/twin
	mkdir "$W"
	cp "$S"/tls.* "$W"
	mkfifo "$W/life"
	"$ROOT/test/fakes/vault" "$W" <"$W/life" 3>&- 2>"$W/stderr" &
	exec {TWIN}>"$W/life"
	wait_until 10 test -s "$W/port"
	echo "https://127.0.0.1:$(cat "$W/port")" >"$S/elsewhere"
}

@test "a redirect is not followed, wherever it leads: the other server gets nothing, and takes the same when it is the one that is named" {
	local step
	twin
	for step in self child creds; do
		refuses vault_redirect 78 "$step-redirect"
		assert_contains "$output" 'must name the server itself'
		# A standby has done nothing, so it is asked again, itself.
		server "$step-standby"
		mint 69
		assert_call vault_standby
		assert_contains "$output" 'must name the active server'
	done
	assert_equal "$(cat "$W/requests")" ''
	server
	settings ".address = \"$(cat "$S/elsewhere")\""
	echo >"$W/modes"
	mint 0
	assert_equal "$(grep -c creds "$W/requests")$(cat "$S/requests")" 1
	rm "$S/elsewhere"
	exec {TWIN}>&-
}

@test "who may accept the token, and which mount is which target's" {
	server
	mint 0 '.settings.audiences = ["a", "https://b"]'
	output=$(cat "$S/asked")
	assert_json '.audiences | join(" ")' 'a https://b'
	server
	mint 0
	output=$(cat "$S/asked")
	assert_json 'has("audiences")' false
	local mounts='.mounts = {prod: "other", staging: "kubernetes"}'
	server
	settings "$mounts"
	mint 0 '.target = {name: "prod"}'
	assert_contains "$(cat "$S/requests")" '/v1/other/creds/pod-reader'
	refute_contains "$(cat "$S/requests")" '/v1/kubernetes/'
	LEASE=${LEASE//?/a} mint 78 '.target = {name: "else"}'
	assert_call vault_settings
	LEASE=${LEASE//?/a} mint 78 '.target = {name: "prod"} | .settings.mount = "kubernetes"'
	assert_call vault_scope
	# One mount is for one target: of several it would make the tokens of another one.
	server
	mint 0 '.target = {name: "prod"}'
	echo 'targets: {prod: {server: "https://prod.example"}, staging: {server: "https://staging.example"}}' >>"$T/sbx.yaml"
	LEASE=${LEASE//?/a} mint 78 '.target = {name: "prod"}'
	assert_call vault_settings
	assert_contains "$output" 'there are several targets'
}

@test "the namespace is that of the call: the scope names the same, or none" {
	server
	mint 0 '.namespace = "apps"'
	output=$(cat "$S/asked")
	assert_json .kubernetes_namespace apps
	server
	mint 0 '.namespace = "apps" | .settings.kubernetes_namespace = "apps"'
	LEASE=${LEASE//?/a} mint 78 '.namespace = "apps" | .settings.kubernetes_namespace = "other"'
	assert_call vault_scope
}

aws='.settings = {engine: "aws", role: "demo", policy: "sbx-aws"}'

@test "a session of AWS: three fields, at least a quarter of an hour; it cannot be revoked, and that is said" {
	server
	mint 0 "$aws | .lifetime_s = 600"
	assert_json '[.provider, .jti, (.fields | join(" "))] | join(" ")' \
		"vault arn:aws:sts::123456789012:assumed-role/sbx-demo/sbx-$LEASE access_key_id secret_access_key session_token"
	assert_json '.expires_at | fromdate - now | . > 890 and . < 901' true
	local end answer=$output
	end=$(member .expires_at <<<"$output")
	assert_equal "$(cut -d' ' -f1,2 "$S/requests" | tr '\n' ' ')" \
		'GET /v1/auth/token/lookup-self POST /v1/auth/token/create/sbx-child POST /v1/aws/sts/demo '
	output=$(cat "$S/asked")
	assert_json '[.ttl, .role_session_name, has("role_arn")] | map(tostring) | join(" ")' "900s sbx-$LEASE false"
	assert_equal "$(tr '\0' '\n' <"$T/fields" | grep -aoE 'access_key_id|secret_access_key|session_token' | tr '\n' ' ')" \
		'access_key_id secret_access_key session_token '
	refute_contains "$answer$stderr$(cat "$T/var/vault/$LEASE")" secret+key
	refute_contains "$answer$stderr$(cat "$T/var/vault/$LEASE")" token/of
	revoke 0
	assert_json '[.state, .proof] | join(": ")' "expires: lease and child token ended; the session of AWS lives until $end"
	server sts-old
	mint 0 "$aws | .settings.role_arn = \"arn:aws:iam::123456789012:role/sbx-demo\""
	output=$(cat "$S/asked")
	assert_json .role_arn arn:aws:iam::123456789012:role/sbx-demo
}

@test "a session of AWS that is not whole, or too short; and one whose answer was lost" {
	local fault
	for fault in nokey noid notoken; do
		server "sts-$fault"
		mint 76 "$aws"
		assert_call vault_answer
		assert_equal "$(cat "$T/fields")" ''
		revoke 0
		assert_json .state expires
	done
	server sts-capped
	mint 78 "$aws | .lifetime_s = 1800"
	assert_call vault_short
	server sts-refused
	mint 78 "$aws"
	assert_call vault_refused
	server sts-cut
	mint 69 "$aws"
	long_ago
	revoke 0
	assert_json .state expires
	assert_contains "$output" 'the session of AWS that nobody holds may live until 20'
}

@test "settings and scope: each member that is wrong" {
	local filter
	for filter in 'del(.address)' '.address = 5' '.socket = "/x"' '.token_role = "../x"' 'del(.token_role)' '.login = "x"' '.login.method = "x"' \
		'.login.file = "relative"' '.login.other = 1' '.other = 1' '.ca_file = "x"' '.mounts = "x"' '.namespace = "a b"' '.login = {method: "agent"}' \
		'.login = {method: "approle", role_id: "a b", secret_id_file: "/x"}' '.login = {method: "kubernetes"}'; do
		settings "$filter"
		mint 78
		assert_call vault_settings
	done
	settings '.address = "http://127.0.0.1"'
	mint 78
	assert_call bad_server
	settings
	for filter in 'del(.role)' '.role = "a?b"' '.role = "a/../b"' 'del(.policy)' '.mount = "/x"' '.kubernetes_namespace = ""' '.other = 1' \
		'.audiences = []' '.engine = "x"' '.engine = 1' '. + {engine: "aws", kubernetes_namespace: "a"}' '. + {engine: "aws", role_arn: "a b"}' '.role_arn = "a"'; do
		mint 78 ".settings |= ($filter)"
		assert_call vault_scope
	done
}

@test "files that others may read are refused" {
	server
	chmod 640 "$T/token"
	mint 78
	assert_call unsafe_file
	chmod 600 "$T/token"
	mint 0
	chmod 644 "$T/var/vault/$LEASE"
	revoke 78
	assert_call unsafe_file
	printf 'x' >"$T/var/vault/$LEASE"
	chmod 600 "$T/var/vault/$LEASE"
	revoke 78
	assert_call bad_journal
}

@test "a mint that wrong settings refused has made nothing: its revoke needs no server; with something to end it does" {
	server
	settings '.address = "nowhere"'
	mint 78
	assert_call bad_server
	revoke 0
	assert_json .state revoked
	assert_contains "$output" 'nothing is kept'
	settings
	mint 0
	settings '.address = "nowhere"'
	revoke 78
	assert_call bad_server
	settings
	revoke 0
	assert_json .state revoked
}

@test "usage, requests" {
	settings
	run_sbx 0 "$V" --help
	assert_contains "$output" 'usage: sbx-cred-vault mint'
	run_sbx 0 "$V" --version
	run_sbx 64 "$V"
	run_sbx 64 "$V" mint
	run_sbx 64 "$V" mint --secret-fd 99
	run_sbx 64 "$V" revoke --other
	run_sbx 64 "$V" renew
	run_sbx 65 "$V" revoke <<<'{'
	run_sbx 65 "$V" revoke <<<'{"lease":"x"}'
	assert_call bad_request
	mint 65 'del(.principal)'
	assert_call bad_request
	mint 65 '.lifetime_s = 100000'
	assert_call bad_request
	[ "$(find "$T/var/vault" -type f | wc -l)" -eq 0 ]
}
