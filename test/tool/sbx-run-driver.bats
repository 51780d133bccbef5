#!/usr/bin/env bats
# sbx-run and its drivers: what they are told, and those that misbehave.

load ../helpers
load ../runs

setup_file() { runs_setup_file; }
setup() { runs_setup; }

@test "a driver that dies before it starts anything" {
	fake_driver <<<'exit 71'
	make_call true
	run_fake 71
	assert_call driver_failed
}

@test "a driver that tells its end: its code and its class are taken where they are some" {
	local want class code told long
	long=$(printf 'a%.0s' {1..40})
	# shellcheck disable=SC2016 # the driver's own
	fake_driver <<<'event "$(cat "$0.end")"'
	while read -r want class code told; do
		make_call true
		printf '{"event":"failed","message":"it fell over","class":%s,"code":%s}' "$class" "$told" >"$FAKE/libexec/sbx/sbx-run-fake.end"
		run_fake "$want"
		assert_call "$code"
	done <<-EOT
		78 78 node_gone "node_gone"
		70 70 node_gone "node_gone"
		69 75 node_gone "node_gone"
		69 2 node_gone "node_gone"
		69 "78" ${long:1} "${long:1}"
		78 78 driver_failed "$long"
		78 78 driver_failed ""
		78 78 driver_failed "Node gone"
	EOT
}

@test "a driver that refuses" {
	fake_driver <<-'EOT'
		hello
		frame refused 0 '{"code":"isolation_too_weak","message":"not enough"}'
	EOT
	make_approved_call apply_true
	run_fake 77
	assert_call isolation_too_weak
	assert_json .result.state refused
	[ -s "$(call_dir)/refused" ]
	sbx-policy apply_true 2>/dev/null | sbx-approve >"$T/again" 2>/dev/null
	assert_equal "$(jq -r .approval.state "$T/again")" claimed
}

@test "a driver with an image gets the signed text, and no other than the approval names; the local one gets none" {
	make_approved_call sleep_approved
	[ ! -e "$(call_dir)/signed" ]
	fake_driver <<-'EOT'
		while [ $# -gt 0 ]; do
			case $1 in
			--inputs-fd) cat "/proc/self/fd/$2" >"$(dirname "$0")/../../inputs" ;;
			esac
			shift
		done
		hello
		frame step 1 ''
		frame exit 1 '{"exit":0,"out_bytes":0,"out_dropped":0,"err_bytes":0,"err_dropped":0,"took_ms":1}'
		frame end 0 '{"state_changed":false,"stopped":false}'
	EOT
	make_approved_call sleep_approved
	assert_equal "$(stat -c %a "$(call_dir)/signed")" 600
	sed -i 's/Asked by principal/Asked by Principal/' "$(call_dir)/signed"
	run_fake 77
	assert_call approval_mismatch
	# What was refused is not spent.
	make_call sleep_approved
	run_fake 0
	cmp "$FAKE/inputs" "$(call_dir)/signed"
	run_sbx 0 bash -c "'$SBX_LIBEXEC/sbx-signed' '$T/allowed_signers' any <'$FAKE/inputs'"
	assert_equal "$output" 'ok alice'
}

@test "a driver that is killed before it said anything: the outcome is unknown, and it is asked to remove what it left" {
	fake_driver <<-EOT
		[ "\$1" != --mend ] || exec bash -c 'echo "\$0" >>"\$1"; cat >>"\$1"' "\$2" "$T/mended"
		kill -9 \$\$
	EOT
	make_approved_call apply_true
	run_fake 3
	assert_json .result.state unknown
	assert_json .result.code driver_died
	[ ! -e "$(call_dir)/refused" ]
	assert_equal "$(head -n 1 "$T/mended")" "$(jq -r .call.id "$T/call")"
	# One that ended by itself has seen to that.
	rm "$T/mended"
	fake_driver <<-EOT
		[ "\$1" != --mend ] || exec touch "$T/mended"
		exit 71
	EOT
	make_call true
	run_fake 71
	[ ! -e "$T/mended" ]
}

