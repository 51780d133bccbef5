#!/bin/bash
# Shared by the demos, which source it: what is said and checked, the agent's lines to sbx-mcp, and what a person does. $sbx is the directory of the
# programs, $d the demo's own.
# shellcheck disable=SC2154

bold='' plain=''
if [ -t 1 ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi
step() { printf '\n%s== %s%s\n' "$bold" "$1" "$plain"; }
say() { printf '   %s\n' "$*"; }
fail() {
	printf 'demo: FAILED: %s\n' "$*" >&2
	[ ! -s "$d/mcp.log" ] || sed 's/^/   /' "$d/mcp.log" >&2
	exit 1
}
checks=0
# check WHAT ACTUAL EXPECTED
check() {
	[ "$2" = "$3" ] || fail "$1: got '$2', expected '$3'"
	checks=$((checks + 1))
	printf '   ok: %s\n' "$1"
}
# check_has WHAT TEXT PART
check_has() {
	case $2 in
	*"$3"*) checks=$((checks + 1)) && printf '   ok: %s\n' "$1" ;;
	*) fail "$1: '$3' is not in: $2" ;;
	esac
}

# --- the agent: JSON-RPC lines to sbx-mcp and back -------------------------------------------------------------------------------------

agent_starts() {
	coproc MCP { exec "$sbx/sbx-mcp" --config "$d/sbx.yaml" --wait 0s 2>"$d/mcp.log"; }
	mcp_pid=$MCP_PID
}
agent_leaves() {
	exec {MCP[1]}>&-
	wait "$mcp_pid"
	check 'sbx-mcp ends with it' "$?" 0
	mcp_pid=''
}
next_id=0
ask() { # METHOD PARAMS: the answer is in $answer
	next_id=$((next_id + 1))
	jq -cn --arg m "$1" --argjson p "$2" --argjson id "$next_id" '{jsonrpc:"2.0",id:$id,method:$m,params:$p}' >&"${MCP[1]}"
	while IFS= read -r -t "${patience:-55}" answer <&"${MCP[0]}"; do
		[ "$(jq -r '.id // empty' <<<"$answer")" != "$next_id" ] || return 0
	done
	fail "no answer to $1"
}
call() { # TOOL ARGUMENTS: what the agent reads is in $text, the structured form in $told
	ask tools/call "$(jq -cn --arg n "$1" --argjson a "$2" '{name:$n,arguments:$a}')"
	text=$(jq -r '[.result.content[]?.text] | join("\n")' <<<"$answer")
	told=$(jq -c '.result.structuredContent // {}' <<<"$answer")
}
get() { jq -r "$1 // empty" <<<"$told"; }
person_signs() { # APPROVAL
	"$sbx/sbx-approve" sign "$1" --key "$d/person" >"$d/signed" 2>"$d/signed.log" </dev/null || {
		cat "$d/signed.log" >&2
		fail "the signature was not accepted"
	}
	sed 's/^/   | /' "$d/signed"
}

# a_person NAME: a throwaway key, and its line in the trust file.
a_person() {
	ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$d/person" </dev/null || exit 71
	printf '%s namespaces="sbx-approve@v1" %s\n' "$1" "$(cut -d' ' -f1,2 "$d/person.pub")" >"$d/allowed_signers"
}

# request_state APPROVAL: where it stands, in words.
request_state() {
	"$sbx/sbx-approve" show "$1" 2>&1 >/dev/null | sed -n "s/.*$1 is //p"
}
# granted_text APPROVAL: the digest of the text that was signed, as it was recorded then.
granted_text() {
	"$sbx/sbx-audit" show --json | jq -r --arg id "$1" 'select(.event == "approval.granted" and .approval == $id).text_sha256'
}
