/* What sbx-plan found, in words: the same for the person who signs and for the agent that asked.
 * Everything that an agent, a plan or a provider chose goes to the reader's own way of quoting; the
 * rest is ours. */
#ifndef SBX_FINDING_H
#define SBX_FINDING_H

#include "json.h"

/* Where the words go. QUOTE gets LEN bytes that others chose, which it quotes, escapes, and cuts
 * when they have more than MAX. */
struct finding_sink {
	void *to;
	void (*say)(void *to, const char *words);
	void (*quote)(void *to, const char *bytes, size_t len, size_t max);
};

/* An address; a value, which sbx-plan has cut at 120 bytes and marked; what sbx-plan says in
 * sentences, which end with the words of the policy's rules. */
#define FINDING_DATUM_MAX LIMIT_DATUM
#define FINDING_VALUE_MAX 160
#define FINDING_SENTENCE_MAX 640

/* One finding, cause before consequence, without a line feed; FINDING (borrowed) may be of any kind.
 *   REPLACE "a.b" because "x" ("1" -> "2") changes: the present object is destroyed and another one
 *   is made [destructive]
 */
void finding_say(const struct finding_sink *sink, jv finding);

/* What sbx-plan says of a finding that has a signal out of the policy's rules, which explain
 * themselves; borrowed from FINDING. NULL: the words above are all there is to say. */
const char *finding_rule_text(jv finding);

/* A change without a finding, out of the list "safe": CREATE "a.b". */
void finding_say_safe(const struct finding_sink *sink, jv change);

/* A value that becomes another, out of the list "differences": value "x.y" in "a.b", line 3 ("1" -> "2"). */
void finding_say_difference(const struct finding_sink *sink, jv difference);

/* "2 objects that hold data are destroyed". */
void finding_say_data(const struct finding_sink *sink, int64_t objects);

/* The member "counts": "1 created, 2 replaced", or "none". */
void finding_say_counts(const struct finding_sink *sink, jv counts);

#endif
