# sbx-cred-jwt alone: asked to mint, and tokens made beside it by openssl.

jwt_setup() {
	fresh_state
	J=$SBX_LIBEXEC/sbx-cred-jwt
	LEASE=0123456789abcdef0123456789abcdef
}

# request [FILTER]: a request to mint, changed by a jq filter.
request() {
	printf '{"scope":"test-read","settings":{"audience":"https://api.test"},"permissions":["pods:read","pods:list"],"target":null,
		"call":"ffffffffffffffffffffffffffffffff","lease":"%s","principal":"agent","lifetime_s":900,"config":{}}' "${2:-$LEASE}" | jq -c "${1:-.}"
}

# mint [FILTER [LEASE]]: $output is the answer, $T/token the token.
mint() {
	request "$@" >"$T/request"
	asked_to_mint
}

asked_to_mint() {
	run --separate-stderr bash -c '"$1" mint --secret-fd 7 <"$2" 7>"$3"' - "$J" "$T/request" "$T/fields" 3>&-
	tr '\0' '\n' <"$T/fields" | tail -n 1 | tr -d '\n' >"$T/token"
}

introspect() {
	run_sbx "$1" "$J" introspect <"${2:-$T/token}"
	if [ "$1" -eq 1 ]; then
		assert_equal "$output" '{"active":false}'
	fi
}

part() {
	local text
	text=$(cut -d. -f"$1" "$T/token" | tr -- '-_' '+/')
	while [ $((${#text} % 4)) -ne 0 ]; do text="$text="; done
	printf '%s' "$text" | base64 -d
}

base64url() {
	base64 -w0 | tr -- '+/' '-_' | tr -d =
}

# forge HEADER PAYLOAD: a token with a right signature by the provider's own key, made by openssl.
forge() {
	{ printf '302e020100300506032b657004220420' | unhex; cat "$T/var/jwt/key"; } >"$T/key.der"
	printf '%s.%s' "$(printf '%s' "$1" | base64url)" "$(printf '%s' "$2" | base64url)" >"$T/signed"
	openssl pkeyutl -sign -rawin -keyform DER -inkey "$T/key.der" -in "$T/signed" -out "$T/signature"
	{ cat "$T/signed"; printf .; base64url <"$T/signature"; } >"$T/forged"
}

unhex() {
	# shellcheck disable=SC2059
	printf "$(sed 's/../\\x&/g')"
}
