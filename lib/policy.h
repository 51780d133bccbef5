/* Tools as data (design section 4): policy.yaml and tools/NAME.yaml, the decision about one call, the list of tools,
 * their inline tests. The file format is in sbx-policy(5). Nothing here reads a workspace or the state directory
 * itself: the world comes as callbacks, so that the inline tests decide by the same code against a described one. */
#ifndef SBX_POLICY_H
#define SBX_POLICY_H

#include "json.h"
#include "plan.h"
#include "policy_files.h"
#include "state.h"

enum tier { TIER_LOW, TIER_MEDIUM, TIER_HIGH, TIER_CRITICAL, TIERS };
const char *tier_name(enum tier tier);
int tier_parse(const char *name, enum tier *tier); /* 0 or -1 */

struct policy {
	struct policy_files files;
	jv root;  /* policy.yaml, checked */
	jv tools; /* object: the tools that were read so far, checked */
};

/* Read every file of the directory DIR and check policy.yaml. POLICY must be zeroed; it owns its fields afterwards.
 * Every fault is class 78: "policy_invalid" with FILE:LINE and a hint that mends it, "yaml_*", "missing_file",
 * "unsafe_file". */
int policy_load(const char *dir, struct policy *policy, struct sbx_error *err);
void policy_clear(struct policy *policy);
#define auto_policy __attribute__((cleanup(policy_clear))) struct policy

/* Read and check tool NAME: 1 and *TOOL (the caller's), 0 when there is no such file (any text is a fine NAME), -1: as
 * policy_load, and "signals_missing" (78) when it judges plans and there is no directory of rules. */
int policy_tool(struct policy *policy, const char *name, jv *tool, struct sbx_error *err);
/* Read and check all of them. POLICY_WITH_RULES also compiles every when: rule, which costs some 20 ms each: for a policy that was not tested yet. */
enum policy_depth { POLICY_FILES, POLICY_WITH_RULES };
int policy_load_tools(struct policy *policy, enum policy_depth depth, struct sbx_error *err);

enum policy_path { POLICY_DIRECTORY, POLICY_FILE };

/* What a decision knows about the world; all borrowed. */
struct policy_world {
	void *context;
	/* 1 when PATH is one of KIND in TREE of WORKSPACE, reached without a symlink; 0 if not; -1. */
	int (*path)(void *context, const char *workspace, const char *tree, const char *path, enum policy_path kind,
		    struct sbx_error *err);
	/* As plan_find. */
	int (*plan)(void *context, const char *id, jv *seal, char seal_sha256[65], struct sbx_error *err);
	/* As taint_find. */
	int (*taint)(void *context, const char *principal, jv *last, struct sbx_error *err);
	jv workspaces; /* object by name; the key "" when there is one root */
	jv targets;    /* object by name */
	const char *driver;
	const char *provider; /* for scopes that name none */
	const char *installation;
};

enum policy_typing {
	POLICY_TYPED, /* parameters are JSON values */
	POLICY_WORDS, /* every parameter is a string off the command line: integers and booleans are read from it */
};

struct policy_question {
	const char *tool;
	jv params; /* an object; borrowed */
	enum policy_typing typing;
	const char *principal;
};

struct policy_answer {
	jv params;		 /* typed and with defaults; as given when denied */
	jv policy;		 /* the call's member "policy" */
	struct sbx_error denial; /* class 77 when the effect is deny, else empty */
};
void policy_answer_clear(struct policy_answer *answer);
#define auto_answer __attribute__((cleanup(policy_answer_clear))) struct policy_answer

/* Decide. 0: ANSWER (which must be empty, all zero) holds allow, approve or deny. -1: no decision was possible (class
 * 78, 71, …). */
int policy_decide(struct policy *policy, const struct policy_world *world, const struct policy_question *question,
		  struct policy_answer *answer, struct sbx_error *err);

/* The answer in words, for people: decision, reasons, exact arguments, mounts, limits, credentials. */
int policy_explain(const struct policy_question *question, const struct policy_answer *answer, struct buf *out,
		   struct sbx_error *err);

/* {"tools":[…]}: name, title, description, tier, inputSchema (JSON Schema 2020-12), annotations; by name, without the
 * tools in SKIP (an object with their names as keys). All tools must be loaded. */
jv policy_list(const struct policy *policy, const struct policy_world *world, jv skip);

/* Run every inline test of every tool; EACH gets one line's worth: PROBLEM is NULL for a test that passed. FAILED gets
 * an object with the names of tools that have a failing test. Loads the tools. */
int policy_run_tests(struct policy *policy,
		     void (*each)(void *context, const char *tool, int number, const char *problem), void *context,
		     jv *failed, struct sbx_error *err);

/* The names of tools that are not served, from the cache in the state directory; for a new digest of the policy the
 * signals are compiled and the tests run first: the table is kept as cache/DIGEST/signals (signal_compile.h), the outcome
 * of the tests in cache/DIGEST/tests. */
int policy_tested(struct policy *policy, const struct state *state, jv *failed, struct sbx_error *err);

#endif
