# The same where the steps run in the cluster itself: one change, from its preview to its end, with what is refused on the way.

load ../helpers
load cluster
load tools
load changes

setup_file() {
	export SBX_IMAGE=localhost/sbx-changes:1
	cluster_setup_file "sbx-change-kubernetes=$SBX_LIBEXEC/sbx-change-kubernetes"
	tools_setup_file
	accounts
}

teardown_file() { no_accounts; }

setup() {
	PATH=$INSTALLED/bin:$PATH
	T=$BATS_TEST_TMPDIR/t
	mkdir -p "$T/work/manifests"
	# What is in the image is that very file, and its libraries are there, too.
	change_policy "$SBX_LIBEXEC/sbx-change-kubernetes"
	sed -i -e 's/^\(    mounts: \)\[.*/\1[]/; s/isolation: local/isolation: cluster-gvisor/' "$T/policy/policy.yaml"
	tools_settings
	change_begin
}

teardown() { agent_gone; }

@test "scale, from inside: a check that refuses spends nothing, and what is signed is done once" {
	previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\",\"replicas\":2"
	assert_json .isolation cluster-gvisor
	signed k8s_scale
	kube annotate deployment api --namespace="$SPACE" moved=yes
	wait_until 20 observed api
	sends k8s_scale
	assert_json .error.code state_moved
	assert_contains "$(member .error.hint <<<"$output")" moved
	sends k8s_scale
	assert_json .error.code state_moved
	assert_contains "$(events)" 'approval.released approval.claimed'
	previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\",\"replicas\":2"
	signed k8s_scale
	sends k8s_scale
	assert_json .state completed
	assert_equal "$(field api .spec.replicas)" 2
	sends k8s_scale
	assert_json .error.code plan_unknown
}
