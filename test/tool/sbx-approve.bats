# sbx-approve: the filter, the desk, and what people do there.

load ../helpers

setup() {
	fresh_state
	new_signer alice
}

# ask [NAME=VALUE...]: a call that needs an approval, through the filter; its object is in $output.
ask() {
	sbx-policy apply_true "$@" >"$T/call.json"
	run_sbx "${RC:-75}" sbx-approve <"$T/call.json"
}

# ask_id: the id of the request that the last ask met.
ask_id() {
	printf '%s' "$output" | jq -r .approval.id
}

sign() { # ID [KEY]
	run_sbx 0 sbx-approve sign "$1" --key "$T/${2:-alice}" </dev/null
}

events() {
	jq -r 'select(.event | startswith("approval.")) | .event' "$T/var/audit.jsonl" | paste -sd' '
}

# desk REQUEST: what the desk says to it.
desk() {
	printf '%b' "$1" | sbx-approve --desk dana 2>/dev/null
}

@test "a call that needs no approval passes" {
	sbx-policy true >"$T/call.json"
	run_sbx 0 sbx-approve <"$T/call.json"
	assert_call
	assert_json .approval.state none
	assert_json '.approval | length' 1
	assert_json '[.seals[].stage] | join(" ")' "policy approve"
	[ ! -e "$T/var/approvals.db" ]
}

@test "a call that needs one waits, with an id and the command that a person types" {
	ask note=hello
	assert_call approval_required
	assert_json .error.class 75
	assert_json .error.stage approve
	assert_json .approval.state waiting
	assert_json '.approval.signers | length' 0
	local id
	id=$(ask_id)
	[[ $id =~ ^[0-9a-f]{32}$ ]]
	assert_contains "$output" "sbx-approve sign $id"
	assert_contains "$stderr" "approval_required"
	assert_json '[.seals[].stage] | join(" ")' "policy approve"
	assert_equal "$(events)" "approval.requested"
	assert_equal "$(stat -c %a "$T/var/approvals.db")" 600
}

@test "the same call again meets the same request, another one does not" {
	ask note=hello
	local id
	id=$(ask_id)
	ask note=hello
	assert_equal "$(ask_id)" "$id"
	ask note=other
	[ "$(ask_id)" != "$id" ]
	run_sbx 0 sbx-approve list
	assert_equal "${#lines[@]}" 2
	assert_contains "$output" "$id waiting"
}

@test "what a person signs lets exactly that call through, once" {
	ask note=hello
	local id text
	id=$(ask_id)
	text=$(printf '%s' "$output" | jq -r .approval.text_sha256)
	sign "$id"
	assert_contains "$stderr" "$id is approved by alice"
	ask note=other
	RC=0 ask note=hello
	assert_json .approval.state claimed
	assert_json .approval.id "$id"
	assert_json .approval.text_sha256 "$text"
	assert_json '.approval.signers | join(" ")' alice
	assert_json .error null
	assert_equal "$(events)" "approval.requested approval.granted approval.requested approval.claimed"
	ask note=hello
	[ "$(ask_id)" != "$id" ]
	run_sbx 0 sbx-approve show "$id"
	assert_contains "$stderr" "$id is claimed by alice"
}

@test "a claim comes back when its call proves that it started nothing, and only then" {
	approve_stage() {
		sbx-policy cred_apply >"$T/call.json"
		run_sbx "$1" sbx-approve <"$T/call.json"
		printf '%s' "$output" >"$T/claimed.json"
	}
	approve_stage 75
	local id
	id=$(ask_id)
	sign "$id"
	approve_stage 0
	# No record, no credential: sbx-cred refuses before it starts anything.
	chmod 666 "$T/var/audit.jsonl"
	run --separate-stderr bash -c "sbx-cred sbx-run <'$T/claimed.json' 3>&-"
	[ "$status" -ne 0 ]
	chmod 600 "$T/var/audit.jsonl"
	[ -s "$T/var/runs/$(jq -r .call.id "$T/claimed.json")/refused" ]
	approve_stage 0
	assert_json .approval.id "$id"
	assert_json .approval.state claimed
	assert_equal "$(events)" "approval.requested approval.granted approval.claimed approval.released approval.claimed"
	# This one says nothing: it stays spent. Neither does the proof of the first call count for it.
	cp "$T/var/runs/"*/refused "$T/var/runs/$(jq -r .call.id "$T/claimed.json")/refused"
	approve_stage 75
	[ "$(ask_id)" != "$id" ]
}

