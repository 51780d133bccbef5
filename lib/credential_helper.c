/* Options, a request, an answer; of one that stays both once more. */
#include "credential_helper.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "ascii.h"
#include "call.h"
#include "clock.h"
#include "process.h"

enum { VERB_MS = 10 * 1000 /* a provider talks to one server, once; who needs longer is down */ };

/* Descriptors of a provider. */
#define SECRET_NUMBER 3
#define LOCK_NUMBER 4
#define AGAIN_NUMBER 5

int credential_helper_find(struct credential_helper *h, const char *provider, struct sbx_error *err)
{
	if (provider == NULL || provider[0] == '\0' || provider[0] == '-' ||
	    strlen(provider) > CREDENTIAL_PROVIDER_NAME_MAX ||
	    strspn(provider, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(provider))
		return sbx_fail(err, SBX_CONFIG, "bad_credentials",
				"a scope names no provider (small letters, digits and dashes)");
	snprintf(h->program, sizeof h->program, "sbx-cred-%s", provider);
	free(h->path);
	h->path = process_helper(h->program, err);
	return h->path == NULL ? -1 : 0;
}

static void build_argv(struct credential_helper *h, const struct credential_verb *verb)
{
	const char **argv = h->argv;

	*argv++ = h->program;
	*argv++ = verb->verb;
	*argv++ = "--config";
	*argv++ = verb->config;
	if (verb->fields != NULL) {
		*argv++ = "--secret-fd";
		*argv++ = SPAWN_NUMBER(SECRET_NUMBER);
	}
	if (verb->lock_fd >= 0) {
		*argv++ = "--lock-fd";
		*argv++ = SPAWN_NUMBER(LOCK_NUMBER);
	}
	/* Whoever does not know what it is for keeps it open, as every lock, and no more. */
	if (h->again >= 0) {
		*argv++ = "--lock-fd";
		*argv++ = SPAWN_NUMBER(AGAIN_NUMBER);
	}
	*argv = NULL;
}

/* A line that is an object and says so. */
static int says_that_it_stays(const struct buf *answer)
{
	const char *end = memchr(answer->data, '\n', answer->len);
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_jv reply = jv_invalid();

	return json_parse(answer->data, (size_t)(end - answer->data), answer->max, &reply, &ignored) == 0 &&
	       json_bool(reply, "stays") == 1;
}

/* The pipe by which it is asked again: our end into H; the other, its own. */
static int open_again(struct credential_helper *h)
{
	int ends[2];

	/* Without one it does not stay, and that is all. */
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	h->again = ends[1];
	if (fcntl(h->again, F_SETFL, O_NONBLOCK) < 0)
		base_close_fd(&h->again);
	return ends[0];
}

int credential_helper_start(struct credential_helper *h, const struct credential_verb *verb, struct sbx_error *err)
{
	if (credential_helper_find(h, verb->provider, err) < 0)
		return -1;
	auto_fd again = verb->fields != NULL ? open_again(h) : -1;
	build_argv(h, verb);
	h->fields = verb->fields;
	h->process.path = h->path;
	h->process.argv = h->argv;
	h->process.fds = h->kept;
	if (verb->lock_fd >= 0)
		h->kept[h->process.fd_count++] = (struct spawn_fd){LOCK_NUMBER, verb->lock_fd};
	if (h->again >= 0) {
		h->kept[h->process.fd_count++] = (struct spawn_fd){AGAIN_NUMBER, again};
		h->process.stays = says_that_it_stays;
	}
	h->process.answer = &h->answer;
	h->process.secret = verb->fields;
	h->process.secret_number = SECRET_NUMBER;
	return credential_process_start(&h->process, err);
}

int credential_helper_runs(const struct credential_helper *h)
{
	return h->process.child.pid > 0;
}

int credential_helper_stays(const struct credential_helper *h)
{
	return h->stays;
}

int credential_helper_again(const struct credential_helper *h)
{
	return h->again >= 0 ? AGAIN_NUMBER : -1;
}

int credential_helper_ask(struct credential_helper *h, jv request, struct sbx_error *err)
{
	buf_reset(&h->request);
	if (json_write(request, &h->request, err) < 0)
		return -1;
	if (h->stays) {
		h->is_asked_again = 1;
		credential_process_again(&h->process, &h->again, &h->request);
		return 0;
	}
	h->process.input = h->request.data;
	h->process.input_len = h->request.len;
	credential_process_feed(&h->process);
	return 0;
}

int credential_helper_broke(const struct credential_helper *h, const char *what, struct sbx_error *err)
{
	sbx_fail(err, SBX_PROTOCOL, "provider_protocol", "%s %s", h->program, what);
	return sbx_hint(err, "sbx-helper(7) has the contract of providers");
}

/* A provider that fails may say why, as {"error":{class,code,message,hint}}. Its words are used only when nothing
 * secret can be among them. */
static int failed(const struct credential_helper *h, int status, struct sbx_error *err)
{
	struct sbx_error said = SBX_ERROR_INIT, ignored = SBX_ERROR_INIT;
	auto_jv reply = jv_invalid();

	if (WIFSIGNALED(status))
		return sbx_fail(err, SBX_UNAVAILABLE, "provider_failed", "%s was killed by signal %d", h->program,
				WTERMSIG(status));
	/* One that stays knows a secret still, which we do not. */
	if (!h->is_asked_again && (h->fields == NULL || h->fields->len == 0) &&
	    json_parse(buf_str(&h->answer), h->answer.len, h->answer.max, &reply, &ignored) == 0 &&
	    call_get_error(reply, &said) == 1 && ascii_is_printable(said.message, sizeof said.message) &&
	    ascii_is_printable(said.code, sizeof said.code) &&
	    strspn(said.code, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(said.code)) {
		if (said.hint[0] != '\0' && !ascii_is_printable(said.hint, sizeof said.hint))
			said.hint[0] = '\0';
		*err = said;
		return sbx_wrap(err, "%s", h->program);
	}
	return sbx_fail(err, SBX_UNAVAILABLE, "provider_failed", "%s failed with status %d", h->program,
			spawn_exit_code(status));
}

int credential_helper_await(struct credential_helper *h, jv *reply, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;
	int status = 0;
	int ended = credential_process_wait(&h->process, clock_mono_ms() + VERB_MS, &status, &why);

	h->stays = ended == 1;
	if (!h->stays)
		credential_process_stop(&h->process);
	if (ended < 0 && strcmp(why.code, "timeout") == 0) {
		sbx_fail(err, SBX_UNAVAILABLE, "provider_timeout", "%s did not answer in %d seconds", h->program,
			 VERB_MS / 1000);
		return sbx_hint(err, "its server may be down or slow; what it may have made is given back");
	}
	if (ended < 0)
		return credential_helper_broke(h, "answered with more than it may", err);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return failed(h, status, err);
	if (json_parse(buf_str(&h->answer), h->answer.len, h->answer.max, reply, &why) < 0 ||
	    jv_get_kind(*reply) != JV_KIND_OBJECT)
		return credential_helper_broke(h, "answered with something else than one JSON object", err);
	return 0;
}

void credential_helper_clear(struct credential_helper *h)
{
	credential_process_stop(&h->process);
	base_close_fd(&h->again);
	free(h->path);
	buf_clear(&h->request);
	buf_clear(&h->answer);
	*h = (struct credential_helper)CREDENTIAL_HELPER_INIT;
}
