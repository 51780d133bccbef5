# sbx-approve: an approval is used once, by the call that it was given for, in its time; whatever is done to the database, the record, the clock and the
# disk. Each refusal stands beside the same thing allowed.

load ../helpers
load ../race

setup() {
	race_setup
	DB=$T/var/approvals.db
	RECORD=$T/var/audit.jsonl
}

teardown() {
	[ -z "${HOLDER-}" ] || kill "$HOLDER" 2>/dev/null || true
}

# ask [NAME=VALUE...]: a call that needs an approval, through the filter; its object is in $output.
ask() {
	sbx-policy "${TOOL:-apply_true}" "$@" >"$T/call.json" 2>/dev/null
	run_sbx "${RC:-75}" sbx-approve <"$T/call.json"
}

ask_id() {
	member .approval.id <<<"$output"
}

sign() { # ID [KEY]
	run_sbx 0 sbx-approve sign "$1" --key "$T/${2:-alice}" </dev/null
}

# approved NOTE: $ID is signed.
approved() {
	ask note="$1"
	ID=$(ask_id)
	sign "$ID"
}

# keep and put_back: the state as it was.
keep() {
	rm -rf "$T/kept"
	cp -a "$T/var" "$T/kept"
}

put_back() {
	rm -rf "$T/var"
	cp -a "$T/kept" "$T/var"
}

edit() { # SQL
	sqlite3 "$DB" "$1"
}

# refused CODE NOTE: the call is refused with it.
refused() {
	RC=${RC:-77} ask note="$2" && assert_call "$1" && assert_json .approval null
}

events() {
	local all
	mapfile -t all < <(jq -r 'select(.event | startswith("approval.")) | .event' "$RECORD")
	echo "${all[*]#approval.}"
}

# the_armor FILE: an armored signature of alice over FILE.
the_armor() {
	rm -f "$1.sig"
	ssh-keygen -q -Y sign -n sbx-approve@v1 -f "$T/alice" "$1" 2>/dev/null
	cat "$1.sig"
}

@test "rows edited with sqlite3: each edit is refused, and without it the call runs" {
	approved other
	local other=$ID code sql rows=0
	approved edit
	keep
	while IFS='|' read -r code sql; do
		edit "${sql//@OTHER@/$other}"
		refused "$code" edit || {
			echo "after: $sql"
			return 1
		}
		put_back
		rows=$((rows + 1))
	done <<-EOF
		approval_incomplete|DELETE FROM signature WHERE approval = '$ID'
		signature_invalid|UPDATE signature SET armor = (SELECT armor FROM signature WHERE approval = '@OTHER@') WHERE approval = '$ID'
		approval_mismatch|UPDATE signature SET signer = 'mallory' WHERE approval = '$ID'
		approval_mismatch|UPDATE signature SET key_sha256 = '' WHERE approval = '$ID'
		approval_mismatch|UPDATE approval SET text = (SELECT text FROM approval WHERE id = '@OTHER@') WHERE id = '$ID'
		approval_mismatch|UPDATE approval SET (text, text_sha256) = (SELECT text, text_sha256 FROM approval WHERE id = '@OTHER@') WHERE id = '$ID'; UPDATE signature SET armor = (SELECT armor FROM signature WHERE approval = '@OTHER@') WHERE approval = '$ID'
		approval_mismatch|UPDATE approval SET expires = expires - 1 WHERE id = '$ID'
		approval_mismatch|UPDATE approval SET expires = expires + 50, created = created + 50 WHERE id = '$ID'
		approval_not_yet|UPDATE approval SET expires = expires + 500, created = created + 500 WHERE id = '$ID'
		approval_mismatch|UPDATE approval SET nonce = head WHERE id = '$ID'
		approval_mismatch|UPDATE approval SET head = text_sha256 WHERE id = '$ID'
		approval_mismatch|UPDATE approval SET client = 'nobody' WHERE id = '$ID'
		approval_mismatch|UPDATE approval SET principal = 'nobody' WHERE id = '$ID'
		approval_mismatch|UPDATE approval SET subject = '' WHERE id = '$ID'; UPDATE approval SET subject = (SELECT subject_sha256 FROM (SELECT '$(member .policy.subject_sha256 <"$T/call.json")' AS subject_sha256)) WHERE id = '@OTHER@'
		approval_edited|UPDATE approval SET threshold = 0, state = 'waiting' WHERE id = '$ID'; UPDATE approval SET threshold = 1, user_verification = 1, state = 'approved' WHERE id = '$ID'
		approval_edited|UPDATE approval SET lost = 'nothing' WHERE id = '$ID'
		approval_edited|UPDATE approval SET why = 'harmless' WHERE id = '$ID'
		approval_edited|UPDATE approval SET tool = 'true' WHERE id = '$ID'
		approval_edited|UPDATE approval SET tier = 'low' WHERE id = '$ID'
		approval_edited|UPDATE approval SET boot = '', booted = 0 WHERE id = '$ID'
		approval_edited|UPDATE approval SET mac = (SELECT mac FROM approval WHERE id = '@OTHER@') WHERE id = '$ID'
	EOF
	[ "$rows" -eq 21 ]
	RC=0 ask note=edit
	assert_json .approval.id "$ID"
	# An id that its own text does not have.
	RC=0 ask note=other
	assert_json .approval.id "$other"
}

