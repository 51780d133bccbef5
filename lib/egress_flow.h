/* One direction of a connection that is relayed: what one socket said and the other has not got yet. Neither waits. */
#ifndef SBX_EGRESS_FLOW_H
#define SBX_EGRESS_FLOW_H

#include <stddef.h>

/* Large enough that a bulk transfer is more copying than waking: with 64 KiB it is a third slower. */
enum { EGRESS_FLOW_SIZE = 256 << 10 };

struct egress_flow {
	size_t start, len;
	int ended;     /* nothing more will come */
	int passed_on; /* and the other side knows */
	unsigned char bytes[EGRESS_FLOW_SIZE];
};

/* Empty again. The bytes stay: most of them are never touched. */
void egress_flow_init(struct egress_flow *flow);

/* Read what FROM says, once; *GOT is how many bytes. 1: it may have more to say, 0: not now, -1: it has broken off. */
int egress_flow_take(struct egress_flow *flow, int from, size_t *got);
/* Write it to TO, and its end, which is not said where CLOSES: closing TO does. 1: TO has all of it, 0: it takes no
 * more now, -1: it has broken off. */
int egress_flow_give(struct egress_flow *flow, int to, int closes);

int egress_flow_has_room(const struct egress_flow *flow);
int egress_flow_is_waiting(const struct egress_flow *flow);

#endif
