# The README's "Two accounts", with real accounts, sudo and sshd: what the agent can do, what it cannot, and how people reach the desk.

load ../helpers
load accounts

DOOR=(sudo -n -u sbx /usr/local/bin/sbx-call --principal agent --wait 20s)

setup_file() {
	export MISSING
	MISSING=$(accounts_missing | paste -sd' ')
	[ -n "$MISSING" ] || accounts_setup
}

teardown_file() {
	accounts_teardown
}

setup() {
	[ -z "$MISSING" ] || skip "needs $MISSING"
	W=$BATS_TEST_TMPDIR
}

teardown() {
	[ -z "${CLIENT:-}" ] || kill_client
}

# person WHO COMMAND...: Alice reaches the desk by sudo, Bob by ssh.
person() {
	local settings=()
	[ "$1" != bob ] || settings=(SBX_CONFIG=/home/bob/.sbx.yaml)
	run_sbx "${RC:-0}" account "$1" env "${settings[@]}" sbx-approve "${@:2}" </dev/null
}

# The id of the one request that waits, for the tool.
waits_for() {
	id=$(account alice sbx-approve list | sed -n "s/ waiting .* tool \"$1\" .*//p")
	[ -n "$id" ]
}

approval_id() {
	member .approval.id <<<"$output"
}

# recorded EVENT CALL: the line is in $event.
recorded() {
	event=$(grep "\"event\":\"$1\",\"request_id\":\"$2\"" "$SEEN/var/lib/sbx/audit.jsonl")
}

# The call that was started last runs: its id is in $running.
running() {
	running=$(grep '"event":"sandbox.started"' "$SEEN/var/lib/sbx/audit.jsonl" | tail -n 1 | member .request_id)
	[ -n "$running" ] && ! recorded sandbox.completed "$running"
}

# The call $running ended like this.
ended_as() {
	recorded tool.result "$running" && [ "$(member .state <<<"$event")" = "$1" ]
}

nobody_works() {
	! inside pgrep -u sbx
}

# serve COMMAND...: an MCP client's server, as agent; its first process here is $CLIENT, which a vanishing client takes with it.
serve() {
	coproc SERVER { exec account agent sbx-mcp -- "$@" 2>"$W/stderr" 3>&-; }
	CLIENT=$SERVER_PID
	exec {IN}>&"${SERVER[1]}" {OUT}<&"${SERVER[0]}"
}

# vanish PROGRAM: the agent's is killed, and with it what stands before it here.
vanish() {
	inside pkill -KILL -u agent -x "$1"
	kill_client
}

kill_client() {
	kill -KILL "$CLIENT" 2>/dev/null || true
	wait "$CLIENT" 2>/dev/null || true
	[ -z "${IN:-}" ] || exec {IN}>&- {OUT}<&-
	CLIENT='' IN=''
	exec 9>&-
}

send() { # LINE
	printf '%s\n' "$1" >&"$IN"
}

hear() { # the next line that comes is in $output
	IFS= read -r -t 40 output <&"$OUT" || {
		echo "no answer; stderr: $(cat "$W/stderr")"
		return 1
	}
}

initialize() { # CLIENT NAME, as it stands in JSON
	send '{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"'"$1"'","version":"1"}}}'
	hear
	send '{"jsonrpc":"2.0","method":"notifications/initialized"}'
}

ask_tool() { # NAME ARGUMENTS
	send '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"'"$1"'","arguments":'"$2"'}}'
}

answer() { # the structured one is in $output
	hear
	output=$(jq -c .result.structuredContent <<<"$output")
}

tool() {
	ask_tool "$@"
	answer
}

@test "the README's own look: the agent's account is refused the key, the desk, and another name" {
	local line count=0
	run_sbx 0 inside sudo -u agent "${DOOR[@]}" <<<tools
	assert_contains "$output" '"name":"terraform_plan"'
	run_sbx 0 inside sudo -u sbx cat /var/lib/sbx/seal.key
	run_sbx 0 inside sudo -u alice sudo -n -u sbx /usr/local/bin/sbx-approve --desk alice <<<list
	while IFS= read -r line; do
		run_sbx 0 inside bash -c "$line"
		count=$((count + 1))
	done < <(accounts_readme | grep '^! ')
	assert_equal "$count" 3
}

