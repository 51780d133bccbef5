# sbx-change-kubernetes when no answer says whether a change was made: it is asked for once, and what is not known is said.

load ../helpers
. "$ROOT/test/kubernetes.bash"

CHANGE=$SBX_LIBEXEC/sbx-change-kubernetes

setup_file() { kube_setup_file; }
setup() { cd "$BATS_TEST_TMPDIR" || return 1; }
teardown() { fake_api_stop; }

# server MODE [VERSIONS]: and the plan of a deletion for it; VERSIONS: what is read there has these, one after the other.
server() {
	fake_api_stop
	rm -rf api
	K=$PWD/api
	mkdir "$K"
	cp "$BATS_FILE_TMPDIR"/tls.* "$K"
	mkfifo "$K/life"
	printf '{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a","namespace":"web","resourceVersion":"VERSION","uid":"u"},"spec":{},"status":{"now":"VERSION"}}' \
		>"$K/object"
	"$PYTHON" -I -S "$ROOT/test/fakes/kube-change" "$K" "$@" <"$K/life" 3>&- &
	exec {LIFE}>"$K/life"
	wait_until 10 test -s "$K/port"
	kubeconfig "$(cat "$K/port")" 'token: abcdefgh'
	sed -i 's/current-context: other/current-context: sandbox/' "$K/kubeconfig"
	export KUBECONFIG=$K/kubeconfig
	jq -nc --arg server "https://127.0.0.1:$(cat "$K/port")" --arg ca "$(sha256sum <"$K/tls.crt" | cut -d' ' -f1)" '{change: "delete",
		cluster: {ca_sha256: $ca, server: $server, uid: null}, format: "sbx-change/1",
		objects: [{live: {apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: {name: "a", namespace: "web", resourceVersion: "7", uid: "u"}, spec: {}, status: {}}, planned: null}],
		requests: [{body: {apiVersion: "v1", kind: "DeleteOptions", preconditions: {resourceVersion: "7", uid: "u"}, propagationPolicy: "Background"},
			content_type: "application/json", method: "DELETE", path: "/api/v1/namespaces/web/persistentvolumeclaims/a", query: ""}]}' >plan
}

sent() { # STATUS CODE [TIMES]: by send, which asked once, or so often
	run_sbx "$1" "$CHANGE" send plan
	assert_contains "$stderr" "($2)"
	assert_equal "$output" ""
	assert_equal "$(grep -c '^DELETE /api/v1/namespaces/web/persistentvolumeclaims/a HTTP/1.1$' api/requests)" "${3-1}"
	assert_equal "$(sort -u api/requests | wc -l)" 2 # it was read as well
}

@test "an answer that is cut off, or an error of a gateway: not known, and not asked again" {
	local mode
	for mode in cut half 500 502 503 504; do
		server "$mode" 7
		sent 3 change_unknown
	done
}

@test "no redirect is followed" {
	server redirect 7
	sent 78 cluster_redirect
}

@test "an answer that says no is one: 409 that it moved, 429 that it was not done" {
	server 409 7
	sent 65 object_moved 5
	server 429 7
	sent 69 cluster_busy
	server 200 7
	run_sbx 0 "$CHANGE" send plan
	assert_equal "$output" 'DELETE "web/PersistentVolumeClaim/a": 200 done'
}

@test "what is written to between the look and the request is looked at again, and not forever" {
	server 409 7 8 9 10 11 12
	sent 65 object_moved 5
	# Each time with the version that was read then.
	assert_equal "$(jq -r .preconditions.resourceVersion api/bodies | tr '\n' ' ')" '7 8 9 10 11 '
	# What is different is told, and not deleted.
	server 409 8
	sed -i 's/"spec":{}/"spec":{"volumeName":"vVERSION"}/' api/object
	run_sbx 65 "$CHANGE" send plan
	assert_contains "$stderr" '"web/PersistentVolumeClaim/a": "spec.volumeName" ((nothing) -> "v'
	assert_equal "$(grep -c ^DELETE api/requests)" 0
	server 200 8
	run_sbx 0 "$CHANGE" send plan
	assert_equal "$(jq -r .preconditions.resourceVersion api/bodies)" 8
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

# kinds PLURAL KIND: what the server says that it has.
kinds() {
	jq -nc --arg plural "$1" --arg kind "$2" '{kind: "APIGroupDiscoveryList", items: [{metadata: {name: "things.example"}, versions: [{version: "v1",
		resources: [{resource: $plural, scope: "Namespaced", responseKind: {kind: $kind}, verbs: ["list"]}]}]}]}' >api/kinds
}

@test "a kind whose name is none is not asked for; a list that never ends is given up" {
	server 200 7
	echo '{"items":[]}' >api/list
	kinds things Thing
	run_sbx 0 "$CHANGE" check plan
	assert_equal "$(grep -c '^GET /apis/things.example/v1/namespaces/web/things?' api/requests)" 2 # both of /api and /apis are the same here
	local plural kind
	while read -r plural kind; do
		: >api/requests
		kinds "$plural" "$kind"
		run_sbx 0 "$CHANGE" check plan
		assert_equal "$kind $(grep -c things.example api/requests)" "$kind 0"
	done <<-'LIST'
		../../secrets Thing
		things?watch=1 Thing
		things Thing"}},{"beside":null
	LIST
	kinds things Thing
	echo '{"items":[],"metadata":{"continue":"x"}}' >api/list
	: >api/requests
	run_sbx 65 "$CHANGE" check plan
	assert_contains "$stderr" '(too_large)'
	assert_equal "$(grep -c things.example api/requests)" 200
}
