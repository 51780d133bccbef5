# Questions that a tool's file lets the client put to its person, in both eras, on a door that lists one such tool and gives its request back.

load ../helpers
load ../mcp

CALL='"name":"ask","arguments":{"given":"g"}'
NEWMETA='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{}}}'

setup() {
	W=$BATS_TEST_TMPDIR
	PIDS=()
	export HOME=$W/home
	mkdir "$HOME"
	: >"$W/lists"
}

# able [CAPABILITIES] [REVISION]: a legacy session of such a client.
able() {
	ask '{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"'"${2:-2025-11-25}"'","capabilities":'"${1:-{\"elicitation\":{\},\"roots\":{\}\}}"'}}'
	assert_json .id init
}
start_door() { serve "$@" -- "$ROOT/test/fakes/door" ask "$W/lists"; }
# What the door was asked for.
asked_for() { printf '%s' "$output" | jq -r '.result.structuredContent.untrusted.stdout' | jq -cS .params; }
reply() { put '{"jsonrpc":"2.0","id":"'"$1"'","result":'"$2"'}'; }
# modern MEMBERS: a call of 2026-07-28 with these beside it.
modern() { ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'"$NEWMETA,$CALL${1:+,$1}"'}}'; }
refused_state() { assert_json '[.error.code, .error.data.code] | map(tostring) | join(" ")' '-32602 bad_state'; }
state() { printf '%s' "$output" | jq .result.requestState; }

@test "legacy: one question after the other, and the answers become parameters" {
	start_door
	able
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'"$CALL"'}}'
	assert_json .method elicitation/create
	assert_json '.params.message' 'Who is it?'
	assert_json '.params.mode' form
	assert_json '[.params.requestedSchema.type, (.params.requestedSchema.required | join(",")), .params.requestedSchema.properties.age.default] | map(tostring) | join(" ")' 'object name 0.5'
	local id
	id=$(printf '%s' "$output" | jq -r .id)
	silent
	reply "$id" '{"action":"accept","content":{"name":"Ann","age":1.25,"unknown":"x"}}'
	get
	assert_json .params.message 'Which ones?'
	reply "$(printf '%s' "$output" | jq -r .id)" '{"action":"accept","content":{"some":["a","b"]}}'
	get
	assert_json .method roots/list
	reply "$(printf '%s' "$output" | jq -r .id)" '{"roots":[{"uri":"file:///srv/x"},{"uri":"file:///y"}]}'
	get
	assert_json '[.id, .result.isError] | map(tostring) | join(" ")' '1 null'
	assert_equal "$(asked_for)" '{"age":"1.25","given":"g","name":"Ann","place":"file:///srv/x","some":"[\"a\",\"b\"]"}'
	# An answer that comes twice, or to nothing, is nothing.
	reply "$id" '{"action":"accept","content":{"name":"Eve"}}'
	reply never '{}'
	silent
}

@test "what a call gives is not asked for" {
	start_door
	able
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"name":"A","age":"1","some":"[]","place":"p"}}}'
	assert_equal "$(asked_for)" '{"age":"1","name":"A","place":"p","some":"[]"}'
	ask '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{"name":"A","age":"1","place":"p"}}}'
	assert_json .params.message 'Which ones?'
}

@test "a client that cannot is not asked, and the policy sees the call as it came" {
	local capabilities
	for capabilities in '{}' '{"elicitation":{"url":{}}}' '{"elicitation":7}'; do
		start_door
		able "$capabilities"
		ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'"$CALL"'}}'
		assert_equal "$(asked_for)" '{"given":"g"}'
		assert_equal "$(cat "$W/lists")" ''
		bye
		ends 2
	done
	# Forms are no older than 2025-06-18.
	start_door
	able '{"elicitation":{}}' 2025-03-26
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'"$CALL"'}}'
	assert_json .id 1
	bye
	ends 2
	start_door
	able '{"elicitation":{"form":{}}}' 2025-06-18
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'"$CALL"'}}'
	assert_json .method elicitation/create
	assert_json .params.mode null
}

