# The shipped tools that need one program and no plan, through the whole chain: policy, credential, Job, record.

load ../helpers
load cluster
load tools

setup_file() {
	cluster_setup_file
	tools_setup_file
	kube create serviceaccount reader --dry-run=client -o yaml | kube apply -f -
	kube create rolebinding reader --clusterrole=view --serviceaccount=default:reader --dry-run=client -o yaml | kube apply -f -
	kube apply -f - <<-POD
		apiVersion: v1
		kind: Pod
		metadata: {name: watched, namespace: default, labels: {app: watched, db-password: what-it-is}}
		spec: {nodeName: nowhere, initContainers: [{name: i, image: localhost/none:2, env: [{name: TOKEN, value: what-it-is}]}], containers: [{name: c, image: localhost/none:1, env: [{name: DB_PASSWORD, value: what-it-is}]}]}
	POD
	speaks
	metrics
}

teardown_file() {
	kube delete pod watched speaks --namespace=default --grace-period=0 --force || true
	kube delete customresourcedefinition pods.metrics.k8s.io || true
	kube delete rolebinding,role metrics --namespace=default || true
}

# A pod that says something harmless, and a token.
TOKEN=eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJzb21lYm9keSJ9.c2lnbmF0dXJlLW9mLW5vYm9keS1hdC1hbGw
speaks() {
	kube apply -f - <<-POD
		apiVersion: v1
		kind: Pod
		metadata: {name: speaks, namespace: default, labels: {app: speaks}}
		spec:
		  restartPolicy: Never
		  securityContext: {runAsNonRoot: true, runAsUser: 65534}
		  containers:
		  - name: c
		    image: $SBX_IMAGE
		    imagePullPolicy: $SBX_PULL
		    command: [/opt/sbx/kubectl/kubectl, create, configmap, delete-me, "--from-literal=harmless=good news", "--from-literal=said=$TOKEN", --dry-run=client, --output=yaml]
		    env: [{name: HOME, value: /nonexistent}]
	POD
	kube wait --for=jsonpath='{.status.phase}'=Succeeded pod/speaks --namespace=default --timeout=60s
}

measured() {
	kube apply -f - <<-METRICS
		apiVersion: metrics.k8s.io/v1beta1
		kind: PodMetrics
		metadata: {name: speaks, namespace: default, labels: {app: speaks}}
		timestamp: "2026-01-01T00:00:00Z"
		window: 30s
		containers: [{name: c, usage: {cpu: 250m, memory: 64Mi}}]
	METRICS
}

# What a metrics server would say, by objects of a kind of ours: to kubectl they are the same.
metrics() {
	kube apply -f - <<-CRD
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: pods.metrics.k8s.io, annotations: {api-approved.kubernetes.io: "unapproved, stands for a metrics server in a test"}}
		spec:
		  group: metrics.k8s.io
		  scope: Namespaced
		  names: {plural: pods, singular: pod, kind: PodMetrics, listKind: PodMetricsList}
		  versions:
		  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
	CRD
	kube wait --for=condition=Established customresourcedefinition/pods.metrics.k8s.io --timeout=20s
	wait_until 20 measured
	kube create role metrics --namespace=default --verb=get,list --resource=pods.metrics.k8s.io --dry-run=client -o yaml | kube apply -f -
	kube create rolebinding metrics --namespace=default --role=metrics --serviceaccount=default:reader --dry-run=client -o yaml | kube apply -f -
}

setup() { tools_setup; }
teardown() { agent_gone; }

