/* The destinations of a run as words of a driver's command line. */
#ifndef SBX_EGRESS_LIST_H
#define SBX_EGRESS_LIST_H

#include "buf.h"
#include "egress_relay.h"
#include "limit.h"

struct egress_list {
	struct egress_destination list[LIMIT_EGRESS]; /* their names are owned */
	size_t count;
	struct buf hosts; /* an /etc/hosts (hosts(5)) */
};

void egress_list_init(struct egress_list *list);
void egress_list_clear(struct egress_list *list);

/* "NAME=ADDRESS:PORT", an IPv4 address and a port from 1, no two the same. -1 when it is none, or one too many. */
int egress_list_add(struct egress_list *list, const char *text);
/* "HOST=ADDRESS": what HOST (letters, digits, '-', '_' and '.') means inside. -1 when it is none, or too long. */
int egress_list_add_host(struct egress_list *list, const char *text);

#endif
