/* Anchor, binding, token: each on disk before it is asked for. */
#include "kube_cred_mint.h"

#include <stdio.h>
#include <string.h>

#include "ascii.h"
#include "clock.h"
#include "jwt_claims.h"
#include "kube_ask.h"
#include "kube_job.h"

enum {
	MARGIN_S = 60,	      /* the journal says the latest end that may be, before the token says its own */
	LIFETIME_MIN_S = 600, /* no API server makes a token for less */
	UID_MAX = 128,
};

void kube_cred_name(const char *lease, char out[KUBE_CRED_NAME_SIZE])
{
	snprintf(out, KUBE_CRED_NAME_SIZE, "sbx-cred-%s", lease);
}

/* Whose it is, for people who look at the cluster, and for whoever clears up there when our journal is lost. */
static jv metadata(const struct provider_journal *journal, const struct provider_wish *wish)
{
	char name[KUBE_CRED_NAME_SIZE], expires[CLOCK_RFC3339_SIZE];

	kube_cred_name(journal->lease, name);
	clock_format(provider_journal_end_time(journal), expires);
	jv labels = json_set_str(jv_object(), "app.kubernetes.io/managed-by", "sbx");
	labels = json_set_str(json_set_str(labels, KUBE_LABEL_CALL, wish->call), "sbx/lease", journal->lease);
	jv notes = json_set_str(jv_object(), "sbx/principal", wish->principal);
	notes = json_set_str(notes, "sbx/expires-at", expires);
	jv out = json_set_str(jv_object(), "name", name);
	return json_set(json_set(out, "labels", labels), "annotations", notes);
}

static jv object(const char *version, const char *kind, jv meta)
{
	jv out = json_set_str(json_set_str(jv_object(), "apiVersion", version), "kind", kind);

	return json_set(out, "metadata", meta);
}

/* 0; -1, and *IS_UNKNOWN when it may be there all the same. */
static int create(const struct kube_cred *cred, const char *doing, enum kube_kind kind, jv body, int *is_unknown,
		  struct kube_reply *reply, struct sbx_error *err)
{
	const struct kube_request request = {.doing = doing, .verb = KUBE_CREATE, .kind = kind, .body = body};
	enum kube_answer got = kube_ask(&cred->kube, &request, cred->deadline, reply, err);

	*is_unknown = reply->is_unknown;
	return got == KUBE_OK ? 0 : -1;
}

static int make_anchor(const struct kube_cred *cred, const struct provider_wish *wish,
		       const struct provider_journal *journal, char uid[UID_MAX], int *is_unknown,
		       struct sbx_error *err)
{
	auto_kube_reply reply = KUBE_REPLY_INIT;
	jv wanted = object("v1", "Secret", metadata(journal, wish));
	auto_jv body = json_set_bool(json_set_str(wanted, "type", "sbx/anchor"), "immutable", 1);

	if (create(cred, "make the token's anchor", KUBE_SECRET, body, is_unknown, &reply, err) < 0)
		return -1;
	auto_jv meta = json_object(reply.object, "metadata");
	const char *said = json_str(meta, "uid");
	if (!ascii_is_printable(said, UID_MAX - 1))
		return sbx_fail(err, SBX_PROTOCOL, "cluster_answer",
				"the API server's answer has no uid of the anchor");
	snprintf(uid, UID_MAX, "%s", said);
	return 0;
}

/* The anchor owns it: the cluster removes it when that is gone and we do not come to it. UID "": there is no anchor. */
static int bind_role(const struct kube_cred *cred, const struct kube_cred_scope *scope,
		     const struct provider_wish *wish, const struct provider_journal *journal, const char *uid,
		     int *is_unknown, struct sbx_error *err)
{
	static const char group[] = "rbac.authorization.k8s.io";
	auto_kube_reply reply = KUBE_REPLY_INIT;
	jv meta = metadata(journal, wish);
	char name[KUBE_CRED_NAME_SIZE];

	kube_cred_name(journal->lease, name);
	if (uid[0] != '\0') {
		jv owner = json_set_str(json_set_str(jv_object(), "apiVersion", "v1"), "kind", "Secret");
		owner = json_set_str(json_set_str(owner, "name", name), "uid", uid);
		meta = json_set(meta, "ownerReferences", json_append(jv_array(), owner));
	}
	jv role = json_set_str(json_set_str(jv_object(), "apiGroup", group), "kind", scope->role_kind);
	jv account = json_set_str(json_set_str(jv_object(), "kind", "ServiceAccount"), "name", scope->account);
	account = json_set_str(account, "namespace", scope->namespace);
	jv wanted = object("rbac.authorization.k8s.io/v1", "RoleBinding", meta);
	wanted = json_set(wanted, "roleRef", json_set_str(role, "name", scope->role));
	auto_jv body = json_set(wanted, "subjects", json_append(jv_array(), account));
	return create(cred, "bind the role", KUBE_ROLE_BINDING, body, is_unknown, &reply, err);
}

/* --- the token --- */

