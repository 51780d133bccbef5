# What a directory needs from elsewhere is fetched once, by a tool of its own, from where the policy says; every other terraform tool finds it. Modules alone:
# test/cluster/fetch.bats has a provider.

load ../helpers
load ../fetch

setup_file() { fetch_setup_file; }
setup() { fetch_setup; }
teardown() { fetch_teardown; }

@test "fetch, plan, apply, and nothing is fetched again" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	calls_module app registry.test/acme/app/test
	inside 66 chain terraform_plan dir=envs/staging
	assert_call not_fetched
	assert_json .error.hint 'call terraform_fetch {dir: "envs/staging"} first'
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json .result.fetched.state kept
	assert_contains "$(asked_for)" 'git.test /net.git/info/refs'
	applied 0
	assert_json .result.state completed
	assert_equal "$(jq -r '.outputs.net.value + ", " + .outputs.app.value' "$T"/var/ws/default/*/terraform.tfstate)" 'by git, by the registry'
	inside 0 chain terraform_validate dir=envs/staging
	assert_equal "$(asked_for)" ''
}

@test "what the policy does not list is refused before anything is asked for" {
	calls_module net 'git::https://git.test/other/net.git?ref=v1'
	inside 77 chain terraform_fetch dir=envs/staging
	assert_call module_not_allowed
	assert_contains "$output" 'modules: in policy.yaml'
	: >"$TREE/main.tf"
	printf 'provider "registry.test/other/thing" {\n  version = "1.0.0"\n  hashes  = ["h1:x"]\n}\n' >"$TREE/.terraform.lock.hcl"
	inside 77 chain terraform_fetch dir=envs/staging
	assert_call provider_not_allowed
	rm "$TREE/.terraform.lock.hcl"
	printf 'variable "v" {}\nmodule "net" {\n  source = "git::https://git.test/${var.v}.git"\n}\n' >"$TREE/main.tf"
	inside 65 chain terraform_fetch dir=envs/staging
	assert_call module_unreadable
	sed -i '/^providers:/d; /^modules:/d' "$T/policy/policy.yaml"
	inside 78 chain terraform_fetch dir=envs/staging
	assert_call fetch_unlisted
	assert_equal "$(asked_for)" ''
	assert_equal "$(ls -A "$T/var/fetched" 2>/dev/null)" ''
}

@test "a plan holds for the modules that it was made with" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	inside 0 chain terraform_fetch dir=envs/staging
	inside 0 chain terraform_plan dir=envs/staging
	plan=$(member .result.plan.id <<<"$output")
	kept=$(product)
	assert_equal "$(jq -r .seal.fetched "$T/var/plans/$plan/seal.json")" "${kept##*/}"
	# The same again changes nothing.
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json .result.fetched.state unchanged
	inside 75 chain terraform_apply "plan=$plan"
	serve_repository net 'output "said" { value = "something else" }'
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json .result.fetched.state kept
	assert_equal "$(product)" "$kept"
	inside 77 chain terraform_apply "plan=$plan"
	assert_call plan_module_changed
	mv "$kept" "$T/elsewhere"
	inside 66 chain terraform_apply "plan=$plan"
	assert_call not_fetched
	serve_repository net 'output "said" { value = "by git" }'
	inside 0 chain terraform_fetch dir=envs/staging
	inside 75 chain terraform_apply "plan=$plan"
}
