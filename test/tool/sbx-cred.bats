#!/usr/bin/env bats
# sbx-cred between real providers and a played sbx-run (test/fakes): what it mints it revokes, however it ends. Calls are sealed by the test.

load ../helpers
load ../cred

setup() {
	cred_setup
}

teardown() {
	cred_teardown
}

# ---- the way it should go ----

@test "a call without credentials: sbx-run gets the sealed call and nothing else" {
	make_call
	cred 0 sbx-run
	assert_call
	assert_json '[.seals[].stage] | join(" ")' "policy approve cred run revoke"
	assert_json '.result.state' completed
	assert_json 'has("credential") or has("revocation") or has("error")' false
	assert_equal "$(cat "$RUN/argv")" "--config $T/sbx.yaml"
	assert_equal "$(events)" ""
	assert_equal "$(stat -c %a "$T/var/runs/$CALL/cred")" 400
}

@test "the environment and the descriptors of sbx-run are built from nothing" {
	make_call "$(credentials '')"
	exec 9<"$T/sbx.yaml"
	SECRET_THING=x LD_LIBRARY_PATH=/nonexistent cred 0 sbx-run
	exec 9<&-
	assert_equal "$(grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e '^$' "$RUN/environ" | sort | paste -sd' ')" \
		"HOME=/nonexistent LC_ALL=C PATH=/usr/bin:/bin TZ=UTC"
	assert_equal "$(grep -o '[0-9]* -> .*' "$RUN/descriptors" | grep -c -e '^3 -> /memfd:sbx-credentials' -e '^4 -> /memfd:sbx-secrets' -e "^5 -> .*/runs/$CALL/cred\$")" 3
	run grep -c sbx.yaml "$RUN/descriptors"
	assert_equal "$output" 0
}

@test "a credential: minted before, good while the command runs, refused afterwards, and in the record" {
	make_call "$(credentials '')"
	start_cred sbx-run hold
	wait_until 10 test -e "$RUN/holding"
	token_of_run
	is_active "$T/token"
	assert_equal "$(jq -r .state "$T/var/leases/$CALL-0.json")" issued
	: >"$RUN/go"
	wait "${started[0]}"
	output=$(cat "$T/out")
	assert_call
	assert_json '[.seals[].stage] | join(" ")' "policy approve cred run revoke"
	assert_json '.credential[0] | [.provider, .scope, (.jti == .lease), (.lease | length)] | map(tostring) | join(" ")' "jwt test-read true 32"
	assert_json '.credential[0].expires_at | fromdateiso8601 - now | . > 500 and . < 700' true
	assert_json '.revocation[0].state' revoked
	assert_json '.revocation[0].proof | length > 0' true
	assert_json '.revocation[0].took_ms < 10000' true
	refute_active "$T/token"
	refute_leases
	assert_equal "$(events)" "credential.requested credential.issued credential.revoked"
	assert_equal "$(jq -r 'select(.event == "credential.revoked") | .request_id + " " + .state + " " + (.jti == .lease | tostring)' "$T/var/audit.jsonl")" \
		"$CALL revoked true"
}

@test "the sealed memory: an index, a length and the file for each credential; the bare secrets for the scrubber" {
	make_call "$(credentials '' '')"
	cred 0 sbx-run
	assert_json '[.credential[].lease] | unique | length' 2
	assert_json '[.revocation[].state] | join(" ")' "revoked revoked"
	local n
	n=$(jq -Rs 'length' <"$RUN/secrets")
	assert_equal "$(head -c 4 "$RUN/credentials" | od -An -tu1 | tr -d ' ')" 0000
	# Both tokens are in both files.
	assert_equal "$(tr -c 'A-Za-z0-9._-' '\n' <"$RUN/secrets" | grep -c '^eyJ')" 2
	assert_equal "$(tr -c 'A-Za-z0-9._-' '\n' <"$RUN/secrets" | grep '^eyJ' | sort)" "$(tr -c 'A-Za-z0-9._-' '\n' <"$RUN/credentials" | grep '^eyJ' | sort)"
	[ "$n" -gt 600 ]
}