@test "eight identical calls at once: one claims" {
	ask note=race
	sign "$(ask_id)"
	for i in 1 2 3 4 5 6 7 8; do
		sbx-policy apply_true note=race >"$T/race$i.json"
	done
	for i in 1 2 3 4 5 6 7 8; do
		sbx-approve <"$T/race$i.json" >"$T/out$i.json" 2>/dev/null 3>&- &
	done
	wait
	run jq -rs '[.[] | select(.approval.state == "claimed")] | length' "$T"/out?.json
	assert_equal "$output" 1
	run jq -rs '[.[] | select(.error == null)] | length' "$T"/out?.json
	assert_equal "$output" 1
}

@test "the text: what is asked, by whom, and nothing hostile outside quotes" {
	printf '{"tool":"apply_true","params":{"note":"say \\"DESTROY\\" \\u00e4"},"client":"evil\\u001b[2J\\nInstallation x"}' |
		sbx-policy >"$T/call.json"
	run_sbx 75 sbx-approve <"$T/call.json"
	local id
	id=$(ask_id)
	run_sbx 0 sbx-approve show "$id"
	assert_equal "${lines[0]}" "L0: this approval can be made by the agent's own account"
	assert_equal "${lines[1]}" "Installation $(cat "$T/var/installation"), target none, isolation \"local\" by driver \"local\""
	assert_contains "$output" "Request 1, id $id"
	assert_contains "$output" 'the program calls itself "evil\x1b[2J\x0aInstallation x" (a claim, not checked)'
	assert_contains "$output" 'parameter "note" is "say \"DESTROY\" \xc3\xa4"'
	run grep -c '^Installation' <<<"$output"
	assert_equal "$output" 1
}

@test "--wait goes on as soon as somebody signs" {
	ask note=wait
	local id
	id=$(ask_id)
	sbx-policy apply_true note=wait >"$T/call.json"
	sbx-approve --wait 30s <"$T/call.json" >"$T/out.json" 2>"$T/err.txt" 3>&- &
	local waiter=$!
	wait_until 10 grep -q "waiting for a person: sbx-approve sign $id" "$T/err.txt"
	sign "$id"
	wait "$waiter"
	assert_equal "$(jq -r .approval.state "$T/out.json")" claimed
}

@test "--wait ends when its time is over" {
	sbx-policy apply_true note=wait >"$T/call.json"
	run_sbx 75 sbx-approve --wait 300ms <"$T/call.json"
	assert_call approval_required
}

@test "a call that waits is told that it was denied, and why" {
	ask note=deny
	local id
	id=$(ask_id)
	sbx-policy apply_true note=deny >"$T/call.json"
	sbx-approve --wait 30s <"$T/call.json" >"$T/out.json" 2>"$T/err.txt" 3>&- &
	local waiter=$! rc=0
	wait_until 10 grep -q "waiting for a person" "$T/err.txt"
	run_sbx 0 sbx-approve deny "$id" not on a Friday
	assert_contains "$stderr" "$id is denied"
	wait "$waiter" || rc=$?
	assert_equal "$rc" 77
	output=$(cat "$T/out.json")
	assert_call approval_denied
	assert_contains "$output" "not on a Friday"
	assert_json .approval null
	assert_equal "$(events)" "approval.requested approval.denied"
	# Nobody is asked again at once: not for this, not for another call of the tool.
	RC=69 ask note=deny
	assert_call approval_paused
	assert_json .approval null
	RC=69 ask note=other
	assert_call approval_paused
	[[ $(member .error.hint <<<"$output") =~ ^'no call of this tool is put to people for '(29[0-9]|300)' s (approval_pause in sbx.yaml)'$ ]]
	add_tool guarded
	sbx-policy guarded word=a-rather-long >"$T/call.json"
	run_sbx 75 sbx-approve <"$T/call.json"
	echo 'approval_pause: 0s' >>"$T/sbx.yaml"
	ask note=deny
	[ "$(ask_id)" != "$id" ]
	sed -i 's/^approval_pause: .*/approval_pause: 2h/' "$T/sbx.yaml"
	run_sbx 78 sbx-approve list
	assert_contains "$stderr" bad_config
}

