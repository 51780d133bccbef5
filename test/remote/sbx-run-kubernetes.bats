# sbx-run-kubernetes against an API server that fails on demand. What a real cluster does is in test/cluster.

load ../helpers
load ../kubernetes

setup_file() { kube_setup_file; }
setup() { kube_setup; }
teardown() { kube_teardown; }

started() { # MODE...
	fake_api "$@"
	request
}

# fake_get RESOURCE: what there is of it.
fake_get() {
	local group=api/v1
	[ "$1" != jobs ] || group=apis/batch/v1
	curl -sS --cacert "$K/tls.crt" "https://127.0.0.1:$PORT/$group/namespaces/sandboxes/$1"
}

# The eight digits of the driver that made the Job.
run_label() {
	jq -r '.metadata.labels."sbx/run"' "$K/posted-job-sbx-$CALL"
}

@test "a run: its frames come through, and nothing is left" {
	started
	drive 0
	assert_equal "$(jq -r 'select(.type == "out") | .text' "$D/lines")" hello
	assert_equal "$(jq -rs 'map(.type) | join(" ")' "$D/lines")" 'hello step out exit end'
	asked "DELETE /apis/batch/v1/namespaces/sandboxes/jobs/sbx-$CALL 200"
}

@test "the Job says all that keeps the sandbox closed" {
	started
	drive 0
	local job=$K/posted-job-sbx-$CALL
	check() { assert_equal "$(jq -c "$1" "$job")" "$2"; }
	check .spec.backoffLimit 0
	check .spec.ttlSecondsAfterFinished 120
	check '.spec.activeDeadlineSeconds > 20' true
	check '.metadata.labels | del(."sbx/run")' "{\"app.kubernetes.io/managed-by\":\"sbx\",\"sbx/call\":\"$CALL\",\"sbx/tool\":\"demo\"}"
	check .spec.template.metadata.labels "$(jq -c .metadata.labels "$job")"
	check .spec.template.spec.automountServiceAccountToken false
	check .spec.template.spec.enableServiceLinks false
	check .spec.template.spec.runtimeClassName '"gvisor"'
	check .spec.template.spec.restartPolicy '"Never"'
	check .spec.template.spec.terminationGracePeriodSeconds 2
	check '.spec.template.spec.securityContext | .runAsNonRoot, .seccompProfile.type' $'true\n"RuntimeDefault"'
	check '.spec.template.spec.containers | length' 1
	check '.spec.template.spec.containers[0].command' '["/run/sbx/entry","--boot","/run/sbx/in"]'
	check '.spec.template.spec.containers[0].securityContext' \
		'{"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"capabilities":{"drop":["ALL"]}}'
	check '.spec.template.spec.containers[0].resources | (.limits | keys), (.requests | keys)' \
		$'["cpu","memory"]\n["cpu","memory"]'
	check '[.. | .hostPath? // empty] | length' 0
	check '[.spec.template.spec | .hostNetwork, .hostPID, .hostIPC] | any' false
}

@test "the credentials stand in a Secret of their own, owned by the Job, mounted for the owner, gone once they were read" {
	started run-on
	printf 'a-credential-that-must-not-leak' >"$D/credentials"
	request '.limits.deadline_ms = 3000'
	drive 1
	local name=sbx-$CALL-$(run_label)-cred
	assert_equal "$(jq -r '.data.credentials | @base64d' "$K/posted-secret-$name")" a-credential-that-must-not-leak
	assert_equal "$(jq -c '.metadata.ownerReferences' "$K/posted-secret-$name")" \
		"[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"sbx-$CALL\",\"uid\":\"uid-sbx-$CALL\"}]"
	assert_equal "$(jq -c '[.spec.template.spec.volumes[] | select(.projected) | .projected.defaultMode]' "$K/posted-job-sbx-$CALL")" '[256]'
	# While it ran, and before anything else was removed.
	assert_equal "$(grep -m1 '^DELETE' "$K/requests")" "DELETE /api/v1/namespaces/sandboxes/secrets/$name 200"
	refute_contains "$(cat "$K/posted-job-sbx-$CALL" "$D/frames")$stderr" a-credential-that-must-not-leak
	refute_contains "$(cat "$K/posted-job-sbx-$CALL")" "$(base64 -w0 "$D/credentials")"
}

