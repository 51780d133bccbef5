# Shared by the bats files about a state that lies elsewhere, from local runs: the tools remote_plan, remote_apply and remote_force_unlock, which reach the
# destination `state`, and a directory envs/far whose state is there. $PORT is that of the server, on 127.0.0.1.

# remote_setup [CREDENTIAL]: with the policy of the tests; CREDENTIAL is what the tools' list of credentials has, SCOPE in it that of the tool.
remote_setup() {
	local tool scope from
	mkdir -p "$T/work/envs/far"
	sed -i '/^egress:/,$d' "$T/policy/policy.yaml"
	printf 'egress:\n  state: {to: "127.0.0.1:%s"}\n' "$PORT" >>"$T/policy/policy.yaml"
	for tool in plan apply force_unlock; do
		from=$ROOT/cluster/policy/tools/terraform_$tool.yaml scope=write
		[ "$tool" != force_unlock ] || from=$ROOT/policy/tools/terraform_$tool.yaml
		[ "$tool" != plan ] || scope=read
		sed -e "s/^name: terraform/name: remote/; /^credentials:/d; /^egress:/d; /^tests:/,\$d; /target: {type/d; s/under: \[\"\*\"\]/under: [envs\/*]/" \
			"$from" >"$T/policy/tools/remote_$tool.yaml"
		echo 'egress: [state]' >>"$T/policy/tools/remote_$tool.yaml"
		[ -z "${1-}" ] || echo "credentials: [${1//SCOPE/$scope}]" >>"$T/policy/tools/remote_$tool.yaml"
	done
	new_signer alice
}

# The Python that has moto: the machine's own, or one that gets it now. Fails where neither is to be had.
python_with_moto() {
	python3 -c 'import moto.server, boto3, sys; print(sys.executable)' 2>/dev/null && return
	local place
	place=$("$ROOT/test/packages" moto) && echo "$place/moto/bin/python3"
}

# s3_configuration: of a directory whose state is the object envs/far.tfstate of the bucket `state`.
s3_configuration() {
	cat <<-EOF
		terraform {
		  backend "s3" {
		    bucket                      = "state"
		    key                         = "envs/far.tfstate"
		    region                      = "us-east-1"
		    endpoints                   = { s3 = "http://127.0.0.1:$PORT" }
		    use_lockfile                = true
		    use_path_style              = true
		    skip_credentials_validation = true
		    skip_requesting_account_id  = true
		    skip_metadata_api_check     = true
		  }
		}
		resource "terraform_data" "one" {
		  input = "first"
		}
	EOF
}

# planned: the id of a plan in $plan.
planned() {
	run_sbx 0 sbx-call remote_plan dir=envs/far
	assert_json .result.state completed
	plan=$(member .result.plan.id <<<"$output")
}

# signed COMMAND...: asked, and signed by alice; the id of the approval in $approval.
signed() {
	run_sbx 75 "$@"
	approval=$(member .approval.id <<<"$output")
	sbx-approve sign "$approval" --key "$T/alice" >"$T/text" 2>"$T/sign.err" </dev/null
}

# inside_archive FILE: all that a plan file packs.
inside_archive() {
	python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as file:
    for name in file.namelist():
        sys.stdout.buffer.write(file.read(name))' "$1"
}

