/* Request, settings, directory; and the two answers. */
#include "provider_work.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "provider_stay.h"

enum {
	LIFETIME_MAX_S = 86400,
	SLACK_S = 5,
};

int provider_work_open(const struct provider *provider, const char *name, struct provider_work *work,
		       struct sbx_error *err)
{
	/* The request comes last: sbx-cred starts us before it has one, and waits for us from then on. */
	if (config_load(provider->started.config, &work->config, err) < 0 ||
	    state_open(work->config.state, &work->state, err) < 0)
		return -1;
	work->dir = state_dir(&work->state, name, err);
	if (work->dir < 0 || provider_read_request(&work->request, err) < 0)
		return -1;
	work->journal.dir = work->dir;
	work->journal.lease = json_str(work->request, "lease");
	work->again_fd = provider_again_fd(provider, work->request);
	return 0;
}

int provider_work_stay(const struct provider *provider, struct provider_work *work, struct sbx_error *err)
{
	auto_jv asked = jv_invalid();
	int got = provider_stay(provider, take_fd(&work->again_fd), work->journal.lease, PROVIDER_STAY_MS, &asked, err);

	if (got <= 0)
		return got;
	jv_free(take_jv(&work->request));
	work->request = take_jv(&asked);
	provider_journal_clear(&work->journal);
	work->journal.lease = json_str(work->request, "lease");
	return 1;
}

void provider_work_close(struct provider_work *work)
{
	provider_journal_clear(&work->journal);
	base_close_fd(&work->dir);
	state_close(&work->state);
	config_clear(&work->config);
	jv_free(take_jv(&work->request));
}

int provider_wish_read(jv request, struct provider_wish *wish, struct sbx_error *err)
{
	wish->call = json_str(request, "call");
	wish->principal = json_str(request, "principal");
	if (!state_is_id(wish->call) || wish->principal == NULL ||
	    json_int(request, "lifetime_s", &wish->lifetime_s) < 0 || wish->lifetime_s < 0 ||
	    wish->lifetime_s > LIFETIME_MAX_S)
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_request",
				"the request has no call, no principal, or no lifetime_s of at most a day");
	return 0;
}

void provider_minted_clear(struct provider_minted *minted)
{
	for (size_t i = 0; i < PROVIDER_FIELDS; i++)
		secret_clear(&minted->fields[i].value);
}

int provider_minted_suffices(const struct provider_minted *minted, const struct provider_wish *wish)
{
	return minted->expires_at >= clock_seconds() + wish->lifetime_s - SLACK_S;
}

int provider_hand_over(const struct provider *provider, const char *name, const struct provider_work *work,
		       const struct provider_minted *minted, struct sbx_error *err)
{
	auto_jv names = jv_array();
	char expires[CLOCK_RFC3339_SIZE];

	for (size_t i = 0; i < PROVIDER_FIELDS && minted->fields[i].name != NULL; i++) {
		if (provider_give(provider, minted->fields[i].name, &minted->fields[i].value, err) < 0)
			return -1;
		names = json_append(take_jv(&names), jv_string(minted->fields[i].name));
	}
	clock_format(minted->expires_at, expires);
	jv answer = json_set_str(json_set_str(jv_object(), "provider", name), "lease", work->journal.lease);
	answer = json_set(answer, "jti", minted->jti[0] != '\0' ? jv_string(minted->jti) : jv_null());
	answer = json_set_str(answer, "expires_at", expires);
	if (work->again_fd >= 0)
		answer = json_set_bool(answer, "stays", 1);
	return provider_reply(provider, json_set(answer, "fields", take_jv(&names)), err);
}

void provider_say(struct provider_outcome *outcome, const char *state, const char *format, ...)
{
	va_list list;

	outcome->state = state;
	va_start(list, format);
	vsnprintf(outcome->proof, sizeof outcome->proof, format, list);
	va_end(list);
}

int provider_tell(const struct provider *provider, const struct provider_outcome *outcome, struct sbx_error *err)
{
	jv answer = json_set_str(jv_object(), "state", outcome->state);

	return provider_reply(provider, json_set_str(answer, "proof", outcome->proof), err);
}

int provider_revoke_begin(struct provider_work *work, struct provider_outcome *outcome, struct sbx_error *err)
{
	int found = provider_journal_read(&work->journal, err);

	if (found == 0)
		provider_say(outcome, "revoked", "nothing is kept of this lease: not minted, or revoked before");
	return found;
}

int provider_revoke_end(const struct provider *provider, struct provider_work *work,
			const struct provider_outcome *outcome, struct sbx_error *err)
{
	if (strcmp(outcome->state, "deferred") != 0 && provider_journal_end(&work->journal, err) < 0)
		return -1;
	return provider_tell(provider, outcome, err);
}
