/* A step of the tests of the local driver's relay. Static, needs nothing of the sandbox. ADDRESS:PORT is a destination that is allowed.
 *
 *     ways talk ADDRESS PORT TEXT   sends TEXT, ends its side, and prints what comes back: "said WORDS", or the errno's name
 *     ways hello ADDRESS PORT       sends a line and goes, without a look at what comes
 *     ways many ADDRESS PORT N      opens N connections, sends a byte on each, and prints how many were answered
 *     ways bulk ADDRESS PORT MB     sends and reads so many megabytes at once, and prints what came back
 *     ways rate ADDRESS PORT MB     the same, and prints the milliseconds that it took, alone
 *     ways first ADDRESS PORT N     connects N times, one after the other, for a byte that comes back: prints the median in milliseconds
 *     ways hold ADDRESS PORT        leaves a process behind that holds a connection
 *     ways last ADDRESS PORT        prints "ready", waits for SIGINT, and talks then
 *     ways there ADDRESS PORT       one line "NAME RESULT" for each way of making a connection there that is not plain TCP
 *     ways out ADDRESS PORT         one line "NAME RESULT" for each other way that might lead out
 *     ways                          the same of the place that is the first line of the file "place", said there; so it does where Terraform starts it as
 *                                   a provider
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 1500 };

static void say(const char *name, long result)
{
	printf("%s %s\n", name, result >= 0 ? "ok" : strerrorname_np(errno));
	fflush(stdout);
}
#define TRY(name, expression) (errno = 0, say(name, (long)(expression)))

/* 0 when it connects; -1 with errno, ETIMEDOUT after a while. */
static int joined(int fd, const void *to, socklen_t len)
{
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	int error = 0;
	socklen_t size = sizeof error;

	if (fd < 0)
		return -1;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (connect(fd, to, len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -1;
	if (poll(&ready, 1, PATIENCE_MS) == 0)
		error = ETIMEDOUT;
	else
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	errno = error;
	return error == 0 ? 0 : -1;
}

static struct sockaddr_in at(const char *address, unsigned port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	inet_pton(AF_INET, address, &to.sin_addr);
	return to;
}

static int tcp(struct sockaddr_in to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (joined(fd, &to, sizeof to) == 0)
		return fd;
	return -1;
}

static int tcp_by(const char *address, unsigned port, int protocol)
{
	struct sockaddr_in to = at(address, port);

	return joined(socket(AF_INET, SOCK_STREAM, protocol), &to, sizeof to);
}

static int tcp6(const char *address, unsigned port, unsigned scope)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_scope_id = scope};

	inet_pton(AF_INET6, address, &to.sin6_addr);
	return joined(socket(AF_INET6, SOCK_STREAM, 0), &to, sizeof to);
}

/* A datagram that somebody gets is not refused within a moment. */
static int udp(const char *address, unsigned port)
{
	struct sockaddr_in to = at(address, port);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), yes = 1;
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	char byte;

	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes);
	if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 || send(fd, "?", 1, 0) < 0)
		return -1;
	poll(&ready, 1, 300);
	if (recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
		errno = ETIMEDOUT;
	return errno == 0 ? 0 : -1;
}

static int fast_open(const char *address, unsigned port)
{
	struct sockaddr_in to = at(address, port);

	return (int)sendto(socket(AF_INET, SOCK_STREAM, 0), "x", 1, MSG_FASTOPEN, (struct sockaddr *)&to, sizeof to);
}

static int by_unix(const char *name, int is_abstract)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	snprintf(to.sun_path + is_abstract, sizeof to.sun_path - 1, "%s", name);
	return joined(socket(AF_UNIX, SOCK_STREAM, 0), &to,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1));
}

/* An address of our own, a route of our own: what would make another way. */
static int new_address(void)
{
	struct ifreq request = {.ifr_name = "lo:9"};
	struct sockaddr_in to = at("198.51.100.1", 0);

	memcpy(&request.ifr_addr, &to, sizeof to);
	return ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFADDR, &request);
}

