# A plan that destroys more than can be shown: made by terraform, of what terraform made.

load ../helpers

setup() { fresh_state; }

@test "a plan that destroys more than can be shown is not kept" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	printf 'resource "terraform_data" "w" {\n  count = 250\n}\n' >"$T/work/envs/staging/main.tf"
	run_sbx 0 sbx-call terraform_plan dir=envs/staging
	run_sbx 0 sbx-call terraform_apply plan="$(member .result.plan.id <<<"$output")"
	echo >"$T/work/envs/staging/main.tf"
	run_sbx 1 sbx-call terraform_plan dir=envs/staging
	assert_json .result.code plan_too_large
	assert_json .result.plan null
	# Fewer can be shown, and are.
	printf 'resource "terraform_data" "w" {\n  count = 100\n}\n' >"$T/work/envs/staging/main.tf"
	run_sbx 0 sbx-call terraform_plan dir=envs/staging
	assert_json .result.findings_total 150
}
