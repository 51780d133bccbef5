#!/usr/bin/env bats
# The tools that change a cluster with the credentials of sbx-cred-kubernetes, which has the rights that cluster/credentials gives it and no others: the scopes
# of the policy that ships, each for an account with the rights of cluster/changes.

load ../helpers
load credential
load ../cluster/cluster
load ../cluster/tools
load ../cluster/changes

setup_file() {
	cluster_needed
	cluster_named
	export INSTALLED=$SBX_BUILD
	broker_objects
	accounts
	kube create rolebinding broker --namespace="$SPACE" --clusterrole="$NS" --serviceaccount="$NS:sbx-cred"
	kube create rolebinding broker --namespace="$NS" --clusterrole="$NS" --serviceaccount="$NS:sbx-cred"
	broker_login
}

teardown_file() {
	[ -z "${SPACE:-}" ] || no_accounts
	[ -z "${NS:-}" ] || no_broker_objects
}

setup() {
	T=$BATS_TEST_TMPDIR/t
	mkdir -p "$T/work/manifests"
	change_policy "$SBX_LIBEXEC/sbx-change-kubernetes"
	# Which audience a token is for is another provider's affair.
	sed -i '/^    audience: /d' "$T/policy/policy.yaml"
	cp "$BATS_FILE_TMPDIR/kubeconfig" "$T/broker.kubeconfig"
	tools_settings kubernetes "{kubeconfig: $T/broker.kubeconfig, context: broker}"
	change_begin
}

teardown() { agent_gone; }

# given_back: the last call is done, and its token gone.
given_back() {
	assert_json .state completed
	assert_equal "$(jq -r 'select(.event == "credential.revoked") | .state' "$T/var/audit.jsonl" | tail -n 1)" revoked
	assert_equal "$(kube get secrets --namespace="$SPACE" -o name | grep -c sbx-cred-)" 0
}

@test "scale, apply, delete, cordon: previewed with one account, made with another, each for one call" {
	local node
	previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\",\"replicas\":2"
	given_back
	signed k8s_scale
	assert_contains "$text" "deployments.apps:patch"
	assert_equal "$(field api .spec.replicas)" 1
	sends k8s_scale
	given_back
	assert_equal "$(field api .spec.replicas)" 2
	# The object moved: the credential is given back all the same.
	wait_until 20 observed api
	previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\",\"replicas\":3"
	signed k8s_scale
	kube annotate deployment api --namespace="$SPACE" moved=yes
	sends k8s_scale
	assert_json .error.code state_moved
	assert_equal "$(kube get secrets --namespace="$SPACE" -o name | grep -c sbx-cred-)" 0
	assert_equal "$(field api .spec.replicas)" 2

	manifest delete-me 1 >"$T/work/manifests/made.yaml"
	previews k8s_diff "\"namespace\":\"$SPACE\",\"manifest\":\"made.yaml\""
	signed k8s_apply
	sends k8s_apply
	given_back
	wait_until 20 observed delete-me
	previews k8s_diff_delete "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"delete-me\""
	signed k8s_delete
	sends k8s_delete
	given_back
	run ! kube get deployment delete-me --namespace="$SPACE"

	node
	previews k8s_diff_cordon "\"node\":\"$node\""
	signed k8s_cordon ''
	sends k8s_cordon ''
	given_back
	assert_equal "$(kube get node "$node" -o jsonpath='{.spec.unschedulable}')" true
	kube delete node "$node"
	# Whose tokens they were.
	assert_equal "$(jq -r 'select(.event == "credential.issued") | .scope' "$T/var/audit.jsonl" | sort -u | tr '\n' ' ')" \
		'kubernetes-apply kubernetes-apply-preview kubernetes-delete kubernetes-delete-preview kubernetes-nodes kubernetes-nodes-preview kubernetes-patch kubernetes-patch-preview '
	run_sbx 0 sbx-audit verify
}

@test "another namespace than the scope's is nobody's to change, and no token is made for it" {
	calls k8s_diff_scale '{"target":"rig","namespace":"default","kind":"Deployment","name":"api","replicas":2}'
	assert_json .error.code bad_parameter
	assert_equal "$(jq -r 'select(.event == "credential.issued") | .scope' "$T/var/audit.jsonl")" ''
}
