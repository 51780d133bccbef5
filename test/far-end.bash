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

# NAME RESULT…: every way of `ways out`, and what may come of it.
expected_ways() {
	cat <<-'EOF'
		inherited EBADF
		other-port EACCES|ECONNREFUSED
		port-22 EACCES|ECONNREFUSED
		other-address ENETUNREACH|ECONNREFUSED
		loopback ECONNREFUSED
		this-host ECONNREFUSED
		private-10 ENETUNREACH
		private-172 ENETUNREACH
		private-192 ENETUNREACH
		public ENETUNREACH
		metadata EACCES|ENETUNREACH
		link-local ENETUNREACH
		broadcast ENETUNREACH|EACCES
		fast-open-elsewhere ENETUNREACH
		fast-open-port EACCES|ECONNREFUSED|EINPROGRESS
		mptcp-elsewhere EPERM
		sctp EPERM
		udp-same-place ECONNREFUSED
		udp-dns-there ECONNREFUSED
		udp-dns-loopback ECONNREFUSED
		udp-dns-public ENETUNREACH
		udp-metadata ENETUNREACH
		udp-broadcast ENETUNREACH
		udp-multicast ENETUNREACH
		ipv6-loopback ECONNREFUSED|EADDRNOTAVAIL|EAFNOSUPPORT
		ipv6-public ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT
		ipv6-link-local ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT|EINVAL
		ipv6-metadata EACCES|ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT
		ipv6-mapped-elsewhere ENETUNREACH|ECONNREFUSED|EAFNOSUPPORT
		raw EPERM
		raw-ipv6 EPERM|EAFNOSUPPORT
		ping EPERM
		packet EPERM
		netlink EPERM
		vsock EPERM
		alg EPERM
		unix-docker ENOENT
		unix-bus ENOENT
		unix-abstract ECONNREFUSED|EPERM
		tun ENOENT
		new-address EPERM
		serve EACCES
		transparent EPERM
		source-route EPERM|EINVAL
		bind-to-device ENODEV|EPERM
		mark EPERM
		repair EPERM
		free-bind ENETUNREACH
		steal EACCES|EADDRINUSE
		steal-shared EACCES|EADDRINUSE
		steal-all EACCES|EADDRINUSE
		steal-mptcp EPERM
		steal-all-mptcp EPERM
		sock-packet EPERM
		key EPERM
		xdp EPERM
		tipc EPERM
		rds EPERM
		smc EPERM
		l2tp EPERM
		loopback-down EPERM
		route EPERM
		unshare EPERM
		own-namespace EPERM
		first-namespace ENOENT
		parent-namespace EPERM
		descriptor-of-another EPERM
		io-uring ENOSYS
		userfaultfd EPERM
		bpf EPERM
	EOF
}

# The same of `ways there`, for a step that has no network.
ways_there() {
	cat <<-'EOF'
		tcp EACCES
		tcp-mapped EACCES
		mptcp EACCES|EPERM
		mptcp-mapped EACCES|EPERM
		smc EACCES|EPERM
		sctp EACCES|EPERM
		fast-open EACCES|EBADF
		fast-open-connect EACCES|EBADF
		unspecified-first EACCES|EBADF
	EOF
}
