# Many calls at once through the whole pipe on a cluster.

load ../helpers
load cluster
load pipeline

setup() { pipeline_setup; }

@test "calls, 10 at a time (50; SBX_CLUSTER_SHARE takes fewer): each has its own output, nothing is left; the most memory that our processes had" {
	local out=$BATS_TEST_TMPDIR/out i calls
	calls=$(share 50)
	echo "# $calls calls" >&3
	mkdir "$out"
	python3 "$ROOT/test/cluster/peak.py" "$SBX_BUILD" >"$out/peak" 3>&- &
	local sampler=$!
	# Four at once is what one principal may have.
	seq "$calls" | xargs -P 10 -I '{}' bash -c '"$0" --principal "p$(({} % 5))" say "word=word-{}" >"$1/{}" 2>"$1/{}.err"' "$SBX_BIN/sbx-call" "$out" 3>&- || true
	kill "$sampler"
	wait "$sampler" || true
	for i in $(seq "$calls"); do
		jq -e --arg want "word-$i" '.result.state == "completed" and .result.stdout == $want + "\n" and .result.isolation.isolation == "cluster-gvisor"' "$out/$i" \
			>/dev/null || {
			cat "$out/$i" "$out/$i.err"
			return 1
		}
	done
	assert_equal "$(cat "$out"/*[0-9] | jq -r .call.id | sort -u | wc -l)" "$calls"
	wait_until 20 all_is_gone
	assert_equal "$(without_end)" ''
	sed 's/^/# /' "$out/peak" >&3
	[ -s "$out/peak" ]
}