@test "a request that nobody signed, set to approved" {
	ask note=forged
	ID=$(ask_id)
	edit "UPDATE approval SET state = 'approved', signed = 1"
	refused approval_incomplete forged
	edit "UPDATE approval SET state = 'waiting', signed = 0"
	sign "$ID"
	RC=0 ask note=forged
}

@test "a signature that was put into the database beside the desk is none" {
	ask note=beside
	ID=$(ask_id)
	keep
	run_sbx 0 sbx-approve show "$ID"
	edit "SELECT writefile('$T/text', text) FROM approval" >/dev/null
	the_armor "$T/text" >/dev/null
	sign "$ID"
	local signature
	signature=$(edit "SELECT quote(key_sha256) FROM signature")
	put_back
	edit "INSERT INTO signature (approval, signer, key_sha256, armor, at) VALUES ('$ID', 'alice', $signature, readfile('$T/text.sig'), 1);
		UPDATE approval SET state = 'approved', signed = 1"
	refused approval_unrecorded beside
	put_back
	sign "$ID"
	RC=0 ask note=beside
}

@test "terms that were lowered: fewer people, no verification" {
	new_signer bob
	mkdir -p "$T/policy/tools"
	printf '\ntiers:\n  high: {threshold: 2}\n' >>"$T/policy/policy.yaml"
	ask note=two
	ID=$(ask_id)
	sign "$ID"
	keep
	edit "UPDATE approval SET threshold = 1, state = 'approved', signed = 1"
	refused approval_edited two
	run_sbx 77 sbx-approve sign "$ID" --key "$T/bob" </dev/null
	put_back
	edit "UPDATE approval SET threshold = 1"
	run_sbx 77 sbx-approve sign "$ID" --key "$T/bob" </dev/null
	assert_contains "$stderr" approval_edited
	put_back
	sign "$ID" bob
	RC=0 ask note=two
	assert_json '.approval.signers | length' 2
}

@test "a used approval set back: the database refuses while it has the consumption, the record afterwards" {
	local code sql first note=0
	while IFS='|' read -r code sql; do
		note=$((note + 1))
		approved "$note"
		RC=0 ask note="$note"
		first=$(member .call.id <<<"$output")
		edit "${sql//@/$ID}"
		refused "$code" "$note"
		# The database knows again what the record says: the next one asks anew, and what was used stays used.
		assert_equal "$(edit "SELECT state, call FROM approval WHERE id = '$ID'")" "claimed|$first"
		ask note="$note"
		[ "$(ask_id)" != "$ID" ]
	done <<-'EOF'
		approval_spent|UPDATE approval SET state = 'approved', call = NULL WHERE id = '@'
		approval_replayed|UPDATE approval SET state = 'approved', call = NULL WHERE id = '@'; DELETE FROM consumption WHERE approval = '@'
		approval_replayed|UPDATE approval SET state = 'approved', call = 'x', round = 7 WHERE id = '@'
	EOF
	assert_equal "$(events | grep -o corrected | wc -l)" 3
	run_sbx 0 sbx-audit verify
}

