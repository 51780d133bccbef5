# Shared by the bats files of the sandbox: a step table, and sbx-run-local with its descriptors.

. "$ROOT/test/driver.bash"

# A place that other users can reach, for the runs without privileges.
sandbox_setup_file() {
	PLACE=$(mktemp -d "${TMPDIR:-/tmp}/sbx-sandbox.XXXXXX")
	cp "$SBX_LIBEXEC/sbx-run-local" "$SBX_LIBEXEC/sbx-entry" "$SBX_BUILD/test/probe" "$PLACE"
	chmod 755 "$PLACE" "$PLACE"/*
	export PLACE
}

sandbox_teardown_file() {
	rm -rf "$PLACE"
}

sandbox_setup() {
	trace_test_alone
	driver_setup
	DRIVER=$PLACE/sbx-run-local
	AS=()
	WORK=67108864 MEMORY=1073741824 PIDS=64 FILES=256 DEADLINE=20000 GRACE=500
	OPTIONS=(--bind "$PLACE/probe:/app/probe")
	export D
}

sandbox_teardown() {
	driver_teardown
	[ -z "${BACKGROUND-}" ] || {
		kill -KILL "$BACKGROUND"
		wait "$BACKGROUND"
	} 2>/dev/null || true
}

# The rest of the test as a user without any right.
unprivileged() {
	[ "$(id -u)" -eq 0 ] || return 0
	AS=(setpriv --reuid=65533 --regid=65533 --clear-groups)
}

# table WORD...: the words of test/helpers/mksteps.c.
table() {
	"$SBX_BUILD/test/mksteps" "$D/table" "$D/inputs" "$@"
}

# The command line of the driver in ARGV, and a script that gives it its descriptors (run_sbx closes 3).
driver_script() {
	write_file "$D/drive" <<-EOF
		#!/bin/bash
		exec "\$@" 3<"$D/table" 4<"$D/inputs" 5<"$D/control" 6<"$D/credentials" >"\${FRAMES:-$D/frames}"
	EOF
	[ -x "$D/drive" ] || chmod +x "$D/drive"
	ARGV=("$D/drive" "${AS[@]}" "$DRIVER" --entry-fd 3 --inputs-fd 4 --control-fd 5 --work "$WORK" --memory "$MEMORY" --pids "$PIDS"
		--files "$FILES" --cpu 1 --deadline-ms "$DEADLINE" --grace-ms "$GRACE" "${OPTIONS[@]}")
}

# sandbox RC WORD...: make the table, run the driver, expect status RC, and leave the frames as $D/lines and the artefacts in $D.
sandbox() {
	local want=$1
	shift
	table "$@"
	driver_script
	run_sbx "$want" "${ARGV[@]}"
	frames
}

# sandbox_in_background WORD...: the same, left running as $BACKGROUND.
sandbox_in_background() {
	table "$@"
	driver_script
	"${ARGV[@]}" 3>&- {HOLD}<&- 2>"$D/stderr" &
	BACKGROUND=$!
}

# check_attempts EXPECTED [OTHERS]: the first step tried what the function EXPECTED prints as "NAME RESULT|RESULT…", and each came to one of those; none was left
# out or added, but for names that match OTHERS.
check_attempts() {
	said out 1 >"$D/attempts"
	attempts_came_to "$D/attempts" "$@"
}

# attempts_came_to FILE EXPECTED [OTHERS]: the same of what stands in FILE.
attempts_came_to() {
	local name want got
	while read -r name want; do
		got=$(sed -n "s/^$name //p" "$1")
		[[ "|$want|" == *"|$got|"* ]] || {
			printf '%s: expected %s, got "%s"\n' "$name" "$want" "$got"
			return 1
		}
	done < <("$2")
	assert_equal "$(grep -vcE "^${3:-$} " "$1")" "$("$2" | wc -l)"
}

# Nothing that runs NAME (at most 15 characters) is left.
nobody_runs() {
	! grep -qsx "$1" /proc/[0-9]*/comm
}
