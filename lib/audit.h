/* The record: audit.jsonl in the state directory, one event a line, each holding the SHA-256 of the line before it. An
 * event is on disk (fsync) when audit_append returns 0; when it returns -1 the act that it announces must not happen.
 */
#ifndef SBX_AUDIT_H
#define SBX_AUDIT_H

#include "json.h"
#include "state.h"

/* Append EVENT ("tool.request", …) about call ID (NULL: none) with the members of DETAILS (an object; borrowed) beside
 * the head {seq, prev, time, boot, event, request_id}. Strings are scrubbed of credential shapes first. Errors:
 * "audit_unavailable" (74; full disk, read only), "audit_unsafe" (78; owner, mode, a file replaced under us),
 * "too_large" (65). OUTCOME events may use the reserve of disk space that AUDIT_INTENT events leave. */
enum audit_kind { AUDIT_INTENT, AUDIT_OUTCOME };
int audit_append(const struct state *state, enum audit_kind kind, const char *event, const char *id, jv details,
		 struct sbx_error *err);

/* SHA-256 of the last whole line (64 zeros for an empty record), and its number. */
int audit_head(const struct state *state, char sha256[65], int64_t *seq, struct sbx_error *err);

/* Check the chain from the first line; parses every line whole. Torn lines are accepted only when the next record
 * declares exactly their hash. On a break: "audit_broken" (1; the message says the line). */
struct audit_verdict {
	int64_t records;
	int64_t torn;	   /* declared torn lines */
	int64_t torn_tail; /* bytes behind the last line feed: not yet declared */
	char head[65];
};
int audit_verify(const struct state *state, struct audit_verdict *verdict, struct sbx_error *err);

/* What an event is given to: 0 to go on, 1 to stop, -1 with an error. */
typedef int audit_each_fn(jv event, void *context, struct sbx_error *err);

/* Call EACH with every event, oldest first (of call ID, unless NULL). */
int audit_each(const struct state *state, const char *id, audit_each_fn *each, void *context, struct sbx_error *err);
/* The same of those in whose line WORD stands; the others cost next to nothing. */
int audit_each_word(const struct state *state, const char *word, audit_each_fn *each, void *context,
		    struct sbx_error *err);

/* Call EACH, which must not stop, with every event that was written behind the line whose SHA-256 is HEAD, and in whose
 * line WORD stands (NULL: with every one); on the way the chain from there on is checked to its end. The line is looked
 * for from the end, so this takes the time of what was written since. *LATEST is the newest time in it, in seconds (0:
 * nothing was). "audit_head_missing" (1): no line has that digest, so the record was cut, replaced, or is an older one;
 * "audit_broken" (1). */
int audit_since(const struct state *state, const char *head, const char *word, audit_each_fn *each, void *context,
		int64_t *latest, struct sbx_error *err);

#endif