@test "a used approval set back to a call that had given it back" {
	claim() { # RC
		sbx-policy cred_apply >"$T/call.json" 2>/dev/null
		run_sbx "$1" sbx-approve <"$T/call.json"
		printf '%s' "$output" >"$T/claimed.json"
	}
	claim 75
	ID=$(ask_id)
	sign "$ID"
	claim 0
	local first second
	first=$(member .call.id <<<"$output")
	# No record, no credential: the first call gives it back.
	chmod 666 "$RECORD"
	run bash -c "sbx-cred sbx-run <'$T/claimed.json' >/dev/null 2>&1 3>&-"
	chmod 600 "$RECORD"
	claim 0
	second=$(member .call.id <<<"$output")
	[ "$first" != "$second" ]
	# The proof of the first call is still there; it is not that of the second.
	edit "DELETE FROM consumption WHERE call = '$second'; UPDATE approval SET call = '$first', round = 0"
	claim 77
	assert_call approval_replayed
	assert_equal "$(edit "SELECT call FROM approval")" "$second"
	claim 75
	[ "$(ask_id)" != "$ID" ]
}

@test "a denied request set back to approved" {
	approved denied
	keep
	run_sbx 0 sbx-approve deny "$ID"
	edit "UPDATE approval SET state = 'approved', denied = NULL, denied_by = NULL"
	refused approval_denied denied
	put_back
	RC=0 ask note=denied
}

@test "a database that was restored from a copy made before the claim" {
	approved restored
	cp "$DB" "$T/copy"
	# The copy is as good as the database until it is used.
	cp "$T/copy" "$DB"
	RC=0 ask note=restored
	cp "$T/copy" "$DB"
	refused approval_replayed restored
	ask note=restored
	[ "$(ask_id)" != "$ID" ]
	# And the older copy, in which there is no such request: it is asked for again, and nothing is signed.
	cp "$T/copy" "$DB"
	ask note=another
	assert_json '.approval.signers | length' 0
}

@test "a database that is gone: everything is asked for again, and no signature fits" {
	approved gone
	edit "SELECT writefile('$T/armor', armor) FROM signature" >/dev/null
	rm "$DB"
	ask note=gone
	local new
	new=$(ask_id)
	[ "$new" != "$ID" ]
	run --separate-stderr bash -c "{ printf 'accept $new %s\n' \$(stat -c %s '$T/armor'); cat '$T/armor'; } | sbx-approve --desk dana 3>&-"
	assert_contains "$output" "error signature_invalid 77 "
	sign "$new"
	RC=0 ask note=gone
}

@test "a signature that was made for another installation" {
	approved elsewhere
	local here=$ID there armor text
	armor=$(edit "SELECT hex(armor) FROM signature")
	text=$(edit "SELECT hex(text) FROM approval")
	mv "$T/var" "$T/first"
	ask note=elsewhere
	there=$(ask_id)
	[ "$(cat "$T/var/installation")" != "$(cat "$T/first/installation")" ]
	keep
	# Its signature, its text with its signature, its whole database.
	edit "INSERT INTO signature (approval, signer, key_sha256, armor, at) VALUES ('$there', 'alice', '', x'$armor', 1);
		UPDATE approval SET state = 'approved', signed = 1"
	refused signature_invalid elsewhere
	edit "UPDATE approval SET text = x'$text'"
	refused approval_mismatch elsewhere
	cp "$T/first/approvals.db" "$DB"
	ask note=elsewhere
	[ "$(ask_id)" != "$here" ]
	cp "$T/first/approvals.db" "$DB"
	edit "UPDATE approval SET subject = '$(member .policy.subject_sha256 <"$T/call.json")'"
	refused approval_edited elsewhere
	put_back
	sign "$there"
	RC=0 ask note=elsewhere
	rm -rf "$T/var"
	mv "$T/first" "$T/var"
	RC=0 ask note=elsewhere
	assert_json .approval.id "$here"
}

