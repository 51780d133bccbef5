# scripts/up against a cluster that does not say what it needs to know. What it makes of a real one is in test/cluster.

load ../helpers

# kubectl ANSWER STATUS: the one in PATH answers this to "get endpoints", nothing to the rest, and notes what it was asked.
kubectl() {
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	cat >"$BATS_TEST_TMPDIR/bin/kubectl" <<-KUBECTL
		#!/bin/sh
		echo "\$*" >>'$BATS_TEST_TMPDIR/asked'
		case "\$*" in
		*' get endpoints '*) printf %s '$1'; exit $2 ;;
		*' apply '*) exit 9 ;;
		esac
	KUBECTL
	chmod +x "$BATS_TEST_TMPDIR/bin/kubectl"
	UP=(env -u SBX_EGRESS PATH="$BATS_TEST_TMPDIR/bin:$PATH" SBX_CONTEXT=fake SBX_IMAGE=localhost/x:1 "SBX_OUT=$BATS_TEST_TMPDIR/out")
}

# stands_in NAME SCRIPT: a program in PATH that notes its arguments and then does this.
stands_in() {
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\necho "%s $*" >>"%s/asked"\n%s\n' "$1" "$BATS_TEST_TMPDIR" "$2" >"$BATS_TEST_TMPDIR/bin/$1"
	chmod +x "$BATS_TEST_TMPDIR/bin/$1"
}

# kind_tree: the scripts in a tree whose cluster.yaml takes gVisor from a directory of the test.
kind_tree() {
	local tree=$BATS_TEST_TMPDIR/tree program
	mkdir -p "$tree" "$BATS_TEST_TMPDIR/runsc"
	cp -r "$ROOT/scripts" "$ROOT/cluster" "$tree"
	sed -i "s|/usr/local/bin/\([a-z0-9-]*\), containerPath|$BATS_TEST_TMPDIR/runsc/\1, containerPath|" "$tree/cluster/kind/cluster.yaml"
	for program in runsc containerd-shim-runsc-v1; do
		touch "$BATS_TEST_TMPDIR/runsc/$program"
		chmod +x "$BATS_TEST_TMPDIR/runsc/$program"
	done
	echo 'kind: List' >"$BATS_TEST_TMPDIR/calico.yaml"
	stands_in docker 'exit 0'
	stands_in kind 'exit 0'
	stands_in kubectl 'case "$*" in *kustomize*) exit 9 ;; *" get endpoints "*) printf 192.0.2.1:6443 ;; esac'
	UP=(env -u SBX_CONTEXT -u SBX_EGRESS -u SBX_OVERLAY PATH="$BATS_TEST_TMPDIR/bin:$PATH" SBX_IMAGE=localhost/x:1 SBX_KIND=here
		"SBX_CALICO=$BATS_TEST_TMPDIR/calico.yaml" "$tree/scripts/up")
}

asked() {
	grep -E '^(kind|kubectl)' "$BATS_TEST_TMPDIR/asked" | grep -v 'get clusters' | head -n "$1"
}

@test "a cluster of kind is made, Calico put into it, and then made ready; one that is there is not made again" {
	kind_tree
	run_sbx 9 "${UP[@]}"
	assert_equal "$(asked 5)" "kind create cluster --name here --config cluster/kind/cluster.yaml
kubectl --context=kind-here apply -f $BATS_TEST_TMPDIR/calico.yaml
kubectl --context=kind-here set env daemonset/calico-node --namespace=kube-system FELIX_IPV6SUPPORT=true
kubectl --context=kind-here rollout status daemonset/calico-node --namespace=kube-system --timeout=300s
kubectl --context=kind-here wait nodes --all --for=condition=Ready --timeout=120s"
	grep -q '^kubectl kustomize cluster/kind$' "$BATS_TEST_TMPDIR/asked"
	rm "$BATS_TEST_TMPDIR/asked"
	stands_in kind 'echo other; echo here'
	run_sbx 9 "${UP[@]}"
	assert_contains "$(asked 1)" 'kubectl --context=kind-here apply -f'
}

@test "a cluster of kind that cannot be: a sentence that says why, and nothing further is done" {
	local row
	for row in 'docker:exit 1:no docker daemon' 'kind:case $1 in create) exit 1 ;; esac:kind could not make' 'kubectl:case "$*" in *rollout*) exit 1 ;; esac:Calico does not start'; do
		kind_tree
		stands_in "${row%%:*}" "$(cut -d: -f2 <<<"$row")"
		run_sbx 1 "${UP[@]}"
		assert_contains "$stderr" "${row##*:}"
		run -1 grep -q kustomize "$BATS_TEST_TMPDIR/asked"
		rm "$BATS_TEST_TMPDIR/asked"
	done
	kind_tree
	rm "$BATS_TEST_TMPDIR/runsc/containerd-shim-runsc-v1"
	run_sbx 1 "${UP[@]}"
	assert_contains "$stderr" runsc/containerd-shim-runsc-v1
	kind_tree
	rm "$BATS_TEST_TMPDIR/calico.yaml"
	run_sbx 1 "${UP[@]}"
	assert_contains "$stderr" SBX_CALICO
	kind_tree
	run_sbx 1 "${UP[@]/SBX_KIND=here/SBX_KIND=-x}"
	assert_contains "$stderr" 'SBX_KIND must name the cluster'
	kind_tree
	run_sbx 1 "${UP[@]:0:${#UP[@]}-1}" SBX_CONTEXT=other "${UP[-1]}"
	assert_contains "$stderr" 'are two clusters'
	run -1 grep -q '^kind' "$BATS_TEST_TMPDIR/asked"
}

