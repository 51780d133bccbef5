# The examples of the README and of the manual pages run as they stand.

load ../helpers

setup() {
	fresh_state
	cp "$ROOT/terraform/local-demo/main.tf" "$T/work/envs/staging/"
	cd "$T" || return 1
}

# Lines of the ```sh blocks of the README, without comments at their end; those of "Two accounts" want root
# (accounts/two-accounts.bats), those of "On a cluster" a cluster, those of "A provider from a registry" a registry (cluster/fetch.bats), and "Try it in five minutes" is a test of its own.
readme_commands() {
	awk '/^## / {other = /^## (Try it in five minutes|Two accounts|On a cluster, step by step|A provider from a registry, step by step)$/} other {next} /^ *```sh$/ {inside = 1; next} /^ *```$/ {inside = 0} inside' "$ROOT/README.md" | sed 's/  *#.*//; s/^ *//' | grep -v '^$'
}

@test "the shell commands of the README" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	printf '{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"00000000-0000-0000-0000-000000000001","outputs":{},"resources":[]}' >state
	local count=0 line status
	while IFS= read -r line; do
		line=${line//\/srv\/infrastructure\/envs\/staging\/terraform.tfstate/$T/state}
		status=0
		bash -o pipefail -c "$line" >out 2>err </dev/null || status=$?
		[ "$status" -eq 0 ] || {
			echo "status $status: $line"
			cat out err
			return 1
		}
		count=$((count + 1))
	done < <(readme_commands)
	[ "$count" -ge 6 ]
}

@test "the README's five minutes, in a home of its own" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	awk '/^## / {here = /^## Try it in five minutes$/} !here {next} /^```sh$/ {inside = 1; next} /^```$/ {inside = 0} inside' "$ROOT/README.md" |
		grep -v '^make ' | sed "s|^export PATH=[^ ]* |export |" >five
	[ "$(wc -l <five)" -ge 18 ]
	local home=$T/home
	mkdir "$home"
	cd "$ROOT"
	HOME=$home PATH=$SBX_BIN:$PATH run_sbx 0 bash -eu "$T/five" </dev/null
	assert_equal "$(grep -cx '"completed"' <<<"$output")" 2
	assert_contains "$output" approval.claimed
	assert_contains "$stderr" approval_required
}

@test "the examples of sbx(7) and sbx-call(1)" {
	command -v terraform >/dev/null || command -v tofu >/dev/null || skip 'needs terraform or tofu'
	local count=0 line
	while IFS= read -r line; do
		run_sbx 0 bash -c "$line"
		count=$((count + 1))
	done < <(sed -n 's/^\.Dl \$ //p' "$ROOT/man/sbx.7" "$ROOT/man/sbx-call.1")
	[ "$count" -ge 3 ]
}

@test "every setting that sbx(7) lists is known, and no other" {
	local listed
	listed=$(sed -n '/-width allowed_signers/,/^\.El/s/^\.It Ic //p' "$ROOT/man/sbx.7" | tr -s ' ,' '\n' | sort)
	[ "$(wc -l <<<"$listed")" -ge 16 ]
	assert_equal "$(sed -n '/known_keys\[\]/,/};/p' "$ROOT/lib/config.c" | grep -oE '"[a-z_]+"' | tr -d '"' | sort)" "$listed"
}

@test "install and uninstall leave a tree that works, and none" {
	run_sbx 0 make -s -C "$ROOT" BUILD="$SBX_BUILD" DESTDIR="$T/root" PREFIX=/usr install
	[ -x "$T/root/usr/bin/sbx-call" ]
	[ -x "$T/root/usr/libexec/sbx/sbx-entry" ]
	[ -e "$T/root/usr/share/man/man7/sbx.7" ]
	[ -e "$T/root/usr/share/sbx/policy/policy.yaml" ]
	run_sbx 0 "$T/root/usr/bin/sbx-call" true
	assert_json .result.state completed
	run_sbx 0 make -s -C "$ROOT" BUILD="$SBX_BUILD" DESTDIR="$T/root" PREFIX=/usr uninstall
	assert_equal "$(find "$T/root" -type f | wc -l)" 0
}
