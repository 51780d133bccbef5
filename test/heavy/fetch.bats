# terraform_fetch against those who choose what is fetched, and against its own end in the middle.

load ../helpers
load ../fetch

setup_file() { fetch_setup_file; }
setup() {
	fetch_setup
	cp -a "$PLACE/www" "$T/www"
}
teardown() {
	rm -rf "$PLACE/www"
	mv "$T/www" "$PLACE/www"
	fetch_teardown
}

nothing_kept() {
	assert_equal "$(ls -A "$T/var/fetched" 2>/dev/null)" ''
}

# The module app of the registry is said to be at SOURCE.
app_is_at() {
	echo "$1" >"$PLACE/www/v1/modules/acme/app/test/1.0.0/download.get"
}

@test "a registry that sends us to another transport, another host, or into the sandbox" {
	calls_module app registry.test/acme/app/test
	for source in 'git::ext::sh -c "touch /tmp/x"' git::ssh://git@git.test/net.git git::file:///work git::http://git.test/net.git \
		git::https://elsewhere.test/net.git https://elsewhere.test/files/app.tar.gz s3::https://s3.amazonaws.com/a/b hg::https://git.test/net \
		'git::https://git.test/net.git?ref=--upload-pack=id' 'git::https://u:p@git.test/net.git'; do
		app_is_at "$source"
		inside 1 chain terraform_fetch dir=envs/staging
		assert_json .result.state failed
		nothing_kept
	done
	refute_contains "$(asked_for)" elsewhere.test
	# A registry may send us to a host that is a destination.
	app_is_at 'git::https://git.test/net.git?ref=v1'
	inside 0 chain terraform_fetch dir=envs/staging
	applied 0
	assert_equal "$(jq -r .outputs.app.value "$T"/var/ws/default/*/terraform.tfstate)" 'by git'
}

@test "a redirect goes to a destination, or nowhere" {
	calls_module app registry.test/acme/app/test
	echo https://elsewhere.test/files/x.tar.gz >"$PLACE/www/files/app.tar.gz.location"
	inside 1 chain terraform_fetch dir=envs/staging
	nothing_kept
	refute_contains "$(asked_for)" elsewhere.test
	cp "$PLACE/www/files/app.tar.gz" "$PLACE/www/files/x.tar.gz"
	echo https://git.test/files/x.tar.gz >"$PLACE/www/files/app.tar.gz.location"
	inside 0 chain terraform_fetch dir=envs/staging
}

@test "a repository with submodules, with symlinks, with what looks like a state, with hooks" {
	calls_module odd 'git::https://git.test/odd.git?ref=v1'
	serve_repository odd 'output "said" { value = "odd" }'
	printf '[submodule "x"]\n\tpath = x\n\turl = https://git.test/net.git\n' >"$PLACE/tree-odd/.gitmodules"
	publish odd
	inside 1 chain terraform_fetch dir=envs/staging
	nothing_kept
	rm "$PLACE/tree-odd/.gitmodules"
	for target in /etc/passwd ../../../../../../../etc/passwd ../../../main.tf; do
		ln -sfn "$target" "$PLACE/tree-odd/link"
		publish odd
		inside 1 chain terraform_fetch dir=envs/staging
		nothing_kept
	done
	ln -sfn main.tf "$PLACE/tree-odd/link"
	echo x >"$PLACE/tree-odd/terraform.tfstate"
	mkdir -p "$PLACE/tree-odd/terraform.d/plugins" "$PLACE/tree-odd/hooks"
	echo x >"$PLACE/tree-odd/terraform.d/plugins/x"
	printf '#!/bin/sh\ntouch /tmp/x\n' >"$PLACE/tree-odd/hooks/post-checkout"
	chmod +x "$PLACE/tree-odd/hooks/post-checkout"
	publish odd
	inside 0 chain terraform_fetch dir=envs/staging
	at=$(product)/modules/odd
	assert_equal "$(cd "$at" && find . -mindepth 1 | sort | paste -sd' ')" './hooks ./hooks/post-checkout ./link ./main.tf'
	applied 0
}

