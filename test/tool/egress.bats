# egress: of a tool with the local driver, through the whole chain: what policy.yaml names answers, pinned to one address, and is in the record.

load ../helpers
load ../far-end
load ../sandbox

setup() {
	fresh_state
	far_end "$T" echo
	sed -i "s|^programs:|&\n  ways: {path: \"$SBX_BUILD/test/ways\"}|" "$T/policy/policy.yaml"
}

teardown() {
	far_end_stop
}

# destinations LINE...: egress: of policy.yaml.
destinations() {
	sed -i '/^egress:/,$d' "$T/policy/policy.yaml"
	{
		echo 'egress:'
		printf '  %s\n' "$@"
	} >>"$T/policy/policy.yaml"
}

# tool NAME EGRESS ARGV: a tool with one step.
tool() {
	cat >"$T/policy/tools/$1.yaml" <<-TOOL
		name: $1
		description: Says hello to the far end.
		tier: low
		steps:
		  - $3
		egress: $2
		require: {isolation: local}
		tests:
		  - {params: {}, expect: allow}
	TOOL
}

# limit WHAT: limits: of the tool greet.
limit() {
	sed -i '/^limits:/d' "$T/policy/tools/greet.yaml"
	echo "limits: {$1}" >>"$T/policy/tools/greet.yaml"
}

# greet RC ADDRESS: a call of the tool greet; its answer in $output.
greet() {
	tool greet '[far]' "[ways, talk, \"$2\", \"$PORT\", hello]"
	run_sbx "$1" sbx-call greet
}

connections() {
	sbx-audit show --event sandbox.connections --json | jq -rc ".connections[] | $1"
}

@test "a destination of the policy answers, and stands in evidence and record" {
	destinations "far: {to: \"127.0.0.1:$PORT\"}"
	greet 0 127.0.0.1
	assert_json .result.stdout "said hello"
	assert_json .result.isolation.network relay
	assert_json .result.isolation.egress.relayed.far "127.0.0.1:$PORT"
	assert_equal "$(connections '.destination, .address, .sent, .received, .end')" $'far\n127.0.0.1:'"$PORT"$'\n5\n5\nclosed'
	sbx-audit verify >/dev/null
}

@test "a tool without egress: reaches nothing, though the policy names it" {
	destinations "far: {to: \"127.0.0.1:$PORT\"}"
	tool greet '[]' "[ways, talk, 127.0.0.1, \"$PORT\", hello]"
	run_sbx 0 sbx-call greet
	assert_json .result.isolation.network none
	[[ $(jq -r .result.stdout <<<"$output") =~ ^(EACCES|ENETUNREACH|ECONNREFUSED)$ ]]
	assert_equal "$(connections .end)" ""
}

@test "a name is asked for once, outside, and means that address inside" {
	destinations "far: {to: \"localhost:$PORT\", private: true}"
	greet 0 127.0.0.1
	assert_json .result.stdout "said hello"
	assert_json .result.isolation.egress.relayed.far "127.0.0.1:$PORT"
}

@test "a name that leads to this machine, and none that leads anywhere: refused before anything starts" {
	destinations "far: {to: \"localhost:$PORT\"}"
	greet 77 127.0.0.1
	assert_json .error.code egress_refused
	assert_json .result.state refused
	assert_contains "$output" "private: true"
	assert_equal "$(sbx-audit show --event sandbox.started --json)" ""
	destinations "far: {to: \"no-such-name.invalid:$PORT\"}"
	greet 69 127.0.0.1
	assert_json .error.code egress_unresolved
	assert_equal "$(cat "$T/far")" ""
}

@test "a name that leads to a cloud's metadata, or to no host, is refused whatever the policy says; a private one needs its word" {
	# Numbers that getaddrinfo(3) reads as addresses are names all the same.
	for bad in 'far: {to: "2852039166:80", private: true}' 'far: {to: "168.4161808:80", private: true}' 'far: {to: "100.100.25800:80", private: true}' 'far: {to: "224.0.0.1:80", private: true}' 'far: {to: "10.1:80"}'; do
		destinations "$bad"
		greet 77 127.0.0.1
		assert_json .error.code egress_refused
	done
	for fine in 'far: {to: "169.254.169.254:80"}' 'far: {to: "168.63.129.16:80"}' 'far: {to: "10.1:80", private: true}' 'far: {to: "10.0.0.1:80"}'; do
		destinations "$fine"
		greet 0 127.0.0.1
		assert_json .result.isolation.network relay
	done
}

