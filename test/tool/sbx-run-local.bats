# The local driver: what a step can reach, what it is limited to, how it ends.

load ../helpers
load ../sandbox

setup_file() { sandbox_setup_file; }
teardown_file() { sandbox_teardown_file; }
setup() { sandbox_setup; }
teardown() { sandbox_teardown; }

# --- usage ---

@test "usage: missing, unknown and malformed options are 64" {
	table step /app/probe print x end
	run_sbx 64 "$DRIVER"
	assert_contains "$stderr" "usage: sbx-run-local"
	run_sbx 64 "$DRIVER" --check extra
	run_sbx 64 "$DRIVER" --frobnicate
	local D32=0123456789abcdef0123456789abcdef
	driver_script
	for bad in "--bind /x" "--bind x:/y" "--bind /x:y" "--bind /x:/a/../b" "--bind /x:/" "--bind /x:/a//b" "--bind $PLACE:/proc/x" \
		"--bind $PLACE:/dev" "--bind $PLACE:/run/sbx/cred" "--bind $PLACE:/work" "--state /x:/y" "--state /x:/work/../y" "--pids 0" \
		"--pids -1" "--work 1k" "--lock-fd 2" "--lock-fd 99" "--credentials-fd x" "--call x" "--call ${D32%?}" "--call ${D32%?}G"; do
		# shellcheck disable=SC2086
		run_sbx 64 "${ARGV[@]}" $bad
	done
	run_sbx 0 "${ARGV[@]}" --bind "$PLACE:/srv/x" --credentials-fd 6 --lock-fd 6 --call "$D32"
}

