/* Planning, issuing and giving back leases. */
#include "credential.h"

#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "call.h"
#include "clock.h"
#include "credential_lease.h"
#include "credential_provider.h"
#include "credential_render.h"
#include "credential_witness.h"
#include "io.h"
#include "start.h"

enum {
	LIFETIME_MIN_S = 600,	/* what every issuer grants (Kubernetes refuses less) */
	LIFETIME_MAX_S = 86400, /* no run lasts a day */
	EXPIRY_MARGIN_S = 60,	/* a mint takes time; clocks differ */
	NAME_MAX_LEN = 64,
	/* A call waits as long as this for the refusal: one by RBAC comes within 0.2 s of the binding's end, one of a
	 * token that the API server has just seen after ten seconds. */
	REFUSAL_MS = 250,
};

void leases_init(struct leases *leases)
{
	leases->count = 0;
	for (size_t i = 0; i < ARRAY_LEN(leases->lease); i++)
		leases->lease[i] = (struct lease){.record = jv_invalid(),
						  .state = LEASE_PLANNED,
						  .fields = SECRET_INIT,
						  .minting = CREDENTIAL_HELPER_INIT,
						  .revoking = CREDENTIAL_HELPER_INIT,
						  .witness = CREDENTIAL_WITNESS_INIT,
						  .trouble = SBX_ERROR_INIT};
}

void leases_clear(struct leases *leases)
{
	for (size_t i = 0; i < ARRAY_LEN(leases->lease); i++) {
		jv_free(leases->lease[i].record);
		secret_clear(&leases->lease[i].fields);
		credential_helper_clear(&leases->lease[i].minting);
		credential_helper_clear(&leases->lease[i].revoking);
		credential_witness_clear(&leases->lease[i].witness);
	}
	leases_init(leases);
}

/* ---- planning ---- */

static int bad(struct sbx_error *err, int index, const char *what)
{
	return sbx_fail(err, SBX_CONFIG, "bad_credentials", "credential %d of the call's policy %s", index, what);
}

/* The target as the provider and the kubeconfig see it: its settings and its name; null when there is none. */
static int plan_target(const struct credential_broker *broker, jv wanted, enum credential_form form, jv *target,
		       struct sbx_error *err)
{
	const char *name = json_str(wanted, "target");
	jv found = name ? json_object(broker->config->targets, name) : jv_invalid();
	int64_t wait_ms;

	*target = jv_null();
	if (name != NULL && !jv_is_valid(found)) {
		jv_free(found);
		sbx_fail(err, SBX_CONFIG, "no_target", "the call's target is not among the targets of the settings");
		return sbx_hint(err, "add it under targets: in %s", broker->config->file);
	}
	if (name == NULL && form == CREDENTIAL_KUBECONFIG) {
		sbx_fail(err, SBX_CONFIG, "no_target", "a kubeconfig was asked for, but the call has no target");
		return sbx_hint(err, "give the tool a parameter of type target, or the scope another form");
	}
	if (name == NULL)
		return 0;
	*target = json_set_str(found, "name", name);
	if (credential_witness_wait(*target, &wait_ms, err) < 0)
		return -1;
	return form == CREDENTIAL_KUBECONFIG ? credential_check_target(*target, err) : 0;
}

static int plan_provider(const struct credential_broker *broker, jv wanted, const char **name, struct sbx_error *err)
{
	const char *said = json_str(wanted, "provider");

	*name = said ? said : broker->config->provider;
	if (strcmp(*name, "none") == 0) {
		sbx_fail(err, SBX_CONFIG, "no_provider",
			 "the tool needs a credential, and the settings say provider: none");
		return sbx_hint(err, "set provider: in %s", broker->config->file);
	}
	return credential_provider_exists(*name, err);
}

static int are_texts(jv object, const char *key)
{
	auto_jv list = json_array(object, key);
	int good = jv_is_valid(list);

	for (int i = 0; good && i < json_length(list); i++) {
		auto_jv one = json_at(list, i);
		good = json_text(one) != NULL;
	}
	return good;
}

