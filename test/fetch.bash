# Shared by the bats files about terraform_fetch: a registry and a git host over TLS, on the loopback of a network namespace of the test, and an
# installation whose policy lets a fetch reach them. They are called registry.test and git.test.

# Certificates and what is served, once for each file.
fetch_setup_file() {
	command -v terraform >/dev/null || skip 'needs terraform'
	command -v git >/dev/null || skip 'needs git'
	[ "$(id -u)" -eq 0 ] && unshare -nm true || skip 'needs the right to make network and mount namespaces'
	PLACE=$BATS_FILE_TMPDIR
	export PLACE
	# From the fourth on they are those of the README.
	local names='registry.test git.test elsewhere.test registry.terraform.io releases.hashicorp.com git.example.com registry.example.com proxy.example.com'
	(
		cd "$PLACE" || exit 1
		exec >/dev/null 2>"$PLACE/openssl.err"
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -days 2 -subj '/CN=a test' \
			-addext basicConstraints=critical,CA:TRUE
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout tls.key -out tls.csr -subj /CN=registry.test
		openssl x509 -req -in tls.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out tls.crt -days 2 \
			-extfile <(echo "subjectAltName=$(printf 'DNS:%s,' $names | sed 's/,$//')")
	)
	echo "127.0.0.1 localhost $names" >"$PLACE/hosts"
	mkdir -p "$PLACE/www/.well-known" "$PLACE/www/files"
	echo '{"modules.v1":"/v1/modules/","providers.v1":"/v1/providers/"}' >"$PLACE/www/.well-known/terraform.json"
	serve_module app 'output "said" { value = "by the registry" }'
	serve_repository net 'output "said" { value = "by git" }'
}

# in_git COMMAND...: git for the test itself, without anybody's settings.
in_git() {
	GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null git -c user.name=t -c user.email=t@t -c init.defaultBranch=main -c protocol.file.allow=always "$@"
}

# serve_repository NAME CONFIGURATION: a repository with one commit, tagged v1.
serve_repository() {
	local tree=$PLACE/tree-$1
	rm -rf "$tree" "$PLACE/www/$1.git"
	mkdir -p "$tree" "$PLACE/www/$(dirname "$1")"
	echo "$2" >"$tree/main.tf"
	in_git -C "$tree" init -q
	publish "$1"
}

# publish NAME: commit what is in its tree, and serve that as v1.
publish() {
	in_git -C "$PLACE/tree-$1" add -A
	in_git -C "$PLACE/tree-$1" commit -qm x
	in_git -C "$PLACE/tree-$1" tag -f v1 >/dev/null
	rm -rf "$PLACE/www/$1.git"
	in_git clone -q --bare "$PLACE/tree-$1" "$PLACE/www/$1.git"
	in_git -C "$PLACE/www/$1.git" update-server-info
}

# serve_module NAME CONFIGURATION: registry.test/acme/NAME/test 1.0.0.
serve_module() {
	local at=$PLACE/www/v1/modules/acme/$1/test tree
	tree=$(mktemp -d)
	mkdir -p "$at/1.0.0"
	echo "$2" >"$tree/main.tf"
	tar -C "$tree" -czf "$PLACE/www/files/$1.tar.gz" .
	rm -r "$tree"
	echo '{"modules":[{"versions":[{"version":"1.0.0"}]}]}' >"$at/versions"
	echo "https://registry.test/files/$1.tar.gz" >"$at/1.0.0/download.get"
}

fetch_setup() {
	fresh_state
	TREE=$T/work/envs/staging
	cp "$ROOT"/policy/tools/terraform_*.yaml "$T/policy/tools/"
	no_policy_tests
	sed -i 's/^egress:.*/egress: [registry, git-host]/' "$T/policy/tools/terraform_fetch.yaml"
	sed -i "s/^tier: .*/tier: high/" "$T/policy/tools/terraform_apply.yaml"
	sed -i "s|CHECKPOINT_DISABLE: \"1\"|&, SSL_CERT_FILE: $T/ca.pem|; s|^programs:|&\n  git: {path: $(command -v git), mounts: [$(git_mounts)]}|" "$T/policy/policy.yaml"
	sed -i "s|^    path: \"$(command -v terraform)\"|&\n    mounts: [$T/ca.pem]|" "$T/policy/policy.yaml"
	cat >>"$T/policy/policy.yaml" <<-'EOF'
		egress:
		  registry: {to: "registry.test:443", private: true}
		  git-host: {to: "git.test:443", private: true}
		providers: [registry.test/acme/*]
		modules: ["git::https://git.test/*", registry.test/acme/*/test]
	EOF
	cp "$PLACE/ca.pem" "$T"
	chmod -R go-w "$T/policy"
	printf '#!/bin/bash\nsbx-policy "$@" | sbx-approve | sbx-cred sbx-run\n' >"$T/chain"
	chmod 755 "$T/chain"
	PATH=$T:$PATH
	new_signer alice
	start_registry
}

# The directories that this machine's git is linked with, and its helpers.
git_mounts() {
	local exec_path
	exec_path=$(git --exec-path)
	{
		echo "$exec_path"
		ldd "$(command -v git)" "$exec_path/git-remote-https" | sed -nE 's|.*[ \t](/[^ ]*) \(0x.*|\1|p'
	} | sort -u | paste -sd, | sed 's/,/, /g'
}

