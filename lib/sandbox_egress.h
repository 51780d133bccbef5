/* The destinations of a run (policy.run: egress, destinations), each pinned to one address before anything starts.
 * Names are asked for once, outside; what they mean inside is that address and nothing else. */
#ifndef SBX_SANDBOX_EGRESS_H
#define SBX_SANDBOX_EGRESS_H

#include <netinet/in.h>

#include "json.h"
#include "limit.h"

struct egress_pin {
	char *name; /* of the destination */
	char *host; /* what it is called inside; NULL where the policy says an address */
	struct in_addr address;
	uint16_t port;
};
struct egress_pins {
	struct egress_pin list[LIMIT_EGRESS];
	size_t count;
};
void egress_pins_clear(struct egress_pins *pins);

/* PINS is owned by the caller. -1 with
 *   "egress_unsupported" (78)  a name that neither policy.yaml nor the call's target explains
 *   "egress_unresolved" (69)   a name that has no IPv4 address, or not within five seconds
 *   "egress_refused" (77)      an address that is private or this machine's without private: true, one where clouds hand
 *                              out credentials (ip_class.h) that is not written as such, or no host's
 *   "bad_call" (76)            what no sbx-policy writes */
int sandbox_egress(jv run, struct egress_pins *pins, struct sbx_error *err);

#endif
