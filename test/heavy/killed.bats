# test/scenario/killed.bats with each stage as the one that is killed.

load ../helpers
load ../killed

setup() { killed_setup; }
teardown() { killed_teardown; }

@test "kill -9 of each stage in the middle of an apply" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	local stage
	for stage in sbx-run sbx-cred sbx-call; do
		killed_in_apply "$stage"
	done
}

@test "kill -9 of each stage in the middle of a plan" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	local stage
	slow_plan
	for stage in sbx-run sbx-cred sbx-run-local; do
		killed_in_plan "$stage"
	done
}
