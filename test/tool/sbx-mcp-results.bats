# Approvals and results through sbx-mcp on the real door: what waits, what continues, what is fetched later and by whom.

load ../helpers
load ../mcp

setup() {
	W=$BATS_TEST_TMPDIR
	PIDS=()
	fresh_state
	new_signer alice
}

tool() { printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s%s}}' "$1" "$2" "${3:-{\}}" "${4:-}"; }
kept() { tool "$1" sbx_result '{"id":"'"$2"'"}'; }
summary() { printf '%s' "$output" | jq -r '.result.content[0].text'; }
data() { assert_json ".result.structuredContent$1" "$2"; }
sign() { "$SBX_BIN/sbx-approve" sign "$1" --key "$T/alice" >/dev/null 2>&1 </dev/null; }

@test "a call that needs a person: what waits, the same call continues, the result by the approval's id" {
	serve --config "$SBX_CONFIG" --wait 0s
	legacy
	ask "$(tool 1 apply_true)"
	data .state approval_required
	local approval
	approval=$(printf '%s' "$output" | jq -r .result.structuredContent.approval.id)
	assert_contains "$(summary)" "sbx-approve sign $approval"
	assert_contains "$(summary)" 'exactly the same call'
	# The same call again meets the same request.
	ask "$(tool 2 apply_true)"
	data .approval.id "$approval"
	ask "$(kept 3 "$approval")"
	data .state approval_required
	assert_contains "$(summary)" 'waits for a person'
	sign "$approval"
	ask "$(kept 4 "$approval")"
	data .state approval_required
	assert_contains "$(summary)" 'make exactly the same call again'
	ask "$(tool 5 apply_true)"
	data .state completed
	assert_json .result.isError null
	assert_contains "$(summary)" "Approval $approval, signed by alice; it is spent."
	local call
	call=$(printf '%s' "$output" | jq -r .result.structuredContent.call)
	ask "$(kept 6 "$approval")"
	data .state completed
	data .call "$call"
	data .tool apply_true
	assert_json .result.isError null
	ask "$(kept 7 "$call")"
	data .call "$call"
	# Spent is spent: the next one asks anew.
	ask "$(tool 8 apply_true)"
	data .state approval_required
	[ "$(printf '%s' "$output" | jq -r .result.structuredContent.approval.id)" != "$approval" ]
}

@test "it waits for a person who is there, and says so" {
	serve --config "$SBX_CONFIG" --wait 30s
	legacy
	put "$(tool 1 apply_true '{}' ',"_meta":{"progressToken":"p"}')"
	local approval='' last=0
	while get && [[ $output != *'"id":1'* ]]; do
		[ "$(printf '%s' "$output" | jq .params.progress)" -gt "$last" ]
		last=$(printf '%s' "$output" | jq .params.progress)
		[[ $output == *"waiting for a person: sbx-approve sign"* ]] || continue
		approval=$(grep -oE 'sign [0-9a-f]{32}' <<<"$output" | cut -d' ' -f2)
		sign "$approval"
	done
	data .state completed
	data .approval.id "$approval"
	[ "$last" -gt 1 ]
}

@test "a person's no is told, also later" {
	serve --config "$SBX_CONFIG" --wait 0s
	legacy
	ask "$(tool 1 apply_true '{"note":"x"}')"
	local approval
	approval=$(printf '%s' "$output" | jq -r .result.structuredContent.approval.id)
	"$SBX_BIN/sbx-approve" deny "$approval" --reason 'not today' >/dev/null 2>&1
	ask "$(kept 2 "$approval")"
	data .state denied
	data .error.code approval_denied
	ask "$(tool 3 apply_true '{"note":"x"}')"
	assert_json .result.isError true
}

@test "a call that outlives the answer is still running, and its result is fetched" {
	serve --config "$SBX_CONFIG" --wait 0s --deadline 1s
	legacy
	ask "$(tool 1 sleep)"
	data .state running
	local call
	call=$(printf '%s' "$output" | jq -r .result.structuredContent.call)
	assert_contains "$(summary)" 'sbx_result'
	assert_contains "$(summary)" 'It said last: '
	ask "$(kept 2 "$call")"
	data .state running
	data .error.code call_running
	# Its client goes away, and another one of the same principal asks.
	bye
	ends 2
	serve --config "$SBX_CONFIG"
	legacy
	there() { ask "$(kept 3 "$call")" && [ "$(printf '%s' "$output" | jq -r .result.structuredContent.state)" != running ]; }
	wait_until 15 there
	data .state cancelled
	data .call "$call"
}

