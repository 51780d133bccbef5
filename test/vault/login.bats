#!/usr/bin/env bats
# How sbx-cred-vault logs in, at a real server.

load ../helpers
load vault

setup_file() {
	vault_setup_file
	api POST "sys/auth/$NS-approle" '{"type":"approle"}'
	api POST "auth/$NS-approle/role/sbx" '{"token_policies":["'"$NS"'"],"token_ttl":"60s","token_max_ttl":"60s"}'
	api GET "auth/$NS-approle/role/sbx/role-id" | jq -r .data.role_id >"$BATS_FILE_TMPDIR/role-id"
	api POST "sys/auth/$NS-kubernetes" '{"type":"kubernetes"}'
	kubectl create clusterrolebinding "$NS" --clusterrole=system:auth-delegator --serviceaccount="$NS:engine" >/dev/null 3>&-
	jq '{kubernetes_host, kubernetes_ca_cert, disable_local_ca_jwt, token_reviewer_jwt: .service_account_jwt}' "$BATS_FILE_TMPDIR/config.json" \
		>"$BATS_FILE_TMPDIR/reviewer.json"
	api POST "auth/$NS-kubernetes/config" "@$BATS_FILE_TMPDIR/reviewer.json"
	api POST "auth/$NS-kubernetes/role/sbx" '{"bound_service_account_names":["fixed"],"bound_service_account_namespaces":["'"$NS"'"],
		"audience":"vault","token_policies":["'"$NS"'"],"token_ttl":"60s","token_max_ttl":"60s"}'
}

teardown_file() {
	kubectl delete clusterrolebinding "$NS" >/dev/null 3>&- || true
	api DELETE "sys/auth/$NS-approle" >/dev/null || true
	api DELETE "sys/auth/$NS-kubernetes" >/dev/null || true
	vault_teardown_file
}

setup() { vault_setup; }
teardown() { proxy_stop; }

# bracket: mint and revoke; nothing of it, and no login, is left.
bracket() {
	local before
	before=$(tokens)
	mint 0
	assert_equal "$(may list pods)" yes
	assert_equal "$(children | wc -l)" 1
	assert_equal "$(tokens)" "$((before + 1))"
	revoke 0 revoked
	nothing_is_live
	assert_equal "$(tokens)" "$before"
}

tokens() {
	api GET 'auth/token/accessors?list=true' | jq -r '.data.keys | length'
}

approle_login() {
	settings "address: $VAULT_ADDR, ca_file: $VAULT_CACERT" \
		"method: approle, mount: $NS-approle, role_id: $(cat "$BATS_FILE_TMPDIR/role-id"), secret_id_file: $T/secret-id"
}

@test "AppRole: a login for each verb, ended with it" {
	api POST "auth/$NS-approle/role/sbx/secret-id" '{}' | jq -r .data.secret_id >"$T/secret-id"
	chmod 600 "$T/secret-id"
	approle_login
	bracket
	echo 00000000-0000-0000-0000-000000000000 >"$T/secret-id"
	mint 78
	assert_call vault_login
	assert_contains "$output" 'invalid role or secret ID'
	chmod 644 "$T/secret-id"
	mint 78
	assert_call unsafe_file
}

wrapped() { # PATH: a wrapping token for what PATH makes
	curl -sS --fail-with-body --cacert "$VAULT_CACERT" -X POST -K <(printf 'header = "X-Vault-Token: %s"\n' "$VAULT_TOKEN") -H 'X-Vault-Wrap-TTL: 300s' \
		"$VAULT_ADDR/v1/$1" 3>&- | jq -r .wrap_info.token >"$T/wrapped"
	chmod 600 "$T/wrapped"
}

@test "AppRole, the secret id wrapped: unwrapped once; somebody else's unwrapping, and another path, are told" {
	settings "address: $VAULT_ADDR, ca_file: $VAULT_CACERT" \
		"method: approle, mount: $NS-approle, role_id: $(cat "$BATS_FILE_TMPDIR/role-id"), secret_id_file: $T/wrapped, wrapped_secret_id_of: sbx"
	wrapped "auth/$NS-approle/role/sbx/secret-id"
	mint 0
	revoke 0 revoked
	assert_equal "$(stat -c %a "$T/var/vault/secret-id")" 600
	assert_equal "$(head -n 1 "$T/var/vault/secret-id")" "$(tr -d '\n' <"$T/wrapped" | sha256sum | cut -d' ' -f1)"
	LEASE=$(head -c 16 /dev/urandom | xxd -p)
	mint 0
	revoke 0 revoked
	# A new one takes its place.
	wrapped "auth/$NS-approle/role/sbx/secret-id"
	LEASE=$(head -c 16 /dev/urandom | xxd -p)
	mint 0
	revoke 0 revoked
	wrapped "auth/$NS-approle/role/sbx/secret-id"
	API_TOKEN=$(cat "$T/wrapped") api POST sys/wrapping/unwrap >/dev/null
	mint 78
	assert_call vault_wrapped
	assert_contains "$output" 'somebody has unwrapped it'
	wrapped "auth/token/create"
	mint 78
	assert_call vault_wrapped
	assert_contains "$output" 'was not made by its role'
	nothing_is_live
}

