# terraform_fetch against what unpacks to more than it looks, and against a disk that is full.

load ../helpers
load ../fetch

setup_file() { fetch_setup_file; }
setup() {
	fetch_setup
	cp -a "$PLACE/www" "$T/www"
	calls_module app registry.test/acme/app/test
}
teardown() {
	rm -rf "$PLACE/www"
	mv "$T/www" "$PLACE/www"
	fetch_teardown
}

nothing_kept() {
	assert_equal "$(ls -A "$T/var/fetched" 2>/dev/null)" ''
}

# archive PYTHON: the module app is a tar.gz with a configuration, and what PYTHON puts into `tar`.
archive() {
	python3 - "$PLACE/www/files/app.tar.gz" <<-END
		import io, sys, tarfile
		def entry(name, data=b"", **more):
		    info = tarfile.TarInfo(name)
		    info.size, info.mode = len(data), 0o644
		    for key, value in more.items():
		        setattr(info, key, value)
		    tar.addfile(info, io.BytesIO(data))
		class Zeros(io.RawIOBase):
		    def read(self, n=-1):
		        return bytes(n)
		with tarfile.open(sys.argv[1], "w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as tar:
		    entry("main.tf", b'output "said" { value = "by archive" }')
		    $1
	END
}

# refused CODE [TOOL-SECONDS]: a fetch fails with it, in bounded time, and nothing of it is kept or left on the disk.
refused() {
	local begun=$SECONDS before
	before=$(du -sm "$T/var" | cut -f1)
	inside 1 chain terraform_fetch dir=envs/staging
	assert_json .result.state failed
	assert_json .result.code "$1"
	nothing_kept
	[ $((SECONDS - begun)) -lt 50 ]
	[ $(($(du -sm "$T/var" | cut -f1) - before)) -lt 5 ]
}

# allowed [NAME...]: a fetch is kept, with these files beside the configuration of the module app; away with it again.
allowed() {
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json .result.fetched.state kept
	assert_equal "$(find "$(product)/modules/app" -type f ! -name main.tf -printf '%M %P\n' | sort | paste -sd' ')" "$*"
	# Whatever the archive says that they are.
	assert_equal "$(find "$T/var/fetched" ! -type f ! -type d)" ''
	assert_equal "$(find "$T/var/fetched" -type f -links +1)" ''
	rm -rf "$T"/var/fetched/*
}

@test "an archive with too much in it: each limit has its code, takes a bounded time, and leaves nothing" {
	archive pass
	allowed
	archive 'for i in range(30000): entry("f%d" % i)'
	refused tree_too_large
	archive 'for i in range(300000): entry("f%d" % i)'
	refused sandbox_full
	assert_contains "$(member .result.hint <<<"$output")" '2048 MiB'
	archive 'entry("/".join(["d"] * 200) + "/x")'
	refused tree_too_large
	archive 'info = tarfile.TarInfo("big"); info.size = 300 << 20; tar.addfile(info, Zeros())'
	refused tree_too_large
	archive 'info = tarfile.TarInfo("big"); info.size = 3 << 30; tar.addfile(info, Zeros())'
	refused sandbox_full
	archive 'for i in range(1000): entry("f%d" % i)'
	inside 0 chain terraform_fetch dir=envs/staging
}

@test "an archive with odd things in it: they are refused, or files like any other" {
	archive 'entry("../x", b"x")'
	refused null
	archive 'entry("s", type=tarfile.SYMTYPE, linkname=".."); entry("s/x", b"x")'
	refused null
	archive 'entry("none", b"x", mode=0)'
	refused unsafe_tree
	archive 'entry("dev", type=tarfile.CHRTYPE, devmajor=1, devminor=3); entry("fifo", type=tarfile.FIFOTYPE)'
	allowed '-rw-r--r-- dev -rw-r--r-- fifo'
	archive 'entry("hard", type=tarfile.LNKTYPE, linkname="main.tf"); entry("out", type=tarfile.LNKTYPE, linkname="../../../main.tf")'
	allowed '-rw-r--r-- hard -rw-r--r-- out'
	archive 'entry("suid", b"x", mode=0o6755)'
	allowed '-rwxr-xr-x suid'
	archive 'entry("a\nb", b"x")'
	allowed '-rw-r--r-- a' b
}

@test "a repository with too much in it" {
	echo >"$TREE/main.tf"
	calls_module odd 'git::https://git.test/odd.git?ref=v1'
	serve_repository odd 'output "said" { value = "odd" }'
	(cd "$PLACE/tree-odd" && seq 100000 | xargs touch)
	publish odd
	refused sandbox_full
	(cd "$PLACE/tree-odd" && seq 100000 | xargs rm)
	truncate -s 300M "$PLACE/tree-odd/big"
	publish odd
	refused tree_too_large
	rm "$PLACE/tree-odd/big"
	touch "$PLACE/tree-odd/a"$'\n'"b" "$PLACE/tree-odd/-rf"
	publish odd
	inside 0 chain terraform_fetch dir=envs/staging
	[ -e "$(product)/modules/odd/-rf" ]
}

@test "a provider that unpacks to more than it may" {
	printf 'terraform {\n  required_providers {\n    big = { source = "registry.test/acme/big" }\n  }\n}\n' >"$TREE/main.tf"
	truncate -s 1100M "$T/terraform-provider-big_v1.0.0"
	serve_provider big 1.0.0 "$T/terraform-provider-big_v1.0.0"
	locked
	refused tree_too_large
	sed -i 's/workdir: 2Gi/workdir: 512Mi/' "$T/policy/tools/terraform_fetch.yaml"
	refused sandbox_full
	truncate -s 100M "$T/terraform-provider-big_v1.0.0"
	serve_provider big 1.0.0 "$T/terraform-provider-big_v1.0.0"
	rm "$TREE/.terraform.lock.hcl"
	locked
	inside 0 chain terraform_fetch dir=envs/staging
}

@test "a disk that is full while it is fetched, and while it is put in its place: nothing is kept, and said why; with room it works" {
	dd if=/dev/urandom of="$T/noise" bs=1M count=4 status=none
	archive "entry('noise', open('$T/noise', 'rb').read())"
	cp -a "$T/var" "$T/kept"
	nsenter -t "$REGISTRY" -m mount -t tmpfs -o size=64M,mode=700 none "$T/var"
	nsenter -t "$REGISTRY" -m cp -a "$T/kept/." "$T/var/"
	for size in 3M 8M; do
		nsenter -t "$REGISTRY" -m mount -o "remount,size=$size" "$T/var"
		# What was cut off in the middle of a step has no outcome that anybody knows.
		[ "$size" = 3M ] && rc=3 || rc=1
		inside "$rc" chain terraform_fetch dir=envs/staging
		assert_json .result.code io_error
		assert_contains "$(member .result.hint <<<"$output")" 'free space there'
		assert_json .result.fetched null
		assert_equal "$(nsenter -t "$REGISTRY" -m ls -A "$T/var/fetched")" ''
		inside 66 chain terraform_plan dir=envs/staging
		assert_call not_fetched
	done
	nsenter -t "$REGISTRY" -m mount -o remount,size=64M "$T/var"
	inside 0 chain terraform_fetch dir=envs/staging
	assert_json .result.fetched.state kept
	inside 0 chain terraform_plan dir=envs/staging
}

@test "killed before each thing that it does to keep a product: the product is whole or not there, and mending leaves nothing half" {
	installation "$T/own"
	mv "$T/own/bin/sbx-run" "$T/own/bin/sbx-run.true"
	printf '#!/bin/bash\nexec "%s" --log "%s" $(cat "%s") -- "%s" "$@"\n' "$SBX_BUILD/test/fault_at" "$T/own/log" "$T/own/fault" "$T/own/bin/sbx-run.true" >"$T/own/bin/sbx-run"
	chmod 755 "$T/own/bin/sbx-run"
	echo count >"$T/own/fault"
	PATH=$T/own/bin:$PATH inside 0 chain terraform_fetch dir=envs/staging
	key=$(basename "$(product)")
	cp -a "$(product)" "$T/whole"
	first=$(awk '$2 == "mkdirat" && $3 == ".new-#" {print $1}' "$T/own/log")
	last=$(tail -n 1 "$T/own/log" | cut -d' ' -f1)
	[ "$first" -gt 0 ] && [ "$last" -gt "$((first + 20))" ]
	whole=0 absent=0
	for ((at = first; at <= last; at++)); do
		rm -rf "$T"/var/fetched
		echo "before $at" >"$T/own/fault"
		PATH=$T/own/bin:$PATH nsenter -t "$REGISTRY" -n -m chain terraform_fetch dir=envs/staging >/dev/null 2>&1 3>&- || true
		if [ -d "$T/var/fetched/$key" ]; then
			diff -r -x made.json "$T/whole" "$T/var/fetched/$key"
			whole=$((whole + 1))
		else
			absent=$((absent + 1))
		fi
		for half in "$T"/var/fetched/.new-*; do
			[ ! -d "$half" ] || run_sbx 0 sbx-run --mend "${half##*.new-}"
		done
		[ -z "$(find "$T/var/fetched" -mindepth 1 -maxdepth 1 -name '.*')" ]
	done
	[ "$whole" -gt 0 ] && [ "$absent" -gt 0 ]
	inside 0 chain terraform_fetch dir=envs/staging
	inside 0 chain terraform_plan dir=envs/staging
}
