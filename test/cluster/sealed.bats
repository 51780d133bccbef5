# What a cluster is given of a sealed plan, and what comes back: compared in the Pod before anything starts, and capped on the way.

load ../helpers
load cluster

setup_file() { cluster_setup_file; }
setup() { cluster_setup; }
teardown() { cluster_teardown; }

# again: another call.
again() {
	new_call
	request
}

# refused CODE: sbx-entry said so in the Pod, and started nothing.
refused() {
	drive 0
	assert_equal "$(frame refused .code)" "$1"
	assert_equal "$(jq -r 'select(.type == "step") | .step' "$D/lines")" ''
	wait_until 10 nothing_left
}

@test "the sealed bytes reach the step; others are refused" {
	echo the-plan >"$D/plan"
	table sealed "artifact=plan:$D/plan" step /opt/sbx/probe/probe cat @plan end
	drive 0
	assert_equal "$(said out 1)" the-plan
	again
	table sealed "artifact=plan:$D/plan" bad-digest step /opt/sbx/probe/probe cat @plan end
	refused plan_file_changed
}

@test "another program than the one that made the plan" {
	table sealed "program=/opt/sbx/probe/probe:$SBX_BUILD/test/probe" step /opt/sbx/probe/probe print same end
	drive 0
	assert_equal "$(said out 1)" same
	again
	table sealed "program=/opt/sbx/probe/probe:$SBX_LIBEXEC/sbx-entry" step /opt/sbx/probe/probe print never end
	refused plan_program_changed
}

@test "the state that a step prints stays there; its digest comes back, and another one ends the sequence" {
	printf '{"version":4,"serial":7,"lineage":"one","secret":"kept-inside"}' >"$D/state"
	local sha256
	sha256=$(sha256sum <"$D/state" | cut -d' ' -f1)
	table "artifact=state:$D/state" step seals /opt/sbx/probe/probe cat @state end
	drive 0
	assert_equal "$(frame exit '.state | .lineage + " " + (.serial | tostring) + " " + .sha256')" "one 7 $sha256"
	run -1 grep -q kept-inside "$D/lines"
	again
	table sealed lineage=one serial=6 "state=${sha256//[0-9]/0}" "artifact=state:$D/state" step seals /opt/sbx/probe/probe cat @state end \
		step /opt/sbx/probe/probe print never end
	drive 0
	assert_equal "$(frame exit '.failed')" plan_serial_changed
	assert_equal "$(said out 2)" ''
}

@test "an artefact that the way back does not take" {
	mkdir "$D/tree"
	head -c 6000000 /dev/zero >"$D/tree/fits"
	head -c 9000000 /dev/zero >"$D/tree/too-large"
	table "tree=$D/tree" step /opt/sbx/probe/probe print made produce copy fits end
	drive 0
	sed -i '/"type":"data"/d' "$D/lines" # more than is worth reading
	assert_equal "$(frame artifact .sha256)" "$(sha256sum <"$D/tree/fits" | cut -d' ' -f1)"
	cmp "$D/copy" "$D/tree/fits"
	again
	table "tree=$D/tree" step /opt/sbx/probe/probe print made produce copy too-large end
	drive 0
	assert_equal "$(frame exit .failed)" artifact_too_large
}
