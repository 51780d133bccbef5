# sbx-approve: several people, whose keys are whose, and which of them count.

load ../helpers

setup() {
	fresh_state
	new_signer alice
}

# two_of: tier high needs two people; key files count.
two_of() {
	echo 'tiers: {high: {threshold: 2}}' >>"$T/policy/policy.yaml"
	new_signer bob
}

# ask [NAME=VALUE...]: a call that needs an approval, through the filter; its object is in $output.
ask() {
	sbx-policy apply_true "$@" 2>/dev/null >"$T/call.json"
	run_sbx "${RC:-75}" sbx-approve <"$T/call.json"
}

ask_id() {
	printf '%s' "$output" | member .approval.id
}

sign() { # ID KEY
	run_sbx "${RC:-0}" sbx-approve sign "$1" --key "$T/$2" </dev/null
}

events() {
	jq -r 'select(.event | startswith("approval.")) | .event' "$T/var/audit.jsonl" | paste -sd' '
}

# security_key NAME: a security key in software, and its line in the trust file.
security_key() {
	printf 'x' | "$SBX_BUILD/test/sksign" ed25519 "$T/$1" 1 sbx-approve@v1 >/dev/null
	printf '%s namespaces="sbx-approve@v1" %s\n' "$1" "$(cut -d' ' -f1,2 "$T/$1.pub")" >>"$T/allowed_signers"
}

# touch_key ID NAME FLAGS COUNTER: what the desk says to a signature by that key.
touch_key() {
	printf 'show %s\n' "$1" | sbx-approve --desk dana | tail -n +2 |
		"$SBX_BUILD/test/sksign" ed25519 "$T/$2" "$3" sbx-approve@v1 "$4" >"$T/armor"
	{
		printf 'accept %s %s\n' "$1" "$(stat -c %s "$T/armor")"
		cat "$T/armor"
	} | sbx-approve --desk dana 2>/dev/null || true
}

@test "two people: waiting after one, approved after two, and the text stays the same" {
	two_of
	ask note=two
	assert_json .approval.needed 2
	local id text
	id=$(ask_id)
	text=$(sbx-approve show "$id" 2>/dev/null)
	assert_contains "$text" "Needs the signatures of 2 people"
	sign "$id" alice
	assert_contains "$stderr" "$id is waiting: 1 of 2 people have signed: alice"
	ask note=two
	assert_equal "$(ask_id)" "$id"
	assert_json '.approval.signers | join(" ")' alice
	run_sbx 0 sbx-approve list
	assert_contains "$output" "signed 1/2 by alice why \"tier high needs an approval"
	RC=77 sign "$id" alice
	assert_contains "$stderr" already_signed
	assert_equal "$(sbx-approve show "$id" 2>/dev/null)" "$text"
	sign "$id" bob
	assert_contains "$stderr" "$id is approved by alice,bob"
	RC=0 ask note=two
	assert_json '.approval.signers | join(" ")' "alice bob"
	assert_equal "$(events)" "approval.requested approval.signed approval.granted approval.claimed"
	run_sbx 0 sbx-approve show "$id"
	assert_contains "$stderr" "$id is claimed by alice,bob"
}

@test "two people who sign at the same moment both count" {
	two_of
	ask note=together
	local id
	id=$(ask_id)
	sbx-approve sign "$id" --key "$T/alice" </dev/null 2>"$T/err1" 3>&- &
	local first=$!
	sbx-approve sign "$id" --key "$T/bob" </dev/null 2>"$T/err2" 3>&- &
	wait "$!"
	wait "$first"
	RC=0 ask note=together
	assert_json '.approval.signers | sort | join(" ")' "alice bob"
}

@test "one deny ends it, whoever has signed" {
	two_of
	ask note=deny
	local id
	id=$(ask_id)
	sign "$id" alice
	run_sbx 0 sbx-approve deny "$id"
	RC=77 sign "$id" bob
	assert_contains "$stderr" approval_not_waiting
}

