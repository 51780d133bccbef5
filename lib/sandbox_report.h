/* What happened in a sandbox, as the call's result says it. */
#ifndef SBX_SANDBOX_REPORT_H
#define SBX_SANDBOX_REPORT_H

#include "sandbox.h"
#include "state.h"

/* The result's members that follow from OUTCOME: state, exit or signal, took_ms, isolation, artifacts, stdout, stderr,
 * and for a run that analyses (whose own words are never shown but for the end of stderr when it failed) nothing but
 * findings, verdict, counts, safe, data_destroyed, digest. "code" and "hint" say why a run failed, where that is known:
 * "not_fetched", "plan_unreadable", "plan_errored", "sandbox_full", "state_locked", "state_rejected", "state_not_taken". */
int sandbox_report(const struct state *state, jv run, const struct sandbox_outcome *outcome, jv findings, const char *verdict, jv *result,
		   struct sbx_error *err);

/* The findings of sbx-plan, one more when a step wrote to a state that it had for reading, and one when the
 * configuration starts what no plan shows. The caller's; an array. And how many are not sbx-plan's. */
jv sandbox_findings(const struct sandbox_outcome *outcome);
int sandbox_own_findings(const struct sandbox_outcome *outcome);

/* The verdict over them: sbx-plan's, raised by what was added; NULL without an analysis. */
const char *sandbox_verdict(const struct sandbox_outcome *outcome);

#endif
