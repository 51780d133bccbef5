/* The entries of resource_changes in the first pass: which objects they name, and which of them are quiet. A quiet one
 * stays as it is, is no move and no import, and hides nothing: the second pass would have nothing to say about it, so
 * that it is passed over. Of a large plan most are. */
#ifndef SBX_PLAN_ENTRIES_H
#define SBX_PLAN_ENTRIES_H

#include "plan_survey.h"

/* Right behind the key "resource_changes", or "deferred_changes" (none of which is quiet): add to SURVEY's sets. */
int plan_entries_read(struct plan_scan *s, struct plan_survey *survey, struct sbx_error *err);
int plan_entries_read_deferred(struct plan_scan *s, struct plan_survey *survey, struct sbx_error *err);

/* In a second pass over the same bytes, right behind the { of an entry: pass over it, and over those behind it that are
 * quiet too. 1 when that was so, 0, -1. CURSOR is 0 at first. */
int plan_entries_skip(struct plan_scan *s, const struct plan_survey *survey, size_t *cursor, struct sbx_error *err);

#endif
