# sbx-run-kubernetes on a real cluster, driven as sbx-run drives it.

load ../helpers
load cluster

setup_file() { cluster_setup_file; }
setup() { cluster_setup; }
teardown() { cluster_teardown; }

@test "a step runs under gVisor; its output comes back; nothing is left" {
	probe_step print hello
	drive 0
	assert_equal "$(said out 1)" hello
	assert_equal "$(frame hello .isolation)" cluster-gvisor
	assert_contains "$(frame hello .kernel)" gvisor
	assert_equal "$(frame hello '.egress.closed | length > 1')" true
	wait_until 10 nothing_left
}

@test "exit status, stderr, and that a failed step ends the sequence" {
	table step /opt/sbx/probe/probe complain oops end step /opt/sbx/probe/probe exit 3 end step /opt/sbx/probe/probe print never end
	drive 0
	assert_equal "$(said err 1)" oops
	assert_equal "$(frame exit .exit | tr '\n' ' ')" '0 3 '
}

@test "a workspace goes in and an artefact comes back with its digest" {
	mkdir "$D/tree"
	head -c 300000 /dev/urandom >"$D/tree/data"
	table "tree=$D/tree" step /opt/sbx/probe/probe print made produce copy data end
	drive 0
	assert_equal "$(frame artifact .sha256)" "$(sha256sum <"$D/tree/data" | cut -d' ' -f1)"
	cmp "$D/copy" "$D/tree/data"
}

@test "a log that the kubelet turns while it is read: nothing of it is lost" {
	local quiet=(step /opt/sbx/probe/probe tcp "${API_SERVER%:*}" "${API_SERVER##*:}" end)
	request '.limits.workdir = 67108864'
	# A kubelet looks every ten seconds whether a log has more than 10 MiB; each connection that is silent takes two.
	table step /opt/sbx/probe/probe size one 7000000 produce one one end step /opt/sbx/probe/probe size two 7000000 produce two two end \
		"${quiet[@]}" "${quiet[@]}" "${quiet[@]}" "${quiet[@]}" "${quiet[@]}" "${quiet[@]}" step /opt/sbx/probe/probe print afterwards end
	drive 0
	[ "$(stat -c %s "$D/frames")" -gt 14000000 ]
	sed -i '/^{"type":"data"/d' "$D/lines"
	assert_equal "$(frame artifact .size | tr '\n' ' ')" '7000000 7000000 '
	assert_equal "$(sha256sum <"$D/two")" "$(head -c 7000000 /dev/zero | sha256sum)"
	assert_equal "$(said out 9)" afterwards
}

@test "inputs over several Secrets" {
	mkdir "$D/tree"
	head -c 3000000 /dev/urandom >"$D/tree/data"
	table "tree=$D/tree" step /opt/sbx/probe/probe print done end
	drive 0
	assert_equal "$(said out 1)" done
}

@test "a step finds nothing of the cluster: environment, tokens, root" {
	table step /opt/sbx/probe/probe environ end step /opt/sbx/probe/probe fds end \
		step /opt/sbx/probe/probe cat /var/run/secrets/kubernetes.io/serviceaccount/token end
	drive 0
	assert_equal "$(said out 2)" 'fds 0 1 2'
	assert_equal "$(said out 3)" ''
	refute_contains "$(said out 1)" KUBERNETES
	refute_contains "$(said out 1)" SBX_
	assert_contains "$(said out 1)" HOME=/tmp/home
}

@test "a step writes nothing to the node's disk: its last words are nobody's, and all else that it may write counts as memory" {
	table step /opt/sbx/probe/probe append /dev/termination-log secret-of-the-step end step /opt/sbx/probe/probe cat /dev/termination-log end \
		step /opt/sbx/probe/probe cat /proc/self/mounts end step /opt/sbx/probe/probe write /work/x kept end step /opt/sbx/probe/probe cat /work/x end
	drive 0
	assert_equal "$(frame exit .exit | tr '\n' ' ')" '0 0 0 0 0 '
	assert_equal "$(said out 2)" ''
	assert_equal "$(said out 5)" kept
	# The last mount of a place is what a step sees there.
	assert_contains "$(said out 3 | awk '$2 == "/dev/termination-log"' | tail -n 1)" ' dev '
}