@test "a principal has five open approvals, and no more" {
	local i
	for i in 1 2 3 4 5; do
		ask "note=n$i"
	done
	RC=69 ask note=n6
	assert_call too_many_approvals
	assert_contains "$output" "sbx-approve list"
	assert_json .approval null
	ask note=n5
	sign "$(ask_id)"
	RC=0 ask note=n5
	ask note=n6
}

@test "INT, TERM and HUP end a waiting call at once" {
	local sig waiter rc
	for sig in INT TERM HUP; do
		sbx-policy apply_true note=cancel >"$T/call.json"
		rm -f "$T/err.txt"
		env --default-signal=INT sbx-approve --wait 50s <"$T/call.json" >"$T/out.json" 2>"$T/err.txt" 3>&- &
		waiter=$! rc=0
		wait_until 10 grep -q "waiting for a person" "$T/err.txt"
		kill -"$sig" "$waiter"
		wait "$waiter" || rc=$?
		assert_equal "$rc" 1
		output=$(cat "$T/out.json")
		assert_call cancelled
		assert_json .approval.state waiting
	done
}

@test "a call with an error is passed on, sealed, with its class" {
	run --separate-stderr bash -c "sbx-policy no_such_tool 2>/dev/null | sbx-approve 3>&-"
	assert_equal "$status" 77
	assert_call unknown_tool
	assert_json '[.seals[].stage] | join(" ")' "policy approve"
	assert_json .approval null
}

@test "an error without a call is passed on as it is" {
	printf '{"sbx":1,"error":{"stage":"policy","class":65,"code":"json_syntax","message":"x"}}' >"$T/bare"
	run_sbx 65 sbx-approve <"$T/bare"
	assert_call json_syntax
	assert_json .seals null
}

@test "what is no call of this installation is refused" {
	sbx-policy apply_true note=x >"$T/call.json"
	local call
	call=$(cat "$T/call.json")
	refuse() { # RC CODE; the input is in $T/in
		run_sbx "$1" sbx-approve <"$T/in"
		assert_call "$2"
		assert_json .seals null
		assert_json .error.stage approve
	}
	: >"$T/in" && refuse 76 no_input
	printf '%s' "${call:0:200}" >"$T/in" && refuse 76 json_truncated
	printf '%s%s' "$call" "$call" >"$T/in" && run_sbx 76 sbx-approve <"$T/in"
	printf '%s' "${call/\{/\{\"sbx\":1,}" >"$T/in" && refuse 76 json_duplicate_key
	printf '[]' >"$T/in" && refuse 76 bad_call
	printf '{"sbx":2}' >"$T/in" && refuse 76 bad_call
	{ printf '%s' "$call" | head -c 100; printf '\0'; } >"$T/in" && run_sbx 76 sbx-approve <"$T/in"
	printf '\xff\xfe' >"$T/in" && run_sbx 76 sbx-approve <"$T/in"
	printf '[%.0s' {1..65} >"$T/in" && run_sbx 76 sbx-approve <"$T/in"
	head -c 1048577 /dev/zero | tr '\0' ' ' >"$T/in" && run_sbx 76 sbx-approve <"$T/in"
	jq -c '.sbx = 1.5' "$T/call.json" >"$T/in" && run_sbx 76 sbx-approve <"$T/in"
	jq -c '.policy = "x"' "$T/call.json" >"$T/in" && refuse 76 bad_call
	jq -c '.seals = []' "$T/call.json" >"$T/in" && refuse 77 seal_invalid
	jq -c '.call.params.note = "y"' "$T/call.json" >"$T/in" && refuse 77 seal_invalid
	jq -c '.policy.effect = "allow"' "$T/call.json" >"$T/in" && refuse 77 seal_invalid
	jq -c '.approval = {state:"claimed"}' "$T/call.json" >"$T/in" && refuse 77 seal_invalid
	jq -c '.seals[0].time = "2026-01-01T00:00:00Z"' "$T/call.json" >"$T/in" && refuse 77 seal_invalid
	[ ! -e "$T/var/approvals.db" ]
	# It is the input that was wrong: the call itself is good, once.
	run_sbx 75 sbx-approve <"$T/call.json"
	cp "$T/call.json" "$T/in"
	refuse 77 call_reused
}