@test "connections and traffic of a tool: at the limit it works, one more is refused and stands in the record" {
	destinations "far: {to: \"127.0.0.1:$PORT\"}"
	tool greet '[far]' "[ways, many, 127.0.0.1, \"$PORT\", \"3\"]"
	limit 'connections: 3'
	run_sbx 0 sbx-call greet
	assert_json .result.stdout "answered 3"
	assert_json .result.isolation.limits.connections relay
	assert_equal "$(connections 'select(.end == "limit") | .end')" ""
	limit 'connections: 2'
	run_sbx 0 sbx-call greet
	assert_json .result.stdout "answered 2"
	assert_equal "$(connections 'select(.end == "limit") | .destination')" far
	tool greet '[far]' "[ways, bulk, 127.0.0.1, \"$PORT\", \"1\"]"
	limit 'traffic: 2Mi'
	run_sbx 0 sbx-call greet
	assert_json .result.stdout "came back 1048576"
	limit 'traffic: 2097151'
	run_sbx 0 sbx-call greet
	[ "$(jq -r .result.stdout <<<"$output")" != "came back 1048576" ]
	assert_equal "$(connections 'select(.end == "limit") | .destination' | wc -l)" 2
}

@test "limits of the policy's defaults are a tool's that says nothing, and in what is signed" {
	destinations "far: {to: \"127.0.0.1:$PORT\"}"
	sed -i 's|^  limits: {deadline|  limits: {connections: 2, traffic: 5Ki, deadline|' "$T/policy/policy.yaml"
	tool greet '[far]' "[ways, many, 127.0.0.1, \"$PORT\", \"3\"]"
	run_sbx 0 sbx-policy greet
	assert_json .policy.run.limits.connections 2
	assert_json .policy.run.limits.traffic 5120
	run_sbx 0 sbx-policy --explain greet
	assert_contains "$output" "at most 2 connections and 5 KiB"
	run_sbx 0 sbx-call greet
	assert_json .result.stdout "answered 2"
	# A tool that reaches nothing has none to speak of.
	tool greet '[]' "[ways, many, 127.0.0.1, \"$PORT\", \"1\"]"
	run_sbx 0 sbx-policy greet
	assert_json '.policy.run.limits | has("connections")' false
	run_sbx 0 sbx-call greet
	assert_json '.result.isolation.limits | has("connections")' false
}

@test "two names of one place" {
	destinations "far: {to: \"127.0.0.1:$PORT\"}" "other: {to: \"localhost:$PORT\", private: true}"
	tool greet '[far, other]' "[ways, talk, 127.0.0.1, \"$PORT\", hello]"
	run_sbx 0 sbx-call greet
	assert_json .result.stdout "said hello"
}

# resolver FILE: an installation in $T/own whose names are asked of the program FILE.
resolver() {
	own=$T/own
	installation "$own"
	rm "$own/libexec/sbx/sbx-resolve"
	cp "$1" "$own/libexec/sbx/sbx-resolve"
}

@test "a name that changes its address: a call has one answer, from before it began, and the next is looked at again" {
	printf '#!/bin/sh\necho asked >>%s/asked\n[ "$(wc -l <%s/asked)" -gt 1 ] && exec printf 169.254.169.254\nexec printf 127.0.0.1\n' "$T" "$T" >"$T/turncoat"
	chmod +x "$T/turncoat"
	resolver "$T/turncoat"
	destinations "far: {to: \"turncoat.example:$PORT\", private: true}"
	tool greet '[far]' "[ways, talk, 127.0.0.1, \"$PORT\", hello]"
	sed -i "s|^steps:|&\n  - [ways, talk, 127.0.0.1, \"$PORT\", first]|" "$T/policy/tools/greet.yaml"
	PATH=$own/bin:$PATH run_sbx 0 "$own/bin/sbx-call" greet
	assert_contains "$(jq -r .result.stdout <<<"$output")" "said hello"
	assert_equal "$(cat "$T/asked")" asked
	PATH=$own/bin:$PATH run_sbx 77 "$own/bin/sbx-call" greet
	assert_json .error.code egress_refused
	assert_equal "$(grep -c connection "$T/far")" 2
	# Two ports of it are one question, too.
	rm "$T/asked"
	destinations "far: {to: \"turncoat.example:$PORT\", private: true}" 'other: {to: "Turncoat.example:1", private: true}'
	tool greet '[far, other]' "[ways, talk, 127.0.0.1, \"$PORT\", hello]"
	PATH=$own/bin:$PATH run_sbx 0 "$own/bin/sbx-call" greet
	assert_json .result.isolation.egress.relayed.other 127.0.0.1:1
	assert_equal "$(cat "$T/asked")" asked
}

