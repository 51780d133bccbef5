/* Who has read output that nobody vouches for (a tool with untrusted: true in its file), and when: one small file for
 * each principal below state/taint/. Whoever reads such text may act on what it says, so the policy can ask more of the
 * calls that follow. */
#ifndef SBX_TAINT_H
#define SBX_TAINT_H

#include "json.h"
#include "state.h"

/* PRINCIPAL is about to be given the output of TOOL. On disk when it returns 0; when it returns -1 the output must not
 * be handed out. */
int taint_mark(const struct state *state, const char *principal, const char *tool, struct sbx_error *err);

/* *LAST (the caller's) becomes {"tool":…,"age_s":…} of the newest such output that PRINCIPAL was given, or null. A mark
 * that cannot be read is as fresh as can be: it was made for a reason. */
int taint_find(const struct state *state, const char *principal, jv *last, struct sbx_error *err);

#endif