@test "closed stdin, closed stdout and a full disk are never success" {
	sbx-policy true >"$T/call.json"
	run bash -c "sbx-approve <&- 2>/dev/null 3>&-"
	assert_equal "$status" 76
	run bash -c "sbx-approve <'$T/call.json' >/dev/full 2>/dev/null 3>&-"
	assert_equal "$status" 74
	sbx-policy true >"$T/call.json"
	run bash -c "sbx-approve <'$T/call.json' >&- 2>/dev/null 3>&-"
	assert_equal "$status" 74
}

@test "no record, no request and no claim" {
	ask note=unrecorded
	local id
	id=$(ask_id)
	sign "$id"
	chmod 666 "$T/var/audit.jsonl"
	run_sbx 0 sbx-approve list # reading needs none
	chmod 600 "$T/var/audit.jsonl"
	sbx-policy apply_true note=unrecorded >"$T/call.json"
	sbx-policy apply_true note=another >"$T/call2.json"
	chmod 666 "$T/var/audit.jsonl"
	run_sbx 78 sbx-approve <"$T/call.json"
	assert_call audit_unsafe
	run_sbx 78 sbx-approve <"$T/call2.json"
	assert_call audit_unsafe
	assert_json .approval null
	chmod 600 "$T/var/audit.jsonl"
	RC=0 ask note=unrecorded
	assert_json .approval.id "$id"
}

@test "a database that others could have changed is not opened" {
	ask note=x
	local db=$T/var/approvals.db
	chmod 640 "$db"
	RC=78 ask note=x
	assert_call unsafe_store
	assert_contains "$output" "chmod 600"
	run_sbx 78 sbx-approve list
	assert_contains "$stderr" unsafe_store
	chmod 600 "$db"
	mv "$db" "$T/var/elsewhere"
	ln -s elsewhere "$db"
	RC=78 ask note=x
	assert_call unsafe_store
	rm "$db"
	ln "$T/var/elsewhere" "$db"
	RC=78 ask note=x
	assert_call unsafe_store
	rm "$db"
	printf 'not a database, and longer than the header of one: %0100d' 0 >"$db"
	chmod 600 "$db"
	RC=78 ask note=x
	assert_call store_damaged
	rm "$db"
	mv "$T/var/elsewhere" "$db"
	ask note=x
}

@test "a database on a read-only disk, or a full one: no request" {
	ask note=x
	sbx-policy apply_true note=x >"$T/call.json"
	sbx-policy apply_true note=y >"$T/call2.json"
	run_sbx 74 unshare -rm sh -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && exec sbx-approve' \
		sh "$T/var/approvals.db" <"$T/call.json"
	assert_call store_unavailable
	run_sbx 74 unshare -rm sh -c 'mkdir "$1/small" && mount -t tmpfs -o size=4m,mode=700 tmpfs "$1/small" &&
		cp -a "$1/var/." "$1/small/" && { head -c 8000000 /dev/zero >"$1/small/fill" 2>/dev/null || :; } &&
		mount --bind "$1/small" "$1/var" && exec sbx-approve' sh "$T" <"$T/call2.json"
	ask note=x
}

