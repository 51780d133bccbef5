# Shared by every bats file. SBX_BUILD names the build under test (default: build).

bats_require_minimum_version 1.5.0

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SBX_BUILD=$(cd "${SBX_BUILD:-$ROOT/build}" && pwd)
SBX_BIN=$SBX_BUILD/bin
SBX_LIBEXEC=$SBX_BUILD/libexec/sbx
PATH=$SBX_BIN:$PATH
export PATH
unset SBX_CONFIG

# run_sbx RC COMMAND...: run it (without the descriptor 3 of bats, for which bats would wait), keep stderr apart, and check the status. A signal is
# never an expected failure.
run_sbx() {
	local want=$1
	shift
	run --separate-stderr bash -c 'exec 3>&-; exec "$@"' run_sbx timeout -k 5 "${SBX_TEST_TIMEOUT:-60}" "$@"
	if [ "$status" -ne "$want" ] || [ "$status" -ge 128 ]; then
		printf 'command: %s\nstatus: %s, expected %s\nstdout: %s\nstderr: %s\n' "$*" "$status" "$want" "$output" "$stderr"
		return 1
	fi
}

# member PATH: the member of the object on stdin, like jq -r and in a twentieth of its time.
member() {
	"$SBX_BUILD/test/member" "$1"
}

# assert_json FILTER EXPECTED: what jq -r says of $output.
assert_json() {
	local got
	if [[ $1 =~ ^(\.[a-z_]+)+$ ]]; then
		got=$(printf '%s' "$output" | member "$1")
	else
		got=$(printf '%s' "$output" | jq -r "$1")
	fi || {
		printf 'not JSON: %s\n' "$output"
		return 1
	}
	assert_equal "$got" "$2"
}

# assert_call [CODE]: $output is exactly one JSON object on one line; with CODE, its error.code.
assert_call() {
	[ "$(printf '%s\n' "$output" | wc -l)" -eq 1 ] || {
		printf 'more than one line: %s\n' "$output"
		return 1
	}
	# A path into what is no object fails, so this says that it is one.
	member .error >/dev/null <<<"$output" || {
		printf 'no object: %s\n' "$output"
		return 1
	}
	if [ $# -gt 0 ]; then
		assert_json .error.code "$1"
	fi
}

assert_equal() {
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

# fresh_state [FIXTURE]: $T is a directory of its own with sbx.yaml, a copy of the policy test/fixtures/FIXTURE (default: basic), a workspace and an
# empty state directory; SBX_CONFIG points at it.
fresh_state() {
	T=$BATS_TEST_TMPDIR/t
	mkdir -p "$T/work/envs/staging" "$T/work/envs/prod" "$T/work/modules/net"
	cp -r "$ROOT/test/fixtures/${1:-basic}" "$T/policy"
	find "$T/policy" -name '*.yaml' -exec sed -i \
		-e "s|@TERRAFORM@|$(command -v terraform || command -v tofu || echo /nonexistent/terraform)|g" \
		-e "s|@TEST@|$SBX_BUILD/test|g" {} +
	cat >"$T/sbx.yaml" <<-EOF
		policy: policy
		state: var
		allowed_signers: allowed_signers
		same_account: file
		workspaces: work
	EOF
	: >"$T/allowed_signers"
	chmod -R go-w "$T"
	export SBX_CONFIG=$T/sbx.yaml T
	reuse_policy_tests "${1:-basic}"
}

# The tests inside the policy run once for each digest of it; every test file runs them once and not once more for each of its tests.
reuse_policy_tests() {
	local kept=$BATS_FILE_TMPDIR/policy-tests-$1
	if [ ! -d "$kept" ]; then
		sbx-policy list >/dev/null 2>&1 || true
		mkdir -p "$kept"
		[ ! -d "$T/var/cache" ] || cp -r "$T/var/cache" "$kept/"
		rm -rf "$T/var"
	fi
	[ ! -d "$kept/cache" ] || {
		mkdir -m 700 "$T/var"
		cp -r "$kept/cache" "$T/var/"
	}
}

# new_signer NAME: a key file pair $T/NAME and a line in the trust file.
new_signer() {
	ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$T/$1" </dev/null
	printf '%s namespaces="sbx-approve@v1" %s\n' "$1" "$(cut -d' ' -f1,2 "$T/$1.pub")" >>"$T/allowed_signers"
}
