/* The result as it may stand in the call: within its limits by construction, whatever a command printed and whatever a
 * plan is called, so that a successful apply never ends in an object that cannot be written. */
#ifndef SBX_RESULT_H
#define SBX_RESULT_H

#include "json.h"

/* What a run printed, scrubbed; not necessarily UTF-8. _DROPPED: bytes beyond the tool's limit that were never taken.
 */
struct result_output {
	const char *out;
	size_t out_len;
	uint64_t out_dropped;
	const char *err;
	size_t err_len;
	uint64_t err_dropped;
};

/* Set "stdout", "stderr", "encoding" and "truncated" in *RESULT. Each text takes at most LIMIT_RESULT_STDOUT and
 * LIMIT_RESULT_STDERR bytes as escaped JSON: of a longer one head and tail stay around a mark that says how much is
 * left out. With a byte in either that is not UTF-8 (or a NUL) both are "escaped": \xNN for that byte, \\ for a
 * backslash; else "utf-8". */
int result_set_output(jv *result, const struct result_output *output, struct sbx_error *err);

/* Consumes RESULT; sets "findings" (borrowed; strongest first): at most LIMIT_FINDINGS within 256 KiB, long strings cut
 * and marked with their digest; and "findings_total": TOTAL, or how many FINDINGS are when that is more. */
jv result_set_findings(jv result, jv findings, int64_t total);

/* Consumes RESULT; sets what sbx-plan said of a plan as a whole (its ANSWER, borrowed; nothing for none): "counts",
 * "data_destroyed", "digest" {artefact, effect}, "safe" (at most 50 changes within 16 KiB, long strings cut as above)
 * and "safe_total"; of a change to a cluster also "differences" (at most 100 within 32 KiB) and "differences_total". */
jv result_set_plan(jv result, jv answer);

/* Consumes RESULT; sets "isolation": the evidence (borrowed), or only its name when it is larger than 16 KiB. */
jv result_set_isolation(jv result, jv evidence);

/* The most that a result made by these functions adds to a call, with the seals and the revocation that follow; a call
 * larger than LIMIT_CALL less this is refused before anything starts. "too_large" (76). */
#define RESULT_ROOM ((size_t)480 << 10)
int result_fits(jv call, struct sbx_error *err);

/* Consumes both; FINDING stands behind those at least as strong. */
jv result_insert_finding(jv findings, jv finding);

#endif
