# The tools that change a cluster, as they ship, through an agent's session: previewed by a real API server, read, signed, sent once; and what is refused on the
# way. With the driver of this machine: nothing here depends on where the steps run.

load ../helpers
load cluster
load tools
load changes

setup_file() {
	cluster_named
	tools_setup_file
	accounts
}

teardown_file() {
	no_accounts
}

setup() {
	PATH=$INSTALLED/bin:$PATH
	T=$BATS_TEST_TMPDIR/t
	mkdir -p "$T/work/manifests"
	change_policy "$INSTALLED/libexec/sbx/sbx-change-kubernetes"
	tools_settings
	change_begin
}

teardown() { agent_gone; }

@test "scale: preview, text, signature, success, once; and not when the object moved or is another" {
	previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\",\"replicas\":0"
	assert_json .verdict destructive
	assert_equal "$(field api .spec.replicas)" 1
	sends k8s_scale
	assert_json .approval.state waiting
	assert_equal "$(field api .spec.replicas)" 1
	signed k8s_scale
	assert_contains "$text" 'target "rig"'
	assert_contains "$text" "UPDATE \"$SPACE/Deployment.apps/api\" because \"spec.replicas\" (1 -> 0) changes"
	assert_contains "$text" "value \"spec.replicas\" in \"$SPACE/Deployment.apps/api\" (1 -> 0)"
	refute_contains "$text" what-it-is
	# Somebody else scales it: nothing is done, the signature is not spent, and the difference is said.
	kube scale deployment api --namespace="$SPACE" --replicas=3
	wait_until 20 observed api
	sends k8s_scale
	assert_json .error.code state_moved
	assert_contains "$(member .error.hint <<<"$output")" spec.replicas
	assert_equal "$(field api .spec.replicas)" 3
	sends k8s_scale
	assert_json .error.code state_moved
	assert_contains "$(events)" 'approval.released approval.claimed'
	previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\",\"replicas\":0"
	signed k8s_scale
	sends k8s_scale
	assert_json .state completed
	assert_equal "$(field api .spec.replicas)" 0
	sends k8s_scale
	assert_json .error.code plan_unknown
	# Deleted and made anew, all else the same: another object.
	deployment api 1
	previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\",\"replicas\":2"
	signed k8s_scale
	kube delete deployment api --namespace="$SPACE" --wait=true
	deployment api 1
	sends k8s_scale
	assert_json .error.code state_moved
	assert_contains "$(member .error.hint <<<"$output")" 'another one has its name'
	assert_equal "$(field api .spec.replicas)" 1
}

# heartbeat DEPLOYMENT REASON: its controller reports about it.
heartbeat() {
	local before
	before=$(field "$1" .metadata.resourceVersion)
	kube patch deployment "$1" --namespace="$SPACE" --subresource=status --type=merge \
		-p "{\"status\":{\"conditions\":[{\"type\":\"Told\",\"status\":\"True\",\"reason\":\"$2\"}]}}"
	[ "$(field "$1" .metadata.resourceVersion)" != "$before" ]
}

@test "restart: the same; and what is reported about a workload meanwhile moves nothing" {
	local replicas
	previews k8s_diff_restart "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\""
	assert_json .verdict safe
	signed k8s_rollout_restart
	assert_contains "$text" "UPDATE \"$SPACE/Deployment.apps/api\""
	assert_contains "$text" 'Values that become others: 1'
	assert_contains "$text" 'sbx/restarted-from'
	refute_contains "$text" what-it-is
	assert_equal "$(field api .spec.template.metadata.annotations)" ''
	kube scale deployment api --namespace="$SPACE" --replicas=2
	wait_until 20 observed api
	sends k8s_rollout_restart
	assert_json .error.code state_moved
	assert_contains "$(member .error.hint <<<"$output")" 'spec.replicas'
	assert_equal "$(field api .spec.template.metadata.annotations)" ''
	# There and back is another one, too: it is not known what was done in between.
	kube scale deployment api --namespace="$SPACE" --replicas=1
	wait_until 20 observed api
	sends k8s_rollout_restart
	assert_json .error.code state_moved
	assert_contains "$(events)" 'approval.released approval.claimed'
	for replicas in 3 4; do
		previews k8s_diff_restart "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\""
		heartbeat api "Before$replicas"
		signed k8s_rollout_restart
		heartbeat api "Behind$replicas"
		sends k8s_rollout_restart
		assert_json .state completed
		assert_contains "$(field api .spec.template.metadata.annotations)" restarted
		sends k8s_rollout_restart
		assert_json .error.code plan_unknown
		wait_until 20 observed api
	done
}

