/* What the signal_match*.c share with each other. */
#ifndef SBX_SIGNAL_MATCH_IMPL_H
#define SBX_SIGNAL_MATCH_IMPL_H

#include "signal_format.h"
#include "signal_match.h"

/* In the order of strength: of several values the strongest answer counts. */
enum truth { TRUTH_NO, TRUTH_UNKNOWN, TRUTH_YES };

/* Which of the two objects a value comes from. */
enum side { SIDE_NEW, SIDE_OLD, SIDES };

/* A document in a string, parsed once as long as the same string is asked for. */
struct document {
	struct plan_tree tree;
	const struct plan_node *source; /* the string; NULL: none */
	uint64_t of, number; /* number of the tree that the string is in; number of this one, never
				twice */
	int is_good;	     /* 0: the string is no JSON */
};

/* A part of the old value. */
struct held {
	const struct plan_node *node;
	uint64_t hash;	  /* of what tells it apart */
	enum truth truth; /* whether the condition held for it */
	int is_paired;
	uint32_t next; /* index of the next one of its chain, plus 1 */
};

/* Parts of the old value, found by their hashes, so that the work grows with their number and not
 * with its square. All zero is empty. */
struct held_set {
	struct held *items; /* owned */
	uint32_t count, cap;
	uint32_t *heads; /* owned; a power of two: index plus 1 of the first of each chain */
	uint32_t head_count, head_cap;
	const struct plan_tree *tree; /* that all are in */
	uint64_t number;	      /* of that tree */
	int unknown;		      /* 1: there may be others */
};

/* The rules of a type, kept for the next object of it. */
struct type_rules {
	char type[96];	 /* no longer name is kept */
	size_t type_len; /* 0: the slot is free */
	uint32_t *rules; /* owned: their indexes, ascending */
	uint32_t count;
	int holds_data;
};
/* A plan has a few dozen types; two that meet in a slot are looked up again and again. */
enum { TYPE_SLOTS = 64 };

/* Members of the object that change, or may: a rule that looks at none of them has no new answer.
 * Where there are more of them than an update has, all count as such. */
struct loose_members {
	enum { LOOSE_NOT_LISTED, LOOSE_LISTED, LOOSE_ALL } state;
	unsigned count;
	struct {
		const char *name;
		size_t len;
	} names[32];
};

/* The place that decided. */
struct spot {
	int is_set;
	unsigned count;
	struct plan_place places[PLAN_PLACES];
};

struct signal_matcher {
	struct signal_view view;
	unsigned char *marks; /* a bit for each rule */
	struct type_rules types[TYPE_SLOTS];

	/* Of the change under way. */
	struct loose_members loose;
	const struct signal_subject *subject;
	struct sbx_error *err;
	int failed;	 /* ERR is filled: no memory */
	uint64_t steps;	 /* for the rule under way */
	int met_unknown; /* the rule met something that is known after apply only */
	int gave_up;	 /* it took too many steps */
	struct plan_place places[PLAN_PLACES]; /* from the object to where the walk is */
	struct document documents[SIDES][SIGNAL_DOCUMENTS];
	uint64_t document_count;

	struct spot spot, part;	  /* of the rule under way, and of a part of it or an element */
	struct held_set elements; /* for `each` of the rule under way */
	struct held_set values;	  /* for the test `appears` under way */
};

/* A value that is looked at, and what stands at its place elsewhere. */
struct cursor {
	const struct plan_tree *tree;
	const struct plan_node *node; /* NULL: nothing there */
	enum side side;
	uint64_t number; /* of the document that `tree` is; 0: the object */
	const struct plan_node
		*unknown; /* in the subject's tree of what is known after apply only */
	const struct plan_tree *old_tree;
	const struct plan_node *old; /* NULL: nothing there */
	uint64_t old_number;
	int has_old;	    /* there is something older to compare with */
	int is_nowhere;	    /* 1: the path leads on where nothing is, and no place with it */
	unsigned places;    /* so many of the matcher's places lead here */
	unsigned documents; /* so many documents in strings are around it */
};

/* A way along a path to every value that it names. */
struct walk {
	struct signal_matcher *m;
	const struct signal_step *steps;
	uint32_t count;
	int follows; /* 1: keep the cursor's old value at the same place */
	int known; /* 1: what an object of the same provider names is none of the rule's business */
	int unites; /* 1: go to places too that only the old value has */
	/* Asked of each value, with nothing there as well; the strongest answer is that of the
	 * walk. */
	enum truth (*end)(const struct walk *w, const struct cursor *at);
	/* The place may be known after apply only. NULL: unknown. */
	enum truth (*unknown)(const struct walk *w, const struct cursor *at, uint32_t step);
	const struct signal_condition *test;
	const struct signal_rule *rule;
	struct spot *spot; /* gets the place of the answer; or NULL */
};

