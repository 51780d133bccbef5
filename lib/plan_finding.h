/* One finding: an object and everything about it that a person should know. Texts that come from the plan are kept cut,
 * values as much as is shown, so that a finding is small whatever the plan's size. */
#ifndef SBX_PLAN_FINDING_H
#define SBX_PLAN_FINDING_H

#include "plan_change.h"
#include "plan_value.h"
#include "plan_verdict.h"
#include "signal_match.h"

#define PLAN_SIGNALS 16	    /* reasons that are kept for an object; more are of the same kind */
#define PLAN_SIGNAL_SIZE 48 /* a word; the longest of Terraform's has 42 letters */
#define PLAN_CAUSES 8	    /* attribute paths: one is enough to force a replacement */
#define PLAN_NOTES (PLAN_CAUSES + 1) /* one about what is not kept */
#define PLAN_NOTE_SIZE 176 /* what a rule says */

/* An attribute that is to blame, before and after. */
struct plan_cause {
	struct buf path; /* names and indexes: spec[0].replicas, tags["a.b"] */
	struct plan_value before, after;
};

/* What a signal rule says of the object. */
struct plan_note {
	char text[PLAN_NOTE_SIZE];
	int cause; /* index of the cause; -1: none */
};

struct plan_finding {
	enum plan_verdict verdict;
	struct buf address, deposed, type, provider, previous_address, reason; /* empty: not said */
	struct plan_actions actions;
	char signals[PLAN_SIGNALS][PLAN_SIGNAL_SIZE];
	unsigned signal_count;
	struct plan_cause *causes; /* owned: PLAN_CAUSES of them, or NULL; those of the replacement first */
	unsigned cause_count, replace_count;
	struct plan_note notes[PLAN_NOTES];
	unsigned note_count;
	int holds_data;
};

void plan_finding_init(struct plan_finding *finding);
void plan_finding_clear(struct plan_finding *finding);

/* Make it a finding at ADDRESS; CHANGE (may be NULL) gives the words and actions. */
int plan_finding_set(struct plan_finding *finding, const char *address, size_t len, const struct plan_change *change,
		     struct sbx_error *err);

/* One more reason, which raises the verdict to VERDICT at least. A word that stands there already is not repeated. */
void plan_finding_signal(struct plan_finding *finding, enum plan_verdict verdict, const char *word);

/* The attribute of CHANGE at these places is a cause; the same one twice is one. Its index, -1 when no more are kept,
 * -2 on failure. */
int plan_finding_cause(struct plan_finding *finding, const struct plan_change *change,
		       const struct plan_place *places, unsigned count, struct sbx_error *err);

/* The same with VALUE, of a setting that is no change's: it is the one after. And with both values. */
int plan_finding_value(struct plan_finding *finding, const struct plan_place *places, unsigned count,
		       const struct plan_value *value, struct sbx_error *err);
int plan_finding_values(struct plan_finding *finding, const struct plan_place *places, unsigned count,
			const struct plan_value *before, const struct plan_value *after, struct sbx_error *err);

/* The provider that it is about. */
int plan_finding_provider(struct plan_finding *finding, const char *name, size_t len, struct sbx_error *err);

/* TEXT (cut) about the cause; the same one twice is one. */
void plan_finding_note(struct plan_finding *finding, const char *text, int cause);

#endif