static int plan_lease(const struct credential_broker *broker, jv call, jv wanted, int index, struct lease *lease,
		      struct sbx_error *err)
{
	const char *scope = json_str(wanted, "scope"), *as = json_str(wanted, "as"), *principal = call_principal(call),
		   *provider;
	enum credential_form form = credential_form(as);
	char id[STATE_ID_SIZE], expires[CLOCK_RFC3339_SIZE];
	int64_t lifetime = LIFETIME_MIN_S;

	if (scope == NULL || scope[0] == '\0' || strlen(scope) > NAME_MAX_LEN)
		return bad(err, index, "names no scope");
	if (form == CREDENTIAL_FORMS)
		return bad(err, index, "has no form that is known (token, kubeconfig, aws-credentials)");
	if ((json_has(wanted, "namespace") && json_str(wanted, "namespace") == NULL) ||
	    (json_has(wanted, "permissions") && !are_texts(wanted, "permissions")))
		return bad(err, index, "has a namespace or permissions that are no texts");
	if (json_has(wanted, "lifetime_s") && json_int(wanted, "lifetime_s", &lifetime) < 0)
		return bad(err, index, "has no lifetime in seconds");
	if (lifetime < LIFETIME_MIN_S)
		lifetime = LIFETIME_MIN_S;
	if (lifetime > LIFETIME_MAX_S)
		return bad(err, index, "would live longer than a day");
	if (plan_provider(broker, wanted, &provider, err) < 0)
		return -1;
	auto_jv target = jv_invalid();
	if (plan_target(broker, wanted, form, &target, err) < 0)
		return -1;
	io_random_hex(id, (STATE_ID_SIZE - 1) / 2);
	clock_format(clock_seconds() + lifetime + EXPIRY_MARGIN_S, expires);
	jv record = json_set_str(jv_object(), "call", call_id(call));
	record = json_set_int(record, "index", index);
	record = json_set_str(record, "lease", id);
	record = json_set_str(record, "principal", principal);
	record = json_set_str(record, "provider", provider);
	record = json_set_str(record, "scope", scope);
	record = json_set_str(record, "as", as);
	jv settings = json_object(wanted, "settings");
	record = json_set(record, "settings", jv_is_valid(settings) ? settings : jv_object());
	record = json_set(record, "target", take_jv(&target));
	record = json_set_str(record, "namespace", json_str(wanted, "namespace"));
	if (json_has(wanted, "permissions"))
		record = json_set(record, "permissions", json_array(wanted, "permissions"));
	record = json_set_int(record, "lifetime_s", lifetime);
	lease->record = json_set_str(record, "expires_at", expires);
	return 0;
}

int credential_plan(const struct credential_broker *broker, jv call, struct leases *leases, struct sbx_error *err)
{
	auto_jv policy = json_object(call, "policy");
	auto_jv wanted = json_get(policy, "credentials");

	if (!jv_is_valid(wanted))
		return 0;
	if (jv_get_kind(wanted) != JV_KIND_ARRAY || json_length(wanted) > LIMIT_CREDENTIALS)
		return sbx_fail(err, SBX_CONFIG, "bad_credentials",
				"the call's policy names no list of at most %d credentials", LIMIT_CREDENTIALS);
	for (int i = 0; i < json_length(wanted); i++) {
		auto_jv one = json_at(wanted, i);
		if (plan_lease(broker, call, one, i, &leases->lease[i], err) < 0)
			return -1;
		leases->count++;
	}
	return 0;
}

/* ---- issuing and giving back ---- */

static jv copy_members(jv from, const char *const *names)
{
	jv out = jv_object();

	for (size_t i = 0; names[i] != NULL; i++)
		if (json_has(from, names[i]))
			out = json_set(out, names[i], json_get(from, names[i]));
	return out;
}

jv credential_member(const struct leases *leases)
{
	static const char *const names[] = {"provider", "scope", "namespace", "lease", "jti", "expires_at", NULL};
	jv out = jv_array();

	for (size_t i = 0; i < leases->count; i++)
		if (leases->lease[i].state != LEASE_PLANNED)
			out = json_append(out, copy_members(leases->lease[i].record, names));
	return out;
}

void credential_start(const struct credential_broker *broker, struct leases *leases)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	for (size_t i = 0; i < leases->count; i++)
		(void)credential_provider_start(broker, &leases->lease[i], CREDENTIAL_MINT, &ignored);
}

