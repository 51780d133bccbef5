# Shared by the suite of sbx-cred-vault: a real server and a real cluster. $VAULT_ADDR, $VAULT_CACERT and $VAULT_TOKEN (root's) lead to the first and
# $KUBECONFIG (an administrator's) to the second; where they are not set, the rig beside the repository is started for them.

RIG=${SBX_RIG:-$ROOT/../shared/rig}
CALL=ffffffffffffffffffffffffffffffff

vault_setup_file() {
	# Some of these files kill the server or count its tokens: one file at a time. Whoever holds the lock dies in vault_teardown_file.
	local lock
	exec {lock}>"$BATS_RUN_TMPDIR/vault.lock"
	flock -w 900 "$lock"
	sleep infinity 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/lock.pid"
	exec {lock}>&-
	if [ -z "${VAULT_ADDR:-}" ] && [ -x "$RIG/openbao" ]; then eval "$("$RIG/openbao" up 3>&-)"; fi
	if [ -z "${KUBECONFIG:-}" ] && [ -x "$RIG/up" ]; then eval "$("$RIG/up" 3>&-)"; fi
	if [ -z "${VAULT_ADDR:-}" ] || [ -z "${KUBECONFIG:-}" ]; then
		kill "$(cat "$BATS_FILE_TMPDIR/lock.pid")"
		skip 'no OpenBao and no cluster: set VAULT_ADDR, VAULT_CACERT, VAULT_TOKEN, KUBECONFIG'
	fi
	export VAULT_ADDR VAULT_CACERT VAULT_TOKEN KUBECONFIG
	export NS=sbx-vault-$RANDOM$RANDOM
	cluster_objects
	server_objects
}

vault_teardown_file() {
	[ -z "${NS:-}" ] || remove_objects
	kill "$(cat "$BATS_FILE_TMPDIR/lock.pid")" 2>/dev/null || true
}

remove_objects() {
	api POST "sys/leases/revoke-prefix/$NS" '{}' >/dev/null || true
	api DELETE "sys/mounts/$NS" >/dev/null || true
	api DELETE "sys/policies/acl/$NS" >/dev/null || true
	api DELETE "sys/policies/acl/sbx-$NS" >/dev/null || true
	kubectl delete namespace "$NS" --wait=false >/dev/null 3>&-
}

# api METHOD PATH [BODY]: as root, or as $API_TOKEN; fails for a status that is an error.
api() {
	curl -sS --fail-with-body --max-time 20 --cacert "$VAULT_CACERT" -X "$1" -K <(printf 'header = "X-Vault-Token: %s"\n' "${API_TOKEN:-$VAULT_TOKEN}") \
		-H 'X-Vault-Request: true' ${3:+--data-binary "$3"} "$VAULT_ADDR/v1/$2" 3>&-
}

# The engine's own account, with the rights that it needs for roles that are there already, and such a role.
cluster_objects() {
	kubectl create namespace "$NS" >/dev/null 3>&-
	kubectl --namespace="$NS" apply -f - >/dev/null 3>&- <<-EOF
		apiVersion: v1
		kind: ServiceAccount
		metadata: {name: engine}
		---
		apiVersion: v1
		kind: ServiceAccount
		metadata: {name: fixed}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: Role
		metadata: {name: pod-reader}
		rules:
		- {apiGroups: [""], resources: [pods], verbs: [get, list]}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: Role
		metadata: {name: secret-reader}
		rules:
		- {apiGroups: [""], resources: [secrets], verbs: [get]}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: Role
		metadata: {name: engine}
		rules:
		- {apiGroups: [""], resources: [serviceaccounts], verbs: [create, delete]}
		- {apiGroups: [""], resources: [serviceaccounts/token], verbs: [create]}
		- {apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings], verbs: [create, delete]}
		- {apiGroups: [rbac.authorization.k8s.io], resources: [roles], resourceNames: [pod-reader], verbs: [bind]}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: RoleBinding
		metadata: {name: engine}
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: engine}
		subjects:
		- {kind: ServiceAccount, name: engine}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: RoleBinding
		metadata: {name: fixed}
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: pod-reader}
		subjects:
		- {kind: ServiceAccount, name: fixed}
	EOF
}

