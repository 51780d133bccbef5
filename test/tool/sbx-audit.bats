# The record: the last stage, the reader, the mender.

load ../helpers

setup() {
	fresh_state
	run_sbx 0 sbx-audit head # makes the state directory
	RECORD=$T/var/audit.jsonl
}

# run_to FILE TOOL...: everything up to the last stage.
run_to() {
	local out=$1
	shift
	sbx-policy "$@" 2>/dev/null | sbx-approve 2>/dev/null | sbx-cred sbx-run >"$out" 2>/dev/null || true
}

# events CALL: the names of its events, in order.
events() {
	jq -r --arg id "$1" 'select(.request_id == $id) | .event' "$RECORD" | paste -sd' '
}

# results CALL: its tool.result events.
results() {
	jq -c --arg id "$1" 'select(.request_id == $id and .event == "tool.result")' "$RECORD"
}

# age SECONDS PATH...: as if nothing had touched them since.
age() {
	local seconds=$1
	shift
	touch -d "@$(($(date +%s) - seconds))" "$@"
}

@test "usage, help, version, bad settings" {
	run_sbx 0 sbx-audit --help
	assert_contains "$output" 'usage: sbx-audit'
	run_sbx 0 sbx-audit --version
	run_sbx 74 bash -c 'sbx-audit --help >/dev/full'
	for words in --unknown 'show --unknown' 'show extra' 'show --head x' 'verify --event x' 'head x' result 'result a b' nonsense \
		'--mend a b' '--principal x show' '--principal x --peer result y' '--principal x'; do
		run_sbx 64 sbx-audit $words </dev/null
	done
	run_sbx 64 sbx-audit nonsense
	assert_equal "${stderr%%$'\n'*}" 'sbx-audit: there is no command "nonsense"'
	run_sbx 64 sbx-audit result
	assert_equal "${stderr%%$'\n'*}" 'sbx-audit: result wants an ID'
	run_sbx 64 sbx-audit result zzz
	assert_call bad_id
	for words in yesterday 5 d -1d 1w 1000001d ''; do
		run_sbx 64 sbx-audit show --since "$words"
	done
	printf 'colour: red\n' >>"$T/sbx.yaml"
	run_sbx 78 sbx-audit show
	run_sbx 78 sbx-audit </dev/null
	assert_call
}

@test "the last stage records the outcome, keeps the object and passes it on" {
	run_to "$T/object" true
	run_sbx 0 sbx-audit <"$T/object"
	assert_call
	assert_json '[.seals[].stage] | last' audit
	assert_json .result.state completed
	local id
	id=$(member .call.id <<<"$output")
	assert_equal "$(events "$id")" 'tool.request guardrail.decision sandbox.started sandbox.completed tool.result'
	assert_equal "$(results "$id" | jq -c '[.state, .class, .mended]')" '["completed",0,null]'
	assert_equal "$(cat "$T/var/runs/$id/object")" "$output"
	[ -e "$T/var/runs/$id/ended" ]
	run_sbx 0 sbx-audit verify
	assert_contains "$output" 'completeness: ok'
}

@test "a command that failed, and a call that was denied" {
	run_to "$T/object" fail status=3
	run_sbx 1 sbx-audit <"$T/object"
	assert_json .result.exit 3
	assert_equal "$(results "$(member .call.id <<<"$output")" | jq -c '[.state, .class]')" '["failed",1]'
	run_to "$T/object" nosuchtool
	run_sbx 77 sbx-audit <"$T/object"
	assert_call unknown_tool
	local id
	id=$(member .call.id <<<"$output")
	assert_equal "$(results "$id" | jq -c '[.code, .stage, .class]')" '["unknown_tool","policy",77]'
	[ -e "$T/var/runs/$id/ended.brief" ]
}

