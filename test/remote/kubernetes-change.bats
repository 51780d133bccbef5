#!/usr/bin/env bats
# A change to a cluster as a plan: previewed by one tool, signed, checked and sent by another. A program of the tests stands for sbx-change-kubernetes, so
# that a test says itself what the server would answer: what is previewed is what a real one printed, and the check does what a file spells out.

load ../helpers

shipped_signals() {
	no_policy_tests
	rm -r "$T/policy/signals"
	cp -r "$ROOT/policy/signals" "$T/policy/signals"
	new_signer alice
}

setup() {
	fresh_state basic shipped_signals
	mkdir -p "$T/bin" "$T/work/manifests/web"
	cp "$SBX_BUILD/test/stepper" "$T/bin/sbx-change-kubernetes"
	scaled 3 0 >"$T/bin/lines"
	scaled 3 2 >"$T/work/manifests/web/api.yaml"
	sed -i -e "s|^programs:|programs:\n  change: {path: $T/bin/sbx-change-kubernetes, mounts: [$T/bin/lines], env_allowed: [KUBECONFIG]}\n  sender: {path: $T/bin/sbx-change-kubernetes, mounts: [$T/bin/world], env_allowed: [KUBECONFIG]}|" \
		-e 's|^scopes:|scopes:\n  preview: {audience: a, reads_secrets: false, permissions: ["deployments.apps/scale:patch"]}|' "$T/policy/policy.yaml"
	printf 'targets:\n  east: {server: "https://east.test:6443"}\n  west: {server: "https://west.test:6443"}\n' >>"$T/sbx.yaml"
	tools
	world out as-it-was
}

tools() {
	tool diff_scale <<-EOT
		name: diff_scale
		description: Previews another number of replicas.
		tier: medium
		params:
		  target: {type: target}
		  name: {type: dns_subdomain}
		  replicas: {type: integer, min: 0, max: 100}
		steps:
		  - [change, write, plan.bin, "scale {name} to {replicas}"]
		  - {argv: [change, cat, $T/bin/lines], analyse: kubernetes}
		produces: {plan: plan.bin}
		credentials: [{scope: preview, as: kubeconfig, env: KUBECONFIG}]
	EOT
	tool diff <<-EOT
		name: diff
		description: Previews a manifest.
		tier: medium
		params:
		  target: {type: target}
		  manifest: {type: file, under: ["*.yaml", "*/*.yaml"]}
		workspace: {tree: manifests}
		steps:
		  - [change, write, plan.bin, "apply {manifest}"]
		  - {argv: [change, cat, "{manifest}"], analyse: kubernetes}
		produces: {plan: plan.bin}
	EOT
	sender scale diff_scale
	sender apply diff
}

# sender NAME MAKER: a tool that sends the plans of MAKER.
sender() {
	tool "$1" <<-EOT
		name: $1
		description: Sends a change as it was previewed.
		tier: high
		params:
		  target: {type: target}
		  plan: {type: plan, of: [$2]}
		steps:
		  - {argv: [sender, follow, $T/bin/world, then, cat, {artifact: plan}], check: true}
		  - [sender, out, "sent: ", then, cat, {artifact: plan}]
	EOT
}

# world WORD...: what the check is to do.
world() {
	printf '%s\n' "$@" >"$T/bin/world"
}

# scaled FROM TO: a deployment whose replicas change.
scaled() {
	local object='{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"api","namespace":"web","uid":"5eed0001-0000-4000-8000-000000000001","resourceVersion":"1041"},"spec":{"replicas":%s,"selector":{"matchLabels":{"app":"api"}},"template":{"metadata":{"labels":{"app":"api"}},"spec":{"containers":[{"name":"api","image":"registry.test/api:1"}]}}}}'
	printf "{\"live\":$object,\"planned\":$object}\n" "$1" "$2"
}

chain() {
	sbx-policy "$@" | sbx-approve | sbx-cred sbx-run | sbx-audit
}
export -f chain

# planned TOOL WORD...: sets $plan.
planned() {
	run_sbx 0 bash -c 'chain "$@"' chain "$@"
	plan=$(member .result.plan.id <<<"$output")
	[ "${#plan}" -eq 32 ]
}

# asks RC TOOL WORD...
asks() {
	run_sbx "$1" bash -c 'chain "$@"' chain "${@:2}"
}

# signed TOOL WORD...: a person signs; sets $approval.
signed() {
	asks 75 "$@"
	approval=$(member .approval.id <<<"$output")
	sbx-approve sign "$approval" --key "$T/alice" >"$T/text" 2>"$T/sign.err" </dev/null || {
		cat "$T/sign.err"
		return 1
	}
}