static int serve(const char *address, unsigned port)
{
	struct sockaddr_in here = at(address, port);

	return bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&here, sizeof here);
}

static int with_option(int level, int option, const void *value, socklen_t size)
{
	return setsockopt(socket(AF_INET, SOCK_STREAM, 0), level, option, value, size);
}

static int with_stream_option(int level, int option, int value)
{
	return with_option(level, option, &value, sizeof value);
}

/* The relay listens at TO: a listener of our own there would take the connections of others. */
static int steal(struct sockaddr_in to, int protocol, int option)
{
	int fd = socket(AF_INET, SOCK_STREAM, protocol), yes = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, option, &yes, sizeof yes);
	return bind(fd, (struct sockaddr *)&to, sizeof to) < 0 ? -1 : listen(fd, 1);
}

/* From an address that is nobody's, which no capability is needed for; it leads nowhere. */
static int free_bind(const char *address, unsigned port)
{
	struct sockaddr_in from = at("198.51.100.1", 0), to = at(address, port);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), yes = 1;

	setsockopt(fd, SOL_IP, IP_FREEBIND, &yes, sizeof yes);
	return bind(fd, (struct sockaddr *)&from, sizeof from) < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof to);
}

static int join_namespace(const char *path)
{
	int fd = open(path, O_RDONLY);

	return fd < 0 ? -1 : setns(fd, CLONE_NEWNET);
}

static int loopback_down(void)
{
	struct ifreq request = {.ifr_name = "lo"};

	return ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &request);
}

static int route(void)
{
	struct rtentry request = {.rt_flags = RTF_UP, .rt_dev = (char[]){"lo"}};
	struct sockaddr_in all = at("0.0.0.0", 0);

	memcpy(&request.rt_dst, &all, sizeof all);
	memcpy(&request.rt_genmask, &all, sizeof all);
	return ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCADDRT, &request);
}

/* A descriptor that is there from the start, beside the three; -1: none. */
static int found_open;

