/* http: servers that are none, that nobody reaches, and that take a connection and say nothing. */
#include "http.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "unit.h"

static void check_servers(void)
{
	static const char *const bad[] = {NULL,
					  "",
					  "x",
					  "http://192.0.2.1",
					  "https://",
					  "https://192.0.2.1/",
					  "https://user@192.0.2.1",
					  "https://192.0.2.1?x",
					  "https://192.0.2.1#x",
					  "https://192.0.2.1/a b",
					  "file:///etc/passwd",
					  " https://192.0.2.1"};
	struct http_identity identity = {.server = "https://192.0.2.1:6443/prefix"};
	struct sbx_error err = SBX_ERROR_INIT;
	struct http *client = http_new(&identity, &err);

	CHECK(client != NULL && err.class == SBX_OK);
	http_free(client);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		err = (struct sbx_error)SBX_ERROR_INIT;
		identity.server = bad[i];
		CHECK(http_new(&identity, &err) == NULL && err.class == SBX_CONFIG);
		CHECK_STR(err.code, "bad_server");
	}
	/* In the clear by a socket alone, and nothing else by a socket. */
	identity.socket = "/nonexistent";
	identity.server = "http://localhost";
	client = http_new(&identity, &err);
	CHECK(client != NULL);
	http_free(client);
	identity.server = "https://localhost";
	CHECK(http_new(&identity, &err) == NULL);
}

/* What becomes of a GET to this port of the loopback that has 200 ms. */
static const char *ask(in_port_t port)
{
	static char code[sizeof((struct sbx_error *)0)->code];
	char server[64];
	struct sbx_error err = SBX_ERROR_INIT;

	snprintf(server, sizeof server, "https://127.0.0.1:%d", ntohs(port));
	struct http_identity identity = {.server = server};
	struct http *client = http_new(&identity, &err);
	int64_t began = clock_mono_ms();
	struct http_request request = {.method = "GET", .path = "/", .deadline = began + 200, .max = 1024};
	struct http_exchange *x = client != NULL ? http_start(client, &request, &err) : NULL;
	CHECK(x != NULL && http_finish(client, x, &err) == 0 && http_state(x) == HTTP_BROKEN);
	CHECK(clock_mono_ms() - began < 5000);
	snprintf(code, sizeof code, "%s", http_trouble(x)->code);
	http_end(x);
	http_free(client);
	return code;
}

static void check_silence(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof at;
	auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 8) == 0 &&
	      getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	CHECK_STR(ask(at.sin_port), "server_timeout");
	base_close_fd(&fd);
	CHECK_STR(ask(at.sin_port), "server_unreachable");
}

int main(void)
{
	check_servers();
	check_silence();
	return unit_done();
}