@test "two keys of one person are one person" {
	two_of
	new_signer laptop
	printf 'people:\n  alice: {signers: [alice, laptop]}\n  bob: {signers: [bob]}\n' >"$T/policy/approvers.yaml"
	ask note=keys
	local id
	id=$(ask_id)
	sign "$id" laptop
	assert_contains "$stderr" "1 of 2 people have signed: alice"
	RC=77 sign "$id" alice
	assert_contains "$stderr" already_signed
	sign "$id" bob
	RC=0 ask note=keys
	assert_json '.approval.signers | join(" ")' "laptop bob"
}

@test "a signer whom approvers.yaml gives to nobody does not count" {
	two_of
	echo 'people: {alice: {signers: [alice]}}' >"$T/policy/approvers.yaml"
	ask note=nobody
	local id
	id=$(ask_id)
	RC=77 sign "$id" bob
	assert_contains "$stderr" signer_nobody
	sign "$id" alice
}

@test "approvers.yaml is checked like the trust file" {
	ask note=file
	local id
	id=$(ask_id)
	echo 'people: {alice: {signers: [alice]}, bob: {signers: [alice]}}' >"$T/policy/approvers.yaml"
	RC=78 sign "$id" alice
	assert_contains "$stderr" approvers_invalid
	RC=78 ask note=file
	assert_call approvers_invalid
	echo 'people: {alice: {signers: [alice]}}' >"$T/policy/approvers.yaml"
	chmod 666 "$T/policy/approvers.yaml"
	RC=78 sign "$id" alice
	assert_contains "$stderr" unsafe_file
	chmod 644 "$T/policy/approvers.yaml"
	RC=0 sign "$id" alice
	echo 'approvers: elsewhere.yaml' >>"$T/sbx.yaml"
	RC=78 ask note=file
	assert_call missing_file
}

@test "a key that was revoked, or taken out of the trust file, after it signed does not count" {
	two_of
	ask note=revoked
	local id
	id=$(ask_id)
	sign "$id" alice
	sign "$id" bob
	cp "$T/bob.pub" "$T/allowed_signers.revoked"
	RC=77 ask note=revoked
	assert_call signer_revoked
	rm "$T/allowed_signers.revoked"
	sed -i '/^bob /d' "$T/allowed_signers"
	RC=77 ask note=revoked
	assert_call signer_unknown
	printf 'bob namespaces="sbx-approve@v1" %s\n' "$(cut -d' ' -f1,2 "$T/bob.pub")" >>"$T/allowed_signers"
	RC=0 ask note=revoked
}

@test "critical: two people, by security keys that check who touches them" {
	add_tool guarded
	security_key ann
	security_key ben
	sbx-policy guarded word=a-rather-long-and-longer 2>/dev/null >"$T/call.json"
	assert_equal "$(jq -c .policy.approval "$T/call.json")" '{"threshold":2,"ttl_s":1800,"user_verification":true}'
	run_sbx 75 sbx-approve <"$T/call.json"
	local id
	id=$(ask_id)
	assert_contains "$(sbx-approve show "$id" 2>/dev/null)" \
		"Needs the signatures of 2 people, each by a security key that checks who touches it"
	RC=77 sign "$id" alice
	assert_contains "$stderr" user_verification_required
	assert_contains "$(touch_key "$id" ann 1 8)" "error user_verification_required 77 "
	assert_equal "$(touch_key "$id" ann 5 9)" "ok 0 $id waiting 1/2 ann"
	assert_equal "$(touch_key "$id" ben 5 9)" "ok 0 $id approved 2/2 ann,ben"
	sbx-policy guarded word=a-rather-long-and-longer 2>/dev/null >"$T/call.json"
	run_sbx 0 sbx-approve <"$T/call.json"
	assert_json .approval.state claimed
}

@test "a security key's counter grows from one signature to the next" {
	security_key ann
	ask note=one
	assert_equal "$(touch_key "$(ask_id)" ann 1 20)" "ok 0 $(ask_id) approved 1/1 ann"
	ask note=two
	assert_contains "$(touch_key "$(ask_id)" ann 1 20)" "error signature_counter 77 "
	assert_contains "$(touch_key "$(ask_id)" ann 1 0)" "error signature_counter 77 "
	assert_equal "$(touch_key "$(ask_id)" ann 1 21)" "ok 0 $(ask_id) approved 1/1 ann"
	# What was accepted is checked again at the claim, with the counter that it has.
	RC=0 ask note=one
	RC=0 ask note=two
	# A key that never counts is none that stands still.
	security_key bea
	for note in three four; do
		ask "note=$note"
		assert_equal "$(touch_key "$(ask_id)" bea 1 0)" "ok 0 $(ask_id) approved 1/1 bea"
	done
}