@test "input that is no sealed call is refused and recorded" {
	run_to "$T/object" true
	local text
	text=$(cat "$T/object")
	check() {
		run_sbx "$1" sbx-audit <"$T/in"
		assert_call "$2"
		assert_equal "$(tail -n 1 "$RECORD" | jq -c '[.event, .code, .class, .request_id]')" "[\"tool.result\",\"$2\",$1,null]"
	}
	: >"$T/in" && check 76 no_input
	printf '%s' "${text:0:300}" >"$T/in" && check 76 json_truncated
	printf '%s\n%s\n' "$text" "$text" >"$T/in" && check 76 json_trailing
	printf '{"sbx":1}' >"$T/in" && check 76 bad_call
	printf '{"sbx":1,"sbx":1}' >"$T/in" && check 76 json_duplicate_key
	printf '{"sbx":1.5}' >"$T/in" && check 76 json_number
	head -c 1048577 /dev/zero | tr '\0' ' ' >"$T/in" && check 76 too_large
	jq -c '.call.tool = "echo"' "$T/object" >"$T/in" && check 77 seal_invalid
	jq -c 'del(.seals[-1])' "$T/object" >"$T/in" && check 77 seal_invalid
	jq -c '.result.exit = 1' "$T/object" >"$T/in" && check 77 seal_invalid
	printf '{"sbx":1,"error":{"stage":"run","class":69,"code":"workspace_busy","message":"m"}}' >"$T/in" && check 69 workspace_busy
	run_sbx 0 sbx-audit <"$T/object"
	run_sbx 77 sbx-audit <"$T/object"
	assert_call call_reused
	run_sbx 76 bash -c 'sbx-audit <&-'
	assert_call no_input
	run_sbx 0 sbx-audit verify
}

@test "a seal that is too old is refused" {
	run_to "$T/object" true
	# The clock cannot be turned, but the age of the newest seal is sealed too: any other time is no seal.
	jq -c '.seals[-1].time = "2020-01-01T00:00:00.000000Z"' "$T/object" >"$T/old"
	run_sbx 77 sbx-audit <"$T/old"
	assert_call seal_invalid
}

@test "INT, TERM and HUP do not end the last stage" {
	run_to "$T/object" true
	mkfifo "$T/pipe"
	sbx-audit <"$T/pipe" >"$T/out" 2>/dev/null 3>&- &
	local pid=$!
	exec 4>"$T/pipe"
	# HUP, INT and TERM: bits 0, 1 and 14.
	ignores_signals() { [ $((0x$(awk '/^SigIgn/ {print substr($2, 9)}' "/proc/$pid/status") & 0x4003)) -eq $((0x4003)) ]; }
	wait_until 5 ignores_signals
	kill -INT "$pid"
	kill -TERM "$pid"
	kill -HUP "$pid"
	cat "$T/object" >&4
	exec 4>&-
	wait "$pid"
	assert_equal "$(jq -r .result.state "$T/out")" completed
}

@test "a signal that was there before the program does not end the last stage" {
	run_to "$T/object" true
	run_sbx 0 env --block-signal=TERM sh -c 'kill -TERM $$; exec sbx-audit' <"$T/object"
	assert_json .result.state completed
}

@test "without a record the object still goes out, and is no success" {
	run_to "$T/object" true
	chmod 644 "$RECORD"
	run_sbx 74 sbx-audit <"$T/object"
	assert_call audit_unsafe
	assert_json .result.state completed
	assert_json .error.stage audit
	assert_contains "$stderr" 'not in the record'
	assert_contains "$stderr" 'chmod'
	chmod 600 "$RECORD"
	run_sbx 74 sbx-audit result "$(member .call.id <<<"$output")" # it was kept
	assert_json .result.state completed
	run_to "$T/object" true
	run_sbx 0 sbx-audit <"$T/object"
	# And no call begins without one.
	chmod 644 "$RECORD"
	run_to "$T/object" true
	run_sbx 78 sbx-audit <"$T/object"
	assert_call audit_unsafe
	assert_json .result null
}

@test "an error of an earlier stage is not replaced by one of the record" {
	run_to "$T/object" nosuchtool
	chmod 644 "$RECORD"
	run_sbx 77 sbx-audit <"$T/object"
	assert_call unknown_tool
}