@test "a kubeconfig has server, CA and token of the call's target" {
	make_call "$(credentials '' | jq -cS '.[0] += {as: "kubeconfig", target: "prod"}')"
	cred 0 sbx-run
	tail -c +9 "$RUN/credentials" >"$T/kubeconfig"
	grep -qxF '    server: "https://k.example:6443"' "$T/kubeconfig"
	grep -qxF "    certificate-authority-data: \"$(base64 <"$T/ca.pem")\"" "$T/kubeconfig"
	assert_equal "$(sed -n 's/^    token: "\(.*\)"$/\1/p' "$T/kubeconfig")" "$(tail -c +5 "$RUN/secrets")"
}

@test "what cannot become a credential is refused before anything is minted" {
	local changes=('no_target .[0].as = "kubeconfig"' 'no_target .[0].target = "elsewhere"' 'bad_target .[0] += {as: "kubeconfig", target: "clear"}' \
		'bad_credentials .[0].as = "password"' 'bad_credentials del(.[0].as)' 'bad_credentials del(.[0].scope)' 'bad_credentials .[0].lifetime_s = "600"' \
		'bad_credentials .[0].lifetime_s = 90000' 'bad_credentials .[0].provider = "../jwt"' 'bad_credentials .[0].provider = ""' 'missing_helper .[0].provider = "absent"' \
		'no_provider .[0].provider = "none"' 'bad_credentials [range(9) as $i | .[0]]' 'bad_credentials {}') changed i
	mapfile -t changed < <(credentials ok | each_changed "${changes[@]#* }" | jq -cS .)
	assert_equal "${#changed[@]}" "${#changes[@]}"
	for i in "${!changes[@]}"; do
		make_call "${changed[i]}"
		cred 78 sbx-run
		assert_json '[.error.stage, .error.code, .seals[].stage] | join(" ")' "cred ${changes[i]%% *} policy approve cred"
	done
	[ ! -e "$TAP/calls" ]
	refute_run
	assert_equal "$(events)" ""
}

@test "the provider left out is the setting" {
	make_call "$(credentials '' | jq -cS 'del(.[0].provider)')"
	cred 0 sbx-run
	assert_json '.credential[0].provider' jwt
	echo 'provider: none' >>"$T/sbx.yaml"
	make_call "$(credentials '' | jq -cS 'del(.[0].provider)')"
	cred 78 sbx-run
	assert_call no_provider
}

@test "the provider is told scope, settings, its own settings, target, call, lease, principal and lifetime" {
	make_call "$(credentials ok | jq -cS '.[0].target = "prod"')"
	cred 0 sbx-run
	output=$(cat "$TAP/request.mint")
	assert_json '[.scope, .settings.permissions[0], .config.tap, .target.name, .target.server, .principal, .lifetime_s, .jti] | map(tostring) | join(" ")' \
		"test-read pods:read $TAP prod https://k.example:6443 agent 600 null"
	assert_json .call "$CALL"
	output=$(cat "$TAP/request.revoke")
	assert_json '.jti == .lease' true
	assert_json '.config.tap' "$TAP"
}

# ---- where the secret may be ----

@test "the token is in no file of the state, no argument, no environment, no output and not in the record" {
	make_call "$(credentials ok '')"
	start_cred sbx-run hold
	wait_until 10 test -e "$RUN/holding"
	tr -c 'A-Za-z0-9._-' '\n' <"$RUN/secrets" | grep '^eyJ' | sort -u >"$T/tokens"
	# Its signature alone is the secret; header and claims say nothing that the record does not.
	sed 's/.*\.//' "$T/tokens" >"$T/canary"
	assert_equal "$(wc -l <"$T/canary")" 2
	refute_canary
	# And the search finds what is there.
	cp "$T/tokens" "$T/var/planted"
	run refute_canary
	[ "$status" -ne 0 ]
	rm "$T/var/planted"
	: >"$RUN/go"
	wait "${started[0]}"
	refute_canary
	run grep -qFf "$T/canary" "$T/out" "$T/err"
	[ "$status" -eq 1 ]
}

