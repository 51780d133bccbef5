/* sbx-cred-vault: credentials of HashiCorp Vault or OpenBao that live as long as one action: a child token for each,
 * with it a token of the Kubernetes secrets engine, and both revoked at the end. See sbx-cred-vault(8), sbx-helper(7).
 */
#include <fcntl.h>
#include <string.h>

#include "clock.h"
#include "config.h"
#include "io.h"
#include "log.h"
#include "provider.h"
#include "state.h"
#include "vault_mint.h"
#include "vault_revoke.h"

enum {
	VERB_MS = 9000, /* sbx-cred ends us after ten seconds */
	LIFETIME_MIN_S = 600,
	LIFETIME_MAX_S = 86400,
	CA_MAX = 256 * 1024,
};

static const char usage[] = "usage: sbx-cred-vault mint --secret-fd N [--config FILE] [--lock-fd N]...   < request\n"
			    "       sbx-cred-vault revoke [--config FILE]   < request\n";

struct program {
	jv request;
	struct config config;
	struct state state;
	int dir; /* state/vault */
	struct vault_settings settings;
	struct buf ca;
	struct http_identity identity;
	struct vault vault;
	struct vault_session session;
	struct vault_journal journal;
};
#define PROGRAM_INIT                                                                                                   \
	{                                                                                                              \
		.state = STATE_NONE, .dir = -1, .ca = BUF_INIT(CA_MAX), .session = VAULT_SESSION_INIT                  \
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

static int open_server(struct program *p, struct sbx_error *err)
{
	auto_jv settings = config_settings(p->config.providers, "vault");

	if (vault_settings_read(settings, &p->settings, err) < 0 || read_ca(p, err) < 0)
		return -1;
	p->identity = (struct http_identity){
		.server = p->settings.socket != NULL ? "http://localhost" : p->settings.address,
		.socket = p->settings.socket,
		.ca = &p->ca,
	};
	p->vault = (struct vault){.http = http_new(&p->identity, err),
				  .namespace = p->settings.namespace,
				  .deadline = clock_mono_ms() + VERB_MS};
	return p->vault.http != NULL ? 0 : -1;
}

static int open_program(const struct provider *provider, struct program *p, struct sbx_error *err)
{
	if (provider_read_request(&p->request, err) < 0 || config_load(provider->started.config, &p->config, err) < 0 ||
	    state_open(p->config.state, &p->state, err) < 0)
		return -1;
	p->dir = state_dir(&p->state, "vault", err);
	p->journal.dir = p->dir;
	p->journal.lease = json_str(p->request, "lease");
	return p->dir < 0 ? -1 : open_server(p, err);
}

static void close_program(struct program *p)
{
	struct sbx_error err = SBX_ERROR_INIT;

	if (p->vault.http != NULL && vault_logout(&p->vault, &p->session, &err) < 0)
		log_error(&err);
	secret_clear(&p->session.token);
	http_free(p->vault.http);
	vault_journal_clear(&p->journal);
	vault_settings_clear(&p->settings);
	buf_clear(&p->ca);
	base_close_fd(&p->dir);
	state_close(&p->state);
	config_clear(&p->config);
	jv_free(p->request);
}

/* ---- mint ---- */

static int make_wish(jv request, struct vault_wish *wish, struct sbx_error *err)
{
	wish->call = json_str(request, "call");
	wish->principal = json_str(request, "principal");
	if (wish->call == NULL || wish->principal == NULL || json_int(request, "lifetime_s", &wish->lifetime_s) < 0 ||
	    wish->lifetime_s < 0 || wish->lifetime_s > LIFETIME_MAX_S)
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_request",
				"the request has no call, no principal, or no lifetime_s of at most a day");
	/* Kubernetes makes no shorter token, and says so only when half of it exists. */
	if (wish->lifetime_s < LIFETIME_MIN_S)
		wish->lifetime_s = LIFETIME_MIN_S;
	return 0;
}

static int mint(const struct provider *provider, struct program *p, const struct vault_scope *scope,
		struct vault_minted *minted, struct sbx_error *err)
{
	struct vault_wish wish;
	char expires[CLOCK_RFC3339_SIZE];

	if (make_wish(p->request, &wish, err) < 0 ||
	    vault_login(&p->vault, &p->settings, p->config.file, p->dir, &p->session, err) < 0 ||
	    vault_check_session(&p->vault, &p->session, err) < 0 ||
	    vault_mint(&p->vault, &p->settings, scope, &p->session, &wish, &p->journal, minted, err) < 0 ||
	    provider_give(provider, "token", &minted->token, err) < 0)
		return -1;
	clock_format(minted->expires_at, expires);
	jv answer = json_set_str(json_set_str(jv_object(), "provider", "vault"), "lease", p->journal.lease);
	answer = json_set(answer, "jti", minted->jti[0] != '\0' ? jv_string(minted->jti) : jv_null());
	answer = json_set_str(answer, "expires_at", expires);
	return provider_reply(provider, json_set(answer, "fields", json_append(jv_array(), jv_string("token"))), err);
}

static int do_mint(const struct provider *provider, struct sbx_error *err)
{
	struct program p = PROGRAM_INIT;
	struct vault_scope scope = {.role = NULL};
	struct vault_minted minted = VAULT_MINTED_INIT;
	int result = open_program(provider, &p, err);

	auto_jv settings = json_object(p.request, "settings");
	if (result == 0)
		result = vault_scope_read(settings, &scope, err);
	if (result == 0)
		result = mint(provider, &p, &scope, &minted, err);
	secret_clear(&minted.token);
	vault_scope_clear(&scope);
	close_program(&p);
	return result;
}

/* ---- revoke ---- */

static int give_back(struct program *p, struct vault_outcome *outcome, struct sbx_error *err)
{
	int found = vault_journal_read(&p->journal, err);

	if (found < 0)
		return -1;
	if (found == 0) {
		*outcome = (struct vault_outcome){"revoked",
						  "nothing is kept of this lease: not minted, or revoked before"};
		return 0;
	}
	if (vault_login(&p->vault, &p->settings, p->config.file, p->dir, &p->session, err) < 0 ||
	    vault_revoke(&p->vault, &p->session, &p->journal, outcome, err) < 0)
		return -1;
	return strcmp(outcome->state, "deferred") == 0 ? 0 : vault_journal_end(&p->journal, err);
}

static int do_revoke(const struct provider *provider, struct sbx_error *err)
{
	struct program p = PROGRAM_INIT;
	struct vault_outcome outcome;
	int result = open_program(provider, &p, err);

	if (result == 0)
		result = give_back(&p, &outcome, err);
	if (result == 0)
		result = provider_reply(
			provider,
			json_set_str(json_set_str(jv_object(), "state", outcome.state), "proof", outcome.proof), err);
	close_program(&p);
	return result;
}

int main(int argc, char **argv)
{
	static const struct provider_verb verbs[] = {{"mint", do_mint, PROVIDER_GIVES_SECRET},
						     {"revoke", do_revoke, PROVIDER_GIVES_NONE}};

	return provider_main("sbx-cred-vault", usage, verbs, ARRAY_LEN(verbs), argc, argv);
}
