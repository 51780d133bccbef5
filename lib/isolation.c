/* The words for it. */
#include "isolation.h"

#include <string.h>

#include "base.h"

static const char *const names[] = {"none", "local", "gvisor", "cluster-gvisor"};

const char *isolation_name(enum isolation isolation)
{
	return names[isolation];
}

enum isolation isolation_parse(const char *name)
{
	for (size_t i = 0; name != NULL && i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return (enum isolation)i;
	return ISOLATION_NONE;
}