@test "an archive that leads out, or does not end" {
	calls_module app registry.test/acme/app/test
	mkdir -p "$T/a/b"
	echo 'output "said" { value = "x" }' >"$T/a/main.tf"
	tar -C "$T/a/b" -czPf "$PLACE/www/files/app.tar.gz" ../main.tf
	inside 1 chain terraform_fetch dir=envs/staging
	nothing_kept
	# terraform leaves such a link out, or refuses the archive.
	ln -s /etc "$T/a/out"
	tar -C "$T/a" -czf "$PLACE/www/files/app.tar.gz" .
	nsenter -t "$REGISTRY" -n -m chain terraform_fetch dir=envs/staging >/dev/null 2>&1 3>&- || nothing_kept
	assert_equal "$(find "$T/var/fetched" -lname '/*')" ''
	rm -rf "$T/a/out" "$T/var/fetched"
	sed -i 's/workdir: 2Gi/workdir: 16Mi/' "$T/policy/tools/terraform_fetch.yaml"
	: >"$PLACE/www/files/app.tar.gz.endless"
	inside 1 chain terraform_fetch dir=envs/staging
	nothing_kept
	rm "$PLACE/www/files/app.tar.gz.endless"
	tar -C "$T/a" -czf "$PLACE/www/files/app.tar.gz" .
	inside 0 chain terraform_fetch dir=envs/staging
}

@test "what terraform's own list of modules says is not believed: it is looked at at each use" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	inside 0 chain terraform_fetch dir=envs/staging
	list=$(product)/modules/modules.json
	cp "$list" "$T/list"
	for change in 's|"Dir":".terraform/modules/net"|"Dir":"../prod"|' 's|"Dir":".terraform/modules/net"|"Dir":".terraform/modules/../../x"|' \
		's|"Key":"net"|"Key":"other"|' 's|git::https://git.test/net.git?ref=v1|../prod|' 's|.*|{|' 's|.*|{"Modules":[1]}|'; do
		sed "$change" "$T/list" >"$list"
		inside 66 chain terraform_plan dir=envs/staging
		assert_call not_fetched
	done
	sed 's|git.test/net.git|git.example/net.git|' "$T/list" >"$list"
	inside 77 chain terraform_plan dir=envs/staging
	assert_call module_not_allowed
	sed 's|"Key":"net"|"Key":"other"|' "$T/list" >"$list"
	inside 66 chain terraform_plan dir=envs/staging
	assert_json .error.message 'what this directory needs of providers and modules cannot be used: what was fetched is not whole: a module that is called is missing, or is another one'
	cp "$T/list" "$list"
	ln -s /etc "$(product)/modules/net/out"
	inside 66 chain terraform_plan dir=envs/staging
	rm "$(product)/modules/net/out"
	inside 0 chain terraform_plan dir=envs/staging
}

@test "what is there before the step that keeps it is no product" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	sed -i "s|^programs:|&\n  steps: {path: \"$SBX_BUILD/test/stepper\"}|" "$T/policy/policy.yaml"
	cp "$T/policy/tools/terraform_fetch.yaml" "$T/tool"
	# Beside the modules, which are there by then: the step itself succeeds.
	sed -i 's|^  - {argv: \[terraform, init|  - [steps, write, .terraform/providers, x]\n&|' "$T/policy/tools/terraform_fetch.yaml"
	inside 1 chain terraform_fetch dir=envs/staging
	assert_json .result.stderr 'sbx-entry: .terraform/providers is there before the step that fills it'
	assert_json .result.hint 'step 3 did not start, or did not leave what it was to make'
	nothing_kept
	cp "$T/tool" "$T/policy/tools/terraform_fetch.yaml"
	inside 0 chain terraform_fetch dir=envs/staging
}