/* In signal_match_type.c. */

/* The rules that TYPE meets, valid until the next call; NULL when there is no memory: the matcher
 * has failed then. */
const struct type_rules *type_rules_of(struct signal_matcher *m, const char *type, size_t len);
int type_rules_init(struct signal_matcher *m); /* -1: no memory */
void type_rules_clear(struct signal_matcher *m);

/* In signal_match_loose.c. */

/* A test that compares with the old value. */
static inline int signal_is_relative(const struct signal_condition *test)
{
	return test->test == SIGNAL_SHRINKS || test->test == SIGNAL_GROWS ||
	       test->test == SIGNAL_CHANGES || test->test == SIGNAL_APPEARS;
}

/* 1 when RULE is certainly not met, because nothing changes of what it looks at or there is nothing
 * older to compare with: what asking it would say, for less. */
int rule_is_settled(struct signal_matcher *m, const struct signal_rule *rule,
		    const struct cursor *object);

/* In signal_match_walk.c. */

/* AT is moved. */
enum truth walk_from(const struct walk *w, struct cursor *at);
/* Note that AT is the place of an answer, unless a place was noted for one as strong. */
void spot_note(const struct walk *w, const struct cursor *at, enum truth answer);

/* Count N steps of work for the rule; -1 when it had too many: whatever comes out then is unknown.
 */
int match_spend(struct signal_matcher *m, uint64_t n);
/* plan_tree_member, with its steps counted; NULL when there are too many. */
const struct plan_node *match_member(struct signal_matcher *m, const struct plan_tree *tree,
				     const struct plan_node *object, const char *name, size_t len);
/* Where what is known after apply only at AT comes from. */
enum signal_source match_source(struct signal_matcher *m, const struct cursor *at);
/* 1 when something in VALUE of the tree of unknown things is true; counts its steps. */
int match_has_unknown(struct signal_matcher *m, const struct plan_node *value);

/* Whether the condition with INDEX holds at AT; and the place that decided that ANSWER, into an
 * empty SPOT, which stays empty when no single place did. Places are compared there in time that is
 * not counted, so it is for answers that are reported. */
enum truth condition_ask(struct signal_matcher *m, uint32_t index, const struct cursor *at);
void condition_explain(struct signal_matcher *m, uint32_t index, const struct cursor *at,
		       enum truth answer, struct spot *spot);

/* In signal_match_test.c: one value. */

/* Nothing there, null, "", [] or {}. */
int value_is_unset(const struct plan_tree *tree, const struct plan_node *node);
/* The test prefix_below of a text. */
enum truth value_is_wide(const char *text, size_t len, uint32_t limit);
/* Whether TEST, which needs no older value and is not prefix_below, holds for NODE. */
int value_meets(const struct signal_matcher *m, const struct signal_condition *test,
		const struct plan_tree *tree, const struct plan_node *node);
/* -1, 0, 1 as A is below, equal to or above B; 2 when one of them is no number. */
int value_compare(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
		  const struct plan_node *y);
/* 1 when they are the same, or both not set. */
int value_same(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
	       const struct plan_node *y);

/* In signal_match_held.c: parts of the old value. */

/* Hash of a value: equal for equal ones, whatever the order of members; counts its steps. */
uint64_t held_hash(struct signal_matcher *m, const struct plan_tree *tree,
		   const struct plan_node *value);
/* plan_tree_equal, where null and nothing are equal too; counts its steps. */
int held_same(struct signal_matcher *m, const struct plan_tree *a, const struct plan_node *x,
	      const struct plan_tree *b, const struct plan_node *y);

void held_reset(struct held_set *set);
void held_clear(struct held_set *set);
/* Add the value at AT. -1 when there is no memory: the matcher has failed then. */
int held_add(struct signal_matcher *m, struct held_set *set, const struct cursor *at, uint64_t hash,
	     enum truth truth);
/* After the last one was added. -1 as above. */
int held_chain(struct signal_matcher *m, struct held_set *set);
/* The first one with HASH, and the next one behind HELD, in the order of the value; NULL when there
 * is none or no step is left. */
struct held *held_first(struct signal_matcher *m, const struct held_set *set, uint64_t hash);
struct held *held_next(struct signal_matcher *m, const struct held_set *set,
		       const struct held *held);

/* In signal_match_each.c: rules about elements. */

enum truth each_ask(struct signal_matcher *m, const struct signal_rule *rule,
		    const struct cursor *object, struct spot *spot);

#endif
