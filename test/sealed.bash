# Shared by the bats files about sealed plans: an installation with a directory, a state, a mirror with one provider, and tools that plan and apply with
# a program of the tests in the place of terraform, so that a test costs little and needs no provider of its own.

sealed_setup() {
	fresh_state basic sealed_files
	sealed_paths
	sed -i "s|^programs:|programs:\n  tf: {path: $T/bin/terraform, mounts: [$T/bin/lib]}|" "$T/policy/policy.yaml"
	printf 'mirror: %s/mirror\n' "$T" >>"$T/policy/policy.yaml"
	printf 'commands: [%s/capture]\n' "$T" >>"$T/sbx.yaml"
	PATH=$T:$PATH
	state_file 3 one >"$T/state"
	sbx-run adopt-state envs/staging "$T/state" 2>/dev/null
	SERIAL=8
}

sealed_paths() {
	[[ $HOSTTYPE == aarch64 ]] && PLATFORM=linux_arm64 || PLATFORM=linux_amd64
	PACKAGE=$T/mirror/registry.test/acme/thing/1.2.3/$PLATFORM
	TREE=$T/work/envs/staging
}

# What is the same for each test of a file.
sealed_files() {
	local PLATFORM PACKAGE TREE
	sealed_paths
	mkdir -p "$T/bin" "$PACKAGE"
	cp "$SBX_BUILD/test/stepper" "$T/bin/terraform"
	printf 'a library' >"$T/bin/lib"
	printf 'a provider' >"$PACKAGE/terraform-provider-thing_v1.2.3"
	no_policy_tests
	sealed_tools
	sealed_tree
	printf '#!/bin/bash\nsbx-policy "$@" | sbx-approve | sbx-cred sbx-run\n' >"$T/chain"
	printf '#!/bin/sh\nexec cat >"${0%%/*}/call"\n' >"$T/capture"
	chmod 755 "$T/chain" "$T/capture"
	new_signer alice
}

sealed_tools() {
	tool make_plan <<-'EOT'
		name: make_plan
		description: Keeps a plan that creates things.
		tier: low
		workspace: {tree: ., cwd: envs/staging, state: {path: envs/staging, access: read}}
		steps:
		  - [tf, write, plan.bin, the-plan]
		  - {argv: [tf, cat, ../../plan.json], analyse: terraform}
		produces: {plan: plan.bin}
	EOT
	tool run_plan <<-'EOT'
		name: run_plan
		description: Runs a plan once a person has signed it.
		tier: high
		params:
		  plan: {type: plan}
		  serial: {type: integer, min: 0, max: 1000}
		workspace: {state: {access: write}}
		steps:
		  - [tf, cat, {artifact: plan}, then, cat, script.sh, then, state, terraform.tfstate, "{serial}", one]
	EOT
}

sealed_tree() {
	cp "$ROOT/test/corpus/plans/create.plan.json" "$T/work/plan.json"
	cat >"$TREE/main.tf" <<-'EOT'
		resource "terraform_data" "web" {
		  input = file("script.sh")
		  provisioner "local-exec" {
		    command = "./script.sh"
		  }
		}
	EOT
	echo 'echo as-planned' >"$TREE/script.sh"
	lock_provider
}

# The digest of the package as it is now, as terraform has it in a lock file.
package_hash() {
	printf 'h1:'
	(cd "$PACKAGE" && sha256sum -- *) | openssl dgst -sha256 -binary | base64
}

lock_provider() {
	cat >"$TREE/.terraform.lock.hcl" <<-EOT
		provider "registry.test/acme/thing" {
		  version     = "1.2.3"
		  constraints = "1.2.3"
		  hashes = [
		    "$(package_hash)",
		  ]
		}
	EOT
}

# state_file SERIAL LINEAGE [OUTPUT]
state_file() {
	printf '{"version":4,"terraform_version":"1.11.4","serial":%s,"lineage":"%s","outputs":{%s},"resources":[]}\n' "$1" "$2" "${3-}"
}

# The kept state, as another run would leave it.
kept_state() {
	printf '%s/terraform.tfstate' "$T"/var/ws/default/*
}

# planned: sets $plan.
planned() {
	export plan SERIAL
	plan=$(chain make_plan 2>"$T/plan.err" | member .result.plan.id)
	[ "${#plan}" -eq 32 ] || {
		cat "$T/plan.err"
		return 1
	}
}

# seal_says FILTER: jq changes the seal of $plan, and its MAC fits: as the toolkit's own key would have made it.
seal_says() {
	local key canonical mac seal=$T/var/plans/$plan/seal.json
	. "$ROOT/test/fakes/seal.bash"
	key=$(od -An -v -tx1 "$T/var/seal.key")
	canonical=$(jq -cS ".seal | $1" "$seal")
	mac=$({
		wire sbx-plan/1
		wire "$(<"$T/var/installation")"
		wire "$canonical"
	} | openssl dgst -sha256 -mac HMAC -macopt "hexkey:${key//[[:space:]]/}" -r)
	printf '{"mac":"%s","seal":%s}' "${mac%% *}" "$canonical" >"$seal"
}

# asked: sbx-approve's answer to the request to run $plan, which is to leave a state of $SERIAL.
asked() {
	sbx-policy run_plan "plan=$plan" "serial=$SERIAL" 2>/dev/null | sbx-approve
}
export -f asked

# signed: a person signs that request; sets $approval.
signed() {
	asked >"$T/waiting" 2>"$T/approve.err" || true
	approval=$(member .approval.id <"$T/waiting")
	sbx-approve sign "$approval" --key "$T/alice" >"$T/text" 2>"$T/sign.err" </dev/null || {
		cat "$T/approve.err" "$T/sign.err"
		return 1
	}
}

# claimed: $T/call is the signed call, claimed, as sbx-cred gives it to sbx-run.
claimed() {
	rm -f "$T/call"
	asked 2>"$T/approve.err" | sbx-cred "$T/capture" >"$T/cred.out" 2>/dev/null || true
	[ -s "$T/call" ] && [ "$(member .approval.state <"$T/call")" = claimed ] || {
		cat "$T/approve.err" "$T/cred.out"
		return 1
	}
}

call_dir() {
	printf '%s/var/runs/%s' "$T" "$(member .call.id <"$T/call")"
}

# begun: how many sandboxes were.
begun() {
	grep -c '"event":"sandbox.started"' "$T/var/audit.jsonl"
}

# runs: the very same call runs, with the approval that it had, and leaves the state that the next plan is made on.
runs() {
	run_sbx 0 bash -c 'asked | sbx-cred sbx-run'
	assert_json .approval.id "$approval"
	assert_json .result.state completed
	assert_json .result.state_file taken
	assert_json .result.stdout 'the-planecho as-planned'
	SERIAL=$((SERIAL + 1))
}