@test "a database of an older version is refused in a sentence" {
	ask note=old
	sqlite3 "$T/var/approvals.db" 'PRAGMA user_version = 1'
	RC=78 ask note=old
	assert_call store_unknown
	assert_contains "$output" "move it away"
}

# genuine ID: an edited row gets the MAC that goes with it, as only sbx-approve would write it.
genuine() {
	local key
	key=$(xxd -p -c 64 "$T/var/seal.key")
	sqlite3 "$T/var/approvals.db" "WITH text (i, v) AS (SELECT 1, 'sbx-approval/1' UNION SELECT 2, '$(cat "$T/var/installation")' UNION
		SELECT 3, id FROM approval WHERE id = '$1' UNION SELECT 4, asked_by FROM approval WHERE id = '$1' UNION
		SELECT 5, tool FROM approval WHERE id = '$1' UNION SELECT 6, tier FROM approval WHERE id = '$1' UNION
		SELECT 7, boot FROM approval WHERE id = '$1' UNION SELECT 8, why FROM approval WHERE id = '$1' UNION
		SELECT 9, lost FROM approval WHERE id = '$1' ORDER BY 1)
		SELECT group_concat(printf('%08x', length(CAST(v AS BLOB))) || hex(v), '') FROM text;
		SELECT printf('%016x%016x%016x', booted, threshold, user_verification) FROM approval WHERE id = '$1'" |
		xxd -r -p | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -r >"$T/mac"
	sqlite3 "$T/var/approvals.db" "UPDATE approval SET mac = '$(cut -d' ' -f1 "$T/mac")' WHERE id = '$1'"
}

@test "what is lost is typed by its address, then the code of the text" {
	ask note=lost
	local id code
	id=$(ask_id)
	code=$(printf '%s' "$output" | jq -r '.approval.text_sha256' | xxd -r -p | base32 | cut -c1-8)
	sqlite3 "$T/var/approvals.db" "UPDATE approval SET lost = 'terraform_data.db[\\\"a b\\\"]'"
	run_sbx 77 sbx-approve sign "$id" --key "$T/alice" </dev/null
	assert_contains "$stderr" approval_edited
	genuine "$id"
	typed() { # LINES...
		run bash -c "printf '%s\n' \"\$@\" | timeout 20 script -qec 'stty rows 300 cols 200; sbx-approve sign $id --key $T/alice' /dev/null 3>&-" typed "$@"
	}
	typed "$code"
	assert_equal "$status" 1
	assert_contains "$output" 'Type the address terraform_data.db[\"a b\"], '
	assert_contains "$output" not_signed
	typed 'terraform_data.db[\"a b\"]' wrong
	assert_equal "$status" 1
	assert_contains "$output" "To sign this text type $code, "
	typed 'terraform_data.db[\"a b\"]' "$code"
	assert_equal "$status" 0
	assert_contains "$output" "$id is approved by alice"
}

@test "export: others check it with ssh-keygen and sha256sum, and verify does both" {
	two_of
	ask note=export
	local id text name
	id=$(ask_id)
	text=$(printf '%s' "$output" | member .approval.text_sha256)
	run_sbx 66 sbx-approve export "$id" "$T/out"
	assert_contains "$stderr" nothing_signed
	[ ! -e "$T/out" ]
	sign "$id" alice
	run_sbx 0 sbx-approve export "$id" "$T/half"
	sign "$id" bob
	run_sbx 0 sbx-approve export "${id:0:8}" "$T/out"
	assert_equal "$(ls "$T/out" | paste -sd' ')" "1.sig 2.sig README allowed_signers text"
	assert_contains "$(cat "$T/out/README")" "$text"
	# Its README is followed to the letter, by somebody who has nothing else.
	cd "$T/out"
	grep -E '^  (sha256sum|ssh-keygen) ' README >"$T/commands"
	assert_equal "$(wc -l <"$T/commands")" 3
	run_sbx 0 env -i PATH=/usr/bin:/bin bash -e "$T/commands"
	cd - >/dev/null
	assert_equal "${lines[0]}" "$(sed -n 's/^  \([0-9a-f]\{64\}\),$/\1/p' "$T/out/README")  text"
	assert_equal "${lines[0]}" "$text  text"
	assert_equal "$(grep -c '^Good ' <<<"$output")" 2
	run_sbx 0 sbx-approve verify "$T/out"
	assert_contains "$output" "text SHA-256 $text"
	assert_contains "$output" "signed by bob with a key file, key $(ssh-keygen -lf "$T/bob.pub" | cut -d' ' -f2)"
	assert_contains "$output" "2 of the 2 people"
	run_sbx 77 sbx-approve verify "$T/half"
	assert_contains "$stderr" approval_incomplete
	run_sbx 73 sbx-approve export "$id" "$T/out"
	assert_contains "$stderr" "cannot make the directory $T/out: File exists"
	assert_contains "$stderr" cannot_create
}

