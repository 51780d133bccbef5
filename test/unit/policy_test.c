/* Tools as data: what a policy file may not say, what a parameter may not be, how a tier comes about, and that a rule
 * which misbehaves denies. */
#include "policy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "io.h"
#include "unit.h"

static char dir[] = "/tmp/sbx-policy-test.XXXXXX";
static struct sbx_error err;

static const char root_yaml[] =
	"programs:\n"
	"  echo: {path: /bin/echo, env: {A_FIXED: one}, env_allowed: [TOKEN_FILE, KUBECONFIG]}\n"
	"  other: {path: /bin/other, env: {A_FIXED: two}}\n"
	"scopes:\n"
	"  plain: {audience: a, reads_secrets: false}\n"
	"  reader: {audience: a, reads_secrets: false, only_reads: true}\n"
	"  secrets: {audience: a, reads_secrets: true, provider: jwt, lifetime: 1h}\n"
	"  pods: {at: \"{namespace}/x\", reads_secrets: false, namespaces: [web, shop], permissions: [\"pods:get\", \"pods:list\"]}\n"
	"  patch: {reads_secrets: false, permissions: [\"deployments.apps:get\", \"deployments.apps:patch\"]}\n"
	"namespaces: [web]\n"
	"agent_writable: [agent/*]\n"
	"tiers: {critical: {threshold: 3, ttl: 10m, require: {isolation: gvisor}}}\n";

