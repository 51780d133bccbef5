#!/usr/bin/env bats
# What a signed plan relies on, changed one thing at a time: sbx-approve does not claim, sbx-run does not start, each says what it is, and the same call
# runs when it is as it was. Seen by the host; what only sbx-entry can see is in sealed-plan-inside.bats.

load ../helpers
load ../sealed

setup() {
	sealed_setup
	planned
}

# refused CODE CHANGE UNDO: the three are words of shell.
refused() {
	local before
	signed
	claimed
	before=$(begun)
	eval "$2"
	run_sbx 77 bash -c "sbx-run <'$T/call'"
	assert_call "$1"
	assert_json .result.state refused
	[ "$(printf '%s' "$output" | member .error.hint)" != null ]
	[ -s "$(call_dir)/refused" ]
	run_sbx 77 bash -c asked
	assert_call "$1"
	assert_equal "$(begun)" "$before"
	eval "$3"
	runs
}

@test "one byte of a .tf file" {
	refused plan_tree_changed 'sed -i s/web/wec/ "$TREE/main.tf"' 'sed -i s/wec/web/ "$TREE/main.tf"'
}

@test "one byte of a script that a provisioner calls" {
	refused plan_tree_changed 'echo "echo as-changed" >"$TREE/script.sh"' 'echo "echo as-planned" >"$TREE/script.sh"'
}

@test "a mode, a new file, a file elsewhere in the tree" {
	refused plan_tree_changed 'chmod +x "$TREE/script.sh"' 'chmod -x "$TREE/script.sh"'
	planned
	refused plan_tree_changed 'touch "$T/work/modules/net/new.tf"' 'rm "$T/work/modules/net/new.tf"'
}

@test "one byte of the lock file" {
	refused plan_lock_changed 'sed -i "s/constraints = \"1/constraints = \"2/" "$TREE/.terraform.lock.hcl"' lock_provider
}

@test "one byte of the plan file, of the kept copy, of the seal" {
	flip() { # NAME
		printf '%s' "$2" | dd of="$T/var/plans/$plan/$1" conv=notrunc bs=1 seek=3 status=none
	}
	refused plan_file_changed 'flip plan.bin X' 'flip plan.bin -'
	planned
	refused plan_tree_changed 'flip tree X' 'flip tree -'
	planned
	refused plan_seal_invalid 'cp -p "$T/var/plans/$plan/seal.json" "$T/kept"; sed -i "s/\"verdict\":\"safe\"/\"verdict\":\"sane\"/" "$T/var/plans/$plan/seal.json"' \
		'cp -p "$T/kept" "$T/var/plans/$plan/seal.json"'
}

@test "the state: serial, lineage, content" {
	change() {
		cp "$(kept_state)" "$T/kept"
		state_file "$@" >"$(kept_state)"
	}
	refused plan_serial_changed 'change 4 one' 'cp "$T/kept" "$(kept_state)"'
	planned
	refused plan_lineage_changed 'change 8 two' 'cp "$T/kept" "$(kept_state)"'
	planned
	refused plan_state_changed 'change 9 one "\"a\":{\"value\":1,\"type\":\"number\"}"' 'cp "$T/kept" "$(kept_state)"'
}

@test "another terraform binary, and another file that it is shown" {
	refused plan_program_changed 'printf x >>"$T/bin/terraform"' 'cp "$SBX_BUILD/test/stepper" "$T/bin/terraform"'
	planned
	refused plan_program_changed 'printf "another library" >"$T/bin/lib"' 'printf "a library" >"$T/bin/lib"'
}

@test "another provider binary, or none" {
	refused provider_not_locked 'printf x >>"$PACKAGE/terraform-provider-thing_v1.2.3"' 'printf "a provider" >"$PACKAGE/terraform-provider-thing_v1.2.3"'
	planned
	refused plan_provider_changed 'mv "$PACKAGE" "$T/gone"' 'mv "$T/gone" "$PACKAGE"'
}

@test "another provider binary that no digest of the lock file tells from the first" {
	sed -i '/h1:/d' "$TREE/.terraform.lock.hcl"
	planned
	refused plan_provider_changed 'printf x >>"$PACKAGE/terraform-provider-thing_v1.2.3"' 'printf "a provider" >"$PACKAGE/terraform-provider-thing_v1.2.3"'
}

