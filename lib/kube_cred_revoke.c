/* Two deletions, each looked after. */
#include "kube_cred_revoke.h"

#include <poll.h>
#include <string.h>

#include "clock.h"
#include "kube_ask.h"

enum {
	LOOK_MS = 100,
	KEEP_MS = 1500, /* a look that begins has at least this */
	LEEWAY_S = 60,	/* an API server takes a token for as long after its end */
};

/* Delete, and again until the server knows of none: a finalizer keeps an object, and with it the token, that was
 * deleted. So no right to read Secrets is needed. 1: gone, 0: something holds it, -1: not known. */
static int erase(const struct kube_cred *cred, const struct kube *kube, enum kube_kind kind, const char *lease,
		 struct sbx_error *err)
{
	char name[KUBE_CRED_NAME_SIZE];

	kube_cred_name(lease, name);
	const struct kube_request request = {.doing = kind == KUBE_SECRET ? "delete the token's anchor"
									  : "delete the role's binding",
					     .verb = KUBE_DELETE,
					     .kind = kind,
					     .name = name};
	for (int look = 0;; look++) {
		auto_kube_reply reply = KUBE_REPLY_INIT;
		struct sbx_error why = SBX_ERROR_INIT;
		enum kube_answer got = kube_ask(kube, &request, cred->deadline, &reply, &why);
		if (got == KUBE_NOT_FOUND)
			return 1;
		if (got != KUBE_OK) {
			*err = why;
			return -1;
		}
		if (look > 0 && clock_left_ms(cred->deadline) < LOOK_MS + KEEP_MS)
			return 0;
		if (look > 0)
			poll(NULL, 0, LOOK_MS);
	}
}

static void say(const struct provider_journal *journal, int is_gone, struct provider_outcome *outcome)
{
	int has_binding = json_bool(journal->record, "binding") == 1;
	char expires[CLOCK_RFC3339_SIZE];

	clock_format(provider_journal_end_time(journal), expires);
	if (!is_gone && clock_seconds() >= provider_journal_end_time(journal) + LEEWAY_S)
		provider_say(outcome, "expires", "deleted, but a finalizer held it; the token ended by itself at %s",
			     expires);
	else if (!is_gone)
		provider_say(outcome, "deferred", "deleted, but a finalizer holds it; the token lives until %s at most",
			     expires);
	else if (json_bool(journal->record, "anchor") != 1)
		provider_say(outcome, "expires", "%sthe token of a fixed service account lives until %s",
			     has_binding ? "role binding deleted; " : "", expires);
	else
		provider_say(outcome, "revoked",
			     "%sanchor deleted and looked for as gone; the API server may accept "
			     "the token for 10 s more",
			     has_binding ? "role binding and " : "");
}

int kube_cred_revoke(const struct kube_cred *cred, const struct provider_journal *journal,
		     struct provider_outcome *outcome, struct sbx_error *err)
{
	const char *server = json_str(journal->record, "server"), *namespace = json_str(journal->record, "namespace");
	const struct kube kube = {.http = cred->kube.http, .namespace = namespace};
	struct sbx_error failed = SBX_ERROR_INIT;
	int binding = 1, anchor = 1;

	if (server == NULL || !kube_is_name(namespace))
		return sbx_fail(err, SBX_CONFIG, "bad_journal", "the provider's file of this lease is damaged");
	/* There everything would be found gone, or something else deleted. */
	if (strcmp(server, cred->server) != 0) {
		sbx_fail(err, SBX_CONFIG, "cluster_target",
			 "the lease is of another server than the settings log in to");
		return sbx_hint(err, "it is of %.200s", server);
	}
	provider_journal_settle(journal);
	if (json_bool(journal->record, "binding") == 1)
		binding = erase(cred, &kube, KUBE_ROLE_BINDING, journal->lease, &failed);
	/* In any case: without it the token is nothing. */
	if (json_bool(journal->record, "anchor") == 1)
		anchor = erase(cred, &kube, KUBE_SECRET, journal->lease, err);
	if (anchor < 0)
		return -1;
	if (binding < 0) {
		*err = failed;
		return -1;
	}
	say(journal, binding == 1 && anchor == 1, outcome);
	return 0;
}