static void put(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *file = fopen(path, "we");
	if (file == NULL || fputs(text, file) < 0 || fchmod(fileno(file), 0600) < 0 || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
	sbx_error_clear(&err);
}

/* Load policy.yaml and the one tool "t", both given as text; 0, or -1 and ERR. */
static int load(struct policy *policy, const char *root, const char *tool)
{
	put("policy.yaml", root);
	put("tools/t.yaml", tool);
	sbx_error_clear(&err);
	if (policy_load(dir, policy, &err) < 0)
		return -1;
	return policy_load_tools(policy, POLICY_WITH_RULES, &err);
}

/* --- loading --- */

#define TOOL "name: t\ndescription: d\ntier: low\n"
#define ECHO "steps: [[echo]]\n"
#define PODS TOOL ECHO "credentials: [{scope: pods, as: token, env: TOKEN_FILE, "
#define FETCH "steps: [{argv: [echo], keeps: providers}"
#define PLANS "steps: [[echo], {argv: [echo], analyse: terraform}]\n"
#define ASKED "params: {p: {type: string}, o: {type: string, optional: true}}\n"

#define UNLOCK(step) "steps:\n  - {argv: [echo], check: true}\n  - " step "\n  - [echo]\n"

static const struct {
	const char *tool, *says; /* NULL: it loads */
} tool_files[] = {
	{TOOL ECHO, NULL},
	{TOOL ECHO "surprise: 1\n", "tools/t.yaml:5: unknown key \"surprise\""},
	{"name: t\ntier: low\n" ECHO, "tools/t.yaml:1: the key \"description\" is missing"},
	{"name: u\ndescription: d\ntier: low\n" ECHO, "tools/t.yaml:1: the file is named after another tool"},
	{"name: t\ndescription: d\ntier: lowest\n" ECHO, "tools/t.yaml:3: no such tier"},
	{TOOL "steps: []\n", "tools/t.yaml:4: needs 1 to"},
	{TOOL "steps: [[sh, -c, x]]\n", "tools/t.yaml:4: the first argument names no program"},
	{TOOL "steps:\n  - [echo]\n  - [echo, \"{x}\"]\n", "tools/t.yaml:6: names an unknown parameter"},
	{TOOL "steps: [[echo, \"{\"]]\n", "braces without a name"},
	{TOOL "steps: [[echo, \"{.items}\"]]\n", "braces without a name"},
	{TOOL "steps: [[echo, \"{{.items}}\"]]\n", NULL},
	{TOOL "steps:\n  - {argv: [echo, force-unlock, -force, {lock: left}], check: true}\n  - [echo]\n", NULL},
	{TOOL UNLOCK("{argv: [echo, force-unlock, -force, {lock: mine}], check: true}"), "tools/t.yaml:6: there is no other lock to name"},
	{TOOL UNLOCK("{argv: [echo, force-unlock, -force, {lock: [left]}], check: true}"), "tools/t.yaml:6: must be"},
	{TOOL UNLOCK("{argv: [echo, force-unlock, -force, {lock: left, if: x}], check: true}"), "tools/t.yaml:6: "},
	{TOOL UNLOCK("{argv: [echo, force-unlock, {lock: left}], check: true}"), "tools/t.yaml:6: a lock that was left can be given to force-unlock alone"},
	{TOOL UNLOCK("{argv: [echo, force-unlock, -force, {lock: left}, x], check: true}"), "to force-unlock alone"},
	{TOOL UNLOCK("{argv: [echo, force-unlock, {lock: left}, -force], check: true}"), "to force-unlock alone"},
	{TOOL UNLOCK("{argv: [echo, force-unlock, -f, {lock: left}], check: true}"), "to force-unlock alone"},
	{TOOL UNLOCK("{argv: [echo, unlock, -force, {lock: left}], check: true}"), "to force-unlock alone"},
	{TOOL UNLOCK("{argv: [echo, -chdir=x, force-unlock, -force, {lock: left}], check: true}"), "to force-unlock alone"},
	{TOOL UNLOCK("{argv: [echo, {lock: left}], check: true}"), "to force-unlock alone"},
	{TOOL UNLOCK("{argv: [echo, force-unlock, -force, {if: o, then: {lock: left}}], check: true}") ASKED, "that may be absent"},
	{TOOL UNLOCK("{argv: [echo, force-unlock, -force, {lock: left}]}"), "tools/t.yaml:6: what takes away a lock that was left is a check"},
	{TOOL UNLOCK("{argv: [echo, force-unlock, -force, {lock: left}], check: false}"), "is a check"},
	{TOOL UNLOCK("[echo, force-unlock, -force, {lock: left}]"), "tools/t.yaml:6: what takes away a lock that was left is a check"},
	{TOOL UNLOCK("{argv: [echo, force-unlock, -force, {lock: left}], check: true, seals: state}"), "is a check, and nothing else"},
	{TOOL UNLOCK("{argv: [echo, force-unlock, -force, {lock: left}], check: true}\n  - {argv: [echo, force-unlock, -force, {lock: left}], check: true}"),
	 "tools/t.yaml:7: a step has taken away the lock already"},
	{TOOL "steps: [{argv: [echo, force-unlock, -force, {lock: left}], check: true}]\n", "no step to do anything"},
	{TOOL "steps: [[echo], {argv: [echo, force-unlock, -force, {lock: left}], check: true}, [echo]]\n", "behind a step that is none"},
	{TOOL "steps: [[echo, {artifact: x}]]\n", "no such artifact"},
	{TOOL "steps: [[echo, {artifact: x}]]\nproduces: {x: x.bin}\n", "no step can make it"},
	{TOOL "steps: [[echo], [echo, {artifact: x}]]\nproduces: {x: x.bin}\n", NULL},
	{TOOL "steps: [[echo], [echo, {artifact: x}]]\nproduces: {x: ../x.bin}\n", "must be a relative path"},
	{TOOL "steps: [[echo, {if: f, then: -x}]]\nparams: {f: {type: boolean, default: false}}\n", NULL},
	{TOOL "steps: [[echo, {if: f, then: -x}]]\nparams: {f: {type: string}}\n", "must name a boolean"},
	{TOOL "steps: [[echo, \"{f}\"]]\nparams: {f: {type: string, optional: true}}\n",
	 "names a parameter that may be absent"},
	{TOOL "steps: [[echo, {if: f, then: \"{f}\"}]]\nparams: {f: {type: string, optional: true}}\n", NULL},
	{TOOL "steps: [[echo, \"{num}\"]]\nparams: {num: {type: integer}}\n", "would be taken for an option"},
	{TOOL "steps: [[echo, \"--n={num}\"]]\nparams: {num: {type: integer}}\n", NULL},
	{TOOL "steps: [[echo, \"{p}\"]]\nparams: {p: {type: plan}}\n", "a plan is no text"},
	{TOOL "steps: [[echo], [other]]\n", "two programs set A_FIXED differently"},
	{TOOL FETCH "]\nworkspace: {tree: ., cwd: a}\n", NULL},
	{TOOL FETCH ", {argv: [echo], keeps: modules}]\nworkspace: {cwd: a}\n", NULL},
	{TOOL FETCH ", {argv: [echo], keeps: providers}]\nworkspace: {cwd: a}\n", "two steps keep the same"},
	{TOOL FETCH ", {argv: [echo], keeps: state}]\nworkspace: {cwd: a}\n", "nothing of this name is kept"},
	{TOOL FETCH "]\n", "a tool that fetches has a directory, and no state"},
	{TOOL FETCH "]\nworkspace: {cwd: a, state: {path: a, access: read}}\n", "a tool that fetches has a directory, and no state"},
	{TOOL FETCH "]\nworkspace: {cwd: a}\nproduces: {x: x.bin}\n", "a tool that fetches has none"},
	{TOOL FETCH ", {argv: [echo], analyse: terraform}]\nworkspace: {cwd: a}\n", "a tool that fetches makes no plan"},
	{TOOL ECHO "params: {p: {type: path}}\n", "no such type"},
	{TOOL ECHO "params: {P: {type: string}}\n", "is no name of a parameter"},
	{TOOL ECHO "params: {p: {type: boolean, pattern: x}}\n", "the type boolean has no \"pattern\""},
	{TOOL ECHO "params: {p: {type: string, pattern: \"(\"}}\n", "is no extended regular expression"},
	{TOOL ECHO "params: {p: {type: string, pattern: \"[[:alpha:]]\"}}\n", "not every reader"},
	{TOOL ECHO "params: {p: {type: string, pattern: \"\\\\d+\"}}\n", "not every reader"},
	{TOOL ECHO "params: {p: {type: string, enum: [a, -b]}}\n", "no call could give this value"},
	{TOOL ECHO "params: {p: {type: string, enum: []}}\n", "names no value"},
	{TOOL ECHO "params: {p: {type: integer, min: 3, max: 2}}\n", "is smaller than min"},
	{TOOL ECHO "params: {p: {type: integer, max: 2, default: 3}}\n", "refuses this default"},
	{TOOL ECHO "params: {p: {type: directory, under: []}}\n", "names no directory"},
	{TOOL ECHO "params: {p: {type: directory, under: [../x]}}\n", "must be a relative path"},
	{TOOL ECHO "params: {p: {type: directory}}\n", "the type directory needs under:"},
	{TOOL "steps: [du -sb]\n", "a step is a list [PROGRAM, ARGUMENT, ...] or a mapping"},
	{TOOL ECHO "params: {p: {type: plan, optional: true}}\n", "a plan is always named"},
	{TOOL ECHO "workspace: {cwd: \"{d}\"}\n", "names no parameter of the type directory"},
	{TOOL ECHO "workspace: {state: {path: ., access: write}}\n", "must be high or apply a sealed plan"},
	{"name: t\ndescription: d\ntier: high\n" ECHO "workspace: {state: {path: ., access: write}}\n", NULL},
	{"name: t\ndescription: d\ntier: high\nsteps: [{argv: [echo], analyse: terraform}]\nworkspace: {state: {path: "
	 "., access: write}}\n",
	 "may not both analyse and change"},
	{TOOL ECHO "params: {p: {type: plan}}\nworkspace: {state: {access: write}}\n", NULL},
	{"name: t\ndescription: d\ntier: medium\n" ECHO "params: {p: {type: plan}}\nworkspace: {state: {access: write}}\n",
	 NULL},
	{"name: t\ndescription: d\ntier: medium\n" ECHO "workspace: {state: {path: ., access: write}}\n",
	 "must be high or apply a sealed plan"},
	{TOOL ECHO "params: {p: {type: plan}}\nworkspace: {cwd: .}\n", "the plan says where it runs"},
	{TOOL ECHO "credentials: [{scope: plain, as: token, env: TOKEN_FILE}]\n", NULL},
	{TOOL ECHO "credentials: [{scope: nosuch, as: token, env: TOKEN_FILE}]\n", "no such scope"},
	{TOOL ECHO "credentials: [{scope: secrets, as: token, env: TOKEN_FILE}]\n", "the tool must be high"},
	{"name: t\ndescription: d\ntier: high\n" ECHO "credentials: [{scope: secrets, as: token, env: TOKEN_FILE}]\n",
	 NULL},
	{TOOL ECHO "credentials: [{scope: plain, as: token, env: OTHER}]\n", "no program of this tool"},
	{TOOL ECHO "credentials: [{scope: plain, as: kubeconfig, env: KUBECONFIG}]\n", "which cluster"},
	{PODS "namespace: web}]\n", NULL},
	{PODS "namespace: other}]\n", "not given for this namespace"},
	{PODS "permissions: [\"pods:get\"]}]\n", "one namespace at a time"},
	{PODS "namespace: \"{p}\", permissions: [\"pods:get\", \"pods:{p}\"]}]\n" ASKED, NULL},
	{PODS "namespace: \"{o}\"}]\n" ASKED, "may be absent"},
	{PODS "namespace: \"{x}\"}]\n" ASKED, "names an unknown parameter"},
	{PODS "namespace: \"{\"}]\n" ASKED, "braces without a name"},
	{PODS "namespace: web, permissions: [\"pods:delete\"]}]\n", "does not grant this"},
	{PODS "namespace: web, permissions: []}]\n", "must be 1 to 64 permissions"},
	{TOOL ECHO "credentials: [{scope: plain, as: token, env: TOKEN_FILE, namespace: web}]\n", "the scope names none"},
	{TOOL ECHO "credentials: [{scope: plain, as: token, env: TOKEN_FILE, permissions: [\"pods:get\"]}]\n",
	 "does not grant this"},
	{TOOL ECHO "credentials: [{scope: patch, as: token, env: TOKEN_FILE}]\n", NULL},
	{TOOL PLANS "credentials: [{scope: patch, as: token, env: TOKEN_FILE}]\n", "can only read"},
	{TOOL PLANS "credentials: [{scope: plain, as: token, env: TOKEN_FILE}]\n", "this scope does not say so"},
	{TOOL PLANS "credentials: [{scope: reader, as: token, env: TOKEN_FILE}]\n", NULL},
	{TOOL PLANS "credentials: [{scope: pods, as: token, env: TOKEN_FILE, namespace: web}]\n", NULL},
	{TOOL "steps: [{argv: [echo], analyse: jq}]\n", "nothing reads this kind of output"},
	{TOOL ECHO "limits: {deadline: 300}\n", "must be a duration"},
	{TOOL ECHO "limits: {pids: 0}\n", "must be within 1 and"},
	{TOOL ECHO "egress: [d1]\nlimits: {connections: 4096, traffic: 1Ki}\n", NULL},
	{TOOL ECHO "egress: [d1]\nlimits: {connections: 4097}\n", "must be within 1 and 4096"},
	{TOOL ECHO "egress: [d1]\nlimits: {connections: 0}\n", "must be within 1 and 4096"},
	{TOOL ECHO "egress: [d1]\nlimits: {traffic: 0}\n", "must be a size"},
	{TOOL ECHO "limits: {connections: 1}\n", "reaches nothing that could be counted"},
	{TOOL ECHO "egress: []\nlimits: {traffic: 1Ki}\n", "reaches nothing that could be counted"},
	{TOOL ECHO "require: {isolation: vm}\n", "no such isolation"},
	{TOOL ECHO "egress: [d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16]\n", NULL},
	{TOOL ECHO "egress: [d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16, d17]\n", "more than 16 destinations"},
	{TOOL ECHO "egress: [\"a:443\"]\n", "is no name of a destination"},
	{TOOL ECHO "when: [{name: r, if: .x, raise: low}]\n", "no tier to raise to"},
	{TOOL ECHO "when: [{name: r, if: .x}]\n", "needs one of"},
	{TOOL ECHO "when:\n  - {name: r, if: \".x ==\", raise: high}\n",
	 "tools/t.yaml:6: this jq expression does not compile"},
	{TOOL ECHO
	 "when: [{name: r, if: '.tool == \"env\" and (.params | has(\"a\")) and .env != .now', raise: high}]\n",
	 NULL},
	{TOOL ECHO "tests: [{expect: maybe}]\n", "no such effect"},
	{TOOL ECHO "params: {camelCase: {type: string}}\n", NULL},
	{TOOL ECHO "output: json\n", NULL},
	{TOOL ECHO "output: xml\n", "no such kind of output"},
	{TOOL "steps: [{argv: [echo], analyse: terraform}]\noutput: json\n", "shows its findings and nothing else"},
	{TOOL ECHO "show: {x: image/png}\n", "no step makes such an artifact"},
	{TOOL ECHO "produces: {x: x.png}\nshow: {x: image/png}\n", NULL},
	{TOOL ECHO "produces: {x: x.png}\nshow: {x: png}\n", "is no media type"},
	{TOOL ECHO "produces: {x: x.png}\nshow: {x: video/mp4}\n", "is no media type"},
	{TOOL ECHO "produces: {x: x.png}\nshow: {x: \"image/png; a=b\"}\n", "is no media type"},
	{TOOL "steps: [{argv: [echo], analyse: terraform}]\nproduces: {x: x.png}\nshow: {x: image/png}\n",
	 "shows its findings and nothing else"},
	{TOOL ECHO "untrusted: true\n", NULL},
	{TOOL ECHO "untrusted: 1\n", "must be true or false"},
	{TOOL ECHO ASKED "ask: [{name: q, message: M, params: [p]}]\n", NULL},
	{TOOL ECHO ASKED "ask: [{name: q, roots: p}]\n", NULL},
	{TOOL ECHO ASKED "ask: [{name: q, message: M}]\n", "a question asks a person for parameters"},
	{TOOL ECHO ASKED "ask: [{name: q, message: M, params: [p], roots: q}]\n", "a question asks a person for parameters"},
	{TOOL ECHO ASKED "ask: [{name: Q, message: M, params: [p]}]\n", "is no name"},
	{TOOL ECHO ASKED "ask: [{name: q, message: M, params: [x]}]\n", "the tool has no such parameter"},
	{TOOL ECHO ASKED "ask: [{name: q, message: M, params: [p]}, {name: r, message: M, params: [p]}]\n",
	 "another question asks for it already"},
	{TOOL ECHO ASKED "ask: [{name: q, message: M, params: [p]}, {name: q, message: M, params: [o]}]\n",
	 "another question has this name"},
	{TOOL ECHO ASKED "ask: [{name: q, message: \"a\\nb\", params: [p]}]\n", "printable bytes on one line"},
	{TOOL ECHO "params: {p: {type: plan}}\nask: [{name: q, message: M, params: [p]}]\n", "a plan is always named"},
	{TOOL ECHO "params: {p: {type: string, form: '{\"type\":\"number\",\"default\":0.5}'}}\n", NULL},
	{TOOL ECHO "params: {p: {type: string, form: '{\"type\":\"object\"}'}}\n", "a form has no field of this type"},
	{TOOL ECHO "params: {p: {type: string, form: '[1]'}}\n", "is no JSON object"},
	{TOOL ECHO "tests: [{given: {tainted: echo}, expect: allow}]\n", NULL},
};

static void test_tool_files(void)
{
	for (size_t i = 0; i < ARRAY_LEN(tool_files); i++) {
		auto_policy policy = {.files = {.count = 0}};
		int result = load(&policy, root_yaml, tool_files[i].tool);
		int good = tool_files[i].says == NULL
				   ? result == 0
				   : result < 0 && err.class == SBX_CONFIG && strstr(err.message, tool_files[i].says);
		CHECK(good);
		if (!good)
			printf("# %s# %s (wanted: %s)\n", tool_files[i].tool, err.message,
			       tool_files[i].says ? tool_files[i].says : "success");
	}
}

/* A rule sees the call and nothing else: each of these words reaches for more. */
static void test_rule_words(void)
{
	static const char *const rules[] = {
		"env",
		"$ENV.HOME",
		"env.X == 1",
		"input",
		"inputs",
		"debug",
		"stderr",
		"now > 1",
		"import \\\"a\\\" as a; true",
		"include \\\"a\\\"; true",
		"input_line_number",
		"$__loc__",
		"getpath([])",
		"input_filename",
		"def f: true; f",
		"\\\"\\\\(env)\\\" == 1",
		"@sh",
		"try error",
		"halt",
		"get_search_list",
		"$__prog_args",
		"true # x",
		"modulemeta",
		"reduce .[] as $x (0; 1)",
		"ltrimstr(env)",
		"..env",
		"limit(1; .)",
		"localtime",
		"splits(1)",
		"`",
		"'",
	};

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		auto_policy policy = {.files = {.count = 0}};
		char text[400];
		snprintf(text, sizeof text, TOOL ECHO "when:\n - {name: r, if: \"%s\", raise: high}\n", rules[i]);
		int refused = load(&policy, root_yaml, text) < 0 && strstr(err.message, "a rule may not use") != NULL;
		CHECK(refused);
		if (!refused)
			printf("# %s: %s\n", rules[i], err.message);
	}
}

