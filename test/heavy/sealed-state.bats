#!/usr/bin/env bats
# A state that only the sandbox can reach: a step prints it when the plan is made, and again before the plan runs. It is compared there and here, and never
# leaves the sandbox. A program of the tests stands for terraform, and prints the state that the call names.

load ../helpers
load ../sealed

setup() {
	sealed_setup
	tool make_plan <<-'EOT'
		name: make_plan
		description: Keeps a plan, and the digest of the state that it is made against.
		tier: low
		params:
		  state: {type: dns_label}
		workspace: {tree: ., cwd: envs/staging}
		steps:
		  - {argv: [tf, cat, "../../states/{state}"], seals: state}
		  - [tf, write, plan.bin, the-plan]
		  - {argv: [tf, cat, ../../plan.json], analyse: terraform}
		produces: {plan: plan.bin}
	EOT
	tool run_plan <<-'EOT'
		name: run_plan
		description: Runs a plan once it has seen the same state.
		tier: medium
		params:
		  plan: {type: plan}
		  state: {type: dns_label}
		steps:
		  - {argv: [tf, cat, "../../states/{state}"], seals: state}
		  - [tf, cat, {artifact: plan}]
	EOT
	printf 'terraform {\n  backend "http" {}\n}\n' >"$T/work/envs/staging/backend.tf"
	mkdir "$T/work/states"
	state_file 3 one '"secret":{"value":"kept-inside","type":"string"}' >"$T/work/states/third"
	state_file 4 one >"$T/work/states/fourth"
	state_file 3 two >"$T/work/states/foreign"
	state_file 3 one '"secret":{"value":"another","type":"string"}' >"$T/work/states/edited"
	echo '{"version":4}' >"$T/work/states/partial"
	echo 'Error: no state' >"$T/work/states/none"
	: >"$T/work/states/empty"
}

# made STATE: sets $plan.
made() {
	run_sbx 0 chain make_plan "state=$1"
	plan=$(member .result.plan.id <<<"$output")
	[ "${#plan}" -eq 32 ]
	refute_contains "$output" kept-inside
}

# differs STATE CODE: the plan does not run with that state, and its second step never starts.
differs() {
	run_sbx 1 chain run_plan "plan=$plan" "state=$1"
	assert_json .result.state failed
	assert_json .result.code "$2"
	refute_contains "$stderr" 'step 2'
	refute_contains "$output" the-plan
}

@test "lineage, serial and digest are in the seal; the state is nowhere; with the same one the plan runs" {
	made third
	assert_equal "$(member '.seal.state | [.lineage, .serial, .sha256] | map(tostring) | join(" ")' <"$T/var/plans/$plan/seal.json")" \
		"one 3 $(sha256sum <"$T/work/states/third" | cut -d' ' -f1)"
	run -1 grep -rq kept-inside "$T"/var/plans/*/seal.json "$T"/var/plans/*/findings.json "$T/var/audit.jsonl"
	run -1 grep -rq kept-inside "$T/var/runs"
	run_sbx 0 chain run_plan "plan=$plan" "state=third"
	assert_json .result.stdout the-plan
}

@test "no state, then and now" {
	made empty
	assert_equal "$(member '.seal.state | [.lineage, .serial] | map(tostring) | join(" ")' <"$T/var/plans/$plan/seal.json")" ' -1'
	run_sbx 0 chain run_plan "plan=$plan" state=empty
	assert_json .result.stdout the-plan
}

@test "a higher serial" {
	made third
	differs fourth plan_serial_changed
}

@test "another lineage" {
	made third
	differs foreign plan_lineage_changed
}

@test "the same serial with another content, which terraform itself takes" {
	made third
	differs edited plan_state_changed
}

@test "compared by a check, a difference refuses the call, and the plan is there for the next one" {
	sed -i 's/seals: state}/seals: state, check: true}/' "$T/policy/tools/run_plan.yaml"
	made third
	run_sbx 77 chain run_plan "plan=$plan" state=fourth
	assert_call plan_serial_changed
	assert_json .result.state refused
	refute_contains "$output" kept-inside
	run_sbx 77 chain run_plan "plan=$plan" state=none
	assert_call state_unreadable
	run_sbx 0 chain run_plan "plan=$plan" state=third
	assert_json .result.stdout the-plan
	run_sbx 77 chain run_plan "plan=$plan" state=third
	assert_call plan_unknown
}

@test "something that is no state" {
	run_sbx 1 chain make_plan state=partial
	assert_json .result.code state_unreadable
	made third
	differs none state_unreadable
}

@test "a plan whose maker sealed no state is not run by a tool that compares it" {
	sed -i 's|- {argv: \(.*\), seals: state}|- \1|' "$T/policy/tools/make_plan.yaml"
	made empty
	run_sbx 78 chain run_plan "plan=$plan" state=empty
	assert_json .error.code state_not_sealed
}

@test "where seals: may stand" {
	local line
	# bad SED WORDS: the policy with run_plan changed is refused, in these words.
	bad() {
		cp "$T/policy/tools/run_plan.yaml" "$T/good"
		sed -i "$1" "$T/policy/tools/run_plan.yaml"
		run_sbx 78 sbx-policy list
		assert_contains "$stderr" "$2"
		cp "$T/good" "$T/policy/tools/run_plan.yaml"
	}
	bad 's/seals: state/seals: plan/' 'no seal covers this'
	bad '/plan: {type: plan}/d; /artifact: plan/d' 'neither makes a plan nor takes one'
	bad 's/^steps:/workspace: {state: {access: write}}\nsteps:/' 'is sealed already'
	bad 's/seals: state}/seals: state, analyse: terraform}/' 'what is analysed is no state'
	run_sbx 0 sbx-policy list
}
