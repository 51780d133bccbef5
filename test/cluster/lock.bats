# The lock of a state in the cluster, left by an apply that was killed: the next apply takes it away, when the call is mended; from this machine, and on the
# cluster, where a Pod's name has a suffix.

export DEMO=${DEMO:-sbx-lock-$RANDOM}

load ../helpers
load cluster
load tools

setup_file() {
	export SBX_IMAGE=localhost/sbx-lock:1
	cluster_setup_file "terraform=$(command -v terraform)"
	tools_setup_file
	demo_apply
}

teardown_file() { terraform_teardown_file; }

setup() {
	tools_setup
	LEASE=lock-tfstate-default-far
	export SBX_TEST_TIMEOUT=180
	sed -i "/^mirror:/d; s/sbx-demo/$DEMO/" "$T/policy/policy.yaml"
	kube delete secrets,leases --all --namespace="$DEMO-state"
	mkdir "$T/work/far"
	configured
	"$ROOT/scripts/demo.d/init-state" "$T/work/far" "$T" "$SBX_CONTEXT"
	new_signer alice
}

teardown() {
	[ -z "${DOOR-}" ] || kill "$DOOR" 2>/dev/null || true
}

# configured [PROGRAM]: a directory with one resource, and one more that does not come to an end.
configured() {
	cat >"$T/work/far/main.tf" <<-EOF
		terraform {
		  backend "kubernetes" {
		    namespace     = "$DEMO-state"
		    secret_suffix = "far"
		  }
		}
		resource "terraform_data" "one" {}
	EOF
	[ $# -eq 0 ] || cat >>"$T/work/far/main.tf" <<-EOF
		resource "terraform_data" "two" {
		  provisioner "local-exec" {
		    interpreter = ["$1"]
		    command     = "stubborn"
		  }
		}
	EOF
}

# planned: the id in $plan; it is signed where it has to be.
planned() {
	run_sbx 0 sbx-call terraform_plan target=rig dir=far
	plan=$(member .result.plan.id <<<"$output")
	[ "$(member .result.verdict <<<"$output")" != safe ] || return 0
	run_sbx 75 sbx-call terraform_apply "plan=$plan"
	sbx-approve sign "$(member .approval.id <<<"$output")" --key "$T/alice" >"$T/text" 2>"$T/sign.err" </dev/null
}

lease() { kube get lease "$LEASE" --namespace="$DEMO-state" --ignore-not-found -o "jsonpath=$1"; }
locked() { [ -n "$(lease '{.spec.holderIdentity}')" ]; }
info() { lease '{.metadata.annotations.app\.terraform\.io/lock-info}'; }

# the_lock WHO: it says that it is theirs.
the_lock() {
	kube annotate lease "$LEASE" --namespace="$DEMO-state" --overwrite "app.terraform.io/lock-info=$(info | jq -c --arg who "$1" '.Who = $who')"
}

# is_taken_away PROGRAM KILL [SUFFIX]: an apply that PROGRAM keeps from its end, on a machine whose name ends so, is ended by the command KILL.
is_taken_away() {
	local who info
	configured "$1"
	planned
	sbx-call terraform_apply "plan=$plan" >"$T/out" 2>"$T/err" 3>&- &
	DOOR=$!
	wait_until 60 locked
	call=$(sed -n 's/^sbx-policy: call //p' "$T/err")
	info=$(info)
	who=$(member .Who <<<"$info")
	# That of a call that lives stays.
	configured
	planned
	run_sbx 1 sbx-call terraform_apply "plan=$plan"
	assert_json .result.code state_locked
	assert_contains "$(member .result.hint <<<"$output")" "--request-id $call; it is still at work"
	kill -0 "$DOOR"
	[[ $who =~ @sbx-$call${3-}$ ]]
	"$2"
	wait "$DOOR" || true
	DOOR=
	wait_until 60 eval 'sbx-audit --mend; sbx-audit show --event tool.result --json | grep -q "$call"'
	locked || lock_again
	# So does that of anybody else.
	the_lock alice@laptop.example
	planned
	run_sbx 1 sbx-call terraform_apply "plan=$plan"
	assert_json .result.code state_locked
	assert_json .result.unlocked null
	assert_contains "$(member .result.hint <<<"$output")" 'by alice@laptop.example'
	the_lock "$who"
	locked
	planned
	run_sbx 0 sbx-call terraform_apply "plan=$plan"
	assert_json .result.state completed
	assert_json .result.unlocked.call "$call"
	! locked || return 1
	assert_equal "$(sbx-audit show --event state.unlocked --json | member .left_by)" "$call"
	[ ! -e "$T/var/locks/$call" ]
	sbx-audit verify
}

kill_driver() {
	kill -KILL "$(grep -slzxF -e "$call" /proc/[0-9]*/cmdline | xargs -r grep -slz '^sbx-run-local$' | cut -d/ -f3)"
}

@test "from this machine: the driver is killed, and the sandbox with it" {
	sed -i 's/cluster-gvisor/local/' "$T/policy/policy.yaml"
	sed -i "0,/^    path: .*terraform.*/s||&\n    mounts: [\"$SBX_BUILD/test/probe\"]|" "$T/policy/policy.yaml"
	sed -i 's/^driver: .*/driver: local/' "$T/sbx.yaml"
	is_taken_away "$SBX_BUILD/test/probe" kill_driver
}

# A Pod is given a moment before it is killed, which is enough for Terraform to give the lock back. A node that loses its power gives it none.
lock_again() {
	kube patch lease "$LEASE" --namespace="$DEMO-state" --type=merge --patch \
		"$(jq -n --arg info "$info" '{metadata: {annotations: {"app.terraform.io/lock-info": $info}}, spec: {holderIdentity: ($info | fromjson.ID)}}')"
	locked
}

kill_pod() {
	kube delete pods --namespace=sbx-sandbox --selector="sbx/call=$call" --force --grace-period=0
}

@test "on the cluster: the Pod is killed" {
	is_taken_away /opt/sbx/probe/probe kill_pod '-[a-z0-9]+'
}
