/* One provider process for each verb, or for both. */
#include "credential_provider.h"

#include <string.h>

#include "ascii.h"
#include "clock.h"
#include "credential_render.h"

enum { METADATA_MAX = 200 /* a jti, a proof: they stand in the call and in the record */ };

static const char *const words[] = {[CREDENTIAL_MINT] = "mint", [CREDENTIAL_REVOKE] = "revoke"};

int credential_provider_exists(const char *name, struct sbx_error *err)
{
	auto_credential_helper helper = CREDENTIAL_HELPER_INIT;

	return credential_helper_find(&helper, name, err);
}

/* What both verbs are told: the record of the lease without what is ours alone, and the provider's settings, so that a
 * provider needs no YAML. */
static jv request_for(const struct credential_broker *broker, const struct lease *lease)
{
	jv request = jv_copy(lease->record);

	request = json_delete(json_delete(json_delete(request, "state"), "index"), "as");
	if (!json_has(request, "jti"))
		request = json_set(request, "jti", jv_null());
	return json_set(request, "config",
			config_settings(broker->config->providers, json_str(lease->record, "provider")));
}

/* Who minted, and stays, revokes too. */
static struct credential_helper *helper_of(struct lease *lease, enum credential_provider_verb verb)
{
	return verb == CREDENTIAL_MINT || credential_helper_stays(&lease->minting) ? &lease->minting : &lease->revoking;
}

int credential_provider_start(const struct credential_broker *broker, struct lease *lease,
			      enum credential_provider_verb verb, struct sbx_error *err)
{
	const struct credential_verb what = {
		.provider = json_str(lease->record, "provider"),
		.verb = words[verb],
		.config = broker->config->file,
		.fields = verb == CREDENTIAL_MINT ? &lease->fields : NULL,
		.lock_fd = verb == CREDENTIAL_MINT ? broker->lock_fd : -1,
	};
	struct credential_helper *helper = verb == CREDENTIAL_MINT ? &lease->minting : &lease->revoking;

	credential_helper_clear(helper);
	if (verb == CREDENTIAL_MINT)
		secret_clear(&lease->fields);
	return credential_helper_start(helper, &what, err);
}

static int ask(const struct credential_broker *broker, struct lease *lease, enum credential_provider_verb verb,
	       struct sbx_error *err)
{
	auto_jv request = request_for(broker, lease);

	if (!credential_helper_runs(helper_of(lease, verb)) && credential_provider_start(broker, lease, verb, err) < 0)
		return -1;
	int again = credential_helper_again(&lease->minting);
	if (verb == CREDENTIAL_MINT && again >= 0)
		request = json_set_int(take_jv(&request), "again_fd", again);
	return credential_helper_ask(helper_of(lease, verb), request, err);
}

static int is_same(jv reply, jv record, const char *key)
{
	const char *a = json_str(reply, key), *b = json_str(record, key);

	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static int check_minted(const struct lease *lease, jv reply, struct sbx_error *err)
{
	const struct credential_helper *helper = &lease->minting;
	auto_jv names = json_get(reply, "fields");
	auto_jv jti = json_get(reply, "jti");
	const char *expires = json_str(reply, "expires_at");
	jv_kind kind = jv_get_kind(jti);
	int64_t at;

	if (!credential_fields_are(&lease->fields, names))
		return credential_helper_broke(helper, "gave other secret fields than it names", err);
	/* The metadata goes into the call, which agents see: a secret that a provider put there must not get out. */
	if (credential_is_in(&lease->fields, buf_str(&helper->answer), helper->answer.len))
		return credential_helper_broke(helper, "put the secret among the metadata", err);
	if (!is_same(reply, lease->record, "provider") || !is_same(reply, lease->record, "lease"))
		return credential_helper_broke(helper, "answered for another lease", err);
	if (kind != JV_KIND_INVALID && kind != JV_KIND_NULL && !ascii_is_printable(json_text(jti), METADATA_MAX))
		return credential_helper_broke(helper, "gave a jti that is no short text", err);
	if (expires == NULL || strlen(expires) >= CLOCK_RFC3339_SIZE || clock_parse(expires, &at) < 0 ||
	    at <= clock_seconds())
		return credential_helper_broke(helper, "gave no time in the future at which the credential expires",
					       err);
	return 0;
}

int credential_provider_mint(const struct credential_broker *broker, struct lease *lease, struct sbx_error *err)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_jv reply = jv_invalid();

	if (ask(broker, lease, CREDENTIAL_MINT, err) < 0)
		return -1;
	if (credential_helper_await(&lease->minting, &reply, err) < 0 || check_minted(lease, reply, err) < 0) {
		credential_helper_clear(&lease->minting);
		return -1;
	}
	lease->record = json_set_str(take_jv(&lease->record), "jti", json_str(reply, "jti"));
	lease->record = json_set_str(take_jv(&lease->record), "expires_at", json_str(reply, "expires_at"));
	if (credential_helper_stays(&lease->minting))
		return 0;
	credential_helper_clear(&lease->minting);
	(void)credential_provider_start(broker, lease, CREDENTIAL_REVOKE, &ignored);
	return 0;
}

int credential_provider_revoke(const struct credential_broker *broker, struct lease *lease, struct sbx_error *err)
{
	return ask(broker, lease, CREDENTIAL_REVOKE, err);
}

jv credential_provider_revoked(struct lease *lease, struct sbx_error *err)
{
	static const char *const states[] = {"revoked", "expires", "deferred"};
	auto_jv reply = jv_invalid();
	struct credential_helper *helper = helper_of(lease, CREDENTIAL_REVOKE);

	if (credential_helper_await(helper, &reply, err) < 0)
		return jv_invalid();
	const char *state = json_str(reply, "state"), *proof = json_str(reply, "proof");
	for (size_t i = 0; state != NULL && ascii_is_printable(proof, METADATA_MAX) && i < ARRAY_LEN(states); i++)
		if (strcmp(state, states[i]) == 0)
			return json_set_str(json_set_str(jv_object(), "state", state), "proof", proof);
	credential_helper_broke(helper, "gave no state and proof of the revocation", err);
	return jv_invalid();
}
