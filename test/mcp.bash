# A conversation with sbx-mcp in a bats test: serve starts it, put and get are the client's lines.

META='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

setup() {
	W=$BATS_TEST_TMPDIR
	DOOR=$ROOT/test/fakes/door
	PIDS=()
}

teardown() {
	[ -z "${SERVER_PID:-}" ] || kill "$SERVER_PID" 2>/dev/null || true
	for pid in "${PIDS[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
}

# serve ARGUMENT...: start it; put LINE sends, get reads the next line into $output, bye closes its stdin.
serve() {
	coproc SERVER { exec "$SBX_BIN/sbx-mcp" "$@" 2>"$W/stderr" 3>&-; }
	TO=${SERVER[1]} FROM=${SERVER[0]}
	# Copies of our own: bash forgets the coprocess's descriptors when it ends.
	exec {IN}>&"$TO" {OUT}<&"$FROM"
	eval "exec $TO>&- $FROM<&-"
	PID=$SERVER_PID
}

put() { printf '%s\n' "$1" >&"$IN"; }
get() {
	IFS= read -r -t "${1:-30}" output <&"$OUT" || {
		echo "no answer; stderr: $(cat "$W/stderr")"
		return 1
	}
}
bye() { exec {IN}>&-; }
ask() { put "$1" && get; }
# Nothing more has been said up to the answer to a ping.
silent() {
	put '{"jsonrpc":"2.0","id":"silent","method":"ping"}' && get && assert_json .id silent
}
legacy() {
	ask '{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"'"${1:-2025-11-25}"'","capabilities":{},"clientInfo":{"name":"bats","version":"1"}}}'
	assert_json .id init
	put '{"jsonrpc":"2.0","method":"notifications/initialized"}'
}
call() { printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"hello","arguments":{}%s}}' "$1" "${2:-}"; }
# memory FIELD KB: its VmRSS or VmHWM is less; sanitizers have a measure of their own.
memory() {
	grep -q libasan "/proc/$PID/maps" || [ "$(awk -v f="$1:" '$1 == f {print $2}' "/proc/$PID/status")" -lt "$2" ]
}
# It has written what the pipe takes, and for a while nothing has moved.
stalled() {
	local before
	before=$(cat "/proc/$PID/io")
	[ "$(awk '/wchar/ {print $2}' <<<"$before")" -ge 65536 ] && sleep 0.5 && [ "$before" = "$(cat "/proc/$PID/io")" ]
}
# The exit status of the server, which must end within SECONDS.
ends() {
	wait_until "$1" sh -c "! kill -0 $PID 2>/dev/null || grep -q '^State:.Z' /proc/$PID/status"
	status=0
	wait "$PID" || status=$?
}
