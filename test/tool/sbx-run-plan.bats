#!/usr/bin/env bats
# sbx-run: states that a run takes back, and plans that it keeps and applies.

load ../helpers
load ../runs

setup_file() { runs_setup_file; }
setup() { runs_setup; }

# --- state ---

@test "adopt-state takes a state once" {
	local state='{"version":4,"terraform_version":"1.11.4","serial":3,"lineage":"one","outputs":{},"resources":[]}'
	printf '%s\n' "$state" >"$T/old.tfstate"
	run_sbx 0 sbx-run adopt-state envs/staging "$T/old.tfstate"
	run_sbx 0 sbx-run adopt-state envs/staging "$T/old.tfstate"
	printf '%s\n' "${state/:3/:4}" >"$T/other.tfstate"
	run_sbx 73 sbx-run adopt-state envs/staging "$T/other.tfstate"
	assert_contains "$stderr" state_exists
	run_sbx 66 sbx-run adopt-state envs/prod "$T/none"
	run_sbx 65 sbx-run adopt-state envs/prod "$T/sbx.yaml"
	assert_contains "$stderr" "$T/sbx.yaml is no Terraform state (state_unreadable)"
	run_sbx 77 sbx-run adopt-state envs/nowhere "$T/old.tfstate"
	run_sbx 77 sbx-run adopt-state --workspace other envs/staging "$T/old.tfstate"
	run_sbx 0 chain read_state
	assert_json '.result.stdout | contains("\"serial\":3")' true
}

@test "a change to a state that is for reading is a finding and thrown away" {
	printf '{"version":4,"terraform_version":"1.11.4","serial":3,"lineage":"one","outputs":{},"resources":[]}\n' >"$T/old.tfstate"
	sbx-run adopt-state envs/staging "$T/old.tfstate"
	run_sbx 0 chain read_state
	assert_json '.result.findings[0].signals | join(" ")' state_changed
	assert_json '.result.findings[0].verdict' review
	run_sbx 0 chain read_state
	assert_json '.result.stdout | contains("\"serial\":3")' true
}

@test "a state that is written is taken back when it is a successor" {
	make_approved_call write_state serial=1
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	assert_json .result.state_file taken
	make_approved_call write_state serial=5 status=4
	run_sbx 1 bash -c "sbx-run <'$T/call'"
	assert_json .result.state_file taken
	make_approved_call write_state serial=5
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	assert_json .result.state_file unchanged
	make_approved_call write_state serial=4
	run_sbx 1 bash -c "sbx-run <'$T/call'"
	assert_json .result.state_file kept_beside
	assert_json .result.code state_rejected
	[ -s "$(call_dir)/state.rejected" ]
	make_approved_call write_state serial=9 lineage=two
	run_sbx 1 bash -c "sbx-run <'$T/call'"
	assert_json .result.code state_rejected
	run_sbx 0 chain read_state
	assert_json '.result.stdout | contains("\"serial\":5")' true
}

@test "a state that cannot be taken back waits for mending" {
	make_approved_call write_state serial=1
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	local backup
	backup=$(dirname "$(find "$T/var/state/ws" "$T/var/ws" -name terraform.tfstate 2>/dev/null)")/terraform.tfstate.backup
	mkdir -p "$backup/in-the-way"
	make_approved_call write_state serial=2
	run_sbx 1 bash -c "sbx-run <'$T/call'"
	assert_json .result.code state_not_taken
	assert_json .result.state failed
	assert_json .result.state_file not_taken
	assert_contains "$output" "sbx-run --mend $(jq -r .call.id "$T/call")"
	[ -s "$(call_dir)/state" ]
	[ ! -e "$(call_dir)/state.rejected" ]
	rm -r "$backup"
	run_sbx 0 sbx-run --mend "$(jq -r .call.id "$T/call")"
	assert_json .state_file taken
	run_sbx 0 chain read_state
	assert_json '.result.stdout | contains("\"serial\":2")' true
}

# --- plans ---

terraform_dir() {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip "neither terraform nor tofu is here"
	cat >"$T/work/envs/staging/main.tf" <<-'EOT'
		resource "terraform_data" "web" {
		  input = "v1"
		}
	EOT
}

# every_apply_is_signed: terraform_apply asks a person whatever the plan does.
every_apply_is_signed() {
	sed -i 's/^tier: medium/tier: high/' "$T/policy/tools/terraform_apply.yaml"
}

plan_id() {
	printf '%s' "$output" | member .result.plan.id
}

