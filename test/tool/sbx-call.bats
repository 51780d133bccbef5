# The door: what it reads, what it starts, what it hands back.

load ../helpers

setup() {
	fresh_state
}

@test "usage, help, version" {
	run_sbx 0 sbx-call --help
	assert_contains "$output" 'usage: sbx-call'
	run_sbx 0 sbx-call --version
	run_sbx 64 sbx-call --unknown
	run_sbx 64 sbx-call --peer --principal x
	run_sbx 64 sbx-call --mend true
}

@test "a call by arguments goes through all four stages" {
	run_sbx 0 sbx-call true
	assert_call
	assert_json .result.state completed
	assert_json '[.seals[].stage] | join(" ")' 'policy approve cred run revoke audit'
	assert_json .error null
}

@test "a call by one line on stdin is the same" {
	run_sbx 0 sbx-call <<<'call {"tool":"true","params":{},"client":"a test"}'
	assert_call
	assert_json .result.state completed
	assert_json .call.client 'a test'
}

@test "the end of stdin means nothing" {
	run_sbx 0 bash -c 'printf "call {\"tool\":\"true\",\"params\":{}}\n" | sbx-call'
	assert_json .result.state completed
}

@test "what stops every stage is said once, by the first" {
	local how
	printf 'surprise: 1\n' >>"$T/sbx.yaml"
	for how in 'sbx-call true' 'sbx-call <<<"call {\"tool\":\"true\",\"params\":{}}"' \
		'sbx-policy true | sbx-approve | sbx-cred sbx-run | sbx-audit'; do
		run_sbx 78 bash -c "$how"
		assert_call bad_config
		assert_json .error.stage policy
		assert_equal "$stderr" "$(printf 'sbx-policy: %s (bad_config)\nsbx-policy: hint: %s' "$(member .error.message <<<"$output")" "$(member .error.hint <<<"$output")")"
	done
	# Who has no stage before it, or one that is content, says it itself, and waits for no input where it takes none.
	run_sbx 78 sbx-approve </dev/null
	assert_call bad_config
	run_sbx 78 sbx-audit result 00000000000000000000000000000000 < <(sleep 60)
	assert_call bad_config
	sed -i '/surprise/d' "$T/sbx.yaml"
	sbx-policy true >"$T/call.json"
	sed '$a surprise: 1' "$T/sbx.yaml" >"$T/other.yaml"
	run_sbx 78 sbx-approve --config "$T/other.yaml" <"$T/call.json"
	assert_call bad_config
	assert_json .error.stage approve
	assert_contains "$stderr" 'sbx-approve: '
	# The same with a state directory that cannot be had.
	sed -i 's|^state: .*|state: sbx.yaml|' "$T/sbx.yaml"
	run_sbx 78 sbx-call true
	assert_equal "$(grep -c '^sbx-' <<<"$stderr")" 1
	assert_contains "$stderr" 'sbx-policy: '
}

@test "tools are listed through the door" {
	run_sbx 0 sbx-call <<<tools
	assert_json '.tools | map(.name) | index("true") != null' true
}

@test "check says whether calls can work, and for whom" {
	run_sbx 78 sbx-call --principal agent-7 <<<check
	assert_json '.check[0].text' 'calls are made by agent-7'
	assert_json '[.check[] | select(.state == "missing") | .topic] | index("approval") != null' true
	assert_json '.usable' false
	run_sbx 65 sbx-call <<<'check me'
}

@test "a result is handed out again to the one who asked" {
	run_sbx 0 sbx-call true
	local first=$output
	run_sbx 0 sbx-call <<<"result $(member .call.id <<<"$first")"
	assert_json .call.id "$(member .call.id <<<"$first")"
	assert_json .result.state completed
	run_sbx 66 sbx-call --principal somebody-else <<<"result $(member .call.id <<<"$first")"
	assert_call result_unknown
}

@test "other lines are refused" {
	for line in '' 'shell ls' 'result ../../etc/passwd' 'result -h' 'toolsx' 'cancel'; do
		run_sbx 65 sbx-call <<<"$line"
		assert_call bad_request
	done
	run_sbx 66 sbx-call </dev/null
	assert_call no_input
	run_sbx 65 bash -c 'printf "call {\"tool\":\"true\"" | sbx-call'
	assert_call bad_request
	run_sbx 65 bash -c 'printf "call {\"tool\":\"tr\0ue\",\"params\":{}}\n" | sbx-call'
	assert_call bad_request
	run_sbx 65 bash -c '{ printf "call "; head -c 1100000 /dev/zero | tr "\0" " "; echo; } | sbx-call'
	assert_call too_large
}

@test "closed descriptors, and a full disk behind stdout, are never success" {
	run_sbx 66 bash -c 'sbx-call <&-'
	run_sbx 74 bash -c 'sbx-call true >/dev/full'
	run_sbx 74 bash -c 'sbx-call true >&-'
}

@test "the principal is what the line says, else the user's name" {
	run_sbx 0 sbx-call --principal agent-7 true
	assert_json .call.principal.name agent-7
	assert_json .call.principal.via line
	run_sbx 0 sbx-call true
	assert_json .call.principal.name "$(id -un)"
	assert_json .call.principal.via uid
}

@test "cancel ends the call and its sandbox" {
	coproc DOOR { sbx-call 2>"$T/log"; }
	local door=$DOOR_PID out=${DOOR[0]} in=${DOOR[1]}
	printf 'call {"tool":"sleep","params":{}}\n' >&"$in"
	wait_until 10 grep -q sandbox.started "$T/var/audit.jsonl"
	printf 'cancel\n' >&"$in"
	IFS= read -r -t 20 output <&"$out"
	assert_json .result.state cancelled
	run -1 wait "$door" || true
}

