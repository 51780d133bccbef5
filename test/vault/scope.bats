#!/usr/bin/env bats
# From (tool, parameters) to the credential that one call gets, through the whole chain, and to the refusal that ends it. Server and cluster are real.

load ../helpers
load vault
load ../tap

setup_file() { vault_setup_file; }
teardown_file() { vault_teardown_file; }

setup() {
	vault_setup
	tap_setup
	cp "$SBX_LIBEXEC"/sbx-cred-* "$I/libexec/sbx/"
	sed -i "s|env_allowed: \[SBX_TOKEN\]|env_allowed: [SBX_TOKEN, KUBECONFIG]|" "$T/policy/policy.yaml"
	printf 'targets: {rig: {server: "%s", ca_file: "%s"}}\n' "$K8S_SERVER" "$K8S_CA" >>"$T/sbx.yaml"
	scope pods 'role: pod-reader'
	tool pods low 'namespace: "{namespace}", permissions: ["pods:{verb}"]'
	PID=
}

teardown() {
	[ -z "$PID" ] || { kill -9 "$PID" && wait "$PID"; } 2>/dev/null || true
}

# scope NAME SETTINGS
scope() {
	sed -i "s|^scopes:.*|&\n  $1: {provider: vault, mount: $NS, policy: sbx-$NS, $2, kubernetes_namespace: \"{namespace}\", namespaces: [$NS], permissions: [\"pods:get\", \"pods:list\"], reads_secrets: false}|" \
		"$T/policy/policy.yaml"
}

# tool NAME TIER CREDENTIAL [MORE]: the scope has the tool's name; MORE credentials.
tool() {
	cat >"$T/policy/tools/$1.yaml" <<-EOT
		name: $1
		description: Holds a credential for pods until it is stopped.
		tier: $2
		params:
		  target: {type: target}
		  namespace: {type: dns_label}
		  verb: {type: string, enum: [get, list, delete]}
		  stay: {type: boolean, default: false}
		steps:
		  - [stepper, env, KUBECONFIG, then, {if: stay, then: sleep}]
		credentials: [{scope: $1, as: kubeconfig, env: KUBECONFIG, $3}${4:-}]
		limits: {deadline: 30s, grace: 1s}
		tests:
		  - {given: {targets: [rig]}, params: {target: rig, namespace: default, verb: get}, expect: deny, code: scope_denied}
	EOT
}

# chain RC TOOL [PARAMETER...]
chain() {
	run_sbx "$1" bash -o pipefail -c 'cd "$1" && ./sbx-policy "${@:2}" | ./sbx-approve | ./sbx-cred sbx-run | ./sbx-audit' - "$I/bin" "${@:2}"
}

# The token in the kubeconfig at FIRST byte of what sbx-run got, as $T/minted.
tapped() {
	sed -n 's/^    token: "\(.*\)"$/\1/p' "$TAP/credentials" | tr -d '\n' >"$T/minted"
	[ -s "$T/minted" ]
}

events() { # FILTER
	jq -r "$1" "$T/var/audit.jsonl"
}

@test "pods are listed in the namespace of the call, and nothing else; refused after its end, which is in the record" {
	"$I/bin/sbx-policy" pods target=rig namespace="$NS" verb=list stay=true 3>&- | "$I/bin/sbx-approve" >"$T/call.json" 3>&-
	"$I/bin/sbx-cred" sbx-run <"$T/call.json" >"$T/out" 2>"$T/err" 3>&- &
	PID=$!
	wait_until 10 grep -q sandbox.started "$T/var/audit.jsonl"
	tapped
	run as_minted get pods
	assert_equal "$status" 0
	run as_minted get pods --namespace=default
	assert_contains "$output" 'cannot list resource "pods" in API group "" in the namespace "default"'
	run as_minted get secrets
	assert_contains "$output" 'cannot list resource "secrets"'
	run as_minted get --raw "/api/v1/namespaces/$NS/pods/x/exec?command=id"
	assert_contains "$output" 'cannot get resource "pods/exec"'
	run_sbx 0 "$I/bin/sbx-cred" list --json
	assert_json '[.process, .state, .principal, .scope, .namespace, .target, .permissions[0]] | join(" ")' "running issued $(id -un) pods $NS rig pods:list"
	assert_json '.expires_at | fromdate - now | . > 500 and . < 700' true
	LEASE=$(member .lease <<<"$output")
	assert_equal "$(children | wc -l) $(leases | wc -l) $(accounts | wc -l)" '1 1 2'
	kill -TERM "$PID"
	wait "$PID" || true
	PID=
	refused
	output=$(cat "$T/out")
	assert_json '.revocation[0] | [.state, (.refused == 403 or .refused == 401), .refused_ms < 12000, has("unproven")] | map(tostring) | join(" ")' 'revoked true true false'
	printf '# refused with %s after %s ms\n' "$(member '.revocation[0].refused' <<<"$output")" "$(member '.revocation[0].refused_ms' <<<"$output")" >&3
	run_sbx 0 "$SBX_BIN/sbx-audit" show --event credential.revoked
	assert_contains "$output" "namespace=$NS"
	assert_contains "$output" 'proof="lease revoked and looked up as gone; child token revoked"'
	[[ $output =~ refused=40[13]\ refused_ms=[0-9]+\ scope=pods\ state=revoked\ took_ms= ]]
	assert_equal "$(events 'select(.event == "credential.issued") | .scope + " " + .namespace + " " + .permissions[0]')" "pods $NS pods:list"
	nothing_is_live
	run_sbx 0 "$I/bin/sbx-cred" list
	assert_equal "$output" ''
}