@test "inputs that one Secret cannot hold are cut over several; past the cap nothing is sent" {
	started
	head -c 2500000 /dev/urandom >"$D/inputs"
	drive 0
	for i in 00 01 02; do
		jq -rj ".data.\"boot.$i\"" "$K/posted-secret-sbx-$CALL-$(run_label)-$i" | base64 -d
	done >"$D/joined"
	assert_equal "$(tail -c 2500000 "$D/joined" | sha256sum)" "$(sha256sum <"$D/inputs")"
	[ ! -e "$K/posted-secret-sbx-$CALL-$(run_label)-03" ]
	: >"$K/requests"
	head -c 16000001 /dev/zero >"$D/inputs"
	drive 65
	assert_equal "$(event failed .code)" inputs_too_large
	assert_contains "$(event failed .hint)" 'large files'
	[ ! -s "$K/requests" ]
}

@test "Secrets are made side by side: the first of three is not answered before the last was sent" {
	started secret-together
	head -c 1500000 /dev/urandom >"$D/inputs"
	printf 'a-credential' >"$D/credentials"
	drive 0
	[ "$(grep -c '^POST .*/secrets' "$K/requests")" -eq 3 ]
}

@test "what the API server answers to the Job, each with a code of its own" {
	local row mode want code
	for row in forbidden:77:cluster_forbidden quota:69:cluster_quota denied:77:cluster_admission unauthorized:78:cluster_unauthenticated \
		missing:78:cluster_missing invalid:76:cluster_invalid exists:73:cluster_exists redirect:78:cluster_redirect warning:77:cluster_admission; do
		IFS=: read -r mode want code <<<"$row"
		started "job-$mode"
		drive "$want"
		assert_equal "$mode $(event failed .code)" "$mode $code"
		case $mode in
		unauthorized) assert_contains "$(event failed .hint)" 'make up' ;;
		redirect) assert_contains "$(event failed .hint)" 'no token goes' ;;
		forbidden | quota | denied | missing | invalid) assert_contains "$(event failed .hint)" 'the API server says' ;;
		esac
		# Nothing that a Pod would mount was sent.
		run -1 grep -q '^POST /api/v1/namespaces/sandboxes/secrets' "$K/requests"
		fake_api_stop
		rm -rf "$K"
	done
}

@test "a server that is busy is asked again, after the time that it names" {
	started job-busy-once
	local before=$EPOCHREALTIME
	drive 0
	[ $((${EPOCHREALTIME/./} - ${before/./})) -ge 900000 ]
	asked '^POST .*jobs.* 429'
}

@test "a create whose answer was lost finds what it made" {
	started job-lost-once secret-lost-once
	drive 0
	assert_equal "$(jq -rs 'map(.type) | join(" ")' "$D/lines")" 'hello step out exit end'
}

@test "a create whose answer was lost, and a server that does not say at once what there is" {
	started job-lost-once find-busy-once
	drive 0
	assert_equal "$(asked "^GET .*/jobs/sbx-$CALL ")" 2
	fake_api_stop
	rm -rf "$K"
	# It may be ours: it does not stay.
	started job-lost-once find-busy
	request '.limits.deadline_ms = 1500'
	drive 69
	assert_equal "$(event failed .code)" cluster_busy
	asked "^DELETE .*/jobs/sbx-$CALL 200"
	run -1 grep -q '^POST .*secrets' "$K/requests"
}

@test "HTML from a proxy, answers that are cut off: not begun, and removed all the same" {
	local row mode code
	for row in job-html:cluster_busy job-truncated:server_cut secret-html:cluster_busy; do
		IFS=: read -r mode code <<<"$row"
		started "$mode"
		drive 69
		assert_equal "$mode $(event failed .code)" "$mode $code"
		[ "$mode" != secret-html ] || asked '^DELETE .*/jobs/.* 200'
		fake_api_stop
		rm -rf "$K"
	done
}

@test "a Secret that the quota forbids: the Job goes again" {
	started secret-quota
	drive 69
	assert_equal "$(event failed .code)" cluster_quota
	asked '^DELETE .*/jobs/.* 200'
}