@test "a step that brings less than the directory asks for: nothing is kept" {
	cp "$T/policy/tools/terraform_fetch.yaml" "$T/tool"
	sed -i '/keeps: providers/d; s/\[terraform, get, -no-color\]/[terraform, version]/' "$T/policy/tools/terraform_fetch.yaml"
	inside 0 chain terraform_fetch dir=envs/staging
	rm -r "$T/var/fetched"
	calls_module net 'git::https://git.test/net.git?ref=v1'
	inside 1 chain terraform_fetch dir=envs/staging
	assert_json .result.code fetch_incomplete
	nothing_kept
	sed '/keeps: modules/d; s/\[terraform, init, .*readonly\]/[terraform, version]/' "$T/tool" >"$T/policy/tools/terraform_fetch.yaml"
	printf 'provider "registry.test/acme/thing" {\n  version = "1.0.0"\n  hashes  = ["h1:x"]\n}\n' >"$TREE/.terraform.lock.hcl"
	inside 1 chain terraform_fetch dir=envs/staging
	assert_json .result.code fetch_incomplete
	nothing_kept
}

@test "many at once for one directory: each succeeds, one product is left" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	for i in 1 2 3 4; do
		nsenter -t "$REGISTRY" -n -m chain terraform_fetch dir=envs/staging >"$T/out-$i" 2>/dev/null 3>&- {LIFE}>&- &
		pids[i]=$!
	done
	for i in 1 2 3 4; do
		wait "${pids[i]}"
	done
	product >/dev/null
	inside 0 chain terraform_plan dir=envs/staging
}

@test "killed at any moment: the product is whole or not there" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	inside 0 chain terraform_fetch dir=envs/staging
	for ms in 020 100 200 300 350 400 450 500 550 600 650 700 800; do
		rm -rf "$T/var/fetched"
		# In a pid namespace: with its first process all of them are killed, and gone when that is.
		nsenter -t "$REGISTRY" -n -m unshare --pid --fork --mount-proc "$T/chain" terraform_fetch dir=envs/staging >/dev/null 2>&1 3>&- {LIFE}>&- &
		wait_until 5 pgrep -P "$!"
		first=$(pgrep -P "$!")
		sleep ".$ms"
		kill -KILL "$first" 2>/dev/null || true
		wait "$!" 2>/dev/null || true
		if [ -d "$(product)" ]; then
			inside 0 chain terraform_plan dir=envs/staging
		else
			inside 66 chain terraform_plan dir=envs/staging
			assert_call not_fetched
			absent=1
		fi
	done
	[ -n "$absent" ]
	# Nobody kills this one.
	rm -rf "$T/var/fetched"
	inside 0 unshare --pid --fork --mount-proc "$T/chain" terraform_fetch dir=envs/staging
	[ -d "$(product)" ]
	# What is half made is nobody's product, and goes when it is old.
	mkdir -p "$T/var/fetched/.new-x/modules"
	touch -d '20 minutes ago' "$T/var/fetched/.new-x"
	inside 0 chain terraform_fetch dir=envs/staging
	[ ! -e "$T/var/fetched/.new-x" ]
	# Or when the call is mended.
	call=$(member .call.id <<<"$output")
	mkdir -p "$T/var/fetched/.new-$call/modules"
	run_sbx 0 sbx-run --mend "$call"
	[ ! -e "$T/var/fetched/.new-$call" ]
	inside 0 chain terraform_plan dir=envs/staging
}

@test "a tool that keeps modules alone asks nothing of the providers" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	printf 'provider "registry.test/other/thing" {\n  version = "1.0.0"\n  hashes  = ["h1:x"]\n}\n' >"$TREE/.terraform.lock.hcl"
	inside 77 chain terraform_fetch dir=envs/staging
	assert_call provider_not_allowed
	sed -i '/keeps: providers/d' "$T/policy/tools/terraform_fetch.yaml"
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json .result.fetched.state kept
	assert_json '.result.fetched.providers | length' 0
}

@test "another driver than the local one" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	cp "$ROOT/test/fakes/sbx-run-tap" "$T/" && echo 'driver: tap' >>"$T/sbx.yaml"
	installation "$T/own"
	cp "$T/sbx-run-tap" "$T/own/libexec/sbx/"
	PATH=$T/own/bin:$PATH inside 78 chain terraform_fetch dir=envs/staging
	assert_call fetch_unsupported
}