@test "another backend" {
	refused plan_backend_changed 'printf "terraform {\n  backend \"http\" {\n    address = \"https://x.test\"\n  }\n}\n" >"$TREE/backend.tf"' 'rm "$TREE/backend.tf"'
}

@test "another workspace" {
	# A plan is run where it was made; what is left is a tool that leaves its state out, and Terraform's own workspace.
	tool stateless <<-'EOT'
		name: stateless
		description: Runs a plan without its state.
		tier: high
		params:
		  plan: {type: plan}
		workspace: {}
		steps:
		  - [tf, cat, {artifact: plan}]
	EOT
	run_sbx 77 bash -c "sbx-policy stateless plan=$plan | sbx-approve"
	assert_call plan_workspace_changed
	sed -i "s|  tf: {|  tf: {env: {TF_WORKSPACE: prod}, |" "$T/policy/policy.yaml"
	run_sbx 77 bash -c asked
	assert_call plan_workspace_changed
	assert_contains "$(printf '%s' "$output" | member .error.message)" "Terraform's own"
	planned
	signed
	runs
}

@test "another driver, another target" {
	printf 'targets:\n  east: {server: "https://east.test:6443"}\n' >>"$T/sbx.yaml"
	tool plan_east <<-'EOT'
		name: plan_east
		description: Plans for a target.
		tier: low
		params:
		  target: {type: target}
		workspace: {tree: ., cwd: envs/staging, state: {path: envs/staging, access: read}}
		steps:
		  - [tf, write, plan.bin, the-plan]
		  - {argv: [tf, cat, ../../plan.json], analyse: terraform}
		produces: {plan: plan.bin}
	EOT
	run_sbx 0 chain plan_east target=east
	plan=$(printf '%s' "$output" | member .result.plan.id)
	refused plan_target_changed 'sed -i s/east.test/west.test/ "$T/sbx.yaml"' 'sed -i s/west.test/east.test/ "$T/sbx.yaml"'
	planned
	echo 'driver: other' >>"$T/sbx.yaml"
	run_sbx 77 bash -c asked
	assert_call plan_driver_changed
}

@test "the tool's own resolved decision: the signature is for another one; not so for a comment, or another tool" {
	signed
	local first=$approval
	printf '# a comment\n' >>"$T/policy/tools/run_plan.yaml"
	sed -i 's/Keeps a plan/Keeps one plan/' "$T/policy/tools/make_plan.yaml"
	sed -i 's/the-plan/another/' "$T/policy/tools/make_plan.yaml"
	claimed
	assert_equal "$(member .approval.id <"$T/call")" "$first"
	# It was not run: the proof of that gives it back.
	printf 'x' >>"$TREE/script.sh"
	run_sbx 77 bash -c "sbx-run <'$T/call'"
	echo 'echo as-planned' >"$TREE/script.sh"
	cp "$T/policy/tools/run_plan.yaml" "$T/kept"
	printf 'limits: {memory: 128Mi}\n' >>"$T/policy/tools/run_plan.yaml"
	run_sbx 75 bash -c asked
	assert_call approval_required
	[ "$(printf '%s' "$output" | member .approval.id)" != "$first" ]
	cp "$T/kept" "$T/policy/tools/run_plan.yaml"
	approval=$first
	runs
}

# resealed CALL FILTER: the call changed by jq, with a decision digest that fits when FITS is 1, and all seals: a fault in the stage that decides.
resealed() {
	local body decision
	. "$ROOT/test/fakes/seal.bash"
	body=$(jq -cS "{call,policy,sbx} | $2" "$1")
	if [ "$FITS" = 1 ]; then
		decision=$(jq -cSj '.policy | {approval,credentials,rule,run,tier}' <<<"$body" | sha256sum | cut -d' ' -f1)
		body=$(jq -cS --arg d "$decision" '.policy.decision_sha256 = $d' <<<"$body")
	fi
	next_seal "$T/var" "$(sealed_call "$T/var" "$body" '{"state":"none"}')" cred '"credential":[]'
}

