# What the accounts of cluster/ may do: the whole list, so that whatever is not in it is forbidden.

load ../helpers
load cluster

setup_file() { cluster_setup_file; }

# rights ACCOUNT NAMESPACE: "RESOURCE VERBS" lines, without what the cluster gives everybody.
rights() {
	kube auth can-i --list --no-headers --namespace="$2" --as="system:serviceaccount:$1" 2>/dev/null |
		sed -nE 's/^([a-z][a-z0-9./]*) +\[\] +\[\] +\[(.*)\]$/\1 \2/p' | grep -v '^selfsubject' | sort
}

@test "the driver may do what it does, in the sandboxes' namespace alone" {
	assert_equal "$(rights sbx-system:sbx-driver sbx-sandbox)" \
		'events list
jobs.batch create get list delete
networkpolicies.networking.k8s.io list
pods list watch delete
pods/log get
secrets create delete'
	assert_equal "$(rights sbx-system:sbx-driver sbx-system)" ''
	assert_equal "$(rights sbx-system:sbx-driver default)" ''
}

@test "the sandboxes' own account may do nothing" {
	assert_equal "$(rights sbx-sandbox:sandbox sbx-sandbox)" ''
	assert_equal "$(rights sbx-sandbox:sandbox default)" ''
}
