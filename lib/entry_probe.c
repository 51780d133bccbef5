/* Rounds of connections that nobody waits for one by one. */
#include "entry_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "io.h"
#include "json_out.h"

/* A round: every target is asked anew each 20 ms, so that one lost packet hides nothing, and the last question has 120
 * ms, the first one 200. Where nothing was closed, the first answer of a listener on the node came after 5 ms, on a
 * node with three times more to do than it can after at most 71, and always in the first quarter of its round (187
 * first acts of a sandbox under gVisor). What an operator names may be further away, and has longer. */
static const int64_t ask_every_ms = 20, last_ms = 120, last_far_ms = 270;
enum { ASKS = 5 };
/* What the slowest good answer of a round took, times this, is what the last silent one must have had, */
static const int64_t patience_factor = 8;
static const int64_t patience_max_ms = 4000; /* if it is not more than anybody needs */
/* All of that is time in which this process ran: while a busy node stops a sandbox, answers wait outside, and its clock
 * goes on. So a wait is made of short ones, and one that took longer counts as this much. */
static const int64_t slice_ms = 25, slice_counts_ms = 30;
static const int64_t round_max_ms = 10000; /* by the clock; a round that is cut there has proved nothing */
static const int64_t between_ms = 50;
/* Where Calico's node listens for every pod, whatever addresses the cluster has. */
static const char calico_gateway[] = "fe80::ecee:eeff:feee:eeee";
enum { TARGETS_MAX = 2 * BOOT_ADDRESSES + 8, LINKS_MAX = 4 };

enum sort { SORT_FORBIDDEN, SORT_LINK_LOCAL, SORT_ALLOWED, SORT_LOOPBACK };
enum heard { HEARD_NOTHING, HEARD_ACCEPTED, HEARD_REFUSED };

struct target {
	enum sort sort;
	const char *name;
	struct sockaddr_storage address;
	socklen_t address_len;
	int fds[ASKS]; /* -1: not asked, or answered */
	int64_t asked[ASKS];
	enum heard heard;
	int accepted;	    /* how often */
	int64_t slowest_ms; /* good answer */
};

struct prober {
	struct target targets[TARGETS_MAX];
	size_t count;
	int listener;
	int64_t last_ms;  /* what the last question has, at least */
	int64_t listened; /* in this round, up to */
	int64_t looked;	  /* this moment (clock_mono_ms) */
	int is_cut;	  /* this round came to its end by the clock */
};

/* "ADDRESS:PORT" with an IPv6 address in brackets. */
static int parse_address(const char *text, struct target *t)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&t->address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&t->address;
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	uint64_t port;

	if (colon == NULL || (size_t)(colon - text) >= sizeof host || io_parse_u64(colon + 1, 1, 65535, &port) < 0)
		return -1;
	size_t len = (size_t)(colon - text);
	memcpy(host, text, len);
	host[len] = '\0';
	if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		*v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
		t->address_len = sizeof *v6;
		return inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1 ? 0 : -1;
	}
	*v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	t->address_len = sizeof *v4;
	return inet_pton(AF_INET, host, &v4->sin_addr) == 1 ? 0 : -1;
}

static struct target *new_target(struct prober *p, enum sort sort, const char *name)
{
	if (p->count >= TARGETS_MAX)
		return NULL;
	struct target *t = &p->targets[p->count++];
	*t = (struct target){.sort = sort, .name = name};
	for (int i = 0; i < ASKS; i++)
		t->fds[i] = -1;
	return t;
}

static int add_named(struct prober *p, enum sort sort, const char *name, struct sbx_error *why)
{
	struct target *t = name != NULL ? new_target(p, sort, name) : NULL;

	if (t != NULL && parse_address(name, t) == 0)
		return 0;
	return sbx_fail(why, SBX_CONFIG, "bad_address",
			"an address of the network probe is none: it takes ADDRESS:PORT");
}

static int add_list(struct prober *p, enum sort sort, const struct boot_addresses *list, struct sbx_error *why)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (add_named(p, sort, list->list[i], why) < 0)
			return -1;
	return 0;
}

static void add_links(struct prober *p)
{
	struct if_nameindex *links = if_nameindex();
	int added = 0;

	for (size_t i = 0; links != NULL && links[i].if_index != 0; i++) {
		struct target *t = strcmp(links[i].if_name, "lo") != 0 && added++ < LINKS_MAX
					   ? new_target(p, SORT_LINK_LOCAL, "[fe80::ecee:eeff:feee:eeee]:10250")
					   : NULL;
		if (t == NULL)
			continue;
		struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&t->address;
		*v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
					    .sin6_port = htons(PROBE_KUBELET_PORT),
					    .sin6_scope_id = links[i].if_index};
		inet_pton(AF_INET6, calico_gateway, &v6->sin6_addr);
		t->address_len = sizeof *v6;
	}
	if (links != NULL)
		if_freenameindex(links);
}

