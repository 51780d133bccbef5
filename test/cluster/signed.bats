# A real image with a trust file: sbx-entry sees for itself, in the Pod, that people signed for exactly what it is to run. Whole calls, so that the text is the
# one that sbx-approve wrote; and for what no sound machine would hand over, the driver alone.

load ../helpers
load cluster
load tools

setup_file() {
	local trust=$BATS_FILE_TMPDIR/trust name
	export KEYS=$BATS_FILE_TMPDIR/keys SBX_IMAGE=localhost/sbx-signed:1
	mkdir "$KEYS" "$trust"
	for name in alice bob mallory; do
		ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$KEYS/$name" </dev/null
		printf '%s namespaces="sbx-approve@v1" %s\n' "$name" "$(cut -d' ' -f1,2 "$KEYS/$name.pub")" >"$KEYS/$name.line"
	done
	cat "$KEYS/alice.line" "$KEYS/bob.line" >"$trust/allowed_signers"
	printf '%s\n' 'people 1' 'free probe fds' >"$trust/terms"
	cluster_setup_file --trust "$trust"
	tools_setup_file
}

setup() {
	tools_setup
	rm "$T"/policy/tools/*.yaml
	cat >"$T/policy/policy.yaml" <<-POLICY
		defaults: {require: {isolation: cluster-gvisor}}
		tiers: {high: {threshold: 1}, critical: {threshold: 2, user_verification: false}}
		programs:
		  probe: {path: "$SBX_BUILD/test/probe", env: {GREETING: 'of "two" words'}}
	POLICY
	a_tool say high print '{word}'
	a_tool shout critical print '{word}'
	a_tool hush low print '{word}'
	a_tool free low fds
	cat "$KEYS"/*.line >"$T/allowed_signers"
	sed -i 's/^provider: .*/provider: none/; /^providers:/,/^targets:/d; /^  rig:/d' "$T/sbx.yaml"
	wait_until 40 is_admitted
}

