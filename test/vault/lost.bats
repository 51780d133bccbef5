#!/usr/bin/env bats
# The connection ends before and after each request, and the provider is killed at each of them; then it is mended. The server and the cluster are
# real, test/fakes/server-cut stands between.

load ../helpers
load vault

setup_file() { vault_setup_file; }
teardown_file() { vault_teardown_file; }
setup() { vault_setup; }
teardown() { uncut; }

# What a mint asks for, in its order.
steps=(lookup-self /roles/ token/create/ /creds/)

# What makes something is sent once. (libcurl sends a GET again when a connection that was used before ends without a byte.)
asked_once() { # PATH
	local times
	times=$(grep -c "$1" "$C/requests")
	case $1 in
	token/create/ | /creds/) assert_equal "$times" 1 ;;
	*) [ "$times" -ge 1 ] ;;
	esac
}

# mint_cut FAULT STEP: a mint of a lease of its own, whose connection ends there.
mint_cut() {
	LEASE=$(head -c 16 /dev/urandom | xxd -p)
	cut_at "$1" "$2"
	mint 69
	assert_call server_cut
	asked_once "$2"
	uncut
}

@test "the connection ends before the request: nothing was made, and mending says so" {
	for step in "${steps[@]}"; do
		mint_cut cut-before "$step"
		revoke 0 revoked
		nothing_is_live
	done
}

@test "the answer is lost: nothing is asked for twice, and mending finds what was made" {
	for step in "${steps[@]}"; do
		mint_cut cut-after "$step"
		if [ "$step" = token/create/ ]; then assert_equal "$(children | wc -l)" 1; fi
		if [ "$step" = /creds/ ]; then assert_equal "$(leases | wc -l)" 1; fi
		revoke 0 revoked
		wait_until 5 nothing_is_live
	done
}

# killed_at FAULT STEP: the provider is killed while it waits for that answer.
killed_at() {
	local pid
	cut_at "$1" "$2"
	request
	"$V" mint --secret-fd 7 <"$T/request" 7>"$T/fields" >"$T/answer" 2>"$T/errors" 3>&- &
	pid=$!
	wait_until 5 grep -q "$2.* $1" "$C/requests"
	kill -9 "$pid"
	wait "$pid" || true
	assert_equal "$(cat "$T/fields" "$T/answer")" ''
	uncut
}

@test "killed while it waits for each answer: mending leaves nothing live" {
	for step in "${steps[@]}"; do
		for fault in hang-before hang-after; do
			LEASE=$(head -c 16 /dev/urandom | xxd -p)
			killed_at "$fault" "$step"
			revoke 0 revoked
			wait_until 5 nothing_is_live
		done
	done
}

@test "killed while the server mints, its sender gone: mending leaves nothing live" {
	for _ in 1 2 3; do
		LEASE=$(head -c 16 /dev/urandom | xxd -p)
		cut_at drop /creds/
		mint 69
		uncut
		revoke 0 revoked
		wait_until 5 nothing_is_live
	done
}

@test "the answers of the end are lost, or never come: an error that says which, and revoked when it is asked again" {
	for fault in cut-before cut-after hang-before hang-after; do
		for step in leases/revoke leases/lookup revoke-accessor; do
			uncut
			LEASE=$(head -c 16 /dev/urandom | xxd -p)
			mint 0
			cut_at "$fault" "$step"
			request
			run_sbx 69 "$V" revoke <"$T/request"
			case $fault in cut-*) assert_call server_cut ;; *) assert_call server_timeout ;; esac
			uncut
			revoke 0 revoked
			nothing_is_live
		done
	done
}
