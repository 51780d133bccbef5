# A state in an S3 of one's own, from a local run: a destination of the tool, and credentials of two kinds, one of them AWS's file. With the real terraform,
# and moto in the place of S3 and STS, which checks each signature and the rights of each role.

load ../helpers
load ../remote-state

setup_file() {
	command -v terraform >/dev/null || skip 'no terraform'
	PYTHON=$(python_with_moto) || skip 'pip GAVE NO MOTO: nothing of it was tried'
	export PYTHON I=$BATS_FILE_TMPDIR/installed
	installation "$I"
	{
		echo "#!$PYTHON"
		cat "$ROOT/test/helpers/sts_provider.py"
	} >"$I/libexec/sbx/sbx-cred-sts"
	chmod 755 "$I/libexec/sbx/sbx-cred-sts"
}

setup() {
	PATH=$I/bin:$PATH
	fresh_state
	mkdir "$T/s3"
	"$PYTHON" "$ROOT/test/helpers/s3.py" "$T/s3" >"$T/s3/log" 2>&1 3>&- &
	SERVER=$!
	wait_until 30 test -s "$T/s3/port"
	PORT=$(cat "$T/s3/port")
	remote_setup '{scope: test-read, as: token, env: SBX_TOKEN}, {scope: state-SCOPE, as: aws-credentials, env: AWS_SHARED_CREDENTIALS_FILE}'
	sed -i "s|env_allowed: \[KUBE_CONFIG_PATH\]|env_allowed: [SBX_TOKEN, AWS_SHARED_CREDENTIALS_FILE]|
		s|^scopes:|&\n  state-read: {provider: sts, role: 'arn:aws:iam::123456789012:role/reader', reads_secrets: false, only_reads: true}|
		s|^scopes:|&\n  state-write: {provider: sts, role: 'arn:aws:iam::123456789012:role/writer', reads_secrets: false}|" "$T/policy/policy.yaml"
	echo "providers: {sts: {address: 'http://127.0.0.1:$PORT', keys: $T/s3/keys, seen: $T/s3/seen}}" >>"$T/sbx.yaml"
	s3_configuration >"$T/work/envs/far/main.tf"
}

teardown() { remote_teardown; }

# object get|put|keys [KEY]: of the bucket, by its owner.
object() {
	"$PYTHON" "$ROOT/test/helpers/s3get.py" "http://127.0.0.1:$PORT" "$T/s3/keys" "$@" 3>&-
}

locked() { [[ " $(object keys) " == *' envs/far.tfstate.tflock '* ]]; }

@test "planned by a session that cannot write, applied by another after a signature; the state is there, the lock is gone, no secret stays" {
	planned
	assert_equal "$(object keys)" ''
	assert_equal "$(member .seal.backend.type <"$T/var/plans/$plan/seal.json")" s3
	assert_json '[.credential[].provider] | join(" ")' 'jwt sts'
	assert_json '[.revocation[].state] | join(" ")' 'revoked expires'
	sed -i 's/^tier: medium/tier: high/' "$T/policy/tools/remote_apply.yaml"
	planned
	signed sbx-call remote_apply "plan=$plan"
	# The backend's settings are in the plan, as a secret among them would be.
	inside_archive "$T/var/plans/$plan/plan.bin" | grep -qaF envs/far.tfstate
	secrets_stand_nowhere 4
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	assert_json .approval.id "$approval"
	assert_equal "$(object keys)" envs/far.tfstate
	assert_equal "$(object get envs/far.tfstate | jq -r '.resources[].type')" terraform_data
	assert_equal "$(sbx-audit show --event sandbox.connections --json | jq -r '.connections[].destination' | sort -u)" state
	secrets_stand_nowhere 6
	refute_contains "$output" "$(sed -n 5p "$T/s3/seen")"
}

# secrets_stand_nowhere COUNT: of so many sessions' secrets and tokens, in what is kept.
secrets_stand_nowhere() {
	local secret
	assert_equal "$(wc -l <"$T/s3/seen")" "$1"
	while read -r secret; do
		stands_nowhere "$secret"
	done <"$T/s3/seen"
}

@test "a state that has moved on refuses the call before anything begins, and its approval is there when it is back" {
	moved_state object envs/far.tfstate
}