# ---- a mint that fails ----

@test "a failed mint is in the record with its code" {
	make_call "$(credentials error)"
	cred 77 sbx-run
	assert_equal "$(events)" "credential.requested credential.failed credential.revoked"
	assert_equal "$(jq -r 'select(.event == "credential.failed") | .code' "$T/var/audit.jsonl")" role_denied
	assert_json .error.hint "ask its owner"
	make_call "$(credentials '' | jq -cS 'del(.[0].settings.audience)')"
	cred 78 sbx-run
	assert_call no_audience
	assert_json '.error.hint | contains("policy.yaml")' true
}

@test "the second mint fails: the first credential is given back too" {
	make_call "$(credentials ok error)"
	cred 77 sbx-run
	assert_json '[.revocation[].state] | join(" ")' "revoked revoked"
	assert_json '[.credential[] | has("jti")] | map(tostring) | join(" ")' "true false"
	refute_active "$TAP/token"
	refute_leases
}

@test "a jti is not needed" {
	make_call "$(credentials no-jti)"
	cred 0 sbx-run
	assert_json '.credential[0] | has("jti")' false
	refute_active "$TAP/token"
}

@test "no record, no mint" {
	mkdir "$T/var/audit.jsonl"
	make_call "$(credentials ok)"
	run --separate-stderr "$I/bin/sbx-cred" sbx-run <"$T/call.json"
	[ "$status" -eq 74 ] || [ "$status" -eq 78 ]
	assert_json .error.stage cred
	assert_json 'has("credential")' false
	[ ! -e "$TAP/calls" ]
	refute_run
	refute_leases
}

@test "no lease file, no mint" {
	: >"$T/var/leases"
	make_call "$(credentials ok)"
	run --separate-stderr "$I/bin/sbx-cred" sbx-run <"$T/call.json"
	[ "$status" -ge 64 ]
	[ "$status" -le 78 ]
	[ ! -e "$TAP/calls" ]
	refute_run
	assert_equal "$(events)" ""
}

# ---- a revocation that fails ----

# helper_of PID VERB: a provider's process for VERB among its children.
helper_of() {
	pgrep -P "$1" -f "sbx-cred-[a-z]* $2 --config"
}

@test "who will revoke a credential waits while the command runs, and is asked once" {
	make_call "$(credentials ok)"
	start_cred sbx-run hold
	wait_until 10 test -e "$RUN/holding"
	wait_until 10 helper_of "${started[0]}" revoke
	: >"$RUN/go"
	wait "${started[0]}"
	assert_equal "$(jq -r '.revocation[0].state' "$T/out")" revoked
	assert_equal "$(cat "$TAP/calls")" $'mint\nrevoke'
}

