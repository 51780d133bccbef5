# sbx-change-kubernetes when no answer says whether a change was made: it is asked for once, and what is not known is said.

load ../helpers
. "$ROOT/test/kubernetes.bash"

CHANGE=$SBX_LIBEXEC/sbx-change-kubernetes

setup_file() { kube_setup_file; }
setup() { cd "$BATS_TEST_TMPDIR" || return 1; }
teardown() { fake_api_stop; }

# server MODE: and the plan of a deletion for it.
server() {
	fake_api_stop
	rm -rf api
	K=$PWD/api
	mkdir "$K"
	cp "$BATS_FILE_TMPDIR"/tls.* "$K"
	mkfifo "$K/life"
	"$PYTHON" -I -S "$ROOT/test/fakes/kube-change" "$K" "$1" <"$K/life" 3>&- &
	exec {LIFE}>"$K/life"
	wait_until 10 test -s "$K/port"
	kubeconfig "$(cat "$K/port")" 'token: abcdefgh'
	sed -i 's/current-context: other/current-context: sandbox/' "$K/kubeconfig"
	export KUBECONFIG=$K/kubeconfig
	jq -nc --arg server "https://127.0.0.1:$(cat "$K/port")" --arg ca "$(sha256sum <"$K/tls.crt" | cut -d' ' -f1)" '{change: "delete",
		cluster: {ca_sha256: $ca, server: $server, uid: null}, format: "sbx-change/1",
		objects: [{live: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "a", namespace: "web", resourceVersion: "7", uid: "u"}}, planned: null}],
		requests: [{body: {apiVersion: "v1", kind: "DeleteOptions", preconditions: {resourceVersion: "7", uid: "u"}, propagationPolicy: "Background"},
			content_type: "application/json", method: "DELETE", path: "/api/v1/namespaces/web/configmaps/a", query: ""}]}' >plan
}

sent() { # STATUS CODE: by send, which asked once
	run_sbx "$1" "$CHANGE" send plan
	assert_contains "$stderr" "($2)"
	assert_equal "$output" ""
	assert_equal "$(cat api/requests)" 'DELETE /api/v1/namespaces/web/configmaps/a HTTP/1.1'
}

@test "an answer that is cut off, or an error of a gateway: not known, and not asked again" {
	local mode
	for mode in cut half 500 502 503 504; do
		server "$mode"
		sent 3 change_unknown
	done
}

@test "no redirect is followed" {
	server redirect
	sent 78 cluster_redirect
}

@test "an answer that says no is one: 409 that it moved, 429 that it was not done" {
	server 409
	sent 65 object_moved
	server 429
	sent 69 cluster_busy
	server 200
	run_sbx 0 "$CHANGE" send plan
	assert_equal "$output" 'DELETE "web/ConfigMap/a": 200 done'
}

@test "an answer that is none is the server's fault, and there is no plan" {
	local apply=(preview --change=apply --namespace=web --manifest=map --out=out)
	printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}' >map
	server 200 # with what is no object of the cluster
	run_sbx 76 "$CHANGE" "${apply[@]}"
	assert_contains "$stderr" '(cluster_answer)'
	run_sbx 76 "$CHANGE" preview --change=delete --namespace=web --kind=ConfigMap --name=a --out=out
	assert_contains "$stderr" '(cluster_answer)'
	server strange
	run_sbx 76 "$CHANGE" "${apply[@]}"
	assert_contains "$stderr" 'cannot see what it would do'
	assert_contains "$stderr" '(cluster_answer)'
	assert_equal "$(cut -d' ' -f1 api/requests | tr '\n' ' ')" 'GET PATCH '
	[ ! -e out ]
}
