# The relay of the local driver: named destinations answer, by the address that was given, and nothing else does.

load ../helpers
load ../sandbox
load ../far-end

setup_file() { sandbox_setup_file; }
teardown_file() { sandbox_teardown_file; }

setup() {
	sandbox_setup
	cp -n "$SBX_BUILD/test/ways" "$PLACE"
	OPTIONS+=(--bind "$PLACE/ways:/app/ways")
}

teardown() {
	far_end_stop
	sandbox_teardown
}

# The connections of the run: what the driver says of each.
connections() {
	jq -rc 'select(.type == "event" and .json.event == "connection") | .json | '"$1" "$D/lines"
}

@test "usage: destinations and names that are none" {
	table step /app/probe print x end
	driver_script
	for bad in "--egress x" "--egress =1.2.3.4:5" "--egress x=1.2.3.4" "--egress x=1.2.3.4:0" "--egress x=1.2.3.4:65536" "--egress x=host:80" \
		"--egress x=::1:80" "--egress a=1.2.3.4:5 --egress b=1.2.3.4:5" "--host a=b" "--host a/b=1.2.3.4" "--host =1.2.3.4" "--connections 0" \
		"--connections 4097" "--traffic 0"; do
		# shellcheck disable=SC2086
		run_sbx 64 "${ARGV[@]}" $bad
	done
	run_sbx 64 "${ARGV[@]}" $(for i in {1..17}; do echo "--egress x=192.0.2.$i:443"; done)
	run_sbx 0 "${ARGV[@]}" $(for i in {1..16}; do echo "--egress x=192.0.2.$i:443"; done) --host a.b-c_d=192.0.2.1
}

@test "a destination answers at the first connection, both ways, and what it was is told" {
	far_end "$D" echo
	OPTIONS+=(--egress "far=127.0.0.1:$PORT")
	sandbox 0 step /app/ways talk 127.0.0.1 "$PORT" hello end
	assert_equal "$(said out 1)" "said hello"
	assert_equal "$(frame hello .network)" relay
	assert_equal "$(frame hello .egress)" "{\"relayed\":{\"far\":\"127.0.0.1:$PORT\"}}"
	assert_equal "$(connections '.destination, .address, .sent, .received, .end')" $'far\n127.0.0.1:'"$PORT"$'\n5\n5\nclosed'
}

@test "without a destination there is no network, and no file of names" {
	far_end "$D" echo
	sandbox 0 step /app/ways talk 127.0.0.1 "$PORT" hello end
	[[ $(said out 1) =~ ^(EACCES|ENETUNREACH|ECONNREFUSED)$ ]]
	assert_equal "$(frame hello .network)" none
	sandbox 0 step /app/probe cat /etc/hosts end
	assert_equal "$(frame exit .exit)" 1
	assert_equal "$(cat "$D/far")" ""
}

@test "the destination's own address stands inside, and its names" {
	ip=$(ip -4 -o addr show scope global 2>/dev/null | sed -nE '1s/.* inet ([0-9.]+).*/\1/p')
	[ -n "$ip" ] || skip "no address but the loopback's here"
	far_end "$D" say "$ip"
	OPTIONS+=(--egress "far=$ip:$PORT" --host far.example="$ip")
	sandbox 0 step /app/ways talk "$ip" "$PORT" "" end
	assert_equal "$(said out 1)" "said far end"
	sandbox 0 step /app/probe cat /etc/hosts end
	assert_equal "$(said out 1)" $'127.0.0.1 localhost\n'"$ip far.example"
	sandbox 0 step /app/probe cat /etc/nsswitch.conf end
	assert_equal "$(said out 1)" "hosts: files"
	# Not at the loopback address.
	sandbox 0 step /app/ways talk 127.0.0.1 "$PORT" "" end
	assert_equal "$(said out 1)" ECONNREFUSED
}

@test "it works without any privilege, for a low port and an address that is not ours" {
	unprivileged
	OPTIONS+=(--egress "web=192.0.2.1:80" --egress "api=10.96.0.1:443")
	sandbox 0 step /app/ways talk 192.0.2.1 80 x end
	# Inside it is taken; outside there is nobody.
	assert_equal "$(said out 1)" ECONNRESET
	assert_equal "$(connections '.destination, .end')" $'web\nunreachable'
}