static const struct {
	const char *root, *says;
} root_files[] = {
	{"{}", NULL},
	{"nothing: 1\n", "policy.yaml:1: unknown key"},
	{"programs:\n  terraform: {path: terraform}\n", "policy.yaml:2: must be an absolute path"},
	{"programs: {x: {path: /bin/../bin/x}}\n", "must be an absolute path"},
	{"programs: {x: {path: /bin/x, env: {PATH: /x}}}\n", "would change what the program is"},
	{"programs: {x: {path: /bin/x, env: {TF_CLI_ARGS_plan: x}}}\n", "is no name of the environment"},
	{"programs: {x: {path: /bin/x, env: {TF_CLI_ARGS_PLAN: x}}}\n", "would change what the program is"},
	{"programs: {x: {path: /bin/x, env: {TF_REATTACH_PROVIDERS: x}}}\n", "would change what the program is"},
	{"programs: {x: {path: /bin/x, env_allowed: [LD_PRELOAD]}}\n", "would change what the program is"},
	{"programs: {x: {path: /bin/x, env: {TF_HTTP_PASSWORD: hunter2hunter2}}}\n", "would be a secret"},
	{"programs: {x: {path: /bin/x, env: {TF_HTTP_CLIENT_PRIVATE_KEY_PEM: \"-----BEGIN\"}}}\n", "would be a secret"},
	{"programs: {x: {path: /bin/x, env: {AWS_SECRET_ACCESS_KEY: hunter2hunter2}}}\n", "would be a secret"},
	{"programs: {x: {path: /bin/x, env: {GOOGLE_CREDENTIALS: /etc/account.json, NO_TOKEN: \"1\", TOKEN_URL: \"https://a.example\"}}}\n", NULL},
	{"programs: {x: {path: /bin/x, env: {A: b}, env_allowed: [A]}}\n", "has a fixed value"},
	{"programs: {x: {path: /bin/x, mounts: [lib]}}\n", "must be an absolute path"},
	{"programs: {x: {path: /bin/x, mounts: [/dev/shm/x]}}\n", "a place of the sandbox's own"},
	{"programs: {x: {path: /bin/x, mounts: [/tmp]}}\n", "a place of the sandbox's own"},
	{"scopes: {s: {audience: a}}\n", "can read secrets"},
	{"scopes: {s: {audience: {a: b}, reads_secrets: false}}\n", "must be a text, a number"},
	{"scopes: {s: {lifetime: 10, reads_secrets: false}}\n", "must be a duration"},
	{"scopes: {s: {reads_secrets: false, only_reads: 1}}\n", "whether its bearer can only read"},
	{"scopes: {s: {reads_secrets: false, only_reads: false}}\n", NULL},
	{"scopes: {s: {reads_secrets: false, only_reads: true, permissions: [pods:list, pods:patch]}}\n",
	 "the scope says that it only reads"},
	{"scopes: {s: {reads_secrets: false, only_reads: true, permissions: [pods:list]}}\n", NULL},
	{"scopes: {s: {reads_secrets: false, permissions: [pods:list, pods:patch]}}\n", NULL},
	{"scopes: {s: {reads_secrets: false, namespaces: [a, b-c]}}\n", NULL},
	{"scopes: {s: {reads_secrets: false, namespaces: []}}\n", "must name 1 to 64 namespaces"},
	{"scopes: {s: {reads_secrets: false, namespaces: [\"*\"]}}\n", "is no DNS label"},
	{"scopes: {s: {reads_secrets: false, namespaces: web}}\n", "must be a list of texts"},
	{"scopes: {s: {reads_secrets: false, at: \"x-{namespace}\"}}\n", "takes a namespace"},
	{"scopes: {s: {reads_secrets: false, permissions: [\"pods/log:get\", \"deployments.apps/scale:update\"]}}\n", NULL},
	{"scopes: {s: {reads_secrets: false, permissions: [\"pods:*\"]}}\n", "is no permission"},
	{"scopes: {s: {reads_secrets: false, permissions: [pods]}}\n", "is no permission"},
	{"scopes: {s: {reads_secrets: false, permissions: [\"secrets:list\"]}}\n", "lets its bearer read secrets"},
	{"scopes: {s: {reads_secrets: false, permissions: [\"pods/exec:create\"]}}\n", "lets its bearer read secrets"},
	{"scopes: {s: {reads_secrets: true, permissions: [\"secrets:list\"]}}\n", NULL},
	{"tiers: {lowest: {}}\n", "no such tier"},
	{"tiers: {low: {threshold: 1}}\n", "calls of this tier need no approval"},
	{"tiers: {medium: {user_verification: true}}\n", "calls of this tier need no approval"},
	{"tiers: {high: {user_verification: 1}}\n", "must be true or false"},
	{"tiers: {high: {threshold: 0}}\n", "must be within 1 and"},
	{"namespaces: [Web]\n", "is no DNS label"},
	{"agent_writable: [/tmp]\n", "must be a relative path"},
	{"mirror: mirror\n", "must be an absolute path"},
	{"providers: [registry.terraform.io/hashicorp/*]\nmodules: [\"git::https://git.example.com/infra/*\"]\n", NULL},
	{"providers: [hashicorp/aws]\n", "policy.yaml:1: is nothing that can be fetched"},
	{"providers: [\"*/*/*\"]\n", "is nothing that can be fetched"},
	{"providers: x\n", "must be a list of texts"},
	{"modules: [\"git::ssh://git.example.com/*\"]\n", "is nothing that can be fetched"},
	{"modules: [\"git::https://*/infra\"]\n", "is nothing that can be fetched"},
	{"defaults: {limits: {memory: lots}}\n", "must be a size"},
	{"taint: {raise: high, for: 10m}\n", NULL},
	{"taint: {}\n", NULL},
	{"taint: {raise: low}\n", "no tier to raise to"},
	{"taint: {for: 10}\n", "must be a duration"},
	{"taint: {lower: high}\n", "unknown key"},
	{"a: [\n", "policy.yaml:"},
};

