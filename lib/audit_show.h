/* Events as lines for people. */
#ifndef SBX_AUDIT_SHOW_H
#define SBX_AUDIT_SHOW_H

#include "json.h"

struct timeline {
	jv begins; /* of each call, its first time: for what has passed since */
};

void timeline_init(struct timeline *timeline);
void timeline_clear(struct timeline *timeline);

/* One line with its line feed: date and time, what has passed since the call's first event, its id, the event, the
 * details as name=value in byte order. Printable ASCII only: an event holds what agents and tools chose. */
int timeline_line(struct timeline *timeline, jv event, struct buf *out, struct sbx_error *err);

/* A point in time as a person says it: RFC 3339 in UTC, or "90s", "15m", "2h", "1d" ago, in seconds since the epoch.
 * "usage" (64). */
int timeline_since(const char *text, int64_t *since, struct sbx_error *err);

#endif
