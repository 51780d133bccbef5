#!/usr/bin/env bats
# sbx-mcp on a door of faults and timing (test/fakes/door), and on the real door where a test says so.

load ../helpers
load ../mcp

@test "help and version" {
	run_sbx 0 "$SBX_BIN/sbx-mcp" --help
	assert_contains "$output" "usage: sbx-mcp"
	run_sbx 0 "$SBX_BIN/sbx-mcp" -h
	run_sbx 0 "$SBX_BIN/sbx-mcp" --version
	assert_contains "$output" "sbx-mcp 0"
	run_sbx 0 "$SBX_BIN/sbx-mcp" -V
}

@test "usage errors are 64" {
	run_sbx 64 "$SBX_BIN/sbx-mcp" --nonsense
	assert_contains "$stderr" usage:
	run_sbx 64 "$SBX_BIN/sbx-mcp" stray
	run_sbx 64 "$SBX_BIN/sbx-mcp" --
	run_sbx 64 "$SBX_BIN/sbx-mcp" --ssh host
	local time
	for time in 5 5x -1s 1.5s 25h "" 99999999999999999999s; do
		run_sbx 64 "$SBX_BIN/sbx-mcp" --deadline "$time" -- "$DOOR" echo </dev/null
		assert_contains "$stderr" "--deadline is no time"
		run_sbx 64 "$SBX_BIN/sbx-mcp" --wait "$time" </dev/null
	done
	for time in 0s 500ms 2m 24h; do
		run_sbx 0 "$SBX_BIN/sbx-mcp" --deadline "$time" -- "$DOOR" echo </dev/null
	done
	# What sbx-approve would refuse at each call is refused at the start.
	for time in 31m 1h 24h; do
		run_sbx 64 "$SBX_BIN/sbx-mcp" --wait "$time" -- "$DOOR" echo </dev/null
		assert_contains "$stderr" "--wait is no time"
		assert_contains "$stderr" "up to 30m"
	done
	for time in 0s 500ms 30m; do
		run_sbx 0 "$SBX_BIN/sbx-mcp" --wait "$time" -- "$DOOR" echo </dev/null
	done
}

@test "a door that does not exist is 78" {
	run_sbx 78 "$SBX_BIN/sbx-mcp" -- no-such-program-anywhere </dev/null
	assert_contains "$stderr" missing_door
	run_sbx 78 "$SBX_BIN/sbx-mcp" -- /no/such/door </dev/null
	assert_contains "$stderr" missing_door
	run_sbx 0 "$SBX_BIN/sbx-mcp" -- true </dev/null
}

@test "closed stdin ends it, a full or closed stdout is 74" {
	run_sbx 0 bash -c '"$0" -- "$1" echo <&-' "$SBX_BIN/sbx-mcp" "$DOOR"
	run_sbx 74 bash -c 'echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}" | "$0" -- "$1" echo >/dev/full' "$SBX_BIN/sbx-mcp" "$DOOR"
	run_sbx 74 bash -c 'echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}" | "$0" -- "$1" echo >&-' "$SBX_BIN/sbx-mcp" "$DOOR"
	run_sbx 74 bash -c '"$0" --client-config cursor >/dev/full' "$SBX_BIN/sbx-mcp"
	run_sbx 74 bash -c '"$0" --help >/dev/full' "$SBX_BIN/sbx-mcp"
}

@test "every legacy revision: initialize, list, call" {
	local revision
	for revision in 2024-11-05 2025-03-26 2025-06-18 2025-11-25; do
		serve -- "$DOOR" echo
		legacy "$revision"
		assert_json .result.protocolVersion "$revision"
		assert_json '.result.capabilities | keys[0]' tools
		ask '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
		assert_json '[.result.tools[].name] | join(" ")' 'hello sbx_result'
		assert_json '.result.tools[0].inputSchema.type' object
		ask "$(call 2)"
		assert_json .id 2
		assert_json '.result.isError' null
		assert_contains "$(printf '%s' "$output" | jq -r '.result.content[0].text')" '{"client":"bats 1","params":{},"tool":"hello"}'
		bye
		ends 2
		assert_equal "$status" 0
	done
}

