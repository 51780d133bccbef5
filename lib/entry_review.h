/* Whether a review text, which people have signed, is about the run that a step table describes: sbx-entry's comparison in an
 * image with a trust file (entry_trust.h). Each line that is read must stand there exactly once. */
#ifndef SBX_ENTRY_REVIEW_H
#define SBX_ENTRY_REVIEW_H

#include "limit.h"
#include "steps.h"

/* What a text says of itself. */
struct entry_review {
	char installation[33];
	int64_t asked, until; /* seconds */
	uint64_t people;
	int verified; /* each by a security key that checks who touches it */
};

/* TEXT ends with a NUL. "signed_text_differs" (77): there is no such line, or another one. */
int entry_review_read(const char *text, struct entry_review *review, struct sbx_error *err);

/* The steps with their arguments and whether they see the credentials, the directory, the environment; for a plan its file,
 * the tree, the lock file and the program. "signed_text_differs" (77) with the name of what is not the same. */
int entry_review_compare(const char *text, const struct steps *table, struct sbx_error *err);

#endif
