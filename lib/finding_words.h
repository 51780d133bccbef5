/* What the words of sbx-plan mean, for sentences. */
#ifndef SBX_FINDING_WORDS_H
#define SBX_FINDING_WORDS_H

/* Both return a constant, or NULL for a word that is not known (and for NULL). */

/* Why Terraform or OpenTofu does what it does: ends a "because". */
const char *finding_reason_means(const char *reason);

/* What a signal says beside the verb. */
const char *finding_signal_means(const char *signal);

#endif
