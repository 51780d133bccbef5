# sbx-plan --format kubernetes on what kubectl prints of a real server: the examples of its manual as they stand there.

load ../helpers

setup() {
	[ -n "${KUBECONFIG:-}" ] || {
		echo 'KUBECONFIG must name a cluster'
		return 1
	}
	cd "$BATS_TEST_TMPDIR" || return 1
	SPACE=sbx-plan-$RANDOM$RANDOM
	kubectl create namespace "$SPACE" >/dev/null
	manifest 1 3 >api.yaml
	kubectl apply --server-side -f api.yaml >/dev/null
}

teardown() { kubectl delete namespace "$SPACE" --wait=false >/dev/null; }

# manifest VERSION REPLICAS
manifest() {
	cat <<-EOT
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: api, namespace: $SPACE}
		spec:
		  replicas: $2
		  selector: {matchLabels: {app: api}}
		  template:
		    metadata: {labels: {app: api}}
		    spec: {containers: [{name: api, image: "registry.example.com/api:$1", env: [{name: DB_PASSWORD, value: a-secret-of-$1}]}]}
	EOT
}

# example PATTERN: the example of the manual with PATTERN in it, run on the namespace of this test; $output is the text for people.
example() {
	awk -v pattern="$1" '/^\.Bd/ { text = ""; next } /^\.Ed/ { if (text ~ pattern) printf "%s", text; next } { text = text $0 "\n" }' "$ROOT/man/sbx-plan.1" |
		sed -e 's/^[$>] *//' -e 's/\\e/\\/g' -e "s/-n web/-n $SPACE/" >example.sh
	[ -s example.sh ]
	run_sbx 0 bash -o pipefail example.sh
}

@test "a change, seen by the server: fewer pods and another image, and no secret" {
	manifest 2 1 >api.yaml
	example 'dry-run=server'
	assert_contains "$output" "UPDATE \"$SPACE/Deployment.apps/api\"  [destructive]"
	assert_contains "$output" '"spec.replicas" (3 -> 1)'
	assert_contains "$output" '("registry.example.com/api:1" -> "registry.example.com/api:2")'
	refute_contains "$output" a-secret-of
	# What changes nothing is no finding.
	manifest 1 3 >api.yaml
	example 'dry-run=server'
	assert_contains "$output" 'verdict: safe'
	assert_contains "$output" '1 left as it is'
}

@test "a creation: the object is asked for and is not there" {
	kubectl delete deployment api --namespace="$SPACE" >/dev/null
	example 'dry-run=server'
	assert_contains "$output" 'verdict: safe'
	assert_contains "$output" '1 to create'
}

@test "a deletion: the set and the pods that go with it" {
	kubectl wait --for=jsonpath='{.status.replicas}'=3 deployment/api --namespace="$SPACE" --timeout=60s >/dev/null
	example 'beside'
	assert_contains "$output" "DESTROY \"$SPACE/Deployment.apps/api\"  [destructive]"
	assert_equal "$(grep -c "^DESTROY \"$SPACE/Pod/" <<<"$output")" 3
	assert_equal "$(grep -c "^DESTROY \"$SPACE/ReplicaSet.apps/" <<<"$output")" 1
	refute_contains "$output" cascade_unknown
}
