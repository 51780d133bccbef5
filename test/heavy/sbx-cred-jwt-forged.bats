#!/usr/bin/env bats
# sbx-cred-jwt: tokens with one thing changed, and what is no token or no request to mint. openssl is who forges.

load ../helpers
load ../jwt

setup() { jwt_setup; }

@test "what openssl signs with our key and our words is active; each word changed is not" {
	mint
	local header payload now changed headers payloads
	header=$(part 1) payload=$(part 2)
	printf -v now '%(%s)T' -1
	forge "$header" "$payload"
	introspect 0 "$T/forged"
	headers=('.alg = "none"' '.alg = "HS256"' '.alg = "ES256"' 'del(.alg)' '.typ = "at+jwt"' 'del(.kid)' '.kid = "other"' '.crit = ["exp"]' '.jwk = {}')
	mapfile -t changed < <(each_changed "${headers[@]}" <<<"$header")
	assert_equal "${#changed[@]}" "${#headers[@]}"
	for header in "${changed[@]}"; do
		forge "$header" "$payload"
		introspect 1 "$T/forged"
	done
	header=$(part 1)
	payloads=(".exp = $now" ".exp = $((now - 1))" 'del(.exp)' '.exp = "x"' '.exp = 1.5' ".nbf = $((now + 100))" 'del(.nbf)' 'del(.iat)' '.iss = "sbx:other"' 'del(.iss)' \
		'del(.jti)' '.jti = "../key"' '.jti = ""' ".exp = $((now + 60))")
	mapfile -t changed < <(each_changed "${payloads[@]}" <<<"$payload")
	assert_equal "${#changed[@]}" "${#payloads[@]}"
	for payload in "${changed[@]::${#changed[@]}-1}"; do
		forge "$header" "$payload"
		introspect 1 "$T/forged"
	done
	forge "$header" "${changed[-1]}"
	introspect 0 "$T/forged"
	forge "$header" '[]'
	introspect 1 "$T/forged"
	forge "$header" '{"jti":"a","jti":"b"}'
	introspect 1 "$T/forged"
}

@test "a signature of none, of HS256 with the public key, of another installation" {
	mint
	local header payload
	payload=$(cut -d. -f2 "$T/token")
	header=$(part 1 | jq -c '.alg = "none"' | base64url)
	printf '%s.%s.' "$header" "$payload" >"$T/bad"
	introspect 1 "$T/bad"
	header=$(part 1 | jq -c '.alg = "HS256"' | base64url)
	printf '%s.%s' "$header" "$payload" >"$T/signed"
	{ cat "$T/signed"; printf .; openssl dgst -sha256 -mac HMAC -macopt "key:$("$J" jwks | jq -r '.keys[0].x')" -binary <"$T/signed" | base64url; } >"$T/bad"
	introspect 1 "$T/bad"
	# Another key under the same name and issuer.
	cp "$T/token" "$T/ours"
	head -c 32 /dev/urandom >"$T/var/jwt/key"
	introspect 1 "$T/ours"
	mint
	introspect 0
}

@test "tokens that are none: bad base64, padding, something behind, too long, nothing" {
	mint
	local token tail
	token=$(cat "$T/token")
	for tail in = == . .e30 A ' ' ' x' '%' '
'; do
		printf '%s%s' "$token" "$tail" >"$T/bad"
		if [ "$tail" = $'\n' ]; then introspect 0 "$T/bad"; else introspect 1 "$T/bad"; fi
	done
	printf '%s\n\n' "$token" >"$T/bad"
	introspect 1 "$T/bad"
	printf '%s\0' "$token" >"$T/bad"
	introspect 1 "$T/bad"
	printf '%s\r\n' "$token" >"$T/bad"
	introspect 1 "$T/bad"
	for token in a . .. a.b.c a.b 'ä.ö.ü' '{}'; do
		printf '%s' "$token" >"$T/bad"
		introspect 1 "$T/bad"
	done
	head -c 70000 /dev/zero | tr '\0' A >"$T/bad"
	run_sbx 65 "$J" introspect <"$T/bad"
	assert_call too_large
	run_sbx 66 "$J" introspect </dev/null
	assert_call no_input
}

@test "requests that are none: 65 or 78, an error object, no secret" {
	local rows changed i want code
	rows=('65 bad_request .lease = "x"' '65 bad_request .lease = "../../../../../../etc/passwd00"' '65 bad_request del(.lease)' '65 bad_request del(.principal)' '65 bad_request .principal = 7' \
		'65 bad_request .lifetime_s = "900"' '65 bad_request del(.lifetime_s)' '65 bad_request .lifetime_s = 86401' '65 bad_request .lifetime_s = -1' '65 bad_request []' '65 bad_request "x"' \
		'78 no_audience del(.settings.audience)' '78 no_audience .settings.audience = ""' '78 no_audience .settings.audience = []' '78 no_audience .settings.audience = [7]' \
		'78 no_audience del(.settings)' '78 bad_scope .permissions = []' '78 bad_scope .permissions = ["a b"]' '78 bad_scope .permissions = ["a", 7]' \
		'78 bad_scope .settings = {audience: "a", scope: "x  y"} | del(.permissions)' '78 bad_scope .permissions = ["ä"]')
	mapfile -t changed < <(request | each_changed "${rows[@]#* * }")
	assert_equal "${#changed[@]}" "${#rows[@]}"
	for i in "${!rows[@]}"; do
		read -r want code _ <<<"${rows[i]}"
		printf '%s\n' "${changed[i]}" >"$T/request"
		asked_to_mint
		assert_equal "$status" "$want"
		assert_call "$code"
		assert_equal "$(wc -c <"$T/fields")" 0
	done
	mint
	assert_equal "$status" 0
}