@test "a failed last write is 74, and the result waits" {
	run_to "$T/object" true
	run_sbx 74 bash -c "sbx-audit <'$T/object' >/dev/full"
	local id
	id=$(jq -r .call.id "$T/object")
	run_sbx 0 sbx-audit result "$id"
	assert_json .result.state completed
	run_to "$T/object" true
	run_sbx 74 bash -c "sbx-audit <'$T/object' >&-"
	run_sbx 74 bash -c 'sbx-audit show >/dev/full'
	run_sbx 74 bash -c 'sbx-audit verify >/dev/full'
	run_sbx 74 bash -c 'sbx-audit head >/dev/full'
	run_sbx 74 bash -c "sbx-audit result $id >/dev/full"
}

@test "show: a timeline, filters, JSON" {
	run_to "$T/object" true
	run_sbx 0 sbx-audit <"$T/object"
	local id
	id=$(member .call.id <<<"$output")
	run_to "$T/object" nosuchtool
	run_sbx 77 sbx-audit <"$T/object"
	run_sbx 0 sbx-audit show
	assert_contains "$output" 'audit.open'
	assert_equal "$(grep -c . <<<"$output")" "$(grep -c . "$RECORD")"
	run_sbx 66 sbx-audit show --request-id ffff0000ffff
	assert_equal "$output" ""
	assert_contains "$stderr" 'the record has no such call (call_unknown)'
	run_sbx 0 sbx-audit show --request-id "${id:0:10}" --event no.such
	run_sbx 0 sbx-audit show --request-id "${id:0:10}"
	assert_equal "$(grep -c . <<<"$output")" 5
	assert_contains "$output" "${id:0:8}  sandbox.completed    artifacts=[] exit=0 isolation=local kernel=$(uname -r | tr -d '\n')"
	assert_contains "$output" " state=completed"
	assert_contains "$output" '+0.000s'
	run_sbx 0 sbx-audit show --request-id "$id" --event tool.result --json
	assert_json '[.event, .state, .request_id] | join(" ")' "tool.result completed $id"
	run_sbx 0 sbx-audit show --event nothing.such
	assert_equal "$output" ''
	run_sbx 0 sbx-audit show --since 1h
	assert_contains "$output" 'tool.request'
	run_sbx 0 sbx-audit show --since 1d
	assert_contains "$output" 'tool.request'
	run_sbx 0 sbx-audit show --since 2099-01-01T00:00:00Z
	assert_equal "$output" ''
}

@test "show: what an agent chose cannot drive a terminal" {
	printf '{"tool":"true","params":{},"client":"\\u001b[31mred\\u0007\\u202e=x y"}' | sbx-policy >/dev/null 2>&1
	run_sbx 0 sbx-audit show --event tool.request
	assert_contains "$output" 'client="'
	assert_equal "$(LC_ALL=C tr -d '\40-\176\n' <<<"$output")" ''
}

@test "what is written was scrubbed" {
	run_sbx 77 sbx-policy nosuchtool password=hunter2hunter2 note=AKIAIOSFODNN7EXAMPLE
	run grep -E 'hunter2|AKIAIOSF' "$RECORD"
	assert_equal "$status" 1
	run grep -c 'REDACTED:aws-key' "$RECORD"
	assert_equal "$output" 1
}

