# sbx-run and its note about the lock of a state elsewhere: there before it can be needed, and until it is certain that it is not, wherever sbx-run is killed.
# test/helpers/unlocker stands for Terraform's force-unlock, and the workspace for the backend.

load ../helpers
load ../sealed

setup() {
	sealed_setup
	tool make_plan <<-'EOT'
		name: make_plan
		description: Keeps a plan, and the digest of the state that it is made against.
		tier: low
		workspace: {tree: ., cwd: envs/staging}
		steps:
		  - {argv: [tf, cat, ../../remote], seals: state}
		  - [tf, write, plan.bin, the-plan]
		  - {argv: [tf, cat, ../../plan.json], analyse: terraform}
		produces: {plan: plan.bin}
	EOT
	tool run_plan <<-'EOT'
		name: run_plan
		description: Runs a plan once it has seen the same state, and taken away a lock.
		tier: medium
		params:
		  plan: {type: plan}
		  end: {type: integer, min: 0, max: 9, default: 0}
		steps:
		  - {argv: [tf, cat, ../../remote], seals: state, check: true}
		  - {argv: [unlocker, force-unlock, -force, {lock: left}], check: true}
		  - [tf, cat, {artifact: plan}, then, exit, "{end}"]
	EOT
	cp "$SBX_BUILD/test/unlocker" "$T/bin/unlocker"
	sed -i "s|^programs:|programs:\n  unlocker: {path: $T/bin/unlocker}|" "$T/policy/policy.yaml"
	backend s3
	state_file 3 one >"$T/work/remote"
	sed "s|^commands: .*|commands: [$T/capture, $T/faulty]|" -i "$T/sbx.yaml"
	write_file "$T/faulty" <<-EOF
		#!/bin/bash
		exec "$SBX_BUILD/test/fault_at" \$(cat "$T/fault") -- "$SBX_BIN/sbx-run" "\$@"
	EOF
	chmod 755 "$T/faulty"
}

# backend TYPE [SETTING]
backend() { printf 'terraform {\n  backend "%s" {\n    %s\n  }\n}\n' "$1" "${2-}" >"$T/work/envs/staging/backend.tf"; }

made() {
	run_sbx 0 chain make_plan
	plan=$(member .result.plan.id <<<"$output")
}

notes() { ls "$T/var/locks" 2>/dev/null | tr '\n' ' '; }

# run [WORD...]: the plan $plan is run by the whole chain; what it printed is in $T/out, and its call is $call.
run_it() {
	setsid -w bash -c 'sbx-policy run_plan "$@" | sbx-approve | sbx-cred '"${FAULTY:-sbx-run}"' | sbx-audit' run "plan=$plan" "$@" >"$T/out" 2>"$T/err" 3>&- || true
	call=$(sed -n 's/^sbx-policy: call //p' "$T/err")
	[ "${#call}" -eq 32 ]
}

# killed POINT...: sbx-run and what it had started is killed there, as fault_at has it; it is mended.
killed() {
	echo "$*" >"$T/fault"
	FAULTY=$T/faulty run_it
	wait_until 20 is_mended
}

# Its stage files look old, so that a call without a dead stage counts as dead, too.
is_mended() {
	find "$T/var/runs" -mindepth 2 -maxdepth 2 ! -name 'ended*' -exec touch -c -d '-2 minutes' {} +
	sbx-audit --mend 2>"$T/mend"
	compgen -G "$T/var/runs/$call/ended*" >/dev/null
}

started() { sbx-audit show --event sandbox.started --request-id "$call" --json; }

