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

# The files of cluster/credentials under names of this test's own.
broker_objects() {
	local part
	for part in broker admission; do
		sed -e "s/namespace: sbx-system/namespace: $NS/; s/:sbx-system:/:$NS:/; s/{name: sbx-cred\(-[a-z]*\)\?}/{name: $NS\1}/; s/policyName: sbx-cred/policyName: $NS/" \
			"$ROOT/cluster/credentials/$part.yaml" | kubectl --namespace="$NS" apply -f - 3>&-
	done
}
no_broker_objects() {
	kubectl delete clusterrole "$NS" "$NS-binds" --ignore-not-found 3>&-
	kubectl delete validatingadmissionpolicy,validatingadmissionpolicybinding "$NS-anchors" "$NS-bindings" "$NS-tokens" --ignore-not-found 3>&-
	kubectl delete namespace "$NS" --wait=false 3>&-
}

# The broker's kubeconfig; and the admission policy is in force.
broker_login() {
	kubectl --namespace="$NS" create token sbx-cred --duration=2h 3>&- >"$BATS_FILE_TMPDIR/broker"
	(umask 077 && cat >"$BATS_FILE_TMPDIR/kubeconfig") <<-EOF
		apiVersion: v1
		kind: Config
		clusters:
		- name: c
		  cluster: {server: "$K8S_SERVER", certificate-authority: "$K8S_CA"}
		contexts:
		- name: broker
		  context: {cluster: c, user: broker}
		users:
		- name: broker
		  user: {token: "$(cat "$BATS_FILE_TMPDIR/broker")"}
	EOF
	BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR wait_until 10 admission_is_there
}
admission_is_there() {
	[ "$(api "$BATS_FILE_TMPDIR/broker" POST "/api/v1/namespaces/$NS/secrets?dryRun=All" '{"metadata":{"name":"other"}}')" = 403 ] && grep -q anchors "$BATS_FILE_TMPDIR/answer"
}