# The engine's mount, two roles, the child's policy, the broker's policy, and the broker's token.
server_objects() {
	export K8S_SERVER K8S_CA=$BATS_FILE_TMPDIR/k8s-ca.pem
	K8S_SERVER=$(kubectl config view --raw --minify -o jsonpath='{.clusters[0].cluster.server}' 3>&-)
	kubectl config view --raw --minify -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' 3>&- | base64 -d >"$K8S_CA"
	api POST "sys/mounts/$NS" '{"type":"kubernetes"}'
	kubectl --namespace="$NS" create token engine --duration=24h 3>&- | jq -Rn --arg host "${1:-$K8S_SERVER}" --rawfile ca "$K8S_CA" \
		'{kubernetes_host: $host, kubernetes_ca_cert: $ca, disable_local_ca_jwt: true, service_account_jwt: input}' >"$BATS_FILE_TMPDIR/config.json"
	api POST "$NS/config" "@$BATS_FILE_TMPDIR/config.json"
	api POST "$NS/roles/pod-reader" '{"allowed_kubernetes_namespaces":["'"$NS"'"],"kubernetes_role_name":"pod-reader","token_max_ttl":"30m"}'
	api POST "$NS/roles/fixed" '{"allowed_kubernetes_namespaces":["'"$NS"'"],"service_account_name":"fixed"}'
	api POST "$NS/roles/escalate" '{"allowed_kubernetes_namespaces":["'"$NS"'"],"kubernetes_role_name":"secret-reader"}'
	policy "sbx-$NS" "path \"$NS/creds/*\" { capabilities = [\"update\"] }"
	policy "$NS" "$(sed "s|MOUNT|$NS|" "$ROOT/test/vault/broker.hcl")"
	api POST auth/token/roles/sbx-child '{"orphan":true,"renewable":false,"token_type":"service","allowed_policies_glob":["sbx-*"]}'
	api POST auth/token/create-orphan '{"policies":["'"$NS"'"],"ttl":"2h"}' | jq -r .auth.client_token >"$BATS_FILE_TMPDIR/token"
	chmod 600 "$BATS_FILE_TMPDIR/token"
}

policy() { # NAME TEXT
	api POST "sys/policies/acl/$1" "$(jq -n --arg text "$2" '{policy: $text}')"
}

vault_setup() {
	fresh_state
	V=$SBX_LIBEXEC/sbx-cred-vault
	LEASE=$(head -c 16 /dev/urandom | xxd -p)
	settings "address: $VAULT_ADDR, ca_file: $VAULT_CACERT" "method: token_file, file: $BATS_FILE_TMPDIR/token"
}

# settings SERVER LOGIN
settings() {
	sed -i '/^providers:/d' "$T/sbx.yaml"
	echo "providers: {vault: {$1, token_role: sbx-child, login: {$2}}}" >>"$T/sbx.yaml"
}

# request [FILTER]: to mint, or to revoke.
request() {
	jq -n --arg lease "$LEASE" --arg call "$CALL" --arg ns "$NS" '{scope: "pods-read", settings: {mount: $ns, role: "pod-reader", policy: "sbx-\($ns)"},
		target: null, call: $call, lease: $lease, principal: "agent", lifetime_s: 900, config: {}, jti: null}' | jq -c "${1:-.}" >"$T/request"
}

# mint RC [FILTER]: the answer is $output, the secret $T/minted.
mint() {
	request "${2:-.}"
	run_sbx "$1" bash -c '"$1" mint --secret-fd 7 <"$2" 7>"$3"' - "$V" "$T/request" "$T/fields"
	tr '\0' '\n' <"$T/fields" | tail -n 1 | tr -d '\n' >"$T/minted"
}