@test "a provider that no lock file names: fetching again does not help, and the hint says what does" {
	printf 'terraform {\n  required_providers {\n    thing = { source = "registry.test/acme/thing" }\n  }\n}\n' >"$TREE/main.tf"
	inside 1 chain terraform_fetch dir=envs/staging
	assert_json .result.code not_fetched
	assert_contains "$(member .result.hint <<<"$output")" 'terraform providers lock'
	refute_contains "$(member .result.hint <<<"$output")" terraform_fetch
	inside 1 chain terraform_plan dir=envs/staging
	assert_json .result.code not_fetched
	assert_contains "$(member .result.hint <<<"$output")" 'terraform providers lock'
}

@test "a directory that needs nothing: a fetch is possible, and not needed" {
	printf 'output "x" {\n  value = 1\n}\n' >"$TREE/main.tf"
	inside 0 chain terraform_plan dir=envs/staging
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json ".result.fetched.providers | length" 0
	inside 0 chain terraform_plan dir=envs/staging
	assert_equal "$(jq -r .seal.fetched "$T/var/plans/$(member .result.plan.id <<<"$output")/seal.json")" null
}

# old_product KEY DAYS [PRINCIPAL]: one that was used that long ago.
old_product() {
	mkdir -p "$T/var/fetched/$1/modules"
	[ $# -lt 3 ] || {
		printf '{"call":"x","principal":"%s","at":"2026-01-01T00:00:00Z"}' "$3" >"$T/var/fetched/$1/made.json"
		chmod 600 "$T/var/fetched/$1/made.json"
	}
	touch -d "$2 days ago" "$T/var/fetched/$1"
}

key() {
	printf '%064d' "$1"
}

