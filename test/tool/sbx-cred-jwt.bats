#!/usr/bin/env bats
# sbx-cred-jwt alone: its verbs, with openssl as the other party that signs and verifies.

load ../helpers
load ../jwt

setup() { jwt_setup; }

@test "mint: the answer, the secret field, the claims" {
	mint
	assert_equal "$status" 0
	assert_call
	assert_json '[.provider, .lease, .jti, .fields[0], (.fields | length)] | map(tostring) | join(" ")' "jwt $LEASE $LEASE token 1"
	assert_equal "$(head -c 6 "$T/fields" | tr '\0' ' ')" "token "
	assert_equal "$(tr '\0' '\n' <"$T/fields" | sed -n 2p)" "$(wc -c <"$T/token")"
	refute_contains "$output$stderr" "$(cut -d. -f3 "$T/token")"
	local expires=$(member .expires_at <<<"$output")
	output=$(part 2)
	assert_json '[.iss, .sub, .aud, .jti, .scope, .exp - .iat, .nbf - .iat] | map(tostring) | join(" ")' \
		"sbx:$(cat "$T/var/installation") agent https://api.test $LEASE pods:read pods:list 900 0"
	assert_json 'has("namespace")' false
	assert_json '.exp | todate' "$expires"
	assert_json '(.iat - now) | . > -30 and . < 2' true
	output=$(part 1)
	assert_json '[.alg, .typ, (keys | join(","))] | join(" ")' "EdDSA JWT alg,kid,typ"
}

@test "the namespace of the call is a claim" {
	mint '.namespace = "web"'
	output=$(part 2)
	assert_json .namespace web
}

@test "a token lives ten minutes at least" {
	mint '.lifetime_s = 5'
	output=$(part 2)
	assert_json '.exp - .iat' 600
	mint '.lifetime_s = 86400'
	output=$(part 2)
	assert_json '.exp - .iat' 86400
}

@test "several audiences; a scope in words; the scope's own name; an issuer of the settings" {
	mint '.settings.audience = ["a", "b"] | .permissions = null | .settings.scope = "x y"'
	assert_equal "$(part 2 | jq -c '[.aud, .scope]')" '[["a","b"],"x y"]'
	mint 'del(.permissions)'
	assert_equal "$(part 2 | member .scope)" test-read
	introspect 0
	echo 'providers: {jwt: {issuer: "https://issuer.test"}}' >>"$T/sbx.yaml"
	introspect 1
	assert_contains "$stderr" "not of this issuer"
	mint
	assert_equal "$(part 2 | member .iss)" https://issuer.test
	introspect 0
}

@test "openssl verifies the token with the key of the JWKS, whose kid is the thumbprint" {
	mint
	run_sbx 0 "$J" jwks
	assert_json '.keys | length' 1
	assert_json '.keys[0] | [.kty, .crv, .use, .alg] | join(" ")' "OKP Ed25519 sig EdDSA"
	assert_json '.keys[0] | has("d")' false
	local x kid
	x=$(jq -r '.keys[0].x' <<<"$output") kid=$(jq -r '.keys[0].kid' <<<"$output")
	assert_equal "$(part 1 | member .kid)" "$kid"
	assert_equal "$(printf '{"crv":"Ed25519","kty":"OKP","x":"%s"}' "$x" | openssl dgst -sha256 -binary | base64url)" "$kid"
	{ printf '302a300506032b6570032100' | unhex; printf '%s=' "$x" | tr -- '-_' '+/' | base64 -d; } >"$T/public.der"
	cut -d. -f1,2 "$T/token" | tr -d '\n' >"$T/signed"
	part 3 >"$T/signature"
	openssl pkeyutl -verify -rawin -pubin -keyform DER -inkey "$T/public.der" -in "$T/signed" -sigfile "$T/signature"
}

@test "introspect: active with its claims, also behind a line feed" {
	mint
	introspect 0
	assert_json '[.active, .token_type, .sub, .scope, .jti] | map(tostring) | join(" ")' "true Bearer agent pods:read pods:list $LEASE"
	{ cat "$T/token"; echo; } >"$T/line"
	introspect 0 "$T/line"
}