void credential_stand_by(struct leases *leases)
{
	for (size_t i = 0; i < leases->count; i++) {
		credential_witness_start(&leases->lease[i].witness, &leases->lease[i]);
		secret_clear(&leases->lease[i].fields);
	}
}

static int issue_requested(const struct credential_broker *broker, struct lease *lease, struct sbx_error *err)
{
	static const char *const members[] = {"provider", "scope", "namespace",	 "permissions",
					      "lease",	  "jti",   "expires_at", NULL};
	const char *call = json_str(lease->record, "call");

	if (credential_provider_mint(broker, lease, err) < 0)
		return -1;
	lease->state = LEASE_ISSUED;
	if (lease_write(broker->state, lease, "issued", err) < 0)
		return -1;
	auto_jv details = copy_members(lease->record, members);
	return audit_append(broker->state, AUDIT_OUTCOME, "credential.issued", call, details, err);
}

int credential_issue(const struct credential_broker *broker, struct lease *lease, struct sbx_error *err)
{
	static const char *const members[] = {"provider", "scope", "namespace", "permissions", "lease", NULL};
	const char *call = json_str(lease->record, "call");
	struct sbx_error late = SBX_ERROR_INIT;

	/* A file that was made and could not be synced is one that nobody would look after. */
	if (lease_write(broker->state, lease, "requested", err) < 0) {
		lease_remove(broker->state, lease->record, &late);
		return -1;
	}
	auto_jv details = copy_members(lease->record, members);
	if (audit_append(broker->state, AUDIT_INTENT, "credential.requested", call, details, err) < 0) {
		lease_remove(broker->state, lease->record, &late);
		return -1;
	}
	lease->state = LEASE_REQUESTED;
	if (issue_requested(broker, lease, err) == 0)
		return 0;
	auto_jv failed = json_set_str(jv_copy(details), "code", err->code);
	/* The error that is told is the first one; that the record did not take this line will show at the next. */
	(void)audit_append(broker->state, AUDIT_OUTCOME, "credential.failed", call, failed, &late);
	return -1;
}

/* What the record says of the end: OUTCOME, and whose. */
static int record_end(const struct credential_broker *broker, const struct lease *lease, enum credential_how how,
		      jv outcome, struct sbx_error *err)
{
	static const char *const members[] = {"provider", "scope", "namespace", "lease", "jti", NULL};
	auto_jv details = copy_members(lease->record, members);

	details = jv_object_merge(take_jv(&details), jv_copy(outcome));
	if (how == CREDENTIAL_MENDED)
		details = json_set_bool(take_jv(&details), "mended", 1);
	return audit_append(broker->state, AUDIT_OUTCOME, "credential.revoked", json_str(lease->record, "call"),
			    details, err);
}

static int is_awaited(jv outcome)
{
	const char *unproven = json_str(outcome, "unproven");

	return unproven != NULL && strcmp(unproven, "not_yet_refused") == 0;
}

/* The API server took it after it was revoked, and it has not ended by itself. */
static int is_taken(const struct lease *lease)
{
	const char *state = json_str(lease->record, "state"), *until = json_str(lease->record, "expires_at");
	int64_t end;

	return state != NULL && strcmp(state, "still_taken") == 0 && until != NULL && clock_parse(until, &end) == 0 &&
	       clock_seconds() < end;
}

/* OUTCOME is in the record, and the lease's file gone, unless there is something left to do. */
static int settle(const struct credential_broker *broker, struct lease *lease, enum credential_how how, jv outcome,
		  const struct sbx_error *failed, struct sbx_error *err)
{
	struct sbx_error late = SBX_ERROR_INIT;
	int recorded = record_end(broker, lease, how, outcome, err);

	if (how == CREDENTIAL_AT_END && is_awaited(outcome) && recorded == 0)
		return lease_write(broker->state, lease, "revoked", err);
	if (strcmp(json_str(outcome, "state"), "deferred") == 0) {
		(void)lease_write(broker->state, lease, is_taken(lease) ? "still_taken" : "deferred", &late);
		sbx_error_clear(err);
		sbx_fail(err, SBX_UNAVAILABLE, "revoke_deferred", "a credential could not be revoked yet: %.300s",
			 failed->message[0] ? failed->message : "its provider put it off");
		return sbx_hint(err, "sbx-cred --mend %s tries again", json_str(lease->record, "call"));
	}
	return recorded < 0 ? -1 : lease_remove(broker->state, lease->record, err);
}