@test "a record that was cut, replaced or restored lets nothing be claimed" {
	run_sbx 0 sbx-call true
	cp "$RECORD" "$T/older"
	approved record
	keep
	local requested
	requested=$(grep -n '"event":"approval.requested"' "$RECORD" | cut -d: -f1)
	# An older copy. It goes on from where it was, and does not come to the signed head any more.
	cp "$T/older" "$RECORD" && rm "$T/var/audit.lock"
	refused approval_head_missing record
	put_back
	# Made anew.
	rm "$RECORD" "$T/var/audit.lock"
	refused approval_head_missing record
	put_back
	# Cut behind the head: neither request nor signature happened in it.
	head -n "$((requested - 1))" "$T/kept/audit.jsonl" >"$RECORD" && rm "$T/var/audit.lock"
	refused approval_unrecorded record
	put_back
	head -n "$requested" "$T/kept/audit.jsonl" >"$RECORD" && rm "$T/var/audit.lock"
	refused approval_unrecorded record
	put_back
	# A line less, a byte changed, behind the head: the chain says so.
	sed -i "${requested}d" "$RECORD"
	RC=78 refused audit_unsafe record
	put_back
	sed -i "${requested}s/alice/ALICE/; ${requested}s/requested/Requested/" "$RECORD"
	RC=78 refused audit_unsafe record
	put_back
	# The line of the claim taken out, and the database set back.
	RC=0 ask note=record
	run_sbx 0 sbx-call true
	sed -i '/"event":"approval.claimed"/d' "$RECORD"
	edit "UPDATE approval SET state = 'approved', call = NULL; DELETE FROM consumption"
	RC=78 refused audit_unsafe record
	put_back
	RC=0 ask note=record
	assert_json .approval.id "$ID"
}

@test "a record with much behind the request is searched, and in time" {
	approved long
	local i
	keep
	RC=0 ask note=long
	for i in 1 2 3 4 5; do
		ask note="n$i"
	done
	edit "UPDATE approval SET state = 'approved', call = NULL WHERE id = '$ID'; DELETE FROM consumption; UPDATE approval SET state = 'expired' WHERE state = 'waiting'"
	refused approval_replayed long
}

# --- clocks ---

# clocks: $AT SECONDS COMMAND... runs it with the wall clock standing at them. BOOT: so much more on the other clocks; BOOT_ID: the name of the boot.
clocks() {
	AT=$T/at
	mkdir -p "$T/etc"
	cat >"$AT" <<-EOF
		#!/bin/bash
		spaces=(-m)
		[ -z "\${BOOT-}" ] || spaces+=(-T --boottime "\$BOOT" --monotonic "\$BOOT" --fork)
		exec unshare "\${spaces[@]}" bash -c '
			mount -t tmpfs tmpfs $T/etc && mkdir $T/etc/up $T/etc/work &&
			mount -t overlay overlay -o lowerdir=/etc,upperdir=$T/etc/up,workdir=$T/etc/work /etc &&
			echo "\$1" >/etc/sbx-test-wall && echo $SBX_BUILD/test/wall >/etc/ld.so.preload || exit 90
			if [ -n "\${BOOT_ID-}" ]; then
				echo "\$BOOT_ID" >$T/etc/up/boot-id
				mount --bind $T/etc/up/boot-id /proc/sys/kernel/random/boot_id || exit 90
			fi
			shift
			exec "\$@"' at "\$@"
	EOF
	chmod 755 "$AT"
}

# ask_at SECONDS NOTE: the call through both filters with the clock there.
ask_at() {
	"$AT" "$1" sbx-policy apply_true note="$2" >"$T/call.json" 2>/dev/null
	run_sbx "${RC:-75}" "$AT" "$1" sbx-approve <"$T/call.json"
}