@test "a call that another stage resolved wrongly: decision, workspace, seal" {
	sed -i 's/tier: high/tier: low/' "$T/policy/tools/run_plan.yaml"
	take_call() {
		rm -f "$T/call"
		asked 2>/dev/null | sbx-cred "$T/capture" >/dev/null 2>&1 || true
		[ -s "$T/call" ]
	}
	take_call
	FITS=0 resealed "$T/call" '.policy.run.steps[0].argv += ["x"]' >"$T/wrong"
	run_sbx 77 bash -c "sbx-run <'$T/wrong'"
	assert_call decision_changed
	take_call
	FITS=1 resealed "$T/call" '.policy.run.workspace.cwd = "envs/prod"' >"$T/wrong"
	run_sbx 77 bash -c "sbx-run <'$T/wrong'"
	assert_call plan_workspace_changed
	take_call
	FITS=1 resealed "$T/call" '.policy.run.image = "registry.test/other@sha256:00"' >"$T/wrong"
	run_sbx 77 bash -c "sbx-run <'$T/wrong'"
	assert_call plan_image_changed
	take_call
	FITS=1 resealed "$T/call" '.policy.plan.seal_sha256 |= sub("^."; "z")' >"$T/wrong"
	run_sbx 77 bash -c "sbx-run <'$T/wrong'"
	assert_call plan_changed
	take_call
	FITS=1 resealed "$T/call" '.policy.run.produces = [{"name":"plan","path":"plan.bin","step":1}] | .policy.run.analyse = true' >"$T/wrong"
	run_sbx 76 bash -c "sbx-run <'$T/wrong'"
	assert_call bad_call
	# The same hands, and nothing changed.
	take_call
	FITS=1 resealed "$T/call" . >"$T/right"
	run_sbx 0 bash -c "sbx-run <'$T/right'"
	assert_json .result.state completed
}

@test "a change under way: what was seen before the claim is looked at again before the run, and the approval comes back" {
	signed
	claimed
	printf 'x' >>"$TREE/script.sh"
	run_sbx 77 bash -c "sbx-run <'$T/call'"
	assert_call plan_tree_changed
	run_sbx 77 bash -c 'asked | sbx-cred sbx-run'
	assert_call plan_tree_changed
	echo 'echo as-planned' >"$TREE/script.sh"
	runs
	assert_contains "$(jq -r .event "$T/var/audit.jsonl" | tr '\n' ' ')" 'approval.released'
	run_sbx 77 sbx-policy run_plan "plan=$plan" "serial=$SERIAL"
	assert_call plan_unknown
}

# --- what a run may load ---

@test "the seal names the providers, the person who signs reads them, and the backend" {
	signed
	assert_contains "$(cat "$T/text")" "  backend \"local\", Terraform workspace \"default\""
	assert_contains "$(cat "$T/text")" "  provider \"registry.test/acme/thing\" version \"1.2.3\", package \"$(package_hash)\""
	assert_equal "$(jq -c '.seal.providers' "$T/var/plans/$plan/seal.json")" \
		"[{\"package\":\"$(package_hash)\",\"path\":\"registry.test/acme/thing/1.2.3/$PLATFORM\",\"source\":\"registry.test/acme/thing\",\"version\":\"1.2.3\"}]"
	assert_equal "$(jq -r '.seal.terraform.sha256' "$T/var/plans/$plan/seal.json")" "$(sha256sum "$T/bin/terraform" | cut -d' ' -f1)"
	assert_equal "$(jq -r '.seal.mounts[]' "$T/var/plans/$plan/seal.json")" "$(printf 'a library' | sha256sum | cut -d' ' -f1)"
	assert_equal "$(jq -c '.seal.backend' "$T/var/plans/$plan/seal.json")" '{"type":"local","workspace":"default"}'
	rm "$TREE/.terraform.lock.hcl"
	planned
	assert_equal "$(jq -c '.seal.providers' "$T/var/plans/$plan/seal.json")" '[]'
	signed
	assert_contains "$(cat "$T/text")" "  provider: none but what is built in"
}

@test "a run sees the packages that its lock file names, and no others of the mirror" {
	local other=$T/mirror/registry.test/acme/other/1.0.0/$PLATFORM path=/opt/sbx/.mirror/registry.test/acme
	mkdir -p "$other"
	printf 'another' >"$other/terraform-provider-other_v1.0.0"
	tool look <<-EOT
		name: look
		description: Looks for providers.
		tier: low
		params:
		  name: {type: string, pattern: "[a-z]+"}
		  version: {type: string, pattern: "[0-9.]+"}
		workspace: {tree: ., cwd: envs/staging}
		steps:
		  - [tf, cat, "$path/{name}/{version}/$PLATFORM/terraform-provider-{name}_v{version}"]
	EOT
	run_sbx 0 chain look name=thing version=1.2.3
	assert_json .result.stdout 'a provider'
	run_sbx 1 chain look name=other version=1.0.0
	assert_contains "$(printf '%s' "$output" | member .result.stderr)" 'No such file'
	rm "$TREE/.terraform.lock.hcl"
	run_sbx 1 chain look name=thing version=1.2.3
}

