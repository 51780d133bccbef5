/* Completeness of the record: what was begun and has no end in it. Integrity is audit_verify's. */
#ifndef SBX_AUDIT_CHECK_H
#define SBX_AUDIT_CHECK_H

#include "audit.h"
#include "json.h"
#include "state.h"

struct audit_gaps {
	jv requests; /* {CALL: time}: tool.request without tool.result; those of calls that still run are among them */
	jv credentials; /* {LEASE: CALL}: asked for or issued, neither failed nor given back */
	jv spent_twice; /* {APPROVAL: CALL}: CALL ran with an approval that another call had run with */
};

/* Read the whole record. GAPS is owned by the caller afterwards (audit_gaps_clear). */
int audit_find_gaps(const struct state *state, struct audit_gaps *gaps, struct sbx_error *err);
void audit_gaps_clear(struct audit_gaps *gaps);

/* Both verdicts as text for people, or as one JSON object on a line; BROKEN is the error of audit_verify, empty when
 * the chain holds. */
int audit_report_text(const struct audit_verdict *verdict, const struct audit_gaps *gaps,
		      const struct sbx_error *broken, struct buf *out, struct sbx_error *err);
int audit_report_json(const struct audit_verdict *verdict, const struct audit_gaps *gaps,
		      const struct sbx_error *broken, struct buf *out, struct sbx_error *err);

#endif