@test "a plan is judged, kept and applied once; a safe one without a person" {
	terraform_dir
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json .result.state completed
	assert_json .result.verdict safe
	assert_json '.result.findings | length' 0
	assert_json '.result.safe[0].address' terraform_data.web
	assert_json '.result.safe[0].actions | join(" ")' create
	assert_json .result.safe_total 1
	assert_json .result.counts.create 1
	assert_json .result.data_destroyed 0
	assert_json '.result.digest | [.artefact, .effect] | map(length) | join(" ")' '64 64'
	assert_json .result.stdout ""
	assert_json .result.stderr ""
	local plan
	plan=$(plan_id)
	assert_equal "$(jq -c '.seal | [.verdict, .data_destroyed, (.digest | keys)]' "$T/var/plans/$plan/seal.json")" '["safe",0,["artefact","effect"]]'
	run_sbx 0 chain terraform_apply "plan=$plan"
	assert_json .policy.tier medium
	assert_json .approval.state none
	assert_json .result.state completed
	assert_json .result.state_file taken
	assert_equal "$(ls -A "$T/var/plans")" ''
	run_sbx 77 sbx-policy terraform_apply "plan=$plan"
	assert_call plan_unknown
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json .result.findings_total 0
	assert_json .result.safe_total 0
	assert_json .result.counts.noop 1
}

@test "an apply that ends well and leaves the state as it was is no success, unless the plan changes nothing" {
	terraform_dir
	tool lazy_apply <<-'EOT'
		name: lazy_apply
		description: Says that it applied a plan.
		tier: medium
		params:
		  plan: {type: plan}
		workspace: {state: {access: write}}
		steps:
		  - [stepper, cat, {artifact: plan}]
	EOT
	run_sbx 0 chain terraform_plan dir=envs/staging
	run_sbx 1 chain lazy_apply "plan=$(plan_id)"
	assert_json .result.state failed
	assert_json .result.code state_unchanged
	assert_json .result.state_file unchanged
	run_sbx 0 chain terraform_plan dir=envs/staging
	run_sbx 0 chain terraform_apply "plan=$(plan_id)"
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json .result.counts.noop 1
	run_sbx 0 chain lazy_apply "plan=$(plan_id)"
	assert_json .result.state completed
}

@test "a plan with a finding needs a person" {
	terraform_dir
	sed -i 's|input = "v1"|input = "v1"\n  triggers_replace = ["a"]|' "$T/work/envs/staging/main.tf"
	run_sbx 0 chain terraform_plan dir=envs/staging
	run_sbx 0 chain terraform_apply "plan=$(plan_id)"
	sed -i 's|\["a"\]|["b"]|' "$T/work/envs/staging/main.tf"
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json .result.verdict destructive
	assert_json '.result.findings[0].signals[0]' replace
	assert_json '.result.findings[0].because[0]' triggers_replace
	local plan
	plan=$(plan_id)
	run_sbx 75 chain terraform_apply "plan=$plan"
	assert_json .policy.tier high
	assert_json '.policy.tier_from | join(" ")' plan
	make_approved_call terraform_apply "plan=$plan"
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	assert_json .result.state completed
}

@test "a plan that destroys what holds data needs several people, or one where the policy says so" {
	terraform_dir
	sed -i 's|input = "v1"|input = "v1"\n  triggers_replace = ["a"]|' "$T/work/envs/staging/main.tf"
	mkdir -p "$T/policy/signals"
	echo 'holds_data: [terraform_data]' >"$T/policy/signals/data.yaml"
	chmod -R go-w "$T/policy"
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json .result.data_destroyed 0
	run_sbx 0 chain terraform_apply "plan=$(plan_id)"
	sed -i 's|\["a"\]|["b"]|' "$T/work/envs/staging/main.tf"
	run_sbx 0 chain terraform_plan dir=envs/staging
	assert_json .result.data_destroyed 1
	assert_json '.result.findings[0].holds_data' true
	local plan
	plan=$(plan_id)
	run_sbx 75 chain terraform_apply "plan=$plan"
	assert_json .approval.needed 2
	assert_json .policy.tier critical
	assert_json '.policy.tier_from | join(" ")' plan_data
	echo 'tiers: {critical: {threshold: 1, user_verification: false}}' >>"$T/policy/policy.yaml"
	run_sbx 75 chain terraform_apply "plan=$plan"
	assert_json .policy.tier critical
	run_sbx 0 sbx-approve show "$(printf '%s' "$output" | member .approval.id)"
	assert_contains "$output" "Data is lost: 1 object that holds data is destroyed"
	assert_contains "$output" "the data in it is lost [destructive]"
	make_approved_call terraform_apply "plan=$plan"
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	assert_json .result.state completed
}

