/* sbx-mcp: MCP over stdio, in the agent's account. Holds no authority: every call goes through the door, one process
 * for each. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "client_config.h"
#include "duration.h"
#include "io.h"
#include "log.h"
#include "mcp_check.h"
#include "mcp_serve.h"
#include "start.h"

/* Clients give up after 60 s; the answer "still running" must come before. */
#define DEADLINE_DEFAULT "55s"
/* A person who is at hand has looked by then, and the client still waits. */
#define WAIT_DEFAULT "20s"
#define DOOR_WORDS_MAX 64
static const uint64_t deadline_max_ms = (uint64_t)24 * 60 * 60 * 1000;

static const char usage[] =
	"usage: sbx-mcp [--config FILE] [--wait TIME] [--deadline TIME] [-- DOOR ARGUMENT...]\n"
	"       sbx-mcp --check [options as above]\n"
	"       sbx-mcp --client-config CLIENT [--ssh HOST] [options as above]\n"
	"Serve the toolkit's tools to an MCP client on stdin and stdout.\n"
	"  -- DOOR ARGUMENT...     reach the toolkit by this command (default: the sbx-call beside this program)\n"
	"  --config FILE           settings for the default door (default: $SBX_CONFIG, else /etc/sbx/sbx.yaml)\n"
	"  --wait TIME             how long the default door waits for a person's approval (default " WAIT_DEFAULT ")\n"
	"  --deadline TIME         answer \"still running\" after this long (default " DEADLINE_DEFAULT ")\n"
	"  --check                 say what a client would see here, and what is missing\n"
	"  --client-config CLIENT  print the settings for " CLIENT_CONFIG_NAMES "\n"
	"  --ssh HOST              with it: the client is on another machine and comes by ssh\n"
	"  -h, --help              this text\n"
	"  -V, --version           the version\n"
	"TIME is a number with ms, s, m or h; to wait 30m at most, a deadline 24h.\n";

struct options {
	const char *config, *wait, *deadline, *client, *ssh;
	int check;
	char **door; /* after --; NULL at the end */
	int door_words;
};

enum parsed { PARSED, PARSED_HELP, PARSED_WRONG };

static enum parsed parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {{"config", required_argument, NULL, 'c'},
					      {"wait", required_argument, NULL, 'w'},
					      {"deadline", required_argument, NULL, 'd'},
					      {"client-config", required_argument, NULL, 'C'},
					      {"ssh", required_argument, NULL, 's'},
					      {"check", no_argument, NULL, 'k'},
					      {"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, 'V'},
					      {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "+hV", longs, NULL)) != -1)
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 'w':
			o->wait = optarg;
			break;
		case 'd':
			o->deadline = optarg;
			break;
		case 'C':
			o->client = optarg;
			break;
		case 's':
			o->ssh = optarg;
			break;
		case 'k':
			o->check = 1;
			break;
		case 'h':
			fputs(usage, stdout);
			return PARSED_HELP;
		case 'V':
			puts("sbx-mcp " SBX_VERSION);
			return PARSED_HELP;
		default:
			return PARSED_WRONG;
		}
	o->door = argv + optind;
	o->door_words = argc - optind;
	/* A stray word is a mistake, not a door. */
	int dashes = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
	return (o->door_words > 0) != dashes || o->door_words > DOOR_WORDS_MAX || (o->ssh && !o->client) ||
			       (o->check && o->client)
		       ? PARSED_WRONG
		       : PARSED;
}

/* The value of option NAME, or FALLBACK. MOST says MAX_MS in words. */
static int read_time(const char *name, const char *text, const char *fallback, uint64_t max_ms, const char *most,
		     uint64_t *ms, struct sbx_error *err)
{
	if (duration_parse_ms(text != NULL ? text : fallback, max_ms, ms) == 0)
		return 0;
	sbx_fail(err, SBX_USAGE, "usage", "--%s is no time", name);
	return sbx_hint(err, "a number with ms, s, m or h, such as 20s, up to %s", most);
}

/* The value of NAME in the person's variables, or NULL. */
static const char *person_variable(const struct started *started, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; started->person[i] != NULL; i++)
		if (strncmp(started->person[i], name, len) == 0 && started->person[i][len] == '=')
			return started->person[i] + len + 1;
	return NULL;
}

/* The program file that WORD means in the caller's PATH (an absolute path stands for itself); owned by the caller. */
static char *find_program(const struct started *started, const char *word, struct sbx_error *err)
{
	const char *path = person_variable(started, "PATH");

	if (strchr(word, '/') != NULL) {
		char *absolute = realpath(word, NULL);
		if (absolute == NULL)
			sbx_fail_errno(err, SBX_CONFIG, "missing_door", "cannot find the door %s", word);
		return absolute;
	}
	for (const char *p = path ? path : "/usr/bin:/bin"; *p != '\0'; p += strspn(p, ":")) {
		size_t len = strcspn(p, ":");
		char *file = NULL;
		if (p[0] == '/' && asprintf(&file, "%.*s/%s", (int)len, p, word) > 0 && access(file, X_OK) == 0)
			return file;
		free(file);
		p += len;
	}
	sbx_fail(err, SBX_CONFIG, "missing_door", "there is no program %s in PATH", word);
	return NULL;
}

/* The door's command; PATH is owned by whoever serves, the other strings live as long as the process. */
struct door {
	char *path;
	const char *argv[DOOR_WORDS_MAX + 8];
	const char *envp[START_PERSON_VARIABLES + 4];
	const char *const *environment; /* NULL: nothing of the caller's */
};

