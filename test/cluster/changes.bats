# The tools that change a cluster, as they ship, through an agent's session: previewed by a real API server, read, signed, sent once; and what is refused on the
# way. With the driver of this machine: nothing here depends on where the steps run.

load ../helpers
load cluster
load tools
load changes

setup_file() {
	cluster_named
	tools_setup_file
	accounts
}

teardown_file() {
	no_accounts
}

setup() {
	PATH=$INSTALLED/bin:$PATH
	T=$BATS_TEST_TMPDIR/t
	mkdir -p "$T/work/manifests"
	change_policy "$INSTALLED/libexec/sbx/sbx-change-kubernetes"
	tools_settings
	change_begin
}

teardown() { agent_gone; }

@test "scale: preview, text, signature, success, once; and not when the object moved or is another" {
	previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\",\"replicas\":0"
	assert_json .verdict destructive
	assert_equal "$(field api .spec.replicas)" 1
	sends k8s_scale
	assert_json .approval.state waiting
	assert_equal "$(field api .spec.replicas)" 1
	signed k8s_scale
	assert_contains "$text" 'target "rig"'
	assert_contains "$text" "UPDATE \"$SPACE/Deployment.apps/api\" because \"spec.replicas\" (1 -> 0) changes"
	refute_contains "$text" what-it-is
	# Somebody else scales it: nothing is done, the signature is not spent, and the difference is said.
	kube scale deployment api --namespace="$SPACE" --replicas=3
	wait_until 20 observed api
	sends k8s_scale
	assert_json .error.code state_moved
	assert_contains "$(member .error.hint <<<"$output")" spec.replicas
	assert_equal "$(field api .spec.replicas)" 3
	sends k8s_scale
	assert_json .error.code state_moved
	assert_contains "$(events)" 'approval.released approval.claimed'
	previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\",\"replicas\":0"
	signed k8s_scale
	sends k8s_scale
	assert_json .state completed
	assert_equal "$(field api .spec.replicas)" 0
	sends k8s_scale
	assert_json .error.code plan_unknown
	# Deleted and made anew, all else the same: another object.
	deployment api 1
	previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\",\"replicas\":2"
	signed k8s_scale
	kube delete deployment api --namespace="$SPACE" --wait=true
	deployment api 1
	sends k8s_scale
	assert_json .error.code state_moved
	assert_contains "$(member .error.hint <<<"$output")" 'another one has its name'
	assert_equal "$(field api .spec.replicas)" 1
}

@test "restart, apply, delete: the same" {
	previews k8s_diff_restart "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\""
	signed k8s_rollout_restart
	sends k8s_rollout_restart
	assert_json .state completed
	assert_contains "$(field api .spec.template.metadata.annotations)" restarted
	wait_until 20 observed api

	# tf-087: the object changed since the dry run.
	manifest api 2 | sed 's/none:1/none:2/' >"$T/work/manifests/api.yaml"
	previews k8s_diff "\"namespace\":\"$SPACE\",\"manifest\":\"api.yaml\""
	signed k8s_apply
	assert_contains "$text" 'localhost/none:2'
	kube annotate deployment api --namespace="$SPACE" moved=yes
	wait_until 20 observed api
	sends k8s_apply
	assert_json .error.code state_moved
	assert_equal "$(field api '.spec.template.spec.containers[0].image')" localhost/none:1
	previews k8s_diff "\"namespace\":\"$SPACE\",\"manifest\":\"api.yaml\""
	signed k8s_apply
	# The manifest is sealed as it was.
	manifest api 2 | sed 's/none:1/none:3/' >"$T/work/manifests/api.yaml"
	sends k8s_apply
	assert_json .error.code plan_tree_changed
	manifest api 2 | sed 's/none:1/none:2/' >"$T/work/manifests/api.yaml"
	sends k8s_apply
	assert_json .state completed
	assert_equal "$(field api '.spec.template.spec.containers[0].image')" localhost/none:2
	sends k8s_apply
	assert_json .error.code plan_unknown
	wait_until 20 observed api

	previews k8s_diff_delete "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\""
	assert_json .verdict destructive
	signed k8s_delete
	assert_contains "$text" "DESTROY \"$SPACE/Deployment.apps/api\""
	kube annotate deployment api --namespace="$SPACE" moved=again --overwrite
	wait_until 20 observed api
	sends k8s_delete
	assert_json .error.code state_moved
	assert_equal "$(field api .metadata.name)" api
	previews k8s_diff_delete "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\""
	signed k8s_delete
	sends k8s_delete
	assert_json .state completed
	run ! kube get deployment api --namespace="$SPACE"
}