static void test_root_files(void)
{
	for (size_t i = 0; i < ARRAY_LEN(root_files); i++) {
		auto_policy policy = {.files = {.count = 0}};
		put("policy.yaml", root_files[i].root);
		int result = policy_load(dir, &policy, &err);
		int good = root_files[i].says == NULL
				   ? result == 0
				   : result < 0 && err.class == SBX_CONFIG && strstr(err.message, root_files[i].says);
		CHECK(good);
		if (!good)
			printf("# %s# %s\n", root_files[i].root, err.message);
	}
}

static void test_files(void)
{
	auto_policy first = {.files = {.count = 0}}, second = {.files = {.count = 0}}, third = {.files = {.count = 0}};
	char path[128];

	CHECK(load(&first, root_yaml, TOOL ECHO) == 0);
	CHECK(load(&second, root_yaml, TOOL ECHO "# one more line\n") == 0);
	CHECK(load(&third, root_yaml, TOOL ECHO) == 0);
	CHECK(strcmp(first.files.sha256, second.files.sha256) != 0);
	CHECK_STR(third.files.sha256, first.files.sha256);
	policy_clear(&third);
	snprintf(path, sizeof path, "%s/tools/t.yaml", dir);
	CHECK(chmod(path, 0666) == 0);
	CHECK(policy_load(dir, &third, &err) < 0);
	CHECK_STR(err.code, "unsafe_file");
	CHECK(err.class == SBX_CONFIG && strstr(err.hint, "chmod go-w") != NULL);
	CHECK(chmod(path, 0600) == 0);
	policy_clear(&third);
	put("tools/t.yml", TOOL ECHO);
	CHECK(policy_load(dir, &third, &err) < 0);
	CHECK(strstr(err.message, "not NAME.yaml") != NULL);
	snprintf(path, sizeof path, "%s/tools/t.yml", dir);
	CHECK(unlink(path) == 0);
	policy_clear(&third);
	for (int len = 64; len <= 65; len++) {
		char name[80];
		snprintf(name, sizeof name, "signals/%.*s.yaml", len, "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn");
		put(name, "rules: []\n");
		sbx_error_clear(&err);
		CHECK((policy_load(dir, &third, &err) == 0) == (len == 64));
		CHECK(len == 64 || strstr(err.message, "not NAME.yaml") != NULL);
		snprintf(path, sizeof path, "%s/%s", dir, name);
		CHECK(unlink(path) == 0);
		policy_clear(&third);
	}
	CHECK(chmod(dir, 0777) == 0);
	sbx_error_clear(&err);
	CHECK(policy_load(dir, &third, &err) < 0);
	CHECK_STR(err.code, "unsafe_file");
	CHECK(chmod(dir, 0700) == 0);
}