@test "k8s_get_pod_status: the pod's status, gVisor and a closed network in the evidence, the record in order" {
	SBX_TEST_TIMEOUT=120 run_sbx 0 sbx-call k8s_get_pod_status target=rig namespace=default pod=watched
	assert_json .result.state completed
	assert_contains "$output" watched
	assert_json .result.isolation.isolation cluster-gvisor
	assert_json '.result.isolation.egress.answered | length' 1
	assert_json '.result.isolation.kernel | test("gvisor")' true
	assert_equal "$(events)" \
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

@test "the same by sbx-mcp: an agent that was never near the cluster" {
	agent
	calls k8s_get_pod_status '{"target":"rig","namespace":"default","pod":"watched"}'
	assert_json .state completed
	assert_json .isolation cluster-gvisor
	assert_contains "$(member .untrusted.stdout <<<"$output")" watched
	calls k8s_get_pod_status '{"target":"rig","namespace":"kube-system","pod":"watched"}'
	assert_json .error.code bad_parameter
}

# read_tools: those that ship, beside the tools of cluster/policy.
read_tools() {
	cp "$ROOT"/policy/tools/k8s_{describe,get,logs,rollout_status,top_pods}.yaml "$T/policy/tools/"
	sed -n '/^  kubernetes-read:/,/^    lifetime/p' "$ROOT/policy/policy.yaml" >"$T/scope"
	printf '    account: reader\n    namespace: default\n' >>"$T/scope"
	sed -i "/^scopes:/r $T/scope" "$T/policy/policy.yaml"
	chmod -R go-rwx "$T/policy"
}

@test "the tools that read: a table, a description without the values of settings, an end that is the command's own" {
	read_tools
	agent
	calls k8s_get '{"target":"rig","namespace":"default","resource":"pods","field_selector":"metadata.name=watched"}'
	assert_json .state completed
	assert_contains "$(member .untrusted.stdout <<<"$output")" watched
	calls k8s_describe '{"target":"rig","namespace":"default","resource":"pod","name":"watched"}'
	assert_json .state completed
	assert_contains "$(member .untrusted.stdout <<<"$output")" 'init container i: image localhost/none:2, settings TOKEN
container c: image localhost/none:1, settings DB_PASSWORD'
	assert_contains "$(member .untrusted.stdout <<<"$output")" 'labels: app=watched db-password
'
	refute_contains "$output" what-it-is
	calls k8s_rollout_status '{"target":"rig","namespace":"default","deployment":"absent","timeout":"5s"}'
	assert_json .state failed
	assert_contains "$(member .untrusted.stderr <<<"$output")" 'not found'
	kube create deployment nothing-to-do --namespace=default --image=localhost/none:1 --replicas=0
	calls k8s_rollout_status '{"target":"rig","namespace":"default","deployment":"nothing-to-do"}'
	kube delete deployment nothing-to-do --namespace=default
	assert_json .state completed
	assert_contains "$(member .untrusted.stdout <<<"$output")$output" 'successfully rolled out'
	calls k8s_get '{"target":"rig","namespace":"default","resource":"secrets"}'
	assert_json .error.code bad_parameter
}

@test "the tools that read: a log without the token that is in it, and what pods use" {
	read_tools
	agent
	calls k8s_logs '{"target":"rig","namespace":"default","pod":"speaks"}'
	assert_json .state completed
	assert_contains "$(member .untrusted.stdout <<<"$output")" 'harmless: good news'
	assert_contains "$(member .untrusted.stdout <<<"$output")" REDACTED
	refute_contains "$output" "$TOKEN"
	run -1 grep -rqF "$TOKEN" "$T/var"
	calls k8s_logs '{"target":"rig","namespace":"default","pod":"speaks","tail":1,"container":"c"}'
	assert_equal "$(member .untrusted.stdout <<<"$output" | grep -c .)" 1
	calls k8s_top_pods '{"target":"rig","namespace":"default","selector":"app in (speaks, delete-me),app"}'
	assert_json .state completed
	assert_contains "$output" 250m
	calls k8s_top_pods '{"target":"rig","namespace":"default","selector":"app=other"}'
	refute_contains "$output" 250m
	calls k8s_get '{"target":"rig","namespace":"default","resource":"pods","selector":"app in (speaks, delete-me),!old"}'
	assert_contains "$(member .untrusted.stdout <<<"$output")" speaks
	refute_contains "$output" watched
}
