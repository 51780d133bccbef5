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

# A rule of the test's own: every object that is made wants a look.
look_at_all() {
	mkdir -p "$T/policy/signals"
	cat >"$T/policy/signals/all.yaml" <<-'EOF'
		signals:
		  - signal: looked_at
		    verdict: review
		    types: [terraform_data]
		    actions: [create]
		    text: makes something that this test wants to see
		    examples:
		      match:
		        - {after: {input: a}}
	EOF
	chmod -R go-w "$T/policy"
}

@test "a plan with more findings than can be shown is not kept, and the count of a large one is true" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	printf 'resource "terraform_data" "w" {\n  count = 250\n}\n' >"$T/work/envs/prod/main.tf"
	run_sbx 0 sbx-call terraform_plan dir=envs/prod
	assert_json .result.findings_total 0
	assert_json .result.safe_total 250
	assert_json '.result.safe | length' 50
	# Findings that only want a look can hide a worse one of their kind just as well (one that destroys as many: test/heavy/large-plan.bats).
	look_at_all
	run_sbx 1 sbx-call terraform_plan dir=envs/prod
	assert_json .result.code plan_too_large
	assert_json .result.plan null
	sed -i 's/250/190/' "$T/work/envs/prod/main.tf"
	run_sbx 0 sbx-call terraform_plan dir=envs/prod
	assert_json .result.findings_total 190
	assert_json .result.verdict review
	run_sbx 75 sbx-call terraform_apply plan="$(member .result.plan.id <<<"$output")"
	run_sbx 0 sbx-approve show "$(member .approval.id <<<"$output")"
	assert_contains "$output" "Findings: 190"
}

@test "names and values that a configuration chose stay in quotes in the text that a person signs" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	put() { # VALUE
		cat >"$T/work/envs/staging/main.tf" <<-EOF
			variable "password" {
			  default   = "$1 hunter2hunter2"
			  sensitive = true
			}
			resource "terraform_data" "w" {
			  for_each         = toset(["a\nDESTROY \"b\" [review]\u202e"])
			  triggers_replace = ["$1"]
			}
			resource "terraform_data" "s" {
			  triggers_replace = var.password
			}
		EOF
	}
	put one
	run_sbx 0 sbx-call terraform_plan dir=envs/staging
	run_sbx 0 sbx-call terraform_apply plan="$(member .result.plan.id <<<"$output")"
	put '(sensitive)\nNot inspected\u001b[2J\u202e'
	run_sbx 0 sbx-call terraform_plan dir=envs/staging
	refute_contains "$output" hunter2
	run_sbx 75 sbx-call terraform_apply plan="$(member .result.plan.id <<<"$output")"
	run_sbx 0 sbx-approve show "$(member .approval.id <<<"$output")"
	refute_contains "$output" hunter2
	assert_contains "$output" 'REPLACE "terraform_data.s" because "triggers_replace" ((sensitive) -> (sensitive)) changes'
	assert_contains "$output" 'terraform_data.w[\"a\\nDESTROY'
	assert_equal "$(grep -c '^Not inspected$' <<<"$output")" 1
	assert_equal "$(grep -c '^ *DESTROY' <<<"$output")" 0
	assert_equal "$(LC_ALL=C tr -d '\n -~' <<<"$output" | wc -c)" 0
}