@test "old products go, the longest unused first; never a person's own, one of a kept plan, and one in use" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	inside 0 chain terraform_fetch dir=envs/staging
	inside 0 chain terraform_plan dir=envs/staging
	planned=$(product)
	touch -d '100 days ago' "$planned"
	for i in {1..20}; do
		old_product "$(key "$i")" $((i + 1)) root
	done
	old_product "$(key 30)" 200
	old_product "$(key 31)" 201 somebody-else
	exec {USED}<"$T/var/fetched/$(key 20)"
	flock -s "$USED"
	serve_repository net 'output "said" { value = "again" }'
	sed -i 's/ref=v1/ref=main/' "$TREE/main.tf"
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json .result.fetched.state kept
	exec {USED}<&-
	[ -d "$planned" ] && [ -d "$T/var/fetched/$(key 30)" ] && [ -d "$T/var/fetched/$(key 31)" ] && [ -d "$T/var/fetched/$(key 20)" ]
	# 21 were theirs, and one more came: the two that were used longest ago, of those that may go.
	[ ! -e "$T/var/fetched/$(key 19)" ] && [ ! -e "$T/var/fetched/$(key 18)" ] && [ -d "$T/var/fetched/$(key 17)" ]
	# Where none may go there is no room.
	for i in {1..17} 20; do
		rm "$T/var/fetched/$(key "$i")/made.json"
	done
	rm -rf "$T"/var/plans/*
	for i in {1..20}; do
		old_product "$(key $((i + 40)))" 1 root
		exec {fds[i]}<"$T/var/fetched/$(key $((i + 40)))"
		flock -s "${fds[i]}"
	done
	touch "$planned"
	exec {USED}<"$planned"
	flock -s "$USED"
	sed -i 's/ref=main/ref=v1/; s/net.git/inner.git/' "$TREE/main.tf"
	serve_repository inner 'output "said" { value = "x" }'
	inside 69 chain terraform_fetch dir=envs/staging
	assert_call fetched_full
}

# fill KEY GIB: it has so much in it, and takes no room for it.
fill() {
	truncate -s "$2G" "$T/var/fetched/$1/modules/big"
}

@test "one principal cannot have all the room: another one finds some, and loses nothing to who has more" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	# Somebody else has all that one may have, of which all is in use; then a little less is left than one more may need.
	for i in {1..6}; do
		old_product "$(key "$i")" 9 somebody-else
		fill "$(key "$i")" 1
		exec {fds[i]}<"$T/var/fetched/$(key "$i")"
		flock -s "${fds[i]}"
	done
	old_product "$(key 20)" 30 a-third
	fill "$(key 20)" 1
	inside 0 chain terraform_fetch dir=envs/staging
	[ -d "$T/var/fetched/$(key 20)" ]
	ours=$(basename "$(ls -d "$T"/var/fetched/*[a-f]*)")
	# What goes is of the one who has most, though it was used later than others'.
	for i in {1..6}; do
		exec {fds[i]}<&-
	done
	old_product "$(key 21)" 20 a-third
	fill "$(key 21)" 1
	sed -i 's/ref=v1/ref=main/' "$TREE/main.tf"
	inside 0 chain terraform_fetch dir=envs/staging
	[ -d "$T/var/fetched/$(key 20)" ] && [ -d "$T/var/fetched/$(key 21)" ] && [ -d "$T/var/fetched/$ours" ]
	assert_equal "$(ls -d "$T"/var/fetched/*"$(key 0 | cut -c1-60)"* | wc -l)" 7
	# One's own share: at it the longest unused of one's own goes, and where none may go there is no room, though there is for others.
	rm -rf "$T"/var/fetched/*
	for i in {1..6}; do
		old_product "$(key "$i")" "$i" root
		fill "$(key "$i")" 1
	done
	old_product "$(key 20)" 30 a-third
	inside 0 chain terraform_fetch dir=envs/staging
	[ ! -e "$T/var/fetched/$(key 6)" ] && [ -d "$T/var/fetched/$(key 5)" ] && [ -d "$T/var/fetched/$(key 20)" ]
	old_product "$(key 6)" 6 root
	fill "$(key 6)" 1
	for i in {1..6}; do
		exec {fds[i]}<"$T/var/fetched/$(key "$i")"
		flock -s "${fds[i]}"
	done
	sed -i 's/ref=main/ref=v1/' "$TREE/main.tf"
	inside 69 chain terraform_fetch dir=envs/staging
	assert_call fetched_full
	assert_contains "$(jq -r .error.message <<<"$output")" "of this principal's fetches"
	exec {fds[6]}<&-
	inside 0 chain terraform_fetch dir=envs/staging
	[ ! -e "$T/var/fetched/$(key 6)" ]
}

@test "more products than can be looked at: there is no room, and with one less there is" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	(mkdir -p "$T/var/fetched" && cd "$T/var/fetched" && seq -f %064.0f 1025 | xargs mkdir)
	inside 69 chain terraform_fetch dir=envs/staging
	assert_call fetched_full
	rmdir "$T/var/fetched/$(key 1)"
	inside 0 chain terraform_fetch dir=envs/staging
}

@test "what cannot be kept for good is not kept; what cannot be removed is no failure, and goes later" {
	installation "$T/own"
	mv "$T/own/bin/sbx-run" "$T/own/bin/sbx-run.true"
	printf '#!/bin/bash\nexec "%s" $(cat "%s") -- "%s" "$@"\n' "$SBX_BUILD/test/fault_at" "$T/own/fault" "$T/own/bin/sbx-run.true" >"$T/own/bin/sbx-run"
	chmod 755 "$T/own/bin/sbx-run"
	calls_module net 'git::https://git.test/net.git?ref=v1'
	echo 'fail fsync/fetched/1 5' >"$T/own/fault"
	PATH=$T/own/bin:$PATH inside 1 chain terraform_fetch dir=envs/staging
	assert_json .result.code io_error
	assert_equal "$(ls -A "$T/var/fetched")" ''
	inside 0 chain terraform_fetch dir=envs/staging
	serve_repository net 'output "said" { value = "another" }'
	echo 'fail renameat/.old-#/1 5' >"$T/own/fault"
	PATH=$T/own/bin:$PATH inside 0 chain terraform_fetch dir=envs/staging
	assert_json .result.fetched.state kept
	assert_contains "$stderr" 'cannot remove what was fetched'
	grep -q another "$(product)/modules/net/main.tf"
	grep -q 'by git' "$T"/var/fetched/.new-*/modules/net/main.tf
	touch -d '20 minutes ago' "$T"/var/fetched/.new-*
	inside 0 chain terraform_fetch dir=envs/staging
	assert_equal "$(ls -A "$T/var/fetched")" "$(basename "$(product)")"
}

