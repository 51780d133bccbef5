# sbx-change-kubernetes without a cluster: its options, what a plan has to be, and that nothing is asked of anybody before that.

load ../helpers

CHANGE=$SBX_LIBEXEC/sbx-change-kubernetes

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	unset KUBECONFIG
}

usage() { # ARGUMENT...: 64
	run_sbx 64 "$CHANGE" "$@"
	assert_contains "$stderr" 'usage: sbx-change-kubernetes preview'
	assert_equal "$output" ""
}

code() { # STATUS CODE ARGUMENT...
	local status=$1 code=$2
	shift 2
	run_sbx "$status" "$CHANGE" "$@"
	assert_contains "$stderr" "($code)"
	assert_equal "$output" ""
}

# The plan that scales a Deployment; PLAN is edited by the tests.
PLAN='{"change":"scale","cluster":{"ca_sha256":null,"server":"https://127.0.0.1:1","uid":null},"format":"sbx-change/1","objects":[{"live":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"api","namespace":"web","resourceVersion":"7","uid":"u1"},"spec":{"replicas":3}},"planned":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"api","namespace":"web","resourceVersion":"7","uid":"u1"},"spec":{"replicas":1}}}],"requests":[{"body":{"metadata":{"resourceVersion":"7","uid":"u1"},"spec":{"replicas":1}},"content_type":"application/merge-patch+json","method":"PATCH","path":"/apis/apps/v1/namespaces/web/deployments/api","query":"fieldManager=sbx&fieldValidation=Strict"}]}'

kubeconfig() { # USER: nobody serves the address
	cat >kubeconfig <<-EOT
		apiVersion: v1
		kind: Config
		clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
		contexts: [{name: a, context: {cluster: a, user: a}}]
		current-context: a
		users: [{name: a, user: $1}]
	EOT
	chmod 600 kubeconfig
	export KUBECONFIG=$PWD/kubeconfig
}

@test "usage: each change has its own options, and no others" {
	usage
	usage frobnicate
	usage show
	usage check a b
	usage preview
	usage preview --change=scale --namespace=web --kind=Deployment --name=api --replicas=1
	usage preview --out=a --change=grow --namespace=web --kind=Deployment --name=api
	usage preview --out=a --change=scale --namespace=web --kind=Deployment --name=api
	usage preview --out=a --change=scale --namespace=web --kind=Deployment --name=api --replicas=-1
	usage preview --out=a --change=scale --namespace=web --kind=Deployment --name=api --replicas=1x
	usage preview --out=a --change=restart --namespace=web --kind=Deployment --name=api --replicas=1
	usage preview --out=a --change=restart --namespace=web --kind=Deployment --name=api --name=b
	usage preview --out=a --change=restart --namespace=web --kind=Deployment --name=api b
	usage preview --out=a --change=restart --namespace=web --kind=Deployment
	usage preview --out=a --change=apply --namespace=web
	usage preview --out=a --change=apply --namespace=web --manifest=m --name=api
	usage preview --out=a --change=delete --namespace=web --kind=Pod --name=a --manifest=m
	usage preview --out=a --change=drain --name=n --namespace=web
	usage preview --out=a --change=drain --name=n --kind=Node
	run_sbx 0 "$CHANGE" --version
	assert_contains "$output" 'sbx-change-kubernetes '
}

@test "no cluster: KUBECONFIG names a file of ours that holds the credential itself" {
	local scale=(preview --out=out --change=scale --namespace=web --kind=Deployment --name=api --replicas=1)
	code 78 kubeconfig "${scale[@]}"
	KUBECONFIG=$PWD/none code 66 missing_file "${scale[@]}"
	kubeconfig '{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true}}'
	code 78 kubeconfig "${scale[@]}"
	assert_contains "$stderr" program
	kubeconfig '{token: abcdefgh}'
	chmod 644 kubeconfig
	code 78 unsafe_file "${scale[@]}"
	chmod 600 kubeconfig
	sed -i '/^current-context/d' kubeconfig
	code 78 kubeconfig "${scale[@]}"
	kubeconfig '{token: abcdefgh}'
	code 69 server_unreachable "${scale[@]}"
	[ ! -e out ]
}

