# An image with a trust file: sbx-entry looks for itself whether people signed for exactly what it is to run. The image's files are bound into a sandbox of this
# machine, which is what a test can have without a cluster; test/cluster/signed.bats has a real image.

load ../helpers
load ../sandbox

setup_file() {
	sandbox_setup_file
	cp "$SBX_LIBEXEC/sbx-signed" "$PLACE/signed"
	local name
	for name in alice bob mallory; do
		ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$PLACE/$name" </dev/null
	done
	ssh-keygen -q -t rsa -b 3072 -N '' -C rsa -f "$PLACE/rsa" </dev/null
}

teardown_file() { sandbox_teardown_file; }

setup() {
	sandbox_setup
	# Files of the image belong to root; in a sandbox of this machine root's are nobody's, and those of its own user are.
	unprivileged
	TRUST=$PLACE/trust
	rm -rf "$TRUST"
	mkdir "$TRUST"
	trusts alice bob
	terms 'people 1'
	OPTIONS=(--bind "$PLACE/probe:/opt/sbx/probe/probe" --bind "$PLACE/signed:/opt/sbx/.signed" --bind "$TRUST:/etc/sbx/trust")
	ASKED=$(date -u +%Y-%m-%dT%H:%M:%SZ) UNTIL=$(date -u -d '+20 minutes' +%Y-%m-%dT%H:%M:%SZ) NEEDS='1 person'
	STEPS='  step 1: program "probe" without credentials, arguments "/opt/sbx/probe/probe" "print" "hello"'
	NETWORK='  network: none; workspace: none; Terraform state: none'
	MORE=''
	RUNS=(step /opt/sbx/probe/probe print hello end)
}

teardown() { sandbox_teardown; }

trusts() {
	local name
	for name in "$@"; do
		printf '%s namespaces="sbx-approve@v1" %s\n' "$name" "$(cut -d' ' -f1,2 "$PLACE/$name.pub")"
	done >"$TRUST/allowed_signers"
}

key_sha256() {
	cut -d' ' -f2 "$PLACE/$1.pub" | base64 -d | sha256sum | cut -d' ' -f1
}

terms() {
	printf '%s\n' "$@" >"$TRUST/terms"
}

# in_image RUNS...: what stands in $TRUST is the image's.
in_image() {
	[ -z "${AS[*]}" ] || chown -R 65533:65533 "$TRUST"
	sandbox 0 "$@"
}

# The text, as sbx-approve writes it where it is compared.
text() {
	cat >"$D/text" <<-EOT
		Installation 01c8b802ee3ea1076c25ae288e3f1109, target none, isolation "local" by driver "kubernetes"
		Request 3, id 00112233445566778899aabbccddeeff, nonce ffeeddccbbaa99887766554433221100
		Asked at $ASKED, can be signed and used until $UNTIL
		Needs the signatures of $NEEDS
		Asked by principal "agent"; the program calls itself nothing
		${PLAN:+
		Applies plan "$PLAN", verdict "destructive"}
		
		Runs in the sandbox
		$STEPS
		  credential: none
		$NETWORK
		$MORE
		Digests (SHA-256)
		$DIGESTS
		A signature under this text lets exactly this call run, once.
	EOT
}

# signed_by NAME...: the text and their signatures, as a word for the table.
signed_by() {
	local name word=signed=$D/text
	text
	for name in "$@"; do
		ssh-keygen -q -Y sign -f "$PLACE/$name" -n sbx-approve@v1 <"$D/text" >"$D/$name.sig"
		word+=:$D/$name.sig
	done
	SIGNED=$word
}

# runs: what the table says ran.
runs() {
	in_image "$SIGNED" "${RUNS[@]}"
	assert_equal "$(frame refused .message)" ''
	assert_equal "$(frame hello .approval.signatures)" 'verified in the image'
}

# refused CODE [WORD]: before the first step.
refused() {
	in_image ${SIGNED:+"$SIGNED"} "${RUNS[@]}"
	assert_equal "$(frame refused .code)" "$1"
	assert_contains "$(frame refused '.message + (.hint // "")')" "${2:-}"
	assert_equal "$(jq -r 'select(.type == "step" or .type == "out") | .type' "$D/lines")" ''
}

