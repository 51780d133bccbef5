/* sbx-cred-jwt: the credential provider that needs no server. Signs short-lived tokens, publishes the public
 * key, keeps a revocation list, and answers whether a token is good. See sbx-cred-jwt(8), sbx-helper(7). */
#include <stdio.h>
#include <string.h>

#include "ascii.h"
#include "clock.h"
#include "config.h"
#include "io.h"
#include "jwt.h"
#include "jwt_revoked.h"
#include "log.h"
#include "provider_stay.h"
#include "provider_work.h"
#include "state.h"

static const char usage[] = "usage: sbx-cred-jwt mint --secret-fd N [--config FILE] [--lock-fd N]...   < request\n"
			    "       sbx-cred-jwt revoke [--config FILE]   < request\n"
			    "       sbx-cred-jwt introspect [--config FILE]   < token\n"
			    "       sbx-cred-jwt jwks [--config FILE]\n";

enum {
	LIFETIME_MIN_S = 600,
	LIFETIME_MAX_S = 86400,
	AUDIENCES_MAX = 16,
	TEXT_MAX = 512,
};

struct program {
	const struct provider *provider;
	struct config config;
	struct state state;
	int dir;     /* state/jwt */
	int revoked; /* state/jwt/revoked */
	enum jwt_algorithm algorithm;
	struct jwt_key key;
	char issuer[TEXT_MAX];
};

/* ---- set-up ---- */

static int read_settings(struct program *p, struct sbx_error *err)
{
	auto_jv settings = config_settings(p->config.providers, "jwt");
	const char *issuer = json_str(settings, "issuer");
	static const char *const known[] = {"issuer", "algorithm", NULL};
	auto_free char *unknown = json_unknown_key(settings, known);

	p->algorithm = json_has(settings, "algorithm") ? jwt_alg_of(json_str(settings, "algorithm")) : JWT_EDDSA;
	if (unknown != NULL || p->algorithm == JWT_ALGORITHMS ||
	    (json_has(settings, "issuer") && (issuer == NULL || issuer[0] == '\0' || strlen(issuer) >= TEXT_MAX))) {
		sbx_fail(err, SBX_CONFIG, "bad_config", "the settings of the provider jwt are not right");
		return sbx_hint(err, "providers: {jwt: {issuer: \"https://sbx.example\", algorithm: EdDSA or ES256}}");
	}
	if (issuer != NULL)
		snprintf(p->issuer, sizeof p->issuer, "%s", issuer);
	else
		snprintf(p->issuer, sizeof p->issuer, "sbx:%s", p->state.installation);
	return 0;
}

static int open_program(struct program *p, struct sbx_error *err)
{
	if (config_load(p->provider->started.config, &p->config, err) < 0 ||
	    state_open(p->config.state, &p->state, err) < 0)
		return -1;
	p->dir = state_dir(&p->state, "jwt", err);
	if (p->dir < 0)
		return -1;
	p->revoked = io_open_dir(p->dir, "revoked", IO_CREATE, err);
	if (p->revoked < 0 || read_settings(p, err) < 0)
		return -1;
	return jwt_key_open(p->dir, p->algorithm, &p->key, err);
}

static void close_program(struct program *p)
{
	jwt_key_clear(&p->key);
	base_close_fd(&p->revoked);
	base_close_fd(&p->dir);
	state_close(&p->state);
	config_clear(&p->config);
}

/* ---- revoke ---- */

/* Whoever verifies without asking accepts the token to its end, and an API server asks nobody: with a target it is one,
 * unless the scope says otherwise. */
static int is_asked_for(jv request)
{
	auto_jv settings = json_object(request, "settings"), target = json_object(request, "target");

	return json_has(settings, "introspected") ? json_bool(settings, "introspected") == 1 : !jv_is_valid(target);
}

/* The jti is the lease: so a token whose mint never answered can be revoked too. */
static int end_token(const struct program *p, jv request, struct sbx_error *err)
{
	struct provider_outcome outcome;
	char ends[CLOCK_RFC3339_SIZE];
	int64_t exp, latest = clock_seconds() + LIFETIME_MAX_S;

	const char *lease = json_str(request, "lease"), *jti = json_str(request, "jti"),
		   *expires = json_str(request, "expires_at");
	if (jti != NULL && strcmp(jti, lease) != 0)
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_request",
				"the jti is not the lease, as it is with this provider");
	if (expires == NULL || clock_parse(expires, &exp) < 0 || exp > latest)
		exp = latest;
	if (jwt_revoke(p->revoked, lease, exp, err) < 0)
		return -1;
	clock_format(exp, ends);
	if (is_asked_for(request))
		provider_say(&outcome, "revoked", "on the revocation list that introspect reads");
	else
		provider_say(&outcome, "expires",
			     "on the revocation list, which an API server does not read: it accepts "
			     "the token until %s at most",
			     ends);
	return provider_tell(p->provider, &outcome, err);
}

