# Shared by the suites that drive the tools of cluster/policy through the whole chain.

# An installation of its own, for the provider that the tests bring: tokens by TokenRequest, by an administrator's hand.
tools_setup_file() {
	INSTALLED=$BATS_FILE_TMPDIR/installed
	installation "$INSTALLED"
	cp "$ROOT/scripts/demo.d/sbx-cred-request" "$INSTALLED/libexec/sbx/"
	export INSTALLED
}

# tools_settings [PROVIDER SETTINGS]: $T/sbx.yaml. Calls run on the cluster where cluster_setup_file was called, else on this machine; the target is the
# cluster, the provider that of the tests, or PROVIDER with the mapping SETTINGS.
tools_settings() {
	[ $# -gt 0 ] || {
		cp "$KUBECONFIG" "$T/admin.kubeconfig"
		set -- request "{kubeconfig: $T/admin.kubeconfig}"
	}
	kubectl config view --raw --minify --flatten --context="$SBX_CONTEXT" -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' 3>&- |
		base64 -d >"$T/ca.crt"
	if [ -e "$BATS_FILE_TMPDIR/settings.yaml" ]; then cluster_settings; else own_settings; fi >"$T/sbx.yaml"
	cat >>"$T/sbx.yaml" <<-SETTINGS
		provider: $1
		providers:
		  $1: $2
		targets:
		  rig: {server: "https://$API_SERVER", ca_file: $T/ca.crt}
	SETTINGS
}

# $T holds settings, a policy and a workspace; SBX_CONFIG points there.
tools_setup() {
	PATH=$INSTALLED/bin:$PATH
	T=$BATS_TEST_TMPDIR/t
	mkdir -p "$T/work"
	cp -r "$ROOT/cluster/policy" "$T/policy"
	cp -r "$ROOT/policy/signals" "$T/policy/signals"
	sed -i -e "s|/usr/bin/kubectl|$(readlink -f "$(command -v kubectl)")|; s|/usr/bin/terraform|$(readlink -f "$(command -v terraform || echo /bin/true)")|" \
		-e "s|/srv/terraform-mirror|${MIRROR:-$T/no-mirror}|" "$T/policy/policy.yaml"
	tools_settings
	: >"$T/allowed_signers"
	chmod -R go-rwx "$T"
	export SBX_CONFIG=$T/sbx.yaml T
}

# The provider for Kubernetes, of $SBX_MIRROR, alone in $MIRROR.
mirror_setup_file() {
	[ -n "${SBX_MIRROR:-}" ] || {
		echo 'SBX_MIRROR must name a mirror of providers with hashicorp/kubernetes: terraform providers mirror makes one'
		return 1
	}
	export MIRROR=$BATS_FILE_TMPDIR/mirror
	(cd "$SBX_MIRROR" && find . -path '*/hashicorp/kubernetes/*' -type f -print0 | xargs -0 cp --parents -t "$(mkdir -p "$MIRROR" && echo "$MIRROR")")
	chmod -R go-w "$MIRROR"
}

# An image with terraform and that provider, and what cluster/demo has.
terraform_setup_file() {
	mirror_setup_file
	export SBX_IMAGE=localhost/sbx-terraform:1
	cluster_setup_file --mirror "$MIRROR" "terraform=$(command -v terraform)"
	tools_setup_file
	demo_apply
}

terraform_teardown_file() {
	demo | kube delete --ignore-not-found --wait=false -f - || true
}

# The namespace that cluster/demo makes, and the one beside it for states.
export DEMO=${DEMO:-sbx-demo}

demo() {
	kubectl kustomize "$ROOT/cluster/demo" | sed "s/sbx-demo/$DEMO/"
}

demo_apply() {
	demo | kube apply -f -
}

# The directory k8s-demo in the workspace, its state empty, and a person alice.
terraform_setup() {
	tools_setup
	cp -r "$ROOT/terraform/k8s-demo" "$T/work"
	[ -z "${SBX_DEMO_IMAGE:-}" ] || sed -i "s|registry.k8s.io/pause:3.10|$SBX_DEMO_IMAGE|" "$T/work/k8s-demo/main.tf"
	sed -i "s/sbx-demo/$DEMO/" "$T/work/k8s-demo/main.tf" "$T/policy/policy.yaml"
	kube delete deployment web --namespace="$DEMO" --ignore-not-found
	kube delete secrets,leases --all --namespace="$DEMO-state"
	"$ROOT/scripts/demo.d/init-state" "$T/work/k8s-demo" "$MIRROR" "$SBX_CONTEXT"
	new_signer alice
}

# planned: the id of a plan of k8s-demo, by the command line, in $plan.
planned() {
	SBX_TEST_TIMEOUT=120 run_sbx 0 sbx-call terraform_plan target=rig dir=k8s-demo
	assert_json .result.state completed
	plan=$(member .result.plan.id <<<"$output")
}

deployed() { # JSONPATH of the Deployment; nothing when there is none
	kube get deployment web --namespace="$DEMO" --ignore-not-found -o "jsonpath={$1}"
}

# The events of the record, or of the call CALL alone, in order.
events() {
	jq -r --arg call "${1-}" 'select($call == "" or .request_id == $call) | .event' "$T/var/audit.jsonl" | tr '\n' ' '
}

# The agent: lines to sbx-mcp and back.
agent() {
	coproc MCP { exec sbx-mcp --config "$T/sbx.yaml" --wait 0s --deadline 5m 2>"$T/mcp.log" 3>&-; }
	exec {IN}>&"${MCP[1]}" {OUT}<&"${MCP[0]}"
	printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bats","version":"1"}}}' \
		'{"jsonrpc":"2.0","method":"notifications/initialized"}' >&"$IN"
}

# calls TOOL ARGUMENTS: what the agent gets as data is in $output.
calls() {
	local line
	printf '{"jsonrpc":"2.0","id":"%s","method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$((++ID))" "$1" "$2" >&"$IN"
	while IFS= read -r -t 320 line <&"$OUT"; do
		[ "$(member '.id // empty' <<<"$line")" = "$ID" ] || continue
		output=$(command jq -c '.result.structuredContent' <<<"$line")
		return 0
	done
	cat "$T/mcp.log"
	return 1
}

agent_gone() {
	[ -z "${MCP_PID-}" ] || kill "$MCP_PID" 2>/dev/null || true
}
