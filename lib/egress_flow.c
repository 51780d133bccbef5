#include "egress_flow.h"

#include <errno.h>
#include <sys/socket.h>

void egress_flow_init(struct egress_flow *flow)
{
	flow->start = flow->len = 0;
	flow->ended = flow->passed_on = 0;
}

static int would_wait(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int egress_flow_take(struct egress_flow *flow, int from, size_t *got)
{
	size_t room = EGRESS_FLOW_SIZE - flow->start - flow->len;

	*got = 0;
	if (flow->ended || room == 0)
		return 0;
	ssize_t n = recv(from, flow->bytes + flow->start + flow->len, room, 0);
	if (n < 0)
		return would_wait() ? 0 : -1;
	flow->ended = n == 0;
	flow->len += (size_t)n;
	*got = (size_t)n;
	return (size_t)n == room;
}

int egress_flow_give(struct egress_flow *flow, int to, int closes)
{
	if (flow->len > 0) {
		ssize_t n = send(to, flow->bytes + flow->start, flow->len, MSG_NOSIGNAL);
		if (n < 0)
			return would_wait() ? 0 : -1;
		flow->len -= (size_t)n;
		flow->start = flow->len > 0 ? flow->start + (size_t)n : 0;
	}
	if (flow->len > 0)
		return 0;
	if (flow->ended && !flow->passed_on) {
		flow->passed_on = 1;
		/* Fails when TO has gone altogether, which its own flow tells. */
		if (!closes)
			shutdown(to, SHUT_WR);
	}
	return 1;
}

int egress_flow_has_room(const struct egress_flow *flow)
{
	return !flow->ended && flow->start + flow->len < EGRESS_FLOW_SIZE;
}

int egress_flow_is_waiting(const struct egress_flow *flow)
{
	return flow->len > 0;
}
