/* The relay between sockets of this process: what goes in comes out, an end and a reset are passed on, limits hold, and
 * random interleavings neither hang it nor leak a descriptor. An argument is the number of seconds for the last
 * (default: 1). */
#include "egress_relay.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base.h"
#include "clock.h"
#include "unit.h"

enum { MOST = 12, REPORTS = 4096 };

static struct egress_connection reports[REPORTS];
static size_t report_count;

static void take_report(void *context, const struct egress_connection *connection)
{
	(void)context;
	reports[report_count++ % REPORTS] = *connection;
}

static int open_descriptors(void)
{
	int n = 0;
	DIR *dir = opendir("/proc/self/fd");

	while (dir != NULL && readdir(dir) != NULL)
		n++;
	if (dir != NULL)
		closedir(dir);
	return n;
}

static int listener(struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof *address;

	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (bind(fd, (struct sockaddr *)address, sizeof *address) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)address, &len) < 0)
		abort();
	return fd;
}

static int connect_to(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 && errno != EINPROGRESS)
		abort();
	return fd;
}

static void reset(int *fd)
{
	struct linger at_once = {.l_onoff = 1};

	if (*fd >= 0)
		setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	base_close_fd(fd);
}

/* A relay whose sandbox and destination are both here. */
struct bench {
	struct sockaddr_in inside, outside;
	int listener, server;
	struct egress_destination destination;
	struct egress_relay *relay;
};

static void bench_open(struct bench *b, struct egress_limits limits)
{
	struct sbx_error err = SBX_ERROR_INIT;

	report_count = 0;
	b->listener = listener(&b->inside);
	b->server = listener(&b->outside);
	b->destination = (struct egress_destination){.name = "there", .address = b->outside};
	b->relay = egress_relay_open(&b->destination, &b->listener, 1, &limits, take_report, NULL, &err);
	if (b->relay == NULL)
		abort();
}

static void bench_close(struct bench *b)
{
	egress_relay_close(b->relay);
	base_close_fd(&b->listener);
	base_close_fd(&b->server);
}

static void turn(struct bench *b, int ms)
{
	struct pollfd fd = {.fd = egress_relay_fd(b->relay), .events = POLLIN};

	if (poll(&fd, 1, ms) > 0)
		egress_relay_turn(b->relay);
}

/* Nothing for the relay to do: it does not turn for ever over what it will not take. */
static int is_quiet(struct bench *b)
{
	struct pollfd fd = {.fd = egress_relay_fd(b->relay), .events = POLLIN};

	for (int i = 0; i < 10 && poll(&fd, 1, 0) > 0; i++)
		egress_relay_turn(b->relay);
	return poll(&fd, 1, 0) == 0;
}

