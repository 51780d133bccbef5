/* What a person types, and what of it goes to the desk. */
#include "person.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "desk.h"
#include "io.h"
#include "log.h"
#include "person_file.h"

struct desk_line {
	const char *argv[64];
	const char *const *envp; /* NULL: nothing of the person's */
	char *program;
	char login[DESK_NAME_SIZE]; /* "" when a desk takes no such name */
	jv setting;
};

static void desk_line_clear(struct desk_line *line)
{
	free(line->program);
	jv_free(line->setting);
}
#define auto_desk_line __attribute__((cleanup(desk_line_clear))) struct desk_line

static int no_login(struct sbx_error *err)
{
	return sbx_fail(err, SBX_OS, "os_error", "this user has no login name that a desk takes");
}

static int own_desk(const struct started *started, struct desk_line *line, struct sbx_error *err)
{
	size_t n = 0;

	if (line->login[0] == '\0')
		return no_login(err);
	line->program = process_helper("sbx-approve", err);
	if (line->program == NULL)
		return -1;
	line->argv[n++] = line->program;
	if (!started->in_account) {
		line->argv[n++] = "--config";
		line->argv[n++] = started->config;
	}
	line->argv[n++] = "--desk";
	line->argv[n++] = line->login;
	return 0;
}

static int set_desk(const struct started *started, struct desk_line *line, struct sbx_error *err)
{
	int count = json_length(line->setting);

	if (count >= (int)ARRAY_LEN(line->argv))
		return sbx_fail(err, SBX_CONFIG, "desk_invalid", "the command that reaches the desk is too long");
	for (int i = 0; i < count; i++) {
		auto_jv word = json_at(line->setting, i);
		line->argv[i] = json_text(word); /* LINE keeps the array, and the array its words */
		/* One settings file serves every person of a machine: this word is whoever types. */
		if (strcmp(line->argv[i], "{login}") != 0)
			continue;
		if (line->login[0] == '\0')
			return no_login(err);
		line->argv[i] = line->login;
	}
	line->envp = (const char *const *)started->person;
	return 0;
}

/* The command that reaches the desk: the settings', with the person's variables for sudo and ssh; else this program. */
static int find_desk(const struct started *started, struct desk_line *line, struct sbx_error *err)
{
	const struct passwd *who = getpwuid(getuid());
	auto_config config = {0};

	if (who != NULL && desk_is_name(who->pw_name))
		snprintf(line->login, sizeof line->login, "%s", who->pw_name);
	if (config_load(started->config, &config, err) < 0)
		return -1;
	line->setting = jv_copy(config.desk);
	return json_length(line->setting) > 0 ? set_desk(started, line, err) : own_desk(started, line, err);
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
	return person_print(reply.bytes, reply.len, err);
}

/* VERB is "show" or, for a text that is to be signed, "read". */
static int fetch(const struct desk_line *line, const char *verb, const char *id, struct desk_reply *reply,
		 struct sbx_error *err)
{
	auto_buf request = BUF_INIT(4096);

	if (buf_addf(&request, err, "%s %s\n", verb, id) < 0)
		return -1;
	return ask_desk(line, &request, reply, err);
}

/* Where the request stands, in words. */
static void say_state(const struct desk_reply *reply)
{
	int waits = strcmp(reply->state, approval_status_name(APPROVAL_WAITING)) == 0;

	if (waits && (reply->needed > 1 || reply->signed_by > 0))
		log_line("%s is %s: %llu of %llu people have signed%s%s", reply->id, reply->state,
			 (unsigned long long)reply->signed_by, (unsigned long long)reply->needed,
			 reply->people[0] != '\0' ? ": " : "", reply->people);
	else
		log_line("%s is %s%s%s", reply->id, reply->state,
			 reply->people[0] != '\0' ? " by " : "", reply->people);
}

static int do_show(const struct desk_line *line, const char *id, const struct started *started, struct sbx_error *err)
{
	auto_desk_reply reply = DESK_REPLY_INIT;

	if (fetch(line, "show", id, &reply, err) < 0)
		return -1;
	say_state(&reply);
	return person_show(reply.bytes, reply.len, (const char *const *)started->person, err);
}

static int do_sign(const struct desk_line *line, const char *id, const char *key, const struct started *started,
		   struct sbx_error *err)
{
	const char *const *person = (const char *const *)started->person;
	auto_desk_reply shown = DESK_REPLY_INIT, reply = DESK_REPLY_INIT;
	auto_buf signature = BUF_INIT(DESK_REQUEST_MAX), request = BUF_INIT(DESK_REQUEST_MAX);
	auto_free char *file = NULL;

	/* What is known to fail is said before somebody reads for nothing. */
	if (person_choose_key(key, person, &file, err) < 0 || fetch(line, "read", id, &shown, err) < 0)
		return -1;
	if (person_show(shown.bytes, shown.len, person, err) < 0 ||
	    person_confirm(shown.bytes, shown.len, shown.lost, err) < 0 ||
	    person_sign(shown.bytes, shown.len, file, person, &signature, err) < 0)
		return -1;
	if (buf_addf(&request, err, "accept %s %zu\n", shown.id, signature.len) < 0 ||
	    buf_add(&request, buf_str(&signature), signature.len, err) < 0 || ask_desk(line, &request, &reply, err) < 0)
		return -1;
	say_state(&reply);
	return 0;
}

