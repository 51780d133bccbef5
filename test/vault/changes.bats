#!/usr/bin/env bats
# The tools that change a cluster with credentials of the Kubernetes engine: each change by an account that the server makes for it, with the rights of
# cluster/changes and for the time of the call; previews by tokens of an account that can do dry runs alone.

load ../helpers
load vault
load ../cluster/cluster
load ../cluster/tools
load ../cluster/changes

setup_file() {
	local role
	vault_setup_file
	cluster_named
	export INSTALLED=$SBX_BUILD
	accounts
	kube create role engine --namespace="$SPACE" --verb=create,delete --resource=serviceaccounts,rolebindings.rbac.authorization.k8s.io
	kube create role engine-tokens --namespace="$SPACE" --verb=create --resource=serviceaccounts/token
	kube create clusterrole "$SPACE-bind" --verb=bind --resource=clusterroles.rbac.authorization.k8s.io \
		--resource-name=sbx-change-patch --resource-name=sbx-change-apply --resource-name=sbx-change-delete
	for role in role/engine role/engine-tokens "clusterrole/$SPACE-bind"; do
		kube create rolebinding "${role//\//-}" --namespace="$SPACE" "--${role%/*}=${role#*/}" --serviceaccount="$NS:engine"
	done
	api POST "$NS/roles/preview" '{"allowed_kubernetes_namespaces":["'"$SPACE"'"],"service_account_name":"sbx-preview","token_max_ttl":"30m"}'
	for role in patch apply delete; do
		api POST "$NS/roles/$role" '{"allowed_kubernetes_namespaces":["'"$SPACE"'"],"kubernetes_role_type":"ClusterRole","kubernetes_role_name":"sbx-change-'$role'","token_max_ttl":"30m"}'
	done
}

teardown_file() {
	[ -z "${SPACE:-}" ] || {
		no_accounts
		kube delete clusterrole "$SPACE-bind"
	}
	vault_teardown_file
}

setup() {
	local role
	T=$BATS_TEST_TMPDIR/t
	mkdir -p "$T/work/manifests"
	change_policy "$SBX_LIBEXEC/sbx-change-kubernetes"
	for role in patch apply delete; do
		sed -i "/^  kubernetes-$role:/,/^    account:/s|^    account:.*|    role: $role|" "$T/policy/policy.yaml"
	done
	sed -i -e '/^    audience: /d' -e "s|^    account: sbx-preview|    role: preview|; s|^    namespace: $SPACE|    kubernetes_namespace: $SPACE\n    mount: $NS\n    policy: sbx-$NS|" \
		"$T/policy/policy.yaml"
	tools_settings vault "{address: $VAULT_ADDR, ca_file: $VAULT_CACERT, token_role: sbx-child, login: {method: token_file, file: $BATS_FILE_TMPDIR/token}}"
	change_begin
}

teardown() { agent_gone; }

# given_back STATE: the last call's credential is, and the account that was made for it is gone.
given_back() {
	assert_equal "$(jq -r 'select(.event == "credential.revoked") | .state' "$T/var/audit.jsonl" | tail -n 1)" "$1"
	assert_equal "$(kube get serviceaccounts --namespace="$SPACE" -o name | sort | tr '\n' ' ')" 'serviceaccount/default serviceaccount/sbx-change serviceaccount/sbx-preview '
}

@test "scale, apply, delete: each by an account of its own, which is gone; refused when the object moved" {
	previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\",\"replicas\":2"
	# Tokens of an account that stays end by themselves.
	given_back expires
	signed k8s_scale
	kube annotate deployment api --namespace="$SPACE" moved=yes
	sends k8s_scale
	assert_json .error.code state_moved
	given_back revoked
	wait_until 20 observed api
	previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\",\"replicas\":2"
	signed k8s_scale
	sends k8s_scale
	assert_json .state completed
	given_back revoked
	assert_equal "$(field api .spec.replicas)" 2
	sends k8s_scale
	assert_json .error.code plan_unknown

	manifest delete-me 1 >"$T/work/manifests/made.yaml"
	previews k8s_diff "\"namespace\":\"$SPACE\",\"manifest\":\"made.yaml\""
	signed k8s_apply
	sends k8s_apply
	assert_json .state completed
	given_back revoked
	wait_until 20 observed delete-me
	previews k8s_diff_delete "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"delete-me\""
	signed k8s_delete
	sends k8s_delete
	assert_json .state completed
	given_back revoked
	run ! kube get deployment delete-me --namespace="$SPACE"
	run_sbx 0 sbx-audit verify
}