@test "a mirror that is not there, a lock file that is none, a package that others may write, and -backend-config" {
	mv "$T/mirror" "$T/elsewhere"
	run_sbx 78 chain make_plan
	assert_call mirror_missing
	assert_contains "$(printf '%s' "$output" | member .error.hint)" 'policy.yaml'
	mv "$T/elsewhere" "$T/mirror"
	echo 'provider "x" {}' >>"$TREE/.terraform.lock.hcl"
	run_sbx 65 chain make_plan
	assert_call lock_invalid
	lock_provider
	chmod 666 "$PACKAGE/terraform-provider-thing_v1.2.3"
	run_sbx 78 chain make_plan
	assert_call unsafe_file
	chmod 644 "$PACKAGE/terraform-provider-thing_v1.2.3"
	ln -s thing "$PACKAGE/link"
	run_sbx 78 chain make_plan
	assert_call provider_unsafe
	rm "$PACKAGE/link"
	printf x >>"$PACKAGE/terraform-provider-thing_v1.2.3"
	run_sbx 77 chain make_plan
	assert_call provider_not_locked
	printf 'a provider' >"$PACKAGE/terraform-provider-thing_v1.2.3"
	sed -i 's/the-plan\]/the-plan, then, out, -backend-config=x]/' "$T/policy/tools/make_plan.yaml"
	run_sbx 78 chain make_plan
	assert_call backend_config
	sed -i 's/-backend-config=x/-backend=x/' "$T/policy/tools/make_plan.yaml"
	run_sbx 0 chain make_plan
}

# --- the real one ---

@test "terraform itself: a provisioner reads the kept copy, and a provider comes from its package alone" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip "neither terraform nor tofu is here"
	sed -i "s|^  terraform:|  terraform:\n    mounts: [$SBX_BUILD/test/stepper]|" "$T/policy/policy.yaml"
	cat >"$TREE/main.tf" <<-EOT
		resource "terraform_data" "web" {
		  input = file("script.sh")
		  provisioner "local-exec" {
		    interpreter = ["$SBX_BUILD/test/stepper", "cat"]
		    command     = "script.sh"
		  }
		}
	EOT
	mv "$TREE/.terraform.lock.hcl" "$T/lock"
	rm "$(kept_state)"
	run_sbx 0 chain terraform_plan dir=envs/staging
	plan=$(printf '%s' "$output" | member .result.plan.id)
	sbx-policy terraform_apply "plan=$plan" 2>/dev/null | sbx-approve >"$T/waiting" 2>/dev/null || true
	sbx-approve sign "$(member .approval.id <"$T/waiting")" --key "$T/alice" >"$T/text" 2>/dev/null </dev/null
	echo 'echo as-changed' >"$TREE/script.sh"
	run_sbx 77 chain terraform_apply "plan=$plan"
	assert_call plan_tree_changed
	echo 'echo as-planned' >"$TREE/script.sh"
	run_sbx 0 chain terraform_apply "plan=$plan"
	assert_contains "$(printf '%s' "$output" | member .result.stdout)" '(local-exec): echo as-planned'
	assert_equal "$(jq -r '.resources[0].instances[0].attributes.input.value' "$(kept_state)")" 'echo as-planned'

	tool init <<-'EOT'
		name: init
		description: Gets the providers.
		tier: low
		workspace: {tree: ., cwd: envs/staging}
		steps:
		  - [terraform, init, -backend=false, -input=false, -no-color, -lockfile=readonly]
	EOT
	printf 'terraform {\n  required_providers {\n    thing = { source = "registry.test/acme/thing" }\n  }\n}\n' >"$TREE/main.tf"
	run_sbx 1 chain init
	assert_json .result.code not_fetched
	assert_contains "$(printf '%s' "$output" | member .result.hint)" 'providers lock'
	mv "$T/lock" "$TREE/.terraform.lock.hcl"
	run_sbx 0 chain init
	assert_contains "$(printf '%s' "$output" | member .result.stdout)" 'registry.test/acme/thing v1.2.3'
}

