#!/usr/bin/env bats
# What changes between the host's last look and the first step: a driver of the test's own, in front of the real one, hands sbx-entry another thing than
# sbx-run has checked. sbx-entry says which, nothing is started, and the approval comes back.

load ../helpers
load ../sealed

setup() {
	sealed_setup
	PREFIX=$T/prefix
	mkdir -p "$PREFIX/bin" "$PREFIX/libexec/sbx"
	cp "$SBX_BIN/sbx-run" "$SBX_BIN/sbx-plan" "$PREFIX/bin/"
	cp "$SBX_LIBEXEC/sbx-entry" "$PREFIX/libexec/sbx/"
	cp "$SBX_LIBEXEC/sbx-run-local" "$PREFIX/libexec/sbx/sbx-run-local.real"
	cat >"$PREFIX/libexec/sbx/sbx-run-local" <<-EOT
		#!/bin/bash
		args=("\$@")
		# source TARGET: the number of the argument that mounts there; path of what it mounts.
		mount_at() {
			local i
			for i in "\${!args[@]}"; do
				[[ \${args[i]} != *":\$1"* ]] || at=\$i source=\${args[i]%%:*}
			done
		}
		cd "$T"
		. ./change
		exec "$PREFIX/libexec/sbx/sbx-run-local.real" "\${args[@]}"
	EOT
	chmod -R go-w,+x "$PREFIX/libexec/sbx"
	planned
	signed
}

# refused CODE WORDS <SHELL: what the driver does first.
refused() {
	local before
	claimed
	before=$(sha256sum <"$(kept_state)")
	cat >"$T/change"
	run_sbx 77 bash -c "'$PREFIX/bin/sbx-run' <'$T/call'"
	assert_call "$1"
	assert_contains "$(printf '%s' "$output" | member .error.message)" "$2"
	assert_contains "$(printf '%s' "$output" | member .error.hint)" 'make a new plan'
	assert_json .result.state refused
	assert_json .result.stdout ''
	assert_json .result.isolation.isolation local
	refute_contains "$stderr" 'step 1'
	[ -s "$(call_dir)/refused" ]
	assert_equal "$(sha256sum <"$(kept_state)")" "$before"
	[ -e "$T/var/plans/$plan/seal.json" ]
}

@test "the driver in front changes nothing by itself" {
	claimed
	: >"$T/change"
	run_sbx 0 bash -c "'$PREFIX/bin/sbx-run' <'$T/call'"
	assert_json .result.state completed
	[ ! -e "$(call_dir)/refused" ]
}

@test "another terraform, none, and another file beside it" {
	refused plan_program_changed /opt/sbx/tf/terraform <<-'EOT'
		mount_at /opt/sbx/tf/terraform
		cp "$source" other && printf x >>other
		args[at]=$PWD/other:/opt/sbx/tf/terraform
	EOT
	refused plan_program_changed /opt/sbx/tf/terraform <<-'EOT'
		mount_at /opt/sbx/tf/terraform
		unset "args[at]" "args[at - 1]"
		args=("${args[@]}")
	EOT
	refused plan_program_changed "$T/bin/lib" <<-'EOT'
		mount_at "$PWD/bin/lib"
		printf 'another library' >other
		args[at]=$PWD/other:$PWD/bin/lib
	EOT
	runs
}

@test "the same file changed in place, behind the host's look" {
	refused plan_program_changed /opt/sbx/tf/terraform <<<'printf x >>bin/terraform'
	cp "$SBX_BUILD/test/stepper" "$T/bin/terraform"
	refused plan_provider_changed registry.test/acme/thing <<<"printf x >>'$PACKAGE/terraform-provider-thing_v1.2.3'"
	printf 'a provider' >"$PACKAGE/terraform-provider-thing_v1.2.3"
	runs
}

@test "another provider, one file more, none" {
	refused plan_provider_changed registry.test/acme/thing <<-'EOT'
		mount_at /opt/sbx/.mirror/
		mkdir -p other && printf 'a providex' >other/terraform-provider-thing_v1.2.3
		args[at]=$PWD/other:${args[at]#*:}
	EOT
	refused plan_provider_changed registry.test/acme/thing <<-'EOT'
		mount_at /opt/sbx/.mirror/
		cp -r "$source/." other && touch other/more
		args[at]=$PWD/other:${args[at]#*:}
	EOT
	refused plan_provider_changed registry.test/acme/thing <<-'EOT'
		mount_at /opt/sbx/.mirror/
		unset "args[at]" "args[at - 1]"
		args=("${args[@]}")
	EOT
	runs
}

@test "the workspace and the plan's bytes" {
	refused plan_tree_changed 'the directory' <<-'EOT'
		sed 's/as-planned/as-changed/' <&4 >inputs
		exec 4<inputs
	EOT
	refused plan_file_changed 'the saved plan' <<-'EOT'
		sed 's/the-plan/the-plxn/' <&4 >inputs
		exec 4<inputs
	EOT
	runs
}

@test "the state: serial, lineage, content, no state at all; and what was written there is not taken" {
	rewrite() { # CODE WORDS SERIAL LINEAGE [OUTPUT]
		state_file "${@:3}" >"$T/rewritten"
		refused "$1" "$2" <<<'mount_at /work/envs/staging/terraform.tfstate; cat rewritten >"$source"'
		assert_json .result.state_file kept_beside
	}
	rewrite plan_serial_changed 'moved on' 4 one
	rewrite plan_lineage_changed 'another lineage' 3 two
	rewrite plan_state_changed 'same serial' 3 one '"a":{"value":1,"type":"number"}'
	refused plan_state_changed 'cannot be read' <<-'EOT'
		mount_at /work/envs/staging/terraform.tfstate
		printf 'no state' >"$source"
	EOT
	assert_json .result.state_file kept_beside
	runs
}

@test "less isolation than the plan was made in" {
	claimed
	seal_says '.isolation = "gvisor"'
	: >"$T/change"
	# Whoever holds the key can say so; the decision is then about that seal.
	sed -i 's/tier: high/tier: low/' "$T/policy/tools/run_plan.yaml"
	rm "$T/call"
	asked 2>/dev/null | sbx-cred "$T/capture" >/dev/null 2>&1 || true
	run_sbx 77 bash -c "'$PREFIX/bin/sbx-run' <'$T/call'"
	assert_call isolation_too_weak
	seal_says '.isolation = "local"'
	rm "$T/call"
	asked 2>/dev/null | sbx-cred "$T/capture" >/dev/null 2>&1 || true
	run_sbx 0 bash -c "'$PREFIX/bin/sbx-run' <'$T/call'"
}
