# A call whose processes live is never mended, at whichever of its steps mending looks.

load ../helpers
load ../kill

setup() {
	kill_setup
	printf '#!/bin/sh\nexec %s --config %s --mend >>%s 2>&1\n' "$I/bin/sbx-audit" "$T/sbx.yaml" "$T/meet.err" >"$T/meet"
	chmod 755 "$T/meet"
}

teardown() {
	kill_teardown
}

@test "mending finds nothing to do at any step of a call that lives" {
	local stage line before
	for stage in "${STAGES[@]}"; do
		points "$stage" >"$T/all"
		while read -r -a line; do
			POINT="$stage meet ${line[*]}"
			approved_call
			printf 'x' >&"$TICKETS"
			before=$(tickets)
			chain "$stage" meet "${line[0]}" "$T/meet" || complain "status $?"
			assert_equal "$((before - $(tickets)))" 1
			assert_equal "$(member .result.state <"$T/out")" completed
		done <"$T/all"
		printf '# %s: %s steps\n' "$stage" "$(wc -l <"$T/all")" >&3
	done
	[ "$(grep -c ' [01] at work, 0 failed' "$T/meet.err")" -gt 150 ]
	run grep -c '"mended":true' "$T/var/audit.jsonl"
	assert_equal "$output" 0
	record_is_whole
}