@test "every other way out is closed while a destination is open, and those that can be are open outside" {
	far_end "$D" echo 127.0.0.2
	OPTIONS+=(--egress "far=127.0.0.2:$PORT")
	python3 "$ROOT/test/helpers/host.py" "$D/ready" "$PORT" 3>&- &
	BACKGROUND=$!
	wait_until 10 test -e "$D/ready"
	# A network where the same listens, and no sandbox: the attempts are real ones.
	unshare --user --map-root-user --net bash -c 'ip link set lo up; python3 "$1" "$2" "$3" & until [ -e "$2" ]; do sleep 0.05; done
		"$4" out 127.0.0.2 "$3"; kill "$!"' - "$ROOT/test/helpers/host.py" "$D/ready-there" "$PORT" "$SBX_BUILD/test/ways" >"$D/outside" 3>&-
	for name in other-port other-address loopback this-host fast-open-port udp-same-place ipv6-loopback ipv6-mapped-elsewhere raw raw-ipv6 packet netlink \
		unix-abstract new-address serve transparent mark steal sock-packet loopback-down own-namespace; do
		assert_contains "$(cat "$D/outside")" "$name ok"
	done
	sandbox 0 step /app/ways out 127.0.0.2 "$PORT" end
	check_attempts expected_ways
	assert_equal "$(connections .end)" ""
	sandbox 0 step /app/ways talk 127.0.0.2 "$PORT" hello end
	assert_equal "$(said out 1)" "said hello"
	assert_equal "$(grep -c connection "$D/far")" 1
}

@test "a step that analyses has no network, the others have" {
	far_end "$D" echo
	OPTIONS+=(--egress "far=127.0.0.1:$PORT")
	sandbox 0 step analyse /app/ways talk 127.0.0.1 "$PORT" hello end step /app/ways talk 127.0.0.1 "$PORT" again end
	assert_equal "$(said out 1)" EACCES
	assert_equal "$(said out 2)" "said again"
	assert_equal "$(connections .sent)" 5
}

@test "a step that analyses gets there by no other protocol and by no other call, where the others do" {
	far_end "$D" echo
	OPTIONS+=(--egress "far=127.0.0.1:$PORT")
	sandbox 0 step analyse /app/ways there 127.0.0.1 "$PORT" end step /app/ways there 127.0.0.1 "$PORT" end
	said out 1 >"$D/attempts"
	attempts_came_to "$D/attempts" ways_there
	assert_equal "$(said out 2 | grep -w ok | cut -d' ' -f1 | xargs)" "tcp tcp-mapped fast-open fast-open-connect unspecified-first"
}

@test "64 at once, one more waits; bulk in both directions" {
	far_end "$D" echo
	OPTIONS+=(--egress "far=127.0.0.1:$PORT")
	sandbox 0 step /app/ways many 127.0.0.1 "$PORT" 65 end step /app/ways bulk 127.0.0.1 "$PORT" 20 end
	assert_equal "$(said out 1)" "answered 64"
	assert_equal "$(said out 2)" "came back $((20 << 20))"
	assert_equal "$(connections 'select(.sent > 1000) | .sent, .received')" "$((20 << 20))"$'\n'"$((20 << 20))"
}

@test "past the traffic that is allowed, connections break off" {
	far_end "$D" echo
	OPTIONS+=(--egress "far=127.0.0.1:$PORT" --traffic 1000000)
	sandbox 0 step /app/ways bulk 127.0.0.1 "$PORT" 4 end step /app/ways talk 127.0.0.1 "$PORT" x end
	[[ $(said out 1) != "came back $((4 << 20))" ]]
	assert_equal "$(said out 2)" ECONNREFUSED
	assert_equal "$(connections .end)" limit
	OPTIONS+=(--traffic 100000000)
	sandbox 0 step /app/ways bulk 127.0.0.1 "$PORT" 4 end
	assert_equal "$(said out 1)" "came back $((4 << 20))"
}

@test "past the number that is allowed, one is reset and told, and nothing listens any more" {
	far_end "$D" echo
	OPTIONS+=(--egress "far=127.0.0.1:$PORT" --connections 3)
	sandbox 0 step /app/ways many 127.0.0.1 "$PORT" 3 end step /app/ways talk 127.0.0.1 "$PORT" x end step /app/ways many 127.0.0.1 "$PORT" 300 end
	assert_equal "$(said out 1)" "answered 3"
	assert_equal "$(said out 2)" ECONNRESET
	assert_equal "$(said out 3)" "answered 0"
	# Of the three some may still have been on their way out.
	assert_equal "$(connections .end | sed 's/^stopped$/closed/' | sort | uniq -c | xargs)" "3 closed 1 limit"
	assert_equal "$(grep -c connection "$D/far")" 3
}

@test "what a step holds open ends with the step; what it said without waiting arrives" {
	far_end "$D" silent
	OPTIONS+=(--egress "far=127.0.0.1:$PORT")
	sandbox 0 step /app/ways hold 127.0.0.1 "$PORT" end step /app/ways hello 127.0.0.1 "$PORT" end
	assert_equal "$(connections .sent | sort -n | tr '\n' ' ')" "0 6 "
	wait_until 5 sh -c "[ \$(grep -cE 'ended|broken off' '$D/far') -eq 2 ]"
}

