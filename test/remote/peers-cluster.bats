#!/usr/bin/env bats
# What happened to others who gave an agent kubectl, or a server that speaks MCP for it: each by what it was, and beside each refusal the same thing where
# it is allowed.

load ../helpers
load ../sealed
load ../calls

setup() { calls_setup; }

# decided EFFECT TOOL {PARAMS}: what sbx-policy says of this call to the cluster dev.
decided() {
	local want=77
	local params=${3#\{}
	[ "$1" = deny ] || want=0
	run_sbx "$want" sbx-policy <<<"{\"tool\":\"$2\",\"params\":{\"target\":\"dev\",$params}" || {
		printf '%s %s\n' "$2" "$3"
		return 1
	}
	assert_equal "$2 $3 $(member .policy.effect <<<"$output")" "$2 $3 $1"
}

# argv: the arguments of the one step that was decided, one on a line.
argv() { jq -r '.policy.run.steps[0].argv[]' <<<"$output"; }

@test "delete --all namespaces, and a namespace that was not said, took everything" {
	decided deny k8s_delete '{"resource":"namespace","name":"web"}'
	decided deny k8s_delete '{"resource":"namespaces","namespace":"web","name":"web"}'
	decided deny k8s_delete '{"resource":"pod","namespace":"web","all":true}'
	decided deny k8s_delete '{"resource":"pod","namespace":"web","selector":"app=web"}'
	decided deny k8s_delete '{"resource":"pod","namespace":"","name":"api-0"}'
	decided deny k8s_delete '{"resource":"pod","name":"api-0"}'
	decided deny k8s_delete '{"resource":"pod","namespace":"web","name":"api-0 api-1"}'
	decided deny k8s_delete '{"resource":"pod","namespace":"web","name":"api-0,api-1"}'
	# One object, with whatever name, after a person: and what else goes is said.
	decided approve k8s_delete '{"resource":"pod","namespace":"destroy-staging","name":"all"}'
	printf '%s\n' '{"live":{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"web","uid":"n"}},"planned":null}' >"$T/delete"
	run_sbx 0 sh -c 'exec sbx-plan -f kubernetes <"$1"' - "$T/delete"
	assert_json '[.verdict, .data_destroyed, (.findings[0].signals | contains(["cascade_unknown"]))] | map(tostring) | join(" ")' 'destructive 1 true'
}

@test "a tool that was not in the list could be called" {
	printf 'tests:\n  - {expect: allow}\n' >>"$T/policy/tools/k8s_cordon.yaml"
	run sbx-policy list --json
	assert_equal "$(jq -c '[.tools[].name] | [index("k8s_cordon"), (index("k8s_scale") != null)]' <<<"${lines[-1]}")" '[null,true]'
	run_sbx 78 sbx-policy <<<'{"tool":"k8s_cordon","params":{"target":"dev","node":"node-1"}}'
	assert_call tool_not_served
	sed -i '/^tests:/,$d' "$T/policy/tools/k8s_cordon.yaml"
	decided approve k8s_cordon '{"node":"node-1"}'
}

@test "a name that was an option sent the token to another server" {
	local option longest
	for option in --server=https://203.0.113.1:6443 -shttps://203.0.113.1 --insecure_skip_tls_verify -A --as=system:admin --kubeconfig=/tmp/x -v=9; do
		decided deny k8s_get_pod_status "{\"namespace\":\"web\",\"pod\":\"$option\"}"
		decided deny k8s_describe "{\"namespace\":\"web\",\"resource\":\"pod\",\"name\":\"$option\"}"
		decided deny k8s_logs "{\"namespace\":\"web\",\"pod\":\"$option\"}"
		decided deny k8s_get "{\"namespace\":\"web\",\"resource\":\"pods\",\"selector\":\"$option\"}"
		decided deny k8s_rollout_status "{\"namespace\":\"$option\",\"deployment\":\"api\"}"
	done
	printf -v longest '%*s' 253 ''
	longest=${longest// /x}
	longest=${longest:0:60}.${longest:0:60}.${longest:0:60}.${longest:0:60}.${longest:0:9}
	assert_equal "${#longest}" 253
	decided allow k8s_get_pod_status "{\"namespace\":\"web\",\"pod\":\"$longest\"}"
	assert_equal "$(argv | tail -n 2 | paste -sd' ')" "-- $longest"
}

@test "a server that only read printed the kubeconfig, and the agent wrote with it" {
	decided deny k8s_config_view '{"raw":true}'
	decided deny k8s_get '{"namespace":"web","resource":"pods","output":"yaml"}'
	decided deny k8s_get '{"raw":"/api/v1/namespaces/web/serviceaccounts/default/token"}'
	decided deny k8s_get '{"namespace":"web","resource":"serviceaccounts"}'
	decided allow k8s_get '{"namespace":"web","resource":"deployments"}'
}

@test "Secrets came out by another spelling, by describe, by exec, and in an annotation" {
	local kind
	for kind in secret secrets Secret secrets.v1. secrets/db pods,secrets configmaps all; do
		decided deny k8s_get "{\"namespace\":\"web\",\"resource\":\"$kind\"}"
		decided deny k8s_describe "{\"namespace\":\"web\",\"resource\":\"$kind\",\"name\":\"db\"}"
	done
	decided deny k8s_get '{"namespace":"web","resource":"pods","name":"secrets/db"}'
	decided deny k8s_exec '{"namespace":"web","pod":"api-0","command":["cat","/var/run/secrets/kubernetes.io/serviceaccount/token"]}'
	decided allow k8s_describe '{"namespace":"web","resource":"pod","name":"secrets"}'
	# Nothing of the object but fields by name is asked for: no environment's value, no annotation, no data.
	argv | grep -q '^--output=go-template='
	run grep -E 'annotations|\.data|\.value' <<<"$(argv)"
	assert_equal "$output" ''
}

@test "a second command behind the first ran, because a shell read it" {
	local tail
	for tail in '; kubectl delete ns web' '$(id)' '`id`' '| sh' '&& id' $'\nid' '> /tmp/x'; do
		decided deny k8s_get "$(jq -nc --arg v "app=web$tail" '{namespace: "web", resource: "pods", selector: $v}')"
		decided deny k8s_logs "$(jq -nc --arg v "api-0$tail" '{namespace: "web", pod: $v}')"
	done
	# One argument as it stands, with its blanks and parentheses.
	decided allow k8s_get '{"namespace":"web","resource":"pods","selector":"app in (api, web),tier!=cache,!old"}'
	assert_equal "$(argv | grep -c '^--selector=app in (api, web),tier!=cache,!old$')" 1
}

@test "an agent approved what it had asked for itself, with an id that it made up" {
	decided approve k8s_scale '{"namespace":"web","deployment":"api","replicas":5}'
	decided deny k8s_scale '{"namespace":"web","deployment":"api","replicas":5,"approval":"0123456789abcdef0123456789abcdef"}'
	decided deny k8s_scale '{"namespace":"web","deployment":"api","replicas":5,"approved":true}'
	decided deny sbx_approve '{"id":"0123456789abcdef0123456789abcdef"}'
	run_sbx 65 sbx-policy <<<'{"tool":"k8s_scale","params":{},"approval":{"state":"claimed"}}'
}

@test "state rm without an address emptied the state" {
	run_sbx 77 sbx-policy terraform_state_rm dir=envs/staging
	assert_call missing_parameter
	local address
	for address in '' '*' module module.web 'module.web["a"]' 'terraform_data.a terraform_data.b' . -dry-run terraform_data.a. terraform_data; do
		run_sbx 77 sbx-policy terraform_state_rm dir=envs/staging "address=$address"
	done
	run_sbx 0 sbx-policy terraform_state_rm dir=envs/staging 'address=module.web.terraform_data.a["eu-west-1"]'
	assert_json .policy.effect approve
}
