#!/usr/bin/env bats
# sbx-witness alone, where an API server does what a real one does not on demand.

load ../helpers
load ../fake-server

setup_file() {
	export A=$BATS_FILE_TMPDIR/api
	fake_server "$A" witness-api
}

teardown_file() { fake_server_end "$A"; }

setup() {
	W=$SBX_LIBEXEC/sbx-witness
	D=$BATS_TEST_TMPDIR
	printf 'a-token-of-some-length' >"$D/token"
	: >"$A/requests"
	mkfifo "$D/in"
	status 200
}

status() {
	printf '%s' "$1" >"$A/status.new"
	mv "$A/status.new" "$A/status"
}

request() { # [FILTER]
	printf '{"server":"https://127.0.0.1:%s","ca_file":"%s","namespace":"web","permissions":["pods:get"],"wait_ms":700}' "$(cat "$A/port")" "$A/tls.crt" | jq -c "${1:-.}"
}

# begin [FILTER]: it has asked once; the descriptor 8 is its standard input.
begin() {
	"$W" --token-fd 7 <"$D/in" >"$D/out" 2>"$D/err" 7<"$D/token" 3>&- &
	PID=$!
	exec 8>"$D/in"
	request "${1:-.}" >&8
	wait_until 5 test -s "$D/out"
}

end() { # RC
	exec 8>&-
	local got=0
	wait "$PID" || got=$?
	assert_equal "$got" "$1"
}

@test "taken, then refused: one line before, one after" {
	local refusal
	for refusal in 401 403; do
		status 404
		: >"$A/requests"
		begin
		assert_equal "$(cat "$D/out")" '{"status":404}'
		status $refusal
		end 0
		assert_equal "$(tail -n 1 "$D/out")" "{\"status\":$refusal}"
		assert_equal "$(cut -d' ' -f2 "$A/requests" | sort -u)" /api/v1/namespaces/web/pods/sbx-witness
	done
}

@test "it asks until it is refused, and no longer than it may" {
	begin '.wait_ms = 10000'
	exec 8>&-
	wait_until 5 asked 4
	status 500
	status 401
	end 0
	assert_equal "$(tail -n 1 "$D/out")" '{"status":401}'
	status 200
	begin
	end 0
	assert_equal "$(tail -n 1 "$D/out")" '{"status":200}'
	status 200
	begin
	status 503
	end 0
	assert_equal "$(tail -n 1 "$D/out")" '{"status":503}'
}

@test "an answer from the beginning says nothing of the end" {
	begin '.wait_ms = 7000'
	exec 8>&-
	wait_until 5 asked 3
	status hang
	end 0
	assert_equal "$(tail -n 1 "$D/out")" '{"code":"server_timeout","status":0}'
}

asked() {
	[ "$(wc -l <"$A/requests")" -ge "$1" ]
}

@test "what it asks: the first permission that gets or lists, names alone, the version that the group has" {
	begin '.permissions = ["pods:delete", "pods/exec:get", "deployments.apps:list", "pods:get"]'
	end 0
	assert_equal "$(head -n 2 "$A/requests" | cut -d' ' -f2 | paste -sd' ')" '/apis/apps /apis/apps/v1/namespaces/web/deployments?limit=1'
	: >"$A/requests"
	begin '.permissions = ["pods/log:get"]'
	end 0
	assert_equal "$(head -n 1 "$A/requests" | cut -d' ' -f2)" /api/v1/namespaces/web/pods/sbx-witness/log
}

@test "refused before it was revoked, no answer, no server: one line that says so, and the end" {
	status 403
	begin
	end 0
	assert_equal "$(cat "$D/out")" '{"status":403}'
	status cut
	begin
	end 0
	assert_equal "$(cat "$D/out")" '{"code":"server_cut","status":0}'
	status hang
	begin
	end 0
	assert_equal "$(cat "$D/out")" '{"code":"server_timeout","status":0}'
	status 200
	begin '.server = "https://127.0.0.1:1"'
	end 0
	assert_equal "$(cat "$D/out")" '{"code":"server_unreachable","status":0}'
	begin 'del(.ca_file)'
	end 0
	assert_equal "$(cat "$D/out")" '{"code":"server_not_trusted","status":0}'
	begin '.server = "http://127.0.0.1"'
	end 0
	assert_equal "$(cat "$D/out")" '{"code":"bad_server","status":0}'
	begin '.permissions = ["pods:delete"]'
	end 0
	assert_equal "$(cat "$D/out")" '{"code":"bad_request","status":0}'
}

@test "nobody reads what it says: it ends" {
	"$W" --token-fd 7 < <(request '.wait_ms = 60000'; sleep 0.5) 2>"$D/err" 7<"$D/token" 3>&- | head -n 1 >"$D/out"
	assert_equal "$(cat "$D/out")" '{"status":200}'
	wait_until 5 no_witness
}
no_witness() {
	[ -z "$(pgrep -s 0 -x sbx-witness)" ]
}

@test "usage, requests" {
	run_sbx 0 "$W" --help
	assert_contains "$output" 'usage: sbx-witness'
	run_sbx 0 "$W" --version
	for word in --help --version; do
		run bash -c '"$1" "$2" >/dev/full' - "$W" $word
		assert_equal "$status" 74
	done
	run_sbx 64 "$W"
	run_sbx 64 "$W" --token-fd 1
	run_sbx 64 "$W" --token-fd 7 more
	run_sbx 64 "$W" --other
	local line
	for line in '' '{' '[]' '{"wait_ms":"1"}' '{"wait_ms":60001}' '{"a":1,"a":1}'; do
		run_sbx 65 bash -c '"$1" --token-fd 7 7<"$2" <<<"$3"' - "$W" "$D/token" "$line"
		assert_equal "$output" ''
	done
	run_sbx 74 bash -c '"$1" --token-fd 7 7<"$2" >/dev/full < <(echo "$3")' - "$W" "$D/token" "$(request)"
}
