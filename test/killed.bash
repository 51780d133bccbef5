# Shared by the bats files in which somebody is killed in the middle of what terraform does.

killed_setup() {
	fresh_state
	new_signer person
	# A terraform whose second object takes its time, in a program that waits; both tools have a credential.
	sed -i "s|  terraform:|  terraform:\n    mounts: [\"$SBX_BUILD/test/stepper\"]|; s|env_allowed: \[KUBE_CONFIG_PATH\]|env_allowed: [SBX_TOKEN]|" "$T/policy/policy.yaml"
	for tool in terraform_plan terraform_apply; do
		sed -i 's|^# credentials:.*||; s|^credentials:.*||' "$T/policy/tools/$tool.yaml"
		echo 'credentials: [{scope: test-read, as: token, env: SBX_TOKEN}]' >>"$T/policy/tools/$tool.yaml"
	done
	cat >"$T/work/envs/staging/main.tf" <<-EOF
		resource "terraform_data" "first" {
		  input = "made before the kill"
		}
		resource "terraform_data" "second" {
		  input = terraform_data.first.id
		  provisioner "local-exec" {
		    interpreter = ["$SBX_BUILD/test/stepper"]
		    command     = "sleep"
		  }
		}
	EOF
}

killed_teardown() {
	local pid
	for pid in $(pgrep -f -- "$T/[s]bx.yaml"); do
		kill -TERM "$pid" 2>/dev/null || true
	done
}

# Finds the process of the step: a grandchild of sbx-run.
step_runs() {
	local driver entry
	driver=$(pgrep -P "$(stage_pid sbx-run)" | head -n 1)
	entry=$(pgrep -P "$driver" | head -n 1)
	step=$(pgrep -P "$entry" | head -n 1)
	[ -n "$step" ]
}

# No process of this test's installation.
none_left() {
	[ -z "$(pgrep -f -- "$T/[s]bx.yaml")" ]
}

signed_apply() { # leaves an apply running whose first object is in the state; its door's pid is in $door
	run_sbx 0 sbx-call terraform_plan dir=envs/staging
	plan=$(member .result.plan.id <<<"$output")
	run_sbx 75 sbx-call terraform_apply plan="$plan"
	run_sbx 0 sbx-approve sign "$(member .approval.id <<<"$output")" --key "$T/person"
	sbx-call terraform_apply plan="$plan" >"$T/out" 2>"$T/err" 3>&- &
	door=$!
	wait_until 30 state_is_written || {
		cat "$T/out" "$T/err"
		return 1
	}
}

state_is_written() {
	grep -qs 'made before the kill' "$T"/var/runs/*/state
}

stage_pid() { # PROGRAM
	pgrep -f -- "^(.*/)?$1 .*$T/sbx.yaml" | head -n 1
}

mended() {
	wait_until 30 none_left
	run_sbx 0 sbx-call --mend
	run_sbx 0 sbx-call --mend
}

no_live_credential() {
	local issued revoked
	issued=$(grep -c '"event":"credential.issued"' "$T/var/audit.jsonl")
	revoked=$(grep '"event":"credential.revoked"' "$T/var/audit.jsonl" | jq -r .jti | sort -u | wc -l)
	[ "$issued" -gt 0 ]
	assert_equal "$revoked" "$issued"
	assert_equal "$(find "$T/var/leases" -type f 2>/dev/null | wc -l)" 0
}

last_result() {
	jq -r 'select(.event == "tool.result") | .state // .code' "$T/var/audit.jsonl" | tail -n 1
}

# killed_in_apply PROGRAM: it is, and what is left is mended.
killed_in_apply() {
	local victim=$1
	rm -rf "$T/var/ws" "$T/var/plans"
	signed_apply
	if [ "$victim" = sbx-call ]; then
		kill -9 "$door"
	else
		kill -9 "$(stage_pid "$victim")"
	fi
	# What is left of the call may finish or stop by itself, but a step that waits for ever has to be cancelled first.
	pkill -TERM -f -- "^(.*/)?sbx-cred .*$T/sbx.yaml" || true
	pkill -TERM -f -- "^(.*/)?sbx-run .*$T/sbx.yaml" || true
	wait "$door" || true
	mended
	no_live_credential
	assert_contains "$(cat "$T"/var/ws/*/*/terraform.tfstate)" 'made before the kill'
	case $(last_result) in
	cancelled | unknown | failed | run_died) ;;
	*)
		echo "killed $victim, and the record says: $(last_result)"
		return 1
		;;
	esac
	run_sbx 0 sbx-audit verify
}

# slow_plan: the tool that makes one and takes its time.
slow_plan() {
	cat >"$T/policy/tools/slow_plan.yaml" <<-'EOF'
		name: slow_plan
		title: A plan that takes its time
		description: Waits with a credential and a workspace copy.
		tier: low
		params:
		  dir: {type: directory, under: [envs/*], description: The directory}
		workspace: {tree: ., cwd: "{dir}", state: {path: "{dir}", access: read}}
		steps:
		  - [terraform, init, -input=false, -no-color]
		  - [stepper, sleep]
		credentials: [{scope: test-read, as: token, env: SBX_TOKEN}]
		tests:
		  - {given: {dirs: [envs/staging]}, params: {dir: envs/staging}, expect: allow}
	EOF
}

# killed_in_plan PROGRAM: it is, and what is left is mended.
killed_in_plan() {
	local victim=$1 before
	before=$(grep -cs sandbox.started "$T/var/audit.jsonl" || true)
	sbx-call slow_plan dir=envs/staging >"$T/out" 2>"$T/err" 3>&- &
	door=$!
	wait_until 30 bash -c "[ \$(grep -cs sandbox.started '$T/var/audit.jsonl') -gt ${before:-0} ]"
	step=''
	wait_until 30 step_runs
	if [ "$victim" = sbx-run-local ]; then
		kill -9 "$(pgrep -P "$(stage_pid sbx-run)" | head -n 1)"
	else
		kill -9 "$(stage_pid "$victim")"
	fi
	wait "$door" || true
	mended
	no_live_credential
	[ "$(last_result)" != completed ]
	[ ! -e "/proc/$step" ]
}