@test "another namespace, a wider verb, an action that nobody mapped: no credential, and nobody is asked for one" {
	chain 77 pods target=rig namespace=default verb=get
	assert_call scope_denied
	assert_json '.error.hint' "the scope has $NS"
	chain 77 pods target=rig namespace="$NS" verb=delete
	assert_call scope_denied
	chain 77 pods_delete target=rig namespace="$NS"
	assert_call unknown_tool
	chain 0 true
	assert_json 'has("credential")' false
	assert_equal "$(events 'select(.event | startswith("credential.")) | .event')" ''
	[ ! -e "$TAP/credentials" ]
	[ ! -e "$T/var/vault" ] || assert_equal "$(ls "$T/var/vault")" ''
	# The same, as it is allowed.
	chain 0 pods target=rig namespace="$NS" verb=get
	assert_json '.credential[0] | .scope + " " + .namespace' "pods $NS"
	LEASE=$(member '.credential[0].lease' <<<"$output")
	nothing_is_live
}

@test "--explain shows the scope, its namespace, and the rules that it becomes" {
	"$I/bin/sbx-policy" pods target=rig namespace="$NS" verb=list 3>&- >"$T/call.json"
	run_sbx 0 "$I/bin/sbx-cred" --explain <"$T/call.json"
	assert_contains "$output" 'scope      "pods"'
	assert_contains "$output" "namespace  \"$NS\""
	assert_contains "$output" 'may        {"apiGroups":[""],"resources":["pods"],"verbs":["list"]}'
	assert_contains "$output" "\"kubernetes_namespace\":\"$NS\""
	run_sbx 0 "$I/bin/sbx-policy" --explain pods target=rig namespace="$NS" verb=list
	assert_contains "$output" "$NS"
	assert_contains "$output" '["pods:list"]'
}

@test "two credentials of a call, each in its form, and each journalled, seen to be refused, scrubbed and revoked" {
	tool pods low 'namespace: "{namespace}"' ', {scope: test-read, as: token, env: SBX_TOKEN}'
	sed -i 's|then, {if: stay, then: sleep}|then, cat, /run/sbx/cred/0, then, cat, /run/sbx/cred/1|' "$T/policy/tools/pods.yaml"
	chain 0 pods target=rig namespace="$NS" verb=get
	assert_json '[.credential[].provider] | join(" ")' 'vault jwt'
	assert_json '[.revocation[].state] | join(" ")' 'revoked expires'
	# Of a plain JWT nobody need ask us whether it is revoked (sbx-cred-jwt(8)).
	assert_json ".revocation[1].expires_at == .credential[1].expires_at" true
	assert_json '[.revocation[] | has("refused")] | map(tostring) | join(" ")' 'true false'
	tapped
	local jwt
	LEASE=$(member '.credential[0].lease' <<<"$output")
	jwt=$(tr -c 'A-Za-z0-9._-' '\n' <"$TAP/credentials" | grep '^eyJ' | grep -vxFf "$T/minted")
	[ -n "$jwt" ]
	assert_equal "$(member .result.stdout <<<"$output" | grep -c REDACTED)" 2
	refute_contains "$output" "$(sed 's/.*\.//' "$T/minted")"
	refute_contains "$output" "${jwt##*.}"
	assert_equal "$(events 'select(.event | startswith("credential.")) | .event + ":" + .provider' | paste -sd' ')" \
		'credential.requested:vault credential.issued:vault credential.requested:jwt credential.issued:jwt credential.revoked:vault credential.revoked:jwt'
	printf %s "$jwt" >"$T/jwt"
	run_sbx 1 "$I/libexec/sbx/sbx-cred-jwt" introspect <"$T/jwt"
	refused
	nothing_is_live
}

@test "the second mint fails: the first credential is revoked, and seen to be refused; nothing runs" {
	scope other 'role: nothing'
	tool pods low 'namespace: "{namespace}"' ', {scope: other, as: token, env: SBX_TOKEN, namespace: "{namespace}"}'
	chain 78 pods target=rig namespace="$NS" verb=get
	assert_call vault_missing
	assert_json '[.credential[] | has("jti")] | map(tostring) | join(" ")' 'true false'
	assert_json '[.revocation[] | .state] | join(" ")' 'revoked revoked'
	assert_json '.revocation[0].refused == 403' true
	[ ! -e "$TAP/credentials" ]
	assert_equal "$(events 'select(.event == "sandbox.started") | .event')" ''
	LEASE=$(member '.credential[0].lease' <<<"$output")
	nothing_is_live
}