@test "a login under a token role whose children die with it is refused before anything is minted" {
	api POST "auth/$NS-approle/role/sbx/secret-id" '{}' | jq -r .data.secret_id >"$T/secret-id"
	chmod 600 "$T/secret-id"
	approle_login
	api POST auth/token/roles/sbx-child '{"orphan":false,"renewable":false,"token_type":"service","allowed_policies_glob":["sbx-*"]}'
	mint 78
	api POST auth/token/roles/sbx-child '{"orphan":true,"renewable":false,"token_type":"service","allowed_policies_glob":["sbx-*"]}'
	assert_call vault_child
	assert_contains "$output" 'orphan=true'
	revoke 0 revoked
	nothing_is_live
}

@test "Kubernetes: a service account's token, for its audience" {
	kubectl --namespace="$NS" create token fixed --audience=vault 3>&- >"$T/account"
	settings "address: $VAULT_ADDR, ca_file: $VAULT_CACERT" "method: kubernetes, mount: $NS-kubernetes, role: sbx, file: $T/account"
	bracket
	kubectl --namespace="$NS" create token fixed 3>&- >"$T/account"
	mint 78
	assert_call vault_login
}

@test "JWT: sbx-cred-jwt is the issuer" {
	local pem
	settings "address: $VAULT_ADDR, ca_file: $VAULT_CACERT" "method: jwt, mount: $NS-jwt, role: sbx, audience: vault"
	# The key as PEM: the prefix of an Ed25519 key (RFC 8410) and its 32 bytes.
	pem=$({ printf '302a300506032b6570032100' | xxd -r -p; printf '%s=' "$("$SBX_LIBEXEC/sbx-cred-jwt" jwks | jq -r '.keys[0].x')" | tr -- '-_' '+/' | base64 -d; } |
		openssl pkey -pubin -inform DER)
	api POST "sys/auth/$NS-jwt" '{"type":"jwt"}'
	api POST "auth/$NS-jwt/config" "$(jq -n --arg pem "$pem" --arg issuer "sbx:$(cat "$T/var/installation")" \
		'{jwt_validation_pubkeys: [$pem], jwt_supported_algs: ["EdDSA"], bound_issuer: $issuer}')"
	api POST "auth/$NS-jwt/role/sbx" '{"role_type":"jwt","user_claim":"sub","bound_audiences":["vault"],"token_policies":["'"$NS"'"],
		"token_ttl":"60s","token_max_ttl":"60s"}'
	bracket
	settings "address: $VAULT_ADDR, ca_file: $VAULT_CACERT" "method: jwt, mount: $NS-jwt, role: sbx, audience: other"
	mint 78
	assert_call vault_login
	api DELETE "sys/auth/$NS-jwt"
}

@test "the token of root is refused for a mint, and good enough to revoke" {
	mint 0
	(umask 077 && printf '%s\n' "$VAULT_TOKEN" >"$T/root")
	settings "address: $VAULT_ADDR, ca_file: $VAULT_CACERT" "method: token_file, file: $T/root"
	revoke 0 revoked
	LEASE=$(head -c 16 /dev/urandom | xxd -p)
	mint 78
	assert_call vault_root_token
	nothing_is_live
}

@test "a token that has ended, and one without rights" {
	(umask 077 && echo s.000000000000000000000000 >"$T/token")
	settings "address: $VAULT_ADDR, ca_file: $VAULT_CACERT" "method: token_file, file: $T/token"
	mint 78
	assert_call vault_token
	api POST auth/token/create-orphan '{"policies":["default"],"ttl":"5m"}' | jq -r .auth.client_token >"$T/token"
	mint 77
	assert_call vault_denied
	(umask 077 && printf 'two\nlines\n' >"$T/token")
	mint 78
	assert_call vault_login
}

# proxy_start: the agent behind a Unix socket, logged in by AppRole.
proxy_start() {
	[ -x "${BAO:-}" ] || skip 'no program bao (BAO) for a proxy'
	api POST "auth/$NS-approle/role/sbx/secret-id" '{}' | jq -r .data.secret_id >"$T/secret-id"
	cat >"$T/proxy.hcl" <<-EOF
		vault { address = "$VAULT_ADDR" ca_cert = "$VAULT_CACERT" }
		auto_auth { method "approle" { mount_path = "auth/$NS-approle" config = {
			role_id_file_path = "$BATS_FILE_TMPDIR/role-id", secret_id_file_path = "$T/secret-id", remove_secret_id_file_after_reading = false } } }
		api_proxy { use_auto_auth_token = true }
		listener "unix" { address = "$T/proxy.sock" tls_disable = true require_request_header = true socket_mode = "0600" }
	EOF
	"$BAO" proxy -config="$T/proxy.hcl" >"$T/proxy.log" 2>&1 3>&- &
	PROXY=$!
	wait_until 10 test -S "$T/proxy.sock"
	settings "socket: $T/proxy.sock" "method: agent"
	wait_until 10 curl -sSf --unix-socket "$T/proxy.sock" -H 'X-Vault-Request: true' http://localhost/v1/auth/token/lookup-self -o /dev/null
}
proxy_stop() {
	[ -z "${PROXY:-}" ] || { kill "$PROXY" && wait "$PROXY"; } || true
}

@test "a proxy behind a Unix socket: its token for what we are, the child's for the mint" {
	proxy_start
	mint 0
	assert_equal "$(may list pods)" yes
	assert_equal "$(api POST sys/leases/lookup "{\"lease_id\":\"$(jq -r .vault_lease "$T/var/vault/$LEASE")\"}" | jq -r .data.path)" "$NS/creds/pod-reader"
	# The lease is the child's: it ends with the child alone.
	api POST auth/token/revoke-accessor "{\"accessor\":\"$(jq -r .accessor "$T/var/vault/$LEASE")\"}"
	wait_until 5 nothing_is_live
	revoke 0 revoked
}
