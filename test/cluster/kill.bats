# SIGKILL in the middle of calls on a cluster: after mending nothing of them is left there, and the record tells each story to its end.
#
# $SBX_STOP_API and $SBX_START_API, when set, are commands that kill the API server and start it again; without them that test is skipped.

load ../helpers
load cluster
load pipeline

setup() {
	S=$BATS_TEST_TMPDIR
	pipeline_setup
	# The time of a whole call is cut into as many moments.
	local begun=${EPOCHREALTIME//[!0-9]/}
	"$SBX_BIN/sbx-call" pause >/dev/null 2>&1 3>&-
	TOOK_MS=$(((${EPOCHREALTIME//[!0-9]/} - begun) / 1000))
	MOMENTS=8
}

# strike PROGRAM MOMENT: one call, whose process of PROGRAM is killed at that moment; what was struck is in $S/struck.
strike() {
	local program=$1 moment=$2 pid victim='' door
	"$SBX_BIN/sbx-call" --principal "k$moment" pause >"$S/out-$moment" 2>"$S/err-$moment" 3>&- &
	door=$!
	sleep "$(printf '%d.%03d' $((TOOK_MS * moment / MOMENTS / 1000)) $((TOOK_MS * moment / MOMENTS % 1000)))"
	if [ "$program" = "$SBX_BIN/sbx-call" ]; then
		victim=$door
	else
		victim=$(process_of "$door" "$program")
	fi
	# One that is over already, or does not run yet, is not counted.
	if [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null; then
		echo "$moment" >>"$S/struck"
	fi
	wait "$door" 2>/dev/null || true
}

is_mended() {
	"$SBX_BIN/sbx-audit" --mend >/dev/null 2>"$S/mend" 3>&- && all_is_gone && [ -z "$(without_end)" ]
}

# kill_each PROGRAM: at each moment of a call, several calls at once.
kill_each() {
	local moment pids=()
	: >"$S/struck"
	for moment in $(seq 0 $((MOMENTS - 1))); do
		strike "$1" "$moment" &
		pids+=($!)
		[ ${#pids[@]} -lt 4 ] || {
			wait "${pids[@]}"
			pids=()
		}
	done
	[ ${#pids[@]} -eq 0 ] || wait "${pids[@]}"
	echo "# struck $(wc -l <"$S/struck") of $MOMENTS; results: $(results)" >&3
	# The first moment may be before there is such a process, the last after it.
	[ "$(wc -l <"$S/struck")" -ge $((MOMENTS - 3)) ]
	wait_until 20 is_mended
	"$SBX_BIN/sbx-audit" verify >/dev/null
	echo "# after mending: $(results)" >&3
	# Where the record says that a sandbox was started and not how it ended, it says that the outcome is unknown.
	assert_equal "$(jq -n '[inputs | select(.request_id != null)] | group_by(.request_id)[] | select(any(.event == "sandbox.started") and (any(.event == "sandbox.completed") | not))
		| .[] | select(.event == "tool.result" and .class != 3)' "$T/var/audit.jsonl")" ''
}

# How the calls of this test ended, as the record says.
results() {
	jq -rn '[inputs | select(.event == "tool.result")] | group_by(.state // .code)[] | "\(.[0] | .state // .code) \(length)"' "$T/var/audit.jsonl" | tr '\n' ' '
}

@test "sbx-run is killed" {
	kill_each "$SBX_BIN/sbx-run"
}

@test "sbx-run-kubernetes is killed" {
	kill_each "$SBX_LIBEXEC/sbx-run-kubernetes"
}

@test "the dispatcher is killed" {
	kill_each "$SBX_BIN/sbx-call"
}

@test "the API server is killed under calls of every age" {
	[ -n "${SBX_STOP_API:-}" ] && [ -n "${SBX_START_API:-}" ] || skip 'SBX_STOP_API and SBX_START_API are not set'
	local moment pids=()
	for moment in $(seq 0 $((MOMENTS - 1))); do
		"$SBX_BIN/sbx-call" --principal "a$moment" pause >"$S/out-$moment" 2>"$S/err-$moment" 3>&- &
		pids+=($!)
		sleep "$(printf '%d.%03d' $((TOOK_MS / MOMENTS / 1000)) $((TOOK_MS / MOMENTS % 1000)))"
	done
	$SBX_STOP_API 3>&-
	sleep 2
	detached $SBX_START_API
	wait "${pids[@]}" || true
	for moment in $(seq 0 $((MOMENTS - 1))); do
		jq -e '.result.state // .error.code' "$S/out-$moment" >/dev/null
	done
	echo "# results: $(jq -r '.result.state // .error.code' "$S"/out-* | sort | uniq -c | tr -s ' \n' ' ')" >&3
	wait_until 60 is_mended
	"$SBX_BIN/sbx-audit" verify >/dev/null
}