@test "revoke: at once, again, before the mint, and by lease alone" {
	mint
	introspect 0
	request '{lease, jti: .lease, expires_at: "2030-01-01T00:00:00Z"}' >"$T/request"
	run_sbx 0 "$J" revoke <"$T/request"
	assert_json '.state' revoked
	assert_json '.proof | length > 0' true
	introspect 1
	assert_contains "$stderr" revoked
	run_sbx 0 "$J" revoke <"$T/request"
	assert_json '.state' revoked
	# The answer of the mint was lost: jti is not known.
	mint . ffffffffffffffffffffffffffffffff
	introspect 0
	run_sbx 0 "$J" revoke <<<'{"lease":"ffffffffffffffffffffffffffffffff","jti":null}'
	introspect 1
	# A mint that comes after its revocation gives nothing.
	mint
	assert_equal "$status" 77
	assert_call lease_revoked
	assert_equal "$(wc -c <"$T/fields")" 0
}

@test "a revocation stays until its token has long expired" {
	local i
	run_sbx 0 "$J" revoke <<<"{\"lease\":\"$LEASE\",\"expires_at\":\"$(date -u -d '-10 minutes' +%Y-%m-%dT%H:%M:%SZ)\"}"
	run_sbx 0 "$J" revoke <<<'{"lease":"11111111111111111111111111111111","expires_at":"2020-01-01T00:00:00Z"}'
	run_sbx 0 "$J" revoke <<<'{"lease":"22222222222222222222222222222222"}'
	assert_equal "$(ls "$T/var/jwt/revoked" | paste -sd' ')" "$LEASE 22222222222222222222222222222222"
}

@test "two that make the key at once agree on one" {
	local i
	for i in 1 2 3 4 5 6; do
		"$J" jwks >"$T/jwks.$i" 3>&- &
	done
	wait
	assert_equal "$(cat "$T"/jwks.* | sort -u | wc -l)" 1
	assert_equal "$(stat -c '%a %s' "$T/var/jwt/key")" "600 32"
}

@test "a key that others may read, or that is none, is refused with the command that mends it" {
	mint
	chmod 640 "$T/var/jwt/key"
	run_sbx 78 "$J" jwks
	assert_call unsafe_file
	assert_json '.error.hint | contains("chmod")' true
	chmod 600 "$T/var/jwt/key"
	introspect 0
	head -c 31 /dev/zero >"$T/var/jwt/key"
	run_sbx 78 "$J" jwks
	assert_call bad_key
}

@test "bad input: 65 and one object" {
	local input
	for input in '' '{' '{}{}' '{"a":1,"a":2}' '{"a":1.5}' "$(printf '{"a":"\xff"}')"; do
		printf '%s' "$input" >"$T/request"
		run_sbx 65 "$J" revoke <"$T/request"
		assert_call
	done
}

@test "the token is in no argument, no environment and no file of the state" {
	mint
	cut -d. -f3 "$T/token" >"$T/canary"
	run grep -rqFf "$T/canary" "$T/var"
	assert_equal "$status" 1
	mkfifo "$T/slow"
	"$J" introspect <"$T/slow" >"$T/out" 3>&- &
	local pid=$!
	exec 8>"$T/slow"
	cat "$T/token" >&8
	run bash -c 'tr "\0" "\n" <"/proc/$1/cmdline"; tr "\0" "\n" <"/proc/$1/environ"' - $pid
	refute_contains "$output" "$(cat "$T/canary")"
	exec 8>&-
	wait $pid
	output=$(cat "$T/out")
	assert_json .active true
}

