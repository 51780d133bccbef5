/* What sbx-plan says about a plan: findings, strongest first, counts and digests, as one JSON object that is small
 * whatever the plan's size. */
#ifndef SBX_PLAN_REPORT_H
#define SBX_PLAN_REPORT_H

#include "digest.h"
#include "limit.h"
#include "plan_difference.h"
#include "plan_finding.h"

#define PLAN_COUNTS 7
enum plan_count { COUNT_CREATE, COUNT_UPDATE, COUNT_REPLACE, COUNT_DELETE, COUNT_FORGET, COUNT_READ, COUNT_NO_OP };

/* In this order of weight: what is cut off when there are too many is what matters least. */
enum plan_weight { WEIGHT_DRIFT, WEIGHT_REVIEW, WEIGHT_DESTRUCTIVE, WEIGHT_DATA };
#define PLAN_WEIGHTS 4

/* The first findings of one weight. */
struct plan_findings {
	struct plan_finding *list; /* owned */
	unsigned kept;
	uint64_t total;
};

struct plan_report {
	struct plan_findings findings[PLAN_WEIGHTS];
	uint64_t counts[PLAN_COUNTS];		      /* of the changes */
	uint64_t data_destroyed;		      /* objects of types that hold data, deleted or replaced */
	struct buf safe;			      /* JSON: the first creations and updates without a finding, */
	unsigned safe_kept;
	uint64_t safe_total; /* of so many */
	struct plan_differences differences;	      /* of objects of a cluster */
	struct plan_secrets secrets;
	char artefact[DIGEST_HEX_SIZE], effect[DIGEST_HEX_SIZE];
};

void plan_report_init(struct plan_report *report);
void plan_report_clear(struct plan_report *report);

/* Take FINDING over: it is empty afterwards. Beyond LIMIT_FINDINGS of a weight it is only counted. */
int plan_report_add(struct plan_report *report, struct plan_finding *finding, struct sbx_error *err);

/* A creation or an update in place about which there is nothing to say. */
int plan_report_add_safe(struct plan_report *report, const struct plan_change *change, struct sbx_error *err);

enum plan_verdict plan_report_verdict(const struct plan_report *report);
uint64_t plan_report_total(const struct plan_report *report);

/* What was read. */
struct plan_head {
	const char *format, *version;
	const char *terraform_version; /* NULL: there is none */
	int errored;
};

/* The whole as JSON text with a line feed. */
int plan_report_write(const struct plan_report *report, const struct plan_head *head, struct buf *out,
		      struct sbx_error *err);

/* The same for people: printable ASCII and line feeds. */
int plan_report_text(const struct plan_report *report, const struct plan_head *head, struct buf *out,
		     struct sbx_error *err);

#endif