@test "who mints a credential and stays revokes it, in the same process" {
	local fault seen
	for fault in stay ''; do
		rm -f "$RUN/holding" "$RUN/go" "$TAP"/*
		make_call "$(credentials "$fault")"
		start_cred sbx-run hold
		wait_until 10 test -e "$RUN/holding"
		seen=$(helper_of "$!" mint)
		run ! helper_of "$!" revoke
		# Its lock is that of the mint alone: whoever mends need not wait for it. The one descriptor there is left is where it is asked.
		run ! ls -l "/proc/$seen/fd/4" 2>/dev/null
		: >"$RUN/go"
		wait "${started[-1]}"
		assert_equal "$(jq -r '.revocation[0].state' "$T/out")" revoked
		token_of_run
		refute_active "$T/token"
		refute_leases
		run ! kill -0 "$seen"
	done
	# The provider of its own that was asked first.
	make_call "$(credentials stay)"
	cred 0 sbx-run
	assert_equal "$(cat "$TAP/calls")" $'mint\nagain'
	assert_equal "$(jq -c '[.again_fd, .jti, .lease == $mint[0].lease, .expires_at != $mint[0].expires_at]' --slurpfile mint "$TAP/request.mint" "$TAP/request.again")" \
		"[null,\"$(jq -r .lease "$TAP/request.mint")\",true,true]"
	assert_equal "$(jq .again_fd "$TAP/request.mint")" 5
}

@test "a revocation that fails once" {
	make_call "$(credentials revoke-fails-once)"
	cred 0 sbx-run
	assert_json '.revocation[0].state' revoked
	refute_active "$TAP/token"
	refute_leases
}

@test "a credential that cannot be revoked is said to expire, never to be revoked" {
	make_call "$(credentials revoke-expires)"
	cred 0 sbx-run
	assert_json '.revocation[0] | .state + ": " + .proof' "expires: cannot be revoked"
	refute_leases
}

# ---- an sbx-run that fails ----

@test "sbx-run's own error and a failed command keep their class" {
	make_call "$(credentials ok)"
	cred 71 sbx-run error
	assert_call cannot_isolate
	assert_json '[.seals[].stage, .revocation[0].state] | join(" ")' "policy approve cred run revoke revoked"
	refute_active "$TAP/token"
	make_call "$(credentials ok)"
	cred 1 sbx-run failed
	assert_json '.result.exit' 3
	refute_active "$TAP/token"
}

# ---- what may start ----

@test "only sbx-run, or a path that the settings list" {
	make_call "$(credentials ok)"
	cred 77 "$I/bin/sbx-run"
	assert_call command_not_allowed
	make_call "$(credentials ok)"
	cred 77 sh
	assert_call command_not_allowed
	make_call "$(credentials ok)" approve
	cred 77 /bin/sh -c 'cat <&3'
	assert_call command_not_allowed
	[ -e "$T/var/runs/$CALL/refused" ]
	[ ! -e "$TAP/calls" ]
	mv "$I/bin/sbx-run" "$I/bin/elsewhere"
	echo "commands: [$I/bin/elsewhere]" >>"$T/sbx.yaml"
	make_call "$(credentials ok)"
	cred 0 "$I/bin/elsewhere" ok
	assert_json '.result.state' completed
	assert_equal "$(cat "$RUN/argv")" "--config $T/sbx.yaml --credentials-fd 3 --secrets-fd 4 --lock-fd 5 ok"
	make_call "$(credentials ok)"
	cred 78 sbx-run
	assert_call missing_helper
}

@test "a call whose approval is not claimed gets no credential" {
	local effect
	for effect in approve deny none; do
		make_call "$(credentials ok)" $effect agent '{"state":"none"}'
		cred 77 sbx-run
		assert_call not_approved
	done
	make_call "$(credentials ok)" approve agent '{"id":"0123456789abcdef0123456789abcdef","state":"waiting"}'
	cred 77 sbx-run
	assert_call not_approved
	make_call "$(credentials ok)" allow agent '{"state":"claimed"}'
	cred 77 sbx-run
	assert_call not_approved
	[ ! -e "$TAP/calls" ]
	refute_run
}

@test "four calls of one principal at once, and no fifth" {
	local i
	mkdir -p "$T/var/slots/agent"
	chmod 700 "$T/var/slots" "$T/var/slots/agent"
	for i in 1 2 3 4; do
		(
			exec 9<>"$T/var/slots/agent/$i" 3>&-
			flock 9 # the question below holds it for a moment, too
			exec sleep 60
		) &
		started+=($!)
		disown $!
	done
	for i in 1 2 3 4; do
		wait_until 10 not_lockable "$T/var/slots/agent/$i"
	done
	make_call "$(credentials ok)" approve
	cred 69 sbx-run
	assert_call too_many_calls
	[ -e "$T/var/runs/$CALL/refused" ]
	[ ! -e "$TAP/calls" ]
	refute_run
	make_call '[]' allow other
	cred 0 sbx-run
	kill "${started[2]}"
	wait_until 10 flock -n "$T/var/slots/agent/3" true
	make_call "$(credentials ok)"
	cred 0 sbx-run
}

not_lockable() {
	! flock -n "$1" true
}

@test "a principal's name cannot leave its directory" {
	make_call '[]' allow '../../evil'
	cred 0 sbx-run
	[ ! -e "$T/evil" ]
	[ ! -e "$T/var/evil" ]
	assert_equal "$(ls "$T/var/slots" | grep -cx '[0-9a-f]\{64\}')" 1
}

# ---- the pipe ----

@test "a call with an error is passed on with one more seal, and nothing starts" {
	new_call
	sealed_call "$T/var" '{"call":{"id":"'$CALL'","tool":"t"},"error":{"class":77,"code":"denied","message":"no","stage":"policy"},"policy":{"credentials":'"$(credentials ok)"',"effect":"deny"},"sbx":1}' >"$T/call.json"
	cred 77 sbx-run
	assert_call denied
	assert_json '[.seals[].stage] | join(" ")' "policy approve cred"
	[ ! -e "$TAP/calls" ]
	refute_run
	echo '{"sbx":1,"error":{"stage":"policy","class":65,"code":"bad","message":"no"}}' >"$T/call.json"
	cred 65 sbx-run
	assert_equal "$output" '{"error":{"class":65,"code":"bad","message":"no","stage":"policy"},"sbx":1}'
	refute_run
}

@test "a call without the right seals, of the wrong time, or twice" {
	make_call "$(credentials ok)"
	cp "$T/call.json" "$T/good"
	jq -c 'del(.seals[1])' "$T/good" >"$T/call.json"
	cred 77 sbx-run
	assert_call seal_invalid
	jq -c '.call.params.x = 1' "$T/good" >"$T/call.json"
	cred 77 sbx-run
	assert_call seal_invalid
	jq -c '.policy.credentials[0].settings.permissions = ["*"]' "$T/good" >"$T/call.json"
	cred 77 sbx-run
	assert_call seal_invalid
	jq -c '.seals |= reverse' "$T/good" >"$T/call.json"
	cred 77 sbx-run
	assert_call seal_invalid
	refute_run
	[ ! -e "$TAP/calls" ]
	cp "$T/good" "$T/call.json"
	cred 0 sbx-run
	cred 77 sbx-run
	assert_call call_reused
	make_call "$(credentials ok)"
	rm -r "$T/var/runs/$CALL"
	cred 77 sbx-run
	assert_call call_closed
}

@test "bad input: the class of the pipe, one object, nothing started" {
	local input
	for input in '' '{' '[]' '1' '{"sbx":1}' '{"sbx":1,"sbx":1}' '{"sbx":1}{"sbx":1}' '{"sbx":1.5}' '{"sbx":"1"}' "$(printf '{"a":"\xff"}')"; do
		printf '%s' "$input" >"$T/call.json"
		cred 76 sbx-run
		assert_call
		assert_json '[.error.stage, .error.class] | map(tostring) | join(" ")' "cred 76"
	done
	head -c 1048577 /dev/zero | tr '\0' ' ' >"$T/call.json"
	cred 76 sbx-run
	assert_call
	refute_run
}

@test "closed stdin, closed stdout, a full disk: never 0, and the credential is revoked" {
	make_call "$(credentials ok)"
	run --separate-stderr bash -c '"$1" sbx-run <&-' - "$I/bin/sbx-cred"
	assert_equal "$status" 76
	run bash -c '"$1" sbx-run <"$2" >/dev/full' - "$I/bin/sbx-cred" "$T/call.json"
	assert_equal "$status" 74
	refute_active "$TAP/token"
	make_call "$(credentials ok)"
	run bash -c '"$1" sbx-run <"$2" >&-' - "$I/bin/sbx-cred" "$T/call.json"
	assert_equal "$status" 74
	refute_active "$TAP/token"
	refute_leases
}

# ---- --explain, --mend, options ----

@test "--explain says what the scopes become, and starts nothing" {
	make_call "$(credentials ok | jq -cS '.[0] += {as: "kubeconfig", target: "prod"}')"
	cred 0 --explain
	assert_contains "$output" 'scope      "test-read"'
	assert_contains "$output" 'provider   "fault"'
	assert_contains "$output" '/run/sbx/cred/0'
	assert_contains "$output" 'named by   "TOKEN_FILE"'
	assert_contains "$output" 'server     "https://k.example:6443"'
	assert_contains "$output" '"permissions":["pods:read"]'
	[ ! -e "$TAP/calls" ]
	[ ! -e "$T/var/runs/$CALL/cred" ]
	make_call
	cred 0 --explain
	assert_equal "$output" "no credential"
	make_call "$(credentials ok | jq -cS '.[0].provider = "absent"')"
	cred 78 --explain
	assert_contains "$stderr" missing_helper
	echo '{' >"$T/call.json"
	cred 65 --explain
	make_call
	run bash -c '"$1" --explain <"$2" >/dev/full' - "$I/bin/sbx-cred" "$T/call.json"
	assert_equal "$status" 74
}

@test "--explain says the namespace and the rules that the permissions become" {
	make_call "$(credentials ok | jq -cS '.[0] += {namespace: "web", permissions: ["pods:get", "deployments.apps/scale:update", "pods:list"]}')"
	cred 0 --explain
	assert_contains "$output" 'namespace  "web"'
	assert_contains "$output" 'may        {"apiGroups":[""],"resources":["pods"],"verbs":["get","list"]}'
	assert_contains "$output" '           {"apiGroups":["apps"],"resources":["deployments/scale"],"verbs":["update"]}'
	make_call "$(credentials ok)"
	cred 0 --explain
	assert_contains "$output" 'may        not said'
	make_call "$(credentials ok | jq -cS '.[0].permissions = [7]')"
	cred 78 --explain
	assert_contains "$stderr" bad_credentials
}

@test "namespace and permissions go to the provider, the record and the call" {
	make_call "$(credentials ok | jq -cS '.[0] += {namespace: "web", permissions: ["pods:get"]}')"
	cred 0 sbx-run
	assert_json '.credential[0].namespace' web
	assert_equal "$(jq -r '.namespace + " " + .permissions[0]' "$TAP/request.mint")" 'web pods:get'
	assert_equal "$(jq -r 'select(.event == "credential.issued") | .namespace + " " + .permissions[0]' "$T/var/audit.jsonl")" 'web pods:get'
	assert_equal "$(jq -r 'select(.event == "credential.revoked") | .namespace + " " + .scope + " " + (.proof | length > 0 | tostring)' "$T/var/audit.jsonl")" 'web test-read true'
}

# left: both leases are without a call that works.
left() {
	[ "$("$I/bin/sbx-cred" list 3>&- | grep -c ' left ')" = 2 ]
}

@test "list says what is live, whose, until when, and whether its call still works" {
	run_sbx 0 "$I/bin/sbx-cred" list
	assert_equal "$output" ''
	make_call "$(credentials ok '' | jq -cS '.[0] += {namespace: "web", target: "prod"}')" allow 'an odd name'
	start_cred sbx-run hold
	wait_until 10 test -e "$RUN/holding"
	run_sbx 0 "$I/bin/sbx-cred" list
	assert_equal "${#lines[@]}" 2
	assert_contains "$output" " running \"issued\" \"an odd name\" $CALL/0 provider=\"fault\" scope=\"test-read\" namespace=\"web\" target=\"prod\""
	assert_contains "$output" "$CALL/1 provider=\"jwt\""
	refute_contains "$output" "$(sed 's/.*\.//' "$TAP/token")"
	run_sbx 0 "$I/bin/sbx-cred" list --json
	assert_equal "$(jq -r '[.process, .state, .call, .provider] | join(" ")' <<<"$output" | sort)" "running issued $CALL fault
running issued $CALL jwt"
	kill -9 "${started[0]}"
	wait "${started[0]}" || true
	: >"$RUN/go"
	wait_until 10 left
	run_sbx 74 bash -c '"$1" list >/dev/full' - "$I/bin/sbx-cred"
	# One that cannot be read is told, and hides no other.
	echo '{' >"$T/var/leases/$CALL-7.json"
	chmod 600 "$T/var/leases/$CALL-7.json"
	run_sbx 78 "$I/bin/sbx-cred" list
	assert_contains "$stderr" bad_lease
	assert_equal "${#lines[@]}" 2
	rm "$T/var/leases/$CALL-7.json"
	run_sbx 0 "$I/bin/sbx-cred" --mend "$CALL"
	run_sbx 0 "$I/bin/sbx-cred" list
	assert_equal "$output" ''
	run_sbx 64 "$I/bin/sbx-cred" list more
	run_sbx 64 "$I/bin/sbx-cred" list --json more
}
@test "options" {
	run_sbx 0 "$I/bin/sbx-cred" --help
	assert_contains "$output" "usage: sbx-cred"
	run_sbx 0 "$I/bin/sbx-cred" --version
	for words in --help --version; do
		run bash -c '"$1" "$2" >/dev/full' - "$I/bin/sbx-cred" "$words"
		assert_equal "$status" 74
	done
	run_sbx 64 "$I/bin/sbx-cred"
	run_sbx 64 "$I/bin/sbx-cred" --nonsense
	run_sbx 64 "$I/bin/sbx-cred" --mend
	run_sbx 64 "$I/bin/sbx-cred" --mend ../x
	run_sbx 64 "$I/bin/sbx-cred" --mend 0123456789abcdef0123456789abcdef sbx-run
	run_sbx 64 "$I/bin/sbx-cred" --explain sbx-run
	make_call
	cred 0 --config "$T/sbx.yaml" sbx-run
	SBX_CONFIG=/nonexistent cred 77 --config "$T/sbx.yaml" sbx-run
	assert_call call_reused
	cred 78 --config /nonexistent/sbx.yaml sbx-run
	assert_call missing_config
}

@test "the provider that sbx-helper(7) shows works" {
	sed -n '/^\.Sh EXAMPLES/,/^\.Ed/p' "$ROOT/man/sbx-helper.7" | sed -e '1,/^\.Bd/d' -e '/^\.Ed/d' -e 's/\\e/\\/g' \
		-e "s|/usr/local/bin/vendor|$I/vendor|" >"$I/libexec/sbx/sbx-cred-vendor"
	cat >"$I/vendor" <<-'EOT'
		#!/bin/sh
		echo "$*" >>"$(dirname "$0")/vendor.log"
		[ "$1" != issue ] || printf 'vendor-token-%s' "${3#sbx-}"
	EOT
	chmod +x "$I/vendor" "$I/libexec/sbx/sbx-cred-vendor"
	make_call "$(credentials '' | jq -cS '.[0].provider = "vendor"')"
	cred 0 sbx-run
	local lease
	lease=$(jq -r '.credential[0].lease' <<<"$output")
	assert_equal "$(tail -c +9 "$RUN/credentials")" "vendor-token-$lease"
	assert_json '.revocation[0].proof' "session sbx-$lease closed"
	assert_equal "$(paste -sd, "$I/vendor.log")" "issue --session sbx-$lease --audience https://api.test,close --session sbx-$lease"
}
