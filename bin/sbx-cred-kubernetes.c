/* sbx-cred-kubernetes: tokens of a cluster's own service accounts that end with their action: each is bound to an
 * anchor that is deleted at the end. See sbx-cred-kubernetes(8), sbx-helper(7).
 */

#include "clock.h"
#include "kube_cred_revoke.h"

static const char usage[] =
	"usage: sbx-cred-kubernetes mint --secret-fd N [--config FILE] [--lock-fd N]...   < request\n"
	"       sbx-cred-kubernetes revoke [--config FILE]   < request\n";

enum { ASK_MS = 3000 /* kept for the API server when a program gives us our login */ };

struct program {
	struct provider_work work;
	jv target;
	struct kube_cred_settings settings;
	struct kube_access access;
	struct http_identity identity;
	struct kube_cred cred;
};
#define PROGRAM_INIT                                                                                                   \
	{                                                                                                              \
		.work = PROVIDER_WORK_INIT, .access = KUBE_ACCESS_INIT                                                 \
	}

static int work_open(const struct provider *provider, struct program *p, struct sbx_error *err)
{
	http_load();
	return provider_work_open(provider, "kubernetes", &p->work, err);
}

/* Once: whoever stays has it already. */
static int open_server(struct program *p, struct sbx_error *err)
{
	p->cred.deadline = clock_mono_ms() + PROVIDER_VERB_MS;
	if (p->cred.kube.http != NULL)
		return 0;
	auto_jv settings = config_settings(p->work.config.providers, "kubernetes");
	p->target = json_object(p->work.request, "target");
	if (kube_cred_settings_read(settings, p->target, &p->settings, err) < 0 ||
	    kube_login_access(&p->settings.login, p->cred.deadline - ASK_MS, &p->access, err) < 0)
		return -1;
	p->identity = kube_identity(&p->access);
	p->cred.server = p->access.server;
	p->cred.kube.http = http_new(&p->identity, err);
	return p->cred.kube.http != NULL ? 0 : -1;
}

static void close_program(struct program *p)
{
	http_free(p->cred.kube.http);
	kube_access_clear(&p->access);
	kube_cred_settings_clear(&p->settings);
	jv_free(take_jv(&p->target));
	provider_work_close(&p->work);
}

static int mint(const struct provider *provider, struct program *p, const struct kube_cred_scope *scope,
		struct sbx_error *err)
{
	auto_provider_minted minted = PROVIDER_MINTED_INIT;
	struct provider_journal *journal = &p->work.journal;
	struct provider_wish wish;

	p->cred.kube.namespace = scope->namespace;
	if (provider_wish_read(p->work.request, &wish, err) < 0 ||
	    kube_cred_check_server(&p->settings, p->cred.server, p->target, err) < 0 ||
	    kube_cred_mint(&p->cred, scope, &wish, journal, &minted, err) < 0)
		return -1;
	return provider_hand_over(provider, "kubernetes", &p->work, &minted, err);
}

static int end_lease(const struct provider *provider, struct program *p, struct sbx_error *err)
{
	struct provider_outcome outcome;
	/* Settings that are wrong have made nothing. */
	int found = provider_revoke_begin(&p->work, &outcome, err);

	if (found < 0 || (found == 1 &&
			  (open_server(p, err) < 0 || kube_cred_revoke(&p->cred, &p->work.journal, &outcome, err) < 0)))
		return -1;
	return provider_revoke_end(provider, &p->work, &outcome, err);
}

static int stay(const struct provider *provider, struct program *p, struct sbx_error *err)
{
	int asked = provider_work_stay(provider, &p->work, err);

	return asked == 1 ? end_lease(provider, p, err) : asked;
}

static int do_mint(const struct provider *provider, struct sbx_error *err)
{
	struct program p = PROGRAM_INIT;
	struct kube_cred_scope scope = {.role = NULL};
	int result = work_open(provider, &p, err);

	if (result == 0)
		result = open_server(&p, err);
	if (result == 0)
		result = kube_cred_scope_read(p.work.request, &scope, err);
	if (result == 0)
		result = mint(provider, &p, &scope, err);
	kube_cred_scope_clear(&scope);
	if (result == 0 && p.work.again_fd >= 0)
		result = stay(provider, &p, err);
	close_program(&p);
	return result;
}

static int do_revoke(const struct provider *provider, struct sbx_error *err)
{
	struct program p = PROGRAM_INIT;
	int result = work_open(provider, &p, err);

	if (result == 0)
		result = end_lease(provider, &p, err);
	close_program(&p);
	return result;
}

int main(int argc, char **argv)
{
	static const struct provider_verb verbs[] = {{"mint", do_mint, PROVIDER_GIVES_SECRET},
						     {"revoke", do_revoke, PROVIDER_GIVES_NONE}};

	return provider_main("sbx-cred-kubernetes", usage, verbs, ARRAY_LEN(verbs), argc, argv);
}
