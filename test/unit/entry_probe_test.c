/* entry_probe: what answers, refuses and is silent, in a network of this process's own. A listener whose queue is full
 * is as silent as one behind a policy. */
#include "entry_probe.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "entry_evidence.h"
#include "unit.h"

/* A network with a loopback and nothing else: no probe of a link leaves the machine. */
static int own_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};

	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return -1;
	auto_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &lo);
}

struct port {
	int fd, filler;
	char address[32];
};

enum answers { ANSWERS = 128, ANSWERS_ONCE = 0 }; /* as listen's backlog */
static struct port open_port(enum answers answers)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	struct port p = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .filler = -1};
	socklen_t len = sizeof at;

	CHECK(bind(p.fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(p.fd, (int)answers) == 0 &&
	      getsockname(p.fd, (struct sockaddr *)&at, &len) == 0);
	snprintf(p.address, sizeof p.address, "127.0.0.1:%d", ntohs(at.sin_port));
	return p;
}

static struct port silent_port(void)
{
	struct port p = open_port(ANSWERS_ONCE);
	struct sockaddr_in at;
	socklen_t len = sizeof at;

	p.filler = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(getsockname(p.fd, (struct sockaddr *)&at, &len) == 0 &&
	      connect(p.filler, (struct sockaddr *)&at, sizeof at) == 0);
	return p;
}

static struct port refusing_port(void)
{
	struct port p = open_port(ANSWERS);

	base_close_fd(&p.fd);
	return p;
}

static void close_port(struct port *p)
{
	base_close_fd(&p->filler);
	base_close_fd(&p->fd);
}

/* The code of a probe that has PROBE_MS for a good round; "" for a good one. */
static const char *probe_for(uint64_t probe_ms, const char *allowed, const char *forbidden, const char *api_server,
			     const char *kubelet, struct probe *probe)
{
	static struct sbx_error why;
	struct boot boot = {.probe_ms = probe_ms,
			    .allowed = {.list = {(char *)allowed}, .count = allowed != NULL},
			    .forbidden = {.list = {(char *)forbidden}, .count = forbidden != NULL}};

	why = (struct sbx_error)SBX_ERROR_INIT;
	int result = entry_probe(&boot, api_server, kubelet, probe, &why);
	CHECK((result == 0) == (why.class == SBX_OK));
	return why.code;
}

enum { ONE_ROUND = 1, PATIENT = 20000 };
static const char *probe_once(const char *allowed, const char *forbidden, const char *api_server, const char *kubelet)
{
	struct probe probe = PROBE_INIT;
	const char *code = probe_for(ONE_ROUND, allowed, forbidden, api_server, kubelet, &probe);

	CHECK(code[0] == '\0' || probe.closed.len + probe.answered.len == 0);
	probe_clear(&probe);
	return code;
}

static void check_good(void)
{
	struct probe probe = PROBE_INIT;
	struct port needed = open_port(ANSWERS), silent = silent_port(), other = silent_port();
	char both[2 * sizeof silent.address + 8], one[sizeof silent.address + 4];

	/* The operator's own list: nothing else is tried. */
	CHECK_STR(probe_for(PATIENT, needed.address, silent.address, needed.address, needed.address, &probe), "");
	snprintf(one, sizeof one, "\"%s\"", silent.address);
	CHECK_STR(buf_str(&probe.closed), one);
	snprintf(one, sizeof one, "\"%s\"", needed.address);
	CHECK_STR(buf_str(&probe.answered), one);
	probe_clear(&probe);
	/* None: API server and kubelet, and beside something that is needed the kubelet alone. */
	probe = (struct probe)PROBE_INIT;
	CHECK_STR(probe_for(PATIENT, NULL, NULL, silent.address, other.address, &probe), "");
	snprintf(both, sizeof both, "\"%s\",\"%s\"", silent.address, other.address);
	CHECK_STR(buf_str(&probe.closed), both);
	CHECK(probe.answered.len == 0);
	probe_clear(&probe);
	probe = (struct probe)PROBE_INIT;
	CHECK_STR(probe_for(PATIENT, needed.address, NULL, needed.address, silent.address, &probe), "");
	probe_clear(&probe);
	close_port(&needed);
	close_port(&silent);
	close_port(&other);
}

static void check_bad(void)
{
	struct port open = open_port(ANSWERS), silent = silent_port(), refusing = refusing_port();

	CHECK_STR(probe_once(NULL, open.address, NULL, NULL), "egress_open");
	CHECK_STR(probe_once(NULL, NULL, open.address, silent.address), "egress_open");
	CHECK_STR(probe_once(NULL, NULL, silent.address, open.address), "egress_open");
	/* Another that is silent makes no good round of one that refuses. */
	CHECK_STR(probe_once(NULL, refusing.address, NULL, NULL), "egress_unproven");
	CHECK_STR(probe_once(NULL, NULL, silent.address, refusing.address), "egress_unproven");
	CHECK_STR(probe_once(silent.address, silent.address, NULL, NULL), "destination_silent");
	CHECK_STR(probe_once(refusing.address, silent.address, NULL, NULL), "destination_silent");
	close_port(&open);
	close_port(&silent);
	close_port(&refusing);
}

