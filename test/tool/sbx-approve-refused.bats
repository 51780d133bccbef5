# sbx-approve: every signature that does not count is refused with a code of its own, and the same request then takes one that does.

load ../helpers

setup() {
	fresh_state
	new_signer alice
	new_signer bob
	ssh-keygen -q -t ed25519 -N '' -C mallory -f "$T/mallory"
}

# ask NOTE: a request waits; its id is in $id, its text in $T/text.
ask() {
	sbx-policy apply_true note="$1" 2>/dev/null >"$T/call.json"
	run_sbx "${RC:-75}" sbx-approve <"$T/call.json"
	id=$(member .approval.id <<<"$output")
	sbx-approve show "$id" >"$T/text" 2>/dev/null
}

# signature KEY [FILE [NAMESPACE]]: $T/armor, over the text by default.
signature() {
	ssh-keygen -q -Y sign -n "${3:-sbx-approve@v1}" -f "$T/$1" <"${2:-$T/text}" >"$T/armor" 2>/dev/null
}

# hand_in EXPECTED: what the desk says to $T/armor.
hand_in() {
	run bash -c "{ printf 'accept $id %s\n' \$(stat -c %s '$T/armor'); cat '$T/armor'; } | sbx-approve --desk dana 2>/dev/null 3>&-"
	assert_equal "${output:0:${#1}}" "$1"
}
refused() { hand_in "error $1 77 "; }
accepted() { hand_in "ok 0 $id approved 1/1 $1"; }

# the_line OPTIONS: of alice in the trust file.
the_line() {
	printf 'alice %s %s\n' "$1" "$(cut -d' ' -f1,2 "$T/alice.pub")" >"$T/allowed_signers"
}

at() { # SECONDS FROM NOW
	date -u -d "$1 seconds" +%Y%m%d%H%M%SZ
}

@test "by an unknown key, for another purpose, over another text, over that of another installation" {
	local id other
	ask installation
	cp "$T/text" "$T/theirs"
	sed -i 's/^state: var$/state: var2/' "$T/sbx.yaml"
	ask installation
	signature alice "$T/theirs"
	refused signature_invalid
	signature mallory
	refused signer_unknown
	signature alice "$T/text" file
	refused signature_namespace
	signature alice "$T/text" sbx-approve@v2
	refused signature_namespace
	sed 's/"installation"/"another"/' "$T/text" >"$T/changed"
	signature alice "$T/changed"
	refused signature_invalid
	sed '$s/$/ /' "$T/text" >"$T/changed"
	signature alice "$T/changed"
	refused signature_invalid
	signature alice
	accepted alice
}

@test "by a key that is not valid yet, not any more, or revoked" {
	local id
	ask time
	signature alice
	the_line "valid-after=\"$(at 60)\""
	refused signer_not_valid
	the_line "valid-before=\"$(at -1)\""
	refused signer_not_valid
	the_line 'namespaces="git,file"'
	refused signer_not_valid
	the_line "valid-after=\"$(at -60)\",valid-before=\"$(at 60)\",namespaces=\"git,sbx-approve@v1\""
	cp "$T/alice.pub" "$T/allowed_signers.revoked"
	refused signer_revoked
	cp "$T/bob.pub" "$T/allowed_signers.revoked"
	accepted alice
}

@test "by the requester's own account, where the settings refuse that" {
	local id
	ask account
	signature alice
	sed -i 's/^same_account: .*/same_account: refuse/' "$T/sbx.yaml"
	refused same_account
	sed -i 's/^same_account: .*/same_account: touch/' "$T/sbx.yaml"
	refused touch_required
	sed -i 's/^same_account: .*/same_account: file/' "$T/sbx.yaml"
	accepted alice
}

@test "under another same_account than the text was made for, before it is read and after" {
	local id first
	ask before
	first=$id
	sed -i 's/^same_account: .*/same_account: touch/' "$T/sbx.yaml"
	printf x | "$SBX_BUILD/test/sksign" ed25519 "$T/sk" 1 sbx-approve@v1 >/dev/null
	printf 'sky %s\n' "$(cut -d' ' -f1,2 "$T/sk.pub")" >>"$T/allowed_signers"
	"$SBX_BUILD/test/sksign" ed25519 "$T/sk" 1 sbx-approve@v1 <"$T/text" >"$T/armor"
	refused approval_outdated
	run_sbx 77 sbx-approve sign "$id" --key "$T/alice" </dev/null
	assert_equal "$output" ""
	assert_contains "$stderr" "the settings changed since this was asked: same_account (approval_outdated)"
	assert_contains "$stderr" "sbx-approve deny $id closes it"
	ask after
	sed -i 's/^same_account: .*/same_account: file/' "$T/sbx.yaml"
	signature alice
	refused approval_outdated
	id=$first
	sbx-approve show "$id" >"$T/text" 2>/dev/null
	signature alice
	accepted alice
}

@test "what is known to fail is said before somebody reads the text" {
	local id
	ask early
	unsigned() { # RC OPTIONS SAYS
		run_sbx "$1" sbx-approve sign "$id" --key "$2" </dev/null
		assert_equal "$output" ""
		assert_contains "$stderr" "$3"
	}
	unsigned 66 /nope "there is no key file /nope"
	mv "$T/allowed_signers" "$T/aside"
	unsigned 78 "$T/alice" missing_file
	: >"$T/allowed_signers"
	unsigned 78 "$T/alice" "allowed_signers is empty ($T/allowed_signers)"
	printf 'bob ssh-ed25519 AAA\n' | cat "$T/aside" - >"$T/allowed_signers"
	unsigned 78 "$T/alice" "line 3 of the allowed signers"
	mv "$T/aside" "$T/allowed_signers"
	run_sbx 0 sbx-approve sign "$id" --key "$T/alice" </dev/null
	assert_contains "$output" early
}

@test "by a security key that nobody touched, or with flags that nobody knows" {
	local id flags
	sed -i 's/^same_account: .*/same_account: touch/' "$T/sbx.yaml"
	printf x | "$SBX_BUILD/test/sksign" ed25519 "$T/sk" 1 sbx-approve@v1 >/dev/null
	printf 'sky %s\n' "$(cut -d' ' -f1,2 "$T/sk.pub")" >>"$T/allowed_signers"
	ask touch
	"$SBX_BUILD/test/sksign" ed25519 "$T/sk" 0 sbx-approve@v1 <"$T/text" >"$T/armor"
	refused touch_required
	"$SBX_BUILD/test/sksign" ed25519 "$T/sk" 4 sbx-approve@v1 <"$T/text" >"$T/armor"
	refused touch_required
	"$SBX_BUILD/test/sksign" ed25519 "$T/sk" 65 sbx-approve@v1 <"$T/text" >"$T/armor"
	refused signature_flags
	"$SBX_BUILD/test/sksign" ed25519 "$T/sk" 1 sbx-approve@v1 <"$T/text" >"$T/armor"
	accepted sky
}

@test "twice by one person, and once more after it was used" {
	local id first
	echo 'tiers: {high: {threshold: 2}}' >>"$T/policy/policy.yaml"
	ask twice
	signature alice
	hand_in "ok 0 $id waiting 1/2 alice"
	refused already_signed
	signature bob
	hand_in "ok 0 $id approved 2/2 alice,bob"
	refused approval_not_waiting
	RC=0 ask twice
	refused approval_not_waiting
	# The same call asks again: what was signed was another text.
	first=$id
	ask twice
	[ "$id" != "$first" ]
	refused signature_invalid
	signature bob
	hand_in "ok 0 $id waiting 1/2 bob"
}
