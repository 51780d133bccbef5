/* What the policy_*.c files share with each other. */
#ifndef SBX_POLICY_IMPL_H
#define SBX_POLICY_IMPL_H

#include "policy.h"
#include "policy_schema.h"

/* --- policy_types.c, policy_describe.c: types of parameters --- */

enum {
	PARAM_LABEL_MAX = 63,	   /* RFC 1123 */
	PARAM_SUBDOMAIN_MAX = 253, /* RFC 1123 */
	PARAM_PATTERN_MAX = 512,   /* regcomp's tables grow with the pattern */
};

enum param_type {
	PARAM_STRING,
	PARAM_INTEGER,
	PARAM_BOOLEAN,
	PARAM_DIRECTORY,
	PARAM_FILE,
	PARAM_PLAN,
	PARAM_DNS_LABEL,
	PARAM_DNS_SUBDOMAIN,
	PARAM_NAMESPACE,
	PARAM_TARGET,
	PARAM_TYPES
};

/* The type of a checked declaration. */
enum param_type param_type(jv declaration);
/* Check the declaration of one parameter. */
int param_check(const struct schema *s, const struct yaml_at *at, jv declaration);
/* 1 when a call must give it: neither a default nor optional. 1 when it may be absent after defaults: optional without
 * a default. */
int param_is_required(jv declaration);
int param_may_be_absent(jv declaration);

/* Take VALUE for parameter NAME: typed into *OUT. What the declaration and policy.yaml alone say is checked, not the
 * world. -1 with "bad_parameter" (77) and what would be accepted. */
int param_take(jv root, const char *name, jv declaration, jv value, enum policy_typing typing, jv *out,
	       struct sbx_error *err);
/* What is accepted, for people: "one of …", "a directory below …". */
void param_describe(jv root, jv declaration, char *out, size_t size);
/* JSON Schema of it. */
jv param_schema(jv root, jv targets, jv declaration);
/* 1 when TEXT is a DNS label (RFC 1123); NULL is none. */
int param_is_label(const char *text);
/* The value of a directory or file in two: the workspace's name ("" without one) into NAME, and the path, borrowed from
 * VALUE; NULL when it is malformed. */
const char *param_path(const char *value, char *name, size_t size);
/* 1 for the types whose values are such paths. */
int param_is_path(jv declaration);

/* --- policy_root.c: policy.yaml --- */

int root_check(const struct schema *s, jv root);
/* The members "limits" and "require" that policy.yaml and a tool may both have. */
int root_check_limits(const struct schema *s, const struct yaml_at *up, jv parent);
int root_check_require(const struct schema *s, const struct yaml_at *up, jv parent);
/* How many people must sign a call of TIER, which is high or critical. */
int64_t root_threshold(jv root, enum tier tier);
/* What untrusted output does to the calls after it, from "taint" of policy.yaml: the tier (TIER_LOW: nothing), and how
 * long it counts. */
void root_taint(jv root, enum tier *raise, int64_t *for_s);

extern const struct field limit_fields[];
enum { LIMIT_FIELDS = 10 };

/* --- policy_tool.c: tools/NAME.yaml --- */

/* TEXT checked as tool NAME. */
int tool_check(const struct schema *s, jv root, const char *name, jv tool);
/* The name of the tool's parameter of TYPE, as a heap string of the caller; NULL if there is none (the first in byte
 * order if several). */
char *tool_param_of(jv tool, enum param_type type);

/* --- policy_client.c: what a client gets beside text --- */

/* Check "output", "show" and "ask". */
int client_check(const struct schema *s, jv tool);
/* Check the JSON text of a parameter's "form". */
int client_check_form(const struct schema *s, const struct yaml_at *at, const char *form);
/* 1 when a question asks for PARAM, so that a call may come without it. */
int client_asks(jv tool, const char *param);
/* Add to policy.run what concerns it: "output", "show", "untrusted"; and to an entry of the list: "ask". Both consume
 * their first argument. */
jv client_run(jv run, jv tool);
jv client_list(jv entry, jv root, jv targets, jv tool);

/* --- policy_slots.c: argv templates; policy_steps.c: the steps that they stand in --- */

/* Check a text with {param} in it, for the parameters PARAMS of a tool. */
int slots_check_template(const struct schema *s, const struct yaml_at *at, jv params, const char *template);
/* The only step that {lock: left} may stand in. */
extern const char policy_unlock_form[];
/* Check the argv of one step of TOOL. */
int slots_check_argv(const struct schema *s, const struct yaml_at *at, jv root, jv tool, jv argv);
/* Check the steps and produces of a tool. */
int steps_check(const struct schema *s, jv root, jv tool);
/* 1 when a step's output is read by sbx-plan. */
int steps_analyse(jv tool);
/* Which step makes artifact NAME, counted from 1: the last one before its first use, else the last one. 0: the first
 * step uses it. */
int steps_producer(jv tool, const char *name);
/* Every {param} of TEMPLATE replaced, by the typed PARAMS: a heap string of the caller. -1 "bad_parameter" (77) when a
 * value would make the argument an option. */