@test "runs whose first act is a forbidden connection (20; SBX_CLUSTER_SHARE takes fewer): none gets through" {
	local i runs
	runs=$(share 20)
	echo "# $runs runs" >&3
	for i in $(seq "$runs"); do
		new_call
		request
		probe_step tcp "${API_SERVER%:*}" "${API_SERVER##*:}"
		drive 0
		assert_equal "$(said out 1)" 'tcp ETIMEDOUT'
	done
}

@test "a destination that the tool may reach, it reaches; the others stay closed" {
	request '.egress = ["kubernetes-api"]'
	table step /opt/sbx/probe/probe tcp "${API_SERVER%:*}" "${API_SERVER##*:}" end step /opt/sbx/probe/probe tcp "${API_SERVER%:*}" 10250 end
	drive 0
	assert_equal "$(said out 1)" 'tcp connected'
	assert_equal "$(said out 2)" 'tcp ETIMEDOUT'
	assert_equal "$(frame hello '.egress.answered | length')" 1
}

@test "the credentials are a file for the step that may have them, and their Secret is gone while it runs" {
	# As sbx-cred writes it: index, length, bytes.
	printf '\0\0\0\0\0\0\0\022secret-of-the-test' >"$D/credentials"
	table step credentials /opt/sbx/probe/probe cat /run/sbx/cred/0 end step /opt/sbx/probe/probe cat /run/sbx/cred/0 end
	drive 0
	assert_equal "$(said out 1)" secret-of-the-test
	refute_contains "$(said out 2)" secret-of-the-test
}

@test "a kubeconfig that has its token from a program: where the settings allow that by its name" {
	local token
	token=$(sed -n 's/.*user: {token: "\(.*\)"}/\1/p' "$SBX_OUT")
	[ -n "$token" ]
	cat >"$D/plugin" <<-PLUGIN
		#!/bin/sh
		echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"$token"}}'
	PLUGIN
	chmod 700 "$D/plugin"
	sed 's|user: {token: .*|user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: give-token, interactiveMode: Never}}|' "$SBX_OUT" >"$D/exec.kubeconfig"
	chmod 600 "$D/exec.kubeconfig"
	request ".settings.kubeconfig = \"$D/exec.kubeconfig\" | .settings.exec = {\"give-token\": \"$D/plugin\"}"
	probe_step print hello
	drive 0
	assert_equal "$(said out 1)" hello
	refute_contains "$(cat "$D/frames")$stderr" "$token"
	new_call
	request ".settings.kubeconfig = \"$D/exec.kubeconfig\""
	drive 78
	assert_equal "$(event failed .code)" kubeconfig
}

@test "a step that stays is ended at the deadline, and the driver waits until its Pod is gone" {
	request '.limits.deadline_ms = 4000'
	probe_step stubborn
	# Its end comes as frames: sbx-entry heard that it is to stop.
	drive 0
	[ -n "$(event deadline .message)" ]
	assert_equal "$(frame exit .signal)" 9
	assert_equal "$(frame end .stopped)" true
	nothing_left
}

@test "a step may end in peace when the run is stopped" {
	probe_step polite left
	kubernetes_script
	"${ARGV[@]}" 3>&- {HOLD}<&- 2>"$D/stderr" &
	local pid=$!
	wait_until 20 grep -q ' step 1 ' "$D/frames"
	echo stop >"$D/control"
	wait "$pid" || true
	frames
	[ -n "$(event stopped .message)" ]
	assert_equal "$(frame exit .exit)" 0
	assert_equal "$(frame end .stopped)" true
	nothing_left
}

