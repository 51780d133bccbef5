# Whoever is killed at the worst moment: no live credential after mending, the state is the newest one that terraform wrote, and the record never says a
# success that was not one. Every stage in its turn: test/heavy/killed.bats.

load ../helpers
load ../killed

setup() { killed_setup; }
teardown() { killed_teardown; }

@test "kill -9 of a stage in the middle of an apply" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	killed_in_apply sbx-cred
}

@test "Ctrl-C in the middle of an apply: terraform ends by itself, the state is kept, the approval is spent" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	signed_apply
	kill -INT "$door"
	wait "$door" || status=$?
	assert_equal "$status" 1
	output=$(cat "$T/out")
	assert_json .result.state cancelled
	assert_json .result.state_file taken
	assert_contains "$(cat "$T"/var/ws/*/*/terraform.tfstate)" 'made before the kill'
	no_live_credential
	run_sbx 77 sbx-call terraform_apply plan="$plan"
	assert_call plan_unknown
}

@test "kill -9 of a stage in the middle of a plan" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	slow_plan
	killed_in_plan sbx-run
}