@test "a driver that has lost its sandbox, or cannot remove it: the stage is not done, so that mending asks again" {
	local script DONE
	make_call true
	run_sbx 0 bash -c "sbx-run <'$T/call'"
	DONE=$(stat -c %a "$(call_dir)/run")
	for script in 'event "{\"event\":\"lost\",\"message\":\"gone\",\"code\":\"cluster_lost\",\"class\":3}"' 'kill -9 $$'; do
		fake_driver <<-EOT
			[ "\$1" != --mend ] || exec test -e "$T/reachable"
			hello
			frame step 1 ''
			$script
		EOT
		rm -f "$T/reachable"
		make_call true
		run_fake 3
		assert_json .result.state unknown
		[ "$(stat -c %a "$(call_dir)/run")" != "$DONE" ]
		run -69 "$FAKE/bin/sbx-run" --mend "$(jq -r .call.id "$T/call")"
		touch "$T/reachable"
		run -0 "$FAKE/bin/sbx-run" --mend "$(jq -r .call.id "$T/call")"
		# It is asked at once when it was killed; then nothing is left.
		make_call true
		run_fake 3
		[[ $script == event* ]] || [ "$(stat -c %a "$(call_dir)/run")" = "$DONE" ]
	done
}

@test "a call is mended by its own driver, whatever the settings say by now" {
	fake_driver <<-EOT
		[ "\$1" != --mend ] || exec test -e "$T/reachable"
		hello
		frame step 1 ''
		event '{"event":"lost","message":"gone","code":"cluster_lost","class":3}'
	EOT
	make_call true
	run_fake 3
	for driver in local nowhere; do
		sed -i "s/^driver: .*/driver: $driver/" "$T/sbx.yaml"
		run_sbx 69 "$FAKE/bin/sbx-run" --mend "$(jq -r .call.id "$T/call")"
		assert_contains "$stderr" mend_failed
	done
	touch "$T/reachable"
	run_sbx 0 "$FAKE/bin/sbx-run" --mend "$(jq -r .call.id "$T/call")"
}

@test "a driver that dies while a step runs leaves an unknown outcome, and a spent approval" {
	fake_driver <<-'EOT'
		hello
		frame step 1 ''
		frame out 1 half
		kill -9 $$
	EOT
	make_approved_call apply_true
	run_fake 3
	assert_json .result.state unknown
	assert_json .result.code driver_died
	assert_json .result.stdout half
	[ ! -e "$(call_dir)/refused" ]
}

@test "a driver that breaks its contract is not believed" {
	local script
	for script in 'echo garbage' 'hello; frame step 2 ""' 'hello; frame step 1 ""; frame step 1 ""' \
		'hello; frame step 1 ""; frame exit 1 "{\"exit\":0}"; frame end 0 "{}"; frame out 1 late' \
		'hello; frame step 1 ""; frame refused 0 "{}"' 'hello; frame step 1 ""; frame data 1 x' 'frame out 1 x' 'hello; hello' \
		'hello; frame step 1 ""; frame artifact 1 "{\"name\":\"plan\",\"sha256\":\"00\",\"size\":1}"; frame data 1 x' \
		'hello; frame step 1 ""; frame exit 1 "[]"'; do
		fake_driver <<<"$script"
		make_call true
		run bash -c "'$FAKE/bin/sbx-run' <'$T/call'"
		[ "$status" -eq 3 ] || [ "$status" -eq 76 ] || {
			printf '%s: %s %s\n' "$script" "$status" "$output"
			return 1
		}
		refute_contains "$output" '"state":"completed"'
		assert_contains "$output" bad_frame
	done
}

@test "a driver gets what its contract says, and an other driver than local a JSON object" {
	fake_driver <<-EOT
		printf '%s\n' "\$@" >$T/args
		cat >$T/stdin
		hello
		frame step 1 ''
		frame exit 1 '{"exit":0,"took_ms":1}'
		frame end 0 '{"state_changed":false}'
	EOT
	make_call true
	run_fake 0
	assert_contains "$(tr '\n' ' ' <"$T/args")" "--entry-fd 3 --inputs-fd 4 --control-fd 5"
	assert_equal "$(jq -r '.limits.deadline_ms' "$T/stdin")" 30000
	assert_equal "$(jq -r '.mounts[0].target' "$T/stdin")" /opt/sbx/true/true
}

@test "a driver that does not exist" {
	printf 'driver: nowhere\n' >>"$T/sbx.yaml"
	make_call true
	run_sbx 78 bash -c "sbx-run <'$T/call'"
	assert_call missing_helper
}
