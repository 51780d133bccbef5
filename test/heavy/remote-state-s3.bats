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

@test "a lock that a killed run left is told by whose it is, and taken away by a person alone" {
	lock_is_left ', for OperationTypeApply, by @sbx-CALL, since 20' locked
	force_unlock 1 "${id%?}x"
	locked
	force_unlock 0 "$id"
	! locked || return 1
	applies_again
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
