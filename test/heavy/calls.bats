#!/usr/bin/env bats
# Calls that agents were seen to make, or could (test/fixtures/cases.jsonl): each is decided as its label says, by the tools that ship and those of
# test/fixtures/calls beside them. What a plan does is judged by sbx-plan, and an approval is a person's signature.

load ../helpers
load ../sealed
load ../calls

setup() { calls_setup; }

# cases FILTER: "ID STATUS EFFECT REQUEST FILE PLAN" of the cases for which FILTER holds; a tool for a cluster is told which one. FILE is what the case's plan
# is made of, PLAN the name that the case has for it.
cases() {
	jq -r "select($1)"' | "\(.id)\t" + {allow: "0\tallow", approval: "0\tapprove", deny: "77\tdeny"}[.expected] + "\t" + (
		if (.tool | startswith("k8s_")) then .parameters.target = "dev" else . end | {tool, params: .parameters} | tojson) +
		"\t\(.plan // "" | sub("corpus/"; ""))\t\(.parameters.plan)"' "$ROOT/test/fixtures/cases.jsonl"
}

@test "a call that names no plan is decided as its label says" {
	local total=0 id want effect request _
	mkdir -p "$T/work/agent/scratch" "$T/work/modules/db"
	ln -s /tmp "$T/work/envs/link-to-outside"
	while IFS=$'\t' read -r id want effect request _; do
		total=$((total + 1))
		run_sbx "$want" sbx-policy <<<"$request" || {
			printf '%s: %s\n' "$id" "$request"
			return 1
		}
		assert_equal "$id $(member .policy.effect <<<"$output")" "$id $effect"
	done < <(cases '(has("plan") or has("approval")) | not')
	assert_equal "$total" 61
}

# plan_of FILE NAME: sets $plan to the plan that was made of the case's file, or to the name that the case has for it when none was.
plan_of() {
	local file=$1
	[ -e "$ROOT/test/corpus/plans/$file" ] && file=$ROOT/test/corpus/plans/$file || file=$ROOT/test/fixtures/calls/plans/$file
	cp "$file" "$T/work/plan.json"
	plan=$(chain make_plan 2>/dev/null | member '.result.plan.id // empty')
	[ -n "$plan" ] || plan=$2
}

@test "an apply is decided by what its plan does, and a plan that cannot be read is none" {
	local total=0 id want effect _ file name
	while IFS=$'\t' read -r id want effect _ file name; do
		total=$((total + 1))
		plan_of "$file" "$name"
		run_sbx "$want" sbx-policy terraform_apply "plan=$plan" || {
			printf '%s\n' "$id"
			return 1
		}
		assert_equal "$id $(member .policy.effect <<<"$output")" "$id $effect"
	done < <(cases 'has("plan")')
	assert_equal "$total" 12
}

# asks: sbx-approve's answer to the request to apply $plan.
asks() {
	sbx-policy terraform_apply "plan=$plan" 2>/dev/null | sbx-approve
}
export -f asks

# is_signed: a person signs that request, which was made at $since.
is_signed() {
	local _ file name
	IFS=$'\t' read -r _ _ _ _ file name < <(cases '.id == "tf-021"')
	plan_of "$file" "$name"
	export plan
	run_sbx 75 bash -c asks
	since=$SECONDS
	approval=$(member .approval.id <<<"$output")
	sbx-approve sign "$approval" --key "$T/alice" </dev/null >/dev/null 2>"$T/sign.err"
}

# is_refused: and nothing is claimed.
is_refused() {
	run bash -c 'asks 2>/dev/null'
	[ "$status" -eq 75 ] || [ "$status" -eq 77 ]
	[ "$(member .approval.state <<<"$output")" != claimed ]
}

@test "an approval is for one apply of this plan, in its time, of what was planned" {
	assert_equal "$(cases 'has("approval")' | cut -f1 | tr '\n' ' ')" 'tf-037 tf-038 tf-040 tf-087 tf-119 '
	# tf-119: valid; tf-037: consumed.
	is_signed
	run_sbx 0 bash -c asks
	assert_json .approval.state claimed
	is_refused
	# tf-040: a file that the configuration reads has changed.
	is_signed
	echo 'echo as-changed' >"$TREE/script.sh"
	is_refused
	assert_equal "$(member .error.code <<<"$output")" plan_tree_changed
	echo 'echo as-planned' >"$TREE/script.sh"
	run_sbx 0 bash -c asks
	assert_json .approval.state claimed
}

@test "an approval ends" {
	printf 'tiers: {high: {ttl: 5s}}\n' >>"$T/policy/policy.yaml"
	is_signed
	is_over() { [ "$((SECONDS - since))" -gt 6 ]; }
	wait_until 10 is_over
	is_refused
	refute_contains "$(member .approval.id <<<"$output")" "$approval"
}

# An object that changed since the review is refused by the check of the tool that applies, and by the server (test/cluster/changes.bats).
@test "an apply of a manifest always waits for a person" {
	local request
	request=$(cases '.id == "tf-087"' | cut -f4)
	run_sbx 0 sbx-policy <<<"$request"
	assert_json .policy.effect approve
}

