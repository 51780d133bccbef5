/* epoll, level-triggered. A socket that nothing is wanted of is taken out, for one that has hung up would be ready for
 * ever. */
#include "egress_relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base.h"
#include "clock.h"
#include "egress_flow.h"

enum { EVENTS_AT_ONCE = 64, ROUNDS_AT_ONCE = 16 /* so that one connection lets others pass */ };
static const int64_t dial_ms = 10000;

enum side { INSIDE, OUTSIDE, SIDES };

struct connection;

/* What epoll gives back. */
struct watch {
	struct connection *connection; /* NULL: a listener */
	size_t listener;
	uint32_t events; /* that are waited for; 0: not in the epoll set */
};

struct connection {
	struct connection *next;
	struct egress_relay *relay;
	struct egress_connection report;
	struct watch watch[SIDES];
	int fd[SIDES];
	int64_t began;
	int dialling, over;
	struct egress_flow flow[SIDES]; /* from that side */
};

struct egress_relay {
	const struct egress_destination *destinations;
	const int *listeners;
	size_t count;
	struct egress_limits limits;
	egress_report *report;
	void *context;
	int epoll;
	struct watch *listening; /* count of them */
	struct connection *first;
	struct connection *spare; /* whose memory the next one gets: it is large, and fresh pages cost more than the
				     rest of a beginning */
	unsigned open, total;
	uint64_t bytes;
	int exhausted; /* a limit was reached: no listener listens */
};

const char *egress_place(const struct egress_destination *destination, char out[EGRESS_PLACE_SIZE])
{
	char address[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &destination->address.sin_addr, address, sizeof address);
	snprintf(out, EGRESS_PLACE_SIZE, "%s:%u", address, (unsigned)ntohs(destination->address.sin_port));
	return out;
}

const char *egress_end_name(enum egress_end end)
{
	switch (end) {
	case EGRESS_CLOSED:
		return "closed";
	case EGRESS_RESET:
		return "reset";
	case EGRESS_UNREACHABLE:
		return "unreachable";
	case EGRESS_LIMIT:
		return "limit";
	case EGRESS_STOPPED:
		return "stopped";
	}
	return "stopped";
}

static enum side other(enum side side)
{
	return side == INSIDE ? OUTSIDE : INSIDE;
}

/* Wait for EVENTS on FD, or for nothing. */
static void watch_for(const struct egress_relay *relay, int fd, struct watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};
	int how = watch->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;

	if (watch->events != events && epoll_ctl(relay->epoll, how, fd, &event) == 0)
		watch->events = events;
}

static void listen_again(struct egress_relay *relay)
{
	uint32_t events = !relay->exhausted && relay->open < relay->limits.at_once ? EPOLLIN : 0;

	for (size_t i = 0; i < relay->count; i++)
		watch_for(relay, relay->listeners[i], &relay->listening[i], events);
}

/* Close with a reset, which cannot be taken for an end of what was to be said. */
static void break_off(int *fd)
{
	struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	if (*fd >= 0)
		setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	base_close_fd(fd);
}

/* Its memory stays until no event of this turn can name it. */
static void finish(struct connection *c, enum egress_end end)
{
	if (c->over)
		return;
	c->over = 1;
	c->relay->open--;
	for (int side = 0; side < SIDES; side++)
		if (end == EGRESS_CLOSED)
			base_close_fd(&c->fd[side]);
		else
			break_off(&c->fd[side]);
	c->report.end = end;
	c->report.ms = clock_mono_ms() - c->began;
	c->relay->report(c->relay->context, &c->report);
}

static void refuse_more(struct egress_relay *relay)
{
	relay->exhausted = 1;
	for (size_t i = 0; i < relay->count; i++)
		shutdown(relay->listeners[i], SHUT_RDWR);
}

static void finish_all(struct egress_relay *relay, enum egress_end end)
{
	for (struct connection *c = relay->first; c != NULL; c = c->next)
		finish(c, end);
}