/* The other end of what was just connected; -1 when none comes in a second. */
static int accept_at(struct bench *b)
{
	int fd = -1;

	for (int64_t until = clock_mono_ms() + 30000; fd < 0 && clock_left_ms(until) > 0;) {
		turn(b, 5);
		fd = accept4(b->server, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
	return fd;
}

/* Read one piece from FD while the relay works: its length, 0 at the end, -1 for a reset, -2 for nothing in five
 * seconds. */
static ssize_t read_from(struct bench *b, int fd, char *bytes, size_t size)
{
	for (int64_t until = clock_mono_ms() + 30000; clock_left_ms(until) > 0;) {
		ssize_t n = recv(fd, bytes, size, 0);
		if (n >= 0 || errno != EAGAIN)
			return n < 0 ? -1 : n;
		turn(b, 5);
	}
	return -2;
}

static const struct egress_limits roomy = {.at_once = 64, .total = 1000, .bytes = UINT64_MAX};

static void both_ways_and_half_closed(void)
{
	struct bench b;
	char bytes[64];

	bench_open(&b, roomy);
	int in = connect_to(&b.inside), out = accept_at(&b);
	CHECK(in >= 0 && out >= 0);
	CHECK(send(out, "banner", 6, 0) == 6 && read_from(&b, in, bytes, sizeof bytes) == 6);
	CHECK(send(in, "request", 7, 0) == 7 && shutdown(in, SHUT_WR) == 0);
	CHECK(read_from(&b, out, bytes, sizeof bytes) == 7 && memcmp(bytes, "request", 7) == 0);
	CHECK(read_from(&b, out, bytes, sizeof bytes) == 0);
	/* The answer comes back on what is half closed. */
	CHECK(send(out, "answer", 6, 0) == 6);
	CHECK(read_from(&b, in, bytes, sizeof bytes) == 6 && memcmp(bytes, "answer", 6) == 0);
	CHECK(report_count == 0);
	base_close_fd(&out);
	CHECK(read_from(&b, in, bytes, sizeof bytes) == 0);
	CHECK(report_count == 1 && reports[0].end == EGRESS_CLOSED && reports[0].sent == 7 && reports[0].received == 12);
	base_close_fd(&in);
	bench_close(&b);
	CHECK(report_count == 1);
}

static void a_reset_is_passed_on(void)
{
	struct bench b;
	char bytes[8];

	bench_open(&b, roomy);
	for (int from_inside = 0; from_inside < 2; from_inside++) {
		int in = connect_to(&b.inside), out = accept_at(&b);
		CHECK(send(in, "x", 1, 0) == 1 && read_from(&b, out, bytes, sizeof bytes) == 1);
		reset(from_inside ? &in : &out);
		CHECK(read_from(&b, from_inside ? out : in, bytes, sizeof bytes) == -1);
		CHECK(report_count == (size_t)from_inside + 1 && reports[from_inside].end == EGRESS_RESET);
		base_close_fd(&in);
		base_close_fd(&out);
	}
	bench_close(&b);
}

/* Nobody reads on either side: neither stops the other for ever. */
static void bulk_in_both_directions_at_once(void)
{
	enum { TOTAL = 8 << 20 };
	static char block[64 << 10];
	struct bench b;
	size_t sent[2] = {0, 0}, got[2] = {0, 0};

	bench_open(&b, roomy);
	int in = connect_to(&b.inside), out = accept_at(&b), fds[2] = {in, out};
	for (int64_t until = clock_mono_ms() + 20000; clock_left_ms(until) > 0 && got[0] + got[1] < 2 * (size_t)TOTAL;) {
		for (int side = 0; side < 2; side++) {
			size_t want = TOTAL - sent[side] < sizeof block ? TOTAL - sent[side] : sizeof block;
			ssize_t n = want > 0 ? send(fds[side], block, want, MSG_NOSIGNAL) : 0;
			sent[side] += n > 0 ? (size_t)n : 0;
		}
		turn(&b, 0);
		/* Reading begins when nothing can be written any more. */
		for (int side = 0; side < 2 && sent[0] + sent[1] > (size_t)1 << 20; side++) {
			ssize_t n = recv(fds[side], block, sizeof block, 0);
			got[side] += n > 0 ? (size_t)n : 0;
		}
	}
	CHECK(got[0] == TOTAL && got[1] == TOTAL);
	base_close_fd(&in);
	base_close_fd(&out);
	bench_close(&b);
}

/* All of it waits, for nobody reads, and then goes on though nothing else happens. */
static void a_slow_reader_gets_all(void)
{
	enum { TOTAL = 16 << 20 };
	static char block[64 << 10];
	struct bench b;
	size_t sent = 0, got = 0;
	ssize_t n;

	bench_open(&b, roomy);
	int in = connect_to(&b.inside), out = accept_at(&b);
	while (sent < TOTAL && got == 0) {
		n = send(in, block, sizeof block, MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		turn(&b, 1);
		if (n < 0)
			break;
	}
	CHECK(sent > 0 && shutdown(in, SHUT_WR) == 0);
	while ((n = read_from(&b, out, block, 1000)) > 0)
		got += (size_t)n;
	CHECK(n == 0 && got == sent);
	base_close_fd(&in);
	base_close_fd(&out);
	bench_close(&b);
}

static void limits_hold(void)
{
	struct bench b;
	char bytes[4096] = "";

	/* One at a time: the second waits, and comes when the first is over. */
	bench_open(&b, (struct egress_limits){.at_once = 1, .total = 2, .bytes = UINT64_MAX});
	int first = connect_to(&b.inside), out = accept_at(&b), second = connect_to(&b.inside);
	for (int i = 0; i < 20; i++)
		turn(&b, 2);
	CHECK(accept4(b.server, NULL, NULL, SOCK_CLOEXEC) < 0);
	base_close_fd(&first);
	base_close_fd(&out);
	out = accept_at(&b);
	CHECK(out >= 0 && report_count == 1);
	base_close_fd(&second);
	base_close_fd(&out);
	for (int i = 0; i < 100 && report_count < 2; i++)
		turn(&b, 5);
	/* And a third is one too many, after which nobody listens. */
	first = connect_to(&b.inside);
	CHECK(read_from(&b, first, bytes, sizeof bytes) == -1);
	CHECK(report_count == 3 && reports[2].end == EGRESS_LIMIT);
	base_close_fd(&first);
	first = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(connect(first, (struct sockaddr *)&b.inside, sizeof b.inside) < 0 && errno == ECONNREFUSED);
	base_close_fd(&first);
	CHECK(is_quiet(&b) && report_count == 3);
	bench_close(&b);

	bench_open(&b, (struct egress_limits){.at_once = 4, .total = 9, .bytes = 10000});
	first = connect_to(&b.inside);
	out = accept_at(&b);
	second = connect_to(&b.inside);
	int other = accept_at(&b);
	CHECK(send(first, bytes, 4096, 0) == 4096 && read_from(&b, out, bytes, 4096) > 0);
	CHECK(send(first, bytes, 4096, 0) == 4096 && read_from(&b, out, bytes, 4096) > 0);
	CHECK(report_count == 0 && send(first, bytes, 4096, 0) == 4096);
	for (int i = 0; i < 100 && report_count == 0; i++)
		turn(&b, 5);
	/* All of them end, not the one alone that said the last byte. */
	CHECK(report_count == 2 && reports[0].end == EGRESS_LIMIT && reports[1].end == EGRESS_LIMIT);
	CHECK(read_from(&b, second, bytes, sizeof bytes) == -1 && read_from(&b, other, bytes, sizeof bytes) == -1);
	CHECK(is_quiet(&b));
	base_close_fd(&first);
	base_close_fd(&out);
	base_close_fd(&second);
	base_close_fd(&other);
	bench_close(&b);
}

static void nobody_there_and_the_end(void)
{
	struct bench b;
	char bytes[8];

	bench_open(&b, roomy);
	base_close_fd(&b.server);
	int in = connect_to(&b.inside);
	CHECK(read_from(&b, in, bytes, sizeof bytes) == -1);
	CHECK(report_count == 1 && reports[0].end == EGRESS_UNREACHABLE && reports[0].sent == 0);
	base_close_fd(&in);
	bench_close(&b);
	bench_open(&b, roomy);
	in = connect_to(&b.inside);
	int out = accept_at(&b);
	CHECK(egress_relay_is_sending(b.relay));
	egress_relay_close(b.relay);
	b.relay = NULL;
	CHECK(report_count == 1 && reports[0].end == EGRESS_STOPPED);
	CHECK(recv(out, bytes, sizeof bytes, 0) == -1 && errno == ECONNRESET);
	base_close_fd(&in);
	base_close_fd(&out);
	bench_close(&b);
}

/* --- random interleavings --- */

static uint64_t seed;

static unsigned any(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

/* What one side sends is the count of its bytes, so that the other can tell a lost or doubled one. */
struct talker {
	int fd;
	unsigned char next_out, next_in;
	int wrong;
};

struct pair {
	struct talker side[2]; /* inside, outside */
};

static void talk(struct talker *t)
{
	unsigned char bytes[9000];
	size_t n = 1 + any(sizeof bytes - 1);

	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)(t->next_out + i);
	ssize_t sent = send(t->fd, bytes, n, MSG_NOSIGNAL);
	if (sent > 0)
		t->next_out = (unsigned char)(t->next_out + sent);
}

static void hear(struct talker *t)
{
	unsigned char bytes[9000];
	ssize_t n = recv(t->fd, bytes, 1 + any(sizeof bytes - 1), 0);

	for (ssize_t i = 0; i < n; i++)
		t->wrong |= bytes[i] != t->next_in++;
}

static void act(struct bench *b, struct pair *p)
{
	struct talker *t = &p->side[any(2)];

	if (p->side[0].fd < 0 && p->side[1].fd < 0) {
		*p = (struct pair){.side = {{.fd = connect_to(&b->inside)}, {.fd = accept_at(b)}}};
		return;
	}
	if (t->fd < 0)
		return;
	switch (any(20)) {
	case 0:
		shutdown(t->fd, SHUT_WR);
		break;
	case 1:
		reset(&t->fd);
		break;
	case 2:
		base_close_fd(&t->fd);
		break;
	default:
		if (any(2))
			talk(t);
		else
			hear(t);
	}
}

static void random_interleavings(int seconds)
{
	int before = open_descriptors(), wrong = 0, stuck = 0;
	unsigned rounds = 0;

	for (int64_t until = clock_mono_ms() + seconds * 1000; clock_left_ms(until) > 0; rounds++) {
		struct bench b;
		struct pair pairs[MOST];
		seed = rounds;
		bench_open(&b, (struct egress_limits){.at_once = MOST, .total = 100000, .bytes = UINT64_MAX});
		for (size_t i = 0; i < MOST; i++)
			pairs[i] = (struct pair){.side = {{.fd = -1}, {.fd = -1}}};
		for (int i = 0; i < 600; i++) {
			act(&b, &pairs[any(MOST)]);
			if (any(3) == 0)
				turn(&b, 0);
		}
		for (size_t i = 0; i < MOST; i++)
			for (int side = 0; side < 2; side++) {
				wrong |= pairs[i].side[side].wrong;
				base_close_fd(&pairs[i].side[side].fd);
			}
		/* With both sides gone, every connection comes to its end by itself. */
		for (int i = 0; i < 1000 && egress_relay_is_sending(b.relay); i++)
			turn(&b, 5);
		stuck |= egress_relay_is_sending(b.relay);
		bench_close(&b);
	}
	printf("# %u rounds\n", rounds);
	CHECK(!wrong);
	CHECK(!stuck);
	CHECK(open_descriptors() == before);
}

int main(int argc, char **argv)
{
	both_ways_and_half_closed();
	a_reset_is_passed_on();
	bulk_in_both_directions_at_once();
	a_slow_reader_gets_all();
	limits_hold();
	nobody_there_and_the_end();
	random_interleavings(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1);
	return unit_done();
}
