/* The first pass over a plan: is it one (version, members, kinds), and what its parts say about each other, whatever
 * their order: which objects resource_changes names, which resources run provisioners, which arguments refer to
 * something, which outputs are declared sensitive. */
#ifndef SBX_PLAN_SURVEY_H
#define SBX_PLAN_SURVEY_H

#include "plan_scan.h"

#define PLAN_VERSION_SIZE 16
#define PLAN_TOOL_VERSION_SIZE 64

/* What a hash stands for goes in as its start, so that one kind of name cannot pass for another. */
enum plan_hash_kind { PLAN_HASH_ADDRESS = 1, PLAN_HASH_CONFIG = 2, PLAN_HASH_OUTPUT = 3, PLAN_HASH_PATH = 4, PLAN_HASH_INPUT = 5 };

struct plan_survey {
	char format_version[PLAN_VERSION_SIZE];
	char terraform_version[PLAN_TOOL_VERSION_SIZE]; /* "" when the plan does not say */
	int errored;
	int complete;			   /* 1 also when the plan does not say (before Terraform 1.8, and OpenTofu) */
	uint64_t unlisted;		   /* managed objects of prior_state that no change names */
	struct plan_list spans;		   /* where the long members of the document begin and end (plan_skip_known) */
	struct plan_list quiet;		   /* where runs of quiet entries begin and end (plan_entries.h) */
	uint64_t quiet_count;		   /* of so many */
	struct hash_set listed;		   /* addresses (and previous ones) that a change or a deferred change names */
	struct hash_set configured;	   /* configuration addresses */
	struct hash_set provisioned;	   /* configuration addresses with a provisioner */
	struct hash_set named;		   /* plan_survey_argument of each argument and block of a resource */
	struct hash_set blocks;		   /* plan_survey_blocks of each kind of block, with their number */
	struct hash_set referring;	   /* of each that is no constant: it refers to something, or calls a function */
	struct hash_set opaque;		   /* of each of these that may be anything (plan_config.c) */
	struct hash_set above_referring;   /* and of each block that has such an argument in it */
	struct hash_set sensitive_outputs; /* names */
	struct hash_set sensitive_inputs;  /* names of variables of the root module */
};

/* Read the whole of S, which must be at its beginning, into SURVEY (zeroed; it owns its sets afterwards, also on
 * failure). Refusals (65): "json_*", "plan_kind", "plan_version" (none, or one that is not known), "plan_is_state" (a
 * state dump), "plan_member" (planned_values or configuration is missing), "plan_unlisted" (planned_values has an
 * object that resource_changes does not name), "plan_malformed" (a change without an address). */
int plan_survey_read(struct plan_scan *s, struct plan_survey *survey, struct sbx_error *err);
void plan_survey_clear(struct plan_survey *survey);

/* COUNT blocks of the kind ARGUMENT; PLAN_SOME_BLOCKS: any number. */
#define PLAN_SOME_BLOCKS UINT64_MAX
static inline uint64_t plan_survey_blocks(const struct key_seed *seed, uint64_t argument, uint64_t count)
{
	return key_hash(seed, ~argument, (const char *)&count, sizeof count);
}

/* The argument of configuration address CONFIG whose names hash to NAMES: the first name behind PLAN_HASH_PATH, each
 * next one behind that. */
static inline uint64_t plan_survey_argument(const struct key_seed *seed, uint64_t config, uint64_t names)
{
	return key_hash(seed, config, (const char *)&names, sizeof names);
}

#endif