@test "verify: intact, edited, cut" {
	run_to "$T/object" true
	run_sbx 0 sbx-audit <"$T/object"
	cp "$RECORD" "$T/copy"
	run_sbx 0 sbx-audit verify
	assert_contains "$output" 'integrity: ok'
	assert_contains "$output" 'tail: whole'
	run_sbx 0 sbx-audit head
	local head=${output#* }
	run_sbx 0 sbx-audit verify --head "$head" --json
	assert_json '[.integrity, .records, .torn, .torn_tail] | map(tostring) | join(" ")' "ok $(grep -c . "$RECORD") 0 0"
	assert_json .head "$head"
	run_sbx 0 sbx-audit verify --head "$(head -n 2 "$RECORD" | tail -n 1 | tr -d '\n' | sha256sum | cut -d' ' -f1)"

	sed -i '3s/"effect":"allow"/"effect":"abhor"/' "$RECORD"
	run_sbx 1 sbx-audit verify
	assert_contains "$output" 'integrity: BROKEN: the record is broken at line 4'
	run_sbx 1 sbx-audit verify --json
	assert_json '[.integrity, .code] | join(" ")' 'broken audit_broken'

	# Cut at a line boundary it is a legal chain; the head that was seen before says that something is gone.
	sed '$d' "$T/copy" >"$RECORD"
	run_sbx 0 sbx-audit verify
	run_sbx 1 sbx-audit verify --head "$head"
	assert_contains "$output" 'BROKEN'
	run_sbx 0 sbx-audit head
	[ "${output#* }" != "$head" ]
	# And nothing runs on it.
	run_sbx 78 sbx-policy true
	assert_call audit_unsafe

	cp "$T/copy" "$RECORD"
	run_sbx 0 sbx-audit verify --head "$head"
	run_sbx 0 sbx-policy true
}

@test "verify: half a line with another written on to it, and a torn tail" {
	run_to "$T/object" true
	run_sbx 0 sbx-audit <"$T/object"
	cp "$RECORD" "$T/copy"
	cp "$T/var/audit.lock" "$T/lock"
	{ sed '$d' "$T/copy"; tail -n 1 "$T/copy" | head -c 100; tail -n 1 "$T/copy"; } >"$RECORD"
	run_sbx 1 sbx-audit verify
	{ cat "$T/copy"; tail -n 1 "$T/copy" | head -c 100; } >"$RECORD"
	run_sbx 0 sbx-audit verify
	assert_contains "$output" 'tail: 100 bytes'
	run_sbx 0 sbx-policy true
	run_sbx 0 sbx-audit verify
	assert_contains "$output" '1 torn by crashes and declared'
	run_sbx 0 sbx-audit show --event audit.torn --json
	assert_json .torn_bytes 100
}

@test "verify: what was begun and has no end" {
	run_sbx 0 sbx-policy true
	run_sbx 0 sbx-audit verify
	assert_contains "$output" 'completeness: gaps'
	assert_contains "$output" 'no result'
	run_sbx 0 sbx-audit verify --json
	assert_json '.without_result | length' 1
}

@test "result: the same object for the same principal, and one answer for all others" {
	sbx-policy --principal agent true | sbx-approve | sbx-cred sbx-run >"$T/object" 2>/dev/null
	run_sbx 0 sbx-audit <"$T/object"
	local first=$output id
	id=$(member .call.id <<<"$output")
	run_sbx 0 sbx-audit --principal agent result "$id"
	assert_equal "$output" "$first"
	run_sbx 66 sbx-audit --principal other result "$id"
	assert_call result_unknown
	local other=$output
	run_sbx 66 sbx-audit result "$id"
	assert_call result_unknown
	run_sbx 66 sbx-audit --principal other result 0123456789abcdef0123456789abcdef
	assert_equal "$output" "$other"
	for wrong in '' ../../etc 0123 "${id^^}"; do
		run_sbx 64 sbx-audit --principal agent result "$wrong"
		assert_call bad_id
	done
	run_sbx 77 sbx-audit --peer result "$id" </dev/null
	assert_call no_principal
	run_sbx 77 sbx-audit --principal -x result "$id"
	assert_call no_principal

	age 90000 "$T/var/runs/$id/object"
	run_sbx 66 sbx-audit --principal agent result "$id"
	age 80000 "$T/var/runs/$id/object"
	run_sbx 0 sbx-audit --principal agent result "$id"
	sed -i 's/"exit":0/"exit":1/' "$T/var/runs/$id/object"
	run_sbx 77 sbx-audit --principal agent result "$id"
	assert_call seal_invalid
}

@test "result: a call that still runs" {
	run_sbx 0 sbx-policy --principal agent true
	local id
	id=$(member .call.id <<<"$output")
	run_sbx 69 sbx-audit --principal agent result "$id"
	assert_call call_running
	run_sbx 66 sbx-audit --principal other result "$id"
	assert_call result_unknown
}

@test "mend: a call that nobody took further" {
	run_sbx 0 sbx-policy --principal agent true
	local id
	id=$(member .call.id <<<"$output")
	run_sbx 0 sbx-audit --mend "$id"
	assert_contains "$stderr" 'nothing to mend'
	assert_equal "$(results "$id")" ''
	age 70 "$T/var/runs/$id/policy"
	run_sbx 0 sbx-audit --mend "$id"
	assert_equal "$(results "$id")" ''
	age 80 "$T/var/runs/$id/policy"
	run_sbx 0 sbx-audit --mend "$id"
	assert_equal "$(results "$id" | jq -c '[.state, .class, .mended]')" '["cancelled",1,true]'
	# Once, however often.
	run_sbx 0 sbx-audit --mend "$id"
	run_sbx 0 sbx-audit --mend
	assert_equal "$(results "$id" | grep -c .)" 1
	run_sbx 1 sbx-audit --principal agent result "$id"
	assert_call call_mended
	assert_contains "$output" cancelled
	run_sbx 66 sbx-audit --principal other result "$id"
	# No stage takes it up again.
	run_sbx 66 sbx-audit --mend ffffffffffffffffffffffffffffffff
	run_sbx 66 sbx-audit --mend ../runs
}

@test "mend: a stage comes too late for a mended call" {
	sbx-policy true >"$T/policy-object" 2>/dev/null
	local id
	id=$(jq -r .call.id "$T/policy-object")
	age 80 "$T/var/runs/$id/policy"
	run_sbx 0 sbx-audit --mend "$id"
	run_sbx 77 sbx-approve <"$T/policy-object"
	assert_call call_closed
}

@test "mend: every process of the call was killed" {
	sbx-policy --principal agent sleep 2>/dev/null | sbx-approve 2>/dev/null | setsid sbx-cred sbx-run >/dev/null 2>&1 3>&- &
	local id
	started() {
		id=$(jq -r 'select(.event == "sandbox.started") | .request_id' "$RECORD")
		[ -n "$id" ]
	}
	wait_until 10 started
	run_sbx 69 sbx-audit --principal agent result "$id"
	assert_call call_running
	run_sbx 0 sbx-audit --mend "$id"
	assert_contains "$stderr" 'still works'
	# Those that hold this call's locks.
	local pids
	pids=$(for p in /proc/[0-9]*; do
		ls -l "$p/fd" 2>/dev/null | grep -q "runs/$id/" && echo "${p#/proc/}"
	done || true)
	[ -n "$pids" ]
	# Stopped first, so that none sees another one end. Where sbx-run still did, it recorded a cancel, and that stands.
	local want
	kill -STOP $pids 2>/dev/null || true
	kill -9 $pids 2>/dev/null || true
	mended() { sbx-audit --mend "$id" && [ "$(results "$id" | grep -c .)" = 1 ]; }
	wait_until 20 mended
	case $(results "$id" | jq -c '[.state, .class, .mended]') in
	'["unknown",3,true]') want=3 ;;
	'["cancelled",1,true]') want=1 ;;
	*) results "$id" && return 1 ;;
	esac
	run_sbx "$want" sbx-audit --principal agent result "$id"
	assert_call call_mended
	run_sbx 0 sbx-audit --mend
	assert_equal "$(results "$id" | grep -c .)" 1
	run_sbx 0 sbx-audit verify
	assert_contains "$output" 'completeness: ok'
}

