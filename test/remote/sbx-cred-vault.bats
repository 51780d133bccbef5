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
	assert_json '.expires_at | fromdate - now | . > 890 and . < 901' true
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

@test "settings and scope: each member that is wrong" {
	local filter
	for filter in 'del(.address)' '.address = 5' '.socket = "/x"' '.token_role = "../x"' 'del(.token_role)' '.login = "x"' '.login.method = "x"' \
		'.login.file = "relative"' '.login.other = 1' '.other = 1' '.ca_file = "x"' '.namespace = "a b"' '.login = {method: "agent"}' \
		'.login = {method: "approle", role_id: "a b", secret_id_file: "/x"}' '.login = {method: "kubernetes"}'; do
		settings "$filter"
		mint 78
		assert_call vault_settings
	done
	settings '.address = "http://127.0.0.1"'
	mint 78
	assert_call bad_server
	settings
	for filter in 'del(.role)' '.role = "a?b"' '.role = "a/../b"' 'del(.policy)' '.mount = "/x"' '.kubernetes_namespace = ""' '.other = 1'; do
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