@test "signed: it runs, and the evidence says who; without a trust file nothing is looked at" {
	signed_by alice
	runs
	assert_equal "$(said out 1)" hello
	assert_equal "$(frame hello '.approval.people | join(" ")')" alice
	assert_equal "$(frame hello .approval.text_sha256)" "$(sha256sum <"$D/text" | cut -d' ' -f1)"
	OPTIONS=(--bind "$PLACE/probe:/opt/sbx/probe/probe")
	sandbox 0 "${RUNS[@]}"
	assert_equal "$(said out 1)" hello
	assert_equal "$(frame hello .approval)" null
}

@test "no text: refused, unless the image says that such a step needs nobody" {
	SIGNED=''
	refused signed_text_missing
	terms 'people 1' '# reading' 'free probe print'
	in_image "${RUNS[@]}"
	assert_equal "$(said out 1)" hello
	assert_contains "$(frame hello .approval.signatures)" 'not needed'
	RUNS+=(step /opt/sbx/probe/probe write x y end)
	refused signed_text_missing
	# Elsewhere than where programs stand it is another program.
	RUNS=(step /opt/sbx/.signed print hello end)
	refused signed_text_missing
	RUNS=(env=LD_PRELOAD=/work/x.so step /opt/sbx/probe/probe print hello end)
	refused environment_refused LD_
	for name in PATH HOME ENV BASH_ENV PYTHONSTARTUP GIT_SSH_COMMAND TF_LOG_PATH TF_PLUGIN_CACHE_DIR TERRAFORM_CONFIG; do
		RUNS[0]=env=$name=/run/sbx/cred/0
		refused environment_refused "$name"
	done
	RUNS[0]=env=TF_CLI_CONFIG_FILE=/run/sbx/cred/0
	refused environment_refused TF_CLI_CONFIG_FILE
	RUNS[0]=env=TF_CLI_CONFIG_FILE=/opt/sbx/.terraformrc
	in_image "${RUNS[@]}"
	assert_equal "$(said out 1)" hello
}

@test "a key that the image does not know, one that it revoked, one that only the desk can judge" {
	signed_by mallory
	refused signed_text_few signer_unknown
	signed_by alice
	cut -d' ' -f1,2 "$PLACE/alice.pub" >"$TRUST/allowed_signers.revoked"
	refused signed_text_few signer_revoked
	trusts rsa
	signed_by rsa
	refused signed_text_few key_type_refused
}

@test "another text than the signed one, another namespace, another bytes' digest" {
	signed_by alice
	sed -i 's/agent/agemt/' "$D/text"
	refused signed_text_few signature_invalid
	text
	ssh-keygen -q -Y sign -f "$PLACE/alice" -n file <"$D/text" >"$D/alice.sig"
	refused signed_text_few signature_namespace
	signed_by alice
	RUNS=(bad-digest "${RUNS[@]}")
	refused input_changed
}

@test "two people: one is too few, one with two keys too; what the text asks for counts as well" {
	terms 'people 2'
	signed_by alice
	refused signed_text_few '1 of the 2'
	signed_by alice alice
	refused signed_text_few '1 of the 2'
	signed_by alice bob
	runs
	assert_equal "$(frame hello '.approval.people | join(" ")')" 'alice bob'
	terms 'people 2' 'person ann alice bob'
	refused signed_text_few '1 of the 2'
	terms 'people 1' 'person ann alice'
	signed_by bob
	refused signed_text_few signer_nobody
	terms 'people 1'
	NEEDS='2 people'
	signed_by alice
	refused signed_text_few '1 of the 2'
}

@test "security keys: by the image's terms, and by the text" {
	sk() { # FLAGS
		text
		"$SBX_BUILD/test/sksign" ed25519 "$D/sk" "$1" sbx-approve@v1 <"$D/text" >"$D/sk.sig"
		printf 'carol namespaces="sbx-approve@v1" %s\n' "$(cut -d' ' -f1,2 "$D/sk.pub")" >>"$TRUST/allowed_signers"
		SIGNED=signed=$D/text:$D/sk.sig
	}
	terms 'people 1 touched'
	signed_by alice
	refused signed_text_few touch_required
	sk 1
	runs
	sk 0
	refused signed_text_few touch_required
	terms 'people 1 verified'
	sk 1
	refused signed_text_few user_verification_required
	sk 5
	runs
	terms 'people 1'
	NEEDS='1 person, by a security key that checks who touches it'
	signed_by alice
	refused signed_text_few user_verification_required
	sk 5
	runs
}

