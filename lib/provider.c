/* What providers share. */
#include "provider.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "io.h"
#include "log.h"
#include "state.h"

enum { KEEP_MAX = 16 };

struct options {
	const struct provider_verb *verb;
	const char *config;
	int secret_fd;
	int keep[KEEP_MAX]; /* the secret's descriptor and the locks */
	size_t keep_count;
};

int provider_read_request(jv *request, struct sbx_error *err)
{
	auto_free char *text = NULL;
	size_t len;

	if (io_read_all(STDIN_FILENO, PROVIDER_REQUEST_MAX, &text, &len, err) < 0)
		return sbx_wrap(err, "the request");
	return provider_parse_request(text, len, request, err);
}

int provider_parse_request(const char *text, size_t len, jv *request, struct sbx_error *err)
{
	if (json_parse(text, len, PROVIDER_REQUEST_MAX, request, err) < 0)
		return sbx_wrap(err, "the request");
	if (jv_get_kind(*request) != JV_KIND_OBJECT || !state_is_id(json_str(*request, "lease")))
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_request",
				"the request is no object with a lease of 32 hex digits");
	return 0;
}

int provider_give(const struct provider *provider, const char *field, const struct secret *value, struct sbx_error *err)
{
	char header[64];
	int len = snprintf(header, sizeof header, "%s%c%zu", field, '\0', value->len);

	if (io_write_all(provider->secret_fd, header, (size_t)len + 1, err) < 0)
		return -1;
	return io_write_all(provider->secret_fd, value->data, value->len, err);
}

int provider_reply(const struct provider *provider, jv answer, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_CALL);
	auto_jv object = answer;

	if (json_write(object, &text, err) < 0 || buf_add(&text, "\n", 1, err) < 0)
		return -1;
	return io_write_all(provider->started.reply_fd, text.data, text.len, err);
}

static int fail(const struct provider *provider, const struct sbx_error *err)
{
	struct sbx_error late = SBX_ERROR_INIT;
	jv object = json_set_int(jv_object(), "class", err->class);

	log_error(err);
	object = json_set_str(json_set_str(object, "code", err->code), "message", err->message);
	object = json_set_str(object, "hint", err->hint[0] != '\0' ? err->hint : NULL);
	if (provider_reply(provider, json_set(jv_object(), "error", object), &late) < 0)
		log_error(&late);
	return (int)err->class;
}

static int take_descriptor(const char *text, struct options *o, int *fd)
{
	uint64_t number;

	if (io_parse_u64(text, 3, 1 << 20, &number) < 0 || o->keep_count == KEEP_MAX || fcntl((int)number, F_GETFD) < 0)
		return -1;
	*fd = (int)number;
	o->keep[o->keep_count++] = *fd;
	return 0;
}

/* The exit status when what was asked for is text on stdout. */
static int told(void)
{
	return fflush(stdout) == 0 ? SBX_OK : SBX_IO;
}

static int refuse_usage(const char *usage)
{
	fputs(usage, stderr);
	return SBX_USAGE + 1;
}

/* 0: go on; else the exit status + 1. */
static int read_options(const char *name, const char *usage, int argc, char **argv, struct options *o)
{
	static const struct option known[] = {
		{"config", required_argument, NULL, 'c'},  {"secret-fd", required_argument, NULL, 's'},
		{"lock-fd", required_argument, NULL, 'l'}, {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},	   {NULL, 0, NULL, 0},
	};
	int lock, letter;

	while ((letter = getopt_long(argc, argv, "hV", known, NULL)) != -1) {
		if (letter == 'h' || letter == 'V') {
			if (letter == 'h')
				fputs(usage, stdout);
			else
				printf("%s %s\n", name, SBX_VERSION);
			return told() + 1;
		}
		if (letter == 'c')
			o->config = optarg;
		else if (letter == 's' && o->secret_fd < 0 && take_descriptor(optarg, o, &o->secret_fd) == 0)
			continue;
		else if (letter == 'l' && take_descriptor(optarg, o, &lock) == 0)
			continue;
		else
			return refuse_usage(usage);
	}
	return 0;
}

int provider_main(const char *name, const char *usage, const struct provider_verb *verbs, size_t count, int argc,
		  char **argv)
{
	struct options o = {.secret_fd = -1};
	struct provider provider = {.name = name, .started = {.reply_fd = STDOUT_FILENO}, .secret_fd = -1};
	struct sbx_error err = SBX_ERROR_INIT;
	int status = read_options(name, usage, argc, argv, &o);

	if (status != 0)
		return status - 1;
	for (size_t i = 0; optind == argc - 1 && i < count; i++)
		if (strcmp(argv[optind], verbs[i].word) == 0)
			o.verb = &verbs[i];
	if (o.verb == NULL || (o.verb->gives == PROVIDER_GIVES_SECRET) != (o.secret_fd >= 0))
		return refuse_usage(usage) - 1;
	provider.secret_fd = o.secret_fd;
	provider.kept = o.keep;
	provider.kept_count = o.keep_count;
	status = -1;
	if (start(name, o.config, o.keep, o.keep_count, START_REPLY, &provider.started, &err) == 0)
		status = o.verb->run(&provider, &err);
	status = status < 0 ? fail(&provider, &err) : status;
#if !defined(__SANITIZE_ADDRESS__)
	_exit(status);
#endif
	return status; /* leaks are looked for behind it */
}
