# Configuration is a program that the agent may have written: what it may not do is change what a person reads about it.

load ../helpers

setup() {
	fresh_state
}

@test "a child of the step that reports on a plan can neither open its stdout nor write into it" {
	cat >"$T/policy/tools/reach.yaml" <<-'EOF'
		name: reach
		title: Reach
		description: Fails, so that its stderr is shown.
		tier: low
		workspace: {tree: ., cwd: .}
		steps:
		  - [stepper, write, plan.bin, x]
		  - {argv: [stepper, reach, then, exit, "1"], analyse: terraform}
		produces: {plan: plan.bin}
		tests:
		  - {expect: allow}
	EOF
	run_sbx 1 sbx-call reach
	assert_contains "$(member .result.stderr <<<"$output")" 'fd/1: refused'
	assert_contains "$(member .result.stderr <<<"$output")" 'mem: refused'
}

@test "programs that lie in the workspace are no providers" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	local os=linux arch
	arch=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
	for host in registry.terraform.io registry.opentofu.org; do
		mkdir -p "$T/work/envs/staging/terraform.d/plugins/$host/x/evil/1.0.0/${os}_$arch"
		cp "$SBX_BUILD/test/stepper" "$T/work/envs/staging/terraform.d/plugins/$host/x/evil/1.0.0/${os}_$arch/terraform-provider-evil_v1.0.0"
	done
	cat >"$T/work/envs/staging/main.tf" <<-'EOF'
		terraform {
		  required_providers {
		    evil = { source = "x/evil", version = "1.0.0" }
		  }
		}
		resource "evil_thing" "x" {}
	EOF
	run_sbx 1 sbx-call terraform_plan dir=envs/staging
	assert_json .result.state failed
	assert_json .result.code not_fetched
	assert_json .result.plan null
	# The same directory without it plans.
	cp "$ROOT/terraform/local-demo/main.tf" "$T/work/envs/staging/main.tf"
	run_sbx 0 sbx-call terraform_plan dir=envs/staging
}

@test "a configuration that chooses another place for its state makes no plan" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	cat >"$T/work/envs/staging/main.tf" <<-'EOF'
		terraform {
		  backend "local" { path = "s.json" }
		}
		resource "terraform_data" "x" {}
	EOF
	printf '{"version":4,"terraform_version":"1.11.4","serial":9,"lineage":"00000000-0000-0000-0000-000000000009","outputs":{},"resources":[]}' >"$T/work/envs/staging/s.json"
	run_sbx 1 sbx-call terraform_plan dir=envs/staging
	assert_json .result.state failed
	assert_json .result.plan null
	assert_contains "$(member .result.stderr <<<"$output")" 'ackend'
}

@test "a plan that destroys more than can be shown is not kept, and the count of a large one is true" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	new_signer person
	printf 'resource "terraform_data" "w" {\n  count = 250\n}\n' >"$T/work/envs/staging/main.tf"
	run_sbx 0 sbx-call terraform_plan dir=envs/staging
	assert_json .result.findings_total 250
	local plan
	plan=$(member .result.plan.id <<<"$output")
	run_sbx 75 sbx-call terraform_apply plan="$plan"
	local approval
	approval=$(member .approval.id <<<"$output")
	run_sbx 0 sbx-approve show "$approval"
	assert_contains "$output" "The plan's changes: 250"
	assert_contains "$output" 'changes that do not stand above: 50'
	run_sbx 0 sbx-approve sign "$approval" --key "$T/person"
	run_sbx 0 sbx-call terraform_apply plan="$plan"
	echo >"$T/work/envs/staging/main.tf"
	run_sbx 1 sbx-call terraform_plan dir=envs/staging
	assert_json .result.code plan_too_large
	assert_json .result.plan null
}