@test "an edited row blocks, and lets nothing through" {
	ask note=edit
	local id
	id=$(ask_id)
	sign "$id"
	sqlite3 "$T/var/approvals.db" "UPDATE approval SET text = CAST(replace(CAST(text AS TEXT), 'edit', 'tide') AS BLOB)"
	RC=77 ask note=edit
	assert_call approval_mismatch
	sqlite3 "$T/var/approvals.db" "UPDATE approval SET text = CAST(replace(CAST(text AS TEXT), 'tide', 'edit') AS BLOB)"
	RC=0 ask note=edit
	# Setting a claimed row back does not give it back.
	sqlite3 "$T/var/approvals.db" "UPDATE approval SET state = 'approved', call = NULL"
	RC=77 ask note=edit
	assert_call approval_spent
	# A row that nobody signed.
	ask note=forged
	run sqlite3 "$T/var/approvals.db" "UPDATE approval SET state = 'approved' WHERE state = 'waiting'"
	[ "$status" -ne 0 ]
	sqlite3 "$T/var/approvals.db" "UPDATE approval SET state = 'approved', signed = 1 WHERE state = 'waiting'"
	RC=77 ask note=forged
	assert_call approval_incomplete
	sqlite3 "$T/var/approvals.db" "INSERT INTO signature (approval, signer, key_sha256, armor, at)
		SELECT approval.id, signer, key_sha256, armor, at FROM signature, approval WHERE state = 'approved' AND tool = 'apply_true'
		ORDER BY approval.number DESC LIMIT 1"
	RC=77 ask note=forged
	assert_call signature_invalid
}

@test "an approval is over after its time" {
	ask note=late
	local id
	id=$(ask_id)
	sign "$id"
	sqlite3 "$T/var/approvals.db" "UPDATE approval SET created = created - 1800, expires = expires - 1800"
	run_sbx 0 sbx-approve list
	assert_equal "$output" ""
	ask note=late
	[ "$(ask_id)" != "$id" ]
	assert_equal "$(events)" "approval.requested approval.granted approval.expired approval.requested"
	run_sbx 77 sbx-approve sign "$id" --key "$T/alice" </dev/null
	assert_contains "$stderr" approval_expired
	assert_contains "$stderr" "make the call again; it opens a new request"
	sqlite3 "$T/var/approvals.db" "UPDATE clock SET seen = seen + 1000"
	RC=71 ask note=new
	assert_call clock_went_back
}

@test "touch: a key file does not count where agent and signer share the account, a touched security key does" {
	sed -i 's/same_account: file/same_account: touch/' "$T/sbx.yaml"
	ask note=touch
	local id flags reply
	id=$(ask_id)
	run_sbx 77 sbx-approve sign "$id" --key "$T/alice" </dev/null
	refute_contains "$output" "L0:"
	assert_contains "$stderr" touch_required
	assert_contains "$stderr" "to try it with a key file: same_account: file in sbx.yaml, deny this request, and ask again after approval_pause"
	printf 'x' | "$SBX_BUILD/test/sksign" ed25519 "$T/sk" 1 sbx-approve@v1 >/dev/null
	printf 'sky namespaces="sbx-approve@v1" %s\n' "$(cut -d' ' -f1,2 "$T/sk.pub")" >>"$T/allowed_signers"
	for flags in 0 1; do
		desk "show $id\n" | tail -n +2 | "$SBX_BUILD/test/sksign" ed25519 "$T/sk" "$flags" sbx-approve@v1 >"$T/armor"
		reply=$({ printf 'accept %s %s\n' "$id" "$(stat -c %s "$T/armor")"; cat "$T/armor"; } | sbx-approve --desk dana 2>/dev/null) || true
		case $flags in
		0) assert_contains "$reply" "error touch_required 77 " ;;
		1) assert_equal "$reply" "ok 0 $id approved 1/1 sky" ;;
		esac
	done
	RC=0 ask note=touch
	assert_json '.approval.signers | join(" ")' sky
}

