/* Values that a change makes different, for the person who signs it: all of them are counted, the first ones are kept,
 * each cut, with the digest of the whole where it is. */
#ifndef SBX_PLAN_DIFFERENCE_H
#define SBX_PLAN_DIFFERENCE_H

#include "digest.h"
#include "plan_value.h"

enum plan_side { PLAN_WAS, PLAN_IS, PLAN_SIDES };

struct plan_difference {
	struct buf address, path; /* of the object, and in it (plan_path.h) */
	uint64_t line;		  /* of a text, from 1: the values are what stands in it; 0: they are whole */
	uint64_t from;		  /* what is shown begins behind so many bytes that are the same */
	struct plan_value values[PLAN_SIDES];
	char sha256[PLAN_SIDES][DIGEST_HEX_SIZE]; /* of a value, or a line, that is not shown whole; "": it is */
};

struct plan_differences {
	struct plan_difference *list; /* owned */
	unsigned kept, max;
	uint64_t total;
};

void plan_differences_init(struct plan_differences *differences, unsigned max);
void plan_differences_clear(struct plan_differences *differences);

/* One more in *DIFFERENCE, with nothing in it yet; NULL where it is only counted. "no_memory" (71). */
int plan_differences_add(struct plan_differences *differences, struct plan_difference **difference,
			 struct sbx_error *err);

/* Append it for people, printable ASCII: "PATH", line 3, from byte 132 (WAS -> IS). Two values of which nothing is shown
 * are said to be two: ((sensitive) -> another (sensitive)). */
int plan_difference_say(const struct plan_difference *difference, const struct plan_secrets *secrets, struct buf *out,
			struct sbx_error *err);

/* Append it as JSON: {"address":…,"path":…,"line":3,"from":132,"before":…,"before_sha256":…,"after":…}, without what
 * there is not; the values as people see them. */
int plan_difference_write(const struct plan_difference *difference, const struct plan_secrets *secrets, struct buf *out,
			  struct sbx_error *err);

#endif
