# sbx-mcp on another machine, and its door in another account: by ssh, by an ssh forced command, by sudo. Needs root, sshd and sudo, and changes nothing
# here: accounts and settings live in a private copy of /etc, in a mount namespace of their own; sshd listens on the loopback.

load ../helpers
load ../mcp
load conformance

setup() {
	W=$BATS_TEST_TMPDIR
	PIDS=()
	SSHD=
	[ "$(id -u)" -eq 0 ] || skip 'NOT ROOT: other accounts were not tried'
	profile
	chmod 755 "$BATS_TEST_TMPDIR"
}

teardown() {
	[ -z "$SSHD" ] || kill "$SSHD"
	[ -z "${SERVER_PID:-}" ] || kill "$SERVER_PID" 2>/dev/null || true
}

tool() { printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":{}%s}}' "$1" "$2" "${3:-}"; }

# converse: list, call, and a call that is cancelled once its step runs.
converse() {
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
	[ "$(printf '%s' "$output" | jq '.result.tools | length')" -gt 10 ]
	ask "$(tool 2 test_simple_text)"
	assert_json '[.result.isError, .result.structuredContent.state] | map(tostring) | join(" ")' 'null completed'
	put "$(tool 3 wait ',"_meta":{"progressToken":1}')"
	until [[ ${output:-} == *"step 1"* ]]; do get 20; done
	put '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}'
	silent
}

# sshd_with LINE: the user root may log in by a key of ours, whose line in authorized_keys begins with LINE.
sshd_with() {
	[ -x /usr/sbin/sshd ] || skip 'THERE IS NO sshd HERE: ssh was not tried'
	PORT=$(free_port)
	ssh-keygen -q -t ed25519 -N '' -f "$W/host" </dev/null
	ssh-keygen -q -t ed25519 -N '' -f "$W/id" </dev/null
	printf '%s %s\n' "$1" "$(cat "$W/id.pub")" >"$W/authorized"
	chmod 600 "$W/authorized"
	printf '%s\n' "Port $PORT" 'ListenAddress 127.0.0.1' "HostKey $W/host" "AuthorizedKeysFile $W/authorized" 'StrictModes no' 'UsePAM no' \
		'PermitRootLogin yes' 'PasswordAuthentication no' "PidFile $W/sshd.pid" >"$W/sshd_config"
	# The directory of its unprivileged part is compiled in; a private /run has it.
	unshare -m sh -c 'mount -t tmpfs none /run && mkdir /run/sshd && exec /usr/sbin/sshd -D -e -f "$1"' sh "$W/sshd_config" 2>"$W/sshd.log" 3>&- &
	SSHD=$!
	wait_until 10 listens "$PORT"
	SSH=(ssh -T -p "$PORT" -i "$W/id" -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o "UserKnownHostsFile=$W/known" -o BatchMode=yes -F none root@127.0.0.1)
}

# talk_to COMMAND...: as serve, but another program.
talk_to() {
	coproc SERVER { exec "$@" 2>"$W/stderr" 3>&-; }
	TO=${SERVER[1]} FROM=${SERVER[0]}
	exec {IN}>&"$TO" {OUT}<&"$FROM"
	eval "exec $TO>&- $FROM<&-"
	PID=$SERVER_PID
}

@test "ssh host sbx-mcp: list, call, cancel, and the end of the client" {
	sshd_with ''
	talk_to "${SSH[@]}" "SBX_BUILD=$SBX_BUILD SBX_PROFILE=$SBX_PROFILE $ROOT/test/conformance/server"
	legacy
	converse
	wait_until 20 recorded cancelled 1
	put "$(tool 4 wait ',"_meta":{"progressToken":2}')"
	until [[ ${output:-} == *"step 1"* ]]; do get 20; done
	kill -9 "$PID"
	bye
	wait_until 20 recorded cancelled 2
}

@test "the door behind an ssh forced command: list, call, cancel, and no other command" {
	sshd_with "restrict,command=\"$SBX_BIN/sbx-call --config $SBX_PROFILE/sbx.yaml --principal agent --wait 0s\""
	serve -- "${SSH[@]}"
	legacy
	converse
	wait_until 20 recorded cancelled 1
	ask "$(tool 5 no_such_tool)"
	assert_json .error.code -32602
	assert_equal "$("$SBX_BIN/sbx-audit" --config "$SBX_PROFILE/sbx.yaml" show --json | jq -rs '[.[] | select(.event == "tool.request") | .principal] | unique | join(" ")')" agent
	# Whatever else is asked for, it is the door that answers.
	run -65 --separate-stderr "${SSH[@]}" id <<<'id'
	assert_json .error.code bad_request
	# Nobody listens any more: that is the door's failure, and the server stays.
	kill "$SSHD"
	SSHD=
	ask "$(tool 6 test_simple_text)"
	assert_json '[.result.isError, .result.structuredContent.error.code] | map(tostring) | join(" ")' 'true door_failed'
	assert_contains "$(printf '%s' "$output" | jq -r '.result.content[0].text')" 'Its last words: "ssh: connect to host'
}

# in_two_accounts COMMAND: with accounts agent and sbx, the line in sudoers that lets one through to the other, and the profile as what the account sbx
# finds in /etc/sbx: sh COMMAND as agent.
in_two_accounts() {
	mkdir "$W/etc"
	cp -a /etc/. "$W/etc/"
	printf 'agent:x:61001:61001::/tmp:/bin/sh\nsbx:x:61002:61002::/nonexistent:/usr/sbin/nologin\n' >>"$W/etc/passwd"
	printf 'agent:x:61001:\nsbx:x:61002:\n' >>"$W/etc/group"
	printf 'agent:*:20000::::::\nsbx:*:20000::::::\n' >>"$W/etc/shadow"
	printf 'agent ALL=(sbx) NOPASSWD: %s/bin/sbx-call --principal agent --wait 0s\n' /opt >"$W/etc/sudoers.d/sbx"
	chmod 440 "$W/etc/sudoers.d/sbx"
	cp -r "$SBX_PROFILE" "$W/etc/sbx"
	chown -R 61002:61002 "$W/etc/sbx"
	find "$W/etc/sbx/policy" -name '*.yaml' -exec sed -i "s|$SBX_BUILD|/opt|" {} +
	chmod 755 "$W/etc/sbx"
	cat >"$W/enter" <<-EOF
		mount --bind $W/etc /etc
		mount --bind $SBX_BUILD /opt
		exec setpriv --reuid 61001 --regid 61001 --clear-groups env -i HOME=/tmp PATH=/usr/bin:/bin sh -c 'exec $1'
	EOF
	talk_to unshare -m sh -e "$W/enter"
}

@test "the door behind sudo, in an account of its own: list, call, cancel, check" {
	command -v sudo >/dev/null || skip 'THERE IS NO sudo HERE: it was not tried'
	in_two_accounts '/opt/bin/sbx-mcp -- sudo -n -u sbx /opt/bin/sbx-call --principal agent --wait 0s'
	legacy
	converse
	cancelled_there() { jq -es '[.[] | select(.event == "tool.result" and .state == "cancelled")] | length == 1' "$W/etc/sbx/var/audit.jsonl"; }
	wait_until 20 cancelled_there
	assert_equal "$(jq -rs '[.[] | select(.event == "tool.request") | [.principal, .via] | join(" ")] | unique | join(",")' "$W/etc/sbx/var/audit.jsonl")" 'agent line'
	bye
	ends 5
	rm -rf "$W/etc"
	in_two_accounts '/opt/bin/sbx-mcp --check -- sudo -n -u sbx /opt/bin/sbx-call --principal agent --wait 0s'
	get 20
	assert_contains "$output" 'door       sudo -n -u sbx'
	get 20
	assert_contains "$output" 'calls are made by agent'
	bye
	ends 5
	rm -rf "$W/etc"
	# Another name than the line's is another command.
	in_two_accounts '/opt/bin/sbx-mcp -- sudo -n -u sbx /opt/bin/sbx-call --principal root --wait 0s'
	legacy
	ask "$(tool 1 test_simple_text)"
	assert_json '[.result.isError, .result.structuredContent.error.code] | map(tostring) | join(" ")' 'true door_failed'
}