@test "previewed, told to the person who signs, sent once" {
	planned diff_scale target=east name=api replicas=0
	assert_json .result.state completed
	assert_json .result.verdict destructive
	assert_json '.result.findings | map(.address) | join(" ")' web/Deployment.apps/api
	assert_json .result.stdout ''
	local seal=$T/var/plans/$plan/seal.json
	assert_equal "$(member '.seal | [.format, .tool, .target, .tree_sha256, .lock_sha256, .judge.program] | join(" ")' <"$seal")" \
		'kubernetes diff_scale east   change'
	assert_equal "$(member .seal.judge.sha256 <"$seal")" "$(sha256sum <"$T/bin/sbx-change-kubernetes" | cut -d' ' -f1)"
	assert_equal "$(member '.seal | [has("terraform"), has("state")] | tostring' <"$seal")" '[false,false]'
	[ ! -e "$T/var/plans/$plan/tree" ]
	signed scale target=east "plan=$plan"
	assert_contains "$(head -2 "$T/text" | tr '\n' ' ')" 'target "east"'
	assert_contains "$(<"$T/text")" 'asked for with tool "diff_scale": "name" is "api", "replicas" is 0, "target" is "east"'
	assert_contains "$(<"$T/text")" 'UPDATE "web/Deployment.apps/api" because "spec.replicas" (3 -> 0) changes: the object is changed in place; nothing of it runs any more; less capacity is left [destructive]'
	refute_contains "$(<"$T/text")" version
	refute_contains "$(<"$T/text")" provisioners
	asks 0 scale target=east "plan=$plan"
	assert_json .approval.id "$approval"
	assert_json .result.stdout 'sent: scale api to 0'
	asks 77 scale target=east "plan=$plan"
	assert_call plan_unknown
}

@test "what no rule asks for stands in the text that is signed, value by value, and in the result of the preview" {
	scaled 3 3 | sed -e 's/"image":"[^"]*"/&,"env":[{"name":"LOG","value":"info"},{"name":"DB_PASSWORD","value":"hunter22"}]/g' |
		sed -e 's/\(.*\)"info"\(.*\)"hunter22"/\1"debug\\nNot inspected"\2"hunter33"/' >"$T/work/manifests/web/api.yaml"
	planned diff target=east manifest=web/api.yaml
	assert_json .result.verdict safe
	assert_json .result.differences_total 3
	assert_json '.result.differences | map(.after) | join(" ")' '"debug" "Not inspected" (sensitive)'
	signed apply target=east "plan=$plan"
	local env='spec.template.spec.containers[api].env'
	assert_contains "$(<"$T/text")" "
Values that become others: 3
  value \"$env[LOG].value\" in \"web/Deployment.apps/api\", line 1 (\"info\" -> \"debug\")
  value \"$env[LOG].value\" in \"web/Deployment.apps/api\", line 2 (none -> \"Not inspected\")
  value \"$env[DB_PASSWORD].value\" in \"web/Deployment.apps/api\" ((sensitive) -> another (sensitive))
Not inspected
"
	refute_contains "$(<"$T/text")" hunter
	refute_contains "$output" hunter
}

@test "the object moved: refused with what is different, not spent, and sent when it is as it was" {
	planned diff_scale target=east name=api replicas=0
	signed scale target=east "plan=$plan"
	world err 'Deployment web/api: spec.replicas is 5, was 3' then exit 65
	asks 77 scale target=east "plan=$plan"
	assert_call state_moved
	assert_contains "$(member .error.hint <<<"$output")" 'Deployment web/api: spec.replicas is 5, was 3'
	assert_json .result.stdout ''
	refute_contains "$stderr" 'step 2'
	world exit 69
	asks 77 scale target=east "plan=$plan"
	assert_call check_failed
	world out fine
	asks 0 scale target=east "plan=$plan"
	assert_json .approval.id "$approval"
	assert_json .result.stdout 'sent: scale api to 0'
}

@test "a tool takes the plans of the tools that it names, and for no other target" {
	planned diff_scale target=east name=api replicas=0
	asks 77 apply target=east "plan=$plan"
	assert_call plan_of_other_tool
	assert_contains "$(member .error.hint <<<"$output")" 'made with diff'
	asks 77 scale target=west "plan=$plan"
	assert_call plan_target
	# Without a list it takes Terraform's alone.
	sed -i 's/, of: \[diff_scale\]//' "$T/policy/tools/scale.yaml"
	asks 77 scale target=east "plan=$plan"
	assert_call plan_of_other_tool
	sender scale 'diff, diff_scale'
	asks 75 scale target=east "plan=$plan"
}