@test "the modern revision needs no session and every result has its envelope" {
	serve -- "$DOOR" echo
	ask '{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{'"$META"'}}'
	assert_json '.result.supportedVersions[0]' 2026-07-28
	assert_json .result.resultType complete
	ask '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{'"$META"'}}'
	assert_json '.result.resultType' complete
	assert_json '.result.ttlMs >= 0' true
	assert_json '.result.tools[0].title' 'Say hello'
	ask '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{'"$META"',"name":"hello","arguments":{"x":"y"}}}'
	assert_json .result.resultType complete
	assert_json '.result._meta["io.modelcontextprotocol/serverInfo"].name' sbx-mcp
	ask '{"jsonrpc":"2.0","id":4,"method":"tools/list"}'
	assert_json .error.code -32602
}

@test "both eras on one process do not mix" {
	serve -- "$DOOR" echo
	legacy
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'"$META"',"name":"hello"}}'
	assert_json .result.resultType complete
	refute_contains "$output" 'bats 1'
	ask '{"jsonrpc":"2.0","id":2,"method":"ping","params":{'"$META"'}}'
	assert_json .error.code -32601
	ask '{"jsonrpc":"2.0","id":3,"method":"ping"}'
	assert_json '.result | length' 0
}

@test "a batch of 2025-03-26 is answered by one array; elsewhere it is refused" {
	local batch='[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},7,{"jsonrpc":"2.0","id":2,"method":"tools/list"},'$(call 3)']'
	serve -- "$DOOR" echo
	legacy 2025-03-26
	ask "$batch"
	assert_json 'type' array
	assert_json '[.[] | .id // "none"] | sort | map(tostring) | join(" ")' '1 2 3 none'
	put '[{"jsonrpc":"2.0","method":"notifications/x"}]'
	silent
	ask '[]'
	assert_json .error.code -32600
	ask '[[{"jsonrpc":"2.0","id":1,"method":"ping"}]]'
	assert_json '.[0].error.code' -32600
	ask '[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}]'
	assert_json '.[0].error.code' -32600
	bye
	ends 2
	serve -- "$DOOR" echo
	legacy 2025-06-18
	ask "$batch"
	assert_json .error.code -32600
	assert_json 'has("id")' false
	silent
}

@test "malformed lines are answered where they can be, and it goes on" {
	serve -- "$DOOR" echo
	legacy
	ask 'nonsense'
	assert_json .error.code -32700
	assert_json 'has("id")' false
	ask '{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":"\ud800"}}'
	assert_json '[.id, .error.code] | join(" ")' '5 -32600'
	ask '{"jsonrpc":"2.0","id":6,"method":"ping","method":"ping"}'
	assert_json '[.id, .error.code] | join(" ")' '6 -32600'
	ask "$(printf '{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":%s}}' "$(printf '[%.0s' {1..65})$(printf ']%.0s' {1..65})")"
	assert_json '[.id, .error.code] | join(" ")' '7 -32600'
	ask $'{"jsonrpc":"2.0","id":8,"method":"ping","params":{"a":"\xff"}}'
	assert_json '[.id, .error.code] | join(" ")' '8 -32600'
	ask '{"jsonrpc":"2.0","id":null,"method":"ping"}'
	assert_json .error.code -32600
	ask '{"jsonrpc":"2.0","id":9,"method":"ping","params":[]}'
	assert_json .error.code -32602
	printf '{"jsonrpc":"2.0","id":10,"met\0hod":"ping"}\n' >&"$IN"
	get
	assert_json 'has("error")' true
	printf '\n  \r\n' >&"$IN"
	silent
}

@test "a line of 16 MiB costs no memory, a line of 2 MiB is answered by its id" {
	serve -- "$DOOR" echo
	legacy
	{ head -c 16777216 /dev/zero | tr '\0' x; echo; } >&"$IN"
	get
	assert_json .error.code -32600
	{ printf '{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"hello","arguments":{"x":"'; head -c 2097152 /dev/zero | tr '\0' x; printf '"}}}\n'; } >&"$IN"
	get
	assert_json '[.id, .error.code] | join(" ")' '11 -32600'
	silent
	memory VmHWM 32768
}

@test "arguments that the toolkit cannot take are a tool error, the same in integers passes" {
	serve -- "$DOOR" echo
	legacy
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{"x":0.5}}}'
	assert_json .result.isError true
	assert_json .result.structuredContent.error.code json_number
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{"x":5}}}'
	assert_json .result.isError null
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":[]}}'
	assert_json .error.code -32602
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}'
	assert_json .error.code -32602
}