@test "what the configuration starts and no plan shows needs a person, who is told where it stands" {
	local from='removed { # gone
	  from = terraform_data.old
	  lifecycle {
	    destroy = true
	  }
	'
	printf '%s}\n' "$from" >"$TREE/removed.tf"
	run_sbx 0 chain make_plan
	assert_json '.result | [.verdict, .findings_total] | join(" ")' "safe 0"
	printf '%s  provisioner "local-exec" {\n    command = "./script.sh"\n  }\n}\n' "$from" >"$TREE/removed.tf"
	run_sbx 0 chain make_plan
	assert_json '.result | [.verdict, .plan.verdict, .findings_total, .findings[0].signals[0]] | join(" ")' "review review 1 hidden_program"
	plan=$(printf '%s' "$output" | member .result.plan.id)
	sbx-policy run_plan "plan=$plan" serial=8 2>/dev/null | sbx-approve >"$T/waiting" 2>/dev/null || true
	sbx-approve show "$(member .approval.id <"$T/waiting")" >"$T/text"
	assert_contains "$(cat "$T/text")" 'PROGRAM the whole plan because "envs/staging/removed.tf: a provisioner in a removed block": the configuration may start a program of which the plan says nothing [review]'
	assert_contains "$(cat "$T/text")" 'findings that say that the plan is not all that will be done: 1'
}

# --- what is kept, and for how long ---

@test "a kept plan is 0600 in 0700, and gone when it was run" {
	assert_equal "$(stat -c %a "$T/var/plans" "$T/var/plans/$plan" | tr '\n' ' ')" '700 700 '
	assert_equal "$(stat -c %a "$T/var/plans/$plan"/* | sort -u)" 600
	assert_equal "$(find "$T/var/plans/$plan" -type f | wc -l)" 4
	signed
	runs
	[ ! -e "$T/var/plans/$plan" ]
	assert_equal "$(find "$T/var/plans" -mindepth 1 | wc -l)" 0
}

@test "a kept plan is gone when a person denied it, and not another one" {
	local first=$plan
	planned
	asked >"$T/waiting" 2>/dev/null || true
	run_sbx 0 sbx-approve deny "$(member .approval.id <"$T/waiting")"
	[ ! -e "$T/var/plans/$plan" ]
	[ -e "$T/var/plans/$first/seal.json" ]
	run_sbx 77 sbx-policy run_plan "plan=$plan" "serial=$SERIAL"
	assert_call plan_unknown
	plan=$first
	sed -i 's/pause: .*//' "$T/sbx.yaml"
	printf 'approval_pause: 0s\n' >>"$T/sbx.yaml"
	signed
	runs
}

@test "a kept plan that has expired is gone, although nobody plans any more" {
	local left=$plan
	planned
	seal_says '.expires_at = "2020-01-01T00:00:00Z"'
	run_sbx 77 sbx-policy run_plan "plan=$plan" "serial=$SERIAL"
	assert_call plan_expired
	run_sbx 0 sbx-audit --mend
	[ ! -e "$T/var/plans/$plan" ]
	[ -e "$T/var/plans/$left/seal.json" ]
	# And by any call, which looks once a minute.
	plan=$left
	seal_says '.expires_at = "2020-01-01T00:00:00Z"'
	run_sbx 0 bash -c 'chain true | sbx-audit'
	[ ! -e "$T/var/plans/$left" ]
}

# decides PATTERNS STATUS EFFECT FROM: what becomes of the plan when an agent writes what PATTERNS say.
decides() {
	sed -i "s|^agent_writable:.*|agent_writable: [$1]|" "$T/policy/policy.yaml"
	run_sbx "$2" sbx-policy --explain run_plan "plan=$plan" serial=8
	assert_contains "$output" "(decided by: $4)"
	run_sbx 0 sbx-policy run_plan "plan=$plan" serial=8
	assert_json .policy.effect "$3"
	assert_json '.policy.tier_from | join(" ")' "$4"
}

@test "a plan of what an agent wrote waits for a person, whatever its verdict" {
	sed -i 's/^tier: high/tier: medium/' "$T/policy/tools/run_plan.yaml"
	decides 'modules/*' 0 allow tool
	decides 'modules/*, envs/*' 75 approve agent_writable
	decides envs 75 approve agent_writable
	decides envs/other 0 allow tool
	# So does the tool that plans there, which has no parameter to say it.
	sed -i 's|^agent_writable:.*|agent_writable: [envs/*]|' "$T/policy/policy.yaml"
	run_sbx 0 sbx-policy make_plan
	assert_json '.policy.tier_from | join(" ")' agent_writable
}
