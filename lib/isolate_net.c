/* Interface ioctls, for the one interface there is; netlink would say no more. */
#include "isolate_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

#include "clock.h"
#include "pass_fd.h"

enum { BACKLOG = 128 };

static const char *describe(const struct sockaddr_in *address, char text[INET_ADDRSTRLEN])
{
	return inet_ntop(AF_INET, &address->sin_addr, text, INET_ADDRSTRLEN);
}

static int is_loopback(const struct sockaddr_in *address)
{
	return ntohl(address->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static int loopback_up(int control, struct isolate_failure *f)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};

	return ioctl(control, SIOCSIFFLAGS, &request) == 0 ? 0 : isolate_fail(f, "loopback interface", NULL);
}

/* A label of its own ("lo:1") for each; only the address itself, whatever class of network it once was. */
static int add_address(int control, const struct sockaddr_in *address, size_t number, struct isolate_failure *f)
{
	struct ifreq request = {.ifr_flags = 0};
	struct sockaddr_in all_ones = {.sin_family = AF_INET, .sin_addr.s_addr = INADDR_BROADCAST};
	char text[INET_ADDRSTRLEN];

	snprintf(request.ifr_name, sizeof request.ifr_name, "lo:%u", (unsigned)number);
	memcpy(&request.ifr_addr, address, sizeof *address);
	((struct sockaddr_in *)&request.ifr_addr)->sin_port = 0;
	if (ioctl(control, SIOCSIFADDR, &request) < 0)
		return isolate_fail(f, "address", describe(address, text));
	memcpy(&request.ifr_netmask, &all_ones, sizeof all_ones);
	return ioctl(control, SIOCSIFNETMASK, &request) == 0 ? 0 : isolate_fail(f, "netmask", describe(address, text));
}

static int has_address(const struct isolate *what, size_t until, const struct sockaddr_in *address)
{
	for (size_t i = 0; i < until; i++)
		if (what->listen[i].sin_addr.s_addr == address->sin_addr.s_addr)
			return 1;
	return 0;
}

static int listen_at(const struct sockaddr_in *address, int channel, struct isolate_failure *f)
{
	auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sbx_error err = SBX_ERROR_INIT;
	char text[INET_ADDRSTRLEN];

	if (fd < 0 || bind(fd, (const struct sockaddr *)address, sizeof *address) < 0 || listen(fd, BACKLOG) < 0 ||
	    pass_fd_send(channel, fd, &err) < 0)
		return isolate_fail(f, "listener", describe(address, text));
	return 0;
}

int isolate_net(const struct isolate *what, int channel, struct isolate_failure *f)
{
	if (what->listen_count == 0)
		return 0;
	auto_fd control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (control < 0)
		return isolate_fail(f, "loopback interface", NULL);
	if (loopback_up(control, f) < 0)
		return -1;
	for (size_t i = 0; i < what->listen_count; i++) {
		const struct sockaddr_in *address = &what->listen[i];
		if (!is_loopback(address) && !has_address(what, i, address) &&
		    add_address(control, address, i + 1, f) < 0)
			return -1;
		if (listen_at(address, channel, f) < 0)
			return -1;
	}
	return 0;
}

int isolate_net_take(size_t count, int channel, int64_t deadline, struct isolated *out)
{
	while (out->listener_count < count) {
		struct pollfd ready = {.fd = channel, .events = POLLIN};
		if (poll(&ready, 1, clock_left_ms(deadline)) < 0 && errno == EINTR)
			continue;
		int fd = ready.revents & POLLIN ? pass_fd_receive(channel) : -1;
		if (fd < 0)
			return -1;
		out->listeners[out->listener_count++] = fd;
	}
	return 0;
}