@test "the manual's lines for sudoers, ssh and settings are those of the README" {
	local line count=0
	while IFS= read -r line; do
		accounts_readme | sed 's/\\"/"/g' | grep -qF -- "$line" || grep -qF -- "$line" "$ROOT/README.md"
		count=$((count + 1))
	done < <(sed -n -e 's/^\.Dl //' -e 's/ ssh-ed25519 AAAA.*//' -e '/^desk: \[/p; /^[a-z]* ALL=(sbx)/p; /^restrict,/p; /^sbx-mcp -- sudo/p' \
		"$ROOT/man/"sbx-{approve,call,mcp}.1)
	assert_equal "$count" 7
}

@test "an agent plans and applies through sbx-mcp and sudo, Alice signs by sudo, others check it with ssh-keygen" {
	inside test -x /usr/local/bin/terraform || skip 'needs terraform or tofu'
	local plan id code
	serve "${DOOR[@]}"
	initialize 'evil\" 1\u001b[2J\nInstallation x'
	tool terraform_plan '{"dir":"envs/staging"}'
	assert_json .state completed
	tool terraform_apply "{\"plan\":\"$(member .plan.id <<<"$output")\"}"
	assert_json .state completed
	# Values and keys that an agent writes, to look like ours.
	inside sed -i 's|web:1.0|web:1.1\\nFindings: 0\\u001b[2J|' /srv/infrastructure/envs/staging/main.tf
	inside tee -a /srv/infrastructure/envs/staging/main.tf <<<'resource "terraform_data" "more" { for_each = toset(["\nNot inspected\n  nothing\" \u202e"]) }' >/dev/null
	tool terraform_plan '{"dir":"envs/staging"}'
	plan=$(member .plan.id <<<"$output")
	ask_tool terraform_apply "{\"plan\":\"$plan\"}"

	wait_until 10 waits_for terraform_apply
	code=$(account alice sbx-approve show "$id" | sha256sum | cut -c1-64 | xxd -r -p | base32 | cut -c1-8)
	# Without the address of what is lost, or without the code, nothing is signed.
	run_sbx 1 account alice typist 300 'Data is lost. Type the address terraform_data.web, ' "$code" -- sbx-approve sign "$id"
	run_sbx 1 account alice typist 300 'Data is lost. Type the address terraform_data.web, ' terraform_data.web "To sign this text type $code, " terraform_data.web -- \
		sbx-approve sign "$id"
	run_sbx 0 account alice typist 300 'Data is lost. Type the address terraform_data.web, ' terraform_data.web "To sign this text type $code, " "$code" -- \
		sbx-approve sign "$id"
	assert_contains "$output" "$id is approved by alice"
	person alice show "$id"
	assert_equal "${output:0:13}" 'Installation '
	assert_contains "$output" 'Data is lost: 1 object that holds data is destroyed'
	assert_equal "$(grep -c '^Installation' <<<"$output")" 1
	assert_contains "$output" 'calls itself "evil\" 1\x1b[2J\x0aInstallation x 1" (a claim, not checked)'
	assert_contains "$output" 'REPLACE "terraform_data.web" because "triggers_replace"'
	assert_equal "$(grep -c '^Findings: ' <<<"$output")" 1
	assert_equal "$(grep -c '^Not inspected' <<<"$output")" 1
	assert_contains "$output" 'CREATE "terraform_data.more[\"'
	refute_contains "$output" $'\e'
	answer
	assert_json .state completed
	assert_json .approval.id "$id"

	person alice export "$id" checked
	account alice sh -c 'cd checked && grep -E "^  (sha256sum|ssh-keygen) " README | sh -e' >"$W/checked"
	assert_contains "$(cat "$W/checked")" 'Good "sbx-approve@v1" signature for alice'
	assert_contains "$(cat "$W/checked")" "$(account alice sed -n 's/^  \([0-9a-f]\{64\}\),$/\1/p' checked/README)  text"
	person alice verify checked
	assert_contains "$output" '1 of the 1 people'
}

# The call of the agent behind COMMAND..., whose requests come from descriptor 9: its client is $CLIENT.
begin() { # REQUEST COMMAND...
	mkfifo "$W/requests"
	"${@:2}" <"$W/requests" >"$W/out" 2>"$W/err" 3>&- &
	CLIENT=$!
	exec 9>"$W/requests"
	rm "$W/requests"
	printf '%s\n' "$1" >&9
}