@test "killed behind each of its steps: without a note it has begun nothing, or it has completed" {
	local n seen=''
	for ((n = 1; n < 200; n++)); do
		made
		killed group-after "$n"
		[ ! -s "$T/out" ] || [ "$(member .result.state <"$T/out")" != completed ] || break
		begun=$(started)
		case ${begun:+started}:$(notes) in
		started:"$call ") seen+=' started+note' ;;
		started:) seen+=' started'; grep -q the-plan "$T/var/runs/$call/stdout" ;;
		:"$call ") seen+=' note' ;;
		:) seen+=' nothing'; [ ! -e "$T/var/runs/$call/stdout" ] ;;
		*) return 1 ;;
		esac
		rm -rf "$T/var/locks" "$T/var/plans"
	done
	[ "$n" -gt 50 ]
	# Each of them was met, and a note is never made behind the start.
	assert_equal "$(tr ' ' '\n' <<<"$seen" | uniq | tr '\n' ' ')" ' nothing note started+note started '
}

@test "a note is gone when the run completes or is refused; it stays when a step fails, and the next run may take that lock away" {
	made
	run_it
	assert_equal "$(member .result.state <"$T/out")" completed
	assert_equal "$(notes)" ''
	made
	sed -i 's|../../remote\(.*check\)|../../other\1|' "$T/policy/tools/run_plan.yaml"
	run_it
	assert_equal "$(member .result.state <"$T/out")" refused
	[ -n "$(started)" ]
	assert_equal "$(notes)" ''
	sed -i 's|../../other|../../remote|' "$T/policy/tools/run_plan.yaml"
	made
	run_it end=3
	assert_equal "$(member .result.exit <"$T/out")" 3
	assert_equal "$(notes)" "$call "
	failed=$call
	# Another state, which says nothing of that one; then the same, whose lock somebody has had since.
	backend s3 'key = "another"'
	made
	run_it
	assert_equal "$(member .result.state <"$T/out")" completed
	assert_equal "$(started | jq -c .may_unlock)" "[\"$failed\"]"
	assert_equal "$(notes)" "$failed "
	backend s3
	made
	run_it
	assert_equal "$(member .result.state <"$T/out")" completed
	assert_equal "$(started | jq -c .may_unlock)" "[\"$failed\"]"
	assert_equal "$(notes)" ''
}

@test "no note, and no look, for a backend that does not compare locks, and for a tool that takes none away" {
	mkdir -m 700 "$T/var/locks"
	dead=$(printf 'a%.0s' {1..32})
	touch "$T/var/locks/$dead"
	for backend in http gcs s3; do
		backend "$backend"
		echo "1-2 @sbx-$dead" >"$T/work/envs/staging/lock"
		made
		run_it end=3
		assert_equal "$(member .result.exit <"$T/out")" 3
		[ "$backend" = s3 ] || {
			assert_equal "$(notes)" "$dead "
			assert_equal "$(started | member .may_unlock)" null
			assert_equal "$(member .result.unlocked <"$T/out")" null
		}
	done
	# Its twin.
	assert_equal "$(notes)" "$call "
	assert_equal "$(started | jq -c .may_unlock)" "[\"$dead\"]"
	assert_equal "$(member .result.unlocked.lock <"$T/out")" 1-2
	rm "$T/var/locks/"*
	touch "$T/var/locks/$dead"
	sed -i '/lock: left/d' "$T/policy/tools/run_plan.yaml"
	made
	run_it end=3
	assert_equal "$(notes)" "$dead "
	assert_equal "$(started | member .may_unlock)" null
}

@test "killed between the release and its event: the record says which calls it was about" {
	mkdir -m 700 "$T/var/locks"
	dead=$(printf 'a%.0s' {1..32})
	touch "$T/var/locks/$dead"
	echo "1-2 @sbx-$dead" >"$T/work/envs/staging/lock"
	made
	killed group-after write/stdout/1
	assert_equal "$(started | jq -c .may_unlock)" "[\"$dead\"]"
	assert_contains "$(cat "$T/err")" 'took away the lock 1-2'
	assert_equal "$(sbx-audit show --event state.unlocked --json)" ''
	[[ "$(notes)" == *"$dead "* && "$(notes)" == *"$call "* ]]
	made
	run_it
	assert_equal "$(sbx-audit show --event state.unlocked --json | jq -c '[.request_id, .left_by, .lock]')" "[\"$call\",\"$dead\",\"1-2\"]"
}