@test "a name that nobody answers for is given up" {
	local own
	resolver "$SBX_BUILD/test/stepper"
	destinations "far: {to: \"sleep:$PORT\"}"
	tool greet '[far]' "[ways, talk, 127.0.0.1, \"$PORT\", hello]"
	PATH=$own/bin:$PATH run_sbx 69 "$own/bin/sbx-call" greet
	assert_json .error.code egress_unresolved
}

@test "a name that nothing explains is refused; what is written wrongly is named when the policy is read" {
	destinations "other: {to: \"127.0.0.1:$PORT\"}"
	greet 78 127.0.0.1
	assert_json .error.code egress_unsupported
	for bad in "far: {to: \"127.0.0.1\"}" "far: {to: \"127.0.0.1:0\"}" "far: {to: \"a b:1\"}" "far: {to: \":1\"}" "far: {to: \"[::1]:1\"}" "far: {}" \
		"far: {to: \"a:1\", also: x}" "Far: {to: \"a:1\"}"; do
		destinations "$bad"
		run_sbx 78 sbx-policy list
		assert_contains "$stderr" policy.yaml:
	done
}

@test "kubernetes-api is the server of the call's target" {
	cat >>"$T/sbx.yaml" <<-EOF
		targets:
		  here: {server: "https://127.0.0.1:$PORT"}
	EOF
	tool greet '[kubernetes-api]' "[ways, talk, 127.0.0.1, \"$PORT\", hello]"
	sed -i 's|^steps:|params:\n  cluster: {type: target}\n&|; s|params: {}, expect: allow|params: {cluster: here}, given: {targets: [here]}, expect: allow|' "$T/policy/tools/greet.yaml"
	run_sbx 0 sbx-call greet cluster=here
	assert_json .result.stdout "said hello"
	assert_json '.result.isolation.egress.relayed["kubernetes-api"]' "127.0.0.1:$PORT"
}

@test "a provider that tries every way out reaches its destination, and says there that it got nowhere else" {
	[ -x "${TERRAFORM:=$(command -v terraform || true)}" ] || skip "no terraform"
	far_end_stop
	rm "$T/life" "$T/port"
	far_end "$T" write 127.0.0.2
	local place=$T/mirror/registry.terraform.io/acme/ways/1.0.0/linux_amd64
	mkdir -p "$place" "$T/work/envs/evil"
	cp "$SBX_BUILD/test/ways" "$place/terraform-provider-ways_v1.0.0"
	chmod -R go-w "$T/mirror"
	printf 'mirror: %s\n' "$T/mirror" >>"$T/policy/policy.yaml"
	printf 'terraform {\n  required_providers {\n    ways = { source = "acme/ways" }\n  }\n}\nresource "ways_out" "all" {}\n' >"$T/work/envs/evil/main.tf"
	echo "127.0.0.2 $PORT" >"$T/work/envs/evil/place"
	printf 'disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' "$T/mirror" >"$T/terraformrc"
	TF_CLI_CONFIG_FILE=$T/terraformrc TF_DATA_DIR=$T/data "$TERRAFORM" -chdir="$T/work/envs/evil" init -backend=false -input=false >"$T/init" 3>&-
	destinations "far: {to: \"127.0.0.2:$PORT\"}"
	sed -i 's|^limits:|egress: [far]\n&|' "$T/policy/tools/terraform_plan.yaml"
	run_sbx 1 sbx-call terraform_plan dir=envs/evil
	assert_json .result.state failed
	wait_until 5 grep -q ended "$T/far"
	sed -i '/^connection$/d; /^ended$/d' "$T/far"
	attempts_came_to "$T/far" expected_ways
	assert_equal "$(connections '.destination' | sort -u)" far
}
