# The seals of a call (sbx(7)) in shell, so that a test can hand a stage any call, and play a stage. Calls must be plain ASCII: then jq -cS writes the
# canonical form.

# wire TEXT: a four-byte length and the text.
wire() {
	local n=${#1}
	# shellcheck disable=SC2059
	printf "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $((n >> 24)) $((n >> 16 & 255)) $((n >> 8 & 255)) $((n & 255)))"
	printf '%s' "$1"
}

# seal_call STATE_DIR STAGE MEMBERS: the call on stdin with one more seal, over its MEMBERS (a JSON array of names).
seal_call() {
	local call key id previous time covered mac
	call=$(cat)
	key=$(od -An -v -tx1 "$1/seal.key" | tr -d ' \n')
	id=$(jq -r .call.id <<<"$call")
	previous=$(jq -r '.seals[-1].mac // ""' <<<"$call")
	time=$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)
	covered=$(jq -cS "with_entries(select(.key as \$k | $3 | index(\$k)))" <<<"$call")
	mac=$({
		wire sbx-seal/1
		wire "$(cat "$1/installation")"
		wire "$2"
		wire "$id"
		wire "$time"
		wire "$previous"
		wire "$covered"
	} | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -r | cut -c1-64)
	jq -cS --arg s "$2" --arg t "$time" --arg m "$mac" '.seals += [{stage: $s, time: $t, mac: $m}]' <<<"$call"
}
