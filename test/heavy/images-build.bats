# images/build and images/Dockerfile: the same files by two ways.

load ../helpers

setup() {
	D=$BATS_TEST_TMPDIR
	mkdir -p "$D/mirror/registry.test/acme/thing/1.0.0/linux_amd64"
	cp "$SBX_BUILD/test/true" "$D/terraform"
	cp "$SBX_BUILD/test/true" "$D/kubectl"
	echo provider >"$D/mirror/registry.test/acme/thing/1.0.0/linux_amd64/terraform-provider-thing_v1.0.0"
}

# built OUT: the reference that it prints.
built() {
	"$ROOT/images/build" -o "$D/$1" -t registry.test/runner:1 --entry "$SBX_LIBEXEC/sbx-entry" --mirror "$D/mirror" "terraform=$D/terraform" "kubectl=$D/kubectl"
}

# unpack TAR: its one layer in $D/root.
unpack() {
	mkdir "$D/layout" "$D/root"
	tar -xf "$D/$1" -C "$D/layout"
	manifest=$(jq -r '.manifests[0].digest' "$D/layout/index.json")
	layer=$(jq -r '.layers[0].digest' "$D/layout/blobs/sha256/${manifest#sha256:}")
	tar -xf "$D/layout/blobs/sha256/${layer#sha256:}" -C "$D/root"
}

@test "the same files give the same bytes, and the digest that is printed" {
	local first
	first=$(built one.tar)
	touch -d '2001-01-01' "$D/terraform" "$D/mirror"
	assert_equal "$(built two.tar)" "$first"
	cmp "$D/one.tar" "$D/two.tar"
	unpack one.tar
	assert_equal "$first" "registry.test/runner@$manifest"
	assert_equal "sha256:$(sha256sum <"$D/layout/blobs/sha256/${manifest#sha256:}" | cut -d' ' -f1)" "$manifest"
}

@test "the Dockerfile copies what images/build places" {
	built one.tar >/dev/null
	unpack one.tar
	local to file
	for to in $(sed -n 's/^COPY .* \(\/[^ ]*\)$/\1/p; s/^WORKDIR //p' "$ROOT/images/Dockerfile"); do
		[ -e "$D/root$to" ] || [ "$to" = /etc/ ] || {
			echo "$to is in the Dockerfile alone"
			return 1
		}
	done
	for file in etc/passwd etc/group opt/sbx/.terraformrc; do
		diff "$D/root/$file" <(sed -n "/ \/${file//\//\\/}\$/,/^[A-Z]*\$/p" "$ROOT/images/Dockerfile" | sed '1d;$d')
	done
	assert_equal "$(cd "$D/root" && find . -type f ! -path './opt/sbx/.mirror/*' | sort)" \
		"$(sed -n 's/^COPY .* \(\/[^ ]*[^\/]\)$/.\1/p' "$ROOT/images/Dockerfile" | sort)"
	assert_equal "$(cd "$D/root" && find opt/sbx/.mirror -type f)" opt/sbx/.mirror/registry.test/acme/thing/1.0.0/linux_amd64/terraform-provider-thing_v1.0.0
}

@test "a trust file: root's files and the program that reads them; none without --trust" {
	mkdir "$D/trust"
	echo 'people 1' >"$D/trust/terms"
	run_sbx 1 "$ROOT/images/build" -o "$D/x" -t registry.test/runner:1 --trust "$D/trust" "terraform=$D/terraform"
	assert_contains "$stderr" 'allowed_signers is no trust file'
	echo 'alice ssh-ed25519 AAAA' >"$D/trust/allowed_signers"
	"$ROOT/images/build" -o "$D/one.tar" -t registry.test/runner:1 --entry "$SBX_LIBEXEC/sbx-entry" --trust "$D/trust" "terraform=$D/terraform"
	unpack one.tar
	cmp "$D/root/opt/sbx/.signed" "$SBX_LIBEXEC/sbx-signed"
	assert_equal "$(tar -tvf "$D/layout/blobs/sha256/${layer#sha256:}" | awk '/trust/ {print $1, $2, $6}')" 'drwxr-xr-x 0/0 ./etc/sbx/trust/
-rw-r--r-- 0/0 ./etc/sbx/trust/allowed_signers
-rw-r--r-- 0/0 ./etc/sbx/trust/terms'
}

@test "what it does not take" {
	run_sbx 1 "$ROOT/images/build" -o "$D/x" -t runner:1 "terraform=$D/terraform"
	assert_contains "$stderr" 'needs a host part'
	run_sbx 1 "$ROOT/images/build" -o "$D/x" -t registry.test/runner:1 "terraform=$D/none"
	assert_contains "$stderr" 'is no file'
	run_sbx 1 "$ROOT/images/build" -o "$D/x" -t registry.test/runner:1 "../up=$D/terraform"
	assert_contains "$stderr" 'is no name of a program'
	run_sbx 1 "$ROOT/images/build"
	[ ! -e "$D/x" ]
}
