#!/usr/bin/env bats
# Sessions of AWS: a real server with the AWS secrets engine (OpenBao has none of its own: the rig builds one), and moto in the place of STS.

load ../helpers
load ../remote-state
load vault

setup_file() {
	vault_setup_file
	local why=
	PYTHON=$(python_with_moto) || why='pip GAVE NO MOTO'
	export PYTHON
	[ -n "$why" ] || api POST "sys/mounts/$NS-aws" '{"type":"aws"}' >/dev/null 2>&1 || why='the server has no AWS secrets engine: rig/openbao plugin-aws'
	if [ -n "$why" ]; then
		remove_objects
		kill "$(cat "$BATS_FILE_TMPDIR/lock.pid")"
		NS=
		skip "$why"
	fi
	sts_start
	api POST "$NS-aws/config/root" '{"access_key":"AKIAIOSFODNN7EXAMPLE","secret_key":"not-a-secret","region":"us-east-1","sts_region":"us-east-1",
		"iam_endpoint":"'"$STS"'","sts_endpoint":"'"$STS"'"}'
	api POST "$NS-aws/roles/demo" '{"credential_type":"assumed_role","role_arns":["arn:aws:iam::123456789012:role/sbx-demo"],"default_sts_ttl":"15m","max_sts_ttl":"1h"}'
	policy "sbx-$NS-aws" "path \"$NS-aws/sts/demo\" { capabilities = [\"update\"] }"
}

teardown_file() {
	[ -n "${NS:-}" ] || return 0
	kill "$(cat "$BATS_FILE_TMPDIR/sts.pid")" || true
	api POST "sys/leases/revoke-prefix/$NS-aws" '{}' >/dev/null || true
	api DELETE "sys/mounts/$NS-aws" >/dev/null || true
	api DELETE "sys/policies/acl/sbx-$NS-aws" >/dev/null || true
	vault_teardown_file
}

sts_start() {
	local port
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	export STS=http://127.0.0.1:$port
	"$PYTHON" -m moto.server -H 127.0.0.1 -p "$port" >"$BATS_FILE_TMPDIR/sts.log" 2>&1 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/sts.pid"
	wait_until 20 curl -s -o /dev/null "$STS"
}

setup() {
	vault_setup
	AWS='.settings = {engine: "aws", mount: "'"$NS-aws"'", role: "demo", policy: "sbx-'"$NS-aws"'"}'
}

# Who the session of the credentials file FILE is, as STS says it.
identity() { # FILE
	env -u AWS_PROFILE AWS_SHARED_CREDENTIALS_FILE="$1" AWS_CONFIG_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true STS="$STS" "$PYTHON" -c '
import boto3, os
print(boto3.client("sts", region_name="us-east-1", endpoint_url=os.environ["STS"]).get_caller_identity()["Arn"])' 3>&-
}

# field NAME: of what the mint gave.
field() {
	python3 - "$T/fields" "$1" <<-'PY'
		import sys
		data, at, found = open(sys.argv[1], "rb").read(), 0, {}
		while at < len(data):
		    name, length, rest = data[at:].split(b"\0", 2)
		    size = int(length)
		    found[name.decode()] = rest[:size].decode()
		    at = len(data) - len(rest) + size
		print(found[sys.argv[2]])
	PY
}

@test "a session works, is named after the lease, lives on when it was given back, and that is said; nothing else is left" {
	mint 0 "$AWS"
	local arn=arn:aws:sts::123456789012:assumed-role/sbx-demo/sbx-$LEASE end
	end=$(member .expires_at <<<"$output")
	assert_json '.jti + " " + (.fields | join(" "))' "$arn access_key_id secret_access_key session_token"
	assert_json '.expires_at | fromdate - now | . > 880 and . < 905' true
	printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\naws_session_token = %s\n' \
		"$(field access_key_id)" "$(field secret_access_key)" "$(field session_token)" >"$T/file"
	assert_equal "$(identity "$T/file")" "$arn"
	refute_contains "$output$stderr$(cat "$T/var/vault/$LEASE")" "$(field secret_access_key)"
	revoke 0 expires
	assert_json .proof "lease and child token ended; the session of AWS lives until $end"
	assert_equal "$(children)$(api GET "sys/leases/lookup/$NS-aws/sts/demo?list=true" 2>/dev/null | jq -r '.data.keys[]?')$(ls "$T/var/vault")" ''
	assert_equal "$(identity "$T/file")" "$arn"
}

