# Servers of test/fakes that live as long as the tests of a bats file. Each writes its port into its directory, and ends when nobody has the fifo "life" there
# open for writing any more.

# fake_certificate DIR: DIR/tls.crt and DIR/tls.key, for 127.0.0.1.
fake_certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=fake -addext subjectAltName=IP:127.0.0.1 \
		-keyout "$1/tls.key" -out "$1/tls.crt" 2>/dev/null
}

# fake_server DIR NAME: start test/fakes/NAME in DIR, which is made. No descriptor of setup_file's reaches the tests, so a process keeps it alive.
fake_server() {
	mkdir "$1"
	fake_certificate "$1"
	mkfifo "$1/life"
	"$ROOT/test/fakes/$2" "$1" <"$1/life" 3>&- >"$1/log" 2>&1 &
	sleep infinity >"$1/life" 3>&- &
	echo $! >"$1/life.pid"
	wait_until 10 test -s "$1/port"
}

fake_server_end() { # DIR
	kill "$(cat "$1/life.pid")"
}