@test "verify: no byte of an approval's files can be another one" {
	two_of
	ask note=tamper
	local id
	id=$(ask_id)
	sign "$id" alice
	sign "$id" bob
	run_sbx 0 sbx-approve export "$id" "$T/out"
	# refused CODE FILE: it is another one than in $T/kept, and refused; as it was, it is not.
	refused() {
		if cmp -s "$T/kept" "$T/out/$2"; then
			echo "nothing was changed: $1"
			return 1
		fi
		run --separate-stderr sbx-approve verify "$T/out" 3>&-
		cp "$T/kept" "$T/out/$2"
		if [ "$status" -eq 0 ] || [ "$status" -ge 128 ]; then
			echo "status $status"
			return 1
		fi
		assert_contains "$stderr" "($1)"
	}
	changed() { # CODE FILE SED...
		cp "$T/out/$2" "$T/kept"
		sed -i "${@:3}" "$T/out/$2"
		refused "$1" "$2"
	}
	# armored CODE FROM TO: the first FROM of the bytes in the armor of 1.sig, both in hexadecimal digits and FROM a
	# pattern: a key and a signature have line feeds among their bytes now and then, where sed's lines would end.
	armored() {
		cp "$T/out/1.sig" "$T/kept"
		{
			head -n 1 "$T/kept"
			sed '1d;$d' "$T/kept" | base64 -d | basenc --base16 -w 0 | sed "s/$2/$3/" | basenc --base16 -d | base64 -w 70
			tail -n 1 "$T/kept"
		} >"$T/out/1.sig"
		refused "$1" 1.sig
	}
	hex() {
		printf %s "$1" | basenc --base16 -w 0
	}
	local edit
	# A letter, a digit, a quote, a blank, line feeds, a carriage return, a line more, one less, and how many must sign.
	for edit in 's/^Installation/installation/' 's/^Request 1,/Request 2,/' "s/\"tamper\"/'tamper'/" 's/, id /,  id /' '/^$/d' '1s/$/\r/' '$a more' '$d' \
		's/2 people/1 person/' 's/"tamper"/"Tamper"/'; do
		changed signature_invalid text "$edit"
	done
	for edit in '1s/BEGIN/BEGEN/' '2s/./!/10' '2s/$/ /' '$d' '$a more' '2d'; do
		changed signature_malformed 1.sig "$edit"
	done
	armored signature_malformed "^$(hex SSHSIG)" "$(hex SSHSIH)"
	armored signature_malformed "^$(hex SSHSIG)00000001" "$(hex SSHSIG)00000002"
	armored signature_namespace "$(hex sbx-approve@v1)" "$(hex sbx-approve@v2)"
	armored signature_malformed "$(hex sha512)" "$(hex sha513)"
	armored key_type_refused "$(hex ssh-ed25519)" "$(hex ssh-ed25518)"
	armored signer_unknown "$(hex ssh-ed25519)00000020...." "$(hex ssh-ed25519)00000020$(hex AA)"
	armored signature_invalid '......$' 010200
	changed signer_unknown allowed_signers 1d
	changed signers_invalid allowed_signers '1s/AAAA/AAAB/'
	changed signers_invalid allowed_signers '1s/$/=/'
	changed signers_invalid allowed_signers '1s/namespaces=/cert-authority,namespaces=/'
	changed signer_not_valid allowed_signers '1s/@v1/@v2/'
	changed signer_not_valid allowed_signers '1s/namespaces=/valid-before="20200101Z",namespaces=/'
	# One signature twice is one person, and one that is missing is missing.
	mv "$T/out/2.sig" "$T/second"
	run_sbx 77 sbx-approve verify "$T/out"
	assert_contains "$stderr" approval_incomplete
	cp "$T/out/1.sig" "$T/out/2.sig"
	run_sbx 77 sbx-approve verify "$T/out"
	assert_contains "$stderr" approval_incomplete
	mv "$T/second" "$T/out/2.sig"
	run_sbx 0 sbx-approve verify "$T/out"
}

