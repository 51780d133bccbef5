/* The person's side of the desk's protocol. */
#include "desk.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "io.h"
#include "spawn.h"

/* A person may have to type a password for sudo, or touch a key for ssh. */
static const int ask_ms = 3 * 60 * 1000;

void desk_reply_clear(struct desk_reply *reply)
{
	buf_clear(&reply->whole);
	*reply = (struct desk_reply)DESK_REPLY_INIT;
}

static int failed(struct sbx_error *err)
{
	sbx_fail(err, SBX_UNAVAILABLE, "desk_failed", "the desk gave no whole reply");
	return sbx_hint(err, "run the command of `desk` in sbx.yaml by hand, with the line list on its stdin");
}

/* Words of the desk that a terminal shows: as \xNN what is not printable ASCII, cut at SIZE. */
static void copy_plain(char *out, size_t size, const char *text)
{
	size_t used = 0;

	for (; *text != '\0' && used + sizeof "\\xNN" <= size; text++) {
		int plain = *text >= 0x20 && *text <= 0x7e;
		used += (size_t)snprintf(out + used, size - used, plain ? "%c" : "\\x%02x", (unsigned char)*text);
	}
	out[used] = '\0';
}

/* "error CODE CLASS MESSAGE\nHINT" */
static int take_error(const char *line, const char *hint, struct sbx_error *err)
{
	struct sbx_error said = SBX_ERROR_INIT;
	char class_text[8];
	uint64_t class;
	int at = 0;

	if (sscanf(line, "error %39[a-z0-9_] %7[0-9] %n", said.code, class_text, &at) != 2 || at == 0 ||
	    io_parse_u64(class_text, 1, SBX_CONFIG, &class) < 0 || !sbx_is_class((int64_t)class))
		return failed(err);
	said.class = (enum sbx_class) class;
	copy_plain(said.message, sizeof said.message, line + at);
	copy_plain(said.hint, sizeof said.hint, hint);
	*err = said;
	return -1;
}

/* "ok LENGTH ID STATE SIGNED/NEEDED PEOPLE [LOST]" */
static int take_ok(const char *line, struct desk_reply *reply, struct sbx_error *err)
{
	char len_text[12], id[STATE_ID_SIZE], state[17], got[3], needed[3];
	char people[sizeof reply->people];
	uint64_t len;
	int at = 0;

	_Static_assert(sizeof people == 585, "the width of PEOPLE below");
	/* What others chose is said at a terminal, so it must be plain. */
	for (const char *c = line; *c != '\0'; c++)
		if (*c < 0x20 || *c > 0x7e)
			return failed(err);
	if (sscanf(line, "ok %11[0-9] %32s %16s %2[0-9]/%2[0-9] %584s%n", len_text, id, state, got,
		   needed, people, &at) != 6 ||
	    at == 0 || (line[at] != '\0' && line[at] != ' ') ||
	    io_parse_u64(len_text, 0, DESK_REPLY_MAX, &len) < 0 || len != reply->len ||
	    io_parse_u64(got, 0, APPROVAL_PEOPLE_MAX, &reply->signed_by) < 0 ||
	    io_parse_u64(needed, 0, APPROVAL_PEOPLE_MAX + 1, &reply->needed) < 0)
		return failed(err);
	snprintf(reply->id, sizeof reply->id, "%s", strcmp(id, "-") != 0 ? id : "");
	snprintf(reply->state, sizeof reply->state, "%s", strcmp(state, "-") != 0 ? state : "");
	snprintf(reply->people, sizeof reply->people, "%s", strcmp(people, "-") != 0 ? people : "");
	snprintf(reply->lost, sizeof reply->lost, "%s", line[at] == ' ' ? line + at + 1 : "");
	return 0;
}

int desk_ask(const char *const *argv, const char *const *envp, const char *request, size_t len,
	     struct desk_reply *reply, struct sbx_error *err)
{
	const struct spawn what = {.path = argv[0], .argv = argv, .envp = envp};
	int status;

	if (argv[0] == NULL || argv[0][0] != '/') {
		sbx_fail(err, SBX_CONFIG, "desk_invalid", "the command that reaches the desk has no absolute path");
		return sbx_hint(err, "write desk: [/usr/bin/sudo, -u, sbx, …] in sbx.yaml");
	}
	if (spawn_capture(&what, request, len, &reply->whole, clock_mono_ms() + ask_ms, &status, err) < 0)
		return -1;
	const char *text = buf_str(&reply->whole), *feed = memchr(text, '\n', reply->whole.len);
	if (feed == NULL)
		return failed(err);
	auto_free char *line = strndup(text, (size_t)(feed - text));
	if (line == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	reply->bytes = feed + 1;
	reply->len = reply->whole.len - (size_t)(feed + 1 - text);
	/* sudo and ssh have statuses of their own: only the reply counts. */
	return strncmp(line, "ok ", 3) == 0 ? take_ok(line, reply, err) : take_error(line, reply->bytes, err);
}