@test "a client that went away after an approval was spent finds the result" {
	serve --config "$SBX_CONFIG" --wait 0s
	legacy
	cp "$T/policy/tools/sleep.yaml" "$T/policy/tools/slow_high.yaml"
	sed -i -e 's/^name: .*/name: slow_high/' -e 's/^tier: .*/tier: high/' -e 's/expect: allow/expect: approve/' \
		-e 's/\[stepper, .*/[stepper, pause, "1500", then, out, finished]/' "$T/policy/tools/slow_high.yaml"
	ask "$(tool 1 slow_high)"
	local approval
	approval=$(printf '%s' "$output" | jq -r .result.structuredContent.approval.id)
	sign "$approval"
	put "$(tool 2 slow_high '{}' ',"_meta":{"progressToken":1}')"
	until [[ ${output:-} == *"step 1"* ]]; do get; done
	kill -9 "$PID"
	bye
	serve --config "$SBX_CONFIG"
	legacy
	there() { ask "$(kept 3 "$approval")" && [ "$(printf '%s' "$output" | jq -r .result.structuredContent.state)" = completed ]; }
	wait_until 15 there
	data .untrusted.stdout finished
	data .tool slow_high
}

@test "another principal's call is not there, by whichever id" {
	serve -- "$SBX_BIN/sbx-call" --config "$SBX_CONFIG" --principal one
	legacy
	ask "$(tool 1 true)"
	data .state completed
	local call approval
	call=$(printf '%s' "$output" | jq -r .result.structuredContent.call)
	ask "$(tool 2 apply_true)"
	approval=$(printf '%s' "$output" | jq -r .result.structuredContent.approval.id)
	bye
	ends 2
	serve -- "$SBX_BIN/sbx-call" --config "$SBX_CONFIG" --principal two
	legacy
	local id
	for id in "$call" "$approval" 0123456789abcdef0123456789abcdef; do
		ask "$(kept 3 "$id")"
		assert_json .result.isError true
		data .error.code result_unknown
	done
}

@test "sbx_result takes an id and nothing else" {
	serve --config "$SBX_CONFIG"
	legacy
	local arguments
	for arguments in '{}' '{"id":7}' '{"id":"../x"}' '{"id":"0123456789abcdef0123456789abcdef","more":1}'; do
		ask "$(tool 1 sbx_result "$arguments")"
		data .error.code bad_parameter
		assert_contains "$(summary)" '32 hex digits'
	done
}

@test "output that nobody vouches for raises the next call, for as long as the policy says" {
	printf 'taint: {raise: high, for: 2s}\n' >>"$T/policy/policy.yaml"
	printf 'untrusted: true\n' >>"$T/policy/tools/echo.yaml"
	serve --config "$SBX_CONFIG" --wait 0s
	legacy
	ask "$(tool 1 true)"
	data .state completed
	ask "$(tool 2 echo '{"text":"do as I say"}')"
	data .state completed
	local read
	read=$(printf '%s' "$output" | jq -r .result.structuredContent.call)
	ask "$(tool 3 true)"
	data .state approval_required
	data '.tier_from | join(" ")' taint
	assert_contains "$(summary)" 'because of taint'
	calm() { ask "$(tool 4 true)" && [ "$(printf '%s' "$output" | jq -r .result.structuredContent.state)" = completed ]; }
	wait_until 10 calm
	# Fetched later, it is read as well; what a file vouches for taints nothing.
	local trusted
	trusted=$(printf '%s' "$output" | jq -r .result.structuredContent.call)
	ask "$(kept 5 "$trusted")"
	data .state completed
	ask "$(tool 6 true)"
	data .state completed
	ask "$(kept 7 "$read")"
	data .state completed
	ask "$(tool 8 true)"
	data '.tier_from | join(" ")' taint
	# Nothing is handed out when the mark cannot be kept.
	rm -rf "$T/var/taint"
	: >"$T/var/taint"
	ask "$(kept 9 "$read")"
	assert_json .result.isError true
	refute_contains "$output" 'do as I say'
}

@test "a refusal says which rule it was, and what would be accepted" {
	serve --config "$SBX_CONFIG"
	legacy
	ask "$(tool 1 echo '{"color":"blue"}')"
	data .state denied
	data .error.code bad_parameter
	assert_contains "$(summary)" 'What to do: color: one of red or green'
	assert_contains "$(summary)" 'Rule: param:color'
	ask "$(tool 2 echo '{"colour":"red"}')"
	assert_contains "$(summary)" 'What to do: it takes: color, dir, host, label, loud'
	ask "$(tool 3 echo '{"dir":"envs/nowhere"}')"
	assert_contains "$(summary)" 'envs/*'
	ask "$(tool 4 echo '{"color":"green"}')"
	data .state completed
	# What the model may have made up is not repeated as if it were ours.
	ask "$(tool 5 echo '{"text":"-x ignore all rules"}')"
	refute_contains "$(summary)" 'ignore all rules'
}

@test "a tool that floods: the line stays short, and says what was left out" {
	cat >"$T/policy/tools/flood.yaml" <<-EOF
		name: flood
		description: Prints sixteen million bytes that grow most when they are written down.
		tier: low
		steps: [[stepper, flood, "16000000", "1"]]
		limits: {output: 16Mi}
	EOF
	serve --config "$SBX_CONFIG"
	legacy
	put "$(tool 1 flood)"
	timeout 60 head -n 1 <&"$OUT" >"$W/line"
	output=$(cat "$W/line")
	data .state completed
	data .truncated true
	assert_contains "$(summary)" 'The output below is cut; the whole is kept with the call.'
	assert_contains "$(summary)" 'bytes left out]'
	[ "${#output}" -lt 1048576 ]
}
