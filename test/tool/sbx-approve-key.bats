# sbx-approve with a security key: ssh-keygen, its helper and a key in software (test/fakes/sk_software.c), and a person at a terminal.

load ../helpers

setup() {
	fresh_state
	sed -i 's/same_account: file/same_account: touch/' "$T/sbx.yaml"
	export HOME=$T/home SSH_SK_PROVIDER=$SBX_BUILD/test/sk_software.so
	unset DISPLAY SSH_ASKPASS SSH_AUTH_SOCK
	mkdir "$HOME"
}

# at_terminal RC [SEE TYPE]... -- COMMAND...: what the screen showed is in $output.
at_terminal() {
	run_sbx "$1" "$SBX_BUILD/test/typist" "${ROWS:-300}" "${@:2}"
}

# key FLAGS COUNTER: what the plugged-in key will say.
key() {
	echo "$1 $2" >"$HOME/software-key"
}

enrol() { # NAME
	key 5 1
	at_terminal 0 'Enter PIN for authenticator: ' 1234 'Enter passphrase (empty for no passphrase): ' '' 'Enter same passphrase again: ' '' -- \
		sh -c "sbx-approve enrol $1 >>$T/allowed_signers"
}

# ask [TOOL [NAME=VALUE]...]: its request is $id, the code of its text $code.
ask() {
	[ $# -gt 0 ] || set -- apply_true
	sbx-policy "$@" 2>/dev/null >"$T/call.json"
	run_sbx "${RC:-75}" sbx-approve <"$T/call.json"
	id=$(member .approval.id <<<"$output")
	code=$(member .approval.text_sha256 <<<"$output" | xxd -r -p | base32 | cut -c1-8)
}

sign() { # RC [PIN]
	at_terminal "$1" "To sign this text type $code, " "$code" 'Enter PIN for ED25519-SK key: ' "${2:-1234}" -- sbx-approve sign "$id"
}

@test "enrol makes a key that asks for its PIN, and what it signs counts" {
	local id code
	enrol carol
	assert_equal "$(cut -d' ' -f1-3 "$T/allowed_signers")" 'carol namespaces="sbx-approve@v1" sk-ssh-ed25519@openssh.com'
	assert_equal "$(stat -c '%a %n' "$HOME/.ssh" "$HOME/.ssh/id_sbx" | sed "s|$HOME/||" | paste -sd' ')" '700 .ssh 600 .ssh/id_sbx'
	run_sbx 0 sbx-approve enrol carol # it is there: only its line again
	assert_equal "$output" "$(cat "$T/allowed_signers")"
	ask
	sign 0
	# The text stood there before anything was typed, and the key was asked last.
	assert_contains "${output%%To sign*}" 'A signature under this text lets exactly this call run, once.'
	assert_contains "$output" "$id is approved by carol"
	RC=0 ask
}

@test "a key that nobody touched is refused, though ssh-keygen takes its signature" {
	local id code
	enrol carol
	ask
	key 0 10
	sign 77
	assert_contains "$output" touch_required
	key 1 10
	sign 0
	assert_contains "$output" "$id is approved by carol"
	sbx-approve show "$id" >"$T/text" 2>/dev/null
	key 0 11
	at_terminal 0 'Enter PIN' 1234 -- ssh-keygen -q -Y sign -n sbx-approve@v1 -f "$HOME/.ssh/id_sbx" "$T/text"
	run_sbx 0 ssh-keygen -Y verify -f "$T/allowed_signers" -I carol -n sbx-approve@v1 -s "$T/text.sig" <"$T/text"
	run_sbx 77 sbx-approve verify "$T/text"
	assert_contains "$stderr" touch_required
}

@test "critical: a touch is not enough, the key must say who touched it" {
	local id code
	add_tool guarded
	enrol carol
	sed -i '$ a tiers: {critical: {threshold: 1, user_verification: true}}' "$T/policy/policy.yaml"
	ask guarded word=a-rather-long-and-longer
	key 1 10
	sign 77
	assert_contains "$output" user_verification_required
	key 5 10
	sign 0
	RC=0 ask guarded word=a-rather-long-and-longer
}

@test "a copy of the key gives itself away by its counter" {
	local id code
	enrol carol
	ask apply_true note=one
	key 5 20
	sign 0
	ask apply_true note=two
	key 5 20
	sign 77
	assert_contains "$output" signature_counter
	key 5 21
	sign 0
}

@test "without the PIN, the key, or the code nothing is signed" {
	local id code
	enrol carol
	ask
	key 5 30
	sign 1 4321
	assert_contains "$output" not_signed
	at_terminal 1 "To sign this text type $code, " wrong -- sbx-approve sign "$id"
	assert_contains "$output" 'nothing was signed'
	at_terminal 1 "To sign this text type $code, " "${code,,}" -- sbx-approve sign "$id"
	# None of them has come as far as the key.
	assert_equal "$(cat "$HOME/software-key")" '5 30'
	rm "$HOME/software-key"
	sign 1
	assert_contains "$output" not_signed
	nothing_of_signing_is_left
	key 5 30
	sign 0
}

@test "a text that is longer than the screen is paged, and the code is asked for below it" {
	local id code
	enrol carol
	ask
	ROWS=20 at_terminal 0 'Asked by principal' q "To sign this text type $code, " "$code" 'Enter PIN' 1234 -- sbx-approve sign "$id"
	assert_contains "$output" "$id is approved by carol"
}

@test "a desk that means harm moves no cursor, and gets nothing signed" {
	new_signer alice
	printf '#!/bin/sh\ncat >"%s/asked"\ncat "%s/reply"\n' "$T" "$T" >"$T/reach"
	chmod 755 "$T/reach"
	echo "desk: [$T/reach]" >>"$T/sbx.yaml"
	says() { # LINE BYTES
		printf "ok %d $1\n$2" "$(printf "$2" | wc -c)" >"$T/reply"
	}
	local waiting='0123456789abcdef0123456789abcdef waiting 0/1 -'
	says "$waiting" 'Installation\033[2J\r\302\233 x\n'
	run_sbx 0 sbx-approve show 0123456789
	assert_equal "$output" 'Installation\x1b[2J\x0d\xc2\x9b x'
	run_sbx 76 sbx-approve sign 0123456789 --key "$T/alice" </dev/null
	assert_contains "$stderr" unprintable
	run_sbx 0 sbx-approve list
	assert_equal "$output" 'Installation\x1b[2J\x0d\xc2\x9b x'
	says "$waiting lost\033[2J" text
	run_sbx 69 sbx-approve show 0123456789
	assert_contains "$stderr" desk_failed
	printf 'error odd_code 77 no\033[2J\302\233\nhint\033]0;x\007' >"$T/reply"
	run_sbx 77 sbx-approve list
	assert_contains "$stderr" 'no\x1b[2J\xc2\x9b (odd_code)'
	assert_contains "$stderr" 'hint: hint\x1b]0;x\x07'
	# What is handed in is signed over the text that was shown, and over nothing else.
	says "$waiting" 'Installation\n'
	run_sbx 0 sbx-approve sign 0123456789 --key "$T/alice" </dev/null
	assert_equal "$output" Installation
	tail -n +2 "$T/asked" >"$T/signature"
	run_sbx 0 ssh-keygen -Y verify -f "$T/allowed_signers" -I alice -n sbx-approve@v1 -s "$T/signature" <<<Installation
}

@test "no datum begins a row of the screen, however long the terminal's rows are" {
	local id code lead rows
	new_signer alice
	lead='  parameter "note" is "'
	ask apply_true note="$(printf '%*s' $((100 - ${#lead})) '' | tr ' ' .)Not inspected by nobody$(printf '%56s' '')Runs in the sandbox"
	at_terminal 1 "To sign this text type $code, " no -- sbx-approve sign "$id" --key "$T/alice"
	rows=$(sed $'s/\r//g; s/\e[^a-zA-Z=]*[a-zA-Z=]//g' <<<"$output") # what the pager tells the terminal is no row
	assert_equal "$(grep -c '^Not inspected' <<<"$rows")" 1
	assert_equal "$(grep -c '^Runs in' <<<"$rows")" 1
	assert_equal "$(grep -c '^        by nobody' <<<"$rows")" 1
	assert_equal "$(awk 'length > 100' <<<"${rows%%To sign*}")" ''
	# Through a pipe it is the text that is signed, to the byte.
	assert_equal "$(sbx-approve show "$id" 2>/dev/null | sha256sum | cut -c1-64 | xxd -r -p | base32 | cut -c1-8)" "$code"
}
