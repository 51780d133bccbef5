# .ci/rig: what it starts it takes down, however its owner ends; what it did not start it leaves alone; and why there is none it says.

load ../helpers

setup() {
	D=$BATS_TEST_TMPDIR
	export SBX_RIG=$D/rig SBX_RIG_HOME=$D/home
	mkdir -p "$D/rig" "$D/bin"
	command_of kubectl terraform go
	PATH=$D/bin:$PATH
	rig_says build 'exit 0'
	rig_says tf-mirror 'exit 0'
	rig_says up "touch '$D/runs'"
	rig_says down "rm -f '$D/runs'"
	rig_says status "[ -e '$D/runs' ] && echo up || { echo down; exit 1; }"
	rig_says openbao "case \$1 in status) exit 3 ;; up) echo export VAULT_ADDR=https://127.0.0.1:1 VAULT_CACERT=$D/ca VAULT_TOKEN=t ;; esac"
}

teardown() {
	[ -z "${OWNER-}" ] || {
		kill -KILL "$OWNER"
		wait "$OWNER"
	} 2>/dev/null || true
	[ -z "${RIG_PID-}" ] || kill "$RIG_PID" 2>/dev/null || true
}

command_of() {
	local name
	for name in "$@"; do
		printf '#!/bin/sh\n' >"$D/bin/$name"
		chmod +x "$D/bin/$name"
	done
}

# rig_says COMMAND SCRIPT: what the rig's COMMAND does, beside noting that it was called.
rig_says() {
	printf '#!/bin/bash\necho "%s $*" >>"%s"\n%s\n' "$1" "$D/calls" "$2" >"$D/rig/$1"
	chmod +x "$D/rig/$1"
}

# rig: start it for an owner who lives; its settings are in $D/settings once it has said all.
rig() {
	sleep 300 3>&- &
	OWNER=$!
	"$ROOT/.ci/rig" "$OWNER" >"$D/settings" 2>"$D/stderr" 3>&- &
	RIG_PID=$!
}

has_ended() {
	! kill -0 "$RIG_PID" 2>/dev/null
}

calls() {
	grep -v status "$D/calls" | tr -d ' ' | tr '\n' ' '
}

@test "its settings; down when its owner has been killed" {
	rig
	wait_until 10 grep -q VAULT_TOKEN=t "$D/settings"
	assert_contains "$(cat "$D/settings")" "KUBECONFIG=$D/home/run/admin.kubeconfig"
	assert_contains "$(cat "$D/settings")" "SBX_STOP_API=$D/rig/enter pkill -KILL -x kube-apiserver"
	[ -e "$D/runs" ]
	kill -KILL "$OWNER"
	wait_until 10 has_ended
	[ ! -e "$D/runs" ]
	assert_equal "$(calls)" 'build tf-mirror up openbaoup openbaowipe down '
}

@test "down on TERM, while it runs and while it is built" {
	rig
	wait_until 10 grep -q VAULT_TOKEN=t "$D/settings"
	kill "$RIG_PID"
	wait_until 10 has_ended
	[ ! -e "$D/runs" ]
	rm "$D/calls"
	rig_says build "echo \$\$ >'$D/building'; exec sleep 300"
	rig
	wait_until 10 test -s "$D/building"
	kill "$RIG_PID"
	wait_until 10 has_ended
	run -1 kill -0 "$(cat "$D/building")"
	assert_equal "$(calls)" 'build '
}

@test "a start that fails half-way is taken down, and its last words are the reason" {
	rig_says up "touch '$D/runs'; echo 'rig: must be root' >&2; exit 1"
	rig
	wait_until 10 has_ended
	assert_equal "$(cat "$D/settings")" 'not run: cluster: the rig could not be started: rig: must be root'
	[ ! -e "$D/runs" ]
	assert_equal "$(calls)" 'build tf-mirror up down '
}