/* --- deciding --- */

static int one_path(void *context, const char *workspace, const char *tree, const char *path, enum policy_path kind,
		    struct sbx_error *e)
{
	(void)context;
	(void)workspace;
	(void)tree;
	(void)e;
	if (kind == POLICY_FILE)
		return strcmp(path, "envs/staging/a.yaml") == 0;
	return strcmp(path, "envs/staging") == 0 || strcmp(path, "agent/scratch") == 0 || strcmp(path, ".") == 0;
}

/* Plans of alice: 1…1 (safe), 2…2 (destructive), 3…3 (destroys three objects that hold data), 4…4 (its seal does not say
 * whether it does), 5…5 (safe, of a directory below one that an agent writes). */
static int some_plan(void *context, const char *id, jv *seal, char sha256[65], struct sbx_error *e)
{
	(void)context;
	if (*id < '1' || *id > '5')
		return sbx_fail(e, SBX_DENIED, "plan_unknown", "there is no such plan");
	memset(sha256, *id, 64);
	sha256[64] = '\0';
	jv at = json_set_str(json_set_str(jv_object(), "name", ""), "tree", ".");
	const char *cwd = *id == '5' ? "agent/scratch/deep" : "envs/staging";
	at = json_set_str(json_set_str(at, "cwd", cwd), "state_path", cwd);
	*seal = json_set_str(jv_object(), "principal", "alice");
	*seal = json_set_str(*seal, "verdict", *id == '1' || *id == '5' ? "safe" : "destructive");
	if (*id != '4')
		*seal = json_set_int(*seal, "data_destroyed", *id == '3' ? 3 : 0);
	*seal = json_set_str(*seal, "created_at", "2026-01-01T00:00:00Z");
	*seal = json_set(*seal, "workspace_at", at);
	return 0;
}

static const char *tainted_by;
static const char *root_text = root_yaml;

static int some_taint(void *context, const char *principal, jv *last, struct sbx_error *e)
{
	(void)context;
	(void)principal;
	(void)e;
	*last = tainted_by == NULL ? jv_null()
				   : json_set_int(json_set_str(jv_object(), "tool", tainted_by), "age_s", 60);
	return 0;
}

/* The policy member's canonical text for tool T given as text, and PARAMS as JSON; "CODE" for a denial. */
static const char *decided_by(const char *tool, const char *params, enum policy_typing typing, const char *principal,
			      jv workspaces)
{
	static char out[32768];
	auto_policy policy = {.files = {.count = 0}};
	auto_jv given = jv_invalid(), targets = json_set(jv_object(), "dev", jv_object());
	auto_answer answer = {.params = jv_invalid(), .policy = jv_invalid()};
	auto_buf text = BUF_INIT(sizeof out - 1);
	const struct policy_world world = {
		.path = one_path,
		.plan = some_plan,
		.taint = some_taint,
		.workspaces = workspaces,
		.targets = targets,
		.driver = "local",
		.provider = "jwt",
		.installation = "here",
	};

	if (load(&policy, root_text, tool) < 0 || json_parse(params, strlen(params), LIMIT_CALL, &given, &err) < 0)
		return err.message;
	const struct policy_question question = {
		.tool = "t", .params = given, .typing = typing, .principal = principal};
	if (policy_decide(&policy, &world, &question, &answer, &err) < 0)
		snprintf(out, sizeof out, "error %s", err.code);
	else if (answer.denial.class != SBX_OK)
		snprintf(out, sizeof out, "%s", answer.denial.code);
	else if (json_write(answer.policy, &text, &err) == 0)
		snprintf(out, sizeof out, "%s", buf_str(&text));
	return out;
}

static const char *decided(const char *tool, const char *params)
{
	auto_jv one = json_set_str(jv_object(), "", "/w");

	return decided_by(tool, params, POLICY_TYPED, "alice", one);
}

static int has(const char *text, const char *part)
{
	int found = strstr(text, part) != NULL;

	if (!found)
		printf("# %s\n# lacks %s\n", text, part);
	return found;
}

