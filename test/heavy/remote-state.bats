# A state that lies elsewhere, from a local run: Terraform's http backend, reached as a destination of the tool, with the real terraform.

load ../helpers
load ../remote-state

setup() {
	command -v terraform >/dev/null || skip 'no terraform'
	fresh_state
	mkdir "$T/held"
	python3 "$ROOT/test/helpers/httpstate.py" "$T/port" "$T/held" 3>&- &
	SERVER=$!
	wait_until 10 test -s "$T/port"
	PORT=$(cat "$T/port")
	remote_setup
	cat >"$T/work/envs/far/main.tf" <<-EOF
		terraform {
		  backend "http" {
		    address        = "http://127.0.0.1:$PORT/state"
		    lock_address   = "http://127.0.0.1:$PORT/state"
		    unlock_address = "http://127.0.0.1:$PORT/state"
		  }
		}
		resource "terraform_data" "one" {
		  input = "first"
		}
	EOF
}

teardown() { remote_teardown; }

# held get|put NAME: what the server has.
held() {
	if [ "$1" = get ]; then cat "$T/held/$2"; else cat >"$T/held/$2"; fi
}

locked() { [ -e "$T/held/lock" ]; }

@test "planned and applied; the state is there, and nobody holds its lock" {
	planned
	[ ! -e "$T/held/state" ]
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	assert_equal "$(jq -r '.resources[].type' "$T/held/state")" terraform_data
	[ ! -e "$T/held/lock" ]
	assert_equal "$(sbx-audit show --event sandbox.connections --json | jq -r '.connections[].destination' | sort -u)" state
}

@test "a state that would be gone with the sandbox: neither planned nor applied by a tool for one that lies elsewhere" {
	for block in '' 'backend "local" { path = "/tmp/far.tfstate" }' 'backend "inmem" {}' 'backend "http" { '; do
		printf 'terraform {\n  %s\n}\nresource "terraform_data" "one" {}\n' "$block" >"$T/work/envs/far/main.tf"
		run_sbx 78 sbx-call remote_plan dir=envs/far
		assert_call state_is_local
	done
	# Planned by a tool that says nothing of a state, it is not applied by one that does not either; by one that keeps it here it is.
	printf 'resource "terraform_data" "one" {}\n' >"$T/work/envs/far/main.tf"
	for tool in remote_plan remote_apply; do
		sed -i '/seals: state/d' "$T/policy/tools/$tool.yaml"
	done
	planned
	run_sbx 78 sbx-call remote_apply "plan=$plan"
	assert_call state_is_local
	sed -i 's/^workspace:.*/workspace: {tree: ., cwd: "{dir}", state: {path: "{dir}"}}/' "$T/policy/tools/remote_plan.yaml"
	echo 'workspace: {state: {access: write}}' >>"$T/policy/tools/remote_apply.yaml"
	planned
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	assert_json .result.state_file taken
}

@test "a state that has moved on refuses the call before anything begins, and its approval is there when it is back" {
	moved_state held state
}

# ended_as STATE: so did it, and Terraform has given the lock back and written what it had made.
ended_as() {
	wait "$CALL_PID" || true
	CALL_PID=
	assert_equal "$(member .result.state <"$T/stopped")" "$1"
	! locked || return 1
	assert_equal "$(jq -r '[.resources[].name] | contains(["one"])' "$T/held/state")" true
}

# The next one is not kept from it: what was begun is taken away again, which a person signs.
cleans_up() {
	sed -i '/"two"/,$d' "$T/work/envs/far/main.tf"
	planned
	signed sbx-call remote_apply "plan=$plan"
	run_sbx 0 sbx-call remote_apply "plan=$plan"
}

@test "told to stop, by a cancel or by its deadline: Terraform gives the lock back itself" {
	hanging
	applying
	kill -TERM "$CALL_PID"
	ended_as cancelled
	sed -i 's/^limits: {deadline: [0-9]*s/limits: {deadline: 8s/' "$T/policy/tools/remote_apply.yaml"
	applying
	ended_as timeout
	cleans_up
}

