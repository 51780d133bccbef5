# The same with the real terraform, at a few points drawn by lot: an apply of a sealed plan whose stage is killed runs once or not at all, its state is
# not lost, and the record says which.

load ../helpers
load ../kill

setup() {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	kill_setup
	# What is applied takes a ticket.
	sed -i "s|  terraform:|  terraform:\n    mounts: [\"$SBX_BUILD/test/bump\", \"$T/tickets\"]|; s|env_allowed: \[KUBE_CONFIG_PATH\]|env_allowed: [SBX_TOKEN]|" "$T/policy/policy.yaml"
	sed -i 's|^# credentials:.*|credentials: [{scope: test-read, as: token, env: SBX_TOKEN}]|; s|^tier: medium|tier: high|; /^tests:/,$d' "$T/policy/tools/terraform_apply.yaml"
	cat >"$T/work/envs/staging/main.tf" <<-EOF
		resource "terraform_data" "one" {
		  input = "made"
		  provisioner "local-exec" {
		    interpreter = ["$SBX_BUILD/test/bump", "$T/tickets"]
		    command     = "/tmp/bumped"
		  }
		}
	EOF
}

teardown() {
	[ -z "${TICKETS-}" ] || kill_teardown
}

# The approved request $ID to apply a fresh plan of a directory without state.
approved_apply() {
	rm -rf "$T/var/ws" "$T/var/plans"
	NOTE=$((NOTE + 1))
	CALL=(terraform_plan dir=envs/staging)
	chain none || complain 'no plan' || return 1
	CALL=(terraform_apply "plan=$(member .result.plan.id <"$T/out")")
	chain none || true
	ID=$(member .approval.id <"$T/out")
	sbx-approve sign "$ID" --key "$T/alice" </dev/null >/dev/null 2>&1
}

strike_apply() { # STAGE MODE POINT
	local before ran calls state status=0
	POINT="$*"
	approved_apply
	printf 'xxxx' >&"$TICKETS"
	before=$(tickets)
	chain "$@" || true
	mend || complain
	ran=$((before - $(tickets)))
	calls=$(claims)
	state=none
	[ -z "$calls" ] || state=$(result_of "$(tail -n 1 <<<"$calls")")
	[ "$ran" -le 1 ] || complain "it ran $ran times"
	[ "$ran" -eq 0 ] || [ "$(wc -w <<<"$calls")" -eq 1 ] || complain 'it ran without a claim'
	case $ran:$state in
	1:completed) grep -q made "$T"/var/ws/*/*/terraform.tfstate || complain 'the state is lost' ;;
	1:unknown | 1:run_died | 1:failed | 0:unknown | 0:run_died | 0:cancelled | 0:none) ;;
	*) complain "it ran $ran times and the record says $state" ;;
	esac
	check_left
	# The plan goes with the run that took it; a second run of it there is not.
	chain none || status=$?
	case $status:$(member .error.code <"$T/out") in
	0:*) [ "$ran" -eq 0 ] || complain 'a second run' ;;
	77:plan_unknown | 77:outcome_unknown | 77:approval_replayed | 75:approval_required) ;;
	*) complain "the same call again: status $status" ;;
	esac
	[ $((before - $(tickets))) -le 1 ] || complain 'two runs'
	read -r -N "$(tickets)" <&"$TICKETS"
	SEEN[$ran:$state]=$((${SEEN[$ran:$state]:-0} + 1))
}

@test "kill -9 in the middle of a real apply" {
	local stage at seed=${SBX_SEED:-$RANDOM}
	printf '# seed %s (SBX_SEED)\n' "$seed" >&3
	RANDOM=$seed
	for stage in approve cred run run run audit; do
		approved_apply
		printf 'x' >&"$TICKETS"
		rm -f "$T/points"
		chain "$stage" --log "$T/points" count
		assert_equal "$(tickets)" 0
		at=$(named <"$T/points" | sed -n "$((RANDOM % $(wc -l <"$T/points") + 1))p" | cut -d' ' -f1)
		printf '# %s, %s\n' "$stage" "$at" >&3
		strike_apply "$stage" after "$at"
	done
	show_seen 'ran:state'
	record_is_whole
}