revoke() { # RC STATE
	request
	run_sbx "$1" "$V" revoke <"$T/request"
	[ -z "${2:-}" ] || assert_json .state "$2"
}

# as_minted KUBECTL-WORD...: with the credential, in the namespace of the test.
as_minted() {
	kubectl --kubeconfig=/dev/null --server="$K8S_SERVER" --certificate-authority="$K8S_CA" --namespace="$NS" \
		--token="$(cat "${MINTED:-$T/minted}")" "$@" 2>&1 3>&-
}

# may WORD...: what the API server answers to "auth can-i", yes or no.
may() {
	as_minted auth can-i "$@" | tail -n 1 || true
}
# The API server's answer to the credential, as a status; a token's success is cached there for ten seconds.
refused() {
	local status
	status=$(curl -sS -o /dev/null -w '%{http_code}' --max-time 5 --cacert "$K8S_CA" -H @<(printf 'Authorization: Bearer %s\n' "$(cat "${MINTED:-$T/minted}")") \
		"$K8S_SERVER/api/v1/namespaces/$NS/pods" 3>&-)
	[ "$status" = 401 ] || [ "$status" = 403 ]
}

# What is live on the server for our leases: accessors of child tokens, and leases of the mount.
children() {
	local accessor
	for accessor in $(api GET 'auth/token/accessors?list=true' | jq -r '.data.keys[]'); do
		api POST auth/token/lookup-accessor "{\"accessor\":\"$accessor\"}" 2>/dev/null | jq -r 'select(.data.meta.sbx_lease == "'"$LEASE"'") | .data.accessor'
	done
}
leases() {
	api GET "sys/leases/lookup/$NS/creds/${1:-pod-reader}?list=true" 2>/dev/null | jq -r '.data.keys[]?'
}
# What of the engine stands in the cluster; the Roles and Secrets that are there without it are not meant.
accounts() {
	kubectl --namespace="$NS" get serviceaccounts,rolebindings,roles,secrets -o name 3>&- |
		grep -vxE 'serviceaccount/(default|engine|fixed)|rolebinding.rbac.authorization.k8s.io/(engine|fixed)|role.rbac.authorization.k8s.io/(pod-reader|secret-reader|engine)' || true
}

nothing_is_live() {
	assert_equal "$(children)" ''
	assert_equal "$(leases)" ''
	assert_equal "$(accounts)" ''
}

# cut_at FAULT PATH [TIMES]: requests go by test/fakes/server-cut from here on.
cut_at() {
	C=$BATS_TEST_TMPDIR/cut
	mkdir -p "$C"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=cut -addext subjectAltName=IP:127.0.0.1 \
		-keyout "$C/tls.key" -out "$C/tls.crt" 2>/dev/null
	mkfifo "$C/life"
	"$ROOT/test/fakes/server-cut" "$C" "$VAULT_ADDR" "$VAULT_CACERT" "$@" <"$C/life" 3>&- 2>"$C/stderr" &
	exec {LIFE}>"$C/life"
	wait_until 10 test -s "$C/port"
	settings "address: 'https://127.0.0.1:$(cat "$C/port")', ca_file: $C/tls.crt" "method: token_file, file: $BATS_FILE_TMPDIR/token"
}

uncut() {
	[ -z "${LIFE-}" ] || exec {LIFE}>&-
	unset LIFE
	rm -rf "$BATS_TEST_TMPDIR/cut"
	settings "address: $VAULT_ADDR, ca_file: $VAULT_CACERT" "method: token_file, file: $BATS_FILE_TMPDIR/token"
}

# vault_chain_setup: vault_setup with the chain of test/tap.bash, whose tools get their credential from the server.
vault_chain_setup() {
	vault_setup
	tap_setup
	sed -i "s|^  test-read:.*|  test-read: {provider: vault, mount: $NS, role: pod-reader, policy: sbx-$NS, reads_secrets: false}|" "$T/policy/policy.yaml"
	PID=
}