/* sudo and ssh need the person's world; nothing of ours gets it. */
static int own_door(struct door *door, const struct started *started, const struct options *o, struct sbx_error *err)
{
	size_t n = 0;

	for (int i = 0; i < o->door_words; i++)
		door->argv[i] = o->door[i];
	door->path = find_program(started, o->door[0], err);
	for (size_t i = 0; started->person[i] != NULL; i++)
		door->envp[n++] = started->person[i];
	door->envp[n++] = "LC_ALL=C";
	door->envp[n++] = "TZ=UTC";
	if (person_variable(started, "PATH") == NULL)
		door->envp[n++] = "PATH=/usr/bin:/bin";
	door->envp[n] = NULL;
	door->environment = door->envp;
	return door->path == NULL ? -1 : 0;
}

static int default_door(struct door *door, const struct started *started, const struct options *o,
			struct sbx_error *err)
{
	size_t n = 0;

	door->path = process_helper("sbx-call", err);
	door->argv[n++] = door->path;
	if (strcmp(started->config, SBX_CONFIG_DEFAULT) != 0) {
		door->argv[n++] = "--config";
		door->argv[n++] = started->config;
	}
	door->argv[n++] = "--wait";
	door->argv[n++] = o->wait ? o->wait : WAIT_DEFAULT;
	return door->path == NULL ? -1 : 0;
}

/* Serve, or say what a client would be served with. */
static int use_door(const struct started *started, const struct options *o, int64_t deadline_ms, struct sbx_error *err)
{
	struct door door = {.argv = {NULL}};
	int failed = (o->door_words > 0 ? own_door : default_door)(&door, started, o, err);
	auto_free char *path = door.path;
	auto_buf words = BUF_INIT((size_t)1 << 20);

	if (failed < 0)
		return -1;
	const struct mcp_serve options = {
		.door = {.path = path, .argv = door.argv, .envp = door.environment},
		.deadline_ms = deadline_ms,
		.home = person_variable(started, "HOME"),
	};
	if (!o->check)
		return mcp_serve(&options, STDIN_FILENO, started->reply_fd, err);
	struct sbx_error unwritten = SBX_ERROR_INIT;
	int usable = mcp_check(&options.door, &words, err);
	if (io_write_all(started->reply_fd, buf_str(&words), words.len, &unwritten) == 0)
		return usable;
	*err = unwritten;
	return -1;
}

static int print_client_config(const struct started *started, const struct options *o, struct sbx_error *err)
{
	auto_free char *dir = process_dir(err), *program = NULL, *config = NULL;
	const char *argv[DOOR_WORDS_MAX + 8];
	auto_buf out = BUF_INIT((size_t)64 << 10);
	size_t n = 0;

	if (dir == NULL || asprintf(&program, "%s/sbx-mcp", dir) < 0)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	argv[n++] = program;
	/* A client starts servers anywhere, so the path must not depend on where; a path of another machine is taken as
	 * it stands. */
	if (strcmp(started->config, SBX_CONFIG_DEFAULT) != 0 && o->door_words == 0) {
		config = o->ssh != NULL && started->config[0] == '/' ? strdup(started->config)
								     : realpath(started->config, NULL);
		if (config == NULL)
			return sbx_fail_errno(err, SBX_NO_INPUT, "missing_file", "cannot find the settings file %s",
					      started->config);
		argv[n++] = "--config";
		argv[n++] = config;
	}
	const char *const given[][2] = {{"--wait", o->wait}, {"--deadline", o->deadline}};
	for (size_t i = 0; i < ARRAY_LEN(given); i++)
		if (given[i][1] != NULL) {
			argv[n++] = given[i][0];
			argv[n++] = given[i][1];
		}
	if (o->door_words > 0)
		argv[n++] = "--";
	for (int i = 0; i < o->door_words; i++)
		argv[n++] = o->door[i];
	argv[n] = NULL;
	if (client_config_write(o->client, o->ssh, argv, &out, err) < 0 ||
	    io_write_all(started->reply_fd, buf_str(&out), out.len, err) < 0)
		return -1;
	log_line("put this into %s", client_config_place(o->client));
	return 0;
}

int main(int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct options o = {.config = NULL};
	uint64_t deadline_ms = 0, wait_ms = 0;
	static struct started started; /* its strings live as long as the process */

	log_set_name("sbx-mcp");
	switch (parse(argc, argv, &o)) {
	case PARSED_HELP:
		return fflush(stdout) == 0 ? SBX_OK : SBX_IO;
	case PARSED_WRONG:
		fputs(usage, stderr);
		return SBX_USAGE;
	case PARSED:
		break;
	}
	int failed =
		start("sbx-mcp", o.config, NULL, 0, START_REPLY | START_PERSON, &started, &err) < 0 ||
		read_time("deadline", o.deadline, DEADLINE_DEFAULT, deadline_max_ms, "24h", &deadline_ms, &err) < 0 ||
		read_time("wait", o.wait, WAIT_DEFAULT, DURATION_WAIT_MAX_MS, "30m", &wait_ms, &err) < 0;
	if (!failed)
		failed = (o.client ? print_client_config(&started, &o, &err)
				   : use_door(&started, &o, (int64_t)deadline_ms, &err)) < 0;
	if (!failed)
		return SBX_OK;
	log_error(&err);
	return (int)err.class;
}