@test "verify: a text with its signature beside it, by the keys that the settings trust" {
	ask note=verify
	local id
	id=$(ask_id)
	sbx-approve show "$id" >"$T/text" 2>/dev/null
	ssh-keygen -q -Y sign -n sbx-approve@v1 -f "$T/alice" "$T/text" 2>/dev/null
	run_sbx 0 sbx-approve verify "$T/text"
	assert_contains "$output" "signed by alice"
	: >"$T/allowed_signers"
	run_sbx 77 sbx-approve verify "$T/text"
	assert_contains "$stderr" signer_unknown
	run_sbx 66 sbx-approve verify "$T/none"
	assert_contains "$stderr" missing_file
	run_sbx 66 sbx-approve verify "$T/work"
	assert_contains "$stderr" missing_file
	printf 'alice %s\n' "$(cut -d' ' -f1,2 "$T/alice.pub")" >"$T/allowed_signers"
	run bash -c "sbx-approve verify '$T/text' >/dev/full 2>/dev/null 3>&-"
	assert_equal "$status" 74
}

@test "a desk's export cannot choose where it is written" {
	printf '#!/bin/sh\nread -r line\nprintf "ok 13 - - 0/0 -\\n../x 5\\nhello\\n"\n' >"$T/reach"
	chmod 755 "$T/reach"
	echo "desk: [$T/reach]" >>"$T/sbx.yaml"
	run_sbx 76 sbx-approve export 123456 "$T/out"
	assert_contains "$stderr" bad_export
	[ ! -e "$T/x" ]
}

@test "deny says why" {
	ask note=why
	local id
	id=$(ask_id)
	run_sbx 0 sbx-approve deny "$id" --reason "not on a Friday"
	assert_equal "$(sqlite3 "$T/var/approvals.db" 'SELECT reason FROM approval')" "not on a Friday"
	run_sbx 64 sbx-approve deny "$id" word --reason text
	run_sbx 64 sbx-approve list --reason text
	run_sbx 64 sbx-approve --reason text </dev/null
}

@test "a call whose outcome nobody knows is not repeated before a person says so" {
	ask note=unknown
	local id call
	id=$(ask_id)
	run_sbx 77 sbx-approve resolve "$id"
	assert_contains "$stderr" nothing_to_resolve
	sign "$id" alice
	RC=0 ask note=unknown
	call=$(printf '%s' "$output" | member .call.id)
	# sbx-run has had it, and died.
	: >"$T/var/runs/$call/run"
	chmod 600 "$T/var/runs/$call/run"
	RC=77 ask note=unknown
	assert_call outcome_unknown
	assert_contains "$output" "sbx-approve resolve $id"
	ask note=other
	run_sbx 0 sbx-approve resolve "$id"
	assert_contains "$stderr" "$id is resolved"
	assert_equal "$(jq -r 'select(.event == "approval.resolved") | .request_id' "$T/var/audit.jsonl")" "$call"
	run_sbx 77 sbx-approve resolve "$id"
	assert_contains "$stderr" nothing_to_resolve
	ask note=unknown
	[ "$(ask_id)" != "$id" ]
}

@test "a call whose outcome is known can be asked for again" {
	sbx-policy cred_apply 2>/dev/null >"$T/call.json"
	run_sbx 75 sbx-approve <"$T/call.json"
	local id
	id=$(ask_id)
	sign "$id" alice
	run_sbx 0 bash -c "sbx-policy cred_apply 2>/dev/null | sbx-approve 2>/dev/null | sbx-cred sbx-run 2>/dev/null | sbx-audit"
	assert_json .result.state completed
	sbx-policy cred_apply 2>/dev/null >"$T/call.json"
	run_sbx 75 sbx-approve <"$T/call.json"
	[ "$(ask_id)" != "$id" ]
	run_sbx 77 sbx-approve resolve "$id"
	assert_contains "$stderr" nothing_to_resolve
}

