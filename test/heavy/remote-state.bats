# A state that lies elsewhere, from a local run: Terraform's http backend, reached as a destination of the tool, with the real terraform.

load ../helpers

setup() {
	fresh_state
	command -v terraform >/dev/null || skip 'no terraform'
	mkdir "$T/held"
	python3 "$ROOT/test/helpers/httpstate.py" "$T/port" "$T/held" 3>&- &
	SERVER=$!
	wait_until 10 test -s "$T/port"
	mkdir -p "$T/work/envs/far"
	cat >"$T/work/envs/far/main.tf" <<-EOF
		terraform {
		  backend "http" {
		    address        = "http://127.0.0.1:$(cat "$T/port")/state"
		    lock_address   = "http://127.0.0.1:$(cat "$T/port")/state"
		    unlock_address = "http://127.0.0.1:$(cat "$T/port")/state"
		  }
		}
		resource "terraform_data" "one" {
		  input = "first"
		}
	EOF
	sed -i '/^egress:/,$d' "$T/policy/policy.yaml"
	printf 'egress:\n  state: {to: "127.0.0.1:%s"}\n' "$(cat "$T/port")" >>"$T/policy/policy.yaml"
	for tool in plan apply; do
		sed -e "s/^name: terraform/name: remote/; s/^credentials:.*//; s/kubernetes-api/state/; /^tests:/,\$d; /target: {type/d; s/under: \[\"\*\"\]/under: [envs\/*]/" \
			"$ROOT/cluster/policy/tools/terraform_$tool.yaml" >"$T/policy/tools/remote_$tool.yaml"
	done
	new_signer alice
}

teardown() {
	[ -z "${SERVER-}" ] || kill "$SERVER"
}

# planned: the id of a plan in $plan.
planned() {
	run_sbx 0 sbx-call remote_plan dir=envs/far
	assert_json .result.state completed
	plan=$(member .result.plan.id <<<"$output")
}

serial() {
	jq -r .serial "$T/held/state"
}

@test "planned and applied; the state is there, and nobody holds its lock" {
	planned
	[ ! -e "$T/held/state" ]
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	assert_equal "$(jq -r '.resources[].type' "$T/held/state")" terraform_data
	[ ! -e "$T/held/lock" ]
	assert_equal "$(sbx-audit show --event sandbox.connections --json | jq -r '.connections[].destination' | sort -u)" state
}

@test "a state that has moved on refuses the call before anything begins, and its approval is there when it is back" {
	planned
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	sed -i 's/first/second/; s/input/triggers_replace/' "$T/work/envs/far/main.tf"
	planned
	run_sbx 75 sbx-call remote_apply "plan=$plan"
	approval=$(member .approval.id <<<"$output")
	sbx-approve sign "$approval" --key "$T/alice" >/dev/null 2>"$T/sign.err" </dev/null
	cp "$T/held/state" "$T/before"
	jq '.serial += 1' "$T/before" >"$T/held/state"
	run_sbx 77 sbx-call remote_apply "plan=$plan"
	assert_json .error.code plan_serial_changed
	assert_json .result.state refused
	jq '.lineage = "another"' "$T/before" >"$T/held/state"
	run_sbx 77 sbx-call remote_apply "plan=$plan"
	assert_json .error.code plan_lineage_changed
	cp "$T/before" "$T/held/state"
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	assert_json .approval.id "$approval"
	[ "$(serial)" -gt "$(jq -r .serial "$T/before")" ]
}

@test "a lock that another run left is named, and nothing changes" {
	planned
	echo '{"ID":"11111111-2222-3333-4444-555555555555","Operation":"OperationTypeApply","Who":"a@killed","Version":"1","Created":"2026-01-01T00:00:00Z"}' >"$T/held/lock"
	run_sbx 1 sbx-call remote_apply "plan=$plan"
	assert_json .result.state failed
	assert_contains "$(member .result.stderr <<<"$output")" 11111111-2222-3333-4444-555555555555
	[ ! -e "$T/held/state" ]
}

@test "a state without a lineage that is not the first is none" {
	echo '{"version":4,"terraform_version":"1.5.0","serial":3,"lineage":"","outputs":{},"resources":[]}' >"$T/held/state"
	run_sbx 1 sbx-call remote_plan dir=envs/far
	assert_json .result.code state_unreadable
}

@test "without the destination, the state is out of reach" {
	sed -i '/^egress:/d' "$T/policy/tools/remote_plan.yaml"
	run_sbx 1 sbx-call remote_plan dir=envs/far
	[ ! -e "$T/held/lock" ]
}
