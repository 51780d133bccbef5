/* Telling somebody that something waits. */
#include "notify.h"

#include <signal.h>

#include "clock.h"
#include "io.h"

enum { ARGV_MAX = 64 };
/* A message is sent in that time, or its server does not answer. */
static const int64_t command_ms = 5000;

static int failed(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_UNAVAILABLE, "notify_failed",
			"the command of `notify` %s; the request waits all the same", what);
}

static int describe(const struct state *state, const struct approval *row, struct buf *out,
		    struct sbx_error *err)
{
	char until[CLOCK_RFC3339_SIZE];

	clock_format(row->expires, until);
	jv said = json_set_str(json_set_str(jv_object(), "approval", row->id), "installation",
			       state->installation);
	said = json_set_str(json_set_str(said, "expires_at", until), "principal", row->principal);
	said = json_set_str(json_set_str(said, "tool", row->tool), "tier", row->tier);
	said = json_set_str(json_set_int(said, "needed", row->terms.threshold), "why", row->why);
	auto_jv whole = json_set_int(said, "waiting", row->told_of);
	return json_write(whole, out, err) < 0 ? -1 : buf_add_str(out, "\n", err);
}

static int start_command(struct notify *notify, jv command, const struct buf *text)
{
	auto_free char **words = calloc(ARGV_MAX + 1, sizeof *words);
	struct sbx_error why = SBX_ERROR_INIT;
	auto_fd input = io_sealed_memfd("notify", text->data, text->len, &why);
	const struct spawn_fd fds[] = {{STDIN_FILENO, input}, {STDOUT_FILENO, STDERR_FILENO}};
	jv elements[ARGV_MAX];
	int count = json_length(command), started = -1;

	if (words == NULL || input < 0 || count > ARGV_MAX)
		return -1;
	for (int i = 0; i < count; i++) {
		elements[i] = json_at(command, i);
		words[i] = (char *)(uintptr_t)json_text(elements[i]);
	}
	const struct spawn what = {.path = words[0],
				   .argv = (const char *const *)words,
				   .fds = fds,
				   .fd_count = ARRAY_LEN(fds),
				   .flags = SPAWN_GROUP};
	started = spawn_start(&what, &notify->child, &why);
	for (int i = 0; i < count; i++)
		jv_free(elements[i]);
	return started;
}

int notify_start(struct notify *notify, const struct config *config, const struct state *state,
		 const struct approval *row, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_EVENT);

	if (row->told_of == 0 || json_length(config->notify) == 0)
		return 0;
	if (describe(state, row, &text, err) < 0)
		return -1;
	notify->deadline = clock_mono_ms() + command_ms;
	return start_command(notify, config->notify, &text) < 0 ? failed(err, "cannot be started")
								: 0;
}

static int look(struct notify *notify, int64_t until, struct sbx_error *err)
{
	int status;

	if (notify->child.pid == 0)
		return 0;
	if (spawn_wait(&notify->child, until, &status) == 1)
		return spawn_exit_code(status) == 0 ? 0 : failed(err, "ended with an error");
	if (clock_mono_ms() < notify->deadline)
		return 0;
	spawn_signal_group(&notify->child, SIGKILL);
	spawn_kill(&notify->child);
	return failed(err, "took more than 5 s");
}

int notify_tend(struct notify *notify, struct sbx_error *err)
{
	return look(notify, clock_mono_ms(), err);
}

int notify_end(struct notify *notify, struct sbx_error *err)
{
	return look(notify, notify->deadline, err);
}