@test "apply and delete: the same" {
	# tf-087: the object changed since the dry run.
	manifest api 2 | sed 's/none:1/none:2/' >"$T/work/manifests/api.yaml"
	previews k8s_diff "\"namespace\":\"$SPACE\",\"manifest\":\"api.yaml\""
	signed k8s_apply
	assert_contains "$text" "Values that become others: 2
  value \"spec.replicas\" in \"$SPACE/Deployment.apps/api\" (1 -> 2)
  value \"spec.template.spec.containers[api].image\" in \"$SPACE/Deployment.apps/api\" (\"localhost/none:1\" -> \"localhost/none:2\")
"
	kube annotate deployment api --namespace="$SPACE" moved=yes
	wait_until 20 observed api
	sends k8s_apply
	assert_json .error.code state_moved
	assert_equal "$(field api '.spec.template.spec.containers[0].image')" localhost/none:1
	previews k8s_diff "\"namespace\":\"$SPACE\",\"manifest\":\"api.yaml\""
	signed k8s_apply
	# The manifest is sealed as it was.
	manifest api 2 | sed 's/none:1/none:3/' >"$T/work/manifests/api.yaml"
	sends k8s_apply
	assert_json .error.code plan_tree_changed
	manifest api 2 | sed 's/none:1/none:2/' >"$T/work/manifests/api.yaml"
	sends k8s_apply
	assert_json .state completed
	assert_equal "$(field api '.spec.template.spec.containers[0].image')" localhost/none:2
	sends k8s_apply
	assert_json .error.code plan_unknown
	wait_until 20 observed api

	previews k8s_diff_delete "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\""
	assert_json .verdict destructive
	signed k8s_delete
	assert_contains "$text" "DESTROY \"$SPACE/Deployment.apps/api\""
	refute_contains "$text" 'Values that become others'
	kube annotate deployment api --namespace="$SPACE" moved=again --overwrite
	wait_until 20 observed api
	sends k8s_delete
	assert_json .error.code state_moved
	assert_equal "$(field api .metadata.name)" api
	previews k8s_diff_delete "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"api\""
	signed k8s_delete
	heartbeat api Behind
	sends k8s_delete
	assert_json .state completed
	run ! kube get deployment api --namespace="$SPACE"
	sends k8s_delete
	assert_json .error.code plan_unknown
}

@test "a manifest of what is not there yet makes it, if nobody did so meanwhile; a Secret is no manifest" {
	manifest made 1 >"$T/work/manifests/made.yaml"
	printf '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"k":"what-it-is"}}' >"$T/work/manifests/secret.json"
	calls k8s_diff "{\"target\":\"rig\",\"namespace\":\"$SPACE\",\"manifest\":\"secret.json\"}"
	assert_json .state failed
	assert_contains "$output" kind_refused
	refute_contains "$output" what-it-is
	previews k8s_diff "\"namespace\":\"$SPACE\",\"manifest\":\"made.yaml\""
	assert_json .counts.create 1
	signed k8s_apply
	assert_contains "$text" "value \"spec.template.spec.containers[api].image\" in \"$SPACE/Deployment.apps/made\" (none -> \"localhost/none:1\")"
	refute_contains "$text" what-it-is
	deployment made 3
	sends k8s_apply
	assert_json .error.code state_moved
	kube delete deployment made --namespace="$SPACE" --wait=true
	sends k8s_apply
	assert_json .state completed
	assert_json .approval.id "$approval"
	assert_equal "$(field made .spec.replicas)" 1
}