@test "a status counts only beside an object" {
	printf '{"sbx":1,"result":{"state":"completed","exit":0}}\n' >"$W/good"
	serve -- "$DOOR" file "$W/good:0"
	legacy
	ask "$(call 1)"
	assert_json .result.isError null
	bye
	ends 2
	serve -- "$DOOR" file "$W/good:74"
	legacy
	ask "$(call 1)"
	assert_json .result.isError true
	bye
	ends 2
	local mode
	for mode in garbage silent huge killed; do
		serve -- "$DOOR" "$mode"
		legacy
		ask "$(call 1)"
		assert_json .result.isError true
		assert_json .result.structuredContent.state unknown
		assert_json .result.structuredContent.error.code door_failed
		ask '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
		assert_json '[.id, .error.code] | join(" ")' '2 -32603'
		assert_json .error.data.code door_failed
		bye
		ends 2
	done
}

@test "what the door says on stderr reaches the client escaped" {
	serve -- "$DOOR" silent
	legacy
	ask "$(call 1)"
	assert_contains "$(printf '%s' "$output" | jq -r '.result.content[0].text')" 'ssh: connect to host nowhere: \x1b]0;x\x07refused'
}

@test "an unknown tool is a protocol error, a denial a tool error" {
	printf '{"sbx":1,"error":{"stage":"policy","class":77,"code":"unknown_tool","message":"no such tool"}}' >"$W/unknown"
	printf '{"sbx":1,"error":{"stage":"policy","class":77,"code":"denied","message":"not here","hint":"ask"}}' >"$W/denied"
	serve -- "$DOOR" file "$W/unknown:77"
	legacy
	ask "$(call 1)"
	assert_json .error.code -32602
	assert_json .error.data.hint 'tools/list shows the tools'
	bye
	ends 2
	serve -- "$DOOR" file "$W/denied:77"
	legacy
	ask "$(call 1)"
	assert_json .result.isError true
	assert_json .result.structuredContent.state denied
	assert_contains "$(printf '%s' "$output" | jq -r '.result.content[0].text')" 'What to do: ask'
}

@test "a call that needs a person names the approval and the command" {
	printf '{"sbx":1,"approval":{"id":"aa","state":"waiting","signers":[]},"error":{"stage":"approve","class":75,"code":"approval_required","message":"m"}}' >"$W/wait"
	serve -- "$DOOR" file "$W/wait:75"
	legacy
	ask "$(call 1)"
	assert_json .result.isError true
	assert_json .result.structuredContent.state approval_required
	assert_json .result.structuredContent.approval.id aa
	assert_contains "$(printf '%s' "$output" | jq -r '.result.content[0].text')" 'sbx-approve sign aa'
	assert_contains "$(printf '%s' "$output" | jq -r '.result.structuredContent.summary')" 'Do not retry before it is approved'
}

@test "a slow call holds up nobody, and answers come as they are ready" {
	serve -- "$DOOR" slow "$W/go"
	legacy
	put "$(call 1)"
	wait_until 5 test -e "$W/go.started"
	silent
	ask '{"jsonrpc":"2.0","id":2,"method":"resources/list"}'
	assert_json .error.code -32601
	touch "$W/go"
	get
	assert_json .id 1
	assert_json .result.isError null
}

@test "an id in use is not taken twice" {
	serve -- "$DOOR" slow "$W/go"
	legacy
	put "$(call 1)"
	wait_until 5 test -e "$W/go.started"
	ask "$(call 1)"
	assert_json .error.code -32600
	assert_json 'has("id")' false
	ask '{"jsonrpc":"2.0","id":1,"method":"ping"}'
	assert_json 'has("id")' false
	touch "$W/go"
	get
	assert_json '[.id, .result.isError] | map(tostring) | join(" ")' '1 null'
	silent
}

