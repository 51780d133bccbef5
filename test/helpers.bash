# Shared by every bats file. SBX_BUILD names the build under test (default: build).

bats_require_minimum_version 1.5.0

# Every test reads this file anew, and a process costs some milliseconds: no $(...) here, and none below where the shell can do it.
here() {
	cd "$1" && printf -v "$2" '%s' "$PWD" && cd "$OLDPWD" || exit 1
}
here "${BASH_SOURCE[0]%/*}/.." ROOT
here "${SBX_BUILD:-$ROOT/build}" SBX_BUILD
SBX_BIN=$SBX_BUILD/bin
SBX_LIBEXEC=$SBX_BUILD/libexec/sbx
PATH=$SBX_BIN:$PATH
export PATH
unset SBX_CONFIG
# What others may write is no policy.
umask 022
# A service that runs the suite may have neither.
export LC_ALL=C.UTF-8 TERM=xterm

# trace_test_alone: bats takes down the stack before every command of every function, which would be half the time of many a test. From here on it does so
# for the lines of the test itself: a failure in a helper names the line that called it.
trace_test_alone() {
	set +T
}

# run_sbx RC COMMAND...: run it (without the descriptor 3 of bats, for which bats would wait), keep stderr apart, and check the status. A signal is
# never an expected failure. Leaves $status, $output, $lines and $stderr as "run --separate-stderr" does, for fewer processes.
run_sbx() {
	local want=$1 errors=$BATS_TEST_TMPDIR/stderr-of-run
	shift
	trace_test_alone
	status=0
	output=$(exec 3>&- timeout -k 5 "${SBX_TEST_TIMEOUT:-60}" "$@" 2>"$errors") || status=$?
	IFS=$'\n' read -d '' -r -a lines <<<"$output" || true
	read -d '' -r stderr <"$errors" || true
	if [ "$status" -ne "$want" ] || [ "$status" -ge 128 ]; then
		printf 'command: %s\nstatus: %s, expected %s\nstdout: %s\nstderr: %s\n' "$*" "$status" "$want" "$output" "$stderr"
		return 1
	fi
}

# jq as it is, and in a twentieth of its time where its filter is a simple one (test/helpers/jq.c).
jq() {
	"$SBX_BUILD/test/jq" "$@"
}

# each_changed FILTER... <JSON: the object once for each filter, changed by it, one a line. One jq: its start costs 40 ms.
each_changed() {
	local all
	printf -v all ', (%s)' "$@"
	"$SBX_BUILD/test/jq" -c "${all:2}"
}

# member PATH: the member of the object on stdin.
member() {
	"$SBX_BUILD/test/jq" -r "$1"
}

# assert_json FILTER EXPECTED: what jq -r says of $output.
assert_json() {
	local got
	trace_test_alone
	got=$("$SBX_BUILD/test/jq" -r "$1" <<<"$output") || {
		printf 'not JSON: %s\n' "$output"
		return 1
	}
	assert_equal "$got" "$2"
}

# assert_call [CODE]: $output is exactly one JSON object on one line; with CODE, its error.code.
assert_call() {
	trace_test_alone
	[[ $output != *$'\n'* ]] || {
		printf 'more than one line: %s\n' "$output"
		return 1
	}
	assert_json type object
	if [ $# -gt 0 ]; then
		assert_json .error.code "$1"
	fi
}

assert_equal() {
	trace_test_alone
	[ "$1" = "$2" ] || {
		printf 'expected: %s\nactual:   %s\n' "$2" "$1"
		return 1
	}
}

assert_contains() {
	case $1 in
	*"$2"*) ;;
	*)
		printf 'expected to contain: %s\nactual: %s\n' "$2" "$1"
		return 1
		;;
	esac
}

refute_contains() {
	case $1 in
	*"$2"*)
		printf 'expected not to contain: %s\nactual: %s\n' "$2" "$1"
		return 1
		;;
	esac
}

# detached COMMAND...: without any descriptor of ours. For what starts something that outlives the test: bats waits until each of its own is closed.
detached() {
	# shellcheck disable=SC2016 # another shell's
	bash -c 'for fd in /proc/self/fd/*; do
			[ "${fd##*/}" -le 2 ] || eval "exec ${fd##*/}>&-"
		done
		exec "$@"' detached "$@" >/dev/null 2>&1 </dev/null
}

# wait_until SECONDS COMMAND...: poll until it succeeds. On a busy machine, or with sanitizers, everything takes a few times longer; only a failure waits
# that long.
wait_until() {
	local end=$((SECONDS + $1 * 4))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || {
			printf 'still not: %s\n' "$*"
			return 1
		}
		sleep 0.05
	done
}

