/* Is the network of this sandbox what it should be, right now? Tried, not read: what must answer does, what must not
 * does not, before anything of the call is started.
 *
 * A policy that is in force means silence, and silence proves nothing by itself: the network may be slow, or not there
 * yet, or the listener gone. So a round asks listeners that are certainly up (the API server, the node's kubelet),
 * several times each, while it asks this machine's own loopback and what is allowed beside them, and waits many times
 * as long as these took to answer. Whatever a forbidden one says, even that it refuses, makes the round worthless;
 * another begins. */
#ifndef SBX_ENTRY_PROBE_H
#define SBX_ENTRY_PROBE_H

#include "boot.h"

/* Where a node's kubelet listens. */
#define PROBE_KUBELET_PORT 10250

struct probe {
	int64_t took_ms;
	unsigned rounds;
	struct buf closed, answered; /* JSON arrays without their brackets */
};
#define PROBE_INIT                                                                                                     \
	{                                                                                                              \
		.closed = BUF_INIT(4096), .answered = BUF_INIT(4096)                                                   \
	}

/* BOOT names what must answer and, when the operator said so, what must not; otherwise these are API_SERVER and KUBELET
 * ("ADDRESS:PORT"; NULL: unknown), and where something is allowed the kubelet alone, for what is allowed may be the API
 * server under another address. -1 with WHY (77) when no good round came in boot->probe_ms: "egress_open",
 * "egress_unproven", "destination_silent"; "bad_address" (78). */
int entry_probe(const struct boot *boot, const char *api_server, const char *kubelet, struct probe *probe,
		struct sbx_error *why);
void probe_clear(struct probe *probe);

#endif