/* One line to the desk; its words are checked there. */
static int tell(const struct desk_line *line, const char *verb, const char *const *words,
		size_t count, struct desk_reply *reply, struct sbx_error *err)
{
	auto_buf request = BUF_INIT(4096);

	if (buf_add_str(&request, verb, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (buf_addf(&request, err, " %s", words[i]) < 0)
			return -1;
	if (buf_add_str(&request, "\n", err) < 0)
		return -1;
	return ask_desk(line, &request, reply, err);
}

static int do_deny(const struct desk_line *line, const struct person_words *said,
		   struct sbx_error *err)
{
	auto_desk_reply reply = DESK_REPLY_INIT;
	const char *const with_reason[] = {said->words[1], said->reason};
	int done = said->reason != NULL
			   ? tell(line, "deny", with_reason, ARRAY_LEN(with_reason), &reply, err)
			   : tell(line, "deny", (const char *const *)said->words + 1,
				  (size_t)said->count - 1, &reply, err);

	if (done == 0)
		log_line("%s is denied", reply.id);
	return done;
}

static int do_resolve(const struct desk_line *line, const char *id, struct sbx_error *err)
{
	auto_desk_reply reply = DESK_REPLY_INIT;

	if (tell(line, "resolve", &id, 1, &reply, err) < 0)
		return -1;
	log_line("%s is resolved: the same may be asked for again", reply.id);
	return 0;
}

static int do_export(const struct desk_line *line, const char *id, const char *dir,
		     struct sbx_error *err)
{
	auto_desk_reply reply = DESK_REPLY_INIT;

	if (tell(line, "export", &id, 1, &reply, err) < 0 ||
	    person_unpack(dir, reply.bytes, reply.len, err) < 0)
		return -1;
	log_line("%s is in %s; its README says how it is checked", reply.id, dir);
	return 0;
}

enum verb {
	VERB_LIST,
	VERB_SHOW,
	VERB_SIGN,
	VERB_DENY,
	VERB_RESOLVE,
	VERB_EXPORT,
	VERB_VERIFY,
	VERB_ENROL,
	VERB_NONE
};

static const struct {
	const char *name, *wants;
	int least, most; /* words, with the verb */
	int key, reason; /* 1: the option may stand */
} verbs[] = {
	[VERB_LIST] = {"list", "no more words", 1, 1, 0, 0},	[VERB_SHOW] = {"show", "an ID", 2, 2, 0, 0},
	[VERB_SIGN] = {"sign", "an ID", 2, 2, 1, 0},		[VERB_DENY] = {"deny", "an ID", 2, 256, 0, 1},
	[VERB_RESOLVE] = {"resolve", "an ID", 2, 2, 0, 0},	[VERB_EXPORT] = {"export", "an ID and a DIR", 3, 3, 0, 0},
	[VERB_VERIFY] = {"verify", "a PATH", 2, 2, 0, 0},	[VERB_ENROL] = {"enrol", "a NAME", 2, 2, 1, 0},
};

static enum verb find_verb(const char *word)
{
	size_t i = 0;

	while (i < ARRAY_LEN(verbs) && strcmp(verbs[i].name, word) != 0)
		i++;
	return (enum verb)i;
}

int person_check(const struct person_words *said, struct sbx_error *err)
{
	enum verb verb = find_verb(said->words[0]);
	char quoted[SBX_QUOTE_SIZE];

	if (verb == VERB_NONE)
		return sbx_fail(err, SBX_USAGE, "usage", "there is no command %s",
				sbx_quote(quoted, said->words[0], strlen(said->words[0])));
	if (said->count < verbs[verb].least || said->count > verbs[verb].most)
		return sbx_fail(err, SBX_USAGE, "usage", "%s wants %s", verbs[verb].name, verbs[verb].wants);
	if (said->key != NULL && !verbs[verb].key)
		return sbx_fail(err, SBX_USAGE, "usage", "%s takes no --key", verbs[verb].name);
	if (said->reason != NULL && !verbs[verb].reason)
		return sbx_fail(err, SBX_USAGE, "usage", "%s takes no --reason", verbs[verb].name);
	if (said->reason != NULL && said->count != 2)
		return sbx_fail(err, SBX_USAGE, "usage", "the reason stands behind --reason or behind the ID");
	return 0;
}

static int at_desk(const struct started *started, enum verb verb, const struct person_words *said,
		   struct sbx_error *err)
{
	auto_desk_line line = {.setting = jv_invalid()};

	if (find_desk(started, &line, err) < 0)
		return -1;
	switch (verb) {
	case VERB_LIST:
		return do_list(&line, err);
	case VERB_SHOW:
		return do_show(&line, said->words[1], started, err);
	case VERB_SIGN:
		return do_sign(&line, said->words[1], said->key, started, err);
	case VERB_DENY:
		return do_deny(&line, said, err);
	case VERB_RESOLVE:
		return do_resolve(&line, said->words[1], err);
	case VERB_EXPORT:
		return do_export(&line, said->words[1], said->words[2], err);
	case VERB_VERIFY:
	case VERB_ENROL:
	case VERB_NONE:
		break;
	}
	return sbx_fail(err, SBX_BUG, "bug", "a command that needs no desk came to it");
}

int person_command(const struct started *started, const struct person_words *said,
		   struct sbx_error *err)
{
	enum verb verb = find_verb(said->words[0]);

	if (verb == VERB_VERIFY)
		return person_verify(said->words[1], started->config, err);
	if (verb == VERB_ENROL)
		return person_enrol(said->words[1], said->key, (const char *const *)started->person,
				    err);
	return at_desk(started, verb, said, err);
}
