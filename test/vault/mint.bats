#!/usr/bin/env bats
# sbx-cred-vault against a real server and a real cluster.

load ../helpers
load vault

setup_file() { vault_setup_file; }
teardown_file() { vault_teardown_file; }
setup() { vault_setup; }

@test "a credential reads pods in its namespace and nothing else; revoked, it is refused and nothing is left" {
	mint 0
	assert_call
	assert_json '[.provider, .lease, .fields[0]] | join(" ")' "vault $LEASE token"
	assert_json '.jti | length' 36
	assert_json '.expires_at | fromdate - now | . > 880 and . < 905' true
	refute_contains "$output$stderr" "$(cat "$T/minted")"
	assert_equal "$(may list pods) $(may get secrets) $(may create pods/exec) $(may list pods --namespace=default)" 'yes no no no'
	assert_equal "$(children | wc -l) $(leases | wc -l) $(accounts | wc -l)" '1 1 2'
	revoke 0 revoked
	assert_json .proof 'lease revoked and looked up as gone; child token revoked'
	local began=$SECONDS
	wait_until 12 refused
	printf '# refused %s s after it was revoked\n' "$((SECONDS - began))" >&3
	nothing_is_live
	assert_equal "$(ls "$T/var/vault")" ''
}

@test "the journal holds no secret, and the child token may do one thing only" {
	mint 0
	refute_contains "$(cat "$T/var/vault/$LEASE")" "$(cat "$T/minted")"
	local text accessor
	text=$(cat "$T/var/vault/$LEASE")
	assert_equal "$(jq -r 'keys | join(" ")' <<<"$text")" 'accessor expires_at made_at vault_lease'
	[[ ! $text =~ s\.[A-Za-z0-9]{24} ]]
	accessor=$(jq -r .accessor <<<"$text")
	output=$(api POST auth/token/lookup-accessor "{\"accessor\":\"$accessor\"}")
	assert_json '.data | [(.policies | join(",")), .explicit_max_ttl, .creation_ttl, .renewable, .orphan, .meta.sbx_call, .meta.sbx_principal] |
		map(tostring) | join(" ")' "sbx-$NS 960 960 false true $CALL agent"
	revoke 0 revoked
}

@test "revoked twice, and never minted: revoked" {
	mint 0
	revoke 0 revoked
	revoke 0 revoked
	assert_json .proof 'nothing is kept of this lease: not minted, or revoked before'
	nothing_is_live
}

@test "a fixed service account cannot be revoked, and that is said" {
	mint 0 '.settings.role = "fixed"'
	run_sbx 0 "$V" revoke <"$T/request"
	assert_json .state expires
	assert_contains "$output" 'the token of a fixed service account lives until 20'
	assert_equal "$(children)$(leases fixed)" ''
	assert_equal "$(may list pods)" yes
}

@test "what the server refuses has its code, and leaves nothing" {
	mint 78 '.settings.role = "nothing"'
	assert_call vault_missing
	mint 77 '.settings.mount = "nothing"'
	assert_call vault_denied
	mint 78 '.settings.policy = "default"'
	assert_call vault_refused
	assert_contains "$output" 'the server says: token policies'
	revoke 0 revoked
	mint 78 '.lifetime_s = 86000'
	assert_call vault_short
	revoke 0 revoked
	mint 78 '.settings.kubernetes_namespace = "default"'
	assert_call vault_refused
	revoke 0 revoked
	mint 69 '.settings.role = "escalate"'
	assert_call vault_failed
	revoke 0 revoked
	nothing_is_live
	assert_equal "$(ls "$T/var/vault")" ''
}