@test "refuse: nobody signs where agent and signer share the account" {
	sed -i 's/same_account: file/same_account: refuse/' "$T/sbx.yaml"
	ask note=refuse
	run_sbx 77 sbx-approve sign "$(ask_id)" --key "$T/alice" </dev/null
	assert_contains "$stderr" same_account
}

@test "a signature counts by its key, its purpose and its text alone" {
	ask note=sig
	local id
	id=$(ask_id)
	ssh-keygen -q -t ed25519 -N '' -C x -f "$T/mallory"
	run_sbx 77 sbx-approve sign "$id" --key "$T/mallory" </dev/null
	assert_contains "$stderr" signer_unknown
	desk "show $id\n" | tail -n +2 >"$T/text"
	hand_in() { # FILE TO SIGN, NAMESPACE, EXPECTED
		rm -f "$1.sig"
		ssh-keygen -q -Y sign -n "$2" -f "$T/alice" "$1" 2>/dev/null
		run --separate-stderr bash -c "{ printf 'accept $id %s\n' \$(stat -c %s '$1.sig'); cat '$1.sig'; } | sbx-approve --desk dana 3>&-"
		assert_contains "$output" "$3"
	}
	hand_in "$T/text" git "error signature_namespace 77 "
	sed 's/"sig"/"gis"/' "$T/text" >"$T/other"
	hand_in "$T/other" sbx-approve@v1 "error signature_invalid 77 "
	chmod 666 "$T/allowed_signers"
	hand_in "$T/text" sbx-approve@v1 "error unsafe_file 78 "
	chmod 600 "$T/allowed_signers"
	printf 'eve cert-authority ssh-ed25519 AAAA\n' >>"$T/allowed_signers"
	hand_in "$T/text" sbx-approve@v1 "error signers_invalid 78 line 2 "
	sed -i 2d "$T/allowed_signers"
	hand_in "$T/text" sbx-approve@v1 "ok 0 $id approved 1/1 alice"
	hand_in "$T/text" sbx-approve@v1 "error approval_not_waiting 77 "
	# Taken out of the trust file afterwards: it does not count any more.
	: >"$T/allowed_signers"
	RC=77 ask note=sig
	assert_call signer_unknown
}

@test "at a terminal the text's code is asked for" {
	ask note=tty
	local id code
	id=$(ask_id)
	code=$(printf '%s' "$output" | jq -r '.approval.text_sha256' | xxd -r -p | base32 | cut -c1-8)
	run bash -c "echo wrong | timeout 20 script -qec 'stty rows 300 cols 200; sbx-approve sign $id --key $T/alice' /dev/null 3>&-"
	assert_equal "$status" 1
	assert_contains "$output" "To sign this text type $code, "
	assert_contains "$output" "nothing was signed"
	run bash -c "echo $code | timeout 20 script -qec 'stty rows 300 cols 200; sbx-approve sign $id --key $T/alice' /dev/null 3>&-"
	assert_equal "$status" 0
	assert_contains "$output" "$id is approved by alice"
	nothing_of_signing_is_left
}

