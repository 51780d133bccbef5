# The shipped tool through the whole chain, on the cluster: policy, credential, Job, record.

load ../helpers
load cluster

setup_file() {
	cluster_setup_file
	# An installation of its own, for the provider that this test brings: tokens by TokenRequest, by an administrator's hand.
	INSTALLED=$BATS_FILE_TMPDIR/installed
	mkdir -p "$INSTALLED/libexec" "$INSTALLED/share"
	cp -r "$SBX_BIN" "$INSTALLED/bin"
	cp -r "$SBX_LIBEXEC" "$INSTALLED/libexec/sbx"
	cp -r "$SBX_BUILD/share/sbx" "$INSTALLED/share/sbx"
	cp "$ROOT/test/fakes/sbx-cred-request" "$INSTALLED/libexec/sbx/"
	export INSTALLED
	kubectl --context="$SBX_CONTEXT" create serviceaccount reader --dry-run=client -o yaml 3>&- | kubectl --context="$SBX_CONTEXT" apply -f - 3>&-
	kubectl --context="$SBX_CONTEXT" create rolebinding reader --clusterrole=view --serviceaccount=default:reader --dry-run=client -o yaml 3>&- |
		kubectl --context="$SBX_CONTEXT" apply -f - 3>&-
	kubectl --context="$SBX_CONTEXT" apply -f - 3>&- <<-POD
		apiVersion: v1
		kind: Pod
		metadata: {name: watched, namespace: default}
		spec: {nodeName: nowhere, containers: [{name: c, image: localhost/none:1}]}
	POD
}

teardown_file() {
	kubectl --context="$SBX_CONTEXT" delete pod watched --namespace=default --grace-period=0 --force 3>&- || true
}

setup() {
	PATH=$INSTALLED/bin:$PATH
	T=$BATS_TEST_TMPDIR/t
	mkdir -p "$T/work"
	cp -r "$ROOT/policy" "$T/policy"
	sed -i "s|path: /usr/bin/kubectl|path: $(readlink -f "$(command -v kubectl)")|; s|path: /usr/bin/terraform|path: /bin/true|" "$T/policy/policy.yaml"
	kubectl config view --raw --minify --flatten --context="$SBX_CONTEXT" -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' 3>&- |
		base64 -d >"$T/ca.crt"
	cp "$KUBECONFIG" "$T/admin.kubeconfig"
	cat >"$T/sbx.yaml" <<-SETTINGS
		policy: policy
		state: var
		allowed_signers: allowed_signers
		same_account: file
		workspaces: work
		provider: request
		providers:
		  request: {kubeconfig: $T/admin.kubeconfig, account: reader, namespace: default}
		targets:
		  rig: {server: "https://$API_SERVER", ca_file: $T/ca.crt}
		$(cat "$BATS_FILE_TMPDIR/settings.yaml")
		    image_pull_policy: $SBX_PULL
	SETTINGS
	: >"$T/allowed_signers"
	chmod -R go-rwx "$T"
	export SBX_CONFIG=$T/sbx.yaml T
}

@test "k8s_get_pod_status: the pod's status, gVisor and a closed network in the evidence, the record in order" {
	SBX_TEST_TIMEOUT=120 run_sbx 0 sbx-call k8s_get_pod_status target=rig namespace=default pod=watched
	assert_json .result.state completed
	assert_contains "$output" watched
	assert_json .result.isolation.isolation cluster-gvisor
	assert_json '.result.isolation.egress.answered | length' 1
	assert_json '.result.isolation.kernel | test("gvisor")' true
	assert_equal "$(jq -r .event "$T/var/audit.jsonl" | tr '\n' ' ')" \
		'audit.open tool.request guardrail.decision credential.requested credential.issued sandbox.started sandbox.completed credential.revoked tool.result '
	assert_equal "$(kube get jobs --namespace=sbx-sandbox --selector="sbx/call=$(printf %s "$output" | jq -r .call.id)" -o name)" ''
	# The token is in no file of ours, and in nothing that was printed.
	run -1 grep -rqF "$(cat "$T/issued")" "$T/var"
	refute_contains "$output$stderr" "$(cat "$T/issued")"
}

@test "what the account may not read stays forbidden, and the command's own status comes back" {
	SBX_TEST_TIMEOUT=120 run_sbx 1 sbx-call k8s_get_pod_status target=rig namespace=default pod=absent
	assert_json .result.state failed
	assert_json .result.exit 1
	assert_contains "$output" 'not found'
}
