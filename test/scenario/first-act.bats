# Nothing of the caller reaches a stage: environment, descriptors, signals, modes, loader variables.

load ../helpers

setup() {
	fresh_state
}

@test "a preloaded library is shed before settings and keys are read" {
	cat >"$T/mark.c" <<-'EOF'
		#include <stdlib.h>
		#include <stdio.h>
		#include <fcntl.h>
		#include <unistd.h>
		/* Says in which programs it is when they end. */
		__attribute__((destructor)) static void mark(void)
		{
			const char *file = MARK;
			int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
			char name[256];
			ssize_t n = readlink("/proc/self/exe", name, sizeof name - 1);
			if (fd >= 0 && n > 0) {
				name[n] = '\n';
				if (write(fd, name, (size_t)n + 1) < 0)
					_exit(9);
			}
		}
	EOF
	cc -shared -fPIC -DMARK="\"$T/marked\"" -o "$T/mark.so" "$T/mark.c"
	run_sbx 0 env LD_PRELOAD="$T/mark.so" /bin/true
	assert_contains "$(cat "$T/marked")" true
	rm "$T/marked"
	run_sbx 0 env LD_PRELOAD="$T/mark.so" LD_LIBRARY_PATH=/nonexistent GLIBC_TUNABLES=glibc.malloc.check=1 "$SBX_BIN/sbx-call" true
	assert_json .result.state completed
	refute_contains "$(cat "$T/marked" 2>/dev/null)" sbx
}

@test "a .jq file in HOME flips no decision" {
	mkdir "$T/home"
	echo 'def type: "owned"; def length: 0; def not: true;' >"$T/home/.jq"
	run_sbx 77 env HOME="$T/home" "$SBX_BIN/sbx-policy" rm_everything
	run_sbx 0 env HOME="$T/home" "$SBX_BIN/sbx-policy" true
	run_sbx 0 env -u HOME "$SBX_BIN/sbx-policy" true
}

@test "blocked and ignored signals of the caller are undone" {
	run_sbx 0 bash -c 'trap "" TERM INT HUP CHLD; sbx-call true'
	assert_json .result.state completed
	coproc DOOR { trap '' TERM; exec sbx-call sleep 2>/dev/null; }
	local door=$DOOR_PID out=${DOOR[0]}
	wait_until 20 bash -c "[ \$(grep -c sandbox.started '$T/var/audit.jsonl') -eq 2 ]"
	kill -TERM "$door"
	IFS= read -r -t 20 output <&"$out"
	assert_json .result.state cancelled
}

@test "descriptors of the caller reach no step" {
	exec 9</etc/passwd 7>"$T/stray"
	run_sbx 0 sbx-call fds
	exec 9<&- 7>&-
	assert_json '.result.stdout | split("\n") | map(select(. != "")) | sort | join(" ")' '0 1 2'
}

@test "files are made for the account alone, whatever the caller's umask" {
	(umask 000 && sbx-call true >/dev/null)
	run find "$T/var" -perm /077
	assert_equal "$output" ''
}

# full: a pipe on descriptor 8 that takes nothing more, and that nobody reads.
full() {
	mkfifo "$T/full"
	exec 8<>"$T/full"
	dd if=/dev/zero of="$T/full" oflag=nonblock bs=4096 2>/dev/null || true
}

@test "a caller that does not read stderr stops no program" {
	full
	run_sbx 0 timeout -s KILL 40 sh -c 'sbx-call true 2>&8 8>&-'
	assert_json .result.state completed
	# The door itself, which is static; and a confined program.
	run_sbx 66 timeout -s KILL 20 sh -c 'sbx-call 2>&8 8>&- </dev/null'
	assert_json .error.code no_input
	run_sbx 65 timeout -s KILL 20 sh -c 'echo x | sbx-plan --no-signals 2>&8 8>&-'
	assert_json .error.code json_syntax
	exec 8>&-
}

@test "a terminal that stops background writers, and its keys, stop no stage" {
	# Stages are in groups of their own: with tostop their first line on the terminal would stop them.
	# shellcheck disable=SC2016
	run_sbx 0 timeout -s KILL 60 "$SBX_BUILD/test/typist" 40 -- sh -c 'stty tostop && sbx-call true >"$1"' - "$T/object"
	assert_equal "$(jq -r .result.state "$T/object")" completed
	# The door is in the foreground, and its keys reach it: two of them do nothing, the third is the cancel.
	# shellcheck disable=SC2016
	run_sbx 1 timeout -s KILL 60 "$SBX_BUILD/test/typist" 40 'step 1 of' $'\032' '^Z' $'\034' '^\' $'\003' -- \
		sh -c 'exec sbx-call sleep >"$1"' - "$T/object"
	assert_equal "$(jq -r .result.state "$T/object")" cancelled
}