@test "a far end that breaks off, or says something and closes" {
	far_end "$D" reset
	OPTIONS+=(--egress "far=127.0.0.1:$PORT")
	sandbox 0 step /app/ways talk 127.0.0.1 "$PORT" x end
	assert_equal "$(said out 1)" ECONNRESET
	assert_equal "$(connections .end)" reset
	far_end_stop
	rm "$D/life" "$D/port"
	far_end "$D" say
	OPTIONS=(--bind "$PLACE/ways:/app/ways" --egress "far=127.0.0.1:$PORT")
	sandbox 0 step /app/ways talk 127.0.0.1 "$PORT" "" end
	assert_equal "$(said out 1)" "said far end"
	assert_equal "$(connections '.received, .end')" $'7\nclosed'
}

@test "a killed driver leaves neither sandbox nor connection" {
	far_end "$D" silent
	OPTIONS+=(--egress "far=127.0.0.1:$PORT")
	sandbox_in_background step /app/ways bulk 127.0.0.1 "$PORT" 1 end
	wait_until 5 grep -q connection "$D/far"
	kill -KILL "$BACKGROUND"
	wait "$BACKGROUND" 2>/dev/null || true
	BACKGROUND=
	wait_until 5 grep -qE 'ended|broken off' "$D/far"
	wait_until 5 nobody_runs ways
}

@test "a directory of the policy over /etc: the sandbox does not start, for its names would be the host's" {
	mkdir "$D/etc"
	OPTIONS+=(--bind "$D/etc:/etc" --egress "far=192.0.2.1:443")
	sandbox 69 step /app/probe print x end
	assert_contains "$(frame event .message)" "/etc"
	OPTIONS=(--bind "$PLACE/probe:/app/probe" --bind "$D/etc:/etc/ssl" --egress "far=192.0.2.1:443")
	sandbox 0 step /app/probe print x end
}

@test "a reader of the frames that has gone: what is stopped then still gets its last word out" {
	far_end "$D" echo
	OPTIONS+=(--egress "far=127.0.0.1:$PORT")
	GRACE=3000
	mkfifo "$D/pipe"
	FRAMES=$D/pipe sandbox_in_background grace=3000 step /app/ways last 127.0.0.1 "$PORT" end
	grep -m 1 -q ready "$D/pipe"
	rc=0
	wait "$BACKGROUND" || rc=$?
	BACKGROUND=
	assert_equal "$rc" 74
	wait_until 5 grep -q ended "$D/far"
	refute_contains "$(cat "$D/far")" "broken off"
}

# program NAME: the program of this machine as /app/NAME inside, with its libraries.
program() {
	local file
	OPTIONS+=(--bind "$(readlink -f "$(command -v "$1")"):/app/$1")
	for file in $(ldd "$(command -v "$1")" | grep -oE '/[^ ]+'); do
		OPTIONS+=(--bind "$(readlink -f "$file"):$file")
	done
}

# curl_says RC WORD...: curl inside ends with RC; what it printed is in $said.
curl_says() {
	local want=$1
	shift
	sandbox 0 "${ENVIRONMENT[@]}" step /app/curl -sS --max-time 5 "$@" end
	said=$(said out 1)
	assert_equal "$(frame exit .exit)" "$want"
}

@test "a web server that is allowed leads nowhere else: no redirect, no CONNECT, no absolute address; nor does a proxy that a variable names" {
	ENVIRONMENT=()
	far_end "$D" echo
	python3 "$ROOT/test/helpers/web.py" "$D/web" "http://127.0.0.1:$PORT/" >"$D/asked" 3>&- &
	BACKGROUND=$!
	wait_until 10 test -s "$D/web"
	web=http://127.0.0.2:$(cat "$D/web") other=http://127.0.0.1:$PORT/
	program curl
	OPTIONS+=(--egress "web=${web#http://}")
	curl_says 0 "$web/here"
	assert_equal "$said" here
	curl_says 7 --location "$web/away"
	curl_says 56 --proxytunnel --proxy "$web" "$other"
	curl_says 22 --fail --proxy "$web" "$other"
	# Whoever is asked for another place says so itself, outside: nobody here did.
	assert_equal "$(cat "$D/asked")" $'GET /here\nGET /away\nCONNECT '"127.0.0.1:$PORT"$'\nGET '"$other"
	ENVIRONMENT=("env=http_proxy=$other")
	curl_says 7 "$web/here"
	ENVIRONMENT=("env=http_proxy=$web")
	curl_says 0 "$web/here"
	assert_equal "$(cat "$D/far")" ""
}