@test "cancelled: the door hears it, the client hears nothing" {
	serve -- "$DOOR" slow "$W/go"
	legacy
	put "$(call '"c"' ',"_meta":{"progressToken":"p"}')"
	get
	assert_json .method notifications/progress
	get
	assert_json .params.progress 2
	wait_until 5 test -e "$W/go.started"
	put '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}'
	put '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}'
	wait_until 5 test -e "$W/go.cancelled"
	silent
	# The id is free again.
	touch "$W/go"
	ask "$(call '"c"')"
	assert_json '[.id, .result.isError] | map(tostring) | join(" ")' 'c null'
}

@test "progress: only with a token, from the first moment, increasing, never after the answer" {
	serve -- "$DOOR" slow "$W/go"
	legacy
	put "$(call 1 ',"_meta":{"progressToken":42}')"
	get
	assert_json '[.params.progressToken, .params.progress] | join(" ")' '42 1'
	get
	assert_json '[.params.progressToken, .params.progress] | join(" ")' '42 2'
	assert_json .params.message 'fake: \x1b[31mworking\x1b[0m on it'
	touch "$W/go"
	get
	assert_json .id 1
	silent
	rm -f "$W/go"*
	put "$(call 2)"
	wait_until 5 test -e "$W/go.started"
	silent
	touch "$W/go"
	get
	assert_json .id 2
}

@test "its own deadline: still running, with the call's id, and the door goes on" {
	serve --deadline 300ms -- "$DOOR" slow "$W/go"
	legacy
	ask "$(call 1)"
	assert_json .result.isError true
	assert_json .result.structuredContent.state running
	assert_json .result.structuredContent.call 0123456789abcdef0123456789abcdef
	assert_contains "$(printf '%s' "$output" | jq -r '.result.content[0].text')" 'sbx-audit result 0123456789abcdef0123456789abcdef'
	[ ! -e "$W/go.cancelled" ]
	touch "$W/go"
	silent
}

@test "a process that the door leaves behind holds up nothing" {
	serve -- "$DOOR" orphan "$W/pid"
	legacy
	SECONDS=0
	ask "$(call 1)"
	assert_json .result.isError null
	PIDS+=("$(cat "$W/pid")")
	[ "$SECONDS" -lt 60 ]
}

@test "the door has a session of its own and nothing of the caller but what people's programs need" {
	serve -- "$DOOR" session "$W/sid"
	legacy
	ask "$(call 1)"
	[ "$(cat "$W/sid")" != "$(ps -o sid= -p "$PID" | tr -d ' ')" ]
	bye
	ends 2
	export LD_LIBRARY_PATH=/nonexistent TF_CLI_ARGS=x SBX_SECRET=y HOME=$W
	serve -- "$DOOR" env "$W/env"
	unset LD_LIBRARY_PATH
	legacy
	ask '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
	assert_json '.result.tools | length' 2
	run grep -E '^(TF_CLI_ARGS|SBX_SECRET|LD_LIBRARY_PATH)=' "$W/env"
	[ "$status" -eq 1 ]
	grep -q "^HOME=$W$" "$W/env"
	grep -q '^LC_ALL=C$' "$W/env"
}

@test "the client goes away: the door's reader is gone at once, and it ends" {
	serve -- "$DOOR" gone "$W/g"
	legacy
	put "$(call 1)"
	wait_until 5 test -e "$W/g.started"
	PIDS+=("$(cat "$W/g.pid")")
	bye
	ends 2
	assert_equal "$status" 0
	wait_until 5 test -e "$W/g.gone"
}

@test "killed or terminated: the door's reader is gone" {
	local signal
	for signal in TERM KILL; do
		serve -- "$DOOR" gone "$W/$signal"
		legacy
		put "$(call 1)"
		wait_until 5 test -e "$W/$signal.started"
		PIDS+=("$(cat "$W/$signal.pid")")
		kill "-$signal" "$PID"
		wait_until 5 test -e "$W/$signal.gone"
		bye
	done
}

@test "a door that hangs and ignores everything does not keep it from ending" {
	serve --deadline 200ms -- "$DOOR" hang "$W/pid"
	legacy
	ask "$(call 1)"
	assert_json .result.structuredContent.state running
	PIDS+=("$(cat "$W/pid")")
	bye
	ends 2
	assert_equal "$status" 0
}

@test "a list that was asked for is answered although stdin has ended" {
	run_sbx 0 bash -c 'printf "%s\n" "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}" "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}" | "$0" -- "$1" echo' "$SBX_BIN/sbx-mcp" "$DOOR"
	assert_equal "$(printf '%s\n' "$output" | jq -s 'map(.id) | join(" ")')" '"1 2"'
}

