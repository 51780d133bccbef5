/* Names of verdicts. */
#include "plan_verdict.h"

#include <string.h>

#include "base.h"

static const char *const names[PLAN_VERDICTS] = {"safe", "review", "destructive"};

const char *plan_verdict_name(enum plan_verdict verdict)
{
	return names[verdict];
}

int plan_verdict_parse(const char *name, enum plan_verdict *verdict)
{
	for (size_t i = 0; name != NULL && i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0) {
			*verdict = (enum plan_verdict)i;
			return 0;
		}
	return -1;
}
