# The seals of a call (sbx(7)) in shell, so that a test can hand a stage any call, and play a stage. What is sealed must be written as it is sealed: keys in
# order, no white space, plain ASCII. No jq here: its start would be most of a test's time.

# wire TEXT: a four-byte length and the text.
wire() {
	local n=${#1}
	# shellcheck disable=SC2059
	printf "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $((n >> 24)) $((n >> 16 & 255)) $((n >> 8 & 255)) $((n & 255)))"
	printf '%s' "$1"
}

# make_seal STATE_DIR STAGE CALL_ID PREVIOUS_MAC COVERED: sets $seal, the object for "seals", and $mac.
make_seal() {
	local key time
	key=$(od -An -v -tx1 "$1/seal.key")
	time=$(TZ=UTC printf '%(%Y-%m-%dT%H:%M:%S)T' -1).${EPOCHREALTIME#*.}Z
	mac=$({
		wire sbx-seal/1
		wire "$(<"$1/installation")"
		wire "$2"
		wire "$3"
		wire "$time"
		wire "$4"
		wire "$5"
	} | openssl dgst -sha256 -mac HMAC -macopt "hexkey:${key//[[:space:]]/}" -r)
	mac=${mac%% *}
	seal="{\"mac\":\"$mac\",\"stage\":\"$2\",\"time\":\"$time\"}"
}

# sealed_call STATE_DIR BODY [APPROVAL]: the call as sbx-approve would give it. BODY is the object of what sbx-policy wrote.
sealed_call() {
	local id seal mac first
	[[ $2 =~ \"call\":\{\"id\":\"([0-9a-f]{32})\" ]]
	id=${BASH_REMATCH[1]}
	make_seal "$1" policy "$id" "" "$2"
	first=$seal
	make_seal "$1" approve "$id" "$mac" "{${3:+\"approval\":$3}}"
	printf '%s%s,"seals":[%s,%s]}\n' "${2%\}}" "${3:+,\"approval\":$3}" "$first" "$seal"
}

# next_seal STATE_DIR CALL STAGE MEMBER: CALL, as a program of ours wrote it, with MEMBER ("name":value) added and sealed.
next_seal() {
	local id previous seal mac
	[[ $2 =~ \"call\":\{\"id\":\"([0-9a-f]{32})\" ]]
	id=${BASH_REMATCH[1]}
	previous=${2##*\"mac\":\"}
	make_seal "$1" "$3" "$id" "${previous:0:64}" "{$4}"
	printf '{%s,%s,%s]}\n' "$4" "${2:1:${#2}-3}" "$seal"
}