@test "a time that is over, or has not begun; another installation" {
	UNTIL=$(date -u -d '-1 second' +%Y-%m-%dT%H:%M:%SZ) ASKED=$(date -u -d '-20 minutes' +%Y-%m-%dT%H:%M:%SZ)
	signed_by alice
	refused signed_text_expired
	UNTIL=$(date -u -d '+29 minutes' +%Y-%m-%dT%H:%M:%SZ) ASKED=$(date -u -d '+10 minutes' +%Y-%m-%dT%H:%M:%SZ)
	signed_by alice
	refused signed_text_expired
	UNTIL=$(date -u -d '+29 days' +%Y-%m-%dT%H:%M:%SZ) ASKED=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	signed_by alice
	refused signed_text_expired
	UNTIL=$(date -u -d '+20 minutes' +%Y-%m-%dT%H:%M:%SZ)
	signed_by alice
	terms 'people 1' 'installation 01c8b802ee3ea1076c25ae288e3f1109'
	runs
	terms 'people 1' 'installation 11c8b802ee3ea1076c25ae288e3f1109'
	refused signed_text_differs installation
}

@test "other steps than the signed ones: an argument, one more, one less, the credentials" {
	signed_by alice
	RUNS=(step /opt/sbx/probe/probe print bye end)
	refused signed_text_differs steps
	RUNS=(step /opt/sbx/probe/probe print hello end step /opt/sbx/probe/probe print hello end)
	refused signed_text_differs steps
	RUNS=(step credentials /opt/sbx/probe/probe print hello end)
	refused signed_text_differs steps
	RUNS=(step /opt/sbx/probe/probe print hello end)
	STEPS+=$'\n''  step 2: program "probe" without credentials, arguments "/opt/sbx/probe/probe" "print" "again"'
	signed_by alice
	refused signed_text_differs steps
	RUNS+=(step /opt/sbx/probe/probe print again end)
	runs
}

@test "a step that takes away a lock, and no other: whose, nobody has signed" {
	local hello='  step 2: program "probe" without credentials, arguments "/opt/sbx/probe/probe" "print" "hello"'
	local unlock='  step 1: program "probe" without credentials, arguments "/opt/sbx/probe/probe" "force-unlock" "-force"'
	RUNS=(step check /opt/sbx/probe/probe force-unlock -force %lock end step /opt/sbx/probe/probe print hello end)
	STEPS="$unlock the lock that a dead call left; takes away that lock alone, and any other stays"$'\n'$hello
	signed_by alice
	runs
	RUNS=("dead=$(printf 'a%.0s' {1..32})" "${RUNS[@]}")
	runs
	for STEPS in "$unlock \"left\"; checks, and nothing begins unless it ends with 0"$'\n'$hello \
		"$unlock the lock that a dead call left; checks, and nothing begins unless it ends with 0"$'\n'$hello; do
		signed_by alice
		refused signed_text_differs
	done
	STEPS="$unlock the lock that a dead call left; takes away that lock alone, and any other stays"$'\n'$hello
	signed_by alice
	RUNS=(step check /opt/sbx/probe/probe force-unlock -force 1-2 end step /opt/sbx/probe/probe print hello end)
	refused signed_text_differs
}

@test "the environment and the directory" {
	mkdir -p "$D/tree/envs/a" "$D/tree/envs/b"
	NETWORK='  network: none; workspace: root "", tree ".", directory "envs/a"; Terraform state: none'
	MORE='  environment: "A" is "1", "B" is "two \"words\""'
	signed_by alice
	RUNS=("tree=$D/tree" cwd=envs/a 'env=B=two "words"' env=A=1 env=KUBECONFIG=/run/sbx/cred/0 step /opt/sbx/probe/probe print hello end)
	runs
	RUNS[1]=cwd=envs/b
	refused signed_text_differs directory
	RUNS[1]=cwd=envs/a RUNS[3]=env=A=2
	refused signed_text_differs environment
	RUNS[3]=env=A=1 RUNS[4]=env=C=3
	refused signed_text_differs environment
	# Beside the true one; only what is just a credential's place is not shown.
	RUNS[4]=env=C=/run/sbx/cred/../../../work/tree
	refused signed_text_differs environment
	RUNS[4]=env=C=/run/sbx/cred/12
	runs
	# In the order of the names, as the text has them.
	MORE='  environment: "A" is "1", "A1" is "2", "B" is "two \"words\""'
	signed_by alice
	RUNS[4]=env=A1=2
	runs
	RUNS[4]=env=D=/run/sbx/cred/0
	MORE=''
	signed_by alice
	refused signed_text_differs environment
}

