#!/usr/bin/env bats
# A real API server that accepts the tokens of sbx-cred-jwt (cluster/jwt). It is started anew with --authentication-config, and again without: only a cluster
# whose API server we may stop can do that. $SBX_STOP_API and $SBX_START_API are commands, the second takes more flags by SBX_RIG_APISERVER_FLAGS; $SBX_HOST is
# an address of ours that the API server reaches.

load ../helpers
load credential

setup_file() {
	cluster_needed
	export SBX_HOST=${SBX_HOST:-10.88.0.254} F=$BATS_FILE_TMPDIR
	if [ -z "${SBX_STOP_API:-}" ] || ! python3 -c 'import socket, sys; socket.socket().bind((sys.argv[1], 0))' "$SBX_HOST" 2>/dev/null; then
		kubectl delete namespace "$NS" --wait=false 3>&-
		NS=
		skip 'no API server that we may start anew: SBX_STOP_API, SBX_START_API, SBX_HOST'
	fi
	make_state basic "$F/first" :
	cp -r "$F/first" "$F/t"
	echo 'providers: {jwt: {issuer: "https://sbx.example", algorithm: ES256}}' >>"$F/t/sbx.yaml"
	publish
	sed -e "s/namespace: apps/namespace: $NS/; s/sbx:apps:/sbx:$NS:/" "$ROOT/cluster/jwt/access.yaml" | kube apply -f -
	sed -e "s|discoveryURL: .*|discoveryURL: https://$SBX_HOST:$(cat "$F/port")/openid-configuration|" \
		-e '/@CA@/{r /dev/stdin' -e 'd}' "$ROOT/cluster/jwt/authentication.yaml" < <(sed 's/^/        /' "$F/tls.crt") >"$F/authentication.yaml"
	restart "--authentication-config=$F/authentication.yaml"
}

teardown_file() {
	[ -n "${NS:-}" ] || return 0
	kill "$(cat "$F/web.pid")"
	restart ''
	kubectl delete namespace "$NS" --wait=false 3>&-
}

restart() { # FLAGS
	$SBX_STOP_API 3>&- || true
	SBX_RIG_APISERVER_FLAGS=$1 detached $SBX_START_API
	wait_until 20 kubectl get --raw /readyz
}

# The two files, by HTTPS.
publish() {
	mkdir "$F/web"
	SBX_CONFIG=$F/t/sbx.yaml "$SBX_LIBEXEC/sbx-cred-jwt" jwks >"$F/web/jwks.json"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=sbx -addext "subjectAltName=IP:$SBX_HOST" \
		-keyout "$F/tls.key" -out "$F/tls.crt" 2>/dev/null
	python3 - "$F" "$SBX_HOST" >"$F/web.log" 2>&1 3>&- <<-'PY' &
		import functools, http.server, os, ssl, sys
		directory, host = sys.argv[1:]
		handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=directory + "/web")
		server = http.server.ThreadingHTTPServer((host, 0), handler)
		context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
		context.load_cert_chain(directory + "/tls.crt", directory + "/tls.key")
		server.socket = context.wrap_socket(server.socket, server_side=True)
		with open(directory + "/port.new", "w") as f:
		    f.write(str(server.server_address[1]))
		os.rename(directory + "/port.new", directory + "/port")
		server.serve_forever()
	PY
	echo $! >"$F/web.pid"
	wait_until 10 test -s "$F/port"
	printf '{"issuer":"https://sbx.example","jwks_uri":"https://%s:%s/jwks.json"}\n' "$SBX_HOST" "$(cat "$F/port")" >"$F/web/openid-configuration"
}

setup() {
	T=$F/t
	export SBX_CONFIG=$T/sbx.yaml
	P=$SBX_LIBEXEC/sbx-cred-jwt
	LEASE=$(head -c 16 /dev/urandom | xxd -p)
}

jwt_request='.settings = {audience: "https://cluster.example"} | .permissions = ["pods:list"] | .target = {name: "rig", server: "https://x"}'

@test "a token lists pods in the namespace of its call, and may do nothing else; given back, it is said to live on, and does" {
	mint 0 "$jwt_request | .namespace = \"$NS\""
	local end
	end=$(member .expires_at <<<"$output")
	# The API server fetches the keys when it has started.
	wait_until 20 eval '[ "$(lists)" = 200 ]'
	assert_equal "$(may get secrets) $(may create pods/exec) $(may list pods --namespace=default)" 'no no no'
	api "$T/minted" POST /apis/authentication.k8s.io/v1/selfsubjectreviews '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
	output=$(cat "$BATS_TEST_TMPDIR/answer")
	assert_json '.status.userInfo | [.username, .uid, .groups[0]] | join(" ")' "sbx:agent $LEASE sbx:$NS:pods:list"
	request "$jwt_request | .expires_at = \"$end\" | .jti = .lease"
	run_sbx 0 "$P" revoke <"$T/request"
	assert_json '.state + ": " + .proof' "expires: on the revocation list, which an API server does not read: it accepts the token until $end at most"
	assert_equal "$(lists)" 200
}

@test "of another namespace: known, and refused; for another cluster, without a namespace, of another issuer: not known" {
	mint 0 "$jwt_request | .namespace = \"$NS\""
	wait_until 20 eval '[ "$(lists)" = 200 ]'
	mint 0 "$jwt_request | .namespace = \"other\" | .lease = \"${LEASE//?/a}\""
	assert_equal "$(lists)" 403
	mint 0 "$jwt_request | .namespace = \"$NS\" | .permissions = [\"pods:get\"] | .lease = \"${LEASE//?/b}\""
	assert_equal "$(lists)" 403
	mint 0 "$jwt_request | .namespace = \"$NS\" | .settings.audience = \"https://other.example\" | .lease = \"${LEASE//?/c}\""
	assert_equal "$(lists)" 401
	mint 0 "$jwt_request | .lease = \"${LEASE//?/d}\""
	assert_equal "$(lists)" 401
	mint 0 "$jwt_request | .namespace = \"$NS\" | .lifetime_s = 7200 | .lease = \"${LEASE//?/e}\""
	assert_equal "$(lists)" 401
	sed 's|https://sbx.example|https://else.example|' "$T/sbx.yaml" >"$T/else.yaml"
	SBX_CONFIG=$T/else.yaml mint 0 "$jwt_request | .namespace = \"$NS\" | .lease = \"${LEASE//?/f}\""
	assert_equal "$(lists)" 401
}