@test "its time: not before it was asked for, not a second after it" {
	[ "$(id -u)" -eq 0 ] || skip 'shifts clocks in a mount namespace: needs root'
	clocks
	ask note=signed
	ID=$(ask_id)
	local created expires unsigned later
	created=$(edit "SELECT created FROM approval")
	expires=$((created + 1800))
	ask note=unsigned
	unsigned=$(ask_id)
	later=$(edit "SELECT created FROM approval WHERE id = '$unsigned'")
	sign "$ID"
	keep
	# The last second, and the first one after it: it is over, and the call asks anew.
	RC=0 ask_at "$((expires - 1))" signed
	assert_json .approval.id "$ID"
	put_back
	RC=75 ask_at "$expires" signed
	[ "$(ask_id)" != "$ID" ]
	assert_equal "$(jq -r 'select(.event == "approval.expired") | .approval' "$RECORD" | head -n 1)" "$ID"
	put_back
	run_sbx 77 "$AT" "$((later + 1800))" sbx-approve sign "$unsigned" --key "$T/alice" </dev/null
	assert_contains "$stderr" approval_expired
	edit "SELECT writefile('$T/text', text) FROM approval WHERE id = '$unsigned'" >/dev/null
	{
		printf 'accept %s %s\n' "$unsigned" "$(the_armor "$T/text" | wc -c)"
		cat "$T/text.sig"
	} >"$T/request"
	run_sbx 77 "$AT" "$((later + 1800))" sbx-approve --desk dana <"$T/request"
	assert_contains "$output" 'error approval_expired 77 '
	put_back
	run_sbx 0 "$AT" "$((later + 1799))" sbx-approve sign "$unsigned" --key "$T/alice" </dev/null
	put_back
	# A clock that was set back: a minute is nothing, more is.
	RC=0 ask_at "$((created - 20))" signed
	put_back
	RC=77 ask_at "$((created - 61))" signed
	assert_call approval_not_yet
	run_sbx 77 "$AT" "$((created - 70))" sbx-approve sign "$unsigned" --key "$T/alice" </dev/null
	assert_contains "$stderr" approval_not_yet
	RC=71 ask_at "$((created - 70))" new
	assert_call clock_went_back
}

@test "a clock that was set back gives no time, whatever the database says" {
	[ "$(id -u)" -eq 0 ] || skip 'shifts clocks in a mount namespace: needs root'
	clocks
	approved back
	local created
	created=$(edit "SELECT created FROM approval")
	# Something happens later, and then the clock goes back behind it.
	"$AT" "$((created + 300))" sbx-policy true >/dev/null 2>&1
	keep
	RC=71 ask_at "$((created + 100))" back
	assert_call clock_went_back
	RC=0 ask_at "$((created + 250))" back
	put_back
	# The database remembers when it was used last; an edit makes it forget, the record does not.
	ask_at "$((created + 290))" other
	RC=71 ask_at "$((created + 100))" back
	assert_call clock_went_back
	edit "UPDATE clock SET seen = 0"
	RC=71 ask_at "$((created + 100))" back
	assert_call clock_went_back
}

@test "one boot: the clock that nobody can set counts too; after a reboot the wall clock alone does" {
	[ "$(id -u)" -eq 0 ] || skip 'shifts clocks in a mount namespace: needs root'
	clocks
	approved boot
	local created
	created=$(edit "SELECT created FROM approval")
	keep
	# The wall clock stands still or was set back, half an hour passes.
	BOOT=1700 RC=0 ask_at "$((created + 10))" boot
	put_back
	BOOT=1801 RC=75 ask_at "$((created + 10))" boot
	[ "$(ask_id)" != "$ID" ]
	put_back
	BOOT=1801 BOOT_ID=11111111-2222-3333-4444-555555555555 RC=0 ask_at "$((created + 10))" boot
	put_back
	BOOT_ID=11111111-2222-3333-4444-555555555555 RC=75 ask_at "$((created + 1800))" boot
	[ "$(ask_id)" != "$ID" ]
}

# --- other processes, and the disk ---

# hold SQL...: a process that has said this to the database and stays.
hold() {
	mkfifo "$T/hold"
	sqlite3 "$DB" <"$T/hold" >"$T/held" 3>&- &
	HOLDER=$!
	exec {HOLD}>"$T/hold"
	printf '%s\n' "$@" "SELECT 'held';" >&"$HOLD"
	wait_until 10 grep -q held "$T/held"
}