@test "show escapes, list and show need no authority, ids may be short" {
	ask note=short
	local id
	id=$(ask_id)
	run_sbx 0 sbx-approve show "${id:0:6}"
	assert_contains "$stderr" "$id is waiting"
	run_sbx 64 sbx-approve show "${id:0:5}"
	assert_contains "$stderr" bad_id
	run_sbx 65 sbx-approve show "'; DROP TABLE approval"
	run_sbx 66 sbx-approve show ffffffffffffffffffffffffffffffff
	assert_contains "$stderr" approval_unknown
	run_sbx 66 env HOME=/nonexistent sbx-approve sign "$id" </dev/null
	assert_contains "$stderr" no_key
	run_sbx 66 sbx-approve sign "$id" --key "$T/no-such-key" </dev/null
	assert_contains "$stderr" "there is no key file $T/no-such-key (no_key)"
	: >"$T/no-key"
	run_sbx 1 sbx-approve sign "$id" --key "$T/no-key" </dev/null
	assert_contains "$stderr" not_signed
	run_sbx 0 sbx-approve deny "${id:0:8}"
	run_sbx 77 sbx-approve deny "$id"
	assert_contains "$stderr" approval_not_open
	run_sbx 77 sbx-approve sign "$id" --key "$T/alice" </dev/null
	assert_contains "$stderr" approval_not_waiting
}

@test "the default key is one of the person's" {
	mkdir -p "$T/home/.ssh"
	cp "$T/alice" "$T/home/.ssh/id_ed25519"
	ask note=home
	run_sbx 0 env HOME="$T/home" sbx-approve sign "$(ask_id)" </dev/null
	assert_contains "$stderr" "approved by alice"
}

@test "the desk: one request, one reply" {
	ask note=desk
	local id
	id=$(ask_id)
	assert_contains "$(desk 'list\n')" "$id waiting"
	assert_equal "$(desk "show $id\n" | head -1)" "ok $(desk "show $id\n" | tail -n +2 | wc -c) $id waiting 0/1 -"
	local request
	for request in '' '\n' 'no\n' 'list x\n' 'show\n' "show $id x\n" "read\n" "read $id x\n" "read $id\nx" "accept $id\n" "accept $id 5\nabc" "accept $id 0\n" \
		"accept $id 99999999999\n" "deny $id \x1b[2J\n" "show $id\nx"; do
		assert_contains "$(desk "$request")" "error bad_request 65 "
	done
	run bash -c "head -c 30000 /dev/zero | sbx-approve --desk dana 2>/dev/null 3>&-"
	assert_equal "$status" 65
	assert_contains "$output" "error too_large 65 "
	run bash -c "printf 'list\n' | sbx-approve --desk -- 2>/dev/null 3>&-"
	assert_equal "$status" 64
	run bash -c "printf 'list\n' | sbx-approve --desk 'a b' 2>/dev/null 3>&-"
	assert_equal "$status" 64
	assert_contains "$output" "error bad_name 64 "
	run bash -c "printf 'list\n' | sbx-approve --desk dana >/dev/full 2>/dev/null 3>&-"
	assert_equal "$status" 74
	assert_equal "$(desk "deny $id because")" "ok 0 $id denied 0/1 -"
	assert_equal "$(jq -r 'select(.event == "approval.denied") | .by' "$T/var/audit.jsonl")" dana
}

@test "settings say how the desk is reached" {
	ask note=far
	local id
	id=$(ask_id)
	printf 'desk: [%s/sbx-approve, --config, %s/sbx.yaml, --desk, bob]\n' "$SBX_BIN" "$T" >>"$T/sbx.yaml"
	run_sbx 0 sbx-approve deny "$id"
	assert_equal "$(jq -r 'select(.event == "approval.denied") | .by' "$T/var/audit.jsonl")" bob
	# One file for everybody: {login} is whoever types.
	sed -i 's|^desk:.*|desk: ['"$SBX_BIN/sbx-approve, --config, $T/sbx.yaml"', --desk, "{login}"]|' "$T/sbx.yaml"
	echo 'approval_pause: 0s' >>"$T/sbx.yaml"
	ask note=mine
	run_sbx 0 sbx-approve deny "$(ask_id)"
	assert_equal "$(jq -r 'select(.event == "approval.denied") | .by' "$T/var/audit.jsonl" | tail -n 1)" "$(id -un)"
	sed -i 's|^desk:.*|desk: [/bin/false]|' "$T/sbx.yaml"
	run_sbx 69 sbx-approve list
	assert_contains "$stderr" desk_failed
	# The person's variables reach the command that reaches the desk, and nothing else does.
	printf '#!/bin/sh\nenv >%s/seen\n' "$T" >"$T/reach"
	chmod 755 "$T/reach"
	sed -i "s|^desk:.*|desk: [$T/reach]|" "$T/sbx.yaml"
	run_sbx 69 env SSH_AUTH_SOCK=/agent LD_LIBRARY_PATH=/x SECRET=1 sbx-approve list
	assert_equal "$(grep -c '^SSH_AUTH_SOCK=/agent$' "$T/seen")" 1
	run grep -E '^(SECRET|LD_LIBRARY_PATH|SBX_CONFIG)=' "$T/seen"
	assert_equal "$status" 1
}