@test "mend: what sandbox.completed had recorded is the result" {
	run_to "$T/object" fail status=3
	local id
	id=$(jq -r .call.id "$T/object")
	age 80 "$T/var/runs/$id/"*
	run_sbx 0 sbx-audit --mend
	assert_contains "$stderr" '1 mended'
	assert_equal "$(results "$id" | jq -c '[.state, .class, .mended]')" '["failed",1,true]'
	run_sbx 77 sbx-audit <"$T/object"
	assert_call call_closed
}

@test "mend: two at once, one result" {
	run_sbx 0 sbx-policy true
	local id
	id=$(member .call.id <<<"$output")
	age 80 "$T/var/runs/$id/policy"
	for i in 1 2 3 4; do
		sbx-audit --mend 2>/dev/null 3>&- &
	done
	wait
	assert_equal "$(results "$id" | grep -c .)" 1
}

@test "mend: a helper that fails leaves the call for the next time" {
	mkdir "$T/bin"
	cp "$SBX_BIN/sbx-audit" "$T/bin/"
	printf '#!/bin/sh\nexit 9\n' >"$T/bin/sbx-run"
	printf '#!/bin/sh\nexit 0\n' >"$T/bin/sbx-cred"
	chmod 755 "$T/bin/"*
	run_to "$T/object" true
	local id
	id=$(jq -r .call.id "$T/object")
	age 80 "$T/var/runs/$id/"*
	run_sbx 69 "$T/bin/sbx-audit" --mend "$id"
	assert_contains "$stderr" 'sbx-run --mend ended with 9'
	assert_equal "$(results "$id")" ''
	run_sbx 69 "$T/bin/sbx-audit" --mend
	# As last stage it is in nobody's way, and not tried again at once.
	run_to "$T/other" true
	run_sbx 0 "$T/bin/sbx-audit" <"$T/other"
	refute_contains "$stderr" 'ended with 9'
	run_sbx 0 sbx-audit --mend "$id"
	assert_equal "$(results "$id" | jq -c '[.state, .mended]')" '["completed",true]'
}