static int do_revoke(const struct program *p, struct sbx_error *err)
{
	auto_jv request = jv_invalid();

	return provider_read_request(&request, err) < 0 ? -1 : end_token(p, request, err);
}

/* Behind a mint of LEASE. */
static int stay(const struct program *p, int again_fd, const char *lease, struct sbx_error *err)
{
	auto_jv request = jv_invalid();
	int asked = provider_stay(p->provider, again_fd, lease, PROVIDER_STAY_MS, &request, err);

	return asked == 1 ? end_token(p, request, err) : asked;
}

/* ---- mint ---- */

static int is_scope_token(const char *text)
{
	return text != NULL && strlen(text) <= TEXT_MAX && ascii_is_visible(text, strlen(text));
}

/* The permissions of the call (a list), else settings.scope (words), else the scope's own name; joined by single
 * spaces. */
static int scope_claim(jv request, jv settings, struct buf *out, struct sbx_error *err)
{
	auto_jv list = json_array(request, "permissions");
	const char *text = json_str(settings, "scope");
	auto_jv one = jv_is_valid(list) ? jv_invalid()
					: jv_string(text			 ? text
						    : json_str(request, "scope") ? json_str(request, "scope")
										 : "");
	auto_jv words = jv_is_valid(list) ? take_jv(&list) : jv_string_split(take_jv(&one), jv_string(" "));

	for (int i = 0; i < json_length(words); i++) {
		auto_jv word = json_at(words, i);
		if (!is_scope_token(json_text(word)))
			return sbx_fail(err, SBX_CONFIG, "bad_scope",
					"a permission of the scope is no word of visible ASCII");
		if ((i > 0 && buf_add(out, " ", 1, err) < 0) || buf_add_str(out, json_text(word), err) < 0)
			return -1;
	}
	return out->len > 0 ? 0 : sbx_fail(err, SBX_CONFIG, "bad_scope", "the scope grants nothing");
}

/* A token that names no audience is good everywhere: refused. */
static int audience_claim(jv settings, jv *out, struct sbx_error *err)
{
	auto_jv audience = json_get(settings, "audience");
	const char *text = json_text(audience);
	int count = json_length(audience), good = text != NULL && text[0] != '\0';

	if (jv_get_kind(audience) == JV_KIND_ARRAY && count > 0 && count <= AUDIENCES_MAX) {
		good = 1;
		for (int i = 0; i < count; i++) {
			auto_jv one = json_at(audience, i);
			good &= json_text(one) != NULL && json_text(one)[0] != '\0';
		}
	}
	if (!good) {
		sbx_fail(err, SBX_CONFIG, "no_audience", "the scope says no audience for its token");
		return sbx_hint(err,
				"in policy.yaml: scopes: {NAME: {provider: jwt, audience: \"https://api.example\"}}");
	}
	*out = take_jv(&audience);
	return 0;
}

static int make_claims(const struct program *p, jv request, jv *claims, int64_t *exp, struct sbx_error *err)
{
	auto_jv settings = json_object(request, "settings");
	auto_buf scope = BUF_INIT(LIMIT_PARAMETER);
	const char *principal = json_str(request, "principal");
	auto_jv audience = jv_invalid();
	int64_t lifetime, now = clock_seconds();

	if (principal == NULL || json_int(request, "lifetime_s", &lifetime) < 0 || lifetime < 0 ||
	    lifetime > LIFETIME_MAX_S)
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_request",
				"the request has no principal, or no lifetime_s of at most a day");
	if (scope_claim(request, settings, &scope, err) < 0 || audience_claim(settings, &audience, err) < 0)
		return -1;
	*exp = now + (lifetime > LIFETIME_MIN_S ? lifetime : LIFETIME_MIN_S);
	jv object = json_set_str(jv_object(), "iss", p->issuer);
	object = json_set_str(object, "sub", principal);
	object = json_set(object, "aud", take_jv(&audience));
	object = json_set_int(object, "iat", now);
	object = json_set_int(object, "nbf", now);
	object = json_set_int(object, "exp", *exp);
	object = json_set_str(object, "jti", json_str(request, "lease"));
	object = json_set_str(object, "namespace", json_str(request, "namespace"));
	*claims = json_set_str(object, "scope", buf_str(&scope));
	return 0;
}