@test "what must not exist does not: no tool starts these, and no parameter leads there" {
	local words
	rm "$T"/policy/tools/*
	cp "$ROOT"/policy/tools/*.yaml "$T/policy/tools/"
	sed -i 's/^\( *\)namespaces:.*/\1namespaces: [default]/' "$T/policy/policy.yaml"
	run_sbx 0 sbx-policy list --json
	assert_json '.tools | length' "$(ls "$ROOT/policy/tools" | wc -l)"
	assert_json '[.tools[].name | select(test("exec|attach|_cp$|port_forward|proxy|debug|config|console|output|_show|edit|_run$|secret"))] | join(" ")' ''
	# What the steps of the tools say, comments aside, and a table's columns.
	words=$(sed -s -e '/^tests:/,$d' -e 's/^ *#.*//' "$ROOT"/policy/tools/*.yaml "$ROOT"/cluster/policy/tools/*.yaml | sed -n -e 's/--output=wide$//' -e '/^steps:/,/^[a-z]/p')
	for word in exec attach cp port-forward proxy debug config console output edit run raw kustomize follow token secrets configmaps; do
		run grep -nE "(^|[[ ,])-{0,2}$word([] ,=]|\$)" <<<"$words"
		assert_equal "$word: $output" "$word: "
	done
	grep -qE '(^|[[ ,])get([] ,]|$)' <<<"$words"
}

@test "nothing that is allowed is lost: names like commands and options, the longest ones, selectors with commas and parentheses, for each tool that ships" {
	local long tool parameters asked=
	printf -v long '%*s' 253 ''
	long=${long// /x}
	long=${long:0:63}.${long:0:63}.${long:0:63}.${long:0:61}
	rm "$T"/policy/tools/*
	cp "$ROOT"/policy/tools/*.yaml "$T/policy/tools/"
	no_policy_tests
	sed -i -e 's/^\( *\)namespaces:.*/\1namespaces: [web, destroy-staging]/' -e 's|^mirror: .*||' "$T/policy/policy.yaml"
	printf 'egress:\n  terraform-registry: {to: "registry.test:443"}\n  terraform-releases: {to: "releases.test:443"}\nproviders: ["registry.test/acme/*"]\n' >>"$T/policy/policy.yaml"
	mkdir -p "$T/work/manifests/apply" "$T/work/envs/delete-me" "$T/work/modules/destroy-all"
	touch "$T/work/manifests/delete-me.yaml" "$T/work/manifests/apply/all.json" "$T"/work/{envs/delete-me,modules/destroy-all}/main.tf
	while read -r tool parameters; do
		[ -n "$tool" ] || continue
		asked+="$tool "
		parameters=${parameters//LONG/$long}
		[[ $tool != k8s_* ]] || parameters="{\"target\":\"dev\",${parameters#\{}"
		run_sbx 0 sbx-policy <<<"{\"tool\":\"$tool\",\"params\":$parameters}" || {
			printf '%s %s\n' "$tool" "$parameters"
			return 1
		}
		[ "$(member .policy.effect <<<"$output")" != deny ]
	done <<-'LIST'
		k8s_get {"namespace":"destroy-staging","resource":"pods","name":"LONG"}
		k8s_get {"namespace":"web","resource":"pods","selector":"app in (api, web),tier!=cache,!old"}
		k8s_get {"namespace":"web","resource":"events","field_selector":"type!=Normal,involvedObject.name=delete-me"}
		k8s_describe {"namespace":"web","resource":"pod","name":"delete-me"}
		k8s_describe {"namespace":"web","resource":"deployment","name":"LONG"}
		k8s_logs {"namespace":"web","pod":"LONG","container":"drop-all"}
		k8s_get_pod_status {"namespace":"web","pod":"delete-me.all.now"}
		k8s_rollout_status {"namespace":"web","deployment":"LONG"}
		k8s_top_pods {"namespace":"web","selector":"app.kubernetes.io/name notin (delete-me,drain)"}
		k8s_diff_scale {"namespace":"web","kind":"Deployment","name":"LONG","replicas":0}
		k8s_diff_scale {"namespace":"destroy-staging","kind":"StatefulSet","name":"delete-me","replicas":1}
		k8s_diff_restart {"namespace":"web","kind":"DaemonSet","name":"delete-me"}
		k8s_diff_restart {"namespace":"web","kind":"Deployment","name":"LONG"}
		k8s_diff_delete {"namespace":"web","kind":"Pod","name":"all"}
		k8s_diff_delete {"namespace":"web","kind":"Service","name":"LONG"}
		k8s_diff_cordon {"node":"delete-me"}
		k8s_diff_cordon {"node":"LONG"}
		k8s_diff_uncordon {"node":"drain"}
		k8s_diff_uncordon {"node":"LONG"}
		k8s_diff_drain {"node":"delete-me.nodes.all"}
		k8s_diff_drain {"node":"LONG"}
		k8s_diff {"namespace":"destroy-staging","manifest":"delete-me.yaml"}
		k8s_diff {"namespace":"web","manifest":"apply/all.json"}
		terraform_plan {"dir":"envs/delete-me","destroy":true}
		terraform_validate {"dir":"modules/destroy-all"}
		terraform_test {"dir":"envs/delete-me"}
		terraform_fetch {"dir":"modules/destroy-all"}
		terraform_force_unlock {"dir":"envs/delete-me","lock_id":"9db590f1-b6fe-c5f2-2678-8804f089deba"}
		terraform_force_unlock {"dir":"envs/delete-me","lock_id":"1764500000000000"}
		terraform_state_rm {"dir":"envs/delete-me","address":"terraform_data.delete-me"}
		terraform_state_rm {"dir":"envs/delete-me","address":"module.destroy[\"a (b, c)\"].aws_iam_user.all[\"x@example.com\"]"}
		terraform_state_rm {"dir":"envs/delete-me","address":"aws_route.force[\"10.0.0.0/16\"]"}
	LIST
	# Each tool was asked, but for those that take the plan of another one (test/cluster/changes.bats).
	for tool in "$T"/policy/tools/*.yaml; do
		grep -q 'type: plan' "$tool" || assert_contains " $asked" " $(basename "$tool" .yaml) "
	done
}
