# Shared by the suite of the credential providers that talk to a cluster alone. $KUBECONFIG leads to it as an administrator; where it is not set, the rig
# beside the repository is started.

RIG=${SBX_RIG:-$ROOT/../shared/rig}
CALL=ffffffffffffffffffffffffffffffff

cluster_needed() {
	if [ -z "${KUBECONFIG:-}" ] && [ -x "$RIG/up" ]; then
		eval "$("$RIG/up" 3>&-)"
		export SBX_STOP_API="$RIG/enter pkill -KILL -x kube-apiserver" SBX_START_API=$RIG/up
	fi
	[ -n "${KUBECONFIG:-}" ] || skip 'no cluster: set KUBECONFIG'
	export KUBECONFIG NS=sbx-cred-$RANDOM$RANDOM K8S_SERVER K8S_CA=$BATS_FILE_TMPDIR/k8s-ca.pem
	K8S_SERVER=$(kubectl config view --raw --minify -o jsonpath='{.clusters[0].cluster.server}' 3>&-)
	kubectl config view --raw --minify -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' 3>&- | base64 -d >"$K8S_CA"
	kube create namespace "$NS"
}

kube() {
	kubectl --namespace="${NS:-default}" "$@" 3>&-
}

# api TOKEN-FILE METHOD PATH [BODY]: the status of the answer.
api() {
	curl -sS -o "$BATS_TEST_TMPDIR/answer" -w '%{http_code}' --max-time 5 --cacert "$K8S_CA" -X "$2" \
		-H @<(printf 'Authorization: Bearer %s\n' "$(cat "$1")") ${4:+-H 'Content-Type: application/json' --data-binary "$4"} "$K8S_SERVER$3" 3>&-
}

# may WORD...: what the API server answers to "auth can-i" of the credential, yes or no.
may() {
	kubectl --kubeconfig=/dev/null --server="$K8S_SERVER" --certificate-authority="$K8S_CA" --namespace="$NS" --token="$(cat "$T/minted")" \
		auth can-i "$@" 2>/dev/null 3>&- | tail -n 1 || true
}

# lists: the status of the answer when the credential lists the pods of the test's namespace.
lists() {
	api "${MINTED:-$T/minted}" GET "/api/v1/namespaces/$NS/pods"
}
refused() {
	[ "$(lists)" = 401 ]
}

# What the provider has left on the cluster.
left() {
	kube get secrets,rolebindings,serviceaccounts,roles -o name | grep -E "sbx-cred-[0-9a-f]{32}" || true
}

# request [FILTER]: to mint, or to revoke.
request() {
	jq -n --arg lease "$LEASE" --arg call "$CALL" --arg ns "$NS" '{scope: "pods-read", settings: {namespace: $ns, account: "pod-reader"},
		target: null, call: $call, lease: $lease, principal: "agent", lifetime_s: 900, config: {}, jti: null}' | jq -c "${1:-.}" >"$T/request"
}

# mint RC [FILTER]: the answer is $output, the secret $T/minted.
mint() {
	request "${2:-.}"
	run_sbx "$1" bash -c '"$1" mint --secret-fd 7 <"$2" 7>"$3"' - "$P" "$T/request" "$T/fields"
	tr '\0' '\n' <"$T/fields" | tail -n 1 | tr -d '\n' >"$T/minted"
}

revoke() { # RC STATE [FILTER]
	request "${3:-.}"
	run_sbx "$1" "$P" revoke <"$T/request"
	[ -z "${2:-}" ] || assert_json .state "$2"
}