static int add_loopback(struct prober *p, struct sbx_error *why)
{
	struct target *t = new_target(p, SORT_LOOPBACK, "loopback");
	struct sockaddr_in *v4 = (struct sockaddr_in *)&t->address;

	*v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	t->address_len = sizeof *v4;
	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p->listener < 0 || bind(p->listener, (struct sockaddr *)v4, sizeof *v4) < 0 ||
	    listen(p->listener, ASKS) < 0 || getsockname(p->listener, (struct sockaddr *)v4, &t->address_len) < 0)
		return sbx_fail_errno(why, SBX_OS, "os_error", "cannot listen on the loopback");
	return 0;
}

static int gather(struct prober *p, const struct boot *boot, const char *api_server, const char *kubelet,
		  struct sbx_error *why)
{
	int own = boot->forbidden.count == 0;

	if (add_loopback(p, why) < 0 || add_list(p, SORT_ALLOWED, &boot->allowed, why) < 0 ||
	    add_list(p, SORT_FORBIDDEN, &boot->forbidden, why) < 0)
		return -1;
	if (own && boot->allowed.count == 0 && add_named(p, SORT_FORBIDDEN, api_server, why) < 0)
		return -1;
	if (own && add_named(p, SORT_FORBIDDEN, kubelet, why) < 0)
		return -1;
	add_links(p);
	return 0;
}

/* --- a round --- */

static void note(struct target *t, int ask, int error)
{
	int64_t took = clock_mono_ms() - t->asked[ask];

	close(t->fds[ask]);
	t->fds[ask] = -1;
	if (error != 0) {
		if (t->heard == HEARD_NOTHING)
			t->heard = HEARD_REFUSED;
		return;
	}
	t->heard = HEARD_ACCEPTED;
	t->accepted++;
	if (took > t->slowest_ms)
		t->slowest_ms = took;
}

