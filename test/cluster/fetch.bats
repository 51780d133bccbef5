# A registry serves a real provider, of $SBX_MIRROR as in terraform.bats, and a module from git: fetched, planned, signed and applied, all on this machine. No
# cluster is asked; it stands here because the mirror does.

load ../helpers
load ../fetch

setup_file() {
	[ -n "${SBX_MIRROR:-}" ] || {
		echo 'SBX_MIRROR must name a mirror of providers with hashicorp/null: terraform providers mirror makes one'
		return 1
	}
	fetch_setup_file
	serve_provider null 1.0.0 "$SBX_MIRROR"/*/hashicorp/null/1.0.0/linux_*/terraform-provider-null*
	# The README's: the public registry, which keeps its files elsewhere.
	cp -r "$PLACE/www/v1/providers/acme" "$PLACE/www/v1/providers/hashicorp"
	sed -i 's|https://registry.test/files|https://releases.hashicorp.com/files|g' "$PLACE"/www/v1/providers/hashicorp/null/1.0.0/download/linux/*
	serve_repository infra/net 'output "name" { value = "net" }'
	serve_repository net 'output "said" { value = "by git" }'
}

teardown_file() { fetch_teardown_file; }

setup() {
	fetch_setup
	calls_module net 'git::https://git.test/net.git?ref=v1'
	cat >>"$TREE/main.tf" <<-'EOT'
		terraform {
		  required_providers {
		    null = { source = "registry.test/acme/null" }
		  }
		}
		resource "null_resource" "x" {
		  triggers = { net = module.net.said }
		}
	EOT
	locked
}

teardown() { fetch_teardown; }

@test "fetch, plan, signed apply, all here; a second plan fetches nothing" {
	inside 66 chain terraform_plan dir=envs/staging
	assert_call not_fetched
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json '.result.fetched.providers[0].source' registry.test/acme/null
	hash=$(member '.result.fetched.providers[0].package' <<<"$output")
	assert_contains "$(cat "$TREE/.terraform.lock.hcl")" "\"$hash\""
	assert_contains "$(asked_for)" 'registry.test /files/terraform-provider-null'
	applied 0
	# Whoever signs reads which provider will hold the credentials.
	assert_contains "$text" 'registry.test/acme/null'
	assert_contains "$text" "$hash"
	assert_json .result.state completed
	assert_equal "$(jq -r '.resources[0].instances[0].attributes.triggers.net' "$T"/var/ws/default/*/terraform.tfstate)" 'by git'
	inside 0 chain terraform_plan dir=envs/staging
	assert_json .result.counts.create 0
	assert_equal "$(asked_for)" ''
	sbx-audit verify >/dev/null
	assert_equal "$(sbx-audit show --event fetched.kept --json | jq -r '.providers[0].package')" "$hash"
}

@test "a package that is not the lock file's: none is kept" {
	sed -i -E 's/"(h1|zh):[^"]*"/"\1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="/' "$TREE/.terraform.lock.hcl"
	inside 1 chain terraform_fetch dir=envs/staging
	assert_json .result.state failed
	assert_equal "$(ls -A "$T/var/fetched")" ''
}

@test "a list of digests that nobody has signed, and a package that the list does not have: none is kept" {
	cp -r "$PLACE/www/files" "$T/files"
	for change in 'echo >>null_SUMS' 'rm null_SUMS.sig' 'echo x | tee -a ./*.zip'; do
		(cd "$PLACE/www/files" && eval "$change" >/dev/null)
		inside 1 chain terraform_fetch dir=envs/staging
		assert_equal "$(ls -A "$T/var/fetched")" ''
		cp -r "$T/files" "$PLACE/www"
	done
	inside 0 chain terraform_fetch dir=envs/staging
}