@test "mend: the last stage does it on its way" {
	run_sbx 0 sbx-policy true
	local id
	id=$(member .call.id <<<"$output")
	age 80 "$T/var/runs/$id/policy"
	run_to "$T/object" true
	run_sbx 0 sbx-audit <"$T/object"
	assert_equal "$(results "$id" | jq -c '[.state, .mended]')" '["cancelled",true]'
}

@test "calls that are over are removed in time, those that run are not" {
	run_to "$T/object" true
	run_sbx 0 sbx-audit <"$T/object"
	local kept=$T/var/runs/$(member .call.id <<<"$output") brief
	run_to "$T/object" nosuchtool
	run_sbx 77 sbx-audit <"$T/object"
	brief=$T/var/runs/$(member .call.id <<<"$output")
	run_sbx 0 sbx-audit --mend
	[ -d "$kept" ]
	[ -d "$brief" ]
	age 80 "$kept/ended" "$brief/ended.brief"
	run_sbx 0 sbx-audit --mend
	[ -d "$kept" ]
	[ ! -e "$brief" ]
	age 86300 "$kept/ended"
	run_sbx 0 sbx-audit --mend
	[ -d "$kept" ]
	age 86500 "$kept/ended"
	flock "$kept/run" sbx-audit --mend
	[ -d "$kept" ]
	run_sbx 0 sbx-audit --mend
	[ ! -e "$kept" ]
	run_sbx 0 sbx-audit verify
}

@test "a record on a full disk refuses the act, and takes its outcome from the reserve" {
	unshare -m true || skip 'no mount namespace here'
	run_sbx 0 unshare -m bash -c '
		set -e
		rm -rf "$T/var" && mkdir -m 700 "$T/var" && mount -t tmpfs -o size=4m,mode=700 none "$T/var"
		sbx-policy true 2>/dev/null | sbx-approve | sbx-cred sbx-run >"$T/object"
		head -c 8m /dev/zero >"$T/var/stuff" || true
		rc=0; sbx-policy true >"$T/refused" 2>"$T/why" || rc=$?
		echo "refused $rc $(jq -r .error.code "$T/refused")"
		rc=0; sbx-audit <"$T/object" >"$T/out" 2>"$T/why" || rc=$?
		echo "outcome $rc $(jq -r .result.state "$T/out") $(tail -n 1 "$T/var/audit.jsonl" | jq -r .event)"
		sbx-audit verify | head -n 1
		rm "$T/var/stuff"
		sbx-policy true >/dev/null && echo again'
	assert_contains "$output" 'refused 74'
	assert_contains "$output" 'outcome 0 completed tool.result'
	assert_contains "$output" 'integrity: ok'
	assert_contains "$output" again
}