@test "without that credential, or with one that cannot write, nothing is changed, and nobody calls it a lock" {
	planned
	sed -i 's/scope: state-write/scope: state-read/' "$T/policy/tools/remote_apply.yaml"
	planned
	run_sbx 1 sbx-call remote_apply "plan=$plan"
	assert_contains "$(member .result.stderr <<<"$output")" 'Error acquiring the state lock'
	assert_json .result.code null
	assert_json .result.hint null
	sed -i 's/, {scope: state-read.*/]/' "$T/policy/tools/remote_plan.yaml"
	run_sbx 1 sbx-call remote_plan dir=envs/far
	assert_contains "$(member .result.stderr <<<"$output")" 'No valid credential sources found'
	assert_equal "$(object keys)" ''
}

# the_lock JQ: somebody changes it.
the_lock() {
	object get envs/far.tfstate.tflock | jq -c "$1" >"$T/lock"
	object put envs/far.tfstate.tflock <"$T/lock"
}

# notes: the calls that may have left a lock.
notes() { ls "$T/var/locks" | tr '\n' ' '; }

# taken_away: the apply of $plan completes, for it has taken away the lock $id that the call $killed had left.
taken_away() {
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	assert_json .result.state completed
	assert_json .result.unlocked.call "$killed"
	assert_json .result.unlocked.lock "$id"
	assert_json .result.stderr ''
	assert_contains "$stderr" "took away the lock $id of the state, which call $killed had left"
	assert_equal "$(sbx-audit show --event state.unlocked --json | tail -n 1 | jq -c '[.request_id, .left_by, .lock]')" \
		"[\"$(member .call.id <<<"$output")\",\"$killed\",\"$id\"]"
	assert_equal "$(sbx-audit show --event sandbox.started --json | tail -n 1 | jq -r ".may_unlock | index(\"$killed\") != null")" true
	! locked || return 1
	assert_equal "$(notes)" ''
	sbx-audit verify
}

@test "a lock that a killed run left is taken away by the next one that wants it, once the call is mended; what a person signs says so" {
	hanging
	killed_apply
	assert_equal "$(notes)" "$killed "
	id=$(object get envs/far.tfstate.tflock | member .ID)
	sbx-audit --mend
	locked
	sed -i '/"two"/,$d' "$T/work/envs/far/main.tf"
	sed -i 's/^tier: medium/tier: high/' "$T/policy/tools/remote_apply.yaml"
	planned
	signed sbx-call remote_apply "plan=$plan"
	assert_contains "$(cat "$T/text")" 'arguments "terraform" "force-unlock" "-force" the lock that a dead call left; takes away that lock alone, and any other stays'
	taken_away
	assert_json .approval.id "$approval"
	# Nobody is dead any more, so nothing is looked at.
	sed -i 's/first/second/' "$T/work/envs/far/main.tf"
	planned
	signed sbx-call remote_apply "plan=$plan"
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	assert_json .result.unlocked null
	assert_equal "$(sbx-audit show --event sandbox.started --json | tail -n 1 | member .may_unlock)" null
	assert_equal "$(notes)" ''
}

@test "the same lock by anybody else's name stays: an engineer's, that of a call of another installation; and where the tool does not say so, everybody's" {
	local other
	other=$(printf 'b%.0s' {1..32})
	hanging
	killed_apply
	sbx-audit --mend
	sed -i '/"two"/,$d' "$T/work/envs/far/main.tf"
	the_lock '.Who = "alice@laptop.example"'
	planned
	told_of_lock ', by alice@laptop.example, since'
	assert_contains "$hint" "terraform_force_unlock {dir: \"envs/far\", lock_id: \"$id\"}"
	the_lock ".Who = \"@sbx-$other\""
	planned
	told_of_lock "--request-id $other; once it has ended for good: terraform_force_unlock {dir: \"envs/far\", lock_id: \"$id\"}"
	the_lock ".Who = \"@sbx-$killed\""
	cp "$T/policy/tools/remote_apply.yaml" "$T/tool"
	sed -i '/lock: left/d' "$T/policy/tools/remote_apply.yaml"
	planned
	told_of_lock '--request-id CALL; once it has ended for good: terraform_force_unlock'
	cp "$T/tool" "$T/policy/tools/remote_apply.yaml"
	# The runs that failed might have left one, as far as sbx-run knew; this one did.
	planned
	taken_away
}