# end RC: the call of begin has ended; its object is in $output.
end() {
	local rc=0
	wait "$CLIENT" || rc=$?
	CLIENT=''
	exec 9>&-
	output=$(cat "$W/out")
	assert_equal "$rc" "$1"
}

BY_SUDO=(account agent "${DOOR[@]}")
BY_SSH=(account agent ssh -T sbx@bastion.example)
OTHER=(account other sudo -n -u sbx /usr/local/bin/sbx-call --principal other --wait 0s)
SLEEP='call {"tool":"sleep","params":{}}'

@test "what the toolkit's account has cannot be read, at rest or at work" {
	begin "$SLEEP" "${BY_SUDO[@]}"
	wait_until 10 running
	local files pids name
	person alice list
	files=$(inside find /var/lib/sbx -type f)
	for name in seal.key approvals.db audit.jsonl jwt/key leases/ runs/; do
		assert_contains "$files" "$name"
	done
	# shellcheck disable=SC2086
	run_sbx 0 account sbx sh -c 'for f; do [ -r "$f" ] || echo "$f"; done' sh $files
	assert_equal "$output" ''
	# shellcheck disable=SC2086
	run_sbx 0 account agent sh -c 'for f; do if [ -r "$f" ] || [ -e "$f" ]; then echo "$f"; fi; done' sh $files
	assert_equal "$output" ''
	pids=$(inside pgrep -u sbx | paste -sd' ')
	[ "$(wc -w <<<"$pids")" -ge 5 ]
	run_sbx 0 account agent sh -c 'for p; do cat /proc/$p/environ /proc/$p/mem /proc/$p/fd/0 /proc/$p/root/etc/passwd; ls /proc/$p/fd /proc/$p/cwd/; done 2>/dev/null || :; cat /proc/self/status' sh $pids
	assert_equal "${lines[0]:0:5}" Name:
	echo cancel >&9
	end 1
}

@test "another agent's plan and results are not there" {
	inside test -x /usr/local/bin/terraform || skip 'needs terraform or tofu'
	local plan request files
	run_sbx 0 "${BY_SUDO[@]}" <<<'call {"tool":"terraform_plan","params":{"dir":"envs/staging"}}'
	plan=$(member .result.plan.id <<<"$output")
	request="result $(member .call.id <<<"$output")"
	files=$(inside find /var/lib/sbx/plans -type f)
	assert_contains "$files" "$plan/"
	# shellcheck disable=SC2086
	run_sbx 1 account agent cat $files
	assert_equal "$output" ''
	run_sbx 77 "${OTHER[@]}" <<<"call {\"tool\":\"terraform_apply\",\"params\":{\"plan\":\"$plan\"}}"
	assert_call plan_unknown
	run_sbx 66 "${OTHER[@]}" <<<"$request"
	assert_call result_unknown
	run_sbx 0 "${BY_SUDO[@]}" <<<"$request"
	assert_json .result.plan.id "$plan"
	# Asked for word by word alike, it is a request of its own, which its agent's approval does not open.
	run_sbx 75 "${OTHER[@]}" <<<'call {"tool":"apply_true","params":{"note":"same"}}'
	person alice sign "$(approval_id)"
	run_sbx 75 account alice sudo -n -u sbx /usr/local/bin/sbx-call --principal alice --wait 0s <<<'call {"tool":"apply_true","params":{"note":"same"}}'
	run_sbx 0 "${OTHER[@]}" <<<'call {"tool":"apply_true","params":{"note":"same"}}'
	assert_json .approval.state claimed
}

@test "the line fixes every argument" {
	local words
	for words in '/usr/local/bin/sbx-call --principal alice --wait 20s' '/usr/local/bin/sbx-call --principal agent --wait 30m' \
		'/usr/local/bin/sbx-call --principal agent --wait 20s true' '/usr/local/bin/sbx-call --config /tmp/sbx.yaml --principal agent --wait 20s' \
		'/usr/local/bin/sbx-call' '/usr/local/bin/sbx-approve --desk agent' '/usr/local/bin/sbx-audit show' /bin/sh; do
		# shellcheck disable=SC2086
		run_sbx 1 account agent sudo -n -u sbx $words </dev/null
		assert_contains "$stderr" 'password is required'
	done
	run_sbx 1 account agent sudo -n "${DOOR[@]:3}" </dev/null
	run_sbx 78 account agent sbx-approve --desk alice <<<list
	assert_contains "$output" 'error unsafe_state 78 '
	RC=69 person agent list
	assert_contains "$stderr" desk_failed
	run_sbx 65 "${BY_SUDO[@]}" <<<list
	assert_call bad_request
	run_sbx 0 "${BY_SUDO[@]}" <<<tools
}