/* What the provider says became of LEASE, which it was asked to revoke: with ASKED not 0 it could not be asked. */
static jv revoked(const struct credential_broker *broker, struct lease *lease, int asked, struct sbx_error *err)
{
	jv outcome = asked == 0 ? credential_provider_revoked(lease, err) : jv_invalid();

	if (jv_is_valid(outcome))
		return outcome;
	/* Once more: by a process that was not started before whatever has happened. */
	jv_free(outcome);
	sbx_error_clear(err);
	outcome = credential_provider_revoke(broker, lease, err) == 0 ? credential_provider_revoked(lease, err)
								      : jv_invalid();
	if (jv_is_valid(outcome))
		return outcome;
	jv_free(outcome);
	return json_set_str(json_set_str(jv_object(), "state", "deferred"), "proof", err->code);
}

/* One lease on its way back. */
struct ending {
	struct sbx_error failed;
	int64_t began;
	int asked;
	jv outcome;
};

static int has_begun(const struct lease *lease)
{
	return lease->state != LEASE_PLANNED;
}

/* All of them are revoked at the same time. */
static void revoke_all(const struct credential_broker *broker, struct leases *leases, struct ending *endings)
{
	/* Where nothing was started the secrets are here still. */
	for (size_t i = 0; i < leases->count; i++)
		credential_witness_start(&leases->lease[i].witness, &leases->lease[i]);
	for (size_t i = 0; i < leases->count; i++)
		credential_witness_hear(&leases->lease[i].witness);
	for (size_t i = 0; i < leases->count; i++) {
		endings[i] = (struct ending){.failed = SBX_ERROR_INIT, .began = clock_mono_ms()};
		secret_clear(&leases->lease[i].fields);
		if (has_begun(&leases->lease[i]))
			endings[i].asked = credential_provider_revoke(broker, &leases->lease[i], &endings[i].failed);
	}
	for (size_t i = 0; i < leases->count; i++) {
		struct lease *lease = &leases->lease[i];
		if (!has_begun(lease))
			continue;
		jv outcome = revoked(broker, lease, endings[i].asked, &endings[i].failed);
		if (strcmp(json_str(outcome, "state"), "revoked") == 0)
			credential_witness_revoked(&lease->witness);
		if (is_taken(lease)) {
			outcome = json_set_str(outcome, "state", "deferred");
			outcome = json_set_str(outcome, "proof", "still_taken");
		}
		endings[i].outcome = json_set_int(outcome, "took_ms", clock_mono_ms() - endings[i].began);
	}
}

static jv conclude(struct lease *lease, enum credential_how how, jv outcome, int64_t deadline)
{
	int is_known = credential_witness_conclude(&lease->witness, deadline, &outcome);

	if (!is_known)
		outcome = json_set_str(outcome, "unproven", "not_yet_refused");
	if (is_known || how != CREDENTIAL_AT_END)
		credential_witness_clear(&lease->witness);
	if (strcmp(json_str(outcome, "state"), "revoked") == 0)
		return outcome;
	/* Whatever becomes of it, it is over then. */
	return json_set_str(outcome, "expires_at", json_str(lease->record, "expires_at"));
}

jv credential_give_back(const struct credential_broker *broker, struct leases *leases, enum credential_how how)
{
	struct ending endings[LIMIT_CREDENTIALS];
	jv outcomes = jv_array();

	revoke_all(broker, leases, endings);
	int64_t deadline = clock_mono_ms() + REFUSAL_MS;
	for (size_t i = 0; i < leases->count; i++) {
		struct lease *lease = &leases->lease[i];
		if (!has_begun(lease))
			continue;
		jv outcome = conclude(lease, how, endings[i].outcome, deadline);
		sbx_error_clear(&lease->trouble);
		settle(broker, lease, how, outcome, &endings[i].failed, &lease->trouble);
		outcomes = json_append(outcomes, outcome);
	}
	return outcomes;
}
