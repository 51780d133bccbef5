/* The part of a review text about what runs, and with what: steps, credentials, network, files, limits. */
#ifndef SBX_REVIEW_MEANS_H
#define SBX_REVIEW_MEANS_H

#include "review_writer.h"

/* POLICY is the call's member of that name. */
void review_put_means(struct writer *w, jv policy);

#endif