@test "the lock of a call that is still at work stays; so does that of one that died and was not mended yet, and then it is taken away" {
	hanging
	applying
	killed=$call
	sed -i 's/"one"/"three"/' "$T/work/envs/far/main.tf"
	planned
	signed sbx-call remote_apply "plan=$plan"
	told_of_lock '--request-id CALL; it is still at work: call again when it has ended'
	refute_contains "$hint" force_unlock
	kill -0 "$CALL_PID"
	planned
	signed sbx-call remote_apply "plan=$plan"
	above
	kill -KILL "$driver" "${above[@]}"
	wait "$CALL_PID" || true
	CALL_PID=
	wait_until 10 eval '! kill -0 "$driver" 2>/dev/null'
	# Mended a moment ago, without success: only who asks for it tries again.
	touch "$T/var/runs/$killed/mend"
	told_of_lock '--request-id CALL; it died, and was not mended yet: sbx-audit --mend, then call again'
	refute_contains "$hint" force_unlock
	sbx-audit --mend
	locked
	sed -i '/"two"/,$d' "$T/work/envs/far/main.tf"
	planned
	taken_away
}

@test "the lock of a dead call that is gone already: the run finds none, and says nothing of it" {
	hanging
	killed_apply
	sbx-audit --mend
	id=$(object get envs/far.tfstate.tflock | member .ID)
	force_unlock 0 "$id"
	! locked || return 1
	sed -i '/"two"/,$d' "$T/work/envs/far/main.tf"
	planned
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	assert_json .result.unlocked null
	assert_json .result.stderr ''
	assert_equal "$(sbx-audit show --event state.unlocked --json)" ''
}

@test "a person takes it away, too, by its ID alone" {
	sed -i '/lock: left/d' "$T/policy/tools/remote_apply.yaml"
	lock_is_left ', for OperationTypeApply, by @sbx-CALL, since 20'
	force_unlock 1 "${id%?}x"
	locked
	force_unlock 0 "$id"
	! locked || return 1
	applies_again
	[ ! -e "$T/var/locks" ]
}

# backend SETTING...: the configuration with these lines more in its backend block, each in place of one of its name.
backend() {
	s3_configuration >"$T/work/envs/far/main.tf"
	for line in "$@"; do
		sed -i "/^    ${line%% *} /d; s|^    bucket .*|&\n    $line|" "$T/work/envs/far/main.tf"
	done
}

@test "a backend block with an identity, a program or a place of its own: a person is told, and no place but the tool's is reached" {
	# Nothing of it: nobody is asked.
	planned
	assert_json .result.verdict safe
	# Somebody's keys in the workspace, in place of the tool's credential. A file of this kind may name a program, too.
	printf '[own]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$(cut -d: -f1 "$T/s3/keys")" "$(cut -d: -f2 "$T/s3/keys")" >"$T/work/envs/far/own"
	backend 'profile = "own"' 'shared_credentials_files = ["own"]'
	planned
	assert_json '.result | [.verdict, .findings[0].signals[0]] | join(" ")' 'review hidden_program'
	run_sbx 75 sbx-call remote_apply "plan=$plan"
	# A program is found as soon as it would run: there is no shell to start it with.
	printf '[profile own]\ncredential_process = /app/own\n' >"$T/work/envs/far/own"
	backend 'profile = "own"' 'shared_config_files = ["own"]'
	run_sbx 1 sbx-call remote_plan dir=envs/far
	assert_contains "$(member .result.stderr <<<"$output")" 'exec: "sh": executable file not found'
	backend 'endpoints = { s3 = "http://127.0.0.1:1" }'
	run_sbx 1 sbx-call remote_plan dir=envs/far
	assert_contains "$(member .result.stderr <<<"$output")" 'dial tcp 127.0.0.1:1: connect: permission denied'
	backend 'http_proxy = "http://127.0.0.2:1"' 'endpoints = { s3 = "http://s3.example" }'
	run_sbx 1 sbx-call remote_plan dir=envs/far
	assert_contains "$(member .result.stderr <<<"$output")" 'proxyconnect tcp: dial tcp 127.0.0.2:1: connect: '
	backend 'assume_role = { role_arn = "arn:aws:iam::123456789012:role/writer" }' "endpoints = { s3 = \"http://127.0.0.1:$PORT\", sts = \"http://127.0.0.1:1\" }"
	run_sbx 1 sbx-call remote_plan dir=envs/far
	assert_contains "$(member .result.stderr <<<"$output")" 'dial tcp 127.0.0.1:1: connect: permission denied'
	# In a list of JSON, where Terraform takes it, a secret is one.
	s3_configuration >"$T/work/envs/far/main.tf"
	printf '[{"terraform":{"backend":{"s3":{"bucket":"state","secret_key":"s"}}}}]' >"$T/work/envs/far/override.tf.json"
	run_sbx 77 sbx-call remote_plan dir=envs/far
	assert_call backend_secret
	assert_equal "$(object keys)" ''
}
