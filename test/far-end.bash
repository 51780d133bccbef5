# The far end of connections out of a sandbox (test/helpers/tcpend.c), for the bats files of the relay.

# far_end DIR HOW [ADDRESS]: a server on this machine; its port in $PORT, what it saw in DIR/far.
far_end() {
	mkfifo "$1/life"
	"$SBX_BUILD/test/tcpend" "$1/port" "${@:2}" <"$1/life" >"$1/far" 3>&- &
	exec {LIFE}>"$1/life"
	wait_until 10 test -s "$1/port"
	PORT=$(cat "$1/port")
}

far_end_stop() {
	[ -z "${LIFE-}" ] || exec {LIFE}>&-
}