@test "a lock file with another platform's digest alone" {
	sed -i '/"h1:/d' "$TREE/.terraform.lock.hcl"
	inside 1 chain terraform_fetch dir=envs/staging
	assert_json .result.code provider_not_locked
	assert_contains "$(member .result.hint <<<"$output")" 'providers lock'
	assert_equal "$(ls -A "$T/var/fetched")" ''
}

@test "a package that changes after the fetch: no plan with it, and no apply" {
	inside 0 chain terraform_fetch dir=envs/staging
	inside 0 chain terraform_plan dir=envs/staging
	plan=$(member .result.plan.id <<<"$output")
	program=$(echo "$(product)"/providers/registry.test/acme/null/1.0.0/*/terraform-provider-null*)
	printf x >>"$program"
	inside 77 chain terraform_apply "plan=$plan"
	assert_call provider_not_locked
	inside 77 chain terraform_plan dir=envs/staging
	assert_call provider_not_locked
	assert_contains "$(member .error.message <<<"$output")" 'that was fetched'
	refute_contains "$(member .error.hint <<<"$output")" fs-mirror
	truncate -s -1 "$program"
	inside 0 chain terraform_plan dir=envs/staging
	mv "${program%/*}" "$T/elsewhere"
	inside 66 chain terraform_plan dir=envs/staging
	assert_call not_fetched
}

# readme LANGUAGE [HEADING]: the blocks below this heading of the README (default: the section's), without their indent, for this installation.
readme() {
	awk -v want="$1" -v under="${2:-## A provider from a registry, step by step}" '/^###? / {here = $0 == under} !here {next}
		$1 == "```" want {inside = 1; match($0, /^ */); cut = RLENGTH; next}
		/^ *```$/ {inside = 0; print ""} inside {print substr($0, cut + 1)}' "$ROOT/README.md" |
		sed "s|/srv/infrastructure|$T/work|; s|443\"}|443\", private: true}|; s|sbx-approve sign \$id|sbx-approve sign \$id --key $T/alice </dev/null|"
}

company='### In a company network'

# company_policy N LINE...: the policy that ships, with the Nth block of the README's part on company networks, and LINE under env: of terraform.
company_policy() {
	find "$T/policy/tools" -type f ! -name 'terraform_*' -delete
	cp "$ROOT/policy/policy.yaml" "$T/policy/policy.yaml"
	sed -i "s|^\( *path: \)/usr/bin/terraform|\1$(command -v terraform)|; s|^\( *\)# \(mounts: \[\)/etc/ssl/[^]]*\].*|\1\2$T/ca.pem]|; s|^\( *\)# \(git: {\)|\1\2|" "$T/policy/policy.yaml"
	[ -e /lib64 ] || sed -i 's|/lib64, ||' "$T/policy/policy.yaml"
	for line in "${@:2}"; do
		sed -i "s|^\( *\)TF_INPUT:.*|&\n\1$line|" "$T/policy/policy.yaml"
	done
	readme yaml "$company" | awk -v RS= -v n="$1" 'NR == n' >>"$T/policy/policy.yaml"
	chmod -R go-w "$T/policy"
}

# What the README says there of a setting, as it stands.
said() {
	grep -oE "\`$1: [^\`]*\`" "$ROOT/README.md" | head -1 | tr -d '`' | sed "s|/etc/sbx/company-ca.pem|$T/ca.pem|"
}