static const struct {
	const char *declaration; /* of the parameter p */
	const char *value;	 /* JSON */
	int accepted;
} values[] = {
	{"{type: string}", "\"a b\"", 1},
	{"{type: string}", "\"\"", 0},
	{"{type: string}", "\"-x\"", 0},
	{"{type: string}", "\"a\\nb\"", 0},
	{"{type: string}", "\"a\\u0000b\"", 0},
	{"{type: string}", "\"a\\u0085b\"", 0},
	{"{type: string}", "\"a\\u202eb\"", 0},
	{"{type: string}", "5", 0},
	{"{type: string}", "[\"a\"]", 0},
	{"{type: string, max_length: 3}", "\"abc\"", 1},
	{"{type: string, max_length: 3}", "\"abcd\"", 0},
	{"{type: string, pattern: \"a|b\"}", "\"a\"", 1},
	{"{type: string, pattern: \"a|b\"}", "\"ax\"", 0},
	{"{type: string, pattern: \"a|b\"}", "\"xb\"", 0},
	{"{type: string, enum: [a, b]}", "\"b\"", 1},
	{"{type: string, enum: [a, b]}", "\"c\"", 0},
	{"{type: integer, min: 0, max: 9}", "9", 1},
	{"{type: integer, min: 0, max: 9}", "10", 0},
	{"{type: integer, min: 0, max: 9}", "-1", 0},
	{"{type: integer, min: 0, max: 9}", "\"9\"", 0},
	{"{type: boolean}", "true", 1},
	{"{type: boolean}", "\"true\"", 0},
	{"{type: boolean}", "1", 0},
	{"{type: directory, under: [envs/*]}", "\"envs/staging\"", 1},
	{"{type: directory, under: [envs/*]}", "\"envs/absent\"", 0},
	{"{type: directory, under: [envs/*]}", "\"envs/staging/\"", 0},
	{"{type: directory, under: [envs/*]}", "\"envs//staging\"", 0},
	{"{type: directory, under: [envs/*]}", "\"./envs/staging\"", 0},
	{"{type: directory, under: [envs/*]}", "\"envs/./staging\"", 0},
	{"{type: directory, under: [envs/*]}", "\"envs/../envs/staging\"", 0},
	{"{type: directory, under: [envs/*]}", "\"/envs/staging\"", 0},
	{"{type: directory, under: [envs/*]}", "\"agent/scratch\"", 0},
	{"{type: directory, under: [envs/*]}", "\"other:envs/staging\"", 0},
	{"{type: directory, under: [\"*\"]}", "\".\"", 0},
	{"{type: directory, under: [.]}", "\".\"", 1},
	{"{type: dns_label}", "\"web-0\"", 1},
	{"{type: dns_label}", "\"0\"", 1},
	{"{type: dns_label}", "\"web.0\"", 0},
	{"{type: dns_label}", "\"web-\"", 0},
	{"{type: dns_label}", "\"Web\"", 0},
	{"{type: dns_label}", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"", 1},
	{"{type: dns_label}", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"", 0},
	{"{type: dns_subdomain}", "\"web.0-a.b\"", 1},
	{"{type: dns_subdomain}", "\"web..b\"", 0},
	{"{type: dns_subdomain}", "\"web.\"", 0},
	{"{type: dns_subdomain}", "\"secrets/db\"", 0},
	{"{type: dns_subdomain}", "\"a,b\"", 0},
	{"{type: namespace}", "\"web\"", 1},
	{"{type: namespace}", "\"kube-system\"", 0},
	{"{type: target}", "\"dev\"", 1},
	{"{type: target}", "\"prod\"", 0},
	{"{type: plan}", "\"11111111111111111111111111111111\"", 1},
	{"{type: plan}", "\"99999999999999999999999999999999\"", 0},
	{"{type: plan}", "\"1111\"", 0},
	{"{type: plan}", "\"/proc/self/fd/3\"", 0},
};

static void test_values(void)
{
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		char tool[512], params[256];
		snprintf(tool, sizeof tool, TOOL ECHO "params: {p: %s}\n", values[i].declaration);
		snprintf(params, sizeof params, "{\"p\":%s}", values[i].value);
		const char *got = decided(tool, params);
		int accepted = got[0] == '{',
		    refused = strcmp(got, "bad_parameter") == 0 || strcmp(got, "plan_unknown") == 0;
		CHECK(values[i].accepted ? accepted : refused);
		if (!(values[i].accepted ? accepted : refused))
			printf("# %s %s: %s\n", values[i].declaration, values[i].value, got);
	}
}

static void test_params(void)
{
	static const char tool[] =
		TOOL "steps: [[echo, \"{a}\", \"x={num}\", {if: f, then: [-f, \"{a}\"]}, \"{{{a}}}\"]]\n"
		     "params:\n  a: {type: string}\n  num: {type: integer, default: 7}\n  f: {type: boolean, default: "
		     "false}\n";
	auto_jv one = json_set_str(jv_object(), "", "/w");

	CHECK(has(decided(tool, "{\"a\":\"v\"}"), "\"argv\":[\"echo\",\"v\",\"x=7\",\"{v}\"]"));
	CHECK(has(decided(tool, "{\"a\":\"$(x); y\",\"num\":1,\"f\":true}"),
		  "\"argv\":[\"echo\",\"$(x); y\",\"x=1\",\"-f\",\"$(x); y\",\"{$(x); y}\"]"));
	CHECK_STR(decided(tool, "{}"), "missing_parameter");
	CHECK_STR(decided(tool, "{\"a\":\"v\",\"b\":1}"), "unknown_parameter");
	CHECK_STR(decided(tool, "{\"a\":\"v\",\"a\\u0000\":1}"), "unknown_parameter");
	/* Words off a command line are read as the type says. */
	CHECK(has(decided_by(tool, "{\"a\":\"5\",\"num\":\"8\",\"f\":\"true\"}", POLICY_WORDS, "alice", one),
		  "\"argv\":[\"echo\",\"5\",\"x=8\",\"-f\",\"5\",\"{5}\"]"));
	CHECK_STR(decided_by(tool, "{\"a\":\"5\",\"num\":\"08\"}", POLICY_WORDS, "alice", one), "bad_parameter");
	CHECK_STR(decided_by(tool, "{\"a\":\"5\",\"f\":\"yes\"}", POLICY_WORDS, "alice", one), "bad_parameter");
}

static void test_run(void)
{
	static const char plan_tool[] =
		TOOL "params: {d: {type: directory, under: [envs/*, agent/*]}}\n"
		     "workspace: {tree: ., cwd: \"{d}\", state: {path: \"{d}\"}}\n"
		     "steps: [[echo, init], [echo, plan], {argv: [echo, show, {artifact: plan}], analyse: terraform}]\n"
		     "produces: {plan: plan.bin}\n"
		     "credentials: [{scope: reader, as: token, env: TOKEN_FILE}]\n"
		     "limits: {deadline: 20m, memory: 2Gi}\n";
	const char *got = decided(plan_tool, "{\"d\":\"envs/staging\"}");

	CHECK(has(got, "\"effect\":\"allow\""));
	CHECK(has(got, "\"workspace\":{\"cwd\":\"envs/"
		       "staging\",\"name\":\"\",\"state\":{\"access\":\"read\",\"path\":\"envs/staging\"},"
		       "\"tree\":\".\"}"));
	CHECK(has(got, "\"produces\":[{\"name\":\"plan\",\"path\":\"plan.bin\",\"step\":2}]"));
	CHECK(has(got, "{\"argv\":[\"echo\",\"plan\"],\"credentials\":true,\"program\":\"echo\"}"));
	CHECK(has(
		got,
		"{\"analyse\":\"terraform\",\"argv\":[\"echo\",\"show\",{\"artifact\":\"plan\"}],\"credentials\":false,"
		"\"program\":\"echo\"}"));
	CHECK(has(got, "\"deadline_ms\":1200000,\"files\":1024,\"grace_ms\":10000,\"memory\":2147483648"));
	/* The credential outlives deadline and grace by a minute. */
	CHECK(has(got, "\"lifetime_s\":1270,\"provider\":\"jwt\",\"scope\":\"reader\",\"settings\":{\"audience\":\"a\"},"
		       "\"target\":null"));
	CHECK(has(got, "\"credentials_env\":[{\"env\":\"TOKEN_FILE\",\"index\":0}]"));
	CHECK(has(got, "\"env\":{\"A_FIXED\":\"one\"}"));
	CHECK(has(decided(plan_tool, "{\"d\":\"agent/scratch\"}"),
		  "\"tier\":\"high\",\"tier_from\":[\"agent_writable\"]"));
}