static void check_addresses(void)
{
	static const char *const none[] = {"x",		  "",	   "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536",
					   "localhost:1", "::1:1", "[::1:1"};

	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		CHECK_STR(probe_once(NULL, none[i], NULL, NULL), "bad_address");
		CHECK_STR(probe_once(none[i], "127.0.0.1:1", NULL, NULL), "bad_address");
	}
	/* A cluster that tells a Pod nothing: there is nothing to try, and that proves nothing. */
	CHECK_STR(probe_once(NULL, NULL, NULL, "127.0.0.1:1"), "bad_address");
	CHECK_STR(probe_once(NULL, NULL, "127.0.0.1:1", NULL), "bad_address");
	CHECK_STR(probe_once(NULL, "[::1]:1", NULL, NULL), "egress_unproven");
}

/* A policy that is in force a moment later: the listener answers one connection, and no other. */
static void check_late(void)
{
	struct probe probe = PROBE_INIT;
	struct port late = open_port(ANSWERS_ONCE);

	CHECK_STR(probe_for(PATIENT, NULL, late.address, NULL, NULL, &probe), "");
	CHECK(probe.rounds >= 2);
	probe_clear(&probe);
	close_port(&late);
}

/* Round after round, until a policy is in force: the loopback goes on to answer. */
static void check_many(void)
{
	enum { MANY_ROUNDS_MS = 2500 }; /* a round takes a tenth of that where the processor has nothing else to do */
	struct probe probe = PROBE_INIT;
	struct port refusing = refusing_port();
	struct boot boot = {.probe_ms = MANY_ROUNDS_MS, .forbidden = {.list = {refusing.address}, .count = 1}};
	struct sbx_error why = SBX_ERROR_INIT;

	CHECK(entry_probe(&boot, NULL, NULL, &probe, &why) < 0 && strstr(why.message, refusing.address) != NULL);
	CHECK(probe.rounds >= 2);
	probe_clear(&probe);
	close_port(&refusing);
}

/* 1 when a probe that is stopped in its first round waits as long for answers as one that is not. */
static int waits_after_stop(const struct port *silent)
{
	enum { STOPPED_MS = 300, ROUND_MS = 150, LATE_MS = 60 };
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		struct probe probe = PROBE_INIT;
		struct boot boot = {.probe_ms = PATIENT};
		struct sbx_error why = SBX_ERROR_INIT;
		int result = entry_probe(&boot, silent->address, silent->address, &probe, &why);
		_exit(result == 0 && probe.rounds == 1 && probe.took_ms >= STOPPED_MS + ROUND_MS ? 0 : 1);
	}
	poll(NULL, 0, LATE_MS);
	CHECK(child > 0 && kill(child, SIGSTOP) == 0);
	poll(NULL, 0, STOPPED_MS + LATE_MS);
	CHECK(kill(child, SIGCONT) == 0 && waitpid(child, &status, 0) == child);
	return status == 0;
}

/* The time for which a busy node stops a sandbox is not time for answers. On a busy machine the stop can come before the
 * round, or the round be lost for want of its own loopback's answer: neither says anything. */
static void check_stopped(void)
{
	struct port silent = silent_port();
	int waits = 0;

	for (int tries = 0; tries < 10 && !waits; tries++)
		waits = waits_after_stop(&silent);
	CHECK(waits);
	close_port(&silent);
}

static int says(const struct probe *probe, const char *network)
{
	struct evidence evidence;
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf json = BUF_INIT(65536);

	CHECK(evidence_gather(NULL, probe, &evidence, &err) == 0 && evidence_json(&evidence, &(struct evidence_told){.limits = NULL}, &json, &err) == 0);
	evidence_clear(&evidence);
	return strstr(buf_str(&json), network) != NULL;
}

/* Evidence speaks of a policy when a probe has seen one. */
static void check_evidence(void)
{
	struct probe bad = PROBE_INIT, good = PROBE_INIT;
	struct port open = open_port(ANSWERS), silent = silent_port();

	CHECK_STR(probe_for(ONE_ROUND, NULL, open.address, NULL, NULL, &bad), "egress_open");
	CHECK(says(&bad, "\"network\":\"present\"") && !says(&bad, "\"policy\""));
	CHECK_STR(probe_for(PATIENT, NULL, silent.address, NULL, NULL, &good), "");
	CHECK(says(&good, "\"network\":\"policy\"") && says(&good, silent.address));
	probe_clear(&bad);
	probe_clear(&good);
	close_port(&open);
	close_port(&silent);
}

int main(void)
{
	CHECK(own_network() == 0);
	check_good();
	check_bad();
	check_addresses();
	check_late();
	check_many();
	check_stopped();
	check_evidence();
	return unit_done();
}