@test "a line that does not say who asks lets nobody in" {
	run_sbx 77 account other sudo -n -u sbx /usr/local/bin/sbx-call <<<tools
	assert_call no_principal
	run_sbx 0 account other sudo -n -u sbx /usr/local/bin/sbx-call --principal other --wait 0s <<<tools
}

@test "what an agent sets before sudo does not reach the toolkit" {
	run_sbx 0 account agent bash -c 'trap "" INT TERM HUP CHLD PIPE ALRM; umask 777; mkdir -p -m 700 dark; cd dark; export SBX_CONFIG=/tmp/x LD_PRELOAD=/x HOME=/x
		exec 7<>/dev/null; exec "$@"' bash "${DOOR[@]}" <<<'call {"tool":"true","params":{}}'
	assert_json .result.state completed
	# A stage that dies where the agent wants it to leaves half a record, or a credential for the next mending.
	local limit
	for limit in '-f 60' '-t 9' '-v 900000' '-d 900000' '-s 4096' '-n 60'; do
		run_sbx 77 account agent bash -c "ulimit $limit; exec \"\$@\"" bash "${DOOR[@]}" <<<'call {"tool":"true","params":{}}'
		assert_call limits_lowered
		run_sbx 0 account agent bash -c "ulimit -S $limit; exec \"\$@\"" bash "${DOOR[@]}" <<<'call {"tool":"true","params":{}}'
	done
}

@test "an agent under nice is served, and its place in the queue for the disk does not reach the toolkit" {
	run_sbx 0 account agent chrt --idle 0 nice -n 10 "${DOOR[@]}" <<<'call {"tool":"true","params":{}}'
	assert_json .result.state completed
	coproc DOORS { exec account agent ionice -c 3 "${DOOR[@]}" 2>/dev/null 3>&-; }
	local out=${DOORS[0]} in=${DOORS[1]}
	printf 'call {"tool":"sleep","params":{}}\n' >&"$in"
	wait_until 20 inside pgrep -u sbx -x sbx-run
	wait_until 20 running
	local pid
	for pid in $(inside pgrep -u sbx -x 'sbx-(call|cred|run|audit)'); do
		refute_contains "$(inside ionice -p "$pid")" idle
	done
	printf 'cancel\n' >&"$in"
	IFS= read -r -t 20 output <&"$out"
	assert_json .result.state cancelled
}

@test "an agent that does not read the messages of its call keeps no lock from the others" {
	# A pipe that takes nothing more.
	account agent sh -c 'mkfifo full; exec 8<>full; dd if=/dev/zero of=full oflag=nonblock bs=4096 2>/dev/null
		exec timeout -s KILL 50 "$@" 2>&8' sh "${DOOR[@]}" <<<'call {"tool":"terraform_plan","params":{"dir":"envs/staging"}}' >"$W/plan"
	output=$(cat "$W/plan")
	assert_json .result.state completed
	account agent rm full
	wait_until 10 nobody_works
	run_sbx 0 account other sudo -n -u sbx /usr/local/bin/sbx-call --principal other --wait 0s <<<'call {"tool":"terraform_plan","params":{"dir":"envs/staging"}}'
	assert_json .result.state completed
}

@test "Bob signs and denies from another machine, by ssh" {
	run_sbx 75 "${OTHER[@]}" <<<'call {"tool":"apply_true","params":{"note":"far"}}'
	local id
	id=$(approval_id)
	person bob list
	assert_contains "$output" "$id waiting"
	person bob show "$id"
	assert_contains "$output" 'parameter "note" is "far"'
	person bob sign "$id"
	assert_contains "$stderr" "$id is approved by bob"
	run_sbx 0 "${OTHER[@]}" <<<'call {"tool":"apply_true","params":{"note":"far"}}'
	assert_json '.approval.signers | join(" ")' bob
	person bob export "$id" "checked-$id"
	person bob verify "checked-$id"
	assert_contains "$output" 'signed by bob'
	run_sbx 75 "${OTHER[@]}" <<<'call {"tool":"apply_true","params":{"note":"farther"}}'
	id=$(approval_id)
	person bob deny "$id" --reason 'not on a Friday'
	RC=77 person bob sign "$id"
	assert_contains "$stderr" approval_not_waiting
	assert_equal "$(grep '"event":"approval.denied"' "$SEEN/var/lib/sbx/audit.jsonl" | member .by)" bob
}