static int do_mint(const struct program *p, struct sbx_error *err)
{
	auto_jv request = jv_invalid(), claims = jv_invalid();
	auto_secret token = SECRET_INIT;
	char expires[CLOCK_RFC3339_SIZE];
	int64_t exp;

	if (provider_read_request(&request, err) < 0)
		return -1;
	const char *lease = json_str(request, "lease");
	int revoked = jwt_is_revoked(p->revoked, lease, err);
	if (revoked != 0)
		return revoked < 0 ? -1
				   : sbx_fail(err, SBX_DENIED, "lease_revoked",
					      "this lease was given back before it was minted");
	if (make_claims(p, request, &claims, &exp, err) < 0 || jwt_sign(&p->key, claims, &token, err) < 0 ||
	    provider_give(p->provider, "token", &token, err) < 0)
		return -1;
	clock_format(exp, expires);
	jv answer = json_set_str(jv_object(), "provider", "jwt");
	answer = json_set_str(json_set_str(answer, "lease", lease), "jti", lease);
	answer = json_set_str(answer, "expires_at", expires);
	answer = json_set(answer, "fields", json_append(jv_array(), jv_string("token")));
	int again_fd = provider_again_fd(p->provider, request);
	if (again_fd < 0)
		return provider_reply(p->provider, answer, err);
	return provider_reply(p->provider, json_set_bool(answer, "stays", 1), err) < 0 ? -1
										       : stay(p, again_fd, lease, err);
}

/* ---- introspect, jwks ---- */

/* 1 active, 0 not; -1 when it cannot be known. */
static int look_at(const struct program *p, struct secret *token, jv *claims, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	/* The line feed of whoever typed it; nothing else may stand behind a token. */
	if (token->len > 0 && token->data[token->len - 1] == '\n')
		token->len--;
	if (token->len == 0)
		return sbx_fail(err, SBX_NO_INPUT, "no_input", "there is no token on stdin");
	if (jwt_verify(&p->key, token, claims, &why) < 0) {
		log_error(&why);
		return 0;
	}
	if (!jwt_is_current(*claims, p->issuer, clock_seconds())) {
		log_line("the token is not of this issuer, or not of this time");
		return 0;
	}
	const char *jti = json_str(*claims, "jti");
	int revoked = state_is_id(jti) ? jwt_is_revoked(p->revoked, jti, err) : 1;
	if (revoked == 1)
		log_line("the token is revoked");
	return revoked < 0 ? -1 : !revoked;
}

/* RFC 7662 section 2.2. An inactive token has no other member: who holds it learns nothing from it. */
static int do_introspect(const struct program *p, struct sbx_error *err)
{
	auto_secret token = SECRET_INIT;
	auto_jv claims = jv_invalid();

	if (secret_read_fd(&token, STDIN_FILENO, LIMIT_SECRET, err) < 0)
		return -1;
	int active = look_at(p, &token, &claims, err);
	if (active < 0)
		return -1;
	jv object = active ? json_set_str(take_jv(&claims), "token_type", "Bearer") : jv_object();
	return provider_reply(p->provider, json_set_bool(object, "active", active), err) < 0 ? -1
	       : active									     ? SBX_OK
											     : SBX_COMMAND_FAILED;
}

static int do_jwks(const struct program *p, struct sbx_error *err)
{
	return provider_reply(p->provider, jwt_jwks(&p->key), err);
}

/* ---- main ---- */

static int with_key(const struct provider *provider, int (*run)(const struct program *p, struct sbx_error *err),
		    struct sbx_error *err)
{
	struct program p = {.provider = provider, .state = STATE_NONE, .dir = -1, .revoked = -1, .key = JWT_KEY_INIT};
	int status = open_program(&p, err) == 0 ? run(&p, err) : -1;

	close_program(&p);
	return status;
}

static int mint(const struct provider *provider, struct sbx_error *err)
{
	return with_key(provider, do_mint, err);
}
static int give_back(const struct provider *provider, struct sbx_error *err)
{
	return with_key(provider, do_revoke, err);
}
static int introspect(const struct provider *provider, struct sbx_error *err)
{
	return with_key(provider, do_introspect, err);
}
static int jwks(const struct provider *provider, struct sbx_error *err)
{
	return with_key(provider, do_jwks, err);
}

int main(int argc, char **argv)
{
	static const struct provider_verb verbs[] = {{"mint", mint, PROVIDER_GIVES_SECRET},
						     {"revoke", give_back, PROVIDER_GIVES_NONE},
						     {"introspect", introspect, PROVIDER_GIVES_NONE},
						     {"jwks", jwks, PROVIDER_GIVES_NONE}};

	return provider_main("sbx-cred-jwt", usage, verbs, ARRAY_LEN(verbs), argc, argv);
}
