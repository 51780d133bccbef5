# A cluster from one machine: the driver is local, the provider kubernetes by the user's own kubeconfig, and what the steps reach is the API server of the
# call's target, through the relay. $SBX_MIRROR is a mirror of providers with hashicorp/kubernetes; $SBX_DEMO_IMAGE what the demo's Deployment runs.

export DEMO=${DEMO:-sbx-laptop-$RANDOM}

load ../helpers
load cluster
load tools

setup_file() {
	cluster_named
	mirror_setup_file
	INSTALLED=$SBX_BUILD
	export INSTALLED
	demo_apply
	kube create serviceaccount reader --namespace="$DEMO"
	kube create role reader --namespace="$DEMO" --verb=get --resource=pods
	kube create rolebinding reader --namespace="$DEMO" --role=reader --serviceaccount="$DEMO:reader"
	kube run web-0 --namespace="$DEMO" --image="${SBX_DEMO_IMAGE:-registry.k8s.io/pause:3.10}" --restart=Never
}

teardown_file() { terraform_teardown_file; }

setup() {
	terraform_setup
	sed -i "s/cluster-gvisor/local/; s/account: reader, namespace: default/account: reader, namespace: $DEMO/" "$T/policy/policy.yaml"
	own_settings >"$T/sbx.yaml"
	cat >>"$T/sbx.yaml" <<-SETTINGS
		driver: local
		provider: kubernetes
		providers:
		  kubernetes: {kubeconfig: $T/admin.kubeconfig, context: "$SBX_CONTEXT"}
		targets:
		  rig: {server: "https://$API_SERVER", ca_file: $T/ca.crt}
	SETTINGS
}

teardown() { agent_gone; }

# reached: where the connections of all calls went.
reached() {
	sbx-audit show --event sandbox.connections --json | jq -r '.connections[] | .destination + " " + .address' | sort -u
}

@test "a pod's status, through the relay and no other way" {
	agent
	calls k8s_get_pod_status "{\"target\":\"rig\",\"namespace\":\"$DEMO\",\"pod\":\"web-0\"}"
	assert_json .state completed
	assert_contains "$(member .untrusted.stdout <<<"$output")" web-0
	assert_json .isolation local
	assert_equal "$(reached)" "kubernetes-api $API_SERVER"
	assert_equal "$(sbx-audit show --event credential.revoked --json | jq -r .state)" revoked
}

@test "planned, applied; a replacement asked, signed, applied; the state is in the cluster" {
	agent
	calls terraform_plan '{"target":"rig","dir":"k8s-demo"}'
	assert_json .state completed
	assert_json .verdict safe
	plan=$(member .plan.id <<<"$output")
	assert_equal "$(member .seal.backend.type <"$T/var/plans/$plan/seal.json")" kubernetes
	assert_equal "$(member .seal.state.serial <"$T/var/plans/$plan/seal.json")" 1
	calls terraform_apply "{\"plan\":\"$plan\"}"
	assert_json .state completed
	first=$(deployed .metadata.uid)
	[ -n "$first" ]
	kube get secret tfstate-default-k8s-demo --namespace="$DEMO-state"

	sed -i 's/app = "web"/app = "shop"/' "$T/work/k8s-demo/main.tf"
	calls terraform_plan '{"target":"rig","dir":"k8s-demo"}'
	assert_json .verdict destructive
	plan=$(member .plan.id <<<"$output")
	calls terraform_apply "{\"plan\":\"$plan\"}"
	assert_json .error.code approval_required
	approval=$(member .approval.id <<<"$output")
	assert_equal "$(deployed .metadata.uid)" "$first"
	sbx-approve sign "$approval" --key "$T/alice" >"$T/text" 2>"$T/sign.err" </dev/null
	assert_contains "$(cat "$T/text")" 'isolation "local" by driver "local"'
	assert_contains "$(cat "$T/text")" "kubernetes-api ($API_SERVER)"
	assert_contains "$(cat "$T/text")" 'against state lineage'
	calls terraform_apply "{\"plan\":\"$plan\"}"
	assert_json .state completed
	assert_json .approval.id "$approval"
	[ "$(deployed .metadata.uid)" != "$first" ]
	assert_equal "$(deployed .spec.selector.matchLabels.app)" shop
	assert_equal "$(events "$(member .call <<<"$output")")" 'tool.request guardrail.decision approval.claimed credential.requested credential.issued sandbox.started sandbox.connections sandbox.completed credential.revoked tool.result '
	assert_equal "$(reached)" "kubernetes-api $API_SERVER"
	run_sbx 0 sbx-audit verify
}

@test "a plan of a remote state that has moved on does not begin, and the state is not locked by it" {
	planned
	local late=$plan
	planned
	SBX_TEST_TIMEOUT=120 run_sbx 0 sbx-call terraform_apply "plan=$plan"
	before=$(deployed .metadata.uid)
	[ -n "$before" ]
	SBX_TEST_TIMEOUT=120 run_sbx 77 sbx-call terraform_apply "plan=$late"
	assert_json .error.code plan_serial_changed
	assert_json .result.state refused
	refute_contains "$stderr" 'step 1'
	assert_equal "$(deployed .metadata.uid)" "$before"
	planned
}

