/* Waiting, and becoming another one. */
#include "provider_stay.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "io.h"

int provider_again_fd(const struct provider *provider, jv request)
{
	int64_t said;

	if (json_int(request, "again_fd", &said) < 0)
		return -1;
	for (size_t i = 0; i < provider->kept_count; i++)
		if (provider->kept[i] == said && provider->kept[i] != provider->secret_fd)
			return provider->kept[i];
	return -1;
}

/* Whoever holds a lock after its mint would keep mending from a call whose sbx-cred was killed. */
static void let_go(const struct provider *provider, int again_fd)
{
	for (size_t i = 0; i < provider->kept_count; i++)
		if (provider->kept[i] != again_fd)
			close(provider->kept[i]);
}

/* 1: something is there to read, be it the end; 0: not within KEEP_MS. */
static int await(int fd, int keep_ms)
{
	int64_t deadline = clock_mono_ms() + keep_ms;
	struct pollfd asked = {.fd = fd, .events = POLLIN};
	int n;

	do
		n = poll(&asked, 1, clock_left_ms(deadline));
	while (n < 0 && errno == EINTR);
	return n != 0;
}

static int become_another(const struct provider *provider, int again_fd, struct sbx_error *err)
{
	const char *const argv[] = {provider->name, "revoke", "--config", provider->started.config, NULL};

	if (dup2(again_fd, STDIN_FILENO) >= 0 && dup2(provider->started.reply_fd, STDOUT_FILENO) >= 0 &&
	    close_range(STDERR_FILENO + 1, ~0U, 0) == 0)
		execv("/proc/self/exe", (char *const *)argv); /* the environment is clean since start */
	return sbx_fail_errno(err, SBX_OS, "cannot_start", "cannot start %s again", provider->name);
}

int provider_stay(const struct provider *provider, int again_fd, const char *lease, int keep_ms, jv *request,
		  struct sbx_error *err)
{
	auto_free char *text = NULL;
	auto_jv asked = jv_invalid();
	size_t len;

	let_go(provider, again_fd);
	if (!await(again_fd, keep_ms))
		return become_another(provider, again_fd, err);
	int got = io_read_all(again_fd, PROVIDER_REQUEST_MAX, &text, &len, err);
	close(again_fd);
	if (got < 0)
		return -1;
	if (len == 0)
		return 0;
	if (provider_parse_request(text, len, &asked, err) < 0)
		return -1;
	if (strcmp(json_str(asked, "lease"), lease) != 0)
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_request", "the request is of another lease than was minted");
	*request = take_jv(&asked);
	return 1;
}