@test "another plan, tree, lock file or program than the signed ones; a text of no plan for a plan" {
	mkdir -p "$D/tree"
	echo lock >"$D/tree/.terraform.lock.hcl"
	echo the-plan >"$D/plan"
	RUNS=("tree=$D/tree" "artifact=plan:$D/plan" sealed "lock=.terraform.lock.hcl:$D/tree/.terraform.lock.hcl"
		"program=/opt/sbx/probe/probe:$PLACE/probe" step /opt/sbx/probe/probe cat @plan end)
	NETWORK='  network: none; workspace: root "", tree ".", directory "."; Terraform state: none'
	STEPS='  step 1: program "probe" without credentials, arguments "/opt/sbx/probe/probe" "cat" artifact "plan"'
	sha() { sha256sum <"$1" | cut -d' ' -f1; }
	digests() {
		DIGESTS="  plan file \"$1\"
  tree      \"$2\"
  lock file \"$3\"
  program   \"$4\""
		signed_by alice
	}
	SIGNED=signed=$D/plan
	table "${RUNS[@]}"
	local tree good
	# The digest of the packed tree stands in the table alone.
	tree=$(strings -n 64 "$D/table" | grep -oE '[0-9a-f]{64}' | head -n 1)
	good=("$(sha "$D/plan")" "$tree" "$(sha "$D/tree/.terraform.lock.hcl")" "$(sha "$PLACE/probe")")
	PLAN=5b21ce2b685db98056b15697b1857cbe
	digests "${good[@]}"
	runs
	assert_equal "$(said out 1)" the-plan
	local i bad
	for i in 0 1 2 3; do
		bad=("${good[@]}")
		bad[i]=${bad[i]//[0-9]/0}
		digests "${bad[@]}"
		refused signed_text_differs
	done
	digests "${good[@]}"
	DIGESTS+=$'\n'"  plan file \"${good[0]}\""
	signed_by alice
	refused signed_text_differs 'plan file'
	PLAN='' DIGESTS=''
	signed_by alice
	refused signed_text_differs 'the plan'
}

@test "a trust file that is none: everything is refused" {
	local bad
	signed_by alice
	for bad in '' 'people 0' 'people 10' 'people 1 seen' $'people 1\npeople 1' $'people 1\nfree probe' $'people 1\nfree  probe print' \
		$'people 1\nperson ann' $'people 1\nperson a x\nperson b x' $'people 1\ninstallation a\ninstallation b' $'people 1\npepole 2'; do
		terms "$bad"
		refused trust_invalid
	done
	rm "$TRUST/terms"
	refused trust_invalid
	terms 'people 1'
	chmod 666 "$TRUST/terms"
	refused trust_invalid
	terms 'people 1'
	OPTIONS=(--bind "$PLACE/probe:/opt/sbx/probe/probe" --bind "$TRUST:/etc/sbx/trust")
	refused trust_invalid
}

@test "sbx-signed by itself: usage, what is no text, a line for each signature" {
	run_sbx 64 "$SBX_LIBEXEC/sbx-signed" x
	assert_contains "$stderr" usage
	run_sbx 64 "$SBX_LIBEXEC/sbx-signed" x some
	run_sbx 76 bash -c "'$SBX_LIBEXEC/sbx-signed' </dev/null"
	run_sbx 76 bash -c "'$SBX_LIBEXEC/sbx-signed' x any </dev/null"
	run_sbx 76 bash -c "head -c 100 /dev/zero | '$SBX_LIBEXEC/sbx-signed' x any"
	signed_by alice mallory
	table "$SIGNED"
	run_sbx 0 bash -c "'$SBX_LIBEXEC/sbx-signed' '$TRUST/allowed_signers' any <'$D/inputs'"
	assert_equal "$output" $'ok alice\nno signer_unknown'
	run_sbx 74 bash -c "'$SBX_LIBEXEC/sbx-signed' '$TRUST/allowed_signers' any <'$D/inputs' >/dev/full"
	run_sbx 65 bash -c "head -c 1000000 /dev/zero | '$SBX_LIBEXEC/sbx-signed' x any"
	# Without a trust file: by which keys, whoever has them.
	signed_by alice mallory rsa
	table "$SIGNED"
	run_sbx 0 bash -c "'$SBX_LIBEXEC/sbx-signed' <'$D/inputs'"
	assert_equal "$output" "ok $(key_sha256 alice)"$'\n'"ok $(key_sha256 mallory)"$'\n''no key_type_refused'
}
