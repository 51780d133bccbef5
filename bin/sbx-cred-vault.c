/* sbx-cred-vault: credentials of HashiCorp Vault or OpenBao that live as long as one action: a child token for each,
 * with it a token of the Kubernetes secrets engine, and both revoked at the end. See sbx-cred-vault(8), sbx-helper(7).
 */
#include <fcntl.h>

#include "clock.h"
#include "io.h"
#include "log.h"
#include "provider_work.h"
#include "vault_mint.h"
#include "vault_revoke.h"

enum { CA_MAX = 256 * 1024 };

static const char usage[] = "usage: sbx-cred-vault mint --secret-fd N [--config FILE] [--lock-fd N]...   < request\n"
			    "       sbx-cred-vault revoke [--config FILE]   < request\n";

struct program {
	struct provider_work work;
	struct vault_settings settings;
	struct buf ca;
	struct http_identity identity;
	struct vault vault;
	struct vault_session session;
};
#define PROGRAM_INIT                                                                                                   \
	{                                                                                                              \
		.work = PROVIDER_WORK_INIT, .ca = BUF_INIT(CA_MAX), .session = VAULT_SESSION_INIT                      \
	}

static int read_ca(struct program *p, struct sbx_error *err)
{
	auto_free char *text = NULL;
	size_t len;

	if (p->settings.ca_file == NULL)
		return 0;
	if (io_read_file(AT_FDCWD, p->settings.ca_file, CA_MAX - 1, IO_TRUSTED, &text, &len, err) < 0)
		return sbx_wrap(err, "ca_file of providers.vault");
	return buf_add(&p->ca, text, len, err);
}

static int work_open(const struct provider *provider, struct program *p, struct sbx_error *err)
{
	http_load();
	return provider_work_open(provider, "vault", &p->work, err);
}

/* Once: whoever stays has it already. */
static int open_server(struct program *p, struct sbx_error *err)
{
	if (p->vault.http != NULL) {
		p->vault.deadline = clock_mono_ms() + PROVIDER_VERB_MS;
		return 0;
	}
	auto_jv settings = config_settings(p->work.config.providers, "vault");

	if (vault_settings_read(settings, &p->settings, err) < 0 || read_ca(p, err) < 0)
		return -1;
	p->identity = (struct http_identity){
		.server = p->settings.socket != NULL ? "http://localhost" : p->settings.address,
		.socket = p->settings.socket,
		.ca = &p->ca,
	};
	p->vault = (struct vault){.http = http_new(&p->identity, err),
				  .namespace = p->settings.namespace,
				  .deadline = clock_mono_ms() + PROVIDER_VERB_MS};
	return p->vault.http != NULL ? 0 : -1;
}

static int log_in(struct program *p, struct sbx_error *err)
{
	return vault_login(&p->vault, &p->settings, p->work.config.file, p->work.dir, &p->session, err);
}

/* Each verb has a login of its own. */
static void log_out(struct program *p)
{
	struct sbx_error err = SBX_ERROR_INIT;

	if (p->vault.http != NULL && vault_logout(&p->vault, &p->session, &err) < 0)
		log_error(&err);
	secret_clear(&p->session.token);
}

static void close_program(struct program *p)
{
	log_out(p);
	http_free(p->vault.http);
	vault_settings_clear(&p->settings);
	buf_clear(&p->ca);
	provider_work_close(&p->work);
}

static int end_lease(const struct provider *provider, struct program *p, struct sbx_error *err)
{
	struct provider_outcome outcome;
	/* Settings that are wrong have made nothing. */
	int found = provider_revoke_begin(&p->work, &outcome, err);

	if (found < 0 || (found == 1 && (open_server(p, err) < 0 || log_in(p, err) < 0 ||
					 vault_revoke(&p->vault, &p->session, &p->work.journal, &outcome, err) < 0)))
		return -1;
	return provider_revoke_end(provider, &p->work, &outcome, err);
}

/* ---- mint ---- */

static int mint(const struct provider *provider, struct program *p, const struct vault_scope *scope,
		struct sbx_error *err)
{
	auto_provider_minted minted = PROVIDER_MINTED_INIT;
	struct provider_journal *journal = &p->work.journal;
	struct provider_wish wish;

	if (provider_wish_read(p->work.request, &wish, err) < 0 || log_in(p, err) < 0 ||
	    vault_check_session(&p->vault, &p->session, err) < 0 ||
	    vault_mint(&p->vault, &p->settings, scope, &p->session, &wish, journal, &minted, err) < 0)
		return -1;
	return provider_hand_over(provider, "vault", &p->work, &minted, err);
}

static int stay(const struct provider *provider, struct program *p, struct sbx_error *err)
{
	log_out(p);
	int asked = provider_work_stay(provider, &p->work, err);

	return asked == 1 ? end_lease(provider, p, err) : asked;
}

static int do_mint(const struct provider *provider, struct sbx_error *err)
{
	struct program p = PROGRAM_INIT;
	struct vault_scope scope = {.role = NULL};
	int result = work_open(provider, &p, err);

	if (result == 0)
		result = open_server(&p, err);
	if (result == 0)
		result = vault_scope_read(p.work.request, &p.settings, json_length(p.work.config.targets), &scope, err);
	if (result == 0)
		result = mint(provider, &p, &scope, err);
	vault_scope_clear(&scope);
	if (result == 0 && p.work.again_fd >= 0)
		result = stay(provider, &p, err);
	close_program(&p);
	return result;
}

/* ---- revoke ---- */

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

	return provider_main("sbx-cred-vault", usage, verbs, ARRAY_LEN(verbs), argc, argv);
}
