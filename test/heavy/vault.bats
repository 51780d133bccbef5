#!/usr/bin/env bats
# sbx-cred-vault and a server for which it has to wait.

load ../helpers
load ../vault-fake

setup_file() { fake_vault_setup_file; }
teardown_file() { fake_vault_teardown_file; }
setup() { fake_vault_setup; }

@test "a server that cannot do it now is given up in time" {
	local step
	for step in self child creds; do
		server "$step-noleader"
		mint 69
		assert_call vault_standby
		server "$step-busy-once"
		mint 0
	done
	server creds-noleader
	mint 69
	[ "$(asked kubernetes/creds)" -gt 2 ]
}

@test "a server that says nothing is given up before sbx-cred gives us up" {
	server creds-hang
	local began=$SECONDS
	mint 69
	assert_call server_timeout
	[ $((SECONDS - began)) -le 10 ]
	assert_equal "$(asked kubernetes/creds)" 1
}

@test "a lease that does not go is deferred, with the child token revoked; then mended" {
	server revoke-lies lookup-never
	mint 0
	revoke 0
	assert_json .state deferred
	assert_equal "$(asked auth/token/revoke-accessor)" 1
	[ -s "$T/var/vault/$LEASE" ]
	mv "$T/var/vault" "$T/kept"
	server
	mv "$T/kept" "$T/var/vault"
	revoke 0
	assert_json .state revoked
	[ ! -e "$T/var/vault/$LEASE" ]
}