@test "a credential for an approved call is minted after the approval is claimed, and not before" {
	tool pods high 'namespace: "{namespace}"'
	new_signer alice
	chain 75 pods target=rig namespace="$NS" verb=get
	local id
	id=$(member .approval.id <<<"$output")
	[ ! -e "$T/var/vault" ] || assert_equal "$(ls "$T/var/vault")" ''
	assert_equal "$(leases)$(accounts)" ''
	run_sbx 0 sbx-approve sign "$id" --key "$T/alice" </dev/null
	assert_equal "$(events 'select(.event | startswith("credential.")) | .event')" ''
	assert_equal "$(leases)$(accounts)" ''
	chain 0 pods target=rig namespace="$NS" verb=get
	assert_json '.approval.state + " " + .revocation[0].state' 'claimed revoked'
	assert_equal "$(events 'select(.event | IN("approval.claimed", "credential.requested", "credential.issued", "sandbox.started", "credential.revoked")) | .event' | paste -sd' ')" \
		'approval.claimed credential.requested credential.issued sandbox.started credential.revoked'
}

@test "a provider that only says that it has revoked: still taken, so it is said when it expires" {
	cat >"$I/libexec/sbx/sbx-cred-liar" <<-'EOT'
		#!/bin/bash
		# Mints, and never revokes: the one behind it must not stay to do so.
		[ "$1" != revoke ] || { cat >/dev/null; echo '{"state":"revoked","proof":"gone"}'; exit 0; }
		jq -c 'del(.again_fd)' | "${0%/*}/sbx-cred-vault" "$@" | sed 's/"provider":"vault"/"provider":"liar"/'
	EOT
	chmod +x "$I/libexec/sbx/sbx-cred-liar"
	sed -i 's|pods: {provider: vault|pods: {provider: liar|' "$T/policy/policy.yaml"
	chain 0 pods target=rig namespace="$NS" verb=get
	assert_json '.revocation[0] | [.state, .unproven, has("refused"), .proof] | map(tostring) | join(" ")' 'revoked not_yet_refused false gone'
	wait_until 15 grep -q credential.witnessed "$T/var/audit.jsonl"
	assert_equal "$(events 'select(.event == "credential.witnessed") | .state + " " + .unproven + " " + .expires_at')" \
		"expires still_taken $(member '.credential[0].expires_at' <<<"$output")"
	# It stays in the list until it has ended, and mending says so each time.
	CALL=$(member .call.id <<<"$output")
	wait_until 2 bash -c '[[ $("$1" list) == *" left \"still_taken\" "* ]]' - "$I/bin/sbx-cred"
	run -69 "$I/bin/sbx-cred" --mend "$CALL"
	assert_contains "$output" revoke_deferred
	run "$I/bin/sbx-cred" list
	assert_contains "$output" '"still_taken"'
	output=$(cat "$T"/var/runs/*/object)
	tapped
	run as_minted get pods
	assert_equal "$status" 0
	LEASE=$(member '.credential[0].lease' <<<"$(cat "$T"/var/runs/*/object)")
	revoke 0 revoked
	wait_until 12 refused
	nothing_is_live
}

@test "a fixed service account: what cannot be revoked is said, with the time at which it ends" {
	scope fixed 'role: fixed'
	tool fixed low 'namespace: "{namespace}"'
	chain 0 fixed target=rig namespace="$NS" verb=get
	assert_json '.revocation[0].state' expires
	assert_json '.revocation[0].expires_at == .credential[0].expires_at' true
	assert_json '.revocation[0] | has("refused")' false
}

@test "nobody to ask: revoked all the same, and it is said that nobody saw it" {
	sed -i 's|^targets:.*|targets: {rig: {server: "https://127.0.0.1:1"}}|' "$T/sbx.yaml"
	chain 0 pods target=rig namespace="$NS" verb=get
	assert_json '.revocation[0] | [.state, .unproven, has("refused")] | map(tostring) | join(" ")' 'revoked server_unreachable false'
	tapped
	wait_until 12 refused
	# Asked not to look, it does not.
	sed -i 's|^targets:.*|targets: {rig: {server: "'"$K8S_SERVER"'", ca_file: "'"$K8S_CA"'", witness: 0s}}|' "$T/sbx.yaml"
	chain 0 pods target=rig namespace="$NS" verb=get
	assert_json '.revocation[0] | [.state, has("unproven"), has("refused")] | map(tostring) | join(" ")' 'revoked false false'
	sed -i 's|witness: 0s|witness: soon|' "$T/sbx.yaml"
	chain 78 pods target=rig namespace="$NS" verb=get
	assert_call bad_target
}
