# No record, no action.

load ../helpers

setup() {
	fresh_state
}

@test "a full disk refuses the action; room again lets it through" {
	[ "$(id -u)" -eq 0 ] || skip 'mounts a small file system: needs root'
	mkdir -p "$T/var"
	run_sbx 0 unshare -m bash -c '
		mount -t tmpfs -o size=3m,mode=700 sbx-test "$T/var" || exit 90
		sbx-call true >"$T/first" || exit 91
		dd if=/dev/zero of="$T/var/filler" bs=4k 2>/dev/null
		sbx-call true >"$T/full" 2>/dev/null
		echo "full: $?"
		grep -c sandbox.started "$T/var/audit.jsonl"
		rm "$T/var/filler"
		sbx-call true >"$T/again" || exit 92
		grep -c sandbox.started "$T/var/audit.jsonl"
		sbx-audit verify >/dev/null || exit 93'
	refute_contains "$output" 'full: 0'
	assert_equal "$(tail -n 2 <<<"$output" | tr '\n' ' ')" '1 2 '
	output=$(cat "$T/full")
	assert_call
	assert_json '.result.state' null
}

@test "a record of the wrong owner or mode refuses the action" {
	run_sbx 0 sbx-call true
	chmod 666 "$T/var/audit.jsonl"
	run_sbx 78 sbx-call true
	assert_call audit_unsafe
	chmod 600 "$T/var/audit.jsonl"
	if [ "$(id -u)" -eq 0 ]; then
		chown 1234 "$T/var/audit.jsonl"
		run_sbx 78 sbx-call true
		assert_call audit_unsafe
		chown 0 "$T/var/audit.jsonl"
	fi
	run_sbx 0 sbx-call true
	assert_equal "$(grep -c sandbox.started "$T/var/audit.jsonl")" 2
}

@test "a read-only record refuses the action" {
	[ "$(id -u)" -eq 0 ] || skip 'mounts a file read-only: needs root'
	run_sbx 0 sbx-call true
	run_sbx 0 unshare -m bash -c '
		mount --bind "$T/var/audit.jsonl" "$T/var/audit.jsonl" && mount -o remount,ro,bind "$T/var/audit.jsonl" || exit 90
		sbx-call true >"$T/out" 2>/dev/null
		echo "status: $?"'
	assert_equal "$output" 'status: 74'
	output=$(cat "$T/out")
	assert_call audit_unavailable
	assert_equal "$(grep -c sandbox.started "$T/var/audit.jsonl")" 1
}
