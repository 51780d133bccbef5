# Large plans: one of terraform that destroys more than can be shown, and such as are read in little memory.

load ../helpers

setup() { fresh_state; }

@test "a plan that destroys more than can be shown is not kept" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	printf 'resource "terraform_data" "w" {\n  count = 250\n}\n' >"$T/work/envs/staging/main.tf"
	run_sbx 0 sbx-call terraform_plan dir=envs/staging
	run_sbx 0 sbx-call terraform_apply plan="$(member .result.plan.id <<<"$output")"
	echo >"$T/work/envs/staging/main.tf"
	run_sbx 1 sbx-call terraform_plan dir=envs/staging
	assert_json .result.code plan_too_large
	assert_json .result.plan null
	# Fewer can be shown, and are.
	printf 'resource "terraform_data" "w" {\n  count = 100\n}\n' >"$T/work/envs/staging/main.tf"
	run_sbx 0 sbx-call terraform_plan dir=envs/staging
	assert_json .result.findings_total 150
}

@test "a large plan is read in little memory" {
	local size
	ldd "$SBX_BIN/sbx-plan" | grep -q asan && skip "sanitizers need more than this program may have"
	jq -nc '[range(20000) | {address: "module.m[\(.)].t.n", mode: "managed", type: "t", name: "n",
			change: {actions: (if . % 100 == 0 then ["delete"] else ["update"] end), before: {text: ("x" * 300)}, after: {text: ("y" * 300)}}}] as $changes
		| {format_version: "1.2", planned_values: {root_module: {}}, resource_changes: $changes, configuration: {root_module: {}}}' >"$BATS_TEST_TMPDIR/p"
	size=$(stat -c %s "$BATS_TEST_TMPDIR/p")
	[ "$size" -gt 10000000 ]
	run_sbx 0 sh -c 'ulimit -v 60000; exec sbx-plan <"$1"' - "$BATS_TEST_TMPDIR/p"
	assert_json '[.total, (.findings | length), .counts.delete, .counts.update, .safe_total] | join(" ")' "200 200 200 19800 19800"
	assert_json '[.findings[].verdict] | unique | join(" ")' destructive
}

@test "objects of more than a megabyte, and many of them, are read in little memory" {
	ldd "$SBX_BIN/sbx-plan" | grep -q asan && skip "sanitizers need more than this program may have"
	{
		printf '{"live":{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"web","uid":"n"}},"planned":null}\n'
		jq -nc 'range(20000) | {beside: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "c\(.)", namespace: "web", uid: "u\(.)"}, data: {a: ("x" * 200)}}}'
		jq -nc '{beside: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "large", namespace: "web", uid: "l"}, data: {a: ("x" * 1500000)}}}'
		printf '{"beside":null}\n'
	} >"$BATS_TEST_TMPDIR/in"
	run_sbx 0 sh -c 'ulimit -v 60000; exec sbx-plan -f kubernetes <"$1"' - "$BATS_TEST_TMPDIR/in"
	assert_json '[.total, (.findings | length), .counts.delete] | join(" ")' "20002 200 20002"
}

@test "a line that is too long is refused" {
	jq -nc '{live: null, planned: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "a"}, data: {a: ("x" * 9000000)}}}' >"$BATS_TEST_TMPDIR/in"
	run_sbx 65 sh -c 'exec sbx-plan -f kubernetes <"$1"' - "$BATS_TEST_TMPDIR/in"
	assert_json .error.code too_large
}