@test "Ctrl-C and TERM are the cancel too" {
	local runs=0
	for sig in INT TERM; do
		runs=$((runs + 1))
		sbx-call sleep >"$T/out" 2>/dev/null 3>&- &
		local pid=$!
		wait_until 30 bash -c "[ \$(grep -c sandbox.started '$T/var/audit.jsonl') -eq $runs ]"
		kill -$sig "$pid"
		local status=0
		wait "$pid" || status=$?
		assert_equal "$status" 1
		output=$(cat "$T/out")
		assert_json .result.state cancelled
	done
}

@test "the caller's environment, locale and HOME change nothing" {
	mkdir "$T/home"
	echo 'def map(f): "owned"; def first: "owned";' >"$T/home/.jq"
	run_sbx 0 env HOME="$T/home" LC_ALL=tr_TR.UTF-8 TF_CLI_ARGS=-destroy TF_REATTACH_PROVIDERS='{}' PATH="$T/home:$PATH" "$SBX_BIN/sbx-call" true
	assert_json .result.state completed
}

@test "without settings, with unsafe ones, with unknown keys: 78 and the file's name" {
	SBX_CONFIG=$T/none.yaml run_sbx 78 sbx-call true
	assert_call missing_config
	echo 'unknown_key: 1' >>"$T/sbx.yaml"
	run_sbx 78 sbx-call true
	assert_call bad_config
	assert_contains "$stderr" unknown_key
	sed -i '$ d' "$T/sbx.yaml"
	chmod go+w "$T/sbx.yaml"
	run_sbx 78 sbx-call true
	assert_call unsafe_file
	chmod go-w "$T/sbx.yaml"
	run_sbx 0 sbx-call true
}

# taken: which places at the door are.
taken() {
	local place
	for place in "$PLACES"/door-*; do
		flock -n "$place" true || printf '%s ' "${place##*/}"
	done
}

@test "a call has its place at the door until it ends, and there are 20 for each principal" {
	local i
	PLACES=$T/var/slots/$(id -un)
	sbx-call sleep >"$T/out" 2>/dev/null 3>&- &
	local pid=$!
	wait_until 30 grep -q sandbox.started "$T/var/audit.jsonl"
	# sbx-policy has ended long ago.
	assert_equal "$(taken)" 'door-1 '
	run_sbx 0 sbx-call true
	assert_equal "$(taken)" 'door-1 '
	for ((i = 2; i <= 20; i++)); do
		: >"$PLACES/door-$i"
		exec {held[i]}<>"$PLACES/door-$i"
		flock -n "${held[i]}"
	done
	run_sbx 69 sbx-call true
	assert_call too_many_calls
	assert_json .error.stage policy
	run_sbx 0 sbx-call --principal other true
	# Nothing was begun for it.
	assert_equal "$(ls "$T/var/runs" | wc -l)" 3
	kill -TERM "$pid"
	wait "$pid" || true
	assert_equal "$(member .result.state <"$T/out")" cancelled
	refute_contains " $(taken)" ' door-1 '
	run_sbx 0 sbx-call true
	for ((i = 2; i <= 20; i++)); do
		exec {held[i]}>&-
	done
	assert_equal "$(taken)" ''
	# The option is the door's.
	run_sbx 64 sbx-policy --place-fd 9 true
	run_sbx 64 sbx-policy --place-fd 1 list
}

# listed: the names of the tools, as the door gives them.
listed() {
	run_sbx 0 sbx-call <<<tools
	printf '%s' "$output" | jq -r '[.tools[].name] | join(" ")'
}

# forge TEXT: it stands where the list is kept.
forge() {
	printf '%s\n' "$1" >"$(find "$T/var/cache" -name 'list-*')"
}

@test "the list of tools is kept, and made anew when a file of the policy or the settings changed" {
	local first kept
	first=$(listed)
	[ "$(find "$T/var/cache" -name 'list-*' | wc -l)" -eq 1 ]
	forge '{"tools":[{"name":"from_the_cache"}]}'
	[ "$(listed)" = from_the_cache ]
	printf 'name: added\ndescription: One more.\ntier: low\nsteps: [["true"]]\n' >"$T/policy/tools/added.yaml"
	[ "$(listed)" = "$(printf '%s' "added $first" | tr ' ' '\n' | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')" ]
	rm "$T/policy/tools/added.yaml"
	[ "$(listed)" = from_the_cache ]
	printf '# more\n' >>"$T/sbx.yaml"
	[ "$(listed)" = "$first" ]
	kept=$(find "$T/var/cache" -name 'list-*' | wc -l)
	[ "$kept" -eq 3 ]
}

@test "what was kept is not handed out when somebody else could have written it, nor when a file of the policy could have been" {
	local first
	first=$(listed)
	forge '{"tools":[{"name":"from_the_cache"}]}'
	chmod 0640 "$(find "$T/var/cache" -name 'list-*')"
	[ "$(listed)" = "$first" ]
	[ "$(stat -c %a "$(find "$T/var/cache" -name 'list-*')")" = 600 ]
	forge '{"tools":[{"name":"from_the_cache"}]}'
	[ "$(listed)" = from_the_cache ]
	chmod 0666 "$T/policy/policy.yaml"
	run_sbx 78 sbx-call <<<tools
	assert_contains "$stderr" unsafe_file
	chmod 0644 "$T/policy/policy.yaml"
	chmod 0755 "$T/var"
	run_sbx 78 sbx-call <<<tools
	assert_contains "$stderr" unsafe_state
}