@test "what the engine refuses or caps has its code" {
	mint 77 "$AWS | .settings.role = \"none\""
	assert_call vault_denied
	revoke 0 expires
	mint 78 "$AWS | .settings.role_arn = \"arn:aws:iam::123456789012:role/other\" | .lease = \"${LEASE//?/a}\""
	assert_call vault_refused
	assert_contains "$output" 'not in allowed role arns'
	LEASE=${LEASE//?/a} revoke 0 expires
	mint 78 "$AWS | .lifetime_s = 7200 | .lease = \"${LEASE//?/b}\""
	assert_call vault_short
	LEASE=${LEASE//?/b} revoke 0 expires
}

@test "through the chain: the tool has a credentials file, nobody else has its secret" {
	cat >"$T/policy/tools/aws_show.yaml" <<-'EOT'
		name: aws_show
		title: Read the credentials file
		description: Prints its own credential.
		tier: low
		steps:
		  - [stepper, env, AWS_SHARED_CREDENTIALS_FILE, then, cat, /run/sbx/cred/0]
		credentials: [{scope: aws-demo, as: aws-credentials, env: AWS_SHARED_CREDENTIALS_FILE}]
		limits: {deadline: 20s, grace: 1s}
		tests:
		  - {expect: allow}
	EOT
	sed -i "s|^scopes:|&\n  aws-demo: {provider: vault, engine: aws, mount: $NS-aws, role: demo, policy: sbx-$NS-aws, reads_secrets: false}|" "$T/policy/policy.yaml"
	sed -i "s|SBX_TOKEN|&, AWS_SHARED_CREDENTIALS_FILE|" "$T/policy/policy.yaml"
	run_sbx 0 sbx-call aws_show
	assert_json '.result.state + " " + .revocation[0].state + " " + .credential[0].provider' 'completed expires vault'
	assert_contains "$(member .result.stdout <<<"$output")" aws_session_token
	assert_contains "$(member .result.stdout <<<"$output")" REDACTED
}

@test "a state in S3, planned and applied with sessions of the engine" {
	PORT=${STS##*:}
	remote_setup '{scope: aws-SCOPE, as: aws-credentials, env: AWS_SHARED_CREDENTIALS_FILE}'
	sed -i "s|env_allowed: \[KUBE_CONFIG_PATH\]|env_allowed: [AWS_SHARED_CREDENTIALS_FILE]|
		s|^scopes:|&\n  aws-read: {provider: vault, engine: aws, mount: $NS-aws, role: demo, policy: sbx-$NS-aws, reads_secrets: false, only_reads: true}|
		s|^scopes:|&\n  aws-write: {provider: vault, engine: aws, mount: $NS-aws, role: demo, policy: sbx-$NS-aws, reads_secrets: false}|" "$T/policy/policy.yaml"
	s3_configuration >"$T/work/envs/far/main.tf"
	curl -sS -o /dev/null -X PUT "$STS/state" 3>&-
	planned
	run_sbx 0 sbx-call remote_apply "plan=$plan"
	assert_json '.credential[0].provider + " " + .revocation[0].state' 'vault expires'
	echo anybody:anybody >"$T/keys"
	assert_contains "$("$PYTHON" "$ROOT/test/helpers/s3get.py" "$STS" "$T/keys" get envs/far.tfstate 3>&-)" terraform_data
}