static int inherited(void)
{
	for (int fd = STDERR_FILENO + 1; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return fd;
	return -1;
}

static int out(const char *address, unsigned port)
{
	struct in_addr next = at(address, 0).sin_addr;
	char neighbour[INET_ADDRSTRLEN], mapped[64];
	int yes = 1;

	next.s_addr = htonl(ntohl(next.s_addr) + 1);
	inet_ntop(AF_INET, &next, neighbour, sizeof neighbour);
	snprintf(mapped, sizeof mapped, "::ffff:%s", neighbour);
	TRY("inherited", found_open >= 0 ? found_open : (errno = EBADF, -1));
	TRY("other-port", tcp(at(address, port + 1)));
	TRY("port-22", tcp(at(address, 22)));
	TRY("other-address", tcp(at(neighbour, port)));
	TRY("loopback", tcp(at("127.0.0.1", port)));
	TRY("this-host", tcp(at("0.0.0.0", port)));
	TRY("private-10", tcp(at("10.0.0.1", port)));
	TRY("private-172", tcp(at("172.16.0.1", port)));
	TRY("private-192", tcp(at("192.168.0.1", port)));
	TRY("public", tcp(at("198.51.100.7", port)));
	TRY("metadata", tcp(at("169.254.169.254", 80)));
	TRY("link-local", tcp(at("169.254.1.1", port)));
	TRY("broadcast", tcp(at("255.255.255.255", port)));
	TRY("fast-open-elsewhere", fast_open("198.51.100.7", port));
	TRY("fast-open-port", fast_open(address, port + 1));
	TRY("mptcp-elsewhere", tcp_by("198.51.100.7", port, 262));
	TRY("sctp", tcp_by(address, port, 132));
	TRY("udp-same-place", udp(address, port));
	TRY("udp-dns-there", udp(address, 53));
	TRY("udp-dns-loopback", udp("127.0.0.1", 53));
	TRY("udp-dns-public", udp("198.51.100.53", 53));
	TRY("udp-metadata", udp("169.254.169.254", 80));
	TRY("udp-broadcast", udp("255.255.255.255", 67));
	TRY("udp-multicast", udp("224.0.0.251", 5353));
	TRY("ipv6-loopback", tcp6("::1", port, 0));
	TRY("ipv6-public", tcp6("2001:db8::1", port, 0));
	TRY("ipv6-link-local", tcp6("fe80::1", port, 1));
	TRY("ipv6-metadata", tcp6("fd00:ec2::254", 80, 0));
	TRY("ipv6-mapped-elsewhere", tcp6(mapped, port, 0));
	TRY("raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	TRY("raw-ipv6", socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6));
	TRY("ping", socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
	TRY("packet", socket(AF_PACKET, SOCK_RAW, 0));
	TRY("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
	TRY("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
	TRY("alg", socket(AF_ALG, SOCK_SEQPACKET, 0));
	TRY("unix-docker", by_unix("/run/docker.sock", 0));
	TRY("unix-bus", by_unix("/run/dbus/system_bus_socket", 0));
	TRY("unix-abstract", by_unix("sbx-test-host", 1));
	TRY("tun", open("/dev/net/tun", O_RDWR));
	TRY("new-address", new_address());
	TRY("serve", serve("0.0.0.0", port + 2));
	TRY("transparent", with_option(SOL_IP, IP_TRANSPARENT, &yes, sizeof yes));
	TRY("source-route", with_option(SOL_IP, IP_OPTIONS, "\x83\x07\x04\x01\x01\x01\x01\x00", 8));
	TRY("bind-to-device", with_option(SOL_SOCKET, SO_BINDTODEVICE, "eth0", 5));
	TRY("mark", with_stream_option(SOL_SOCKET, SO_MARK, 1));
	TRY("repair", with_stream_option(IPPROTO_TCP, TCP_REPAIR, 1));
	TRY("free-bind", free_bind("198.51.100.7", port));
	TRY("steal", steal(at(address, port), 0, SO_REUSEADDR));
	TRY("steal-shared", steal(at(address, port), 0, SO_REUSEPORT));
	TRY("steal-all", steal(at("0.0.0.0", port), 0, SO_REUSEPORT));
	TRY("steal-mptcp", steal(at(address, port), 262, SO_REUSEPORT));
	TRY("steal-all-mptcp", steal(at("0.0.0.0", port), 262, SO_REUSEADDR));
	TRY("sock-packet", socket(AF_INET, SOCK_PACKET, htons(3)));
	TRY("key", socket(AF_KEY, SOCK_RAW, 2));
	TRY("xdp", socket(AF_XDP, SOCK_RAW, 0));
	TRY("tipc", socket(AF_TIPC, SOCK_STREAM, 0));
	TRY("rds", socket(AF_RDS, SOCK_SEQPACKET, 0));
	TRY("smc", socket(AF_SMC, SOCK_STREAM, 0));
	TRY("l2tp", socket(AF_INET, SOCK_DGRAM, 115));
	TRY("loopback-down", loopback_down());
	TRY("route", route());
	TRY("unshare", unshare(CLONE_NEWUSER | CLONE_NEWNET));
	TRY("own-namespace", join_namespace("/proc/self/ns/net"));
	TRY("first-namespace", join_namespace("/proc/1/ns/net"));
	TRY("parent-namespace", setns((int)syscall(SYS_pidfd_open, 1, 0), CLONE_NEWNET));
	TRY("descriptor-of-another", syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, 1, 0), 0, 0));
	TRY("io-uring", syscall(SYS_io_uring_setup, 1, NULL));
	TRY("userfaultfd", syscall(SYS_userfaultfd, 0));
	TRY("bpf", syscall(SYS_bpf, 0, NULL, 0));
	return 0;
}

/* Every way of the kernel to reach the place itself: none may lead there for a step that has no network. What has sent
 * something reads the answer, for a connection that fast open begins is known to be one only then. */
static int answered(int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	char byte;

	if (fd < 0)
		return -1;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (poll(&ready, 1, PATIENCE_MS) == 0) {
		errno = ETIMEDOUT;
		return -1;
	}
	return recv(fd, &byte, 1, 0) < 0 ? -1 : 0;
}

static int asked(int fd)
{
	if (fd >= 0 && send(fd, "x", 1, MSG_NOSIGNAL) < 0)
		return -1;
	return answered(fd);
}

static int connected(int family, int protocol, const void *to, socklen_t len)
{
	int fd = socket(family, SOCK_STREAM, protocol);

	return joined(fd, to, len) < 0 ? -1 : asked(fd);
}

static int fast_open_there(struct sockaddr_in to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof to) < 0 ? -1 : answered(fd);
}

static int fast_open_connect(struct sockaddr_in to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &yes, sizeof yes);
	return joined(fd, &to, sizeof to) < 0 ? -1 : asked(fd);
}

static int unspecified_first(struct sockaddr_in to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr none = {.sa_family = AF_UNSPEC};

	connect(fd, &none, sizeof none);
	return joined(fd, &to, sizeof to) < 0 ? -1 : asked(fd);
}

static int there(const char *address, unsigned port)
{
	struct sockaddr_in to = at(address, port);
	struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	char text[64];

	snprintf(text, sizeof text, "::ffff:%s", address);
	inet_pton(AF_INET6, text, &mapped.sin6_addr);
	TRY("tcp", connected(AF_INET, 0, &to, sizeof to));
	TRY("tcp-mapped", connected(AF_INET6, 0, &mapped, sizeof mapped));
	TRY("mptcp", connected(AF_INET, 262, &to, sizeof to));
	TRY("mptcp-mapped", connected(AF_INET6, 262, &mapped, sizeof mapped));
	TRY("smc", connected(AF_INET, 256, &to, sizeof to));
	TRY("sctp", connected(AF_INET, 132, &to, sizeof to));
	TRY("fast-open", fast_open_there(to));
	TRY("fast-open-connect", fast_open_connect(to));
	TRY("unspecified-first", unspecified_first(to));
	return 0;
}

/* --- the allowed one --- */

static int talk(const char *address, unsigned port, const char *text)
{
	char bytes[4096];
	size_t len = 0;
	int fd = tcp(at(address, port));

	if (fd >= 0) {
		fcntl(fd, F_SETFL, 0);
		send(fd, text, strlen(text), MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
		errno = 0;
		for (ssize_t n; len < sizeof bytes && (n = recv(fd, bytes + len, sizeof bytes - len, 0)) > 0;)
			len += (size_t)n;
	}
	if (errno != 0)
		printf("%s\n", strerrorname_np(errno));
	else
		printf("said %.*s\n", (int)len, bytes);
	return 0;
}

static void late(int signal)
{
	(void)signal;
}

static int last(const char *address, unsigned port)
{
	struct sigaction action = {.sa_handler = late};

	sigaction(SIGINT, &action, NULL);
	printf("ready\n");
	fflush(stdout);
	pause();
	return talk(address, port, "late");
}

static int as_provider(void)
{
	char address[INET_ADDRSTRLEN] = "";
	unsigned port = 0;
	FILE *place = fopen("place", "r");

	if (place == NULL || fscanf(place, "%15s %u", address, &port) != 2)
		return 64;
	fclose(place);
	int fd = tcp(at(address, port));
	fcntl(fd, F_SETFL, 0);
	/* Its own stdout stays open: Terraform kills a provider that has closed it. */
	if (fd < 0 || dup(STDOUT_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0)
		return 1;
	return out(address, port);
}

static int many(const char *address, unsigned port, int count)
{
	int fds[512], answered = 0;

	if (count > 512)
		return 64;
	for (int i = 0; i < count; i++) {
		fds[i] = tcp(at(address, port));
		if (fds[i] >= 0)
			send(fds[i], "x", 1, MSG_NOSIGNAL);
	}
	for (int i = 0; i < count; i++) {
		struct pollfd ready = {.fd = fds[i], .events = POLLIN};
		char byte;
		answered += fds[i] >= 0 && poll(&ready, 1, 700) > 0 && recv(fds[i], &byte, 1, 0) == 1;
	}
	printf("answered %d\n", answered);
	return 0;
}

/* How many bytes came back. */
static size_t bulk(const char *address, unsigned port, size_t megabytes)
{
	static char block[65536];
	size_t left = megabytes << 20, got = 0, want = left;
	int fd = tcp(at(address, port));

	while (fd >= 0 && got < want) {
		struct pollfd ready = {.fd = fd, .events = (short)(POLLIN | (left > 0 ? POLLOUT : 0))};
		if (poll(&ready, 1, 10000) <= 0)
			break;
		if (ready.revents & POLLOUT) {
			ssize_t n = send(fd, block, left < sizeof block ? left : sizeof block, MSG_NOSIGNAL);
			left -= n > 0 ? (size_t)n : 0;
		}
		if (ready.revents & (POLLIN | POLLHUP)) {
			ssize_t n = recv(fd, block, sizeof block, 0);
			if (n <= 0)
				break;
			got += (size_t)n;
		}
	}
	return got;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int rate(const char *address, unsigned port, size_t megabytes)
{
	double start = now_ms();

	if (bulk(address, port, megabytes) != megabytes << 20)
		return 1;
	printf("%.3f\n", now_ms() - start);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int first_byte(const char *address, unsigned port, int count)
{
	static double times[10000];
	struct sockaddr_in to = at(address, port);
	char byte = 'x';

	if (count < 1 || count > (int)(sizeof times / sizeof times[0]))
		return 64;
	for (int i = 0; i < count; i++) {
		double start = now_ms();
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 || send(fd, &byte, 1, MSG_NOSIGNAL) != 1 ||
		    recv(fd, &byte, 1, 0) != 1)
			return 1;
		times[i] = now_ms() - start;
		close(fd);
	}
	qsort(times, (size_t)count, sizeof times[0], by_value);
	printf("%.4f\n", times[count / 2]);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned port = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;

	found_open = inherited();
	if (argc == 1)
		return as_provider();
	if (argc == 4 && strcmp(argv[1], "last") == 0)
		return last(argv[2], port);
	if (argc == 4 && strcmp(argv[1], "out") == 0)
		return out(argv[2], port);
	if (argc == 4 && strcmp(argv[1], "there") == 0)
		return there(argv[2], port);
	if (argc == 4 && strcmp(argv[1], "hello") == 0)
		return send(tcp(at(argv[2], port)), "hello\n", 6, MSG_NOSIGNAL) != 6;
	if (argc == 4 && strcmp(argv[1], "hold") == 0) {
		int fd = tcp(at(argv[2], port));
		if (fd >= 0 && fork() == 0)
			for (;;)
				pause();
		return fd < 0;
	}
	if (argc == 5 && strcmp(argv[1], "talk") == 0)
		return talk(argv[2], port, argv[4]);
	if (argc == 5 && strcmp(argv[1], "many") == 0)
		return many(argv[2], port, (int)strtol(argv[4], NULL, 10));
	if (argc == 5 && strcmp(argv[1], "bulk") == 0)
		return printf("came back %zu\n", bulk(argv[2], port, strtoul(argv[4], NULL, 10))) < 0;
	if (argc == 5 && strcmp(argv[1], "rate") == 0)
		return rate(argv[2], port, strtoul(argv[4], NULL, 10));
	if (argc == 5 && strcmp(argv[1], "first") == 0)
		return first_byte(argv[2], port, (int)strtol(argv[4], NULL, 10));
	return 64;
}
