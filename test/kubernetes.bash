# Shared by the bats files of sbx-run-kubernetes: a fake API server, a kubeconfig for it, and what the driver is asked.

. "$ROOT/test/driver.bash"
. "$ROOT/test/fake-server.bash"

CALL=00112233445566778899aabbccddeeff

kube_setup_file() {
	command -v python3 >/dev/null || {
		echo 'python3 is needed for the fake API server'
		return 1
	}
	# What python3 is may be a script that looks for one of many: a quarter of a second each time.
	PYTHON=$(python3 -c 'import sys; print(sys.executable)')
	export PYTHON
	# One certificate for the whole file.
	fake_certificate "$BATS_FILE_TMPDIR"
}

# fake_api MODE...: start it; $K is its directory, $KUBECONFIG_FILE leads there.
fake_api() {
	K=$BATS_TEST_TMPDIR/api
	mkdir -p "$K"
	cp "$BATS_FILE_TMPDIR"/tls.* "$K"
	mkfifo "$K/life"
	"$PYTHON" -I -S "$ROOT/test/fakes/kube-api" "$K" "$@" <"$K/life" 3>&- 2>"$K/stderr" &
	exec {LIFE}>"$K/life"
	wait_until 10 test -s "$K/port"
	PORT=$(cat "$K/port")
	KUBECONFIG_FILE=$K/kubeconfig
	kubeconfig "$PORT" "token: not-a-secret-token"
}

# kubeconfig PORT USER-LINE
kubeconfig() {
	cat >"$K/kubeconfig" <<-KUBECONFIG
		apiVersion: v1
		kind: Config
		clusters:
		- name: fake
		  cluster:
		    server: https://127.0.0.1:$1
		    certificate-authority-data: $(base64 -w0 "$K/tls.crt")
		contexts:
		- name: sandbox
		  context: {cluster: fake, user: sbx, namespace: ignored}
		current-context: other
		preferences: {}
		users:
		- name: sbx
		  user:
		    $2
	KUBECONFIG
	chmod 600 "$K/kubeconfig"
}

fake_api_stop() {
	[ -z "${LIFE-}" ] || exec {LIFE}>&-
	unset LIFE
}

# request [JQ]: the object on the driver's stdin, in $D/request.
request() {
	jq -n --arg call "$CALL" --arg file "$KUBECONFIG_FILE" '{call: $call, tool: "demo", egress: [], mounts: [], image: null,
		limits: {deadline_ms: 20000, grace_ms: 500, memory: 268435456, workdir: 67108864, pids: 64, files: 256, cpu: 1},
		settings: {kubeconfig: $file, context: "sandbox", namespace: "sandboxes", image: "localhost/sbx-probe:1",
			image_pull_policy: "Never"}}' | jq "${1:-.}" >"$D/request"
}

kube_setup() {
	driver_setup
	"$SBX_BUILD/test/mksteps" "$D/table" "$D/inputs" require=cluster-gvisor step /opt/sbx/probe/probe true end
}

kube_teardown() {
	fake_api_stop
	driver_teardown
}

# What the server was asked, as "METHOD PATH STATUS" lines.
asked() {
	grep -c "$1" "$K/requests"
}
