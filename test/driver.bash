# Shared by the bats files of the drivers: descriptors, frames as JSON lines, and sbx-run-kubernetes with both.

driver_setup() {
	D=$BATS_TEST_TMPDIR
	mkfifo "$D/control"
	exec {HOLD}<>"$D/control"
	: >"$D/credentials"
}

driver_teardown() {
	[ -z "${HOLD-}" ] || exec {HOLD}<&-
}

new_call() {
	CALL=$(od -An -v -tx1 -N16 /dev/urandom | tr -d ' \n')
}

# --- what came back ---

# The frames in $D/frames as JSON lines in $D/lines, and the artefacts in $D.
frames() {
	"$SBX_BUILD/test/mksteps" frames "$D" <"$D/frames" >"$D/lines"
}

# said out|err STEP: the text of it.
said() {
	jq -rj --arg type "$1" --argjson step "$2" 'select(.type == $type and .step == $step) | .text' "$D/lines"
}

# frame TYPE FILTER [STEP]: of the JSON in the frames of TYPE.
frame() {
	jq -rc --arg type "$1" --argjson step "${3:-null}" "select(.type == \$type and (\$step == null or .step == \$step)) | .json | $2" "$D/lines"
}

# event NAME FILTER: of the driver's own frames.
event() {
	jq -rc --arg name "$1" "select(.type == \"event\" and .json.event == \$name) | .json | $2" "$D/lines"
}

# --- sbx-run-kubernetes ---

# Its command line in ARGV, behind a script that gives it $D/table, $D/inputs, $D/request and (when there are some) $D/credentials, and
# leaves its process id in $D/pid.
kubernetes_script() {
	local options=(--entry-fd 4 --inputs-fd 5 --control-fd 6)
	[ ! -s "$D/credentials" ] || options+=(--credentials-fd 7)
	cat >"$D/drive" <<-DRIVE
		#!/bin/bash
		echo \$\$ >"$D/pid"
		exec "\$@" 4<"$D/table" 5<"$D/inputs" 6<"$D/control" 7<"$D/credentials" >"$D/frames" <"$D/request"
	DRIVE
	chmod +x "$D/drive"
	ARGV=("$D/drive" "$SBX_LIBEXEC/sbx-run-kubernetes" "${options[@]}")
}

# drive RC: run it.
drive() {
	kubernetes_script
	run_sbx "$1" "${ARGV[@]}"
	frames
}
