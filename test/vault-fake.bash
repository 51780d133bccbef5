# Shared by the bats files that have sbx-cred-vault talk to a fake server (test/fakes/vault).

. "$ROOT/test/fake-server.bash"

LEASE=0123456789abcdef0123456789abcdef

fake_vault_setup_file() {
	export S=$BATS_FILE_TMPDIR/fake
	fake_server "$S" vault
}

fake_vault_teardown_file() {
	fake_server_end "$S"
}

fake_vault_setup() {
	fresh_state
	V=$SBX_LIBEXEC/sbx-cred-vault
	(umask 077 && echo s.parent00000000000000000 >"$T/token")
}

# server MODE...: from here on it is like that, and our state is empty.
server() {
	rm -rf "$T/var/vault"
	: >"$S/requests"
	printf '%s\n' "$*" >"$S/modes.new"
	mv "$S/modes.new" "$S/modes"
	settings
}

# settings [FILTER]: providers.vault, changed by a jq filter. (JSON, without the escapes that the settings do not have.)
settings() {
	sed -i '/^providers:/d' "$T/sbx.yaml"
	printf 'providers: {vault: %s}\n' "$(printf '{"address":"https://127.0.0.1:%s","ca_file":"%s","token_role":"sbx-child","login":{"method":"token_file","file":"%s"}}' \
		"$(cat "$S/port")" "$S/tls.crt" "$T/token" | jq -c "${1:-.}")" >>"$T/sbx.yaml"
}

request() {
	printf '{"scope":"pods-read","settings":{"role":"pod-reader","policy":"sbx-pods"},"target":null,"call":"ffffffffffffffffffffffffffffffff",
		"lease":"%s","principal":"agent","lifetime_s":900,"config":{},"jti":null}' "$LEASE" | jq -c "${1:-.}" >"$T/request"
}

mint() { # RC [FILTER]
	request "${2:-.}"
	run_sbx "$1" bash -c '"$1" mint --secret-fd 7 <"$2" 7>"$3"' - "$V" "$T/request" "$T/fields"
}

revoke() { # RC
	request
	run_sbx "$1" "$V" revoke <"$T/request"
}

# Requests that the server got for a path.
asked() {
	grep -c " /v1/$1" "$S/requests" || true
}

# refuses CODE RC MODE...: the mint fails so, gives no secret, and asked once at most for whatever makes something.
refuses() {
	server "${@:3}"
	mint "$2"
	assert_call "$1"
	assert_equal "$(cat "$T/fields")" ''
	[ "$(asked auth/token/create)" -le 1 ] && [ "$(asked kubernetes/creds)" -le 1 ]
}

# The interrupted mint is so long ago that nothing of it can be at work.
long_ago() {
	jq -c '.made_at = 0' "$T/var/vault/$LEASE" >"$T/journal"
	chmod 600 "$T/journal"
	mv "$T/journal" "$T/var/vault/$LEASE"
}