# map COLOUR SECRET: a ConfigMap with one thing that may be seen; the rest is secret by its name, as a kubeconfig, a Secret's manifest and a release of Helm.
map() {
	jq -nc --arg colour "$1" --arg secret "$2" '{apiVersion: "v1", kind: "ConfigMap", metadata: {name: "settings", annotations: {"kapp.k14s.io/original": ("{\"data\":\"" + $secret + "\"}")}},
		data: {colour: $colour, DB_PASS: $secret,
			config: ("clusters:\n- cluster: {server: \"https://a\"}\nusers:\n- name: a\n  user:\n    token: " + $secret + "\n"),
			manifest: ("kind: Secret\nstringData:\n  plain: " + $secret + "\n"),
			release: ("H4sIAAAAAAAA" + $secret)},
		binaryData: {store: ($secret | @base64)}}'
}

@test "a ConfigMap where the policy lets it be seen, and a setting of a container: what is secret in them is not" {
	local old=before-hunter2 new=behind-swordfish7 other=between-marlin9 found word
	map blue "$old" >"$T/work/manifests/map.json"
	kube apply --server-side --field-manager=sbx --namespace="$SPACE" -f "$T/work/manifests/map.json"
	map green "$new" >"$T/work/manifests/map.json"
	# As it ships: no right to it.
	calls k8s_diff "{\"target\":\"rig\",\"namespace\":\"$SPACE\",\"manifest\":\"map.json\"}"
	assert_json .state failed
	assert_contains "$output" cluster_forbidden
	refute_contains "$output" blue
	kube create role maps --namespace="$SPACE" --verb=get,create,patch --resource=configmaps
	kube create rolebinding maps --namespace="$SPACE" --role=maps --serviceaccount="$SPACE:sbx-preview"
	wait_until 10 test "$(kube auth can-i patch configmaps --namespace="$SPACE" --as="system:serviceaccount:$SPACE:sbx-preview")" = yes
	previews k8s_diff "\"namespace\":\"$SPACE\",\"manifest\":\"map.json\""
	found=$output
	signed k8s_apply
	assert_contains "$text" "UPDATE \"$SPACE/ConfigMap/settings\""
	assert_contains "$text" "value \"data.colour\" in \"$SPACE/ConfigMap/settings\" (\"blue\" -> \"green\")"
	assert_contains "$text" "value \"data.DB_PASS\" in \"$SPACE/ConfigMap/settings\" ((sensitive) -> another (sensitive))"
	found+=$text
	# What is different is told with its values, but for these.
	kube create rolebinding maps-too --namespace="$SPACE" --role=maps --serviceaccount="$SPACE:sbx-change"
	map red "$other" | kube apply --server-side --field-manager=other --force-conflicts --namespace="$SPACE" -f -
	sends k8s_apply
	assert_json .error.code state_moved
	assert_contains "$(member .error.hint <<<"$output")" '"data.colour" ("blue" -> "red")'
	assert_contains "$(member .untrusted.stderr <<<"$output")" '"data.DB_PASS" ((sensitive) -> another (sensitive))'
	found+=$output
	manifest api 1 | sed "s/what-it-is/$new/" >"$T/work/manifests/api.yaml"
	previews k8s_diff "\"namespace\":\"$SPACE\",\"manifest\":\"api.yaml\""
	found+=$output
	signed k8s_apply
	found+=$text
	kube set env deployment/api --namespace="$SPACE" "DB_PASSWORD=$other" REGION=eu-east
	sends k8s_apply
	assert_json .error.code state_moved
	assert_contains "$(member .error.hint <<<"$output")" '.env[DB_PASSWORD].value" ((sensitive) -> another (sensitive))'
	assert_contains "$output" eu-east
	found+=$output
	for word in hunter2 swordfish7 marlin9 what-it-is "$(printf %s "$old" | base64)" "$(printf %s "$new" | base64)" "$(printf %s "$other" | base64)"; do
		refute_contains "$found" "$word"
		run -1 grep -rqF "$word" "$T/var/runs" "$T/var/audit.jsonl"
	done
}

unschedulable() { kube get node "$node" -o jsonpath='{.spec.unschedulable}'; }