static void sweep(struct egress_relay *relay)
{
	for (struct connection **at = &relay->first; *at != NULL;) {
		struct connection *c = *at;
		if (!c->over) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		c->next = relay->spare;
		relay->spare = c;
	}
	listen_again(relay);
}

/* --- bytes --- */

static void count_bytes(struct connection *c, enum side from, size_t n)
{
	*(from == INSIDE ? &c->report.sent : &c->report.received) += n;
	c->relay->bytes += n;
}

static void wait_for_more(struct connection *c)
{
	for (int i = 0; i < SIDES; i++) {
		enum side side = (enum side)i;
		uint32_t events = 0;
		if (c->dialling)
			events = side == OUTSIDE ? EPOLLOUT : 0;
		else
			events = (egress_flow_has_room(&c->flow[side]) ? EPOLLIN : 0u) |
				 (egress_flow_is_waiting(&c->flow[other(side)]) ? EPOLLOUT : 0u);
		watch_for(c->relay, c->fd[side], &c->watch[side], events);
	}
}

/* Passes on what FROM says, while it says more and the other side takes it. */
static int forward(struct connection *c, enum side from)
{
	struct egress_flow *flow = &c->flow[from];
	size_t got;

	for (int round = 0, more = 1; more && round < ROUNDS_AT_ONCE; round++) {
		int said = egress_flow_take(flow, c->fd[from], &got);
		count_bytes(c, from, got);
		if (c->relay->bytes > c->relay->limits.bytes)
			return 0; /* what is too much is not passed on */
		int given = said < 0 ? -1 : egress_flow_give(flow, c->fd[other(from)], c->flow[other(from)].passed_on);
		if (given < 0)
			return -1;
		more = said && given;
	}
	return 0;
}

/* SIDE can be read from, or written to. */
static void pump(struct connection *c, enum side side, uint32_t events)
{
	if (((events & ~(uint32_t)EPOLLOUT) && forward(c, side) < 0) ||
	    ((events & EPOLLOUT) && forward(c, other(side)) < 0)) {
		finish(c, EGRESS_RESET);
	} else if (c->relay->bytes > c->relay->limits.bytes) {
		refuse_more(c->relay);
		finish_all(c->relay, EGRESS_LIMIT);
	} else if (c->flow[INSIDE].passed_on && c->flow[OUTSIDE].passed_on) {
		finish(c, EGRESS_CLOSED);
	} else {
		wait_for_more(c);
	}
}

/* --- beginnings --- */

/* The destination has taken the connection, or ERROR says why not: one that broke off at once had taken it. */
static void dialled(struct connection *c, int error)
{
	c->dialling = 0;
	if (error != 0)
		finish(c, error == ECONNRESET ? EGRESS_RESET : EGRESS_UNREACHABLE);
	else
		pump(c, INSIDE, EPOLLIN);
}

