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

enum { FLOW_SIZE = 64 << 10, EVENTS_AT_ONCE = 64, ROUNDS_AT_ONCE = 16 /* so that one connection lets others pass */ };
static const int64_t dial_ms = 10000;

enum side { INSIDE, OUTSIDE, SIDES };

/* What one side sent and the other has not got yet. */
struct flow {
	unsigned char bytes[FLOW_SIZE];
	size_t start, len;
	int ended;	/* nothing more will come */
	int passed_on;	/* and the other side knows */
};

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
	struct flow flow[SIDES]; /* from that side */
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
		free(c);
	}
	listen_again(relay);
}

/* --- bytes --- */

static int would_wait(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static void count_bytes(struct connection *c, enum side from, size_t n)
{
	*(from == INSIDE ? &c->report.sent : &c->report.received) += n;
	c->relay->bytes += n;
}

/* 1: something moved, 0: nothing can now, -1: the side has broken off. */
static int take(struct connection *c, enum side from)
{
	struct flow *flow = &c->flow[from];

	size_t room = FLOW_SIZE - flow->start - flow->len;
	if (flow->ended || room == 0)
		return 0;
	ssize_t n = recv(c->fd[from], flow->bytes + flow->start + flow->len, room, 0);
	if (n < 0)
		return would_wait() ? 0 : -1;
	if (n == 0) {
		flow->ended = 1;
		return 1;
	}
	flow->len += (size_t)n;
	count_bytes(c, from, (size_t)n);
	return 1;
}

static int give(struct connection *c, enum side from)
{
	struct flow *flow = &c->flow[from];

	if (flow->len == 0) {
		if (!flow->ended || flow->passed_on)
			return 0;
		flow->passed_on = 1;
		/* Fails when the other side has gone altogether, which its own flow tells. */
		shutdown(c->fd[other(from)], SHUT_WR);
		return 1;
	}
	ssize_t n = send(c->fd[other(from)], flow->bytes + flow->start, flow->len, MSG_NOSIGNAL);
	if (n < 0)
		return would_wait() ? 0 : -1;
	flow->len -= (size_t)n;
	flow->start = flow->len > 0 ? flow->start + (size_t)n : 0;
	return n > 0;
}

static void wait_for_more(struct connection *c)
{
	for (int i = 0; i < SIDES; i++) {
		enum side side = (enum side)i;
		const struct flow *from = &c->flow[side], *to = &c->flow[other(side)];
		uint32_t events = 0;
		if (c->dialling)
			events = side == OUTSIDE ? EPOLLOUT : 0;
		else
			events = (!from->ended && from->start + from->len < FLOW_SIZE ? EPOLLIN : 0u) |
				 (to->len > 0 ? EPOLLOUT : 0u);
		watch_for(c->relay, c->fd[side], &c->watch[side], events);
	}
}

static void pump(struct connection *c)
{
	for (int round = 0, moved = 1; moved && round < ROUNDS_AT_ONCE; round++) {
		moved = 0;
		for (int i = 0; i < SIDES; i++) {
			int got = take(c, (enum side)i), gave = got < 0 ? -1 : give(c, (enum side)i);
			if (got < 0 || gave < 0) {
				finish(c, EGRESS_RESET);
				return;
			}
			moved |= got || gave;
		}
		if (c->relay->bytes > c->relay->limits.bytes) {
			refuse_more(c->relay);
			finish_all(c->relay, EGRESS_LIMIT);
			return;
		}
	}
	if (c->flow[INSIDE].passed_on && c->flow[OUTSIDE].passed_on)
		finish(c, EGRESS_CLOSED);
	else
		wait_for_more(c);
}

/* --- beginnings --- */

static void ready(struct connection *c)
{
	int error = 0;
	socklen_t size = sizeof error;

	if (c->over)
		return;
	if (c->dialling) {
		if (getsockopt(c->fd[OUTSIDE], SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error != 0) {
			finish(c, EGRESS_UNREACHABLE);
			return;
		}
		c->dialling = 0;
	}
	pump(c);
}

static int dial(const struct egress_destination *destination)
{
	auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || (connect(fd, (const struct sockaddr *)&destination->address, sizeof destination->address) < 0 &&
		       errno != EINPROGRESS))
		return -1;
	return take_fd(&fd);
}

/* Small messages that wait for each other are what most of this is. */
static void no_delay(int fd)
{
	int yes = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/* FD, which came from a listener, becomes the connection's. */
static void begin(struct egress_relay *relay, size_t listener, int fd)
{
	struct connection *c = malloc(sizeof *c);

	if (c == NULL) {
		break_off(&fd);
		return;
	}
	/* Not the buffers: most of them are never touched. */
	memset(c, 0, offsetof(struct connection, flow));
	for (int side = 0; side < SIDES; side++) {
		struct flow *flow = &c->flow[side];
		flow->start = flow->len = 0;
		flow->ended = flow->passed_on = 0;
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
	c->fd[OUTSIDE] = dial(c->report.destination);
	if (c->fd[OUTSIDE] < 0) {
		finish(c, EGRESS_UNREACHABLE);
		return;
	}
	no_delay(c->fd[INSIDE]);
	no_delay(c->fd[OUTSIDE]);
	c->dialling = 1;
	wait_for_more(c);
}

static void accept_all(struct egress_relay *relay, size_t listener)
{
	while (relay->open < relay->limits.at_once) {
		int fd = accept4(relay->listeners[listener], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		begin(relay, listener, fd);
	}
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
	for (size_t i = 0; i < count; i++)
		listening[i].listener = i;
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
		if (watch->connection == NULL)
			accept_all(relay, watch->listener);
		else
			ready(watch->connection);
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
