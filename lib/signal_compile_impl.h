/* What the signal_compile*.c share with each other. */
#ifndef SBX_SIGNAL_COMPILE_IMPL_H
#define SBX_SIGNAL_COMPILE_IMPL_H

#include "policy_schema.h"
#include "signal_compile.h"
#include "signal_format.h"
#include "signal_match.h"

/* A file under "signals/", parsed. */
struct signal_file {
	const char *name; /* borrowed: "signals/NAME.yaml" */
	struct schema schema;
	jv root; /* owned */
};

/* The sections of a table in the making; every buffer holds entries of one. */
struct signal_draft {
	struct buf rules, conditions, steps, values, texts;
	struct buf uses; /* struct signal_use */
	jv interned;	 /* text to its place in texts */
};

/* Where examples go; NULL for EACH: the first one that does not hold is the error. */
struct signal_reporter {
	const char *file; /* the name of the one under test */
	void (*each)(void *context, const char *name, int number, const char *problem);
	void *context;
	int failed;
};

/* That rule RULE is about a type, or, with SIGNAL_HOLDS_DATA, that it holds data. */
#define SIGNAL_HOLDS_DATA UINT32_MAX
struct signal_use {
	struct signal_text type;
	uint32_t rule;
};

/* In signal_compile_table.c. */

void draft_init(struct signal_draft *draft);
void draft_clear(struct signal_draft *draft);
/* Add an entry of SIZE bytes to SECTION; its index into *INDEX, which may be NULL. */
int draft_add(struct buf *section, const void *entry, size_t size, uint32_t *index,
	      struct sbx_error *err);
int draft_text(struct signal_draft *draft, const char *text, size_t len, struct signal_text *out,
	       struct sbx_error *err);
/* The value: a text, a truth value as its word, or an integer. */
int draft_value(struct signal_draft *draft, jv value, struct sbx_error *err);
int draft_use(struct signal_draft *draft, const char *type, uint32_t rule, struct sbx_error *err);
uint32_t draft_count(const struct buf *section, size_t size);
/* The block, behind what OUT holds. */
int draft_finish(struct signal_draft *draft, struct buf *out, struct sbx_error *err);

/* In signal_compile_path.c. */

/* The steps of the path that is the member KEY of PARENT; *RANGE. */
int compile_path(const struct schema *s, const struct yaml_at *up, jv parent, const char *key,
		 struct signal_draft *draft, struct signal_range *range);
/* How many documents it enters; and 1 when it names several elements or members, or a document in
 * each of several. */
struct path_facts {
	uint32_t documents;
	int is_many, is_many_documents;
};
struct path_facts path_facts(const struct signal_draft *draft, struct signal_range range);
/* 1 when TEXT is a name that stands in a path without quotes. */
int path_is_name(const char *text);

/* In signal_compile_condition.c. */

/* What a rule may still use, and what its conditions turned out to name. */
struct condition_terms {
	uint32_t steps, documents; /* those of `each` */
	int is_relative; /* out: 1 when it names was, shrinks, grows, changes or appears */
};
int compile_condition(const struct schema *s, const struct yaml_at *at, jv value,
		      struct signal_draft *draft, struct condition_terms *terms);

/* In signal_compile_rule.c. */

/* A file's holds_data and rules into DRAFT. */
int compile_file(const struct signal_file *file, struct signal_draft *draft);
/* 1 when TYPES, a checked list, names TYPE or has a pattern for it. */
int types_include(jv types, const char *type);
/* 1 when a type is a pattern. */
int type_is_pattern(const char *type);

/* In signal_compile_example.c. */

/* Run the examples of the rule at AT, which has the index NUMBER in TABLE. */
int run_examples(const struct schema *s, const struct yaml_at *at, jv rule,
		 struct signal_matcher *matcher, uint32_t number, struct signal_reporter *reporter);
/* The shape of `examples`. */
int check_examples(const struct schema *s, const struct yaml_at *up, jv rule);

#endif