@test "a hundred calls at once: each is answered once" {
	serve -- "$DOOR" echo
	legacy
	local i
	for i in {1..100}; do put "$(call "$i")"; done
	for i in {1..100}; do
		get 30
		printf '%s\n' "$output" >>"$W/answers"
	done
	assert_equal "$(jq -s 'map(.id) | sort == [range(1; 101)]' "$W/answers")" true
	assert_equal "$(jq -s 'map(.result.isError) | all(. == null)' "$W/answers")" true
	silent
	assert_equal "$(ls "/proc/$PID/fd" | wc -l)" 4
}

@test "no room behind the door: it waits, goes again, and gives up at its deadline" {
	echo 3 >"$W/left"
	serve -- "$DOOR" crowded "$W/left"
	legacy
	ask "$(call 1)"
	assert_json .result.isError null
	assert_equal "$(cat "$W/left")" 0
	bye
	ends 2
	echo 1000 >"$W/left"
	serve --deadline 1s -- "$DOOR" crowded "$W/left"
	legacy
	ask "$(call 1)"
	assert_json '[.result.isError, .result.structuredContent.error.code] | map(tostring) | join(" ")' 'true too_many_calls'
	[ "$(cat "$W/left")" -gt 990 ]
	silent
}

@test "no room because of a call that was cancelled and has not ended: it goes again at intervals, not at once" {
	serve --deadline 2s -- "$DOOR" stuck "$W/free"
	legacy
	put '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{"x":"hold"}}}'
	wait_until 10 test -e "$W/free.started"
	put '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
	ask "$(call 2)"
	assert_json '[.id, .result.structuredContent.error.code] | map(tostring) | join(" ")' '2 too_many_calls'
	# At once, then after 0.25, 0.75 and 1.75 seconds.
	[ "$(wc -l <"$W/free.tries")" -le 4 ]
	: >"$W/free"
	ask "$(call 3)"
	assert_json '[.id, .result.isError] | map(tostring) | join(" ")' '3 null'
}

@test "a client that does not read holds it up, and loses nothing" {
	serve -- "$DOOR" echo
	legacy
	local pad i
	pad=$(head -c 200000 /dev/zero | tr '\0' x)
	# 40 answers of 400 kB are more than it keeps; it must stop reading, not grow.
	{ for i in {1..40}; do printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"hello","arguments":{"x":"%s"}}}\n' "$i" "$pad"; done >&"$IN"; } 3>&- &
	wait_until 30 stalled
	timeout 50 head -n 40 <&"$OUT" >"$W/lines"
	jq -c '[.id, (.result.content[0].text | length), .result.content[0].text[:200]]' "$W/lines" >"$W/answers"
	assert_equal "$(jq -s 'map(.[0]) | sort == [range(1; 41)]' "$W/answers")" true
	assert_equal "$(jq -s -c 'map(select(.[1] <= 200000))' "$W/answers")" '[]'
	memory VmHWM 131072
}

@test "snippets for clients name absolute paths" {
	fresh_state 2>/dev/null || { mkdir -p "$W/t"; echo >"$W/t/sbx.yaml"; T=$W/t; export SBX_CONFIG=$T/sbx.yaml; }
	local client
	for client in claude-desktop cursor claude-code; do
		run_sbx 0 "$SBX_BIN/sbx-mcp" --client-config "$client"
		assert_json .mcpServers.sbx.command "$SBX_BIN/sbx-mcp"
		assert_json '.mcpServers.sbx.args | join(" ")' "--config $T/sbx.yaml"
		assert_contains "$stderr" "put this into"
	done
	run_sbx 0 "$SBX_BIN/sbx-mcp" --client-config vscode
	assert_json .servers.sbx.type stdio
	cd "$T"
	unset SBX_CONFIG
	run_sbx 0 "$SBX_BIN/sbx-mcp" --client-config cursor --config sbx.yaml --wait 5s --deadline 40s
	assert_json '.mcpServers.sbx.args | join(" ")' "--config $T/sbx.yaml --wait 5s --deadline 40s"
	run_sbx 0 "$SBX_BIN/sbx-mcp" --client-config cursor
	assert_json '.mcpServers.sbx.args | length' 0
	run_sbx 0 "$SBX_BIN/sbx-mcp" --client-config cursor -- sudo -u sbx /usr/local/bin/sbx-call --principal agent --wait 20s
	assert_json '.mcpServers.sbx.args | join(" ")' "-- sudo -u sbx /usr/local/bin/sbx-call --principal agent --wait 20s"
	run_sbx 64 "$SBX_BIN/sbx-mcp" --client-config emacs
	run_sbx 66 "$SBX_BIN/sbx-mcp" --client-config cursor --config nowhere.yaml
}