@test "declined, closed, an error, or no answer at all: the call is not made, or goes on without" {
	start_door --deadline 4s
	able
	local action
	for action in decline cancel; do
		ask '{"jsonrpc":"2.0","id":"'$action'","method":"tools/call","params":{'"$CALL"'}}'
		reply "$(printf '%s' "$output" | jq -r .id)" '{"action":"'$action'"}'
		get
		assert_json '[.id, .result.isError, .result.structuredContent.error.code] | map(tostring) | join(" ")' "$action true question_declined"
	done
	# A client that turns out not to know the method.
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'"$CALL"'}}'
	put '{"jsonrpc":"2.0","id":'"$(printf '%s' "$output" | jq .id)"',"error":{"code":-32601,"message":"no"}}'
	get
	assert_equal "$(asked_for)" '{"given":"g"}'
	# One that answers nothing.
	ask '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{'"$CALL"'}}'
	local question
	question=$(printf '%s' "$output" | jq -r .id)
	get
	assert_json '[.method, .params.requestId] | join(" ")' "notifications/cancelled $question"
	get
	assert_json '[.id, .result.structuredContent.error.code] | map(tostring) | join(" ")' '2 question_open'
	reply "$question" '{"action":"accept","content":{"name":"late"}}'
	silent
}

@test "legacy: an answer that is none ends the questions, and those before it count" {
	start_door
	able
	local none
	for none in '{"action":"accept","content":{"some":{"a":1}}}' '{"action":"accept","content":{"some":"'"$(printf %04097d 0)"'"}}' '[]'; do
		ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'"$CALL"'}}'
		reply "$(printf '%s' "$output" | jq -r .id)" '{"action":"accept","content":{"name":"Ann"}}'
		get
		assert_json .params.message 'Which ones?'
		reply "$(printf '%s' "$output" | jq -r .id)" "$none"
		get
		assert_equal "$(asked_for)" '{"given":"g","name":"Ann"}'
	done
	# A form counts as a whole.
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'"$CALL"'}}'
	reply "$(printf '%s' "$output" | jq -r .id)" '{"action":"accept","content":{"name":"Ann","age":{}}}'
	get
	assert_equal "$(asked_for)" '{"given":"g"}'
}

@test "an answer is as long as a parameter may be, and no longer" {
	start_door
	able
	local long
	long=$(printf %04096d 0)
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"some":"s"}}}'
	reply "$(printf '%s' "$output" | jq -r .id)" '{"action":"accept","content":{"name":"'"$long"'"}}'
	get
	assert_json .method roots/list
	reply "$(printf '%s' "$output" | jq -r .id)" '{"roots":[{"uri":"'"$long"'"}]}'
	get
	assert_equal "$(asked_for)" '{"name":"'"$long"'","place":"'"$long"'","some":"s"}'
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"name":"n","age":1,"some":"s"}}}'
	reply "$(printf '%s' "$output" | jq -r .id)" '{"roots":[{"uri":"'"$long"'0"}]}'
	get
	assert_equal "$(asked_for)" '{"age":1,"name":"n","some":"s"}'
}

@test "answers that make a call too large refuse it, and the server serves on" {
	start_door
	able '{"roots":{}}'
	local long
	long=$(printf %01048400d 0)
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"given":"'"$long"'"}}}'
	assert_json .method roots/list
	reply "$(printf '%s' "$output" | jq -r .id)" '{"roots":[{"uri":"'"$(printf %0200d 0)"'"}]}'
	get
	assert_json '[.id, .result.isError, .result.structuredContent.error.code] | map(tostring) | join(" ")' '1 true too_large'
	silent
}

@test "a call that is cancelled takes its question back" {
	start_door
	able
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'"$CALL"'}}'
	local question
	question=$(printf '%s' "$output" | jq -r .id)
	ask '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
	assert_json '[.method, .params.requestId] | join(" ")' "notifications/cancelled $question"
	reply "$question" '{"action":"accept","content":{"name":"late"}}'
	silent
}