/* Where the steps stand counts, not what names it. */
static void test_fixed_place(void)
{
	CHECK(has(decided(TOOL ECHO "workspace: {tree: ., cwd: agent/scratch}\n", "{}"),
		  "\"tier\":\"high\",\"tier_from\":[\"agent_writable\"]"));
	CHECK(has(decided(TOOL ECHO "workspace: {tree: ., cwd: envs/staging}\n", "{}"), "\"tier\":\"low\""));
}

static void test_plans(void)
{
#define PLAN "params: {p: {type: plan}}\nworkspace: {state: {access: write}}\nsteps: [[echo, {artifact: plan}]]\n"
	static const char low[] = TOOL PLAN, medium[] = "name: t\ndescription: d\ntier: medium\n" PLAN;
	static const char high[] = "name: t\ndescription: d\ntier: high\n" PLAN;
	static const char safe[] = "{\"p\":\"11111111111111111111111111111111\"}",
			  bad[] = "{\"p\":\"22222222222222222222222222222222\"}",
			  data[] = "{\"p\":\"33333333333333333333333333333333\"}",
			  old[] = "{\"p\":\"44444444444444444444444444444444\"}",
			  agents[] = "{\"p\":\"55555555555555555555555555555555\"}";
	static const char watched[] = "name: t\ndescription: d\ntier: medium\n" PLAN
				      "when: [{name: lossy, if: .plan.data_destroyed > 2, deny: too much}]\n";
	auto_jv one = json_set_str(jv_object(), "", "/w");

	CHECK(has(decided(low, bad), "\"tier\":\"low\",\"tier_from\":[\"tool\"]"));
	CHECK(has(decided(medium, safe), "\"tier\":\"medium\",\"tier_from\":[\"tool\"]"));
	CHECK(has(decided(medium, safe), "\"effect\":\"allow\""));
	CHECK(has(decided(medium, bad), "\"tier\":\"high\",\"tier_from\":[\"plan\"]"));
	CHECK(has(decided(medium, bad), "\"effect\":\"approve\""));
	CHECK(has(decided(high, bad), "\"tier\":\"high\",\"tier_from\":[\"tool\",\"plan\"]"));
	CHECK(has(decided(medium, data), "\"tier\":\"critical\",\"tier_from\":[\"plan_data\"]"));
	CHECK(has(decided(medium, data), "\"approval\":{\"threshold\":3,\"ttl_s\":600,\"user_verification\":true}"));
	CHECK(has(decided(high, data), "\"tier\":\"critical\",\"tier_from\":[\"plan_data\"]"));
	CHECK(has(decided(low, data), "\"tier\":\"low\",\"tier_from\":[\"tool\"]"));
	/* An apply runs what the agent wrote as a plan of the directory does. */
	CHECK(has(decided(medium, agents), "\"effect\":\"approve\""));
	CHECK(has(decided(medium, agents), "\"tier\":\"high\",\"tier_from\":[\"agent_writable\"]"));
	CHECK(has(decided(low, agents), "\"tier\":\"high\",\"tier_from\":[\"agent_writable\"]"));
	CHECK(has(decided(high, agents), "\"tier\":\"high\",\"tier_from\":[\"tool\",\"agent_writable\"]"));
	CHECK_STR(decided(medium, old), "plan_seal_invalid");
	CHECK_STR(decided(watched, data), "denied");
	CHECK(has(decided(watched, bad), "\"tier\":\"high\""));
	CHECK(has(decided(high, safe), "\"approval\":{\"threshold\":1,\"ttl_s\":1800}"));
	CHECK(has(decided(high, safe),
		  "\"workspace\":{\"cwd\":\"envs/staging\",\"name\":\"\",\"state\":{\"access\":\"write\","
		  "\"path\":\"envs/staging\"},\"tree\":\".\"}"));
	CHECK(has(decided(high, safe),
		  "\"plan\":{\"created_at\":\"2026-01-01T00:00:00Z\",\"id\":\"11111111111111111111111111111111\""));
	CHECK(has(decided(high, safe), "\"grace_ms\":60000"));
	CHECK_STR(decided_by(high, safe, POLICY_TYPED, "bob", one), "plan_unknown");
}

static void test_workspaces(void)
{
	static const char tool[] =
		TOOL ECHO "params: {d: {type: directory, under: [envs/*]}}\nworkspace: {cwd: \"{d}\"}\n";
	static const char fixed[] = TOOL ECHO "workspace: {name: infra}\n";
	auto_jv two = json_set_str(json_set_str(jv_object(), "infra", "/i"), "apps", "/a");

	CHECK(has(decided_by(tool, "{\"d\":\"apps:envs/staging\"}", POLICY_TYPED, "alice", two),
		  "\"workspace\":{\"cwd\":\"envs/staging\",\"name\":\"apps\""));
	CHECK_STR(decided_by(tool, "{\"d\":\"envs/staging\"}", POLICY_TYPED, "alice", two), "bad_parameter");
	CHECK_STR(decided_by(tool, "{\"d\":\"nosuch:envs/staging\"}", POLICY_TYPED, "alice", two), "bad_parameter");
	CHECK(has(decided_by(fixed, "{}", POLICY_TYPED, "alice", two), "\"name\":\"infra\""));
	CHECK_STR(decided(fixed, "{}"), "error no_workspace");
}

/* The value of member KEY in canonical TEXT, for comparing two decisions. */
static const char *member(const char *text, const char *key, char out[65])
{
	char name[64];

	snprintf(name, sizeof name, "\"%s\":\"", key);
	const char *at = strstr(text, name);
	snprintf(out, 65, "%s", at ? at + strlen(name) : "");
	return out;
}