int slot_render(const char *template, jv params, jv declarations, char **out, struct sbx_error *err);
/* The name in a template that is just "{name}", into OUT; -1 for anything else. */
int slot_whole(const char *template, char *out, size_t size);
/* The argv of one step with everything resolved. */
int slots_resolve(jv tool, jv step, jv params, jv *argv, struct sbx_error *err);
/* The parts of a step, which is a list or a mapping: its argv (the caller's); 1 when it is a check. */
jv step_argv(jv step);
int step_checks(jv step);

/* --- policy_scope.c, policy_grant.c: what a credential may do, and for which call --- */

/* In a text among the settings of a scope: the namespace of the call. */
#define SCOPE_NAMESPACE_SLOT "{namespace}"

/* Check one of scopes: in policy.yaml. */
int scope_check(const struct schema *s, const struct yaml_at *at, const char *name, jv scope);
/* Check "credentials" of a tool of TIER: each names a scope, a namespace and permissions that the scope has. */
int scope_check_credentials(const struct schema *s, jv root, jv tool, enum tier tier);

/* 1 when one of LIST, strings, is TEXT. */
int scope_lists(jv list, const char *text);

struct scope_call {
	jv tool, params, target, run_limits; /* borrowed; PARAMS typed, RUN_LIMITS as in policy.run */
};
/* The member "credentials" of the decision, and by which names the steps find them (both the caller's). "scope_denied"
 * (77) when the parameters ask for a namespace or a permission that the scope has not; then neither is touched. */
int scope_resolve(const struct policy_world *world, jv root, const struct scope_call *call, jv *credentials, jv *env,
		  struct sbx_error *err);

/* --- policy_egress.c: where a tool's steps may connect to --- */

/* Check one of egress: in policy.yaml. */
int egress_check(const struct schema *s, const struct yaml_at *at, const char *name, jv entry);
int egress_check_tool(const struct schema *s, jv tool);
/* 1 when the driver's relay joins what the steps of TOOL connect to, and counts it. */
int egress_is_relayed(const struct policy_world *world, jv tool);
/* The member "destinations" of policy.run (the caller's), for the local driver: {NAME: {to: "HOST:PORT", private}} with each name of the
 * tool's egress: that policy.yaml has, and with kubernetes-api, the server of TARGET. */
jv egress_resolve(const struct policy_world *world, jv root, jv tool, jv target);

/* --- policy_fetch.c: fetching Terraform's providers and modules --- */

/* Check providers: and modules: of policy.yaml; a tool whose steps keep what they fetch; "keeps" of one step. */
int fetch_check(const struct schema *s, jv root);
int fetch_check_tool(const struct schema *s, jv tool);
int fetch_check_keeps(const struct schema *s, const struct yaml_at *up, jv step);
/* The program that terraform starts by itself in a tool that fetches modules; a constant, or NULL. */
const char *fetch_program(jv root, jv tool);
/* The member "fetch" of policy.run (the caller's): {providers, modules}, the lists; null where there is neither, and for a tool
 * without a workspace. */
jv fetch_resolve(jv root, jv tool);

/* --- policy_run.c --- */

/* The members "run" (without "require") and "credentials" for typed PARAMS; SEAL is the named plan's, or invalid. */
int run_resolve(const struct policy *policy, const struct policy_world *world, jv tool, jv params, jv seal, jv *run,
		jv *credentials, struct sbx_error *err);
/* The isolation that a call of this tier needs; a constant. */
const char *run_require(jv root, jv tool, enum tier tier);
/* The fixed environment of all programs that TOOL starts (the caller's); *CONFLICT (the caller's) is a name that two of
 * them set differently, or NULL. */
jv run_environment(jv root, jv tool, char **conflict);

/* --- policy_when.c: jq expressions --- */

/* Refuse every word that is not on the list of what a rule may use. */
int when_check_text(const struct schema *s, const struct yaml_at *at, const char *expression);
/* 0 when it compiles. */
int when_compiles(const char *expression, struct sbx_error *err);

struct when_outcome {
	enum tier raise; /* TIER_LOW: nothing */
	jv raised;	 /* array of {name, tier}: the rules that raised */
	char denied[80]; /* name of the rule that denied, or whose expression failed */
};
/* Evaluate the rules of TOOL on INPUT; fills an empty OUTCOME, also on error. A rule that denies or fails: -1 with
 * "denied" or "rule_failed" (77). */
int when_evaluate(jv tool, jv input, struct when_outcome *outcome, struct sbx_error *err);
void when_outcome_clear(struct when_outcome *outcome);
#define auto_outcome __attribute__((cleanup(when_outcome_clear))) struct when_outcome

/* --- policy_decide.c, policy_outcome.c --- */

/* One decision under way. */
struct deciding {
	const struct policy *policy;
	const struct policy_world *world;
	const struct policy_question *question;
	jv tool, declarations; /* owned */
	jv params;	       /* owned: typed so far */
	jv seal;	       /* owned: of the named plan, or invalid */
	char seal_sha256[65];
	jv taint;	/* owned: {tool, age_s} of untrusted output that the principal has read of late, or null */
	char rule[160]; /* which rule decided */
};

/* The member "policy" of a call that nothing refused. Consumes RUN and CREDENTIALS. */
int outcome_build(const struct deciding *d, const struct when_outcome *outcome, jv run, jv credentials, jv *out,
		  struct sbx_error *err);

#endif