static void ask(struct target *t, int number)
{
	t->asked[number] = clock_mono_ms();
	t->fds[number] = socket(t->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (t->fds[number] < 0) {
		/* No IPv6 here at all: nothing to reach by it. */
		t->heard = t->heard == HEARD_NOTHING ? HEARD_REFUSED : t->heard;
		return;
	}
	if (connect(t->fds[number], (struct sockaddr *)&t->address, t->address_len) == 0)
		note(t, number, 0);
	else if (errno != EINPROGRESS)
		note(t, number, errno);
}

static void hear(struct target *t, int number)
{
	int error = 0;
	socklen_t len = sizeof error;

	if (getsockopt(t->fds[number], SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	note(t, number, error);
}

/* Who answered and must not; NULL: nobody. */
static const struct target *open_target(const struct prober *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->targets[i].sort <= SORT_LINK_LOCAL && p->targets[i].heard == HEARD_ACCEPTED)
			return &p->targets[i];
	return NULL;
}

/* There is nothing more to learn from this round. */
static int is_decided(const struct prober *p)
{
	return p->is_cut || open_target(p) != NULL;
}

/* One wait for answers, which may end early. */
static void listen_slice(struct prober *p, int64_t ms)
{
	struct pollfd fds[TARGETS_MAX * ASKS + 1];
	struct target *of[ARRAY_LEN(fds)];
	int number[ARRAY_LEN(fds)];
	nfds_t n = 0;

	for (size_t i = 0; i < p->count; i++)
		for (int k = 0; k < ASKS; k++)
			if (p->targets[i].fds[k] >= 0) {
				of[n] = &p->targets[i];
				number[n] = k;
				fds[n++] = (struct pollfd){.fd = p->targets[i].fds[k], .events = POLLOUT};
			}
	int ready = poll(fds, n, (int)(ms < slice_ms ? ms : slice_ms));
	int64_t now = clock_mono_ms(), took = now - p->looked;
	p->listened += took < slice_counts_ms ? took : slice_counts_ms;
	p->looked = now;
	for (nfds_t i = 0; ready > 0 && i < n; i++)
		if (fds[i].revents)
			hear(of[i], number[i]);
}

/* Listen until so much of this round was listened to, or it is decided, or cut at END by the clock. */
static void listen_until(struct prober *p, int64_t listened, int64_t end)
{
	while (p->listened < listened && !is_decided(p)) {
		listen_slice(p, listened - p->listened);
		p->is_cut = clock_left_ms(end) == 0;
	}
}

static int64_t slowest(const struct prober *p)
{
	int64_t ms = 0;

	for (size_t i = 0; i < p->count; i++)
		if (p->targets[i].sort >= SORT_ALLOWED && p->targets[i].slowest_ms > ms)
			ms = p->targets[i].slowest_ms;
	return ms;
}

static int64_t patience(const struct prober *p)
{
	int64_t ms = patience_factor * slowest(p);

	return ms < p->last_ms ? p->last_ms : ms < patience_max_ms ? ms : patience_max_ms;
}

/* The listener's queue, too: it has room for one round. */
static void close_all(struct prober *p)
{
	for (int fd; (fd = accept(p->listener, NULL, NULL)) >= 0;)
		close(fd);
	for (size_t i = 0; i < p->count; i++)
		for (int k = 0; k < ASKS; k++)
			base_close_fd(&p->targets[i].fds[k]);
}

static void run_round(struct prober *p)
{
	int64_t asked = 0, end;

	p->listened = 0;
	p->looked = clock_mono_ms();
	end = p->looked + round_max_ms;
	p->is_cut = 0;
	for (size_t i = 0; i < p->count; i++) {
		p->targets[i].heard = HEARD_NOTHING;
		p->targets[i].accepted = 0;
		p->targets[i].slowest_ms = 0;
	}
	for (int k = 0; k < ASKS && !is_decided(p); k++) {
		listen_until(p, k * ask_every_ms, end);
		asked = p->listened;
		for (size_t i = 0; i < p->count; i++)
			ask(&p->targets[i], k);
	}
	/* Longer where even the good answers took long. */
	while (p->listened < asked + patience(p) && !is_decided(p))
		listen_until(p, asked + patience(p), end);
	close_all(p);
}

/* --- the verdict --- */

static int judge(const struct prober *p, struct sbx_error *why)
{
	const struct target *open = open_target(p);

	sbx_error_clear(why);
	/* Said before anything else: the round ended with it, so that others may not have been heard. */
	if (open != NULL) {
		sbx_fail(why, SBX_DENIED, "egress_open", "the sandbox's network reaches %s, which no policy allows",
			 open->name);
		return sbx_hint(why, "is the cluster's network policy enforced? make verify says so");
	}
	for (size_t i = 0; i < p->count; i++) {
		const struct target *t = &p->targets[i];
		/* A link-local address that nobody has is refused, and nothing can be learned from that. */
		if (t->sort == SORT_FORBIDDEN && t->heard == HEARD_REFUSED)
			sbx_fail(why, SBX_DENIED, "egress_unproven",
				 "%s refuses instead of being silent, so nothing proves that the "
				 "network is closed",
				 t->name);
		if (t->sort == SORT_ALLOWED && t->heard != HEARD_ACCEPTED)
			sbx_fail(why, SBX_DENIED, "destination_silent", "%s, which the tool needs, does not answer",
				 t->name);
		if (t->sort == SORT_LOOPBACK && t->accepted < ASKS)
			sbx_fail(why, SBX_DENIED, "egress_unproven",
				 "the sandbox's own loopback does not answer in time");
	}
	if (p->is_cut)
		sbx_fail(why, SBX_DENIED, "egress_unproven",
			 "the node runs this sandbox too rarely to prove that its network is closed");
	return why->class == SBX_OK ? 0 : -1;
}

static int add_name(struct buf *list, const char *name, struct sbx_error *err)
{
	if (list->len > 0 && buf_add_str(list, ",", err) < 0)
		return -1;
	return json_out_string(list, name, strlen(name), err);
}

static int report(const struct prober *p, struct probe *probe, struct sbx_error *err)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct target *t = &p->targets[i];
		if (t->sort == SORT_LOOPBACK)
			continue;
		if (add_name(t->sort == SORT_ALLOWED ? &probe->answered : &probe->closed, t->name, err) < 0)
			return -1;
	}
	return 0;
}

int entry_probe(const struct boot *boot, const char *api_server, const char *kubelet, struct probe *probe,
		struct sbx_error *why)
{
	static struct prober p; /* too large for a stack that is not asked for its size */
	int64_t began = clock_mono_ms(), until = began + (int64_t)boot->probe_ms;
	int result = -1;

	p = (struct prober){.listener = -1, .last_ms = boot->forbidden.count == 0 ? last_ms : last_far_ms};
	if (gather(&p, boot, api_server, kubelet, why) == 0) {
		do {
			if (probe->rounds > 0)
				poll(NULL, 0, (int)between_ms);
			run_round(&p);
			probe->rounds++;
			result = judge(&p, why);
		} while (result < 0 && clock_left_ms(until) > 0);
		probe->took_ms = clock_mono_ms() - began;
	}
	if (result == 0)
		result = report(&p, probe, why);
	base_close_fd(&p.listener);
	return result;
}

void probe_clear(struct probe *probe)
{
	buf_clear(&probe->closed);
	buf_clear(&probe->answered);
}