@test "modern: a question is the result, and the call comes again with the answer, to any process" {
	start_door
	modern
	assert_json .result.resultType input_required
	assert_json '.result._meta["io.modelcontextprotocol/serverInfo"].name' sbx-mcp
	assert_json '[.result.inputRequests.who.method, .result.inputRequests.who.params.requestedSchema.properties.age.default] | map(tostring) | join(" ")' 'elicitation/create 0.5'
	local first
	first=$(state)
	bye
	ends 2
	start_door
	modern '"inputResponses":{"who":{"action":"accept","content":{"name":"Ann"}},"other":7},"requestState":'"$first"
	assert_json '.result.inputRequests | keys | join(" ")' which
	[ "$(state)" != "$first" ]
	modern '"inputResponses":{"which":{"action":"accept","content":{}}},"requestState":'"$(state)"
	assert_json '.result.inputRequests.where | tojson' '{"method":"roots/list","params":{}}'
	modern '"inputResponses":{"where":{"roots":[]}},"requestState":'"$(state)"
	assert_json '[.result.resultType, .result.isError] | map(tostring) | join(" ")' 'complete null'
	assert_equal "$(asked_for)" '{"given":"g","name":"Ann"}'
	[ "$(stat -c %a "$HOME/.local/state/sbx-mcp.key")" = 600 ]
}

@test "modern: state of another call, another time or another account is refused" {
	start_door
	modern
	local good
	good=$(state)
	modern '"requestState":'"${good%\"}x\""
	refused_state
	modern '"requestState":"x"'
	refused_state
	# Longer than any of ours.
	modern '"requestState":"'"$(printf %01048600d 0)"'"'
	refused_state
	# Another call: the arguments differ.
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{'"$NEWMETA"',"name":"ask","arguments":{"given":"h"},"requestState":'"$good"'}}'
	refused_state
	# The same one is taken.
	modern '"requestState":'"$good"
	assert_json .result.resultType input_required
	# Another account's key.
	rm "$HOME/.local/state/sbx-mcp.key"
	modern '"requestState":'"$good"
	refused_state
	# A key that others may read proves nothing, and that is no fault of the client's.
	modern
	good=$(state)
	local key=$HOME/.local/state/sbx-mcp.key
	chmod 644 "$key"
	modern '"requestState":'"$good"
	assert_json '[.error, .result.isError, .result.structuredContent.error.code] | map(tostring) | join(" ")' 'null true unsafe_file'
	# Nor is one of another length.
	chmod 600 "$key"
	cp -p "$key" "$W/key"
	echo more >>"$key"
	modern '"requestState":'"$good"
	assert_json '[.error, .result.isError, .result.structuredContent.error.code] | map(tostring) | join(" ")' 'null true unsafe_file'
	cp -p "$W/key" "$key"
	modern '"requestState":'"$good"
	assert_json .result.resultType input_required
}

@test "modern: a response that is no answer, a decline, and an account that can keep no key" {
	start_door
	modern '"inputResponses":{"who":12345}'
	assert_json '[.error.code, .error.data.code] | map(tostring) | join(" ")' '-32602 bad_request'
	modern '"inputResponses":{"who":{"action":"accept","content":{"name":{"a":1}}}}'
	assert_json .error.code -32602
	modern '"inputResponses":{"who":{"action":"decline"}}'
	assert_json .result.structuredContent.error.code question_declined
	bye
	ends 2
	rm -rf "$HOME"
	start_door
	modern
	assert_equal "$(asked_for)" '{"given":"g"}'
}

@test "what a door says behind a list that was taken changes no question" {
	start_door
	able
	: >"$W/lists.more"
	ask '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
	assert_json '.result.tools[0].name' ask
	rm "$W/lists.more"
	local door
	door=$(cat "$W/lists.pid")
	wait_until 10 sh -c "! kill -0 $door 2>/dev/null"
	ask '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{'"$CALL"'}}'
	assert_json .method elicitation/create
	assert_equal "$(wc -l <"$W/lists")" 1
}

@test "the list is asked for once a minute at most, whoever asks" {
	start_door
	able
	local i
	for i in 1 2 3 4; do
		put '{"jsonrpc":"2.0","id":'"$i"',"method":"tools/call","params":{"name":"ask","arguments":{"name":"A","age":"1","some":"[]","place":"p"}}}'
	done
	for i in 1 2 3 4; do
		get
		assert_json .result.isError null
	done
	ask '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"other","arguments":{}}}'
	assert_equal "$(wc -l <"$W/lists")" 1
}
