# Terraform on a cluster: a plan is made there, sealed here, and applied there, as sbx-mcp's client and a person see it. $SBX_MIRROR is a mirror of
# providers with hashicorp/kubernetes; $SBX_DEMO_IMAGE what the demo's Deployment runs.

load ../helpers
load cluster
load tools

setup_file() { terraform_setup_file; }
teardown_file() { terraform_teardown_file; }

setup() {
	terraform_setup
}

teardown() { agent_gone; }

@test "planned, applied; a label edited, which replaces the running Deployment: asked, signed, applied; the record in order" {
	agent
	calls terraform_plan '{"target":"rig","dir":"k8s-demo"}'
	assert_json .state completed
	assert_json .verdict safe
	assert_json .isolation cluster-gvisor
	plan=$(member .plan.id <<<"$output")
	assert_equal "$(jq -r 'select(.event == "sandbox.completed") | .isolation + " " + .kernel' "$T/var/audit.jsonl")" 'cluster-gvisor 4.19.0-gvisor'
	assert_equal "$(member .seal.backend.type <"$T/var/plans/$plan/seal.json")" kubernetes
	assert_equal "$(member .seal.state.serial <"$T/var/plans/$plan/seal.json")" 1

	calls terraform_apply "{\"plan\":\"$plan\"}"
	assert_json .state completed
	first=$(deployed .metadata.uid)
	[ -n "$first" ]
	kube get secret tfstate-default-k8s-demo --namespace=sbx-demo-state

	sed -i 's/app = "web"/app = "shop"/' "$T/work/k8s-demo/main.tf"
	calls terraform_plan '{"target":"rig","dir":"k8s-demo"}'
	assert_json .verdict destructive
	assert_json '.findings[0].address' kubernetes_deployment.web
	assert_json '.findings[0].because[0]' 'spec[0].selector[0].match_labels'
	plan=$(member .plan.id <<<"$output")
	assert_equal "$(member '.seal.state.serial > 1' <"$T/var/plans/$plan/seal.json")" true

	calls terraform_apply "{\"plan\":\"$plan\"}"
	assert_json .error.code approval_required
	approval=$(member .approval.id <<<"$output")
	assert_equal "$(deployed .metadata.uid)" "$first"
	sbx-approve sign "$approval" --key "$T/alice" >"$T/text" 2>"$T/sign.err" </dev/null
	assert_contains "$(cat "$T/text")" 'backend "kubernetes"'
	assert_contains "$(cat "$T/text")" 'isolation "cluster-gvisor" by driver "kubernetes"'
	assert_contains "$(cat "$T/text")" 'against state lineage'

	calls terraform_apply "{\"plan\":\"$plan\"}"
	assert_json .state completed
	assert_json .approval.id "$approval"
	[ "$(deployed .metadata.uid)" != "$first" ]
	assert_equal "$(deployed .spec.selector.matchLabels.app)" shop
	assert_equal "$(events "$(member .call <<<"$output")")" 'tool.request guardrail.decision approval.claimed credential.requested credential.issued sandbox.started sandbox.completed credential.revoked tool.result '
	run_sbx 0 sbx-audit verify

	calls terraform_apply "{\"plan\":\"$plan\"}"
	assert_json .error.code plan_unknown
}

@test "a plan of a state that has moved on does not begin" {
	planned
	local late=$plan
	planned
	run_sbx 0 sbx-call terraform_apply "plan=$plan"
	before=$(deployed .metadata.uid)
	[ -n "$before" ]
	run_sbx 77 sbx-call terraform_apply "plan=$late"
	assert_json .result.state refused
	assert_json .error.code plan_serial_changed
	refute_contains "$stderr" 'step 1'
	assert_equal "$(deployed .metadata.uid)" "$before"
}

@test "a state in a file is refused, and nothing is started" {
	sed -i '/backend "kubernetes"/,/^  }/d' "$T/work/k8s-demo/main.tf"
	run_sbx 78 sbx-call terraform_plan target=rig dir=k8s-demo
	assert_json .error.code state_is_local
	assert_contains "$output" 'gone with the Pod'
	assert_equal "$(kube get jobs --namespace=sbx-sandbox -o name)" ''
}