@test "nobody enters a sandbox that runs, nor does an administrator; its log can be read" {
	local pods=/api/v1/namespaces/sbx-sandbox/pods pod way
	probe_step polite left
	kubernetes_script
	"${ARGV[@]}" 3>&- {HOLD}<&- 2>"$D/stderr" &
	local pid=$!
	wait_until 20 grep -q ' step 1 ' "$D/frames"
	pod=$(kube get pods --namespace=sbx-sandbox --selector="sbx/call=$CALL" --output='jsonpath={.items[0].metadata.name}')
	for way in 'exec?command=x&stdout=1' 'attach?stdout=1' 'portforward?ports=80' proxy/; do
		run -1 kube create --raw "$pods/$pod/$way" -f /dev/null
		assert_contains "$output" 'a sandbox is not entered'
	done
	run -1 kube patch pod "$pod" --namespace=sbx-sandbox --subresource=ephemeralcontainers --patch '{"spec": {"ephemeralContainers": [{"name": "e",
		"image": "localhost/none:1", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}}'
	assert_contains "$output" 'a sandbox is not entered'
	kube logs "$pod" --namespace=sbx-sandbox | grep -q '^sbx-line '
	echo stop >"$D/control"
	wait "$pid" || true
	frames
	assert_equal "$(frame exit .exit)" 0
}

@test "out of memory is told apart" {
	request '.limits.memory = 16777216 | .limits.workdir = 1048576'
	probe_step eat 600
	drive 1
	assert_equal "$(event failed .code)" out_of_memory
	wait_until 10 nothing_left
}

@test "an image that is not there" {
	admit_image localhost/missing:1
	request '.settings.image = "localhost/missing:1"'
	probe_step print never
	# A changed policy takes a moment to be seen.
	wait_until 20 sees_missing_image
	admit_image "$SBX_IMAGE"
	wait_until 10 nothing_left
}

admit_image() {
	kube patch validatingadmissionpolicy sbx-sandbox --type=json \
		-p "[{\"op\":\"replace\",\"path\":\"/spec/variables/0/expression\",\"value\":\"'$1'\"}]"
}

sees_missing_image() {
	new_call
	request '.settings.image = "localhost/missing:1"'
	drive 78
	[ "$(event failed .code)" = image_missing ]
}

@test "an image that the admission policy does not name" {
	request '.settings.image = "localhost/busybox:1"'
	probe_step print never
	wait_until 20 is_refused
}

is_refused() {
	new_call
	request '.settings.image = "localhost/busybox:1"'
	drive 77
	[ "$(event failed .code)" = cluster_admission ]
}

@test "a Pod that somebody deletes ends in peace, if it is given the time" {
	probe_step stubborn
	kubernetes_script
	"${ARGV[@]}" 3>&- {HOLD}<&- 2>"$D/stderr" &
	local pid=$!
	wait_until 20 grep -q ' step 1 ' "$D/frames"
	kube delete pods --namespace=sbx-sandbox --selector="sbx/call=$CALL" --grace-period=0 --force --wait=false
	wait "$pid" || true
	frames
	[ "$(frame end .stopped)" = true ] || [ -n "$(event lost .code)" ]
	wait_until 10 nothing_left
}

@test "a driver that is killed leaves the Job; --mend removes it, and says so a second time" {
	probe_step stubborn
	kubernetes_script
	"${ARGV[@]}" 3>&- {HOLD}<&- 2>"$D/stderr" &
	local pid=$!
	wait_until 20 grep -q ' step 1 ' "$D/frames"
	kill -KILL "$pid"
	run -1 nothing_left
	jq '{settings: .settings}' "$D/request" >"$D/settings"
	run_sbx 0 bash -c "exec '$SBX_LIBEXEC/sbx-run-kubernetes' --mend $CALL <'$D/settings'"
	wait_until 10 nothing_left
	run_sbx 0 bash -c "exec '$SBX_LIBEXEC/sbx-run-kubernetes' --mend $CALL <'$D/settings'"
}

@test "no policy in the namespace: refused, nothing started" {
	kube delete networkpolicy default-deny --namespace=sbx-sandbox
	probe_step print never
	drive 78
	kube apply -f "$ROOT/cluster/base/network.yaml" >/dev/null
	assert_equal "$(event failed .code)" policy_missing
	wait_until 10 nothing_left
}