@test "stopped, or in trouble, while it creates: the last Secret is not sent, so nothing starts" {
	started policy-slow
	drive 0
	asked '^POST .*secrets.* 201'
	fake_api_stop
	rm -rf "$K"
	local row mode deadline want event
	for row in policy-slow:500:1:deadline watch-forbidden:20000:77:failed; do
		IFS=: read -r mode deadline want event <<<"$row"
		started policy-slow "$mode"
		request ".limits.deadline_ms = $deadline"
		drive "$want"
		[ -n "$(event "$event" .message)" ]
		assert_equal "$(jq -r .type "$D/lines")" event
		run -1 grep -q '^POST .*secrets' "$K/requests"
		asked '^DELETE .*/jobs/.* 200'
		fake_api_stop
		rm -rf "$K"
	done
	# Nor is it sent again, when the server wanted it later than the deadline is.
	started secret-busy-once
	request '.limits.deadline_ms = 500'
	drive 69
	[ -n "$(event deadline .message)" ]
	assert_equal "$(event failed .code)" cluster_busy
	assert_equal "$(grep '^POST .*secrets' "$K/requests" | cut -d' ' -f3)" 429
}

@test "no policy closes the namespace: the last Secret is not sent, so nothing starts" {
	started policy-none
	drive 78
	assert_equal "$(event failed .code)" policy_missing
	run -1 grep -q '^POST .*secrets' "$K/requests"
	asked '^DELETE .*/jobs/.* 200'
}

@test "a Pod that has the call's label and is not the Job's is not followed; the Job's is" {
	local mode
	for mode in stranger-alone stranger-owned stranger-beside; do
		started "$mode"
		drive 0
		assert_equal "$(said out 1)" hello
		asked "^GET .*/pods/sbx-$CALL-abcde/log"
		run -1 grep -q /stranger/ "$K/requests"
		fake_api_stop
		rm -rf "$K"
	done
}

@test "a Pod that is never made: quota and admission are told apart by the Job's events" {
	started no-pod-quota
	drive 69
	assert_equal "$(event failed .code)" cluster_quota
	fake_api_stop
	rm -rf "$K"
	started no-pod-admission
	drive 77
	assert_equal "$(event failed .code)" cluster_admission
}

@test "every end that no frame tells has its code; what is not known is lost and not failed" {
	local row mode want name code
	for row in oom:failed:out_of_memory died:lost:sandbox_died evicted:lost:sandbox_evicted deadline:lost:cluster_deadline \
		node-lost:lost:node_lost deleted:lost:sandbox_deleted; do
		IFS=: read -r mode name code <<<"$row"
		started "$mode"
		drive 1
		assert_equal "$mode $(event "$name" .code)" "$mode $code"
		fake_api_stop
		rm -rf "$K"
	done
	for row in image-missing:78:image_missing start-error:69:sandbox_start; do
		IFS=: read -r mode want code <<<"$row"
		started "$mode"
		drive "$want"
		assert_equal "$mode $(event failed .code)" "$mode $code"
		asked '^DELETE .*/jobs/.* 200'
		fake_api_stop
		rm -rf "$K"
	done
}

@test "a log that is cut off goes on where it was; so does a watch" {
	started log-cut watch-cut flood
	drive 0
	assert_equal "$(jq -rs 'map(select(.type == "out") | .text | length) | add' "$D/lines")" $((64 * 65536 + 6))
}

@test "a log that says no more, though its container has ended, is asked for anew; one that came to its end is not" {
	started log-stall
	drive 0
	assert_equal "$(said out 1)" hello
	assert_equal "$(asked '/log?.* 200$')" 2
	fake_api_stop
	rm -rf "$K"
	started
	drive 0
	assert_equal "$(asked '/log?.* 200$')" 1
}

@test "a watch that has expired begins anew" {
	started watch-expired-once
	drive 0
	[ "$(grep -c 'watch=' "$K/requests")" -ge 2 ]
}

@test "frames that come byte by byte, among lines that are none of ours" {
	started drip noise
	drive 0
	assert_equal "$(jq -r 'select(.type == "out") | .text' "$D/lines")" 'drop by drop'
}

@test "a log that nothing of ours writes is not believed, and the sandbox is removed" {
	local mode
	for mode in garbage event-inside; do
		started "$mode"
		drive 1
		assert_equal "$(event failed .code)" bad_frame
		asked '^DELETE .*/jobs/.* 200'
		fake_api_stop
		rm -rf "$K"
	done
}

@test "a log that we may not read, or that hangs" {
	started log-forbidden
	drive 77
	assert_equal "$(event failed .code)" cluster_forbidden
	fake_api_stop
	rm -rf "$K"
	started log-hang
	request '.limits.deadline_ms = 1500'
	drive 1
	[ -n "$(event deadline .message)" ]
	asked '^DELETE .*/jobs/.* 200'
}