start_registry() {
	mkfifo "$T/life"
	unshare -nm bash -c 'mount --bind "$1/hosts" /etc/hosts && exec "$2/test/fakes/registry" "$1/www" "$1/tls.crt" "$1/tls.key" 443 "$3/seen"' - \
		"$PLACE" "$ROOT" "$T" <"$T/life" >"$T/ready" 3>&- &
	REGISTRY=$!
	exec {LIFE}>"$T/life"
	wait_until 10 grep -q ready "$T/ready"
	: >"$T/seen"
}

fetch_teardown() {
	[ -z "${LIFE-}" ] || exec {LIFE}>&-
	[ -z "${REGISTRY-}" ] || wait "$REGISTRY"
}

# inside RC COMMAND...: run_sbx where the registry is.
inside() {
	local want=$1
	shift
	run_sbx "$want" nsenter -t "$REGISTRY" -n -m "$@"
}

# What was asked of registry and git host since the last look.
asked_for() {
	cat "$T/seen"
	: >"$T/seen"
}

# calls_module NAME SOURCE: the directory calls it.
calls_module() {
	printf 'module "%s" {\n  source = "%s"\n}\noutput "%s" {\n  value = module.%s.said\n}\n' "$1" "$2" "$1" "$1" >>"$TREE/main.tf"
}

# The one product that there is.
product() {
	local found=("$T"/var/fetched/[0-9a-f]*)
	[ ${#found[@]} -eq 1 ] && printf '%s' "${found[0]}"
}

# applied RC: plan the directory, and apply that when a person has signed it.
applied() {
	local plan approval
	inside 0 chain terraform_plan dir=envs/staging
	plan=$(member .result.plan.id <<<"$output")
	inside 75 chain terraform_apply "plan=$plan"
	approval=$(member .approval.id <<<"$output")
	text=$(sbx-approve sign "$approval" --key "$T/alice" </dev/null 2>"$T/sign.err") || {
		cat "$T/sign.err"
		return 1
	}
	inside "$1" chain terraform_apply "plan=$plan"
}

# serve_provider NAME VERSION FILE...: registry.test/acme/NAME, packed, with a signed list of digests, as a registry has it.
serve_provider() {
	local at=$PLACE/www/v1/providers/acme/$1 files=$PLACE/www/files arch=amd64 package
	[ "$(uname -m)" != aarch64 ] || arch=arm64
	package=terraform-provider-$1_$2_linux_$arch.zip
	export GNUPGHOME=$PLACE/gpg
	[ -d "$GNUPGHOME" ] || {
		mkdir -m 700 "$GNUPGHOME"
		gpg --batch --quiet --passphrase '' --quick-gen-key 'a test <t@e.st>' rsa2048 sign never 2>/dev/null
	}
	mkdir -p "$at/$2/download/linux"
	rm -f "$files/$package" "$files/$1_SUMS"*
	python3 -c 'import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
    for path in sys.argv[2:]:
        entry = zipfile.ZipInfo(os.path.basename(path))
        entry.external_attr, entry.compress_type = 0o755 << 16, zipfile.ZIP_DEFLATED
        out.writestr(entry, open(path, "rb").read())' "$files/$package" "${@:3}"
	(cd "$files" && sha256sum "$package" >"$1_SUMS" && gpg --batch --quiet --detach-sign "$1_SUMS")
	printf '{"versions":[{"version":"%s","protocols":["5.0"],"platforms":[{"os":"linux","arch":"%s"}]}]}\n' "$2" "$arch" >"$at/versions"
	command jq -n --arg file "$package" --arg arch "$arch" --arg name "$1" --arg sum "$(sha256sum <"$files/$package" | cut -d' ' -f1)" \
		--arg key "$(gpg --armor --export)" --arg id "$(gpg --list-keys --with-colons | awk -F: '/^pub/ {print $5}')" \
		'{protocols: ["5.0"], os: "linux", arch: $arch, filename: $file, download_url: ("https://registry.test/files/" + $file), shasum: $sum,
		  shasums_url: ("https://registry.test/files/" + $name + "_SUMS"), shasums_signature_url: ("https://registry.test/files/" + $name + "_SUMS.sig"),
		  signing_keys: {gpg_public_keys: [{key_id: $id, ascii_armor: $key}]}}' >"$at/$2/download/linux/$arch"
}

# gpg starts an agent of its own.
fetch_teardown_file() {
	[ ! -d "$BATS_FILE_TMPDIR/gpg" ] || gpgconf --homedir "$BATS_FILE_TMPDIR/gpg" --kill gpg-agent
}

# locked: the lock file of the directory, as a person makes it who has the network; nothing else is left there.
locked() {
	for words in get 'providers lock'; do
		# shellcheck disable=SC2086 # two words
		inside 0 env "SSL_CERT_FILE=$T/ca.pem" "GIT_SSL_CAINFO=$T/ca.pem" CHECKPOINT_DISABLE=1 TF_CLI_CONFIG_FILE=/dev/null terraform -chdir="$TREE" $words
	done
	rm -rf "$TREE/.terraform"
	: >"$T/seen"
}