static int pending_error(int fd)
{
	int error = 0;
	socklen_t size = sizeof error;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

static void ready(struct connection *c, enum side side, uint32_t events)
{
	if (c->over)
		return;
	if (c->dialling)
		dialled(c, pending_error(c->fd[OUTSIDE]));
	else
		pump(c, side, events);
}

/* Small messages that wait for each other are what most of this is. */
static void no_delay(int fd)
{
	int yes = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/* 0 when it is connected, EALREADY when it is on its way, else why not. */
static int dial(struct connection *c)
{
	const struct sockaddr_in *to = &c->report.destination->address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	c->fd[OUTSIDE] = fd;
	no_delay(fd);
	/* What is on this machine has answered when the first call returns, but only the second says so. */
	for (int i = 0; i < 2; i++)
		if (connect(fd, (const struct sockaddr *)to, sizeof *to) == 0)
			return 0;
		else if (errno != EINPROGRESS)
			break;
	return errno == EINPROGRESS ? EALREADY : errno;
}

/* FD, which came from a listener, becomes the connection's. */
static void begin(struct egress_relay *relay, size_t listener, int fd)
{
	struct connection *c = relay->spare != NULL ? relay->spare : calloc(1, sizeof *c);

	if (c == NULL) {
		break_off(&fd);
		return;
	}
	relay->spare = c->next;
	memset(c, 0, offsetof(struct connection, flow));
	for (int side = 0; side < SIDES; side++) {
		egress_flow_init(&c->flow[side]);
		c->watch[side].connection = c;
	}
	c->relay = relay;
	c->report.destination = &relay->destinations[listener];
	c->began = clock_mono_ms();
	c->next = relay->first;
	relay->first = c;
	relay->open++;
	relay->total++;
	c->fd[INSIDE] = fd;
	c->fd[OUTSIDE] = -1;
	if (relay->total > relay->limits.total) {
		refuse_more(relay);
		finish(c, EGRESS_LIMIT);
		return;
	}
	int error = dial(c);
	c->dialling = error == EALREADY;
	if (c->dialling)
		wait_for_more(c);
	else
		dialled(c, error);
}

static void accept_one(struct egress_relay *relay, size_t listener)
{
	int fd = relay->open < relay->limits.at_once
			 ? accept4(relay->listeners[listener], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)
			 : -1;

	if (fd >= 0)
		begin(relay, listener, fd);
}

/* --- the relay --- */

struct egress_relay *egress_relay_open(const struct egress_destination *destinations, const int *listeners, size_t count,
				       const struct egress_limits *limits, egress_report *report, void *context,
				       struct sbx_error *err)
{
	struct egress_relay *relay = calloc(1, sizeof *relay);
	struct watch *listening = calloc(count, sizeof *listening);

	if (relay == NULL || listening == NULL) {
		free(relay);
		free(listening);
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	*relay = (struct egress_relay){.destinations = destinations,
				       .listeners = listeners,
				       .count = count,
				       .limits = *limits,
				       .report = report,
				       .context = context,
				       .epoll = epoll_create1(EPOLL_CLOEXEC),
				       .listening = listening};
	for (size_t i = 0; i < count; i++) {
		listening[i].listener = i;
		no_delay(listeners[i]); /* what it accepts inherits it */
	}
	listen_again(relay);
	for (size_t i = 0; i < count; i++)
		if (listening[i].events == 0) {
			sbx_fail_errno(err, SBX_OS, "os_error", "cannot wait for connections of the sandbox");
			egress_relay_close(relay);
			return NULL;
		}
	return relay;
}

void egress_relay_close(struct egress_relay *relay)
{
	if (relay == NULL)
		return;
	finish_all(relay, EGRESS_STOPPED);
	sweep(relay);
	for (struct connection *c; (c = relay->spare) != NULL;) {
		relay->spare = c->next;
		free(c);
	}
	base_close_fd(&relay->epoll);
	free(relay->listening);
	free(relay);
}

int egress_relay_fd(const struct egress_relay *relay)
{
	return relay != NULL ? relay->epoll : -1;
}

int64_t egress_relay_due(const struct egress_relay *relay)
{
	int64_t due = INT64_MAX;

	for (const struct connection *c = relay != NULL ? relay->first : NULL; c != NULL; c = c->next)
		if (c->dialling && c->began + dial_ms < due)
			due = c->began + dial_ms;
	return due;
}

void egress_relay_turn(struct egress_relay *relay)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int n = epoll_wait(relay->epoll, events, EVENTS_AT_ONCE, 0);

	for (int i = 0; i < n; i++) {
		struct watch *watch = events[i].data.ptr;
		struct connection *c = watch->connection;
		if (c == NULL)
			accept_one(relay, watch->listener);
		else
			ready(c, watch == &c->watch[INSIDE] ? INSIDE : OUTSIDE, events[i].events);
	}
	for (struct connection *c = relay->first; c != NULL; c = c->next)
		if (c->dialling && clock_left_ms(c->began + dial_ms) == 0)
			finish(c, EGRESS_UNREACHABLE);
	sweep(relay);
}

int egress_relay_is_sending(const struct egress_relay *relay)
{
	for (const struct connection *c = relay->first; c != NULL; c = c->next)
		if (!c->flow[INSIDE].passed_on)
			return 1;
	return 0;
}