@test "the deadline and a closed control pipe stop it: event, removal, and it waits until the Pod is gone" {
	started run-on
	request '.limits.deadline_ms = 1000'
	drive 1
	[ -n "$(event deadline .message)" ]
	asked '^DELETE .*/jobs/.* 200'
	fake_api_stop
	rm -rf "$K"
	started run-on
	(
		wait_until 10 grep -q '/log' "$K/requests"
		echo stop >"$D/control"
	) 3>&- &
	drive 1
	[ -n "$(event stopped .message)" ]
	asked '^DELETE .*/jobs/.* 200'
}

@test "TERM stops it like the control pipe" {
	started run-on
	(
		wait_until 10 grep -q '/log' "$K/requests"
		kill -TERM "$(cat "$D/pid")"
	) 3>&- &
	drive 1
	[ -n "$(event stopped .message)" ]
}

@test "a Pod that does not go away is killed, and what still lingers is unknown" {
	started run-on lingers
	request '.limits.deadline_ms = 1500'
	drive 1
	[ -n "$(event killed .message)" ]
	assert_equal "$(event lost .code)" cluster_lingers
	asked '^DELETE .*/pods/.* 200'
}

@test "a Pod that no watch shows is asked for: gone, or unknown" {
	started run-on watch-down slow-end
	request '.limits.deadline_ms = 1500'
	drive 1
	[ -n "$(event deadline .message)" ]
	assert_equal "$(event lost .code)$(event killed .code)" ''
	[ "$(grep -c '^GET .*/pods?labelSelector=[^&]* 200' "$K/requests")" -ge 2 ]
	fake_api_stop
	rm -rf "$K"
	started run-on watch-down lingers
	request '.limits.deadline_ms = 1500'
	drive 1
	assert_equal "$(event lost .code)" cluster_lingers
}

@test "no node takes it: the deadline says so" {
	started unschedulable
	request '.limits.deadline_ms = 2000'
	drive 69
	[ -n "$(event deadline .message)" ]
	assert_equal "$(event failed .code)" unschedulable
	assert_contains "$(event failed .hint)" '0/1 nodes'
}

@test "an API server that is gone while it ran: nobody knows, and it says so" {
	started vanish
	request '.limits.deadline_ms = 1500'
	drive 1
	[ -n "$(event lost .code)" ]
}

@test "an API server that nobody reaches, or with another certificate: nothing was begun" {
	started
	kubeconfig 1 'token: not-a-secret-token'
	drive 69
	assert_equal "$(event failed .code)" server_unreachable
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other -keyout "$D/k" -out "$D/c" 2>/dev/null
	kubeconfig "$PORT" 'token: not-a-secret-token'
	sed -i "s|certificate-authority-data: .*|certificate-authority-data: $(base64 -w0 "$D/c")|" "$K/kubeconfig"
	drive 78
	assert_equal "$(event failed .code)" server_not_trusted
	[ ! -s "$K/requests" ]
}

@test "kubeconfig: what would run a program, trust anybody or go elsewhere is refused by name" {
	local line
	started
	for line in 'exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/touch, args: ["'"$D"'/ran"]}' 'username: x' 'auth-provider: {name: oidc}' \
		'as: system:admin'; do
		kubeconfig "$PORT" "$line"
		drive 78
		assert_equal "$(event failed .code)" kubeconfig
	done
	[ ! -e "$D/ran" ]
	for line in 'insecure-skip-tls-verify: true' 'proxy-url: http://127.0.0.1:1' 'tls-server-name: other'; do
		kubeconfig "$PORT" 'token: not-a-secret-token'
		sed -i "s|^    server:.*|&\n    $line|" "$K/kubeconfig"
		drive 78
		assert_equal "$(event failed .code)" kubeconfig
	done
	for line in http://127.0.0.1 https://somebody@127.0.0.1; do
		kubeconfig "$PORT" 'token: not-a-secret-token'
		sed -i "s|server: https://127.0.0.1|server: $line|" "$K/kubeconfig"
		drive 78
		assert_equal "$(event failed .code)" bad_server
	done
	kubeconfig "$PORT" 'token: not-a-secret-token'
	chmod 644 "$K/kubeconfig"
	drive 78
	assert_equal "$(event failed .code)" unsafe_file
	request '.settings.context = "other"'
	chmod 600 "$K/kubeconfig"
	drive 78
	[ ! -s "$K/requests" ]
	refute_contains "$(cat "$D/frames")$stderr" not-a-secret-token
}