@test "what the seal covers: another server, another program, another byte of the plan" {
	planned diff_scale target=east name=api replicas=0
	signed scale target=east "plan=$plan"
	sed -i 's/east.test/south.test/' "$T/sbx.yaml"
	asks 77 scale target=east "plan=$plan"
	assert_call plan_target_changed
	sed -i 's/south.test/east.test/' "$T/sbx.yaml"
	printf x >>"$T/bin/sbx-change-kubernetes"
	# The sender has the program under a name of its own; the one that was believed is named in the seal.
	sed -i 's/\[sender, out/[change, out/' "$T/policy/tools/scale.yaml"
	asks 77 scale target=east "plan=$plan"
	assert_call plan_program_changed
	cp "$SBX_BUILD/test/stepper" "$T/bin/sbx-change-kubernetes"
	printf X | dd of="$T/var/plans/$plan/plan.bin" conv=notrunc bs=1 seek=3 status=none
	asks 77 scale target=east "plan=$plan"
	assert_call plan_file_changed
}

@test "a file of the workspace: where it may lie, and that its bytes are sealed" {
	local bad
	printf x >"$T/work/manifests/.hidden.yaml"
	printf x >"$T/work/manifests/web/notes.txt"
	mkdir "$T/work/manifests/dir.yaml"
	ln -s web/api.yaml "$T/work/manifests/link.yaml"
	ln -s web "$T/work/manifests/also"
	mkfifo "$T/work/manifests/pipe.yaml"
	for bad in web/notes.txt web/absent.yaml ../manifests/web/api.yaml web/../web/api.yaml ./web/api.yaml web//api.yaml /etc/passwd .hidden.yaml dir.yaml \
		link.yaml also/api.yaml pipe.yaml -x.yaml web web/api.yaml/ main:web/api.yaml; do
		asks 77 diff target=east "manifest=$bad" || {
			echo "$bad"
			return 1
		}
		assert_call bad_parameter
	done
	rm "$T/work/manifests/pipe.yaml"
	planned diff target=east manifest=web/api.yaml
	assert_json .result.verdict destructive
	signed apply target=east "plan=$plan"
	scaled 3 1 >"$T/work/manifests/web/api.yaml"
	asks 77 apply target=east "plan=$plan"
	assert_call plan_tree_changed
	scaled 3 2 >"$T/work/manifests/web/api.yaml"
	asks 0 apply target=east "plan=$plan"
	assert_json .approval.id "$approval"
	assert_json .result.stdout 'sent: apply web/api.yaml'
}

@test "a file names its workspace where there are several" {
	sed -i 's/^workspaces:.*/workspaces: {main: work, other: elsewhere}/' "$T/sbx.yaml"
	mkdir "$T/elsewhere"
	planned diff target=east manifest=main:web/api.yaml
	signed apply target=east "plan=$plan"
	asks 0 apply target=east "plan=$plan"
	assert_json .result.stdout 'sent: apply web/api.yaml'
	asks 77 diff target=east manifest=web/api.yaml
	assert_call bad_parameter
}

@test "what a policy may not say" {
	# bad TOOL SED WORDS: the changed tool is refused, in these words.
	bad() {
		cp "$T/policy/tools/$1.yaml" "$T/good"
		sed -i "$2" "$T/policy/tools/$1.yaml"
		run_sbx 78 sbx-policy list
		assert_contains "$stderr" "$3"
		cp "$T/good" "$T/policy/tools/$1.yaml"
	}
	bad diff_scale 's/^tier: medium/tier: low/' 'so the tool is not low'
	bad diff_scale 's/\[change, write/[stepper, write/' 'goes to the program that previews alone'
	bad diff_scale 's/analyse: kubernetes/analyse: terraform/' 'a credential that can only read'
	bad diff_scale 's/analyse: kubernetes/analyse: helm/' 'nothing reads this kind of output'
	bad diff_scale 's/- \[change, write.*/- {argv: [change, write, plan.bin, x], seals: state}/' 'has no state'
	bad diff 's/^workspace:.*//' 'a file needs a workspace'
	bad diff 's/{tree: manifests}/{tree: ., cwd: manifests}/' 'a file needs a workspace'
	bad diff 's/, under: .*}/}/' 'the type file needs under:'
	bad apply 's/of: \[diff\]/of: []/' 'names no tool'
	bad apply 's/of: \[diff\]/of: [Diff]/' 'is no name of a tool'
	bad diff 's/manifest: {type: file/manifest: {type: string, of: [diff]/; s/, under: .*}/}/' 'has no "of"'
	run_sbx 0 sbx-policy list
}