@test "the section of the README, from nothing to a signed apply, and by hand" {
	sed -i '/^egress:/,$d' "$T/policy/policy.yaml"
	readme yaml >>"$T/policy/policy.yaml"
	sed -i 's/^egress:.*/egress: [terraform-registry, terraform-releases, git-host]/' "$T/policy/tools/terraform_fetch.yaml"
	sed -i 's/^tier: high/tier: medium/' "$T/policy/tools/terraform_apply.yaml"
	readme sh >"$T/readme"
	readme sh "$company" >"$T/by-hand"
	[ "$(wc -l <"$T/readme")" -ge 25 ] && [ "$(wc -l <"$T/by-hand")" -ge 7 ]
	env=(env "SSL_CERT_FILE=$T/ca.pem" "GIT_SSL_CAINFO=$T/ca.pem" CHECKPOINT_DISABLE=1 TF_CLI_CONFIG_FILE=/dev/null)
	inside 0 "${env[@]}" bash -eu "$T/readme"
	assert_equal "$(grep -cx '"completed"' <<<"$output")" 2
	assert_contains "$output" '"registry.terraform.io/hashicorp/null"'
	assert_contains "$output" 'DESTROY "null_resource.first"'
	: >"$T/seen"
	rm -rf "$T/var/fetched"
	inside 66 chain terraform_validate dir=envs/first
	inside 0 "${env[@]}" bash -eu "$T/by-hand"
	: >"$T/seen"
	inside 0 chain terraform_plan dir=envs/first
	assert_json .result.state completed
	assert_equal "$(asked_for)" ''
}

@test "the README in a company network: a registry of its own, and a proxy" {
	local files=$PLACE/www/v1
	for kind in modules providers; do
		cp -r "$files/$kind/acme" "$files/$kind/platform"
		grep -rl registry.test "$files/$kind/platform" | xargs sed -i 's|registry.test|registry.example.com|g'
	done
	cat >"$TREE/main.tf" <<-'EOT'
		terraform {
		  required_providers {
		    null = { source = "registry.example.com/platform/null" }
		  }
		}
		module "net" {
		  source = "git::https://git.example.com/infra/net.git?ref=v1"
		}
		module "app" {
		  source = "registry.example.com/platform/app/test"
		}
		resource "null_resource" "x" {
		  triggers = { net = module.net.name, app = module.app.said }
		}
	EOT
	rm "$TREE/.terraform.lock.hcl"
	locked
	ca=$(said SSL_CERT_FILE) proxy=$(said HTTPS_PROXY) not=$(said NO_PROXY)
	company_policy 1 "$ca"
	sed -i 's/^egress:.*/egress: [registry, git-host]/' "$T/policy/tools/terraform_fetch.yaml"
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json .result.fetched.state kept
	refute_contains "$(asked_for)" CONNECT
	applied 0
	assert_equal "$(jq -r '.resources[0].instances[0].attributes.triggers | .net + ", " + .app' "$T"/var/ws/default/*/terraform.tfstate)" 'net, by the registry'

	# The public one, by the proxy alone; what NO_PROXY names is no destination any more. The state's own provider would be asked for, too.
	rm -r "$T"/var/ws
	sed -i 's|registry.example.com/platform/null|hashicorp/null|; /^module "app"/,/^}/d; s/, app = [^ ]*//' "$TREE/main.tf"
	rm "$TREE/.terraform.lock.hcl"
	locked
	company_policy 2 "$ca" "$proxy" "$not"
	sed -i 's/^egress:.*/egress: [proxy]/' "$T/policy/tools/terraform_fetch.yaml"
	printf '%s\n' 'providers: [registry.terraform.io/hashicorp/null, registry.example.com/platform/null]' 'modules: ["git::https://git.example.com/infra/*"]' >>"$T/policy/policy.yaml"
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json '.result.fetched.providers[0].source' registry.terraform.io/hashicorp/null
	seen=$(asked_for)
	for place in registry.terraform.io releases.hashicorp.com git.example.com; do
		assert_contains "$seen" "CONNECT $place:443"
	done
	inside 0 chain terraform_plan dir=envs/staging
	assert_equal "$(sbx-audit show --event sandbox.connections --json | jq -r '.connections[].destination' | tail -1)" proxy
	sed -i 's|hashicorp/null|registry.example.com/platform/null|' "$TREE/main.tf"
	rm "$TREE/.terraform.lock.hcl"
	locked
	inside 1 chain terraform_fetch dir=envs/staging
	refute_contains "$(asked_for)" 'CONNECT registry.example.com'
}