# A plan that a tool of the test makes and applies: it has no state, so no lock of a state keeps two runs apart.
add_plan_tools() {
	cp "$ROOT/test/corpus/plans/create.plan.json" "$T/work/plan.json"
	tool made_plan <<-'EOT'
		name: made_plan
		description: Keeps a plan that creates things.
		tier: low
		workspace: {tree: ., cwd: .}
		steps:
		  - [stepper, write, plan.bin, x]
		  - {argv: [stepper, cat, plan.json], analyse: terraform}
		produces: {plan: plan.bin}
	EOT
	tool slow_apply <<-EOT
		name: slow_apply
		description: Runs a plan, and waits.
		tier: medium
		params:
		  plan: {type: plan}
		workspace: {}
		steps:
		  - [stepper, out, $MARK, then, sleep, {artifact: plan}]
		limits: {deadline: 20s, grace: 1s}
	EOT
}

@test "two calls with one safe plan at once: one runs, and HUP stops it" {
	add_plan_tools
	run_sbx 0 chain made_plan
	assert_json .result.verdict safe
	local plan
	plan=$(plan_id)
	make_call slow_apply "plan=$plan"
	mv "$T/call" "$T/second"
	make_call slow_apply "plan=$plan"
	assert_equal "$(jq -r .approval.state "$T/call")" none
	start_run
	run_sbx 77 bash -c "sbx-run <'$T/second'"
	assert_call plan_unknown
	assert_json .result.state refused
	run_sbx 77 sbx-policy slow_apply "plan=$plan"
	assert_call plan_unknown
	# Nobody signed for it, so it is worth stopping when its reader goes.
	kill -HUP "$RUN"
	end_run
	assert_json .result.state cancelled
	assert_equal "$(ls -A "$T/var/plans")" ''
	assert_equal "$(grep -c '"event":"sandbox.started"' "$T/var/audit.jsonl")" 2
}

@test "a principal keeps twenty plans, and no more" {
	add_plan_tools
	run_sbx 0 chain made_plan
	local kept i
	kept=$(plan_id)
	for i in {10..28}; do
		cp -r "$T/var/plans/$kept" "$T/var/plans/000000000000000000000000000000$i"
	done
	run_sbx 69 chain made_plan
	assert_call too_many_plans
	assert_contains "$output" "expires"
	assert_json .result.plan null
	assert_equal "$(find "$T/var/plans" -mindepth 1 -maxdepth 1 | wc -l)" 20
	rm -r "$T/var/plans/00000000000000000000000000000010"
	run_sbx 0 chain made_plan
}

@test "many calls with one safe plan: the state lock and the plan let one through" {
	terraform_dir
	run_sbx 0 chain terraform_plan dir=envs/staging
	local plan i
	plan=$(plan_id)
	for i in 1 2 3 4; do
		make_call terraform_apply "plan=$plan"
		mv "$T/call" "$T/call$i"
	done
	for i in 1 2 3 4; do
		sbx-run <"$T/call$i" >"$T/out$i" 2>/dev/null 3>&- &
	done
	wait
	assert_equal "$(jq -s 'map(select(.result.state == "completed")) | length' "$T"/out?)" 1
	assert_equal "$(jq -rs 'map(select(.error).error.code) | unique | join(" ")' "$T"/out?)" plan_unknown
}

@test "a plan whose run was killed is gone, one that was never begun is not" {
	add_plan_tools
	run_sbx 0 chain made_plan
	local plan
	plan=$(plan_id)
	# No record, no action: and the plan is as it was.
	make_call slow_apply "plan=$plan"
	chmod 666 "$T/var/audit.jsonl"
	run_sbx 78 bash -c "sbx-run <'$T/call'"
	assert_call audit_unsafe
	chmod 600 "$T/var/audit.jsonl"
	[ -s "$T/var/plans/$plan/seal.json" ]
	make_call slow_apply "plan=$plan"
	start_run
	kill -KILL "$RUN"
	wait "$RUN" || true
	wait_until 10 no_sleeper
	run_sbx 77 sbx-policy slow_apply "plan=$plan"
	assert_call plan_unknown
	# What is left of it goes when the call is mended.
	[ -e "$T/var/plans/.used-$plan/plan.bin" ]
	wait_until 10 sbx-audit --mend "$(jq -r .call.id "$T/call")"
	[ ! -e "$T/var/plans/.used-$plan" ]
}

