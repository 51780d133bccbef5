#!/usr/bin/env bats
# The Terraform tools beside plan and apply, as they ship, with the real terraform.

load ../helpers
load ../sealed

setup() {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	sealed_setup
	cp "$ROOT"/policy/tools/terraform_*.yaml "$T/policy/tools/"
	no_policy_tests
	rm "$TREE/.terraform.lock.hcl"
	printf 'resource "terraform_data" "web" {\n  input = "a"\n}\nresource "terraform_data" "db" {\n  input = "b"\n}\n' >"$TREE/main.tf"
}

# asked_for TOOL PARAMETER...: what the filter says of the call.
asked_for() {
	sbx-policy "$@" 2>/dev/null | sbx-approve
}
export -f asked_for

# by_a_person RC TOOL PARAMETER...: the call waits, a person signs it, the same call runs.
by_a_person() {
	local want=$1
	shift
	run_sbx 75 bash -c 'asked_for "$@"' - "$@"
	text=$(sbx-approve sign "$(member .approval.id <<<"$output")" --key "$T/alice" </dev/null 2>"$T/sign.err") || {
		cat "$T/sign.err"
		return 1
	}
	assert_contains "$text" "$1"
	run_sbx "$want" bash -c 'chain "$@" | sbx-audit' - "$@"
}

@test "terraform_validate says what is wrong, and nobody is asked" {
	run_sbx 0 chain terraform_validate dir=envs/staging
	assert_contains "$(member .result.stdout <<<"$output")" 'The configuration is valid'
	printf 'resource "terraform_data" "x" {\n  nothing = 1\n}\n' >>"$TREE/main.tf"
	run_sbx 1 chain terraform_validate dir=envs/staging
	assert_json .result.state failed
	assert_contains "$(member .result.stderr <<<"$output")" 'Unsupported argument'
}

@test "terraform_state_rm: a person, once, one object; the others stay, and the next plan makes it anew" {
	rm "$(kept_state)"
	run_sbx 0 chain terraform_plan dir=envs/staging
	run_sbx 0 chain terraform_apply "plan=$(member .result.plan.id <<<"$output")"
	assert_equal "$(jq -r '[.resources[].name] | join(" ")' "$(kept_state)")" 'db web'
	by_a_person 0 terraform_state_rm dir=envs/staging address=terraform_data.web
	assert_json .result.state_file taken
	assert_equal "$(jq -r '[.resources[].name] | join(" ")' "$(kept_state)")" db
	# The signature was for that one time.
	run_sbx 75 chain terraform_state_rm dir=envs/staging address=terraform_data.web
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json '.result.findings | length' 0
	assert_json .result.counts.create 1
}

@test "terraform_force_unlock waits for a person; a state of this machine has no lock that it could break" {
	by_a_person 1 terraform_force_unlock dir=envs/staging lock_id=9db590f1-b6fe-c5f2-2678-8804f089deba
	assert_contains "$text" 9db590f1-b6fe-c5f2-2678-8804f089deba
	assert_json .result.state failed
	assert_contains "$(member .result.stderr <<<"$output")" 'not locked'
	run_sbx 75 chain terraform_force_unlock dir=envs/staging lock_id=9db590f1-b6fe-c5f2-2678-8804f089deba
}

@test "terraform_test waits for a person, because it makes what it tests" {
	terraform version | grep -qE 'v(1\.([6-9]|[1-9][0-9])|[2-9])' || skip 'terraform test came with 1.6'
	printf 'run "makes" {\n  command = apply\n  assert {\n    condition     = terraform_data.web.output == "a"\n    error_message = "no"\n  }\n}\n' >"$TREE/a.tftest.hcl"
	by_a_person 0 terraform_test dir=envs/staging
	assert_contains "$(member .result.stdout <<<"$output")" '1 passed, 0 failed'
	run_sbx 75 chain terraform_test dir=envs/staging
}