@test "cordon and uncordon a node" {
	local node change spec
	for change in cordon uncordon; do
		[ "$change" = cordon ] && spec= || spec='"unschedulable":true'
		node "$spec"
		previews "k8s_diff_$change" "\"node\":\"$node\""
		signed "k8s_$change" ''
		assert_contains "$text" "UPDATE \"Node/$node\""
		assert_contains "$text" "value \"spec.unschedulable\" in \"Node/$node\" ($([ "$change" = cordon ] && echo 'none -> true' || echo 'true -> none'))"
		kube label node "$node" pool=agents
		sends "k8s_$change" ''
		assert_json .error.code state_moved
		assert_contains "$(member .error.hint <<<"$output")" 'metadata.labels'
		kube patch node "$node" --type=merge -p '{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}'
		sends "k8s_$change" ''
		assert_json .error.code state_moved
		assert_equal "$(unschedulable)" "${spec:+true}"
		node "$spec"
		previews "k8s_diff_$change" "\"node\":\"$node\""
		signed "k8s_$change" ''
		kube patch node "$node" --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"Told","status":"True","reason":"Heartbeat"}]}}'
		sends "k8s_$change" ''
		assert_json .state completed
		assert_equal "$(unschedulable)" "$([ "$change" = uncordon ] || echo true)"
		sends "k8s_$change" ''
		assert_json .error.code plan_unknown
	done
	kube delete node "$node"
}

@test "drain a node: the pods that were previewed, and not when another one has come" {
	local node pod
	node
	for pod in one two; do
		previews k8s_diff_drain "\"node\":\"$node\""
		[ "$pod" = one ] || signed k8s_drain ''
		kube apply -f - <<-POD
			apiVersion: v1
			kind: Pod
			metadata: {name: $pod, namespace: $SPACE}
			spec: {nodeName: $node, containers: [{name: c, image: localhost/none:1}]}
		POD
	done
	sends k8s_drain ''
	assert_json .error.code state_moved
	assert_contains "$(member .error.hint <<<"$output")" two
	previews k8s_diff_drain "\"node\":\"$node\""
	signed k8s_drain ''
	assert_contains "$text" "\"$SPACE/Pod/one\""
	assert_contains "$text" "value \"spec.unschedulable\" in \"Node/$node\" (none -> true)"
	sends k8s_drain ''
	assert_json .state completed
	# No machine is there to end them.
	assert_equal "$(kube get pods --namespace="$SPACE" -o jsonpath='{.items[?(@.metadata.deletionTimestamp)].metadata.name}' --field-selector="spec.nodeName=$node")" 'one two'
	assert_equal "$(kube get node "$node" -o jsonpath='{.spec.unschedulable}')" true
	sends k8s_drain ''
	assert_json .error.code plan_unknown
	kube delete pods one two --namespace="$SPACE" --grace-period=0 --force
	kube delete node "$node"
}

@test "what is named like an option or a command is an object like any other" {
	local name long
	long=$(printf 'a%.0s' {1..63}).$(printf 'b%.0s' {1..63}).$(printf 'c%.0s' {1..63}).$(printf 'd%.0s' {1..61})
	for name in delete-me all "$long"; do
		deployment "$name" 1
		previews k8s_diff_scale "\"namespace\":\"$SPACE\",\"kind\":\"Deployment\",\"name\":\"$name\",\"replicas\":2"
		signed k8s_scale
		sends k8s_scale
		assert_json .state completed
		assert_equal "$(field "$name" .spec.replicas)" 2
		assert_equal "$(field api .spec.replicas)" 1
	done
}

@test "the account of previews makes dry runs and nothing else, whoever has its token" {
	local token
	token=$(kube create token sbx-preview --namespace="$SPACE")
	as() { kubectl --kubeconfig=/dev/null --server="$(kubectl config view --minify --context="$SBX_CONTEXT" -o jsonpath='{.clusters[0].cluster.server}')" \
		--certificate-authority="$T/ca.crt" --token="$1" --namespace="$SPACE" "${@:2}" 3>&-; }
	as "$token" patch deployment api --type=merge -p '{"spec":{"replicas":3}}' --dry-run=server
	run as "$token" patch deployment api --type=merge -p '{"spec":{"replicas":3}}'
	[ "$status" -ne 0 ]
	assert_contains "$output" 'previews changes and makes none'
	run as "$token" delete deployment api
	assert_contains "$output" 'previews changes and makes none'
	assert_equal "$(field api .spec.replicas)" 1
	# The other one may.
	as "$(kube create token sbx-change --namespace="$SPACE")" patch deployment api --type=merge -p '{"spec":{"replicas":3}}'
	assert_equal "$(field api .spec.replicas)" 3
}