static void test_digests(void)
{
	static const char tool[] = TOOL ECHO "params: {a: {type: string}}\n",
			  slower[] = TOOL ECHO "params: {a: {type: string}}\nlimits: {pids: 5}\n";
	static const char commented[] = TOOL ECHO "params: {a: {type: string}}\n# a comment\n";
	auto_jv one = json_set_str(jv_object(), "", "/w");
	char first[65], again[65], other[65], bob[65], limits[65], comment[65], decision[65], decision_other[65];

	member(decided(tool, "{\"a\":\"x\"}"), "subject_sha256", first);
	member(decided(tool, "{\"a\":\"x\"}"), "subject_sha256", again);
	member(decided(tool, "{\"a\":\"y\"}"), "subject_sha256", other);
	member(decided_by(tool, "{\"a\":\"x\"}", POLICY_TYPED, "bob", one), "subject_sha256", bob);
	member(decided(slower, "{\"a\":\"x\"}"), "subject_sha256", limits);
	member(decided(commented, "{\"a\":\"x\"}"), "subject_sha256", comment);
	member(decided(tool, "{\"a\":\"x\"}"), "decision_sha256", decision);
	member(decided(tool, "{\"a\":\"y\"}"), "decision_sha256", decision_other);
	CHECK(strlen(first) == 64);
	CHECK_STR(again, first);
	CHECK_STR(comment, first);
	CHECK(strcmp(other, first) != 0 && strcmp(bob, first) != 0 && strcmp(limits, first) != 0);
	CHECK_STR(decision_other, decision);
}

static const char *ruled(const char *rule, const char *what)
{
	char tool[1200];

	snprintf(tool, sizeof tool, TOOL ECHO "params: {a: {type: string}}\nwhen: [{name: r, if: '%s', %s}]\n", rule,
		 what);
	return decided(tool, "{\"a\":\"x\"}");
}

static void test_rules(void)
{
	CHECK(has(ruled(".params.a == \"x\"", "raise: high"), "\"tier\":\"high\",\"tier_from\":[\"when:r\"]"));
	CHECK(has(ruled(".params.a == \"y\"", "raise: high"), "\"tier\":\"low\",\"tier_from\":[\"tool\"]"));
	CHECK(has(ruled(".params.a == \"x\"", "raise: medium"), "\"effect\":\"allow\""));
	CHECK(has(ruled("true", "raise: critical"), "\"approval\":{\"threshold\":3,\"ttl_s\":600,\"user_verification\":true}"));
	CHECK(has(ruled("true", "raise: critical"), "\"require\":\"gvisor\""));
	CHECK_STR(ruled(".principal.name == \"alice\"", "deny: never"), "denied");
	CHECK(has(ruled(".principal.name == \"bob\"", "deny: never"), "\"effect\":\"allow\""));
	CHECK(has(ruled(".plan == null and .tool == \"t\"", "raise: high"), "\"tier\":\"high\""));
	/* No answer, two answers, another kind of answer, an error, no end, too much memory: denied. */
	CHECK_STR(ruled(".params | select(false)", "raise: high"), "rule_failed");
	CHECK_STR(ruled("true, true", "raise: high"), "rule_failed");
	CHECK_STR(ruled("false, false", "raise: high"), "rule_failed");
	CHECK_STR(ruled("1", "raise: high"), "rule_failed");
	CHECK_STR(ruled("null", "raise: high"), "rule_failed");
	CHECK_STR(ruled(".params.a.b == 1", "raise: high"), "rule_failed");
	CHECK_STR(ruled("[range(1000000000)] | length > 1", "raise: high"), "rule_failed");
	CHECK(has(ruled("true] , [true", "raise: high"), "/tools/t.yaml:6: this jq expression does not compile"));
}

/* Output that nobody vouches for asks more of what follows, as long as the policy says (some_taint: a minute ago). */
static void test_taint(void)
{
	static const char rule[] = TOOL ECHO "when: [{name: r, if: '.taint != null and .taint.tool == \"web\"', raise: critical}]\n";

	CHECK(has(decided(TOOL ECHO "untrusted: true\n", "{}"), "\"untrusted\":true"));
	CHECK(strstr(decided(TOOL ECHO, "{}"), "untrusted") == NULL);
	CHECK(has(decided(rule, "{}"), "\"tier\":\"low\""));
	tainted_by = "web";
	CHECK(has(decided(TOOL ECHO, "{}"), "\"tier\":\"low\",\"tier_from\":[\"tool\"]"));
	CHECK(has(decided(rule, "{}"), "\"tier\":\"critical\",\"tier_from\":[\"when:r\"]"));
	root_text = "programs: {echo: {path: /bin/echo}}\ntaint: {raise: high}\n";
	CHECK(has(decided(TOOL ECHO, "{}"), "\"tier\":\"high\",\"tier_from\":[\"taint\"]"));
	CHECK(has(decided(rule, "{}"), "\"tier\":\"critical\",\"tier_from\":[\"when:r\"]"));
	root_text = "programs: {echo: {path: /bin/echo}}\ntaint: {raise: high, for: 59s}\n";
	CHECK(has(decided(TOOL ECHO, "{}"), "\"tier\":\"low\""));
	CHECK(has(decided(rule, "{}"), "\"tier\":\"low\""));
	tainted_by = NULL;
	root_text = root_yaml;
}

/* What the list says of it, for the dispatcher. */
static void test_client(void)
{
	static const char tool[] =
		TOOL "steps: [[echo, \"{p}\"]]\nparams:\n  p: {type: string, enum: [a, b], max_length: 5, description: D}\n"
		     "  num: {type: integer, min: 1, max: 3, default: 2}\n"
		     "  f: {type: string, optional: true, form: '{\"type\":\"number\",\"default\":0.5}'}\n"
		     "  f2: {type: string}\n"
		     "ask: [{name: q, message: Which?, params: [p, num, f]}, {name: r, roots: f2}]\n";
	auto_policy policy = {.files = {.count = 0}};
	auto_jv targets = jv_object(), nothing = jv_object();
	const struct policy_world world = {.targets = targets};
	auto_buf out = BUF_INIT(16384);

	CHECK(load(&policy, root_yaml, tool) == 0);
	auto_jv list = policy_list(&policy, &world, nothing);
	CHECK(json_write(list, &out, &err) == 0);
	/* What the client may ask for is not required of the model. */
	CHECK(strstr(buf_str(&out), "\"required\":[\"f2\"") == NULL);
	CHECK(has(buf_str(&out), "\"f\":\"{\\\"type\\\":\\\"number\\\",\\\"default\\\":0.5}\""));
	CHECK(has(buf_str(&out), "\"required\":[\"p\"]"));
	CHECK(has(buf_str(&out), "\\\"enum\\\":[\\\"a\\\",\\\"b\\\"]"));
	CHECK(has(buf_str(&out), "\\\"maximum\\\":3"));
	CHECK(has(buf_str(&out), "{\"fields\":{},\"name\":\"r\",\"required\":[],\"roots\":\"f2\"}"));
}

int main(void)
{
	char tools[64], signals[64];

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(tools, sizeof tools, "%s/tools", dir);
	CHECK(mkdir(tools, 0700) == 0);
	snprintf(signals, sizeof signals, "%s/signals", dir);
	CHECK(mkdir(signals, 0700) == 0);
	test_root_files();
	test_tool_files();
	test_rule_words();
	test_files();
	test_values();
	test_params();
	test_run();
	test_fixed_place();
	test_plans();
	test_workspaces();
	test_digests();
	test_rules();
	test_taint();
	test_client();
	sbx_error_clear(&err);
	CHECK(io_remove_tree(AT_FDCWD, dir, &err) == 0);
	return unit_done();
}