# a_tool NAME TIER ARGUMENT...: a step of the probe; a word if it takes one.
a_tool() {
	local name=$1 tier=$2 arguments
	shift 2
	arguments=$(printf ', "%s"' "$@")
	{
		printf 'name: %s\ndescription: A step of the probe.\ntier: %s\n' "$name" "$tier"
		[ $# -eq 1 ] || echo 'params: {word: {type: string, max_length: 200}}'
		printf 'steps: [[probe%s]]\nlimits: {deadline: 60s, memory: 64Mi, workdir: 16Mi}\n' "$arguments"
		printf 'tests: [{params: {%s}, expect: %s}]\n' "$([ $# -eq 1 ] || echo 'word: x')" "$([ "$tier" = low ] && echo allow || echo approve)"
	} >"$T/policy/tools/$name.yaml"
	chmod 600 "$T/policy/tools/$name.yaml"
}

is_admitted() {
	sbx-call free 3>&- >/dev/null 2>"$BATS_TEST_TMPDIR/free.err"
}

# asked TOOL WORD: the id of the request is in $approval.
asked() {
	SBX_TEST_TIMEOUT=120 run_sbx 75 sbx-call "$1" "word=$2"
	approval=$(member .approval.id <<<"$output")
}

signed_by() {
	local name
	for name in "$@"; do sbx-approve sign "$approval" --key "$KEYS/$name" >"$T/text" 2>"$T/sign.err" </dev/null 3>&-; done
}

# call RC TOOL WORD
call() {
	SBX_TEST_TIMEOUT=120 run_sbx "$1" sbx-call "$2" "word=$3"
}

# released: the signature is not spent on what was refused inside.
released() {
	[ -s "$T/var/runs/$(member .call.id <<<"$output")/refused" ]
}

@test "signed: it runs, and result and record say who; a step that is free runs without" {
	local word='it is "quoted" \ ü, longer than a hundred and twenty bytes, so that the text cuts it and shows its digest: xxxxxxxxxxxxxxxxxxxxx'
	asked say "$word"
	signed_by alice
	call 0 say "$word"
	assert_json .result.state completed
	assert_json .result.stdout "$word"
	assert_json .result.isolation.approval.signatures 'verified in the image'
	assert_json '.result.isolation.approval.people | join(" ")' alice
	assert_json '.result.isolation.approval.text_sha256 == .approval.text_sha256' true
	assert_equal "$(jq -r 'select(.event == "sandbox.completed" and .approval.text_sha256 != null) | .approval.people[0]' "$T/var/audit.jsonl")" alice
	SBX_TEST_TIMEOUT=120 run_sbx 0 sbx-call free
	assert_contains "$(member .result.isolation.approval.signatures <<<"$output")" 'not needed'
}

@test "no signed text: what the policy lets run without one does not run here" {
	call 77 hush quiet
	assert_json .error.code signed_text_missing
	assert_json .error.class 77
}

@test "a key that this machine trusts and the image does not" {
	asked say one
	signed_by mallory
	call 77 say one
	assert_json .error.code signed_text_few
	assert_contains "$(member .error.hint <<<"$output")" signer_unknown
	released
}

@test "two people: both, and one whom the image does not know" {
	asked shout two
	signed_by alice bob
	call 0 shout two
	assert_json '.result.isolation.approval.people | join(" ")' 'alice bob'
	asked shout again
	signed_by alice mallory
	call 77 shout again
	assert_json .error.code signed_text_few
	assert_contains "$(member .error.message <<<"$output")" '1 of the 2'
}

# From here on the driver alone: the machine of the door is not sound.

# handed UNTIL WORD: a text that alice signed for `probe print WORD`, and a table that prints "hello".
handed() {
	driver_setup
	new_call
	request
	cat >"$D/text" <<-EOT
		Installation 01c8b802ee3ea1076c25ae288e3f1109, target none, isolation "cluster-gvisor" by driver "kubernetes"
		Asked at $(date -u -d '-25 minutes' +%Y-%m-%dT%H:%M:%SZ), can be signed and used until $(date -u -d "$1" +%Y-%m-%dT%H:%M:%SZ)
		Needs the signatures of 1 person

		Runs in the sandbox
		  step 1: program "probe" without credentials, arguments "/opt/sbx/probe/probe" "print" "$2"
		  credential: none
		  network: none; workspace: none; Terraform state: none
	EOT
	ssh-keygen -q -Y sign -f "$KEYS/alice" -n sbx-approve@v1 <"$D/text" >"$D/signature" 2>/dev/null
	table "signed=$D/text:$D/signature" step /opt/sbx/probe/probe print hello end
	drive 0
	driver_teardown
}

refused() {
	assert_equal "$(frame refused .code)" "$1"
	assert_equal "$(said out 1)" ''
	wait_until 10 nothing_left
}

@test "a text for something else, and one whose time is over" {
	handed '+4 minutes' hello
	assert_equal "$(said out 1)" hello
	rm "$D/control"
	handed '+4 minutes' bye
	refused signed_text_differs
	rm "$D/control"
	handed '-1 minute' hello
	refused signed_text_expired
}

@test "a text counts once: the chain asks anew; the image alone cannot see that, nor who asked, and names the text by its digest" {
	asked say once
	local first=$approval
	signed_by alice
	call 0 say once
	local text
	text=$(member .result.isolation.approval.text_sha256 <<<"$output")
	asked say once
	[ "$approval" != "$first" ]
	# Somebody else who asks for the same is not served by it either.
	run_sbx 75 sbx-call --principal mallory say word=once
	assert_equal "$(jq -rs --arg text "$text" 'map(select(.event == "sandbox.completed" and .approval.text_sha256 == $text)) | length' "$T/var/audit.jsonl")" 1
	# A machine that is not sound can use it again within its time: each run names it.
	handed '+4 minutes' hello
	text=$(frame hello .approval.text_sha256)
	[ -n "$text" ]
	rm "$D/control"
	driver_setup
	new_call
	request
	drive 0
	driver_teardown
	assert_equal "$(said out 1)" hello
	assert_equal "$(frame hello .approval.text_sha256)" "$text"
}