@test "without egress: the same tool reaches no cluster" {
	sed -i '/^egress:/d' "$T/policy/tools/k8s_get_pod_status.yaml"
	SBX_TEST_TIMEOUT=60 run_sbx 1 sbx-call k8s_get_pod_status target=rig "namespace=$DEMO" pod=web-0
	assert_json .result.isolation.network none
	assert_equal "$(reached)" ''
}

# by_a_person TOOL ARGUMENTS: it waits, a person signs, and the same call is made; then it waits again.
by_a_person() {
	calls "$1" "$2"
	assert_json .error.code approval_required
	sbx-approve sign "$(member .approval.id <<<"$output")" --key "$T/alice" >"$T/text" 2>"$T/sign.err" </dev/null
	assert_contains "$(cat "$T/text")" "$1"
	calls "$1" "$2"
	done_once=$output
	calls "$1" "$2"
	assert_json .error.code approval_required
	output=$done_once
}

@test "the other tools for Terraform that ship: a person for each that changes something, for one time; and the lock of a state in the cluster" {
	local id=9db590f1-b6fe-c5f2-2678-8804f089deba lease=lock-tfstate-default-k8s-demo
	cp "$ROOT"/policy/tools/terraform_{validate,state_rm,force_unlock,test}.yaml "$T/policy/tools/"
	sed -i '/^tests:/,$d' "$T"/policy/tools/terraform_{validate,state_rm,force_unlock,test}.yaml
	sed -i 's/^  dir: .*/  target: {type: target}\n  dir: {type: directory, under: [k8s-demo]}/' "$T/policy/tools/terraform_force_unlock.yaml"
	sed -n '/^credentials:/p; /^egress:/p' "$T/policy/tools/terraform_apply.yaml" >>"$T/policy/tools/terraform_force_unlock.yaml"
	mkdir -p "$T/work/envs/local"
	cat >"$T/work/envs/local/main.tf" <<-'TF'
		resource "terraform_data" "x" {
		  for_each = toset(["delete me (a, b)", "all"])
		}
	TF
	printf 'run "makes" {\n  command = apply\n  assert {\n    condition     = length(terraform_data.x) == 2\n    error_message = "no"\n  }\n}\n' >"$T/work/envs/local/a.tftest.hcl"
	cp -r "$T/work/envs/local" "$T/made"
	(cd "$T/made" && terraform init -input=false && terraform apply -auto-approve -input=false) >/dev/null 3>&-
	sbx-run adopt-state envs/local "$T/made/terraform.tfstate"
	chmod -R go-rwx "$T/policy"
	agent
	calls terraform_validate '{"dir":"envs/local"}'
	assert_json .state completed
	by_a_person terraform_state_rm '{"dir":"envs/local","address":"terraform_data.x[\"delete me (a, b)\"]"}'
	assert_json .state completed
	assert_equal "$(jq -r '.resources[].instances[].index_key' "$T"/var/ws/default/*/terraform.tfstate)" all
	by_a_person terraform_test '{"dir":"envs/local"}'
	assert_json .state completed
	assert_contains "$(member .untrusted.stdout <<<"$output")$output" '1 passed, 0 failed'

	# Somebody was killed in the middle of an apply.
	kube apply -f - <<-LEASE
		apiVersion: coordination.k8s.io/v1
		kind: Lease
		metadata:
		  name: $lease
		  namespace: $DEMO-state
		  labels: {tfstate: "true", tfstateSecretSuffix: k8s-demo, tfstateWorkspace: default, app.kubernetes.io/managed-by: terraform}
		  annotations: {app.terraform.io/lock-info: '{"ID":"$id","Operation":"OperationTypeApply","Who":"a@killed","Version":"1.11.4","Created":"2026-01-01T00:00:00Z"}'}
		spec: {holderIdentity: "$id"}
	LEASE
	calls terraform_plan '{"target":"rig","dir":"k8s-demo"}'
	calls terraform_apply "{\"plan\":\"$(member .plan.id <<<"$output")\"}"
	assert_json .state failed
	assert_contains "$output" state_locked
	assert_contains "$output" "the state has the lock $id, for OperationTypeApply, by a@killed, since 2026-01-01"
	assert_equal "$(deployed .metadata.uid)" ''
	by_a_person terraform_force_unlock "{\"target\":\"rig\",\"dir\":\"k8s-demo\",\"lock_id\":\"$id\"}"
	assert_json .state completed
	assert_equal "$(kube get lease "$lease" --namespace="$DEMO-state" -o jsonpath='{.spec.holderIdentity}')" ''
	calls terraform_plan '{"target":"rig","dir":"k8s-demo"}'
	calls terraform_apply "{\"plan\":\"$(member .plan.id <<<"$output")\"}"
	assert_json .state completed
	[ -n "$(deployed .metadata.uid)" ]
}
