/* The layout of a signal table: one block in the byte order of the machine that made it, sections
 * of fixed-size entries behind a head. Made by signal_compile_table.c, checked once by
 * signal_table.c, read by signal_match*.c; the meaning of it all is in sbx-policy(5), "Signals". */
#ifndef SBX_SIGNAL_FORMAT_H
#define SBX_SIGNAL_FORMAT_H

#include <stdint.h>

#include "signal_table.h"

#define SIGNAL_MAGIC "sbxsgnl" /* and its NUL */
#define SIGNAL_ORDER 0x01020304u
/* Raised with every change of the layout or of what an entry means. */
#define SIGNAL_VERSION 1u

enum {
	SIGNAL_DEPTH = 8, /* nesting of conditions: the matcher recurses */
	SIGNAL_DOCUMENTS =
		2, /* documents in strings inside each other: the matcher holds a tree for each */
	SIGNAL_STEPS = 16, /* of a path, with that of `each` before it: PLAN_PLACES */
};
/* The file in cache/POLICY_SHA256/ of the state directory. */
#define SIGNAL_CACHE_NAME "signals"
/* Of the whole block: a thousand rules have some 200 KB. */
#define SIGNAL_TABLE_MAX ((size_t)4 << 20)

/* Bytes of the section `text`, with a NUL behind them. */
struct signal_text {
	uint32_t at, len;
};
/* Entries of one section. */
struct signal_range {
	uint32_t first, count;
};

enum signal_section {
	SIGNAL_TYPES,	   /* struct signal_type: exact names, ascending */
	SIGNAL_GLOBS,	   /* struct signal_type: names with *, ascending */
	SIGNAL_LISTS,	   /* uint32_t: indexes of rules, ascending in each list */
	SIGNAL_RULES,	   /* struct signal_rule, in the order of the files */
	SIGNAL_CONDITIONS, /* struct signal_condition */
	SIGNAL_PATHS,	   /* struct signal_step */
	SIGNAL_VALUES,	   /* struct signal_value */
	SIGNAL_TEXTS,	   /* bytes */
	SIGNAL_SECTIONS
};

struct signal_head {
	char magic[8];
	uint32_t order, version;
	uint32_t size;		  /* of the whole block */
	unsigned char sha256[32]; /* of all that follows */
	struct {
		uint32_t at, count;  /* offset in the block; entries */
	} sections[SIGNAL_SECTIONS]; /* one behind the other */
};

struct signal_type {
	struct signal_text name;
	struct signal_range rules; /* in SIGNAL_LISTS */
	uint32_t holds_data;	   /* 1 or 0 */
};

#define SIGNAL_ALWAYS UINT32_MAX

struct signal_rule {
	struct signal_text signal, text;
	uint32_t verdict;	  /* enum plan_verdict: PLAN_REVIEW or PLAN_DESTRUCTIVE */
	uint32_t on;		  /* of enum signal_action */
	uint32_t relative;	  /* 1: names was, shrinks, grows, changes or appears */
	uint32_t when;		  /* index of its condition, or SIGNAL_ALWAYS */
	struct signal_range each; /* in SIGNAL_PATHS; none: the rule is about the object */
	struct signal_range key;  /* in SIGNAL_VALUES; none: the whole element */
};

enum signal_condition_kind { SIGNAL_ALL, SIGNAL_ANY, SIGNAL_NONE, SIGNAL_AT, SIGNAL_WAS };
enum signal_test {
	SIGNAL_IS,
	SIGNAL_LIKE,
	SIGNAL_LIKE_NOCASE,
	SIGNAL_UNLIKE,
	SIGNAL_UNLIKE_NOCASE,
	SIGNAL_SET,
	SIGNAL_BELOW,
	SIGNAL_ABOVE,
	SIGNAL_SHRINKS,
	SIGNAL_GROWS,
	SIGNAL_CHANGES,
	SIGNAL_APPEARS,
	SIGNAL_PREFIX_BELOW,
	SIGNAL_TESTS
};

/* Conditions are trees in the order of their text: what belongs to one stands between it and its
 * END, and the rules' conditions stand one behind the other in the order of the rules. So every
 * condition belongs to exactly one other condition or rule. */
struct signal_condition {
	uint32_t kind; /* enum signal_condition_kind */
	uint32_t end;  /* the index behind its last part */
	/* SIGNAL_AT and SIGNAL_WAS */
	uint32_t test;		    /* enum signal_test */
	struct signal_range path;   /* in SIGNAL_PATHS; none: the value itself */
	struct signal_range values; /* in SIGNAL_VALUES: IS, *LIKE*; BELOW and ABOVE: one */
	uint32_t number;	    /* SET: 1 or 0; PREFIX_BELOW */
	uint32_t known;		    /* 1: what is known after apply only does not count */
};

enum signal_step_kind {
	SIGNAL_NAME,	 /* member NAME */
	SIGNAL_INDEX,	 /* element INDEX */
	SIGNAL_ELEMENTS, /* each element */
	SIGNAL_MEMBERS,	 /* each member */
	SIGNAL_JSON,	 /* the value in a string */
};
struct signal_step {
	uint32_t kind;
	struct signal_text name;
	uint32_t index;
};

enum signal_value_kind { SIGNAL_WORD, SIGNAL_NUMBER };
struct signal_value {
	uint32_t kind; /* NUMBER: the text is a decimal number */
	struct signal_text text;
};

/* The sections of a table that was opened. */
struct signal_view {
	const struct signal_type *types, *globs;
	const uint32_t *lists;
	const struct signal_rule *rules;
	const struct signal_condition *conditions;
	const struct signal_step *steps;
	const struct signal_value *values;
	const char *text;
	uint32_t type_count, glob_count, rule_count;
};
/* All zero for an empty table. */
struct signal_view signal_view(const struct signal_table *table);

/* The entry of exactly this type, or NULL. */
const struct signal_type *signal_find_type(const struct signal_view *view, const char *type,
					   size_t len);

/* 1 when all of TEXT matches PATTERN: * is any run of bytes, \* and \\ are themselves. */
enum signal_case { SIGNAL_EXACT_CASE, SIGNAL_ANY_CASE /* of ASCII */ };
int signal_glob(const char *pattern, size_t pattern_len, const char *text, size_t len,
		enum signal_case how);

#endif