static jv token_request(const struct kube_cred_scope *scope, const struct provider_wish *wish, const char *lease,
			const char *uid)
{
	char name[KUBE_CRED_NAME_SIZE];
	jv spec = json_set_int(jv_object(), "expirationSeconds", wish->lifetime_s);

	kube_cred_name(lease, name);
	if (jv_is_valid(scope->audiences))
		spec = json_set(spec, "audiences", jv_copy(scope->audiences));
	if (uid[0] != '\0') {
		jv anchor = json_set_str(json_set_str(jv_object(), "apiVersion", "v1"), "kind", "Secret");
		anchor = json_set_str(json_set_str(anchor, "name", name), "uid", uid);
		spec = json_set(spec, "boundObjectRef", anchor);
	}
	jv out = json_set_str(jv_object(), "apiVersion", "authentication.k8s.io/v1");
	return json_set(json_set_str(out, "kind", "TokenRequest"), "spec", spec);
}

/* An API server that does not know the reference would make a token that outlives its anchor. */
static int is_bound(jv claims, const char *uid)
{
	auto_jv cluster = json_object(claims, "kubernetes.io"), anchor = json_object(cluster, "secret");
	const char *said = json_str(anchor, "uid");

	return said != NULL && strcmp(said, uid) == 0;
}

static int read_token(const struct secret *token, const char *uid, const struct provider_wish *wish,
		      struct provider_minted *minted, struct sbx_error *err)
{
	auto_jv claims = jv_invalid();

	if (jwt_claims_read(token, &claims) < 0 || json_int(claims, "exp", &minted->expires_at) < 0)
		return sbx_fail(err, SBX_PROTOCOL, "cluster_answer",
				"the API server's answer has no token that says when it ends");
	const char *jti = json_str(claims, "jti");
	if (ascii_is_printable(jti, sizeof minted->jti - 1))
		snprintf(minted->jti, sizeof minted->jti, "%s", jti);
	if (uid[0] != '\0' && !is_bound(claims, uid))
		return sbx_fail(err, SBX_PROTOCOL, "token_unbound",
				"the API server's token is not bound to its anchor, so it could not be ended");
	if (provider_minted_suffices(minted, wish))
		return 0;
	sbx_fail(err, SBX_CONFIG, "token_short", "the token would end before its action has to");
	return sbx_hint(err,
			"the API server's --service-account-max-token-expiration is less than the action's deadline");
}

static int mint(const struct kube_cred *cred, const struct kube_cred_scope *scope, const struct provider_wish *wish,
		struct provider_journal *journal, const char *uid, struct provider_minted *minted, int *is_unknown,
		struct sbx_error *err)
{
	auto_kube_reply reply = KUBE_REPLY_INIT;
	auto_jv body = token_request(scope, wish, journal->lease, uid);
	const struct kube_request request = {.doing = "get a token for the service account",
					     .verb = KUBE_TOKEN,
					     .name = scope->account,
					     .body = body};
	enum kube_answer got = kube_ask(&cred->kube, &request, cred->deadline, &reply, err);

	*is_unknown = reply.is_unknown;
	if (got != KUBE_OK || read_token(&reply.secret, uid, wish, minted, err) < 0)
		return -1;
	/* One that is not bound lives as long as it says, and that must be known when it is given back. */
	jv members = json_set_int(json_set_int(jv_object(), "made_at", 0), "expires_at", minted->expires_at);
	if (provider_journal_add(journal, members, err) < 0)
		return -1;
	minted->fields[0].name = "token";
	minted->fields[0].value = reply.secret;
	reply.secret = (struct secret)SECRET_INIT;
	return 0;
}

/* --- the whole --- */

static int make_all(const struct kube_cred *cred, const struct kube_cred_scope *scope, const struct provider_wish *wish,
		    struct provider_journal *journal, struct provider_minted *minted, int *is_unknown,
		    struct sbx_error *err)
{
	char uid[UID_MAX] = "";

	if (scope->anchor == KUBE_CRED_BOUND && make_anchor(cred, wish, journal, uid, is_unknown, err) < 0)
		return -1;
	if (scope->role != NULL && bind_role(cred, scope, wish, journal, uid, is_unknown, err) < 0)
		return -1;
	return mint(cred, scope, wish, journal, uid, minted, is_unknown, err);
}

int kube_cred_mint(const struct kube_cred *cred, const struct kube_cred_scope *scope, const struct provider_wish *asked,
		   struct provider_journal *journal, struct provider_minted *minted, struct sbx_error *err)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	struct provider_wish wish = *asked;
	int is_unknown = 0;

	if (wish.lifetime_s < LIFETIME_MIN_S)
		wish.lifetime_s = LIFETIME_MIN_S;
	jv members = json_set_int(jv_object(), "expires_at", clock_seconds() + wish.lifetime_s + MARGIN_S);
	members = json_set_int(members, "made_at", clock_seconds());
	members = json_set_str(json_set_str(members, "server", cred->server), "namespace", scope->namespace);
	members = json_set_bool(members, "anchor", scope->anchor == KUBE_CRED_BOUND);
	members = json_set_bool(members, "binding", scope->role != NULL);
	if (provider_journal_begin(journal, members, err) < 0)
		return -1;
	if (make_all(cred, scope, &wish, journal, minted, &is_unknown, err) == 0)
		return 0;
	/* Where every answer came nothing is at work any more, and whoever revokes need not wait for it. */
	if (!is_unknown)
		provider_journal_add(journal, json_set_int(jv_object(), "made_at", 0), &ignored);
	return -1;
}