@test "snippets through ssh survive the shell on the other side" {
	run_sbx 0 "$SBX_BIN/sbx-mcp" --client-config claude-desktop --ssh dev@box --config "/etc/my \$dir/it's.yaml"
	assert_json .mcpServers.sbx.command ssh
	assert_json '.mcpServers.sbx.args[:4] | join(" ")' "-T -o BatchMode=yes dev@box"
	local remote
	remote=$(printf '%s' "$output" | jq -r '.mcpServers.sbx.args[4]')
	eval "set -- $remote"
	assert_equal "$1" "$SBX_BIN/sbx-mcp"
	assert_equal "$3" "/etc/my \$dir/it's.yaml"
	run_sbx 64 "$SBX_BIN/sbx-mcp" --client-config cursor --ssh -oProxyCommand=x
	run_sbx 64 "$SBX_BIN/sbx-mcp" --client-config cursor --ssh 'a b'
	run_sbx 64 "$SBX_BIN/sbx-mcp" --client-config cursor --ssh ''
}

@test "--check says in words what a client would see, and whether it is usable" {
	fresh_state
	find "$T/policy/tools" -name '*.yaml' ! -name true.yaml ! -name apply_true.yaml -delete
	run_sbx 78 "$SBX_BIN/sbx-mcp" --check
	assert_contains "$output" "approval   missing  nobody can approve: allowed_signers is empty ($T/allowed_signers)"
	assert_contains "$output" 'tool       true: Do nothing (runs)'
	assert_contains "$output" 'tool       apply_true: Do nothing, but only with an approval (waits for a person)'
	assert_contains "$stderr" not_usable
	new_signer alice
	run_sbx 0 "$SBX_BIN/sbx-mcp" --check
	assert_contains "$output" "principal  ok       calls are made by $(id -un)"
	assert_contains "$output" "policy     ok       $T/policy serves 2 tools"
	assert_contains "$output" 'program    ok       the tools name 1 program'
	assert_contains "$output" "state      ok       $T/var, installation "
	assert_contains "$output" 'approval   ok       high calls need 1 person; 1 can sign (alice)'
	assert_contains "$output" 'approval   note     key files count'
	assert_contains "$output" 'sandbox    ok       this machine can make one'
	refute_contains "$output" ' missing '
	# The same through a door that says who asks.
	run_sbx 0 "$SBX_BIN/sbx-mcp" --check -- "$SBX_BIN/sbx-call" --config "$SBX_CONFIG" --principal agent-7
	assert_contains "$output" 'calls are made by agent-7'
	# One fault after the other.
	sed -i "s|path: \"$SBX_BUILD/test/true\"|path: /nowhere/true|" "$T/policy/policy.yaml"
	run_sbx 78 "$SBX_BIN/sbx-mcp" --check
	assert_contains "$output" 'needs true, which is not at /nowhere/true'
	assert_contains "$output" 'tool       true: Do nothing (cannot run here)'
	printf 'tests: 7\n' >>"$T/policy/tools/true.yaml"
	run_sbx 78 "$SBX_BIN/sbx-mcp" --check
	assert_contains "$output" "door       missing  $T/policy/tools/true.yaml"
	run_sbx 78 "$SBX_BIN/sbx-mcp" --check --config "$T/none.yaml"
	assert_contains "$output" "there is no settings file $T/none.yaml"
}

