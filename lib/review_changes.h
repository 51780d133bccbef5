/* The part of a review text about what a plan does: what is lost, the findings, and what has none. The first of both,
 * strongest first, stand where a person reads first; the others in lists at the end. */
#ifndef SBX_REVIEW_CHANGES_H
#define SBX_REVIEW_CHANGES_H

#include "review_writer.h"

/* What sbx-plan said (REPORT, plan.h), from "The plan's changes" on. */
void review_put_changes(struct writer *w, jv report);

/* What no rule and no person could look at, a line each; nothing where there is nothing to say. */
void review_put_uninspected(struct writer *w, jv report);

/* The lists at the end; nothing when all stands above. */
void review_put_more(struct writer *w, jv report);

#endif