# fresh_state [FIXTURE [FUNCTION]]: $T is a directory of its own with sbx.yaml, a copy of the policy test/fixtures/FIXTURE (default: basic), a workspace and an
# empty state directory, and with what FUNCTION adds to it, which runs once for each test file, in another $T. SBX_CONFIG points at it.
fresh_state() {
	local first=$BATS_FILE_TMPDIR/state-${1:-basic}-${2:-bare}
	trace_test_alone
	[ -d "$first" ] || make_state "${1:-basic}" "$first" "${2:-:}"
	T=$BATS_TEST_TMPDIR/t
	cp -r "$first" "$T"
	export SBX_CONFIG=$T/sbx.yaml T
}

# make_state FIXTURE DIRECTORY FUNCTION: what fresh_state copies. The tests inside the policy run once for each digest of it, so what is kept of them is there
# already.
make_state() {
	local T
	mkdir -p "$2.new/work/envs/staging" "$2.new/work/envs/prod" "$2.new/work/modules/net"
	cp -r "$ROOT/test/fixtures/$1" "$2.new/policy"
	mkdir -p "$2.new/policy/signals"
	find "$2.new/policy" -name '*.yaml' -exec sed -i \
		-e "s|@TERRAFORM@|$(command -v terraform || command -v tofu || echo /nonexistent/terraform)|g" \
		-e "s|@TEST@|$SBX_BUILD/test|g" {} +
	cat >"$2.new/sbx.yaml" <<-EOF
		policy: policy
		state: var
		allowed_signers: allowed_signers
		same_account: file
		workspaces: work
	EOF
	: >"$2.new/allowed_signers"
	T=$2.new
	"$3"
	sbx-policy --config "$2.new/sbx.yaml" list >/dev/null 2>&1 || true
	[ ! -d "$2.new/var" ] || find "$2.new/var" -mindepth 1 -maxdepth 1 ! -name cache -exec rm -r {} +
	mv "$2.new" "$2"
}

# Directories of `sbx-approve sign` that are there now go away; those of tests beside this one do so by themselves.
nothing_of_signing_is_left() {
	local left
	mapfile -t left < <(compgen -G '/tmp/sbx-sign-*')
	wait_until 10 all_gone "${left[@]}"
}
all_gone() {
	local path
	for path; do
		[ ! -e "$path" ] || return 1
	done
}

# write_file PATH <TEXT: what cat >PATH does, without a process.
write_file() {
	local text
	IFS= read -r -d '' text || true
	printf '%s' "$text" >"$1"
}

# tool NAME <YAML: a tool of the test's own.
tool() {
	write_file "$T/policy/tools/$1.yaml"
}

# no_policy_tests: the tools' own tests are sbx-policy's affair, and cost half a second each time that the policy changes.
no_policy_tests() {
	sed -i '/^tests:/,$d' "$T"/policy/tools/*.yaml
}

# installation DIR: a copy of all that was built, for a test that has a program of its own beside ours, or in the place of one.
installation() {
	mkdir -p "$1/libexec"
	cp -r "$SBX_BIN" "$1/bin"
	cp -r "$SBX_LIBEXEC" "$1/libexec/sbx"
	cp -r "$SBX_BUILD/share" "$1/share"
}

# add_tool NAME: test/fixtures/more/NAME.yaml, a tool that few tests want in their policy, because its own tests take long.
add_tool() {
	cp "$ROOT/test/fixtures/more/$1.yaml" "$T/policy/tools/"
}

# new_signer NAME: a key file pair $T/NAME and a line in the trust file. One key a name and test file.
new_signer() {
	local type key kept=$BATS_FILE_TMPDIR/signer-$1
	[ -f "$kept/$1" ] || {
		mkdir "$kept"
		ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$kept/$1" </dev/null
	}
	cp -p "$kept"/* "$T/"
	read -r type key _ <"$T/$1.pub"
	printf '%s namespaces="sbx-approve@v1" %s %s\n' "$1" "$type" "$key" >>"$T/allowed_signers"
}

# The token in $T/canary is in no file of the state directory and in no argument or environment of any process.
refute_canary() {
	if grep -rlFf "$T/canary" "$T/var"; then
		return 1
	fi
	# Processes come and go, so it is the output that counts.
	assert_equal "$(grep -lsaFf "$T/canary" /proc/[0-9]*/cmdline /proc/[0-9]*/environ)" ""
}
