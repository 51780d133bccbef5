# A system call of a stage that fails, each one in turn, as on a full or broken disk: nothing runs twice or without an approval, the record stays whole,
# and what was not used can be used.

load ../helpers
load ../kill

setup() {
	kill_setup
}

teardown() {
	kill_teardown
}

# fail_each STAGE ERRNO NAMES: every point of the stage whose call is one of NAMES.
fail_each() {
	local line tried=0
	points "$1" >"$T/all"
	while read -r -a line; do
		case " $3 " in
		*" ${line[1]} "*) ;;
		*) continue ;;
		esac
		point "$1" fail "${line[0]}" "$2" || {
			echo "at ${line[*]}"
			return 1
		}
		tried=$((tried + 1))
	done <"$T/all"
	[ "$tried" -gt 0 ]
	show_seen "$1, errno $2"
}

WRITES='openat write pwrite fsync fdatasync ftruncate fchmod mkdirat renameat renameat2 linkat sendmsg'

@test "a full disk at each step of sbx-approve" {
	fail_each approve 28 "$WRITES"
	record_is_whole
}

@test "a disk that cannot write any more at each step of sbx-approve" {
	fail_each approve 5 "$WRITES unlink"
	record_is_whole
}

@test "a full disk at each step of sbx-cred" {
	fail_each cred 28 "$WRITES"
	record_is_whole
}

@test "a full disk at each step of sbx-run" {
	fail_each run 28 "$WRITES"
	record_is_whole
}

@test "a full disk at each step of sbx-audit" {
	fail_each audit 28 "$WRITES"
	record_is_whole
}
