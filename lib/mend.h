/* Mending what dead processes left (design section 3, "Dead stages"): the sandbox, the state, the credentials and the
 * missing tool.result of a call none of whose stages lives; and removing the directories of calls that are over, and
 * kept plans that have expired.
 *
 * Beside the stages' own files a call's directory may hold:
 *   object       what sbx-audit passed on (CALL_OBJECT)
 *   mend         locked while a process mends the call; from then on every stage refuses it
 *   ended        nothing is left to do: kept for 24 h, for `sbx-audit result`
 *   ended.brief  the same for a call that ended in an error and claimed nothing: kept for 75 s */
#ifndef SBX_MEND_H
#define SBX_MEND_H

#include <stdint.h>

#include "state.h"

#define CALL_OBJECT "object"

enum mend_patience {
	MEND_SHORT, /* until the deadline; calls that were tried in the last minute are left alone */
	MEND_WHOLE, /* every call, each helper for a minute */
};

struct mend {
	const struct state *state;
	const char *config; /* settings file for the helpers */
	enum mend_patience patience;
	int64_t deadline; /* clock_mono_ms; MEND_SHORT */
};

enum mend_outcome {
	MEND_NOTHING, /* there was nothing to mend */
	MEND_RUNNING, /* a process of the call lives */
	MEND_LATER,   /* another process mends it, or it was tried a moment ago */
	MEND_DONE,
	MEND_REMOVED,
};

/* Mend one call. "call_unknown" (66); "mend_failed" (69) when sbx-run --mend or sbx-cred --mend did not succeed: the
 * call stays as it is and can be mended again; what audit_append and audit_each say. */
int mend_call(const struct mend *mend, const char *call, enum mend_outcome *outcome, struct sbx_error *err);

/* All calls. Failures are counted, logged, and do not stop the others. -1 only when the calls cannot be listed. */
struct mend_count {
	int64_t mended, removed, failed, running;
};
int mend_all(const struct mend *mend, struct mend_count *count, struct sbx_error *err);

/* 1 when CALL ended for good: no process of it lives, what it had made elsewhere is gone, and nothing is left to mend. Its directory is
 * marked so, or was removed. 0 also where nobody can tell. */
int mend_is_over(const struct state *state, const char *call);

/* The last act of a call: nothing is left to do for it, unless one of its stages did not come to its end (then mending
 * sees to it). */
enum mend_keep { MEND_KEEP, MEND_KEEP_BRIEFLY };
void mend_end(int run_fd, enum mend_keep keep);

#endif