# stands_nowhere SECRET: it stands nowhere below the state directory, the plans with it, which are archives.
stands_nowhere() {
	local archive
	! grep -rlF -e "$1" "$T/var" || return 1
	for archive in "$T"/var/plans/*/plan.bin; do
		[ ! -e "$archive" ] || ! inside_archive "$archive" | grep -qaF -e "$1" || return 1
	done
}

# moved_state STORE NAME: `STORE get NAME` prints the state and `STORE put NAME` replaces it.
moved_state() {
	planned
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	sed -i 's/first/second/; s/input/triggers_replace/' "$T/work/envs/far/main.tf"
	planned
	signed sbx-call remote_apply "plan=$plan"
	"$1" get "$2" >"$T/before"
	jq '.serial += 1' "$T/before" | "$1" put "$2"
	run_sbx 77 sbx-call remote_apply "plan=$plan"
	assert_json .error.code plan_serial_changed
	assert_json .result.state refused
	refute_contains "$stderr" 'step 1'
	jq '.lineage = "another"' "$T/before" | "$1" put "$2"
	run_sbx 77 sbx-call remote_apply "plan=$plan"
	assert_json .error.code plan_lineage_changed
	"$1" put "$2" <"$T/before"
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	assert_json .approval.id "$approval"
	[ "$("$1" get "$2" | jq .serial)" -gt "$(jq .serial "$T/before")" ]
}

# hanging: the directory's apply begins something that does not end.
hanging() {
	sed -i "0,/^    path: .*terraform.*/s||&\n    mounts: [\"$SBX_BUILD/test/stepper\"]|" "$T/policy/policy.yaml"
	cat >>"$T/work/envs/far/main.tf" <<-EOF
		resource "terraform_data" "two" {
		  provisioner "local-exec" {
		    interpreter = ["$SBX_BUILD/test/stepper", "sleep", "then", "out"]
		    command     = "woken"
		  }
		}
	EOF
}

# applying: an apply that hangs with the lock in its hand, once `locked` says so, as $CALL_PID; its call is $call.
applying() {
	planned
	signed sbx-call remote_apply "plan=$plan"
	sbx-call remote_apply "plan=$plan" 3>&- >"$T/stopped" 2>"$T/stopped.err" &
	CALL_PID=$!
	wait_until 20 locked
	call=$(sbx-audit show --event sandbox.started --json | tail -n 1 | member .request_id)
}

# above: the driver of $call is $driver, and what is above it, up to the call, stands in the list above, from the outside in.
above() {
	local at
	driver=$(grep -slzxF -e "$call" /proc/[0-9]*/cmdline | xargs -r grep -slz '^sbx-run-local$' | cut -d/ -f3)
	above=() at=$driver
	while [ "$at" != "$CALL_PID" ]; do
		at=$(($(ps -o ppid= -p "$at")))
		above=($at "${above[@]}")
	done
	[ "${#above[@]}" -ge 3 ]
}

# killed_apply: an apply that is killed, sandbox and all, while it holds the lock. $killed is the call.
killed_apply() {
	applying
	killed=$call
	above
	kill -KILL "$driver"
	wait "$CALL_PID" || true
	CALL_PID=
	assert_equal "$(member .result.state <"$T/stopped")" unknown
}

# lock_is_left WORDS: a killed run leaves a lock, mending leaves it alone, and the next apply is told of it, as told_of_lock has it.
lock_is_left() {
	hanging
	killed_apply
	sbx-audit --mend
	locked
	sed -i '/"two"/,$d' "$T/work/envs/far/main.tf"
	planned
	told_of_lock "$1"
	assert_contains "$hint" "terraform_force_unlock {dir: \"envs/far\", lock_id: \"$id\"}"
}

# told_of_lock WORDS: the apply of $plan is told of the lock that is there, as $id in $hint, and by WORDS, in which CALL is the call $killed.
told_of_lock() {
	run_sbx 1 sbx-call remote_apply "plan=$plan"
	assert_json .result.state failed
	assert_json .result.code state_locked
	hint=$(member .result.hint <<<"$output")
	id=$(sed -nE 's/^the state has the lock ([0-9a-f-]{36})[,;].*/\1/p' <<<"$hint")
	assert_contains "$hint" "${1//CALL/$killed}"
	assert_json .result.unlocked null
	locked
}

# force_unlock RC ID: signed, and called.
force_unlock() {
	signed sbx-call remote_force_unlock dir=envs/far "lock_id=$2"
	assert_contains "$(cat "$T/text")" "$2"
	run_sbx "$1" sbx-call remote_force_unlock dir=envs/far "lock_id=$2"
}

# Nothing is in the way of an apply any more.
applies_again() {
	planned
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	assert_json .result.code null
}

remote_teardown() {
	[ -z "${CALL_PID-}" ] || kill "$CALL_PID" 2>/dev/null || true
	[ -z "${SERVER-}" ] || kill "$SERVER"
}