@test "a driver that refuses gives the plan back, one that dies does not" {
	add_plan_tools
	fake_driver <<-EOT
		hello
		frame step 1 ''
		frame exit 1 '{"exit":0}'
		frame artifact 1 '{"name":"plan","sha256":"$(printf x | sha256sum | cut -d' ' -f1)","size":1}'
		frame data 1 x
		frame step 2 ''
		frame out 2 "\$(cat "$T/work/plan.json")"
		frame exit 2 '{"exit":0}'
		frame end 0 '{}'
	EOT
	make_call made_plan
	run_fake 0
	local plan
	plan=$(plan_id)
	fake_driver <<<'hello; frame refused 0 "{\"code\":\"isolation_too_weak\",\"message\":\"not enough\"}"'
	make_call slow_apply "plan=$plan"
	run_fake 77
	assert_call isolation_too_weak
	[ -s "$T/var/plans/$plan/seal.json" ]
	fake_driver <<<'exit 71'
	make_call slow_apply "plan=$plan"
	run_fake 71
	assert_call driver_failed
	assert_equal "$(ls -A "$T/var/plans")" ''
}

@test "without the signal rules of its policy no plan is judged" {
	add_plan_tools
	make_call made_plan
	local signals
	signals=$T/var/cache/$(jq -r .policy.policy_sha256 "$T/call")/signals
	mv "$signals" "$T/kept"
	run_sbx 78 bash -c "sbx-run <'$T/call'"
	assert_call signals_missing
	assert_contains "$output" 'sbx-policy test'
	assert_json .result.state refused
	refute_contains "$(events)" sandbox.started
	# A tool that judges nothing needs none.
	run_sbx 0 chain true
	make_call made_plan
	ln -sf "$T/kept" "$signals"
	run_sbx 78 bash -c "sbx-run <'$T/call'"
	assert_call signals_missing
	make_call made_plan
	mv "$T/kept" "$signals"
	run_sbx 0 bash -c "sbx-run <'$T/call'"
}

@test "what changed since the plan was made is named, and the approval comes back" {
	terraform_dir
	every_apply_is_signed
	local plan
	plan=$(chain terraform_plan dir=envs/staging 2>/dev/null | member .result.plan.id)
	make_approved_call terraform_apply "plan=$plan"
	echo '# a comment' >>"$T/work/envs/staging/main.tf"
	run_sbx 77 bash -c "sbx-run <'$T/call'"
	assert_call plan_tree_changed
	assert_contains "$(printf '%s' "$output" | member .error.message)" "the directory changed"
	[ -s "$(call_dir)/refused" ]
	sed -i '$d' "$T/work/envs/staging/main.tf"
	sbx-policy terraform_apply "plan=$plan" 2>/dev/null | sbx-approve >"$T/again" 2>/dev/null
	assert_equal "$(jq -r .approval.state "$T/again")" claimed
}

@test "a lock file and a state that changed are named" {
	terraform_dir
	every_apply_is_signed
	local plan
	plan=$(chain terraform_plan dir=envs/staging 2>/dev/null | member .result.plan.id)
	make_approved_call terraform_apply "plan=$plan"
	: >"$T/work/envs/staging/.terraform.lock.hcl"
	run_sbx 77 bash -c "sbx-run <'$T/call'"
	assert_contains "$(printf '%s' "$output" | member .error.message)" "lock file"
	rm "$T/work/envs/staging/.terraform.lock.hcl"
	make_call terraform_apply "plan=$plan"
	printf '{"version":4,"terraform_version":"1.11.4","serial":3,"lineage":"one","outputs":{},"resources":[]}\n' >"$T/s"
	sbx-run adopt-state envs/staging "$T/s"
	run_sbx 77 bash -c "sbx-run <'$T/call'"
	assert_contains "$(printf '%s' "$output" | member .error.message)" "state"
}

@test "a plan that sbx-plan does not take is not kept, and its words stay here" {
	run_sbx 1 chain nonsense_plan
	assert_json .result.state failed
	assert_json .result.code plan_unreadable
	assert_json .result.plan null
	assert_json .result.stdout ""
	assert_json .result.stderr said-aloud
	refute_contains "$(printf '%s' "$output" | jq -c .result)" secret-words
	[ ! -e "$T/var/plans" ] || [ -z "$(ls "$T/var/plans")" ]
}

@test "an init that cannot fetch says how to" {
	terraform_dir
	cat >"$T/work/envs/staging/main.tf" <<-'EOT'
		terraform {
		  required_providers {
		    null = { source = "hashicorp/null" }
		  }
		}
		resource "null_resource" "x" {}
	EOT
	run_sbx 1 chain terraform_plan dir=envs/staging
	assert_json .result.state failed
	assert_json .result.code not_fetched
	assert_contains "$(printf '%s' "$output" | member .result.hint)" "providers mirror"
	mkdir "$T/mirror"
	printf 'mirror: %s\n' "$T/mirror" >>"$T/policy/policy.yaml"
	run_sbx 1 chain terraform_plan dir=envs/staging
	assert_contains "$(printf '%s' "$output" | member .result.hint)" "terraform providers mirror $T/mirror"
}
