/* Where something stands in a YAML text: for messages of checks that run on the JSON value, which holds no lines. Costs
 * nothing until a line is asked for. */
#ifndef SBX_YAML_PATH_H
#define SBX_YAML_PATH_H

#include <stddef.h>

/* One step from the root to a place, kept on the stack of the checker; the root itself is NULL. */
struct yaml_at {
	const struct yaml_at *up;
	const char *key; /* of a mapping; NULL: INDEX of a list */
	int index;
};

/* Line (from 1) of the place AT in the text that was parsed before, or of the nearest thing around it that is there. */
size_t yaml_line(const char *bytes, size_t len, const struct yaml_at *at);

#endif
