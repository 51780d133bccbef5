#!/usr/bin/env bats
# sbx-cred-kubernetes against a real API server, with the rights that cluster/credentials gives it and no others.

load ../helpers
load credential

setup_file() {
	cluster_needed
	broker_objects
	kube create rolebinding broker --clusterrole="$NS" --serviceaccount="$NS:sbx-cred"
	kube create rolebinding broker-binds --clusterrole="$NS-binds" --serviceaccount="$NS:sbx-cred"
	kube create role broker-bind --verb=bind --resource=roles.rbac.authorization.k8s.io --resource-name=pod-reader
	kube create rolebinding broker-bind --role=broker-bind --serviceaccount="$NS:sbx-cred"
	kube create role pod-reader --verb=get,list --resource=pods
	kube create role secret-reader --verb=get --resource=secrets
	kube create serviceaccount pod-reader
	kube create rolebinding pod-reader --role=pod-reader --serviceaccount="$NS:pod-reader"
	kube create serviceaccount idle
	broker_login
}

teardown_file() {
	[ -z "${NS:-}" ] || no_broker_objects
}

# broker METHOD PATH [BODY]: what it may do itself, as a status.
broker() {
	api "$BATS_FILE_TMPDIR/broker" "$1" "/api/v1/namespaces/$NS/$2" "${@:3}"
}

setup() {
	fresh_state
	P=$SBX_LIBEXEC/sbx-cred-kubernetes
	LEASE=$(head -c 16 /dev/urandom | xxd -p)
	settings
}

settings() { # [FILE]
	sed -i '/^providers:/d' "$T/sbx.yaml"
	echo "providers: {kubernetes: {kubeconfig: ${1:-$BATS_FILE_TMPDIR/kubeconfig}, context: broker}}" >>"$T/sbx.yaml"
}

@test "a token reads pods in its namespace and nothing else; revoked, it is refused within 12 s and nothing is left" {
	mint 0
	assert_call
	assert_json '[.provider, .lease, .fields[0], (.jti | length)] | map(tostring) | join(" ")' "kubernetes $LEASE token 36"
	assert_json '.expires_at | fromdate - now | . > 880 and . < 905' true
	refute_contains "$output$stderr$(cat "$T/var/kubernetes/$LEASE")" "$(sed 's/.*\.//' "$T/minted")"
	assert_equal "$(may list pods) $(may get secrets) $(may create pods/exec) $(may list pods --namespace=default)" 'yes no no no'
	assert_equal "$(left)" "secret/sbx-cred-$LEASE"
	output=$(kube get secret "sbx-cred-$LEASE" -o json)
	assert_json '[.metadata.labels["sbx/call"], .metadata.labels["sbx/lease"], .metadata.annotations["sbx/principal"], .type, .data] | map(tostring) | join(" ")' \
		"$CALL $LEASE agent sbx/anchor null"
	assert_equal "$(lists)" 200
	revoke 0 revoked
	assert_json .proof 'anchor deleted and looked for as gone; the API server may accept the token for 10 s more'
	assert_equal "$(left)$(ls "$T/var/kubernetes")" ''
	local began=$SECONDS
	until refused; do
		[ $((SECONDS - began)) -le 12 ]
		sleep 0.1
	done
	printf '# refused %s s after it was revoked\n' "$((SECONDS - began))" >&3
}