@test "modules of local modules, of fetched ones, and of a directory in JSON" {
	serve_repository inner 'output "said" { value = "from within" }'
	serve_repository outer $'module "inner" {\n  source = "git::https://git.test/inner.git?ref=v1"\n}\noutput "said" { value = module.inner.said }'
	printf 'module "outer" {\n  source = "git::https://git.test/outer.git?ref=v1"\n}\noutput "said" { value = module.outer.said }\n' >"$T/work/modules/net/main.tf"
	printf '{"module":{"net":{"source":"../../modules/net"}},"output":{"said":{"value":"${module.net.said}"}}}\n' >"$TREE/main.tf.json"
	inside 66 chain terraform_validate dir=envs/staging
	assert_call not_fetched
	inside 0 chain terraform_fetch dir=envs/staging
	inside 0 chain terraform_validate dir=envs/staging
	applied 0
	assert_equal "$(jq -r .outputs.said.value "$T"/var/ws/default/*/terraform.tfstate)" 'from within'
	# Another source is another product.
	sed -i s/v1/main/ "$T/work/modules/net/main.tf"
	inside 66 chain terraform_plan dir=envs/staging
	assert_call not_fetched
	# One that the policy does not list, deep inside: fetched, looked at, and thrown away.
	serve_repository outer $'module "x" {\n  source = "git::https://registry.test/inner.git?ref=v1"\n}\noutput "said" { value = module.x.said }'
	inside 1 chain terraform_fetch dir=envs/staging
	assert_json .result.code module_not_allowed
	inside 66 chain terraform_plan dir=envs/staging
}

@test "configuration behind symlinks: what it calls is fetched and found like any other" {
	mkdir "$T/work/envs/shared"
	ln -s ../shared "$TREE/mods"
	ln -s ../shared/outer.tf.shared "$TREE/outer.tf"
	calls_module net 'git::https://git.test/net.git?ref=v1'
	mv "$TREE/main.tf" "$T/work/envs/shared/main.tf"
	printf 'module "local" {\n  source = "./mods"\n}\noutput "said" { value = module.local.net }\n' >"$T/work/envs/shared/outer.tf.shared"
	inside 66 chain terraform_validate dir=envs/staging
	assert_call not_fetched
	inside 0 chain terraform_fetch dir=envs/staging
	inside 0 chain terraform_validate dir=envs/staging
	applied 0
	assert_equal "$(jq -r .outputs.said.value "$T"/var/ws/default/*/terraform.tfstate)" 'by git'
}

@test "modules that the tests of a directory run are fetched with it, and found by every tool" {
	mkdir "$TREE/tests"
	printf 'run "far" {\n  module {\n    source = "registry.test/acme/app/test"\n  }\n}\n' >"$TREE/tests/a.tftest.hcl"
	sed -i 's/^tier: .*/tier: medium/' "$T/policy/tools/terraform_test.yaml"
	inside 66 chain terraform_validate dir=envs/staging
	assert_call not_fetched
	inside 0 chain terraform_fetch dir=envs/staging
	inside 0 chain terraform_validate dir=envs/staging
	inside 0 chain terraform_test dir=envs/staging
	assert_contains "$(member .result.stdout <<<"$output")" '1 passed'
	sed -i 's/acme/other/' "$TREE/tests/a.tftest.hcl"
	inside 77 chain terraform_fetch dir=envs/staging
	assert_call module_not_allowed
}

