# Shared by the suites about tools that change a cluster.

# A namespace of its own, $SPACE, and in it the two accounts, with the rights of cluster/changes.
accounts() {
	local account role
	export SPACE=sbx-changes-$RANDOM$RANDOM
	kube create namespace "$SPACE"
	kube apply -k "$ROOT/cluster/changes"
	for account in sbx-preview sbx-change; do
		kube create serviceaccount "$account" --namespace="$SPACE"
		for role in patch apply delete; do
			kube create rolebinding "$account-$role" --namespace="$SPACE" --clusterrole="sbx-change-$role" --serviceaccount="$SPACE:$account"
		done
		kube create clusterrolebinding "$SPACE-$account" --clusterrole=sbx-change-nodes --serviceaccount="$SPACE:$account"
	done
}
no_accounts() {
	kube delete clusterrolebinding "$SPACE-sbx-preview" "$SPACE-sbx-change"
	kube delete namespace "$SPACE" --wait=false
	kube delete -k "$ROOT/cluster/changes" --ignore-not-found
}

# change_policy PROGRAM: the policy that ships, without Terraform's tools, for this program. The inline tests are about other namespaces.
change_policy() {
	cp -r "$ROOT/policy" "$T/policy"
	rm "$T"/policy/tools/terraform_*
	no_policy_tests
	scopes "$1"
}

# What is left to do when $T has its settings: a person, a deployment, an agent.
change_begin() {
	: >"$T/allowed_signers"
	chmod -R go-rwx "$T"
	export SBX_CONFIG=$T/sbx.yaml T
	new_signer alice
	kube delete deployments,pods,services --all --namespace="$SPACE" --wait=true --grace-period=0 --force 2>/dev/null || true
	deployment api 1
	agent
}

# Who a scope works as, and where the program and its libraries are.
scopes() {
	local mounts
	mounts=$(ldd "$1" | grep -oE '/[^ ]+' | sort -u | paste -sd,)
	sed -i -e "s|/usr/local/libexec/sbx/sbx-change-kubernetes|$1|; s|mounts: \[/lib, /lib64, /usr/lib\]|mounts: [$mounts]|" \
		-e "s|/usr/bin/kubectl|$(readlink -f "$(command -v kubectl)")|; s/namespaces: \[default\]/namespaces: [$SPACE]/" \
		-e "/^  kubernetes-.*-preview:\$/a\\    account: sbx-preview\\n    namespace: $SPACE" \
		-e "/^  kubernetes-\(patch\|apply\|delete\|nodes\):\$/a\\    account: sbx-change\\n    namespace: $SPACE" "$T/policy/policy.yaml"
}

# deployment NAME REPLICAS: none of its pods ever runs.
deployment() {
	manifest "$@" | kube apply --server-side --field-manager=sbx --force-conflicts --namespace="$SPACE" -f - >/dev/null
	wait_until 20 observed "$1"
}
manifest() {
	cat <<-EOT
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: $1}
		spec:
		  replicas: $2
		  selector: {matchLabels: {app: api}}
		  template:
		    metadata: {labels: {app: api}}
		    spec:
		      nodeSelector: {sbx-changes: nowhere}
		      containers: [{name: api, image: "localhost/none:1", env: [{name: DB_PASSWORD, value: what-it-is}]}]
	EOT
}
field() { kube get deployment "$1" --namespace="$SPACE" -o "jsonpath={$2}"; }
# Its controller has seen it, and written about it what there is to write.
observed() {
	local one
	[ "$(field "$1" .status.observedGeneration)" = "$(field "$1" .metadata.generation)" ] || return 1
	one=$(field "$1" .metadata.resourceVersion)
	sleep 1
	[ "$one" = "$(field "$1" .metadata.resourceVersion)" ]
}

# previews TOOL ARGUMENTS: sets $plan.
previews() {
	calls "$1" "{\"target\":\"rig\",$2}"
	plan=$(member '.plan.id // empty' <<<"$output")
	[ "${#plan}" -eq 32 ] || {
		printf '%s\n' "$output"
		tail -5 "$T/mcp.log"
		return 1
	}
}

# sends TOOL: asks for the change of $plan.
sends() {
	calls "$1" "{\"target\":\"rig\",${2-\"namespace\":\"$SPACE\",}\"plan\":\"$plan\"}"
}

# signed TOOL: it waits; a person reads and signs; $text is what was read.
signed() {
	sends "$@"
	assert_json .approval.state waiting
	approval=$(member .approval.id <<<"$output")
	text=$(sbx-approve sign "$approval" --key "$T/alice" </dev/null 2>"$T/sign.err") || {
		cat "$T/sign.err"
		return 1
	}
}

# node [SPEC]: a new one, $node, that nobody serves. Its controllers write to it when it is new, and say after a minute that nobody does.
node() {
	[ -z "${node-}" ] || kube delete node "$node"
	node=sbx-changes-$RANDOM$RANDOM
	kube create -f - <<<"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"$node\"},\"spec\":{${1-}}}"
	wait_until 20 quiet
}
# Nothing has been written to it for a while: what follows from what it is, is there.
quiet() {
	local one
	one=$(kube get node "$node" -o jsonpath='{.metadata.resourceVersion}')
	sleep 1
	[ "$one" = "$(kube get node "$node" -o jsonpath='{.metadata.resourceVersion}')" ]
}