@test "what cannot be built is said, and nothing is started" {
	rig_says build "echo 'rig: build: kubernetes failed' >&2; exit 1"
	rig
	wait_until 10 has_ended
	assert_equal "$(cat "$D/settings")" 'not run: cluster: the rig could not be built: rig: build: kubernetes failed'
	assert_equal "$(calls)" 'build '
}

@test "a rig that somebody else has started stays as it is" {
	touch "$D/runs"
	rig
	wait_until 10 has_ended
	assert_contains "$(cat "$D/settings")" 'not run: cluster: a rig runs on this machine already'
	[ -e "$D/runs" ]
	[ "$(sort -u "$D/calls")" = 'status ' ]
}

@test "two at once: the second leaves the first its rig" {
	rig
	wait_until 10 grep -q VAULT_TOKEN=t "$D/settings"
	run_sbx 0 "$ROOT/.ci/rig" $$
	assert_equal "$output" 'not run: cluster: other tests have the rig'
	[ -e "$D/runs" ]
}

@test "without a rig, or a program that it needs" {
	SBX_RIG=$D/none run_sbx 0 "$ROOT/.ci/rig" $$
	assert_equal "$output" "not run: cluster: there is no rig at $D/none"
	local name
	mkdir "$D/few"
	for name in dirname readlink mktemp rm timeout; do ln -s "$(command -v $name)" "$D/few/$name"; done
	PATH=$D/few run_sbx 0 "$ROOT/.ci/rig" $$
	assert_equal "$output" 'not run: cluster: kubectl is not installed'
}

@test "an OpenBao that runs already stays; the cluster is there all the same" {
	rig_says openbao 'exit 0'
	rig
	wait_until 10 grep -q '^not run: vault: an OpenBao runs there already' "$D/settings"
	assert_contains "$(cat "$D/settings")" KUBECONFIG=
	kill "$RIG_PID"
	wait_until 10 has_ended
	assert_equal "$(calls)" 'build tf-mirror up down '
}

# ci VARIABLE=VALUE...: .ci/run in a tree where make only notes what it was asked for, and the rig says that there is none.
ci() {
	local tree=$D/tree
	rm -rf "$tree"
	mkdir -p "$tree/.ci" "$tree/scripts" "$tree/bin"
	cp "$ROOT/.ci/run" "$tree/.ci"
	ln -s "$ROOT/test" "$tree/test"
	printf '#!/bin/sh\n' >"$tree/scripts/deps"
	printf '#!/bin/sh\necho "make $*" >>"%s/made"\n' "$tree" >"$tree/bin/make"
	printf '#!/bin/sh\necho rig >>"%s/made"\necho "not run: cluster: none today"\n' "$tree" >"$tree/.ci/rig"
	chmod +x "$tree/scripts/deps" "$tree/bin/make" "$tree/.ci/rig"
	run_sbx 0 env -u KUBECONFIG -u VAULT_ADDR -u SBX_CI_RIG PATH="$tree/bin:$PATH" "$@" "$tree/.ci/run"
	made=$(grep -E 'rig|cluster|credential|vault' "$tree/made" || true)
}

@test "CI starts a rig where it may; says why there is none, and which files it leaves out" {
	ci SBX_CI_RIG=no
	assert_equal "$made" ''
	assert_contains "$output" 'NOT RUN: make test-cluster, make test-credential, make demo-cluster (SBX_CI_RIG=no, and KUBECONFIG leads to none'
	ci
	assert_equal "$made" rig
	assert_contains "$output" 'demo-cluster (none today)'
	ci KUBECONFIG=/x SBX_CONTEXT=c VAULT_ADDR=y
	assert_contains "$made" 'make test-cluster FILES=rbac run'
	assert_contains "$output" 'NOT RUN: of make test-cluster: apply '
	assert_contains "$output" 'NOT RUN: of make test-vault:'
	ci KUBECONFIG=/x SBX_CONTEXT=c VAULT_ADDR=y SBX_CI_RIG=all
	refute_contains "$made" FILES
	refute_contains "$output" 'NOT RUN'
}