@test "--check makes a sandbox and shows the evidence" {
	run_sbx 0 "$DRIVER" --check
	assert_equal "${output%% *}" OK
	output=${output#OK }
	assert_json .isolation local
	assert_json .new_namespaces true
	assert_json .seccomp 2
	assert_json .no_new_privs 1
	assert_json '.cap_eff + .cap_prm + .cap_bnd + .cap_inh + .cap_amb' "$(printf '0%.0s' {1..80})"
	assert_json .root read-only
	assert_json .network none
	assert_json '.writable | sort | join(" ")' "/tmp /work"
	assert_json .limits.total_memory "not enforced"
	for name in user mnt pid net ipc uts cgroup; do
		refute_contains "$(readlink "/proc/self/ns/$name")" "$(printf '%s' "$output" | jq ".namespaces.$name")"
	done
}

@test "--check works without any privilege" {
	unprivileged
	run_sbx 0 "${AS[@]}" "$DRIVER" --check
	assert_equal "${output%% *}" OK
}

@test "--check names the step and the remedy where user namespaces are switched off" {
	unshare -Ur true || skip "no user namespaces here"
	run_sbx 69 unshare -Ur bash -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" --check' "$DRIVER"
	assert_contains "$stderr" "clone3 with new namespaces"
	assert_contains "$stderr" "cannot_isolate"
	assert_contains "$stderr" "sysctl -w user.max_user_namespaces"
	run_sbx 0 unshare -Ur bash -c 'exec "$0" --check' "$DRIVER"
}

@test "where it cannot isolate it runs nothing and says so in a frame" {
	unshare -Ur true || skip "no user namespaces here"
	table step /app/probe print x end
	driver_script
	run_sbx 69 unshare -Ur bash -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' - "${ARGV[@]}"
	frames
	assert_equal "$(jq -r .type "$D/lines")" event
	assert_equal "$(frame event .event)" cannot_isolate
	assert_contains "$(frame event .hint)" user.max_user_namespaces
}

@test "a mount whose source is missing stops it, with its name" {
	OPTIONS+=(--bind /nonexistent/dir:/srv/x)
	sandbox 69 step /app/probe print x end
	assert_contains "$(frame event .message)" /nonexistent/dir
	assert_equal "$(jq -r .type "$D/lines")" event
	OPTIONS=(--bind "$PLACE/probe:/app/probe" --entry /nonexistent/entry)
	sandbox 69 step /app/probe print x end
	assert_contains "$(frame event .message)" /nonexistent/entry
}

# --- getting out ---

# NAME RESULT…: every attempt of `probe escape` and what may come of it.
expected_escapes() {
	cat <<-'EOF'
		fds 0 1 2
		tiocsti EPERM
		tiocsti-high EPERM
		tioclinux EPERM
		tioclinux-high EPERM
		dev-tty ENOENT
		setuid-0 EINVAL
		kill-init ok
		kill-host ESRCH
		NoNewPrivs 1
		Seccomp 2
		CapEff 0000000000000000
		CapPrm 0000000000000000
		CapBnd 0000000000000000
		CapAmb 0000000000000000
		create-root EROFS
		create-program EROFS
		create-dev EROFS
		write-program EROFS|EACCES|ETXTBSY
		write-null ok
		remount EPERM
		umount-proc EPERM
		mount EPERM
		open-tree EPERM
		fsopen EPERM
		chroot EPERM
		pivot-root EPERM
		mknod-block EPERM|EACCES
		handle EPERM
		proc-1-fd ENOENT
		proc-1-mem ENOENT
		proc-1-environ ENOENT
		proc-1-cmdline ENOENT
		proc-1-root ENOENT
		proc-sys ENOENT
		proc-cmdline ENOENT
		proc-keys ENOENT
		host-passwd ENOENT
		dotdot ENOENT
		mount-root ro=1 nosuid=1 nodev=1
		mount-app ro=1 nosuid=1 nodev=1
		mount-work ro=0 nosuid=1 nodev=1
		mount-tmp ro=0 nosuid=1 nodev=1
		mount-proc ro=1 nosuid=1 nodev=1
		unshare-user EPERM
		clone-user EPERM
		clone-net EPERM
		clone3-user ENOSYS
		clone3 ENOSYS
		setns EPERM
		ptrace EPERM
		vm-readv EPERM
		kcmp EPERM
		pidfd-getfd EPERM
		prlimit-init EPERM
		prlimit-self ok
		io-uring ENOSYS
		keyctl EPERM
		add-key EPERM
		request-key EPERM
		bpf EPERM
		perf EPERM
		userfaultfd EPERM
		kexec EPERM
		reboot EPERM
		shmget EPERM
		unknown EPERM
		newer ENOSYS
		memfd ok
		hostname EPERM
		socket-unix ok
		socket-inet ok
		socket-vsock EPERM
		socket-vsock-high EPERM
		socket-packet EPERM
		socket-alg EPERM
		socket-netlink EPERM
		socketpair-inet EPERM
		tcp-loopback EACCES|ENETUNREACH|ECONNREFUSED
		tcp-outside EACCES|ENETUNREACH
	EOF
}

check_escapes() {
	check_attempts expected_escapes '(Groups|Uid|write-random)'
}

@test "nothing gets out: files, kernel interfaces, sockets (as root: the outer user is nobody)" {
	[ "$(id -u)" -eq 0 ] || skip "not root"
	sandbox 0 step /app/probe escape end
	check_escapes
	assert_equal "$(sed -n 's/^Groups //p' "$D/attempts" | tr -d ' ')" ""
}

@test "nothing gets out: the same without any privilege" {
	unprivileged
	sandbox 0 step /app/probe escape end
	check_escapes
}

@test "Landlock stands behind the mounts where the kernel has it" {
	sandbox 0 step /app/probe escape end
	level=$(frame hello .landlock)
	[ "$level" -gt 0 ] || skip "no Landlock in this kernel"
	assert_contains "$(said out 1)" "write-random EACCES"
	[ "$level" -lt 4 ] || assert_contains "$(said out 1)" "tcp-loopback EACCES"
}

@test "system calls of other architectures kill the step" {
	[ "$(uname -m)" = x86_64 ] || skip "x86-64 only"
	run_sbx 0 "$PLACE/probe" print works
	sandbox 0 step /app/probe i386 end
	assert_equal "$(frame exit .signal)" 31
	sandbox 0 step /app/probe x32 end
	assert_equal "$(frame exit .signal)" 31
}

@test "an abstract socket of the host is out of reach" {
	"$PLACE/probe" listen "sbx-$$" >"$D/listening" 3>&- {HOLD}<&- &
	BACKGROUND=$!
	wait_until 5 grep -q listening "$D/listening"
	run_sbx 0 "$PLACE/probe" connect "sbx-$$"
	assert_equal "$output" "connect ok"
	sandbox 0 step /app/probe connect "sbx-$$" end
	refute_contains "$(said out 1)" ok
	assert_contains "$(said out 1)" "connect E"
}

@test "descriptors and environment of the caller do not reach a step" {
	table env=GIVEN=yes step /app/probe fds end step /app/probe environ end
	driver_script
	printf 'secret\n' >"$D/other"
	LD_PRELOAD='' TF_CLI_ARGS=-destroy HOME=/root AWS_SECRET_ACCESS_KEY=hunter2 run_sbx 0 "${ARGV[@]}" 7<"$D/other" 23<"$D/other"
	frames
	assert_equal "$(said out 1)" "fds 0 1 2"
	assert_equal "$(said out 2 | sort | tr '\n' ' ')" "GIVEN=yes HOME=/tmp/home LC_ALL=C PATH=/usr/bin:/bin TMPDIR=/tmp TZ=UTC "
	sandbox 0 env=PATH=/app env=HOME=/work step /app/probe environ end
	assert_equal "$(said out 1 | sort | tr '\n' ' ')" "HOME=/work LC_ALL=C PATH=/app TMPDIR=/tmp TZ=UTC "
}

# --- limits ---

@test "output past the cap is counted and dropped; the deadline ends it" {
	DEADLINE=700 GRACE=100
	sandbox 0 output=100000 grace=100 step /app/probe flood end
	assert_equal "$(jq -s 'map(select(.type == "out").bytes) | add' "$D/lines")" 100000
	[ "$(frame exit .out_dropped)" -gt 0 ]
	assert_equal "$(frame exit .err_dropped)" 0
	assert_equal "$(frame event .event)" deadline
	assert_equal "$(frame exit .stopped)" true
	assert_equal "$(frame end .stopped)" true
}

@test "output up to the cap passes whole" {
	sandbox 0 output=5 step /app/probe print 1234 end step /app/probe print 12345 end
	assert_equal "$(said out 1)" 1234
	assert_equal "$(frame exit .out_dropped 1)" 0
	assert_equal "$(frame exit .out_dropped 2)" 1
}

@test "a step that ignores every signal is killed after the grace" {
	DEADLINE=300 GRACE=200
	began=$(date +%s%3N)
	sandbox 0 grace=200 step /app/probe stubborn end step /app/probe print never end
	took=$(($(date +%s%3N) - began))
	assert_equal "$(frame exit '{signal,stopped}')" '{"signal":9,"stopped":true}'
	assert_equal "$(jq -s 'map(select(.type == "step")) | length' "$D/lines")" 1
	[ "$took" -ge 500 ]
	[ "$took" -lt 30000 ]
}

@test "a step that writes without end and ignores INT is killed after the grace" {
	cp "$SBX_BUILD/test/stepper" "$PLACE/stepper"
	OPTIONS+=(--bind "$PLACE/stepper:/app/stepper")
	DEADLINE=300 GRACE=200
	sandbox 0 output=100000 grace=200 step /app/stepper stubborn then flood 99999999999999 65 end
	assert_equal "$(frame exit '{signal,stopped}')" '{"signal":9,"stopped":true}'
	assert_equal "$(frame event .event)" deadline
}

fork_bomb() {
	PIDS=48
	sandbox 0 step /app/probe bomb end step /app/probe print after end
	read -r _ count why <<<"$(said out 1)"
	assert_equal "$why" EAGAIN
	[ "$count" -lt 48 ]
	[ "$count" -gt 30 ]
	assert_equal "$(said out 2)" after
}

@test "a fork bomb meets the limit of processes, as root too" {
	fork_bomb
}

@test "a fork bomb meets the limit of processes without privileges" {
	unprivileged
	fork_bomb
}

@test "orphans are reaped while the step runs" {
	PIDS=32
	sandbox 0 step /app/probe orphans 400 end
	assert_equal "$(said out 1)" "orphans 400"
}

@test "/work and /tmp are as large as allowed, and no larger" {
	WORK=8388608
	sandbox 0 step /app/probe fill /work end
	assert_equal "$(said out 1)" "fill 8 ENOSPC"
	sandbox 0 step /app/probe fill /tmp end
	assert_equal "$(said out 1)" "fill 8 ENOSPC"
}

@test "memory of one process is limited" {
	MEMORY=268435456
	sandbox 0 step /app/probe grow 100 end step /app/probe grow 400 end
	assert_equal "$(said out 1)" got
	assert_equal "$(said out 2)" refused
}

# --- steps ---

@test "exit statuses and signals are told; a failing step is the last" {
	sandbox 0 step /app/probe exit 0 end step /app/probe exit 3 end step /app/probe print never end
	assert_equal "$(frame exit .exit | tr '\n' ' ')" "0 3 "
	assert_equal "$(frame end .stopped)" false
	sandbox 0 step /app/probe raise 6 end
	assert_equal "$(frame exit .signal)" 6
	sandbox 0 step /app/nothing x end step /app/probe print never end
	assert_equal "$(frame exit '[.exit, .failed] | join(" ")')" "127 cannot_start"
	assert_contains "$(said err 1)" "cannot start /app/nothing"
}

@test "stdout and stderr of each step are kept apart" {
	sandbox 0 step /app/probe print one end step /app/probe complain two end
	assert_equal "$(said out 1)/$(said err 1)" one/
	assert_equal "$(said out 2)/$(said err 2)" /two
}

@test "a process that a step leaves is gone before the product is taken and the next step starts" {
	sandbox 0 step /app/probe daemon file evil produce first file end step /app/probe write file good produce second file end \
		step /app/probe cat file end step /app/probe cat @second end
	assert_contains "$(said out 1)" shout
	assert_equal "$(cat "$D/second")" good
	assert_equal "$(said out 2)" ""
	assert_equal "$(said out 3)" good
	assert_equal "$(said out 4)" good
	nobody_runs probe-orphan
}

@test "a process that holds stdout open does not hold the driver" {
	began=$(date +%s%3N)
	sandbox 0 step /app/probe hold end step /app/probe print after end
	[ $(($(date +%s%3N) - began)) -lt 60000 ]
	assert_equal "$(said out 2)" after
}

@test "a step cannot write a frame" {
	sandbox 0 step /app/probe forge 00000000000000000000000000000000 end
	assert_equal "$(frame exit .exit)" 7
	assert_equal "$(jq -s 'map(select(.type == "exit")) | length' "$D/lines")" 1
	assert_contains "$(said out 1)" "sbx-frame 0000"
}

# --- products ---

@test "a product is what was announced, and later steps read that" {
	sandbox 0 step /app/probe write plan.bin content produce plan plan.bin end step /app/probe write plan.bin other end \
		step /app/probe cat @plan end
	assert_equal "$(frame artifact .sha256)" "$(printf content | sha256sum | cut -d' ' -f1)"
	assert_equal "$(frame artifact .size)" 7
	assert_equal "$(cat "$D/plan")" content
	assert_equal "$(said out 3)" content
}

@test "a step cannot change an artefact that it was given" {
	sandbox 0 step /app/probe write f content produce plan f end step /app/probe write @plan evil end
	assert_equal "$(frame exit .exit 2)" 1
	printf kept >"$D/kept"
	sandbox 0 "artifact=plan:$D/kept" step /app/probe append @plan evil end
	assert_equal "$(frame exit .exit 1)" 1
	sandbox 0 "artifact=plan:$D/kept" step /app/probe cat @plan end step /app/probe fds end
	assert_equal "$(said out 1)" kept
	assert_equal "$(said out 2)" "fds 0 1 2"
}

@test "a product that is missing, a symlink, no regular file or too large fails the step" {
	sandbox 0 step /app/probe print x produce plan plan.bin end step /app/probe print never end
	assert_equal "$(frame exit '[.exit, .failed, .artifact] | join(" ")')" "0 artifact_missing plan"
	sandbox 0 step /app/probe write real x end step /app/probe link real plan.bin produce plan plan.bin end step /app/probe print never end
	assert_equal "$(frame exit .failed 2)" artifact_unsafe
	sandbox 0 step /app/probe mkdir d end step /app/probe link d l end step /app/probe write d/f x produce plan l/f end
	assert_equal "$(frame exit .failed 3)" artifact_unsafe
	sandbox 0 step /app/probe fifo plan.bin produce plan plan.bin end
	assert_equal "$(frame exit .failed)" artifact_unsafe
	sandbox 0 step /app/probe mkdir plan.bin produce plan plan.bin end
	assert_equal "$(frame exit .failed)" artifact_unsafe
	sandbox 0 artifact_max=1000 step /app/probe size plan.bin 1001 produce plan plan.bin end
	assert_equal "$(frame exit .failed)" artifact_too_large
	sandbox 0 artifact_max=1000 step /app/probe size plan.bin 1000 produce plan plan.bin end
	assert_equal "$(frame exit .failed)" null
	assert_equal "$(frame artifact .size)" 1000
}

# --- inputs ---

@test "the workspace is unpacked, and steps run in its directory" {
	mkdir -p "$D/tree/envs/staging"
	printf hello >"$D/tree/envs/staging/file"
	sandbox 0 "tree=$D/tree" cwd=envs/staging step /app/probe cat file end step /app/probe cat /work/envs/staging/file end
	assert_equal "$(said out 1)$(said out 2)" hellohello
	sandbox 0 "tree=$D/tree" cwd=envs/prod step /app/probe print never end
	assert_equal "$(frame refused .code)" bad_directory
}

@test "another digest than the decided one refuses, and nothing was started" {
	mkdir "$D/tree"
	printf hello >"$D/tree/file"
	sandbox 0 "tree=$D/tree" bad-digest step /app/probe print never end
	assert_equal "$(frame refused .code)" input_changed
	assert_equal "$(jq -r .type "$D/lines" | tr '\n' ' ')" "hello refused "
	sandbox 0 "artifact=plan:$D/tree/file" bad-digest step /app/probe print never end
	assert_equal "$(frame refused .code)" input_changed
	sandbox 0 "read=a/s.tfstate:$D/tree/file" bad-digest step /app/probe print never end
	assert_equal "$(frame refused .code)" input_changed
	sandbox 0 "program=/app/probe:$PLACE/probe" bad-digest step /app/probe print never end
	assert_equal "$(frame refused .code)" program_changed
	sandbox 0 "program=/app/probe:$PLACE/probe" step /app/probe print ran end
	assert_equal "$(said out 1)" ran
}

@test "a sealed plan: each part has its own code, its twin runs" {
	mkdir -p "$D/tree/envs" "$PLACE/package.$BATS_TEST_NUMBER"
	printf lock >"$D/tree/envs/.terraform.lock.hcl"
	printf provider >"$PLACE/package.$BATS_TEST_NUMBER/p"
	OPTIONS+=(--bind "$PLACE/package.$BATS_TEST_NUMBER:/app/package")
	local lock=lock=envs/.terraform.lock.hcl:$D/tree/envs/.terraform.lock.hcl
	local package=package=/app/package:$PLACE/package.$BATS_TEST_NUMBER:a.test/b/c
	refuses() { # CODE WORD...
		sandbox 0 sealed "${@:2}" step /app/probe print never end
		assert_equal "$(frame refused .code)" "$1"
		assert_contains "$(frame refused .hint)" 'make a new plan'
		assert_equal "$(jq -r .type "$D/lines" | tr '\n' ' ')" "hello refused "
	}
	refuses plan_tree_changed "$lock" "tree=$D/tree" bad-digest
	refuses plan_file_changed "artifact=plan:$D/tree/envs/.terraform.lock.hcl" bad-digest
	refuses plan_program_changed "program=/app/probe:$PLACE/probe" bad-digest
	refuses plan_provider_changed "$package" bad-digest
	assert_contains "$(frame refused .message)" a.test/b/c
	refuses plan_provider_changed "package=/app/none:$PLACE/package.$BATS_TEST_NUMBER:a.test/b/c"
	refuses plan_lock_changed "tree=$D/tree" "$lock" bad-digest
	refuses plan_lock_changed "tree=$D/tree" no-lock=envs/.terraform.lock.hcl
	refuses plan_lock_changed "$lock"
	sandbox 0 sealed "$lock" "$package" "program=/app/probe:$PLACE/probe" "tree=$D/tree" "artifact=plan:$D/tree/envs/.terraform.lock.hcl" \
		step /app/probe cat @plan end
	assert_equal "$(said out 1)" lock
	sandbox 0 sealed no-lock=envs/.terraform.lock.hcl step /app/probe print ran end
	assert_equal "$(said out 1)" ran
	# A symlink in its place is none: what it leads to is not what the seal means.
	mv "$D/tree/envs/.terraform.lock.hcl" "$D/tree/lock"
	ln -s ../lock "$D/tree/envs/.terraform.lock.hcl"
	refuses plan_lock_changed "tree=$D/tree" "lock=envs/.terraform.lock.hcl:$D/tree/lock"
}

@test "a sealed plan's state: serial, lineage or content" {
	state() {
		printf '{"version":4,"serial":%s,"lineage":"%s","outputs":{%s}}' "$@" >"$file"
	}
	file=$PLACE/state.$BATS_TEST_NUMBER
	OPTIONS+=(--state "$file:/work/s.tfstate")
	refuses() { # CODE STATE...
		state 3 one ''
		table sealed serial=3 lineage=one "write=s.tfstate:$file" step /app/probe print never end
		"${@:2}"
		driver_script
		run_sbx 0 "${ARGV[@]}"
		frames
		assert_equal "$(frame refused .code)" "$1"
		assert_equal "$(jq -r .type "$D/lines" | tr '\n' ' ')" "hello refused "
	}
	refuses plan_serial_changed state 4 one ''
	refuses plan_lineage_changed state 3 two ''
	refuses plan_state_changed state 3 one '"a":{}'
	refuses plan_state_changed truncate -s 9 "$file"
	state 3 one ''
	sandbox 0 sealed serial=3 lineage=one "write=s.tfstate:$file" step /app/probe print ran end
	assert_equal "$(said out 1)" ran
}

@test "more isolation than there is, or namespaces that nobody can compare, refuse" {
	local require
	for require in gvisor cluster-gvisor none unheard-of; do
		sandbox 0 "require=$require" step /app/probe print never end
		assert_equal "$require $(frame refused .code)" "$require isolation_too_weak"
	done
	sandbox 0 require=local step /app/probe print ran end
	assert_equal "$(said out 1)" ran
	sandbox 0 foreign step /app/probe print never end
	assert_equal "$(frame refused .code)" isolation_too_weak
	assert_equal "$(frame hello .isolation)" none
}

@test "credentials are files for the steps that may have them, and for no other" {
	printf '\0\0\0\2\0\0\0\5token' >"$D/credentials"
	OPTIONS+=(--credentials-fd 6)
	sandbox 0 step /app/probe cat /run/sbx/cred/2 end
	refute_contains "$(said out 1)" token
	assert_equal "$(frame exit .exit)" 1
	sandbox 0 step credentials /app/probe cat /run/sbx/cred/2 end step credentials /app/probe write /run/sbx/cred/2 x end
	assert_equal "$(said out 1)" token
	assert_equal "$(frame exit .exit 2)" 1
	sandbox 0 step credentials /app/probe fds end step /app/probe cat /run/sbx/cred/2 end
	assert_equal "$(said out 1)" "fds 0 1 2"
	assert_equal "$(said out 2)" ""
}

@test "state to read: there for the steps, a change is told and thrown away" {
	printf state >"$D/state"
	sandbox 0 "read=envs/s.tfstate:$D/state" step /app/probe cat envs/s.tfstate end
	assert_equal "$(said out 1)" state
	assert_equal "$(frame end .state_changed)" false
	sandbox 0 "read=envs/s.tfstate:$D/state" step /app/probe append envs/s.tfstate more end
	assert_equal "$(frame end .state_changed)" true
	assert_equal "$(cat "$D/state")" state
}

state_to_write() {
	mkdir "$PLACE/state.$BATS_TEST_NUMBER"
	file=$PLACE/state.$BATS_TEST_NUMBER/file
	printf state >"$file"
	chmod 600 "$file"
	[ ${#AS[@]} -eq 0 ] || chown -R 65533:65533 "$PLACE/state.$BATS_TEST_NUMBER"
	mkdir -p "$D/tree/envs"
	printf hello >"$D/tree/envs/file"
	OPTIONS+=(--state "$file:/work/envs/s.tfstate")
	sandbox 0 "tree=$D/tree" "write=envs/s.tfstate:$file" step /app/probe cat envs/file end step /app/probe append envs/s.tfstate " and more" end
	assert_equal "$(said out 1)" hello
	assert_equal "$(cat "$file")" "state and more"
	assert_equal "$(frame end .state_changed)" true
	sandbox 0 "write=envs/s.tfstate:$file" step /app/probe cat envs/s.tfstate end
	assert_equal "$(frame end .state_changed)" false
	sandbox 0 "write=envs/s.tfstate:$file" bad-digest step /app/probe append envs/s.tfstate evil end
	assert_equal "$(frame refused .code)" input_changed
	assert_equal "$(cat "$file")" "state and more"
}

@test "state to write is on the host's disk" {
	state_to_write
}

@test "state to write without privileges" {
	unprivileged
	state_to_write
}

@test "a state file that is a symlink or has a second link is refused" {
	printf state >"$PLACE/target.$BATS_TEST_NUMBER"
	ln -s "$PLACE/target.$BATS_TEST_NUMBER" "$PLACE/link.$BATS_TEST_NUMBER"
	OPTIONS+=(--state "$PLACE/link.$BATS_TEST_NUMBER:/work/s")
	sandbox 69 step /app/probe write s evil end
	assert_equal "$(frame event .event)" cannot_isolate
	assert_equal "$(cat "$PLACE/target.$BATS_TEST_NUMBER")" state
}

# --- the end ---

@test "a closed control pipe stops it politely" {
	sandbox_in_background grace=5000 step /app/probe polite /work/tidy produce tidy tidy end step /app/probe print never end
	wait_until 10 grep -q waiting "$D/frames"
	exec {HOLD}<&-
	HOLD=
	wait "$BACKGROUND"
	frames
	assert_equal "$(cat "$D/tidy")" tidy
	assert_equal "$(frame event .event)" stopped
	assert_equal "$(frame exit '{exit,stopped}')" '{"exit":0,"stopped":true}'
	assert_equal "$(frame end .stopped)" true
	assert_equal "$(jq -s 'map(select(.type == "step")) | length' "$D/lines")" 1
}

@test "TERM, INT and HUP stop it politely" {
	for signal in TERM INT HUP; do
		rm -f "$D/tidy"
		: >"$D/frames"
		table grace=5000 step /app/probe polite /work/tidy produce tidy tidy end
		driver_script
		# A background job of a shell without job control ignores INT; the driver resets that.
		"${ARGV[@]}" 3>&- {HOLD}<&- &
		BACKGROUND=$!
		wait_until 10 grep -q waiting "$D/frames"
		kill -"$signal" "$BACKGROUND"
		wait "$BACKGROUND"
		frames
		assert_equal "$(cat "$D/tidy")" tidy
		assert_equal "$(frame event .event)" stopped
	done
}

@test "SIGKILL of the driver leaves no process" {
	for when in early late; do
		name=p$RANDOM$RANDOM
		cp "$PLACE/probe" "$PLACE/$name"
		OPTIONS=(--bind "$PLACE/$name:/app/$name")
		: >"$D/frames"
		sandbox_in_background step "/app/$name" stubborn end
		[ "$when" = early ] || wait_until 10 grep -q waiting "$D/frames"
		if [ "$when" = late ]; then
			run nobody_runs "$name"
			assert_equal "$status" 1
		fi
		kill -KILL "$BACKGROUND"
		wait "$BACKGROUND" || true
		wait_until 5 nobody_runs "$name"
		wait_until 5 nobody_runs sbx-entry
	done
}

@test "a reader that goes away ends it with 74, and nothing is left" {
	name=p$RANDOM$RANDOM
	cp "$PLACE/probe" "$PLACE/$name"
	OPTIONS=(--bind "$PLACE/$name:/app/$name")
	table grace=100 step "/app/$name" stubborn end
	GRACE=100
	driver_script
	mkfifo "$D/pipe"
	FRAMES=$D/pipe "${ARGV[@]}" 3>&- {HOLD}<&- 2>"$D/stderr" &
	BACKGROUND=$!
	head -c 20 "$D/pipe" >/dev/null
	rc=0
	wait "$BACKGROUND" || rc=$?
	assert_equal "$rc" 74
	wait_until 5 nobody_runs "$name"
}

@test "a reader that goes away ends a sandbox that writes without end" {
	name=p$RANDOM$RANDOM
	cp "$SBX_BUILD/test/stepper" "$PLACE/$name"
	OPTIONS=(--bind "$PLACE/$name:/app/$name")
	GRACE=100
	table output=99999999999999 grace=100 step "/app/$name" stubborn then flood 99999999999999 65 end
	driver_script
	mkfifo "$D/pipe"
	FRAMES=$D/pipe "${ARGV[@]}" 3>&- {HOLD}<&- 2>"$D/stderr" &
	BACKGROUND=$!
	head -c 20 "$D/pipe" >/dev/null
	rc=0
	timeout 10 tail --pid="$BACKGROUND" -f /dev/null
	wait "$BACKGROUND" || rc=$?
	assert_equal "$rc" 74
	wait_until 5 nobody_runs "$name"
}

@test "a full disk under stdout is 74" {
	table step /app/probe print x end
	driver_script
	FRAMES=/dev/full run_sbx 74 "${ARGV[@]}"
	assert_contains "$stderr" io_error
}

@test "locks that it was given are held until it ends" {
	table step /app/probe polite /work/x end
	driver_script
	: >"$D/lock"
	(
		flock 9
		exec "${ARGV[@]}" --lock-fd 9 3>&- {HOLD}<&-
	) 9<"$D/lock" &
	BACKGROUND=$!
	wait_until 10 grep -q waiting "$D/frames"
	run flock -n "$D/lock" true
	assert_equal "$status" 1
	kill -TERM "$BACKGROUND"
	wait "$BACKGROUND"
	flock -n "$D/lock" true
}

# --- real programs ---

@test "dynamic programs and a shell run with the mounts they need" {
	for dir in /bin /lib /lib64 /usr/lib; do
		[ ! -e "$dir" ] || OPTIONS+=(--bind "$dir:$dir")
	done
	sandbox 0 step /bin/sh -c 'echo "$(id -u) $0"; cat </dev/null; echo x | cat; exit 4' name end
	assert_equal "$(said out 1)" "$(printf '1000 name\nx')"
	assert_equal "$(frame exit .exit)" 4
}

@test "terraform: init, plan, show of the announced plan; and apply to a mounted state" {
	terraform=$(command -v terraform || command -v tofu) || skip "no terraform or tofu"
	mkdir -p "$D/tree"
	printf 'resource "terraform_data" "web" {\n  input = "one"\n}\n' >"$D/tree/main.tf"
	OPTIONS+=(--bind "$terraform:/opt/terraform/terraform")
	MEMORY=2147483648 PIDS=256 FILES=1024
	: >"$PLACE/tf.$BATS_TEST_NUMBER"
	OPTIONS+=(--state "$PLACE/tf.$BATS_TEST_NUMBER:/work/terraform.tfstate")
	sandbox 0 "tree=$D/tree" "write=terraform.tfstate:$PLACE/tf.$BATS_TEST_NUMBER" env=CHECKPOINT_DISABLE=1 env=TF_IN_AUTOMATION=1 \
		step /opt/terraform/terraform init -input=false -no-color end \
		step /opt/terraform/terraform plan -input=false -no-color -lock=false -out=plan.bin produce plan plan.bin end \
		step /opt/terraform/terraform show -json @plan end \
		step /opt/terraform/terraform apply -input=false -no-color @plan end
	assert_equal "$(frame exit .exit | tr '\n' ' ')" "0 0 0 0 "
	assert_equal "$(said out 3 | jq -r '.resource_changes[0].address')" terraform_data.web
	assert_equal "$(jq -r '.resources[0].name' "$PLACE/tf.$BATS_TEST_NUMBER")" web
	assert_equal "$(frame end .state_changed)" true
}

@test "kubectl runs" {
	kubectl=$(find /usr/lib/google-cloud-sdk/bin /usr/local/bin /usr/bin -maxdepth 1 -name 'kubectl*' -type f -size +10M 2>/dev/null | head -1)
	[ -n "$kubectl" ] || skip "no kubectl"
	OPTIONS+=(--bind "$kubectl:/opt/kubectl/kubectl")
	sandbox 0 step /opt/kubectl/kubectl version --client end
	assert_contains "$(said out 1)" "Client Version"
	assert_equal "$(frame exit .exit)" 0
}
