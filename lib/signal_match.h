/* Which signal rules a change meets (sbx-policy(5), "Signals"). */
#ifndef SBX_SIGNAL_MATCH_H
#define SBX_SIGNAL_MATCH_H

#include "plan_place.h"
#include "plan_verdict.h"
#include "signal_table.h"

enum signal_action {
	SIGNAL_ON_CREATE = 1,
	SIGNAL_ON_UPDATE = 2,
	SIGNAL_ON_REPLACE = 4,
	SIGNAL_ON_DELETE = 8, /* forget too */
};

/* What a value that is known after apply only comes from. */
enum signal_source {
	SIGNAL_FROM_PROVIDER, /* no argument sets it: what the provider chooses is no setting of
				 this plan */
	SIGNAL_FROM_OBJECT, /* an object of the same provider names itself: `known: true` excuses it
			     */
	SIGNAL_FROM_ANYTHING,
};

/* A change; all borrowed. */
struct signal_subject {
	const char *type;
	size_t type_len;
	enum signal_action action;
	const struct plan_tree *before, *after, *unknown; /* empty or null: not there */
	/* Where the value at these places, known after apply only, comes from. NULL: from an
	 * object. */
	enum signal_source (*source)(void *context, const struct plan_place *places,
				     unsigned count);
	void *context;
};

/* A rule that is met. All of it is valid during the call of EACH only. */
struct signal_hit {
	const char *signal; /* closed by NUL */
	enum plan_verdict verdict;
	const char *text;  /* closed by NUL */
	uint32_t rule;	   /* its place in the table */
	int unknown;	   /* 1: may be met; VERDICT is PLAN_REVIEW then */
	int unread;	   /* with `unknown`: 1, it is there but cannot be read, or is too large */
	const char *doubt; /* with `unknown`: why, as "what decides is ..."; a constant */
	/* The value that decided, outside of documents in strings; count 0: the object itself. */
	struct plan_place places[PLAN_PLACES];
	unsigned place_count;
};

struct signal_matcher; /* what it found out about types, and scratch memory */
struct signal_matcher *signal_matcher_new(const struct signal_table *table, struct sbx_error *err);
void signal_matcher_free(struct signal_matcher *matcher); /* NULL is fine */

/* Call EACH for every rule that SUBJECT meets, in the order of the table, once a rule. -1 when EACH
 * says so, and with "no_memory". */
int signal_match(struct signal_matcher *matcher, const struct signal_subject *subject,
		 int (*each)(void *context, const struct signal_hit *hit, struct sbx_error *err),
		 void *context, struct sbx_error *err);

/* 1 when the table names TYPE itself, not by a pattern. */
int signal_matcher_knows(const struct signal_matcher *matcher, const char *type, size_t len);

/* 1 when objects of TYPE hold data that is lost with them; -1 with "no_memory". */
int signal_matcher_holds_data(struct signal_matcher *matcher, const char *type, size_t len,
			      struct sbx_error *err);

#endif
