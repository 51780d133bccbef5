# Shared by the bats files about calls as agents make them: an installation with the tools that ship and, for what does not ship, those of
# test/fixtures/calls; namespaces web and destroy-staging, a target dev, the real rules. Wants sealed.bash.

calls_setup() {
	sealed_setup
	cp "$ROOT"/policy/tools/*.yaml "$T/policy/tools/"
	cp "$ROOT"/test/fixtures/calls/tools/*.yaml "$T/policy/tools/"
	rm -r "$T/policy/signals"
	cp -r "$ROOT/policy/signals" "$T/policy/signals"
	# Plans are made and applied by a program of the tests.
	sed -i 's/\[terraform,/[tf,/' "$T/policy/tools/terraform_apply.yaml"
	no_policy_tests
	sed -i -e 's|^programs:|programs:\n  kubectl: {path: /usr/bin/kubectl, env: {KUBERC: "off"}, env_allowed: [KUBECONFIG]}\n  sbx-change-kubernetes: {path: /usr/libexec/sbx/sbx-change-kubernetes, env_allowed: [KUBECONFIG]}|' "$T/policy/policy.yaml"
	sed -n '/^  kubernetes-status:/,/^  # terraform-read/p' "$ROOT/policy/policy.yaml" | sed -e '$d' -e 's/^    namespaces: .*/    namespaces: [web, destroy-staging]/' >"$T/scopes"
	printf '  kubernetes-write: {audience: a, reads_secrets: false}\n' >>"$T/scopes"
	sed -i "/^scopes:/r $T/scopes" "$T/policy/policy.yaml"
	printf 'targets: {dev: {server: "https://127.0.0.1:6443"}}\n' >>"$SBX_CONFIG"
	chmod -R go-w "$T/policy"
}