@test "everything above the driver is killed: the driver stops Terraform, which gives the lock back itself" {
	hanging
	applying
	above
	kill -KILL "${above[@]}"
	wait "$CALL_PID" || true
	CALL_PID=
	wait_until 30 eval '! locked'
	assert_equal "$(jq -r '[.resources[].name] | contains(["one"])' "$T/held/state")" true
	wait_until 30 eval 'sbx-audit --mend; sbx-audit show --event tool.result --json | grep -q "$call"'
	cleans_up
}

# Terraform shows the lock that it asked for; of the one that is there it says the ID alone. And it sends no ID with a forced unlock: whoever's lock is there
# then would be gone.
@test "a lock that a killed run left is told by its ID, and taken away by a person alone, whoever is dead" {
	grep -q 'lock: left' "$T/policy/tools/remote_apply.yaml"
	mkdir -m 700 -p "$T/var/locks"
	touch "$T/var/locks/$(printf 'a%.0s' {1..32})"
	lock_is_left '; once it has ended'
	[ ! -e "$T/held/unlocked" ]
	assert_equal "$(ls "$T/var/locks" | wc -l)" 1
	assert_equal "$(sbx-audit show --json | grep -c may_unlock)" 0
	assert_equal "$id" "$(jq -r .ID "$T/held/lock")"
	force_unlock 0 "$id"
	! locked || return 1
	[ -e "$T/held/unlocked" ]
	[ ! -s "$T/held/unlocked" ]
	applies_again
}

@test "an ID that would be an option is none" {
	planned
	echo '{"ID":"-force","Operation":"x","Who":"x","Version":"1","Created":"2026-01-01T00:00:00Z"}' >"$T/held/lock"
	run_sbx 1 sbx-call remote_apply "plan=$plan"
	assert_contains "$(member .result.stderr <<<"$output")" ID=-force
	assert_json .result.code null
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

@test "a password for the backend: refused in the configuration, as an argument and in the environment; without it the same is planned" {
	sed -i 's|  backend "http" {|&\n    username = "u"\n    password = "hunter2hunter2"|' "$T/work/envs/far/main.tf"
	run_sbx 77 sbx-call remote_plan dir=envs/far
	assert_json .error.code backend_secret
	refute_contains "$output$stderr" hunter2hunter2
	stands_nowhere hunter2hunter2
	sed -i '/username = /d; /password = /d' "$T/work/envs/far/main.tf"
	planned
	cp "$T/policy/tools/remote_plan.yaml" "$T/tool"
	sed -i 's/-lockfile=readonly/&, -backend-config=password.hcl/' "$T/policy/tools/remote_plan.yaml"
	run_sbx 78 sbx-call remote_plan dir=envs/far
	assert_json .error.code backend_config
	cp "$T/tool" "$T/policy/tools/remote_plan.yaml"
	cp "$T/policy/policy.yaml" "$T/policy.yaml"
	sed -i 's/CHECKPOINT_DISABLE: "1"/&, TF_HTTP_PASSWORD: hunter2hunter2/' "$T/policy/policy.yaml"
	run_sbx 78 sbx-call remote_plan dir=envs/far
	assert_json .error.code policy_invalid
	refute_contains "$output$stderr" hunter2hunter2
	cp "$T/policy.yaml" "$T/policy/policy.yaml"
	planned
}

# Why: as long as this holds, a sealed plan would keep the password.
@test "what the backend is told by -backend-config stands in Terraform's plan file, what the environment says does not" {
	export CHECKPOINT_DISABLE=1 TF_CLI_CONFIG_FILE=/dev/null
	echo 'password = "hunter2hunter2"' >"$T/password.hcl"
	run_sbx 0 terraform -chdir="$T/work/envs/far" init -backend-config="$T/password.hcl"
	run_sbx 0 terraform -chdir="$T/work/envs/far" plan -lock=false -out="$T/plan.bin"
	inside_archive "$T/plan.bin" | grep -qaF hunter2hunter2
	rm -r "$T/work/envs/far/.terraform"
	export TF_HTTP_PASSWORD=hunter2hunter2
	run_sbx 0 terraform -chdir="$T/work/envs/far" init
	run_sbx 0 terraform -chdir="$T/work/envs/far" plan -lock=false -out="$T/plan.bin"
	! inside_archive "$T/plan.bin" | grep -qaF hunter2hunter2 || return 1
}