let_go() {
	exec {HOLD}>&-
	wait "$HOLDER" || true
	HOLDER=''
	rm "$T/hold"
}

@test "a database that another process holds: a bounded wait, nothing spent" {
	approved writer
	local writer=$ID
	approved reader
	# Both waits at once.
	cp -a "$T" "$T.2"
	(
		set -e
		T=$T.2
		DB=$T/var/approvals.db RECORD=$T/var/audit.jsonl SBX_CONFIG=$T/sbx.yaml
		# A reader keeps the commit out, not the transaction: the claim is in the record by then, and taken back.
		hold 'BEGIN;' 'SELECT count(*) FROM approval;'
		RC=69 refused store_busy reader
		let_go
		assert_contains "$(events)" "granted claimed released"
		RC=0 ask note=reader
		assert_json .approval.id "$ID"
	) >"$T/second" 2>&1 &
	local second=$!
	hold 'BEGIN IMMEDIATE;'
	local began=$SECONDS
	RC=69 refused store_busy writer
	[ $((SECONDS - began)) -lt 20 ]
	let_go
	refute_contains "$(events)" claimed
	RC=0 ask note=writer
	assert_json .approval.id "$writer"
	wait "$second" || {
		cat "$T/second"
		return 1
	}
	run_sbx 0 sbx-audit verify
}

@test "a full disk, at the event and at the transaction: nothing spent" {
	[ "$(id -u)" -eq 0 ] || skip 'mounts a small file system: needs root'
	approved full
	# SQLite leaves a page alone that would get the same second again: one write less than in a later one.
	edit 'UPDATE clock SET seen = seen - 5'
	keep
	run_sbx 0 unshare -m bash -c '
		mount -t tmpfs -o size=4m,mode=700 tmpfs "$T/var" && cp -a "$T/kept/." "$T/var/" || exit 90
		sbx-policy apply_true note=full >"$T/call.json" 2>/dev/null || exit 91
		sbx-policy apply_true note=full >"$T/call2.json" 2>/dev/null || exit 91
		dd if=/dev/zero of="$T/var/filler" bs=4k 2>/dev/null
		sbx-approve <"$T/call.json" 2>/dev/null | "$0" -r .error.code
		truncate -s -128k "$T/var/filler" # room for the database, and none for the outcome of what would be done
		sbx-approve <"$T/call2.json" 2>/dev/null | "$0" -r .error.code
		rm "$T/var/filler"
		grep -c approval.claimed "$T/var/audit.jsonl"
		sbx-policy apply_true note=full 2>/dev/null | sbx-approve 2>/dev/null | "$0" -r .approval.state' "$SBX_BUILD/test/jq"
	assert_equal "${lines[*]}" 'store_unavailable audit_unavailable 0 claimed'
	# The event was written, and the transaction finds no room: at its journal, at its pages, at its end.
	local point tried=0
	sbx-policy apply_true note=full >"$T/call.json" 2>/dev/null
	"$SBX_BUILD/test/fault_at" --log "$T/all" count -- sbx-approve <"$T/call.json" >/dev/null 2>&1
	while read -r point; do
		put_back
		sbx-policy apply_true note=full >"$T/call.json" 2>/dev/null
		run_sbx 74 "$SBX_BUILD/test/fault_at" fail "$point" 28 -- sbx-approve <"$T/call.json"
		assert_call store_unavailable
		assert_equal "$(events)" "requested granted claimed released"
		RC=0 ask note=full
		assert_json .approval.id "$ID"
		tried=$((tried + 1))
	done < <(awk '{this = $2 "/" $3; n[this]++} this == "write/audit.jsonl" {said = 1}
		said && /(pwrite|fdatasync) approvals\.db/ && !seen[this]++ {print this "/" n[this]}' "$T/all")
	[ "$tried" -eq 4 ]
}

# 300 rounds: test/heavy/race.bats.
@test "8 processes race for one approval, 3 rounds: one wins each" {
	race_rounds 3
	run_sbx 0 sbx-audit verify
}