@test "an ssh key opens its one command, without terminal or forwarding, and nobody else's opens any" {
	local ssh=(ssh -o BatchMode=yes -T)
	run_sbx 65 account bob "${ssh[@]}" sbx@bastion.example cat /var/lib/sbx/seal.key </dev/null
	assert_contains "$output" 'error bad_request 65 '
	run_sbx 65 account agent "${ssh[@]}" sbx@bastion.example /usr/local/bin/sbx-approve --desk bob <<<list
	assert_call bad_request
	refused() { # WHY COMMAND...: by ssh itself
		run "${@:2}" </dev/null 3>&-
		assert_equal "$status" 255
		assert_contains "$output" "$1"
	}
	refused 'subsystem request failed' account bob "${ssh[@]}" -s sbx@bastion.example sftp
	refused 'administratively prohibited' account bob "${ssh[@]}" -W 127.0.0.1:22 sbx@bastion.example
	refused 'Permission denied' account alice "${ssh[@]}" -o StrictHostKeyChecking=no sbx@bastion.example
	run_sbx 0 account bob "${ssh[@]}" sbx@bastion.example <<<list
	assert_equal "${output:0:3}" 'ok '
}

@test "whoever asks does not sign with a key file: another person does" {
	local by_alice=(account alice sudo -n -u sbx /usr/local/bin/sbx-call --principal alice --wait 0s)
	run_sbx 75 "${by_alice[@]}" <<<'call {"tool":"apply_true","params":{"note":"mine"}}'
	local id
	id=$(approval_id)
	RC=77 person alice sign "$id"
	assert_contains "$stderr" touch_required
	person bob sign "$id"
	run_sbx 0 "${by_alice[@]}" <<<'call {"tool":"apply_true","params":{"note":"mine"}}'
	assert_json '.approval.signers | join(" ")' bob
}

@test "cancel ends the call and its sandbox, through sudo and through ssh" {
	local way
	for way in SUDO SSH; do
		declare -n words=BY_$way
		begin "$SLEEP" "${words[@]}"
		wait_until 10 running
		echo cancel >&9
		end 1
		assert_json .result.state cancelled
		assert_json '.revocation[0].state' revoked
		wait_until 10 nobody_works
	done
}

@test "a client that vanishes cancels what nobody approved, and not what has spent an approval" {
	local id
	serve "${DOOR[@]}"
	initialize client
	ask_tool sleep '{}'
	wait_until 10 running
	vanish sbx-mcp
	wait_until 10 ended_as cancelled
	begin "$SLEEP" "${BY_SSH[@]}"
	wait_until 10 running
	vanish ssh
	wait_until 10 ended_as cancelled

	serve "${DOOR[@]}"
	initialize client
	ask_tool apply_slowly '{"note":"by sudo"}'
	wait_until 10 waits_for apply_slowly
	person alice sign "$id"
	wait_until 10 running
	vanish sbx-mcp
	wait_until 10 ended_as completed
	run_sbx 0 "${BY_SUDO[@]}" <<<"result $running"
	assert_json .approval.state claimed

	begin 'call {"tool":"apply_slowly","params":{"note":"by ssh"}}' "${BY_SSH[@]}"
	wait_until 10 waits_for apply_slowly
	person bob sign "$id"
	wait_until 10 running
	vanish ssh
	wait_until 10 ended_as completed
}

@test "a person looks what a killed call has done, and says so" {
	local id
	run_sbx 75 "${OTHER[@]}" <<<'call {"tool":"apply_slowly","params":{"note":"killed"}}'
	id=$(approval_id)
	person alice sign "$id"
	begin 'call {"tool":"apply_slowly","params":{"note":"killed"}}' "${OTHER[@]}"
	wait_until 10 running
	inside pkill -KILL -u sbx -x sbx-run
	end 3
	run_sbx 77 "${OTHER[@]}" <<<'call {"tool":"apply_slowly","params":{"note":"killed"}}'
	assert_call outcome_unknown
	person alice resolve "$id"
	run_sbx 75 "${OTHER[@]}" <<<'call {"tool":"apply_slowly","params":{"note":"killed"}}'
	[ "$(approval_id)" != "$id" ]
}