@test "--check reads the trust file as a signature is checked" {
	fresh_state
	find "$T/policy/tools" -name '*.yaml' ! -name true.yaml ! -name apply_true.yaml -delete
	new_signer alice
	cp "$T/allowed_signers" "$T/good"
	says() { # STATE TEXT: the line of the check; 78 for what is missing
		local want=0
		[ "$1" != missing ] || want=78
		run_sbx "$want" "$SBX_BIN/sbx-mcp" --check
		assert_contains "$output" "$(printf 'approval   %-8s %s' "$1" "$2")"
	}
	printf 'bob ssh-ed25519 AAA\n' >>"$T/allowed_signers"
	says missing 'nobody can approve: line 2 of the allowed signers: the key is no base64'
	sed 's/sbx-approve@v1/git/' "$T/good" >"$T/allowed_signers"
	says missing "nobody can approve: no key in $T/allowed_signers counts now"
	sed 's/ namespaces/ valid-before="20200101Z",namespaces/' "$T/good" >"$T/allowed_signers"
	says missing "nobody can approve: no key in $T/allowed_signers counts now"
	cp "$T/good" "$T/allowed_signers"
	says ok 'high calls need 1 person; 1 can sign (alice)'
	cp "$T/alice.pub" "$T/allowed_signers.revoked"
	says missing "nobody can approve: no key in $T/allowed_signers counts now"
	printf 'x\n' >"$T/allowed_signers.revoked"
	says missing 'nobody can approve: line 1 of the revoked keys'
	rm "$T/allowed_signers.revoked"
	# Not enough of them.
	printf 'tiers: {high: {threshold: 2}}\n' >>"$T/policy/policy.yaml"
	says missing 'high calls need 2 people; 1 can sign (alice): they cannot be approved'
	new_signer bob
	says ok 'high calls need 2 people; 2 can sign (alice, bob)'
}

@test "--check names what a plan needs, and the tools that cannot run" {
	fresh_state
	new_signer alice
	find "$T/policy/tools" -name '*.yaml' ! -name true.yaml ! -name terraform_plan.yaml -delete
	sed -i '/^tests:/,$d' "$T/policy/tools/terraform_plan.yaml"
	run_sbx 78 "$SBX_BIN/sbx-mcp" --check
	assert_contains "$output" 'signals    missing  no rules: a plan that opens, widens or unprotects something counts as safe'
	cp "$ROOT/policy/signals/azure.yaml" "$T/policy/signals/"
	run_sbx 0 "$SBX_BIN/sbx-mcp" --check
	refute_contains "$output" 'signals '
	printf 'mirror: %s/mirror\n' "$T" >>"$T/policy/policy.yaml"
	run_sbx 78 "$SBX_BIN/sbx-mcp" --check
	assert_contains "$output" "mirror     missing  there is no directory $T/mirror (mirror: in policy.yaml)"
	mkdir "$T/mirror"
	cat >"$T/policy/tools/where.yaml" <<-'EOF'
		name: where
		description: Something of a cluster
		tier: low
		params: {cluster: {type: target}}
		steps: [["true", "{cluster}"]]
	EOF
	run_sbx 78 "$SBX_BIN/sbx-mcp" --check
	assert_contains "$output" 'target     missing  where takes a target, and sbx.yaml names none: add targets:, or remove that tool'
	assert_contains "$output" 'tool       where: Something of a cluster (cannot run here)'
	refute_contains "$output" 'mirror '
	sed 's/^name: where/name: whither/' "$T/policy/tools/where.yaml" >"$T/policy/tools/whither.yaml"
	run_sbx 78 "$SBX_BIN/sbx-mcp" --check
	assert_contains "$output" 'where, whither take a target, and sbx.yaml names none: add targets:, or remove these tools'
	# Rules that are not there at all are no choice, as long as a tool makes plans.
	rm -r "$T/policy/signals" "$T/policy/tools/where.yaml" "$T/policy/tools/whither.yaml"
	run_sbx 78 "$SBX_BIN/sbx-mcp" --check
	assert_contains "$output" "there is no directory $T/policy/signals, by which terraform_plan judges its plans"
	rm "$T/policy/tools/terraform_plan.yaml"
	run_sbx 0 "$SBX_BIN/sbx-mcp" --check
}