@test "options; closed and full descriptors" {
	run_sbx 0 "$J" --help
	assert_contains "$output" "usage: sbx-cred-jwt"
	run_sbx 0 "$J" --version
	for words in --help --version; do
		run bash -c '"$1" "$2" >/dev/full' - "$J" "$words"
		assert_equal "$status" 74
	done
	run_sbx 64 "$J"
	run_sbx 64 "$J" steal
	run_sbx 64 "$J" jwks more
	run_sbx 64 "$J" mint
	run_sbx 64 "$J" jwks --secret-fd 9
	run_sbx 64 "$J" mint --secret-fd 1
	run_sbx 64 "$J" mint --secret-fd x
	run_sbx 64 "$J" mint --secret-fd 400
	run_sbx 64 "$J" jwks --lock-fd 400
	run_sbx 78 "$J" jwks --config /nonexistent/sbx.yaml
	assert_call missing_config
	run bash -c '"$1" jwks >/dev/full' - "$J"
	assert_equal "$status" 74
	run bash -c '"$1" jwks >&-' - "$J"
	assert_equal "$status" 74
	request >"$T/request"
	run bash -c '"$1" mint --secret-fd 7 <"$2" 7>/dev/full' - "$J" "$T/request"
	assert_equal "$status" 74
	run bash -c '"$1" revoke <&-' - "$J"
	assert_equal "$status" 65
	echo 'providers: {jwt: {secret: x}}' >>"$T/sbx.yaml"
	run_sbx 78 "$J" jwks
	assert_call bad_config
}

@test "ES256, for verifiers that know no EdDSA: openssl verifies it, introspect too, and the keys are two" {
	mint
	assert_equal "$status" 0
	local eddsa=$T/eddsa
	mv "$T/token" "$eddsa"
	echo 'providers: {jwt: {algorithm: ES256}}' >>"$T/sbx.yaml"
	mint . "${LEASE//?/a}"
	assert_equal "$status" 0
	assert_equal "$(part 1 | jq -r '.alg + .typ')" ES256JWT
	introspect 0
	introspect 1 "$eddsa"
	run_sbx 0 "$J" jwks
	assert_json '.keys[0] | [.kty, .crv, .alg, (has("d") | tostring)] | join(" ")' 'EC P-256 ES256 false'
	assert_equal "$(part 1 | jq -r .kid)" "$(member '.keys[0].kid' <<<"$output")"
	# SubjectPublicKeyInfo of the point, DER of r and s.
	{
		printf '3059301306072a8648ce3d020106082a8648ce3d03010703420004' | unhex
		member '.keys[0].x' <<<"$output" | tr -- '-_' '+/' | sed 's/$/=/' | base64 -d
		member '.keys[0].y' <<<"$output" | tr -- '-_' '+/' | sed 's/$/=/' | base64 -d
	} >"$T/public.der"
	part 3 | xxd -p -c 128 >"$T/sig.hex"
	printf 'asn1=SEQUENCE:s\n[s]\nr=INTEGER:0x%s\ns=INTEGER:0x%s\n' "$(cut -c1-64 "$T/sig.hex")" "$(cut -c65- "$T/sig.hex")" >"$T/sig.conf"
	openssl asn1parse -genconf "$T/sig.conf" -noout -out "$T/sig.der"
	cut -d. -f1,2 "$T/token" | tr -d '\n' >"$T/signed"
	openssl pkey -pubin -inform DER -in "$T/public.der" -out "$T/public.pem"
	openssl dgst -sha256 -verify "$T/public.pem" -signature "$T/sig.der" "$T/signed"
	printf x >>"$T/signed"
	run openssl dgst -sha256 -verify "$T/public.pem" -signature "$T/sig.der" "$T/signed"
	assert_equal "$status" 1
	sed -i 's/ES256/HS256/' "$T/sbx.yaml"
	run_sbx 78 "$J" jwks
	assert_call bad_config
}

@test "a verifier that asks nobody accepts a token to its end, and that is said: an API server, or where the scope says so" {
	local end=$((EPOCHSECONDS + 900))
	revoke_of() {
		request "$1" | jq -c --arg at "$(date -u -d "@$end" +%Y-%m-%dT%H:%M:%SZ)" '. + {jti: .lease, expires_at: $at}' >"$T/request"
		run_sbx 0 "$J" revoke <"$T/request"
	}
	revoke_of '.target = {name: "prod", server: "https://x"}'
	assert_json .state expires
	assert_contains "$output" "accepts the token until $(date -u -d "@$end" +%Y-%m-%dT%H:%M:%SZ) at most"
	revoke_of '.settings.introspected = false'
	assert_json .state expires
	revoke_of '.target = {name: "prod", server: "https://x"} | .settings.introspected = true'
	assert_json .state revoked
	revoke_of .
	assert_json .state revoked
}