@test "what is not said, or cannot be asked, is named: up, verify and down" {
	local row
	kubectl 192.0.2.1:6443 0
	row=(env -u SBX_CONTEXT -u SBX_IMAGE -u SBX_KIND -u SBX_OVERLAY PATH="$BATS_TEST_TMPDIR/bin:$PATH" "SBX_OUT=$BATS_TEST_TMPDIR/out")
	run_sbx 1 "${row[@]}" "$ROOT/scripts/verify"
	assert_contains "$stderr" 'SBX_CONTEXT must'
	run_sbx 1 "${row[@]}" SBX_CONTEXT=fake "$ROOT/scripts/verify"
	assert_contains "$stderr" 'SBX_IMAGE must'
	run_sbx 1 "${row[@]}" SBX_CONTEXT=fake SBX_IMAGE=localhost/x:1 "$ROOT/scripts/verify"
	assert_contains "$stderr" "there is no $BATS_TEST_TMPDIR/out"
	run_sbx 1 "${row[@]}" "$ROOT/scripts/down"
	assert_contains "$stderr" 'SBX_CONTEXT must'
	run_sbx 1 "${row[@]}" SBX_CONTEXT=fake SBX_OVERLAY=none "$ROOT/scripts/down"
	assert_contains "$stderr" 'no cluster/none'
	[ ! -e "$BATS_TEST_TMPDIR/asked" ]
	stands_in kubectl 'case "$*" in *" get namespaces "*) echo "error: context \"fake\" does not exist" >&2; exit 1 ;; esac'
	run_sbx 1 "${UP[@]}" "$ROOT/scripts/up"
	assert_contains "$stderr" 'context "fake" does not exist'
	stands_in kubectl 'case "$*" in *" get runtimeclass "*) exit 1 ;; esac'
	run_sbx 1 "${UP[@]}" "$ROOT/scripts/up"
	assert_contains "$stderr" 'no RuntimeClass gvisor'
	# One that is all there gets further: the same stand-in says nothing against it.
	kubectl 192.0.2.1:6443 0
	run_sbx 9 "${UP[@]}" "$ROOT/scripts/up"
}

@test "a cluster that does not say where its API server is: a sentence, and nothing is made" {
	local row
	for row in :1 :0 ::0; do
		rm -f "$BATS_TEST_TMPDIR/asked"
		kubectl "${row%:*}" "${row##*:}"
		run_sbx 1 "${UP[@]}" "$ROOT/scripts/up"
		assert_contains "$stderr" SBX_EGRESS
		run -1 grep -q ' apply ' "$BATS_TEST_TMPDIR/asked"
	done
	# One that does, or whose administrator does, gets further.
	kubectl 192.0.2.1:6443 0
	run_sbx 9 "${UP[@]}" "$ROOT/scripts/up"
	kubectl '' 1
	run_sbx 9 "${UP[@]}" SBX_EGRESS=192.0.2.1:6443 "$ROOT/scripts/up"
}

@test "where the API server is: an address of IPv6 stands in brackets everywhere; what is no address is refused before anything is made" {
	kubectl fd00:10::1:6443 0
	# Settings and policy are made of the same.
	run_sbx 9 "${UP[@]}" "$ROOT/scripts/up"
	local row
	for row in '[fd00:10::1]:6443 fd00:10::1/128 6443' '192.0.2.1:443 192.0.2.1/32 443'; do
		read -r address cidr port <<<"$row"
		run -0 "$ROOT/scripts/cluster-egress" kubernetes-api "$address"
		assert_contains "$output" "cidr: \"$cidr\""
		assert_contains "$output" "port: $port}"
	done
	for row in fd00:10::1:6443 api.example:6443 192.0.2.1 '[192.0.2.1]:443' 192.0.2:443; do
		rm -f "$BATS_TEST_TMPDIR/asked"
		run -64 "$ROOT/scripts/cluster-egress" kubernetes-api "$row"
		run_sbx 1 "${UP[@]}" SBX_EGRESS="$row" "$ROOT/scripts/up"
		assert_contains "$stderr" SBX_EGRESS
		run -1 grep -q ' apply ' "$BATS_TEST_TMPDIR/asked"
	done
}