@test "usage" {
	run_sbx 0 sbx-approve --help
	assert_contains "$output" "usage: sbx-approve"
	run_sbx 0 sbx-approve --version
	assert_contains "$output" "sbx-approve "
	local line
	for line in --no-such-option "frobnicate" "list x" "show" "sign" "deny" "--wait 1h" "--wait 31m" "--wait -1s" "--wait 5" "--wait 1s list" \
		"--key x list" "--desk x list" "--wait 1s --desk x"; do
		# shellcheck disable=SC2086
		run_sbx 64 sbx-approve $line </dev/null
		assert_equal "$output" ""
		assert_contains "$stderr" "usage: sbx-approve"
	done
	# The first line says what is wrong.
	while IFS='|' read -r line says; do
		# shellcheck disable=SC2086
		run_sbx 64 sbx-approve $line </dev/null
		assert_equal "${stderr%%$'\n'*}" "sbx-approve: $says"
	done <<-'EOF'
		frobnicate|there is no command "frobnicate"
		sign|sign wants an ID
		export 012345|export wants an ID and a DIR
		list x|list wants no more words
		show 012345 --key x|show takes no --key
	EOF
	run bash -c "sbx-approve --help >/dev/full 3>&-"
	assert_equal "$status" 74
}

@test "settings that are wrong: 78, and an object that says so" {
	run_sbx 78 sbx-approve --config "$T/missing.yaml" </dev/null
	assert_call
	assert_json .error.class 78
	run_sbx 78 sbx-approve --config "$T/missing.yaml" list
	assert_equal "$output" ""
}

@test "a program of its own verifies signatures, and only its whole answer counts" {
	local real=$SBX_LIBEXEC/sbx-signed id
	ask note=apart
	id=$(ask_id)
	sign "$id"
	mkdir "$T/inst"
	cp "$SBX_BIN/sbx-approve" "$T/inst"
	local filter=$T/inst/sbx-approve
	claim() { # RC CODE [SCRIPT]: the filter beside a sbx-signed that is SCRIPT
		printf '#!/bin/sh\n%s\n' "${3:-}" >"$T/inst/sbx-signed"
		chmod +x "$T/inst/sbx-signed"
		[ $# -eq 3 ] || rm "$T/inst/sbx-signed"
		sbx-policy apply_true note=apart >"$T/call.json"
		run_sbx "$1" "$filter" <"$T/call.json"
		assert_call "$2"
	}
	claim 78 missing_helper
	claim 71 crypto_failed 'cat >/dev/null'
	claim 71 crypto_failed 'cat >/dev/null; echo ok'
	claim 71 crypto_failed 'cat >/dev/null; echo no crypto_failed'
	claim 71 crypto_failed "$real; echo"
	claim 71 crypto_failed "$real | tr -d '\n'"
	claim 71 crypto_failed "$real | tr 0-9 1-90"
	claim 71 crypto_failed "$real | tr '\n' '\0'; echo"
	claim 71 crypto_failed "$real; exit 77"
	claim 71 crypto_failed "$real; kill -9 \$\$"
	claim 77 signature_invalid "sed s/apart/about/ | $real"
	# None of it has spent the approval.
	assert_equal "$(events)" "approval.requested approval.granted"
	claim 0 null "exec $real"
	assert_json .approval.state claimed
}
