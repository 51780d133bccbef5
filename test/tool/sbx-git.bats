# sbx-git stands where terraform looks for git: what it lets through, and what it does not. The true git is not where it looks for it here, so that what is let
# through ends with that.

load ../helpers

git() {
	local want=$1
	shift
	run_sbx "$want" env -C "$BATS_TEST_TMPDIR" "$SBX_LIBEXEC/sbx-git" "$@"
}

passes() {
	git 78 "$@"
	assert_contains "$stderr" 'cannot start git'
}

refused() {
	git 77 "$@"
	assert_contains "$stderr" 'nothing that a module needs'
	refute_contains "$stderr" 'cannot start git'
}

@test "what terraform needs" {
	passes clone -- https://git.test/net.git .terraform/modules/net
	passes clone --depth 1 --branch v1.2.3 -- https://git.test/net.git .terraform/modules/net
	passes checkout v1
	passes checkout feature/x --
	passes ls-remote --symref -- https://git.test/net.git HEAD
	passes ls-remote --symref https://git.test/net.git HEAD
	passes version
	run_sbx 0 "$SBX_LIBEXEC/sbx-git" --help
	assert_contains "$output" usage:
}

@test "other transports, a name and a password in front" {
	for url in 'ext::sh -c id' 'ext::sh' file:///etc /etc git://git.test/x ssh://git@git.test/x git@git.test:x http://git.test/x https:///etc \
		https://user:word@git.test/x HTTPS://git.test/x ' https://git.test/x' --upload-pack=id ''; do
		refused clone -- "$url" there
		refused ls-remote --symref -- "$url" HEAD
	done
}

@test "options in the place of anything" {
	refused clone -c core.fsmonitor=id -- https://git.test/net.git there
	refused clone --recurse-submodules -- https://git.test/net.git there
	refused clone --depth 1 --upload-pack id -- https://git.test/net.git there
	refused clone --depth -1 -- https://git.test/net.git there
	refused clone --branch --upload-pack=id -- https://git.test/net.git there
	refused clone --branch
	refused clone https://git.test/net.git there
	refused clone -- https://git.test/net.git --template=x
	refused clone -- https://git.test/net.git there and here
	refused checkout -b
	refused checkout --orphan
	refused checkout v1 there
	refused checkout v1 -- file
	refused checkout 'v1;id'
	refused checkout ''
	refused -c alias.x=!id x
	refused --exec-path=/tmp version
	refused config --global core.editor id
	refused fetch --upload-pack=id
	refused submodule foreach id
	refused version --build-options
	refused
}

@test "submodules: there are none, or the module is refused" {
	git 0 submodule update --init --recursive
	ln -s nowhere "$BATS_TEST_TMPDIR/.gitmodules"
	git 77 submodule update --init --recursive
	assert_contains "$stderr" 'the module has submodules'
}