@test "what is named is looked at before anybody is asked" {
	kubeconfig '{token: abcdefgh}'
	local kind name
	for kind in Secret secret Deployments apps/Deployment CustomResourceDefinition ClusterRole Node ''; do
		code 65 kind_refused preview --out=out --change=delete --namespace=web --kind="$kind" --name=a
	done
	code 65 kind_refused preview --out=out --change=scale --namespace=web --kind=DaemonSet --name=a --replicas=1
	code 65 kind_refused preview --out=out --change=restart --namespace=web --kind=Pod --name=a
	for name in '' . .. ../a a/b a%2fb A 'a b' -a a- a..b "$(printf 'a%.0s' {1..254})"; do
		code 65 bad_object_name preview --out=out --change=delete --namespace=web --kind=Pod --name="$name"
		code 65 bad_object_name preview --out=out --change=delete --namespace="$name" --kind=Pod --name=a
	done
	code 65 bad_object_name preview --out=out --change=delete --kind=Pod --name=a
	code 65 bad_object_name preview --out=out --change=delete --kind=Namespace --namespace=web --name=kube-system
	code 65 bad_object_name preview --out=out --change=delete --kind=PersistentVolume --namespace=web --name=a
	# The same where it is allowed: then the server is asked, and there is none.
	code 69 server_unreachable preview --out=out --change=delete --namespace=web --kind=Pod --name=delete-me.now
	code 69 server_unreachable preview --out=out --change=delete --namespace=web --kind=Namespace --name=web
}

@test "show: the lines of the plan, for sbx-plan" {
	printf '%s\n' "$PLAN" >plan
	run_sbx 0 "$CHANGE" show plan
	assert_equal "$output" "$(jq -c '.objects[]' plan)"
	run_sbx 0 sh -c '"$1" show /proc/self/fd/7 7<plan | sbx-plan --format kubernetes' - "$CHANGE"
	assert_json '[.verdict, .findings[0].signals[0]] | join(" ")' "destructive capacity_shrink"
	run_sbx 66 "$CHANGE" show none
	run_sbx 74 sh -c '"$1" show plan >/dev/full' - "$CHANGE"
}

@test "a plan that would send something else than it shows is refused, by show too" {
	local edits changed i verb
	trace_test_alone
	kubeconfig '{token: abcdefgh}'
	mapfile -t edits <<-'LIST'
		.requests[0].path = "/apis/apps/v1/namespaces/web/deployments/other"
		.requests[0].path = "/apis/apps/v1/namespaces/kube-system/deployments/api"
		.requests[0].path = "/api/v1/namespaces/web/secrets/api"
		.requests[0].path += "/../../secrets/x"
		.requests[0].path += "?force=true"
		.requests[0].method = "DELETE"
		.requests[0].method = "PUT"
		.requests[0].query += "&force=true"
		.requests[0].query = ""
		.requests[0].content_type = "application/json-patch+json"
		.requests[0].body.metadata.uid = "u2"
		.requests[0].body.metadata.resourceVersion = "8"
		.requests[0].body.metadata = {}
		.requests[0].body = []
		.requests[0].body.spec.replicas = 0
		.requests[0].body.spec.paused = true
		.objects[0].planned.spec.replicas = 2
		.change = "restart"
		.change = "apply"
		.change = "drain"
		.requests[0] = null
		.requests += .requests
		.requests = []
		.objects = []
		.objects[0].live = null
		.objects[0].live.metadata.uid = "u2"
		.objects[0].live.metadata.name = "other"
		.objects[0].live.kind = "Secret"
		.objects[0].live.apiVersion = "apps/v2"
		.objects[0].live.metadata.namespace = "../x"
		.objects = [{"beside": null}]
		.format = "sbx-change/2"
		.change = "grow"
		.more = 1
		.cluster.more = 1
		.cluster.server = 1
		.cluster = null
	LIST
	mapfile -t changed < <(each_changed "${edits[@]}" <<<"$PLAN")
	assert_equal "${#changed[@]}" "${#edits[@]}"
	for i in "${!edits[@]}"; do
		printf '%s\n' "${changed[i]}" >plan
		for verb in show check send; do
			status=0
			output=$("$CHANGE" "$verb" plan 2>&1) || status=$?
			[[ $status == 65 && $output == *plan_malformed* ]] || {
				printf '%s: %s\n%s\n' "$verb" "${edits[i]}" "$output"
				return 1
			}
		done
	done
	printf '%s' "$PLAN" | head -c 300 >plan
	code 65 json_truncated show plan
	: >plan
	code 65 json_empty show plan
}

@test "check and send ask the plan's own cluster alone" {
	kubeconfig '{token: abcdefgh}'
	printf '%s\n' "$PLAN" >plan
	code 69 server_unreachable check plan
	code 69 server_unreachable send plan
	jq -c '.cluster.server = "https://127.0.0.1:2"' <<<"$PLAN" >plan
	code 65 other_cluster check plan
	code 65 other_cluster send plan
	jq -c '.cluster.ca_sha256 = "00"' <<<"$PLAN" >plan
	code 65 other_cluster send plan
}