@test "enrol prints the trust line of a security key, and of no other" {
	printf 'x' | "$SBX_BUILD/test/sksign" ed25519 "$T/sk" 1 sbx-approve@v1 >/dev/null
	run_sbx 0 sbx-approve enrol carol --key "$T/sk"
	assert_equal "$output" "carol namespaces=\"sbx-approve@v1\" $(cut -d' ' -f1,2 "$T/sk.pub")"
	printf '%s\n' "$output" >>"$T/allowed_signers"
	ask note=enrolled
	assert_equal "$(touch_key "$(ask_id)" sk 1 30)" "ok 0 $(ask_id) approved 1/1 carol"
	run_sbx 65 sbx-approve enrol alice --key "$T/alice"
	assert_contains "$stderr" not_security_key
	run_sbx 64 sbx-approve enrol 'a b' --key "$T/sk"
	assert_contains "$stderr" bad_name
	echo nonsense >"$T/odd.pub"
	run_sbx 65 sbx-approve enrol carol --key "$T/odd"
	# There is no security key here.
	mkdir -p "$T/home/.ssh"
	run_sbx 1 env HOME="$T/home" SSH_SK_PROVIDER=/nonexistent sbx-approve enrol carol </dev/null
	assert_contains "$stderr" not_enrolled
	run_sbx 66 env -u HOME sbx-approve enrol carol </dev/null
	assert_contains "$stderr" no_key
}

# notify_with SCRIPT: it is the command of `notify`.
notify_with() {
	printf '#!/bin/sh\n%s\n' "$1" >"$T/tell"
	chmod 755 "$T/tell"
	echo "notify: [$T/tell, word]" >>"$T/sbx.yaml"
}

@test "notify: told once a minute that something waits, and what" {
	notify_with "cat >>$T/told; echo \"\$#\$1\" >>$T/args; env >$T/env"
	ask note=secret-note
	assert_equal "$(jq -c 'del(.installation, .expires_at)' "$T/told")" \
		"{\"approval\":\"$(ask_id)\",\"needed\":1,\"principal\":\"$(id -un)\",\"tier\":\"high\",\"tool\":\"apply_true\",\"waiting\":1,\"why\":\"tier high needs an approval (decided by: tool)\"}"
	assert_equal "$(cat "$T/args")" 1word
	refute_contains "$(cat "$T/told" "$T/env")" secret
	ask note=secret-note
	ask note=another
	assert_equal "$(wc -l <"$T/told")" 1
	sqlite3 "$T/var/approvals.db" 'UPDATE clock SET told = told - 60'
	ask note=third
	assert_equal "$(jq -s '.[1].waiting' "$T/told")" 3
}

@test "notify: what fails or hangs loses nothing, and the answer does not wait for it" {
	notify_with 'exit 3'
	ask note=failing
	assert_equal "$(grep -c notify_failed <<<"$stderr")" 1
	sed -i "s|^notify:.*|notify: [$T/missing]|" "$T/sbx.yaml"
	sqlite3 "$T/var/approvals.db" 'UPDATE clock SET told = 0'
	ask note=missing
	assert_equal "$(grep -c notify_failed <<<"$stderr")" 1
	sed -i '/^notify:/d' "$T/sbx.yaml"
	sqlite3 "$T/var/approvals.db" 'UPDATE clock SET told = 0'
	# Until this is killed the command runs; the next stage has its whole input long before.
	notify_with "echo \$\$ >$T/pid; exec sleep 60"
	sbx-policy apply_true note=hanging 2>/dev/null >"$T/call.json"
	run bash -c "sbx-approve <'$T/call.json' 2>/dev/null 3>&- | { cat >'$T/out'; until [ -s '$T/pid' ]; do sleep 0.02; done; kill \$(cat '$T/pid'); }"
	assert_equal "$status" 0
	assert_equal "$(member .approval.state <"$T/out")" waiting
}
