# What the accounts of cluster/ may do: the whole list, so that whatever is not in it is forbidden.

load ../helpers
load cluster

setup_file() { cluster_setup_file; }

# rights ACCOUNT NAMESPACE: "RESOURCE VERBS" lines, without what the cluster gives everybody (reviews of oneself, URLs that are no resource). A line of
# another form (a wildcard, names) stays as it is.
rights() {
	local list=$BATS_TEST_TMPDIR/rights
	kube auth can-i --list --no-headers --namespace="$2" --as="system:serviceaccount:$1" >"$list" 2>/dev/null && [ -s "$list" ] || {
		echo 'no list'
		return
	}
	sed -E '/^selfsubject/d; /^ /d; s/ +\[\] +\[\] +\[(.*)\]$/ \1/' "$list" | sort
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
