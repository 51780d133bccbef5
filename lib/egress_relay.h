/* Connections out of a sandbox, to pinned addresses and nowhere else. For each destination there is a listening socket
 * in the sandbox's network (isolate_net.h); what connects there is joined to a connection that is dialled here, to the
 * one address that was decided before the sandbox began. The other side is never asked where it wants to go.
 *
 * Bytes go both ways through a buffer for each direction, so that a side that does not read holds up nobody but itself.
 * An end of one direction is passed on (shutdown), and so is a reset. */
#ifndef SBX_EGRESS_RELAY_H
#define SBX_EGRESS_RELAY_H

#include <netinet/in.h>
#include <stdint.h>

#include "error.h"

struct egress_destination {
	const char *name; /* borrowed for the relay's life */
	struct sockaddr_in address;
};

/* "ADDRESS:PORT" of it; returns OUT. */
#define EGRESS_PLACE_SIZE sizeof "255.255.255.255:65535"
const char *egress_place(const struct egress_destination *destination, char out[EGRESS_PLACE_SIZE]);

struct egress_limits {
	unsigned at_once; /* connections; one more waits until another is over */
	/* Past one of these nothing listens any more: what is too much is reset and reported, what comes later is
	 * refused by the kernel and costs nothing. */
	unsigned total; /* connections in all */
	uint64_t bytes; /* in both directions of all together */
};

enum egress_end {
	EGRESS_CLOSED,	    /* both sides said all they had to say */
	EGRESS_RESET,	    /* one side broke off */
	EGRESS_UNREACHABLE, /* the destination took no connection, or not in time */
	EGRESS_LIMIT,	    /* one of struct egress_limits */
	EGRESS_STOPPED	    /* the sandbox was over */
};

/* What there is to say of a connection that is over. */
struct egress_connection {
	const struct egress_destination *destination;
	uint64_t sent, received; /* bytes, as the sandbox sees them */
	int64_t ms;		 /* from its beginning */
	enum egress_end end;
};
const char *egress_end_name(enum egress_end end); /* "closed", …; a constant */

/* Told at its end; must not call the relay. */
typedef void egress_report(void *context, const struct egress_connection *connection);

struct egress_relay;

/* LISTENERS[i] (borrowed, non-blocking) leads to DESTINATIONS[i] (borrowed). NULL: "os_error" (71) or "no_memory" (71).
 */
struct egress_relay *egress_relay_open(const struct egress_destination *destinations, const int *listeners,
				       size_t count, const struct egress_limits *limits, egress_report *report,
				       void *context, struct sbx_error *err);
/* Ends every connection, with a report each. NULL is allowed. */
void egress_relay_close(struct egress_relay *relay);

/* For poll: readable when egress_relay_turn has something to do; -1 for NULL. */
int egress_relay_fd(const struct egress_relay *relay);
/* When it has something to do without that (clock_mono_ms): a dialled connection's deadline; INT64_MAX without one. */
int64_t egress_relay_due(const struct egress_relay *relay);
/* Does what can be done without waiting. */
void egress_relay_turn(struct egress_relay *relay);
/* 1 while something that the sandbox said has not been passed on, or may still come. */
int egress_relay_is_sending(const struct egress_relay *relay);

#endif
