/* How much of a person's attention a change needs. The order is that of strength: the larger value decides. */
#ifndef SBX_PLAN_VERDICT_H
#define SBX_PLAN_VERDICT_H

enum plan_verdict { PLAN_SAFE, PLAN_REVIEW, PLAN_DESTRUCTIVE };
#define PLAN_VERDICTS 3

/* "safe", "review", "destructive"; and back, -1 for any other word and for NULL. */
const char *plan_verdict_name(enum plan_verdict verdict);
int plan_verdict_parse(const char *name, enum plan_verdict *verdict);

#endif