@test "a manifest of what is not there yet makes it, if nobody did so meanwhile; a Secret is no manifest" {
	manifest made 1 >"$T/work/manifests/made.yaml"
	printf '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"k":"what-it-is"}}' >"$T/work/manifests/secret.json"
	calls k8s_diff "{\"target\":\"rig\",\"namespace\":\"$SPACE\",\"manifest\":\"secret.json\"}"
	assert_json .state failed
	assert_contains "$output" kind_refused
	refute_contains "$output" what-it-is
	previews k8s_diff "\"namespace\":\"$SPACE\",\"manifest\":\"made.yaml\""
	assert_json .counts.create 1
	signed k8s_apply
	deployment made 3
	sends k8s_apply
	assert_json .error.code state_moved
	kube delete deployment made --namespace="$SPACE" --wait=true
	sends k8s_apply
	assert_json .state completed
	assert_json .approval.id "$approval"
	assert_equal "$(field made .spec.replicas)" 1
}

@test "cordon and uncordon a node" {
	local node=sbx-changes-$RANDOM
	kube create -f - <<<"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"$node\"}}"
	previews k8s_diff_cordon "\"node\":\"$node\""
	signed k8s_cordon ''
	sends k8s_cordon ''
	assert_json .state completed
	assert_equal "$(kube get node "$node" -o jsonpath='{.spec.unschedulable}')" true
	sends k8s_cordon ''
	assert_json .error.code plan_unknown
	previews k8s_diff_uncordon "\"node\":\"$node\""
	signed k8s_uncordon ''
	kube patch node "$node" --type=merge -p '{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}'
	sends k8s_uncordon ''
	assert_json .error.code state_moved
	kube delete node "$node"
}

@test "drain a node: the pods that were previewed, and not when another one has come" {
	local node=sbx-changes-$RANDOM pod
	kube create -f - <<<"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"$node\"}}"
	for pod in one two; do
		previews k8s_diff_drain "\"node\":\"$node\""
		[ "$pod" = one ] || signed k8s_drain ''
		kube apply -f - <<-POD
			apiVersion: v1
			kind: Pod
			metadata: {name: $pod, namespace: $SPACE}
			spec: {nodeName: $node, containers: [{name: c, image: localhost/none:1}]}
		POD
	done
	sends k8s_drain ''
	assert_json .error.code state_moved
	assert_contains "$(member .error.hint <<<"$output")" two
	previews k8s_diff_drain "\"node\":\"$node\""
	signed k8s_drain ''
	assert_contains "$text" "\"$SPACE/Pod/one\""
	sends k8s_drain ''
	assert_json .state completed
	# No machine is there to end them.
	assert_equal "$(kube get pods --namespace="$SPACE" -o jsonpath='{.items[?(@.metadata.deletionTimestamp)].metadata.name}' --field-selector="spec.nodeName=$node")" 'one two'
	assert_equal "$(kube get node "$node" -o jsonpath='{.spec.unschedulable}')" true
	kube delete pods one two --namespace="$SPACE" --grace-period=0 --force
	kube delete node "$node"
}

@test "what is named like an option or a command is an object like any other" {
	local name long
	long=$(printf 'a%.0s' {1..63}).$(printf 'b%.0s' {1..63}).$(printf 'c%.0s' {1..63}).$(printf 'd%.0s' {1..61})
	for name in delete-me all "$long"; do
		deployment "$name" 1
		previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"$name\",\"replicas\":2"
		signed k8s_scale
		sends k8s_scale
		assert_json .state completed
		assert_equal "$(field "$name" .spec.replicas)" 2
		assert_equal "$(field api .spec.replicas)" 1
	done
}

@test "the account of previews makes dry runs and nothing else, whoever has its token" {
	local token
	token=$(kube create token sbx-preview --namespace="$SPACE")
	as() { kubectl --kubeconfig=/dev/null --server="$(kubectl config view --minify --context="$SBX_CONTEXT" -o jsonpath='{.clusters[0].cluster.server}')" \
		--certificate-authority="$T/ca.crt" --token="$1" --namespace="$SPACE" "${@:2}" 3>&-; }
	as "$token" patch deployment api --type=merge -p '{"spec":{"replicas":3}}' --dry-run=server
	run as "$token" patch deployment api --type=merge -p '{"spec":{"replicas":3}}'
	[ "$status" -ne 0 ]
	assert_contains "$output" 'previews changes and makes none'
	run as "$token" delete deployment api
	assert_contains "$output" 'previews changes and makes none'
	assert_equal "$(field api .spec.replicas)" 1
	# The other one may.
	as "$(kube create token sbx-change --namespace="$SPACE")" patch deployment api --type=merge -p '{"spec":{"replicas":3}}'
	assert_equal "$(field api .spec.replicas)" 3
}
