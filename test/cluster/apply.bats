# An apply on a cluster that is cancelled or killed in its middle, with its approval spent, an object made and terraform at work: the record says what is known, the
# state says what exists, nothing of the call is left, and it does not run again. $SBX_MIRROR as in terraform.bats.

load ../helpers
load cluster
load pipeline
load tools

setup_file() { terraform_setup_file; }
teardown_file() { terraform_teardown_file; }

setup() {
	terraform_setup
	sed -i 's/grace: 60s/grace: 5s/' "$T/policy/tools/terraform_apply.yaml"
	RUN=$INSTALLED/bin/sbx-run DRIVER=$INSTALLED/libexec/sbx/sbx-run-kubernetes
}

teardown() {
	[ -z "${DOOR-}" ] || kill -KILL "$DOOR" 2>/dev/null || true
}

# then_runs WORD... COMMAND: behind the Deployment the configuration starts the probe, which takes its time.
then_runs() {
	cat >>"$T/work/k8s-demo/main.tf" <<-CONFIGURATION
		resource "terraform_data" "last" {
		  depends_on = [kubernetes_deployment.web]
		  provisioner "local-exec" {
		    interpreter = ["/opt/sbx/probe/probe"$(printf ', "%s"' "${@:1:$#-1}" | sed 's/, ""//')]
		    command     = "${!#}"
		  }
		}
	CONFIGURATION
	"$ROOT/scripts/demo.d/init-state" "$T/work/k8s-demo" "$MIRROR" "$SBX_CONTEXT"
}

# An approved apply is at its last object: sbx-call is $DOOR, its answer goes to $T/out.
apply_is_in_its_middle() {
	SBX_TEST_TIMEOUT=180 run_sbx 0 sbx-call terraform_plan target=rig dir=k8s-demo
	PLAN=$(member .result.plan.id <<<"$output")
	SBX_TEST_TIMEOUT=180 run_sbx 75 sbx-call terraform_apply "plan=$PLAN"
	sbx-approve sign "$(member .approval.id <<<"$output")" --key "$T/alice" >/dev/null 2>"$T/sign.err" </dev/null 3>&-
	sbx-call terraform_apply "plan=$PLAN" >"$T/out" 2>"$T/err" 3>&- &
	DOOR=$!
	wait_until 10 has_begun
	wait_until 40 is_at_its_last
}

has_begun() {
	CALL=$(sed -n 's/^sbx-policy: call //p' "$T/err")
	[ -n "$CALL" ]
}

# What terraform has said so far, out of the frames in the Pod's log.
is_at_its_last() {
	kube logs --namespace=sbx-sandbox --selector="sbx/call=$CALL" --tail=-1 2>/dev/null |
		python3 -c 'import base64, sys
for line in sys.stdin: sys.stdout.buffer.write(base64.b64decode(line.removeprefix("sbx-line ")))' >"$T/frames" &&
		grep -aq 'terraform_data.last: Provisioning' "$T/frames"
}

# The answer's exit status, once sbx-call has ended.
answered() { # STATUS
	local status=0
	wait "$DOOR" || status=$?
	DOOR=''
	cat "$T/out" "$T/err" # shown when it is another
	assert_equal "$status" "$1"
}

is_mended() {
	sbx-audit --mend >/dev/null 2>"$T/mend" 3>&- && all_is_gone && [ -z "$(without_end)" ]
}

# The result of the call, as the record has it.
recorded() {
	wait_until 30 is_mended
	sbx-audit verify >/dev/null 3>&-
	jq -r --arg call "$CALL" 'select(.request_id == $call and .event == "tool.result") | .state // .code' "$T/var/audit.jsonl"
}

# The types of the objects in the state.
in_state() {
	kube get secret tfstate-default-k8s-demo --namespace=sbx-demo-state -o 'jsonpath={.data.tfstate}' | base64 -d | gunzip |
		command jq -r '[.resources[] | select(.instances | any(.status != "tainted")) | .type] | join(" ")'
}

# The approval is spent, and so is the plan.
does_not_run_again() {
	local before
	before=$(kube get deployment web --namespace=sbx-demo --ignore-not-found -o 'jsonpath={.metadata.uid} {.metadata.generation}')
	SBX_TEST_TIMEOUT=180 run_sbx 77 sbx-call terraform_apply "plan=$PLAN"
	case $(member .error.code <<<"$output") in
	plan_unknown | outcome_unknown | approval_replayed) ;;
	*) return 1 ;;
	esac
	assert_equal "$(kube get deployment web --namespace=sbx-demo --ignore-not-found -o 'jsonpath={.metadata.uid} {.metadata.generation}')" "$before"
}

@test "cancelled: terraform is asked to stop, and its state says what exists" {
	then_runs stubborn
	apply_is_in_its_middle
	kill -TERM "$DOOR"
	answered 1
	assert_equal "$(member .result.state <"$T/out")" cancelled
	assert_equal "$(recorded)" cancelled
	assert_equal "$(in_state)" kubernetes_deployment
	does_not_run_again
	# And nobody holds its lock: the rest can be planned and applied.
	sed -i 's/"stubborn"/"fds"/' "$T/work/k8s-demo/main.tf"
	SBX_TEST_TIMEOUT=180 run_sbx 0 sbx-call terraform_plan target=rig dir=k8s-demo
	PLAN=$(member .result.plan.id <<<"$output")
	SBX_TEST_TIMEOUT=180 run_sbx 75 sbx-call terraform_apply "plan=$PLAN"
	sbx-approve sign "$(member .approval.id <<<"$output")" --key "$T/alice" >/dev/null 2>"$T/sign.err" </dev/null 3>&-
	SBX_TEST_TIMEOUT=180 run_sbx 0 sbx-call terraform_apply "plan=$PLAN"
	assert_equal "$(in_state)" 'kubernetes_deployment terraform_data'
}

# killed PROGRAM WORD: what the answer and the record say then.
killed() {
	then_runs stubborn
	apply_is_in_its_middle
	kill -KILL "$(process_of "$DOOR" "$1")"
	answered 3
	assert_equal "$(member '.error.code // .result.state' <"$T/out")" "$2"
	assert_equal "$(recorded)" "$2"
	does_not_run_again
}

@test "sbx-run is killed: nobody knows the outcome" {
	killed "$RUN" run_died
}

@test "the driver is killed: nobody knows the outcome" {
	killed "$DRIVER" unknown
}

@test "the dispatcher is killed: an apply that spent its approval goes on to its end, and its result waits" {
	then_runs tcp "${API_SERVER%:*}" 10250
	apply_is_in_its_middle
	kill -KILL "$DOOR"
	wait_until 40 has_result
	assert_equal "$(recorded)" completed
	assert_equal "$(in_state)" 'kubernetes_deployment terraform_data'
	run_sbx 0 sbx-audit result "$CALL"
	assert_json .result.state completed
	does_not_run_again
}

has_result() {
	jq -e --arg call "$CALL" 'select(.request_id == $call and .event == "tool.result")' "$T/var/audit.jsonl" >/dev/null
}
