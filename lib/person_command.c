/* list, show, sign and deny: what a person says to the desk. */
#include "person.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "desk.h"
#include "io.h"
#include "log.h"

struct desk_line {
	const char *argv[64];
	const char *const *envp; /* NULL: nothing of the person's */
	char *program;
	jv setting;
};

static void desk_line_clear(struct desk_line *line)
{
	free(line->program);
	jv_free(line->setting);
}
#define auto_desk_line __attribute__((cleanup(desk_line_clear))) struct desk_line

static int own_desk(const struct started *started, struct desk_line *line, struct sbx_error *err)
{
	const struct passwd *who = getpwuid(getuid());
	size_t n = 0;

	line->program = process_helper("sbx-approve", err);
	if (line->program == NULL)
		return -1;
	if (who == NULL)
		return sbx_fail(err, SBX_OS, "os_error", "this user has no name");
	line->argv[n++] = line->program;
	if (!started->in_account) {
		line->argv[n++] = "--config";
		line->argv[n++] = started->config;
	}
	line->argv[n++] = "--desk";
	line->argv[n++] = who->pw_name;
	return 0;
}

/* The command that reaches the desk: the settings', with the person's variables for sudo and ssh; else this program. */
static int find_desk(const struct started *started, struct desk_line *line, struct sbx_error *err)
{
	auto_config config = {0};

	if (config_load(started->config, &config, err) < 0)
		return -1;
	line->setting = jv_copy(config.desk);
	int count = json_length(line->setting);
	if (count == 0)
		return own_desk(started, line, err);
	if (count >= (int)ARRAY_LEN(line->argv))
		return sbx_fail(err, SBX_CONFIG, "desk_invalid", "the command that reaches the desk is too long");
	for (int i = 0; i < count; i++) {
		auto_jv word = json_at(line->setting, i);
		line->argv[i] = json_text(word); /* LINE keeps the array, and the array its words */
	}
	line->envp = (const char *const *)started->person;
	return 0;
}

static int ask_desk(const struct desk_line *line, struct buf *request, struct desk_reply *reply, struct sbx_error *err)
{
	return desk_ask(line->argv, line->envp, buf_str(request), request->len, reply, err);
}

static int do_list(const struct desk_line *line, struct sbx_error *err)
{
	auto_buf request = BUF_INIT(64);
	auto_desk_reply reply = DESK_REPLY_INIT;

	if (buf_add_str(&request, "list\n", err) < 0 || ask_desk(line, &request, &reply, err) < 0)
		return -1;
	return io_write_all(STDOUT_FILENO, reply.bytes, reply.len, err);
}

static int fetch(const struct desk_line *line, const char *id, struct desk_reply *reply, struct sbx_error *err)
{
	auto_buf request = BUF_INIT(4096);

	if (buf_addf(&request, err, "show %s\n", id) < 0)
		return -1;
	return ask_desk(line, &request, reply, err);
}

static int do_show(const struct desk_line *line, const char *id, const struct started *started, struct sbx_error *err)
{
	auto_desk_reply reply = DESK_REPLY_INIT;

	if (fetch(line, id, &reply, err) < 0)
		return -1;
	log_line("%s is %s%s%s", reply.id, reply.state, reply.signer[0] != '\0' ? " by " : "", reply.signer);
	return person_show(reply.bytes, reply.len, (const char *const *)started->person, err);
}

static int do_sign(const struct desk_line *line, const char *id, const char *key, const struct started *started,
		   struct sbx_error *err)
{
	const char *const *person = (const char *const *)started->person;
	auto_desk_reply shown = DESK_REPLY_INIT, reply = DESK_REPLY_INIT;
	auto_buf signature = BUF_INIT(DESK_REQUEST_MAX), request = BUF_INIT(DESK_REQUEST_MAX);

	if (fetch(line, id, &shown, err) < 0)
		return -1;
	if (strcmp(shown.state, approval_status_name(APPROVAL_WAITING)) != 0)
		return sbx_fail(err, SBX_DENIED, "approval_not_waiting", "the request does not wait: it is %s",
				shown.state);
	if (person_show(shown.bytes, shown.len, person, err) < 0 || person_confirm(shown.bytes, shown.len, err) < 0 ||
	    person_sign(shown.bytes, shown.len, key, person, &signature, err) < 0)
		return -1;
	if (buf_addf(&request, err, "accept %s %zu\n", shown.id, signature.len) < 0 ||
	    buf_add(&request, buf_str(&signature), signature.len, err) < 0 || ask_desk(line, &request, &reply, err) < 0)
		return -1;
	log_line("%s is approved by %s", reply.id, reply.signer);
	return 0;
}

static int do_deny(const struct desk_line *line, char **words, int count, struct sbx_error *err)
{
	auto_buf request = BUF_INIT(4096);
	auto_desk_reply reply = DESK_REPLY_INIT;

	if (buf_add_str(&request, "deny", err) < 0)
		return -1;
	for (int i = 0; i < count; i++)
		if (buf_addf(&request, err, " %s", words[i]) < 0)
			return -1;
	if (buf_add_str(&request, "\n", err) < 0 || ask_desk(line, &request, &reply, err) < 0)
		return -1;
	log_line("%s is denied", reply.id);
	return 0;
}

int person_is_command(char **words, int count)
{
	const char *verb = words[0];

	return (strcmp(verb, "list") == 0 && count == 1) ||
	       ((strcmp(verb, "show") == 0 || strcmp(verb, "sign") == 0) && count == 2) ||
	       (strcmp(verb, "deny") == 0 && count >= 2);
}

int person_command(const struct started *started, char **words, int count, const char *key, struct sbx_error *err)
{
	auto_desk_line line = {.setting = jv_invalid()};

	if (find_desk(started, &line, err) < 0)
		return -1;

	if (strcmp(words[0], "list") == 0)
		return do_list(&line, err);
	if (strcmp(words[0], "show") == 0)
		return do_show(&line, words[1], started, err);
	if (strcmp(words[0], "sign") == 0)
		return do_sign(&line, words[1], key, started, err);
	return do_deny(&line, words + 1, count - 1, err);
}