@test "settings: each that is wrong is named" {
	local change
	started
	for change in 'del(.settings.namespace)' 'del(.settings.image)' 'del(.settings.context)' '.settings.kubeconfig = "relative"' '.settings.bogus = 1' \
		'.settings.image_pull_policy = "Sometimes"' '.settings.probe = "soon"' '.settings.forbidden = ["nowhere"]' '.settings.in_cluster = true'; do
		request "$change"
		drive 78
		assert_equal "$change $(event failed .code)" "$change cluster_settings"
	done
	request '.egress = ["kubernetes-api"]'
	drive 78
	assert_equal "$(event failed .code)" egress_unsupported
	request '.egress = ["kubernetes-api"] | .settings.egress = {"kubernetes-api": ["127.0.0.1:6443"]}'
	drive 0
	assert_equal "$(jq -r '.spec.template.metadata.labels."sbx/egress-kubernetes-api"' "$K/posted-job-sbx-$CALL")" allowed
}

@test "a state file of this machine is refused with a sentence" {
	started
	request '.state = {source: "/x", target: "/work/terraform.tfstate"}'
	drive 78
	assert_equal "$(event failed .code)" state_is_local
	assert_contains "$(event failed .hint)" backend
	[ ! -s "$K/requests" ]
}

@test "--mend removes the Job of a call and waits until its Pod is gone" {
	started run-on
	(
		wait_until 10 grep -q '/log' "$K/requests"
		kill -KILL "$(cat "$D/pid")"
	) 3>&- &
	drive 137 || : # run_sbx takes no signal for an expected end
	assert_equal "$status" 137
	run -1 grep -q '^DELETE .*/jobs/' "$K/requests"
	request '{settings: .settings}'
	run_sbx 0 bash -c "exec '$SBX_LIBEXEC/sbx-run-kubernetes' --mend $CALL <'$D/request'"
	asked '^DELETE .*/jobs/.* 200'
	: >"$K/requests"
	run_sbx 0 bash -c "exec '$SBX_LIBEXEC/sbx-run-kubernetes' --mend $CALL <'$D/request'"
	run -1 grep -q '^DELETE' "$K/requests"
}

@test "kill -9 of the driver before and behind each of its requests: --mend leaves nothing" {
	local row run_on
	printf 'a-credential' >"$D/credentials"
	# What is behind a stream is before the next request.
	for row in before-{GET-networkpolicies,POST-jobs,GET-pods,POST-secrets,GET-log,DELETE-secrets,DELETE-jobs} \
		behind-{GET-networkpolicies,POST-jobs,POST-secrets,DELETE-secrets,DELETE-jobs}; do
		# Nobody waits for the answer to that one: the run must not be over before it.
		[[ $row == *-DELETE-secrets ]] && run_on=run-on || run_on=
		started "kill-$row" $run_on
		ln -s "$D/pid" "$K/victim"
		kubernetes_script
		run -137 "${ARGV[@]}" 3>&-
		run_sbx 0 "$SBX_LIBEXEC/sbx-run-kubernetes" --mend "$CALL" <"$D/request"
		# It said so because the server says so.
		assert_equal "$(tail -n 2 "$K/requests" | cut -d' ' -f1,3 | tr '\n' ' ')" 'GET 200 GET 200 '
		fake_get "jobs" | jq -e '.items == []'
		fake_get "pods" | jq -e '.items == []'
		fake_api_stop
		rm -rf "$K"
	done
}

@test "--mend says when something stays" {
	started run-on delete-forbidden
	request '.limits.deadline_ms = 1500'
	drive 1
	assert_equal "$(event lost .code)" cluster_forbidden
	request '{settings: .settings}'
	run_sbx 77 bash -c "exec '$SBX_LIBEXEC/sbx-run-kubernetes' --mend $CALL <'$D/request'"
}

@test "--check says what it saw, or that nothing came in time" {
	local check="exec '$SBX_LIBEXEC/sbx-run-kubernetes' --check <'$BATS_TEST_TMPDIR/request'"
	started
	run_sbx 0 bash -c "$check"
	assert_equal "$output" 'OK {"isolation": "cluster-gvisor", "kernel": "fake"}'
	fake_api_stop
	rm -rf "$K"
	started run-on
	request '.limits.deadline_ms = 1500'
	run_sbx 69 bash -c "$check"
	assert_equal "$output" ''
	assert_contains "$stderr" timeout
	fake_api_stop
	rm -rf "$K"
	# What the run said is not said in other words.
	started died
	run_sbx 1 bash -c "$check"
	assert_contains "$stderr" sandbox_died
	refute_contains "$stderr" timeout
}

