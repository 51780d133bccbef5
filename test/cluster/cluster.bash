# Shared by the suites that need a cluster. $KUBECONFIG leads to it as an administrator; $SBX_LOAD_IMAGE, when set, is a command that
# makes an OCI archive available to its nodes.

. "$ROOT/test/driver.bash"

# cluster_named: $KUBECONFIG leads to it; $SBX_CONTEXT and $API_SERVER say where.
cluster_named() {
	[ -n "${KUBECONFIG:-}" ] || {
		echo 'KUBECONFIG must name a cluster (SBX_CONTEXT its context, SBX_IMAGE and SBX_PULL the image, SBX_LOAD_IMAGE what brings it to the nodes)'
		return 1
	}
	export SBX_CONTEXT=${SBX_CONTEXT:-$(kubectl config current-context)} API_SERVER
	API_SERVER=$(kubectl config view --minify --context="$SBX_CONTEXT" -o jsonpath='{.clusters[0].cluster.server}' 3>&- | sed 's|^https://||')
}

# cluster_setup_file [IMAGE-ARGUMENT...]: the cluster is ready for sandboxes; what images/build is given is in the image beside kubectl and the probe.
cluster_setup_file() {
	cluster_named
	export SBX_IMAGE=${SBX_IMAGE:-localhost/sbx-probe:1} SBX_OUT=$BATS_FILE_TMPDIR/driver.kubeconfig SBX_PULL=${SBX_PULL:-Never}
	"$ROOT/images/build" -o "$BATS_FILE_TMPDIR/image.tar" -t "$SBX_IMAGE" --entry "$SBX_LIBEXEC/sbx-entry" \
		"$@" "probe=$SBX_BUILD/test/probe" "kubectl=$(command -v kubectl)" >/dev/null
	${SBX_LOAD_IMAGE:-true} "$BATS_FILE_TMPDIR/image.tar"
	"$ROOT/scripts/up" >"$BATS_FILE_TMPDIR/settings.yaml"
	API_SERVER=$(sed -n 's/.*kubernetes-api: \["\(.*\)"\].*/\1/p' "$BATS_FILE_TMPDIR/settings.yaml")
}

cluster_setup() {
	driver_setup
	new_call
	export SBX_TEST_TIMEOUT=120 # an image and a node take their time
	request
}

# The settings of an installation in $T; and of one that runs its calls on the cluster. What is its own is added.
own_settings() {
	printf '%s\n' 'policy: policy' 'state: var' 'allowed_signers: allowed_signers' 'same_account: file' 'workspaces: work'
}
cluster_settings() {
	own_settings
	cat "$BATS_FILE_TMPDIR/settings.yaml"
	echo "    image_pull_policy: $SBX_PULL"
}

cluster_teardown() { driver_teardown; }

# request [JQ]: the object on the driver's stdin.
request() {
	jq -n --arg call "$CALL" --arg file "$SBX_OUT" --arg image "$SBX_IMAGE" --arg pull "$SBX_PULL" --arg api "$API_SERVER" '{call: $call,
		tool: "test", egress: [], mounts: [], image: null,
		limits: {deadline_ms: 60000, grace_ms: 1000, memory: 134217728, workdir: 33554432, pids: 64, files: 256, cpu: 1},
		settings: {kubeconfig: $file, context: "sandbox", namespace: "sbx-sandbox", service_account: "sandbox", image: $image,
			image_pull_policy: $pull, egress: {"kubernetes-api": [$api]}}}' | jq "${1:-.}" >"$D/request"
}

table() {
	"$SBX_BUILD/test/mksteps" "$D/table" "$D/inputs" require=cluster-gvisor "$@"
}

probe_step() { # WORD...: a table of one step
	table step /opt/sbx/probe/probe "$@" end
}

# share N: of N repetitions those of this run; SBX_CLUSTER_SHARE=4 makes a quarter of them.
share() {
	echo $(($1 / ${SBX_CLUSTER_SHARE:-1}))
}

kube() {
	kubectl --context="$SBX_CONTEXT" "$@" 3>&-
}

nothing_left() { # of this call
	[ -z "$(kube get jobs,pods,secrets --namespace=sbx-sandbox --selector="sbx/call=$CALL" --output=name)" ]
}
