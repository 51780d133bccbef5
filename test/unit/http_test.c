/* http: servers that are none, that nobody reaches, that take a connection and say nothing, that cut the handshake, and that
 * take a request and hang up. */
#include "http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
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

/* What becomes of a GET to this port of the loopback that has so many milliseconds. */
static const char *ask(in_port_t port, int64_t ms)
{
	static char code[sizeof((struct sbx_error *)0)->code];
	char server[64];
	struct sbx_error err = SBX_ERROR_INIT;

	snprintf(server, sizeof server, "https://127.0.0.1:%d", ntohs(port));
	struct http_identity identity = {.server = server};
	struct http *client = http_new(&identity, &err);
	int64_t began = clock_mono_ms();
	struct http_request request = {.method = "GET", .path = "/", .deadline = began + ms, .max = 1024};
	struct http_exchange *x = client != NULL ? http_start(client, &request, &err) : NULL;
	CHECK(x != NULL && http_finish(client, x, &err) == 0 && http_state(x) == HTTP_BROKEN);
	CHECK(clock_mono_ms() - began < 30000);
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
	CHECK_STR(ask(at.sin_port, 200), "server_timeout");
	base_close_fd(&fd);
	CHECK_STR(ask(at.sin_port, 20000), "server_unreachable");
}

/* How a server that is no TLS server, or ends, may answer a client's first bytes. */
enum greeting { GREETING_END, GREETING_RESET, GREETING_PLAIN, GREETING_ALERT };

static void greet(int listener, enum greeting greeting)
{
	static const char plain[] = "HTTP/1.1 400 Bad Request\r\n\r\n", alert[] = "\x15\x03\x03\x00\x02\x02\x28"; /* handshake_failure */
	const struct linger now = {.l_onoff = 1};
	char hello[4096];

	for (;;) {
		auto_fd fd = accept(listener, NULL, NULL);
		if (fd < 0 || read(fd, hello, sizeof hello) < 1)
			continue;
		if (greeting == GREETING_RESET)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
		else if (greeting == GREETING_PLAIN && write(fd, plain, sizeof plain - 1) < 1)
			_exit(1);
		else if (greeting == GREETING_ALERT && write(fd, alert, sizeof alert - 1) < 1)
			_exit(1);
	}
}

/* A handshake that is cut was no answer; one that somebody else speaks is. */
static void check_handshakes(void)
{
	static const struct {
		enum greeting greeting;
		const char *code;
	} cases[] = {{GREETING_END, "server_unreachable"},
		     {GREETING_RESET, "server_unreachable"},
		     {GREETING_PLAIN, "server_not_trusted"},
		     {GREETING_ALERT, "server_not_trusted"}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
		socklen_t len = sizeof at;
		auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CHECK(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 8) == 0 &&
		      getsockname(fd, (struct sockaddr *)&at, &len) == 0);
		pid_t server = fork();
		if (server == 0)
			greet(fd, cases[i].greeting);
		CHECK_STR(ask(at.sin_port, 20000), cases[i].code);
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
	}
}

/* One request of a connection, with a body of four bytes unless it is a GET: 'G', or the body's first byte; 0 when
 * there is none. */
static char read_request(int fd)
{
	char text[4096];
	size_t len = 0;

	for (ssize_t n; (n = read(fd, text + len, sizeof text - 1 - len)) > 0;) {
		text[len += (size_t)n] = '\0';
		const char *body = strstr(text, "\r\n\r\n");
		if (body != NULL && (text[0] == 'G' || strlen(body) >= 8))
			return text[0] == 'G' ? 'G' : body[4];
	}
	return 0;
}

/* Answer every GET, and hang up on whoever POSTs, for good when that is "last". COUNT gets a "C" for each connection, a
 * "P" for each POST. */
static void serve(int listener, int count)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

	for (;;) {
		auto_fd fd = accept(listener, NULL, NULL);
		char got = 0;
		while (fd >= 0 && (got = read_request(fd)) == 'G' && write(fd, answer, sizeof answer - 1) > 0)
			;
		/* Ahead of the connection, whose end is what the client waits for: an exit closes them in any order. */
		if (got == 'l')
			close(listener);
		if (write(count, "CP", got == 'o' || got == 'l' ? 2 : 1) < 1 || got == 'l')
			_exit(1);
	}
}

static const char *ask_socket(struct http *client, const char *method, const char *body, enum http_repeat repeat)
{
	static char code[sizeof((struct sbx_error *)0)->code];
	struct sbx_error err = SBX_ERROR_INIT;
	const struct http_request request = {.method = method,
					     .path = "/",
					     .body = body,
					     .body_len = body != NULL ? strlen(body) : 0,
					     .deadline = clock_mono_ms() + 30000,
					     .max = 1024,
					     .repeat = repeat};
	struct http_exchange *x = http_start(client, &request, &err);

	CHECK(x != NULL && http_finish(client, x, &err) == 0);
	snprintf(code, sizeof code, "%s", http_trouble(x)->code);
	http_end(x);
	return code;
}

/* A connection that was used before and that ends when a request has come: libcurl sends it again on another one, and
 * does not where it is said that it must not. */
static void check_once(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char directory[] = "/tmp/http_test.XXXXXX";
	auto_fd listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int count[2];

	CHECK(mkdtemp(directory) != NULL && pipe2(count, O_CLOEXEC | O_NONBLOCK) == 0);
	snprintf(at.sun_path, sizeof at.sun_path, "%s/s", directory);
	CHECK(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 8) == 0);
	pid_t server = fork();
	if (server == 0)
		serve(listener, count[1]);
	for (int i = 0; i < 2; i++) {
		enum http_repeat repeat = i == 0 ? HTTP_ONCE : HTTP_MAY_REPEAT;
		struct http_identity identity = {.server = "http://localhost", .socket = at.sun_path};
		struct sbx_error err = SBX_ERROR_INIT;
		struct http *client = http_new(&identity, &err);
		CHECK(client != NULL);
		CHECK_STR(ask_socket(client, "GET", NULL, HTTP_MAY_REPEAT), "");
		CHECK_STR(ask_socket(client, "POST", "once", repeat), "server_cut");
		http_free(client);
		char got[16] = "";
		CHECK(read(count[0], got, sizeof got - 1) > 0);
		const char *first = strchr(got, 'P'), *last = strrchr(got, 'P');
		CHECK(first != NULL && (first == last) == (repeat == HTTP_ONCE));
		/* One connection for both. */
		CHECK(i > 0 || first == got + 1);
	}
	/* Nobody is there when it goes there again: that is no server which could not be reached. */
	base_close_fd(&listener);
	struct http_identity identity = {.server = "http://localhost", .socket = at.sun_path};
	struct sbx_error err = SBX_ERROR_INIT;
	struct http *client = http_new(&identity, &err);
	CHECK(client != NULL);
	CHECK_STR(ask_socket(client, "GET", NULL, HTTP_MAY_REPEAT), "");
	CHECK_STR(ask_socket(client, "POST", "last", HTTP_ONCE), "server_cut");
	CHECK_STR(ask_socket(client, "POST", "more", HTTP_ONCE), "server_unreachable");
	http_free(client);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	unlink(at.sun_path);
	rmdir(directory);
	close(count[0]);
	close(count[1]);
}

int main(void)
{
	check_servers();
	check_silence();
	check_handshakes();
	check_once();
	return unit_done();
}
