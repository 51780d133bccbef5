# Shared by the suites that send whole calls through the pipe to a cluster: an installation without credentials, and what must hold of it afterwards.

# $T is the installation; its tools: `say` prints its word; `pause` takes two seconds, by a connection that no policy
# lets through.
setup_file() {
	cluster_setup_file
	export T=$BATS_FILE_TMPDIR/t
	mkdir -p "$T/work" "$T/policy/tools"
	cat >"$T/policy/policy.yaml" <<-POLICY
		defaults: {require: {isolation: cluster-gvisor}}
		programs:
		  probe: {path: "$SBX_BUILD/test/probe"}
	POLICY
	cat >"$T/policy/tools/say.yaml" <<-'TOOL'
		name: say
		title: Say a word
		description: Prints its word.
		tier: low
		params:
		  word: {type: string, max_length: 40}
		steps:
		  - [probe, print, "{word}"]
		limits: {deadline: 60s, memory: 64Mi, workdir: 16Mi}
		tests:
		  - {params: {word: x}, expect: allow}
	TOOL
	cat >"$T/policy/tools/pause.yaml" <<-TOOL
		name: pause
		title: Wait
		description: Waits for two seconds.
		tier: low
		steps:
		  - [probe, tcp, "${API_SERVER%:*}", "${API_SERVER##*:}"]
		limits: {deadline: 60s, grace: 1s, memory: 64Mi, workdir: 16Mi}
		tests:
		  - {params: {}, expect: allow}
	TOOL
	cluster_settings >"$T/sbx.yaml"
	echo 'provider: none' >>"$T/sbx.yaml"
	: >"$T/allowed_signers"
	chmod -R go-rwx "$T"
}

# In setup.
pipeline_setup() {
	export SBX_CONFIG=$T/sbx.yaml
	wait_until 30 is_admitted
}

# is_admitted: the admission policy has come to know our image.
is_admitted() {
	"$SBX_BIN/sbx-call" say word=warm 3>&- >/dev/null 2>&1
}

# Nothing with our label in the namespace of the sandboxes.
all_is_gone() {
	[ -z "$(kube get jobs,pods,secrets --namespace=sbx-sandbox --selector=app.kubernetes.io/managed-by=sbx,sbx/call --output=name)" ]
}

# Of the record: the calls whose story has a beginning and no end.
without_end() {
	jq -rn '[inputs | select(.request_id != null)] | group_by(.request_id)[] | select(any(.event == "tool.request") and (any(.event == "tool.result") | not)) | .[0].request_id' \
		"$T/var/audit.jsonl"
}

# process_of PID PROGRAM: the descendant of PID that runs PROGRAM.
process_of() {
	local child
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		if [ "$(readlink "/proc/$child/exe" 2>/dev/null)" = "$2" ]; then
			echo "$child"
			return
		fi
		process_of "$child" "$2"
	done
}
