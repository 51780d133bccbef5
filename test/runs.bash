# Shared by the bats files of sbx-run: an installation with tools whose steps are programs of the tests, and what starts and watches a run.

# Before the first test of a file. By this the processes of a run are found.
runs_setup_file() {
	export MARK=mark$BASHPID$RANDOM
}

runs_setup() {
	fresh_state basic tools_of_runs
	# Which sbx-cred runs with a call, that it may be kept.
	printf 'commands: [%s/capture]\n' "$T" >>"$T/sbx.yaml"
	PATH=$T:$PATH
}

tools_of_runs() {
	add_tools
	no_policy_tests
	# Scripts, since `timeout` and sbx-cred start programs alone.
	printf '#!/bin/bash\nsbx-policy "$@" | sbx-approve | sbx-cred sbx-run\n' >"$T/chain"
	printf '#!/bin/sh\nexec cat >"${0%%/*}/call"\n' >"$T/capture"
	chmod 755 "$T/chain" "$T/capture"
}

add_tools() {
	tool sleep <<-EOT
		name: sleep
		description: Waits until it is stopped.
		tier: low
		params:
		  stubborn: {type: boolean, default: false}
		steps:
		  - [stepper, out, $MARK, then, {if: stubborn, then: stubborn}, sleep]
		limits: {deadline: 20s, grace: 1s}
	EOT
	tool flood <<-'EOT'
		name: flood
		description: More than fits, all of it control characters.
		tier: low
		steps:
		  - [stepper, flood, "200000", "1", then, fill, "200000", "27"]
	EOT
	tool bytes <<-'EOT'
		name: bytes
		description: Bytes that are no text.
		tier: low
		steps:
		  - [stepper, flood, "3", "255", then, out, 'a\b']
	EOT
	tool ghost <<-EOT
		name: ghost
		description: Leaves a process behind.
		tier: low
		steps:
		  - [stepper, out, $MARK, then, linger, then, out, one]
		  - [stepper, out, two]
	EOT
	tool networked <<-'EOT'
		name: networked
		description: Needs a network.
		tier: low
		steps:
		  - ["true"]
		egress: [kubernetes-api]
	EOT
	tool envs <<-'EOT'
		name: envs
		description: Shows its environment.
		tier: low
		steps:
		  - [stepper, env, HOME, then, env, PATH, then, env, LD_PRELOAD, then, env, TF_CLI_ARGS, then, env, SBX_CONFIG]
	EOT
	tool nonsense_plan <<-'EOT'
		name: nonsense_plan
		description: Analyses what is no plan.
		tier: low
		steps:
		  - [stepper, write, plan.bin, x, then, out, secret-words, then, err, said-aloud]
		  - {argv: [stepper, out, '{{"no": "plan"}}'], analyse: terraform}
		produces: {plan: plan.bin}
	EOT
	tool write_state <<-'EOT'
		name: write_state
		description: Writes a state.
		tier: high
		params:
		  serial: {type: integer, min: 0, max: 100}
		  lineage: {type: string, pattern: "[a-z]+", default: one}
		  status: {type: string, pattern: "[0-9]", default: "0"}
		workspace: {tree: ., cwd: envs/staging, state: {path: envs/staging, access: write}}
		steps:
		  - [stepper, state, terraform.tfstate, "{serial}", "{lineage}", then, exit, "{status}"]
	EOT
	tool read_state <<-'EOT'
		name: read_state
		description: Reads a state, and tries to change it.
		tier: low
		workspace: {tree: ., cwd: envs/staging, state: {path: envs/staging, access: read}}
		steps:
		  - [stepper, cat, terraform.tfstate, then, state, terraform.tfstate, "99", other]
	EOT
	tool sleep_approved <<-EOT
		name: sleep_approved
		description: Waits, with an approval.
		tier: high
		steps:
		  - [stepper, out, $MARK, then, sleep]
		limits: {deadline: 20s, grace: 1s}
	EOT
}

# make_call TOOL ARG...: $T/call is a call as sbx-cred gives it to sbx-run.
make_call() {
	sbx-policy "$@" 2>"$T/policy.err" | sbx-approve 2>"$T/approve.err" | sbx-cred "$T/capture" >"$T/cred.out" 2>"$T/cred.err" || true
	[ -s "$T/call" ] || {
		cat "$T"/*.err "$T/cred.out"
		return 1
	}
}

# make_approved_call TOOL ARG...: the same, with an approval that a person gave.
make_approved_call() {
	[ -f "$T/alice" ] || new_signer alice
	sbx-policy "$@" 2>/dev/null | sbx-approve >"$T/waiting" 2>/dev/null || true
	sbx-approve sign "$(jq -r .approval.id "$T/waiting")" --key "$T/alice" >/dev/null 2>"$T/sign.err" </dev/null || {
		cat "$T/sign.err"
		return 1
	}
	make_call "$@"
	[ "$(jq -r .approval.state "$T/call")" = claimed ]
}

call_dir() {
	printf '%s/var/runs/%s' "$T" "$(jq -r .call.id "${1:-$T/call}")"
}

events() {
	jq -r '.event' "$T/var/audit.jsonl" | tr '\n' ' '
}

# fake_driver < SHELL: a driver of the test's own; sbx-run of $FAKE/bin finds it. The words hello, frame and event are given.
fake_driver() {
	FAKE=$T/prefix
	mkdir -p "$FAKE/bin" "$FAKE/libexec/sbx"
	cp "$SBX_BIN/sbx-run" "$SBX_BIN/sbx-plan" "$FAKE/bin/"
	{
		cat <<-'EOT'
			#!/bin/bash
			N=0123456789abcdef0123456789abcdef
			frame() { printf 'sbx-frame %s %s %s %s\n%s\n' "$N" "$1" "$2" "${#3}" "$3"; }
			event() { printf 'sbx-frame 00000000000000000000000000000000 event 0 %s\n%s\n' "${#1}" "$1"; }
			hello() { frame hello 0 '{"isolation":"local"}'; }
		EOT
		cat
	} >"$FAKE/libexec/sbx/sbx-run-fake"
	chmod 755 "$FAKE/libexec/sbx/sbx-run-fake"
	grep -q ^driver "$T/sbx.yaml" || printf 'driver: fake\n' >>"$T/sbx.yaml"
}

run_fake() {
	local want=$1
	shift
	run_sbx "$want" bash -c "'$FAKE/bin/sbx-run' <'$T/call'"
}

# start_run: sbx-run in the background on $T/call, until its step has begun; $RUN is its pid.
start_run() {
	sbx-run <"$T/call" >"$T/out" 2>"$T/err" 3>&- &
	RUN=$!
	wait_until 10 sleeps
}

end_run() {
	status=0
	wait "$RUN" || status=$?
	output=$(cat "$T/out")
}

# A process of this test's own sandbox: the words of its command line are nobody else's.
sleeps() {
	pgrep -f "stepper out $MARK" >/dev/null
}

no_sleeper() {
	! sleeps
}