@test "OpenTofu: what its own files call, its tests with them, is fetched and found, and its own backend is the one" {
	command -v tofu >/dev/null || skip 'no tofu'
	local tofu
	tofu=$(readlink -f "$(command -v tofu)")
	calls_module net 'git::https://git.test/net.git?ref=v1'
	mv "$TREE/main.tf" "$TREE/hidden"
	echo 'output "said" { value = "Terraform alone reads this" }' >"$TREE/main.tf"
	mv "$TREE/hidden" "$TREE/main.tofu"
	mkdir "$TREE/tests"
	printf 'run "far" {\n  module {\n    source = "git::https://git.test/far.git?ref=v1"\n  }\n}\n' >"$TREE/tests/one.tofutest.hcl"
	serve_repository far 'output "said" { value = "far" }'
	# Terraform calls none of it: its product is whole without.
	inside 0 chain terraform_fetch dir=envs/staging
	assert_equal "$(find "$(product)/modules" -name main.tf)" ''
	rm -rf "$T/var/fetched"
	sed -i "s|^    path: \"$(command -v terraform)\"|    path: \"$tofu\"|" "$T/policy/policy.yaml"
	inside 0 chain terraform_fetch dir=envs/staging
	assert_equal "$(jq -rc '[.Modules[].Key]' "$(product)/modules/modules.json")" '["","net","test.tests.one.tofutest.hcl.far"]'
	applied 0
	assert_equal "$(jq -r .outputs.net.value "$T"/var/ws/default/*/terraform.tfstate)" 'by git'
	printf 'terraform {\n  backend "http" {\n    password = "p"\n  }\n}\n' >"$TREE/state.tofu"
	inside 77 chain terraform_plan dir=envs/staging
	assert_call backend_secret
}

@test "a list of modules that has another one under the name of one that is called" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	inside 0 chain terraform_fetch dir=envs/staging
	inside 0 chain terraform_validate dir=envs/staging
	for other in 'net.git?ref=main' 'app.git?ref=v1'; do
		sed -i "s|git.test/[a-z]*.git?ref=[a-z0-9]*|git.test/$other|" "$(product)/modules/modules.json"
		inside 66 chain terraform_validate dir=envs/staging
		assert_call not_fetched
	done
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json .result.fetched.state kept
	inside 0 chain terraform_validate dir=envs/staging
	# Terraform takes the last of two.
	jq -c '.Modules += [.Modules[] | select(.Key == "net")]' "$(product)/modules/modules.json" >"$T/twice"
	cp "$T/twice" "$(product)/modules/modules.json"
	inside 66 chain terraform_validate dir=envs/staging
	assert_call not_fetched
}

@test "a person fills the same place by hand, with what is looked at in the same way" {
	calls_module net 'git::https://git.test/net.git?ref=v1'
	place=$(sbx-run fetched envs/staging)
	assert_equal "${place%/*}" "$T/var/fetched"
	# Where the network is: terraform get.
	mkdir -p "$T/new/modules/net"
	echo 'output "said" { value = "by hand" }' >"$T/new/modules/net/main.tf"
	echo '{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"net","Source":"git::https://git.test/net.git?ref=v1","Dir":".terraform/modules/net"}]}' \
		>"$T/new/modules/modules.json"
	install -d -m 700 "$T/var/fetched"
	mv "$T/new" "$place"
	applied 0
	assert_equal "$(jq -r .outputs.net.value "$T"/var/ws/default/*/terraform.tfstate)" 'by hand'
	# A fetch leaves it.
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json .result.fetched.state unchanged
	assert_equal "$(member .result.fetched.modules_sha256 <<<"$output")" "$(sbx-audit show --event fetched.kept --json | jq -r .modules_sha256)"
	assert_contains "$(cat "$place/modules/net/main.tf")" 'by hand'
	# Not when it is of no use.
	sed -i s/git.test/git.example/ "$place/modules/modules.json"
	inside 77 chain terraform_plan dir=envs/staging
	assert_call module_not_allowed
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json .result.fetched.state kept
	run_sbx 64 sbx-run fetched
	run_sbx 64 sbx-run fetched envs/staging again
	run_sbx 77 sbx-run fetched envs/none
}