@test "usage" {
	run_sbx 64 "$SBX_LIBEXEC/sbx-run-kubernetes"
	run_sbx 64 "$SBX_LIBEXEC/sbx-run-kubernetes" --mend nonsense
	run_sbx 64 "$SBX_LIBEXEC/sbx-run-kubernetes" --check extra
	run_sbx 65 bash -c "exec '$SBX_LIBEXEC/sbx-run-kubernetes' --mend $CALL </dev/null"
}

# plugin BODY: a program that a kubeconfig may name, and a kubeconfig that does.
plugin() {
	printf '#!/bin/sh\n%s\n' "$1" >"$D/plugin"
	chmod 755 "$D/plugin"
	kubeconfig "$PORT" 'exec: {apiVersion: client.authentication.k8s.io/v1, command: vendor-auth, args: [get, "a b"], env: [{name: VENDOR_HOME, value: /srv}], interactiveMode: Never, provideClusterInfo: false}'
	request ".settings.exec = {\"vendor-auth\": \"$D/plugin\"}"
}

@test "kubeconfig: what kubectl writes for what is not there is left out; a file that it names by half a path is refused with a way out" {
	started
	kubeconfig "$PORT" 'token: not-a-secret-token'
	cat >>"$K/kubeconfig" <<-'MORE'
		- name: other
		  user:
		    exec: {apiVersion: client.authentication.k8s.io/v1, args: null, command: vendor-auth, env: null, provideClusterInfo: false}
	MORE
	sed -i 's/^preferences: {}/extensions: null/; s/namespace: ignored/namespace: null/' "$K/kubeconfig"
	drive 0
	# What is null is not there.
	sed -i 's/token: not-a-secret-token/token: null/' "$K/kubeconfig"
	drive 78
	assert_equal "$(event failed .code)" kubeconfig
	kubeconfig "$PORT" 'tokenFile: here/token'
	drive 78
	assert_contains "$(event failed .hint)" --flatten
}

@test "kubeconfig: a program gives the credential where the settings allow it by its name" {
	started
	plugin "printf '%s\n' \"\$0\" \"\$@\" >'$D/arguments'; env | sort >'$D/environment'
		echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"spec\":{},\"status\":{\"token\":\"of-the-plugin\",\"expirationTimestamp\":\"2030-01-01T00:00:00Z\"}}'"
	drive 0
	assert_equal "$(sort -u "$K/authorization")" 'Bearer of-the-plugin'
	assert_equal "$(tail -n +2 "$D/arguments" | tr '\n' '|')" 'get|a b|'
	assert_equal "$(cut -d= -f1 "$D/environment" | grep -v '^PWD$\|^_$' | tr '\n' ' ')" 'HOME KUBERNETES_EXEC_INFO LC_ALL PATH TZ VENDOR_HOME '
	refute_contains "$(cat "$D/frames")" of-the-plugin
	# Without that name in the settings it does not run.
	rm "$D/arguments"
	request '.settings.exec = {"other": "/bin/true"}'
	drive 78
	assert_equal "$(event failed .code)" kubeconfig
	assert_contains "$(event failed .hint)" 'exec: {vendor-auth:'
	[ ! -e "$D/arguments" ]
}

@test "kubeconfig: a program that fails, says something else, or that others can write" {
	local body
	started
	for body in 'exit 3' 'echo secret-of-it' 'echo "{}"' "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"status\":{\"token\":\"x\"}}'" \
		"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"clientCertificateData\":\"secret-of-it\"}}'"; do
		plugin "$body"
		drive 69
		assert_equal "$(event failed .code)" credential_program
		refute_contains "$stderr$(cat "$D/frames")" secret-of-it
	done
	[ ! -s "$K/requests" ]
	plugin 'exit 0'
	chmod 777 "$D/plugin"
	drive 78
	assert_equal "$(event failed .code)" unsafe_file
	plugin 'exit 0'
	sed -i 's/VENDOR_HOME/LD_PRELOAD/' "$K/kubeconfig"
	drive 78
	assert_equal "$(event failed .code)" kubeconfig
	plugin 'exit 0'
	sed -i 's/    exec:.*/&\n    token: not-a-secret-token/' "$K/kubeconfig"
	drive 78
	assert_equal "$(event failed .code)" kubeconfig
}