@test "--check of a door that is none, and where it cannot be written" {
	run_sbx 69 "$SBX_BIN/sbx-mcp" --check -- "$DOOR" silent
	assert_contains "$output" 'door       missing  it answered nothing (status 1); its last words: "ssh: connect to host nowhere: \x1b]0;x\x07refused"'
	assert_contains "$stderr" door_failed
	run_sbx 69 "$SBX_BIN/sbx-mcp" --check -- "$DOOR" huge
	run_sbx 69 "$SBX_BIN/sbx-mcp" --check -- "$DOOR" garbage
	# Its own error has a class; what is none makes no success.
	local class
	for class in 77:77 0:69 2:69 256:69 -1:69 '"77":69' null:69; do
		printf '{"sbx":1,"error":{"class":%s,"code":"c","message":"no, \\u001b[31m"}}' "${class%:*}" >"$W/object"
		run_sbx "${class#*:}" "$SBX_BIN/sbx-mcp" --check -- "$DOOR" file "$W/object:0"
		assert_contains "$output" 'door       missing  no, \x1b[31m'
		assert_contains "$stderr" door_failed
	done
	printf '%s' '{"usable":true,"check":[],"tools":[{"name":"a","title":"A"},{"name":"b","title":"B","tier":"x"},{"name":"c","title":"C","tier":"medium"},{"name":"d","title":"D","tier":"critical"}]}' >"$W/object"
	run_sbx 0 "$SBX_BIN/sbx-mcp" --check -- "$DOOR" file "$W/object:0"
	assert_contains "$output" 'a: A (its tier is not known)'
	assert_contains "$output" 'b: B (its tier is not known)'
	assert_contains "$output" 'c: C (runs, or waits'
	assert_contains "$output" 'd: D (waits for a person)'
	run_sbx 78 "$SBX_BIN/sbx-mcp" --check -- no-such-program-anywhere
	run_sbx 64 "$SBX_BIN/sbx-mcp" --check --client-config cursor
	fresh_state
	run_sbx 74 bash -c '"$0" --check >/dev/full' "$SBX_BIN/sbx-mcp"
}

@test "idle it is small, and it ends at once" {
	serve -- "$DOOR" echo
	legacy
	memory VmRSS 4096
	bye
	ends 1
	assert_equal "$status" 0
}

@test "the real door: list, run, deny, ask for a person" {
	[ -x "$SBX_BIN/sbx-audit" ] || skip "the rest of the toolkit is not built"
	fresh_state
	serve --config "$SBX_CONFIG" --wait 0s
	legacy
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
	assert_json '.result.tools | length > 0' true
	assert_json '[.result.tools[] | select(.inputSchema.type != "object")] | length' 0
	ask '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"no_such_tool","arguments":{}}}'
	assert_json .error.code -32602
	ask '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"true","arguments":{}}}'
	assert_json '[.result.isError, .result.structuredContent.state, .result.structuredContent.isolation] | map(tostring) | join(" ")' 'null completed local'
	ask '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"true","arguments":{"x":1}}}'
	assert_json '[.result.isError, .result.structuredContent.state] | map(tostring) | join(" ")' 'true denied'
	ask '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"apply_true","arguments":{}}}'
	assert_json .result.structuredContent.state approval_required
	assert_contains "$(printf '%s' "$output" | jq -r '.result.content[0].text')" "sbx-approve sign $(printf '%s' "$output" | jq -r .result.structuredContent.approval.id)"
}

@test "the real door: a client that cancels, goes or is killed leaves a cancelled call on the record" {
	[ -x "$SBX_BIN/sbx-audit" ] || skip "the rest of the toolkit is not built"
	fresh_state
	local how
	for how in cancel eof kill; do
		serve --config "$SBX_CONFIG"
		legacy
		put '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep","arguments":{},"_meta":{"progressToken":1}}}'
		until [[ ${output:-} == *"step 1"* ]]; do get; done
		output=
		case $how in
		cancel) put '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}' ;;
		eof) bye ;;
		kill) kill -9 "$PID" ;;
		esac
		recorded_cancelled() { "$SBX_BIN/sbx-audit" --config "$SBX_CONFIG" show --json | tail -n 1 | jq -e '.event == "tool.result" and .state == "cancelled"'; }
		wait_until 10 recorded_cancelled
		[ "$how" != cancel ] || silent
		[ "$how" = eof ] || bye
	done
	assert_equal "$("$SBX_BIN/sbx-audit" --config "$SBX_CONFIG" show --json | jq -s '[.[] | select(.event == "tool.result")] | length')" 3
}