@test "with a role for the action alone: none before, none after, at once" {
	mint 0 '.settings += {account: "idle", role: "pod-reader"}'
	assert_equal "$(left | sort | tr '\n' ' ')" "rolebinding.rbac.authorization.k8s.io/sbx-cred-$LEASE secret/sbx-cred-$LEASE "
	wait_until 5 eval '[ "$(lists)" = 200 ]'
	assert_equal "$(may get secrets)" no
	revoke 0 revoked
	assert_contains "$(member .proof <<<"$output")" 'role binding and anchor deleted'
	assert_equal "$(left)" ''
	# The token is still known; that it may do nothing any more does not wait for that.
	wait_until 1 eval '[[ $(lists) == 40[13] ]]'
	mint 77 '.settings += {account: "idle", role: "secret-reader"} | .lease = "'"${LEASE//?/a}"'"'
	assert_call cluster_forbidden
	LEASE=${LEASE//?/a} revoke 0 revoked
	assert_equal "$(left)" ''
}

# granted TOKEN-FILE NAMESPACE: what the API server lets its bearer do there, a line for each resource and verb, without what everybody may.
granted() {
	assert_equal "$(api "$1" POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews '{"spec":{"namespace":"'"$2"'"}}')" 201
	jq -r '.status.resourceRules[] | select(.apiGroups | any(IN("authorization.k8s.io", "authentication.k8s.io")) | not) |
		.apiGroups[] as $group | .resources[] as $resource | .verbs[] | "\($group) \($resource) \(.)"' "$BATS_TEST_TMPDIR/answer" | sort
}

@test "the rules that --explain prints, as a Role, give what the permissions say and nothing else" {
	local words='["pods:get","pods:list","pods/log:get","deployments.apps:get","deployments.apps/scale:patch","jobs.batch:create","networkpolicies.networking.k8s.io:watch"]'
	printf '{"sbx":1,"call":{"id":"%s","params":{},"principal":{"name":"agent","uid":0,"via":"uid"},"time":"2026-01-01T00:00:00Z","tool":"t"},"policy":{"credentials":[{"as":"token","lifetime_s":600,"namespace":"%s","permissions":%s,"provider":"kubernetes","scope":"s","settings":{},"target":null}],"effect":"allow"},"seals":[]}' \
		"$CALL" "$NS" "$words" >"$T/call.json"
	run_sbx 0 sbx-cred --explain <"$T/call.json"
	sed -n '/^  may /,/^  [a-z]/p' <<<"$output" | sed -n 's/^[^{]*\({.*}\)$/\1/p' | jq -s --arg ns "$NS" \
		'{apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: {name: "explained", namespace: $ns}, rules: .}' >"$T/role"
	kube apply -f "$T/role"
	kube create serviceaccount explained
	kube create rolebinding explained --role=explained --serviceaccount="$NS:explained"
	kube create token explained --duration=10m >"$T/minted"
	jq -r '.[] | capture("^(?<r>[^.:/]+)([.](?<g>[^:/]+))?(?<s>/[^:]+)?:(?<v>.*)$") | "\(.g // "") \(.r)\(.s // "") \(.v)"' <<<"$words" | sort >"$T/wanted"
	knows() { [ "$(granted "$T/minted" "$NS")" = "$(cat "$T/wanted")" ]; }
	wait_until 5 knows
	assert_equal "$(granted "$T/minted" default)" ''
	# What the API server says of single ones.
	assert_equal "$(may get pods) $(may list pods) $(may get pods --subresource=log) $(may patch deployments.apps --subresource=scale) $(may create jobs.batch)" 'yes yes yes yes yes'
	assert_equal "$(may watch pods) $(may delete pods) $(may patch deployments.apps) $(may get jobs.batch) $(may get secrets) $(may list pods --namespace=default)" \
		'no no no no no no'
}

@test "a token that is not bound is refused by the cluster; where it is not, it expires, and that is said" {
	mint 77 '.settings.bound = false'
	assert_call cluster_admission
	assert_contains "$output" 'tokens are bound to anchors'
	revoke 0 expires
	settings "$T/admin"
	kubectl config view --raw --flatten -o json 3>&- | jq -c '. + {contexts: [.contexts[0] + {name: "broker"}]}' >"$T/admin"
	chmod 600 "$T/admin"
	LEASE=${LEASE//?/b}
	mint 0 '.settings.bound = false'
	local end
	end=$(member .expires_at <<<"$output")
	assert_equal "$(lists) $(left)" '200 '
	revoke 0 expires
	assert_json .proof "the token of a fixed service account lives until $end"
	assert_equal "$(lists)" 200
}

@test "who the token is for is the scope's to say" {
	mint 0 '.settings.audiences = ["https://vault.example"]'
	assert_equal "$(lists)" 401
	assert_equal "$(cut -d. -f2 "$T/minted" | tr _- /+ | { cat; echo ===; } | base64 -di 2>/dev/null | jq -r '.aud[0]')" https://vault.example
	revoke 0 revoked
}

@test "through the chain: the namespace and the verb are the call's, and the API server is seen to refuse the credential" {
	cat >"$T/policy/tools/pods.yaml" <<-'EOT'
		name: pods
		description: Holds a credential for pods.
		tier: low
		params:
		  target: {type: target}
		  namespace: {type: dns_label}
		  verb: {type: string, enum: [get, delete]}
		steps:
		  - [stepper, env, SBX_TOKEN]
		credentials: [{scope: pods, as: token, env: SBX_TOKEN, namespace: "{namespace}", permissions: ["pods:{verb}"]}]
		tests:
		  - {given: {targets: [here]}, params: {target: here, namespace: elsewhere, verb: get}, expect: deny, code: scope_denied}
	EOT
	printf 'targets: {here: {server: "%s", ca_file: "%s"}}\n' "$K8S_SERVER" "$K8S_CA" >>"$T/sbx.yaml"
	scope() {
		sed -i -e '/^  pods: /d' -e "s|^scopes:.*|&\n  pods: {provider: kubernetes, $1, namespace: \"{namespace}\", namespaces: [$NS], permissions: [\"pods:get\"], reads_secrets: false}|" \
			"$T/policy/policy.yaml"
	}
	pods() { # RC NAMESPACE VERB
		run_sbx "$1" bash -o pipefail -c 'sbx-policy pods target=here namespace="$1" verb="$2" | sbx-approve | sbx-cred sbx-run' - "$2" "$3"
	}
	scope 'account: pod-reader'
	pods 77 default get
	assert_call scope_denied
	pods 77 "$NS" delete
	assert_call scope_denied
	assert_equal "$(left)" ''
	pods 0 "$NS" get
	# An API server believes a token that it has just seen for ten seconds: the call has its answer before, the record the proof.
	assert_json '.revocation[0] | [.state, .unproven, has("refused")] | map(tostring) | join(" ")' 'revoked not_yet_refused false'
	witnessed() { jq -c 'select(.event == "credential.witnessed")' "$T/var/audit.jsonl"; }
	wait_until 14 grep -q credential.witnessed "$T/var/audit.jsonl"
	assert_equal "$(witnessed | jq -r '[.state, .refused, .refused_ms < 12000, .scope, has("unproven")] | map(tostring) | join(" ")')" 'revoked 401 true pods false'
	assert_equal "$(witnessed | jq -r .lease)" "$(member '.credential[0].lease' <<<"$output")"
	printf '# refused with 401 after %s ms\n' "$(witnessed | jq .refused_ms)" >&3
	assert_equal "$(left)" ''
	wait_until 2 eval '[ -z "$(ls "$T/var/leases")" ]'
	# With a binding for the action alone it is refused at once.
	scope 'account: idle, role: pod-reader'
	pods 0 "$NS" get
	assert_json '.revocation[0] | [.state, .refused, .refused_ms < 3000] | map(tostring) | join(" ")' 'revoked 403 true'
	printf '# refused with 403 after %s ms\n' "$(member '.revocation[0].refused_ms' <<<"$output")" >&3
	assert_equal "$(left)" ''
}

@test "revoked twice, and never minted: revoked" {
	mint 0
	revoke 0 revoked
	revoke 0 revoked
	assert_json .proof 'nothing is kept of this lease: not minted, or revoked before'
}

@test "somebody holds the anchor: put off, and gone when that is over" {
	mint 0
	kube patch secret "sbx-cred-$LEASE" --type=merge -p '{"metadata":{"finalizers":["example.com/holds"]}}' >/dev/null
	revoke 0 deferred
	assert_contains "$output" 'a finalizer holds it; the token lives until 20'
	kube patch secret "sbx-cred-$LEASE" --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null
	revoke 0 revoked
	assert_equal "$(left)$(ls "$T/var/kubernetes")" ''
	# Held for longer than the token lives: that is over then, and it is not called revoked.
	LEASE=$(head -c 16 /dev/urandom | xxd -p)
	mint 0
	kube patch secret "sbx-cred-$LEASE" --type=merge -p '{"metadata":{"finalizers":["example.com/holds"]}}' >/dev/null
	jq -c '.expires_at = (now | floor) - 61' "$T/var/kubernetes/$LEASE" >"$T/journal"
	cat "$T/journal" >"$T/var/kubernetes/$LEASE"
	revoke 0 expires
	assert_contains "$output" 'the token ended by itself at 20'
	assert_equal "$(ls "$T/var/kubernetes")" ''
	kube patch secret "sbx-cred-$LEASE" --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null
}

@test "what the cluster refuses has its code and the cluster's words, and leaves nothing" {
	mint 78 '.settings.account = "nobody"'
	assert_call cluster_missing
	assert_contains "$output" 'serviceaccounts'
	assert_equal "$(left)" "secret/sbx-cred-$LEASE"
	revoke 0 revoked
	assert_equal "$(left)" ''
	mint 77 '.settings.namespace = "default"'
	assert_call cluster_forbidden
	revoke 77
	assert_call cluster_forbidden
}

@test "the broker itself can read and grant nothing, and touches no other Secret" {
	kube create secret generic mine --from-literal=a=b
	assert_equal "$(broker GET secrets/mine) $(broker GET secrets) $(broker DELETE secrets/mine) $(broker GET pods)" '403 403 403 403'
	assert_equal "$(broker POST secrets '{"metadata":{"name":"sbx-cred-x"},"type":"Opaque"}')" 403
	assert_equal "$(broker POST secrets '{"metadata":{"name":"sbx-cred-x"},"type":"sbx/anchor","stringData":{"a":"b"}}')" 403
	assert_equal "$(broker POST secrets '{"metadata":{"name":"other"},"type":"sbx/anchor"}')" 403
	assert_equal "$(broker POST serviceaccounts/pod-reader/token '{"spec":{"expirationSeconds":600}}')" 403
	assert_equal "$(broker POST secrets '{"metadata":{"name":"sbx-cred-x"},"type":"sbx/anchor"}') $(broker DELETE secrets/sbx-cred-x)" '201 200'
	assert_equal "$(kube auth can-i create roles --as="system:serviceaccount:$NS:sbx-cred")" no
	run kube delete rolebinding pod-reader --as="system:serviceaccount:$NS:sbx-cred"
	assert_contains "$output" 'its own bindings alone'
	kube get secret mine
}
