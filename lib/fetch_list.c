/* Sources and patterns. Everything is compared as text, so whatever could make two texts one place is not taken. */
#include "fetch_list.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789"
#define LETTERS LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

static const char git[] = "git::https://", https[] = "https://", github[] = "github.com/";
static const char *const default_hosts[] = {"registry.terraform.io/", "registry.opentofu.org/"};

static int begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* COUNT parts of ALPHABET between slashes, the first of them a host, with a dot and without a pattern. */
static int is_address(const char *text, int count, const char *alphabet)
{
	for (int i = 0;; i++) {
		size_t len = strspn(text, alphabet);
		if (len == 0 || text[0] == '.')
			return 0;
		if (i == 0 && (memchr(text, '.', len) == NULL || memchr(text, '*', len) != NULL))
			return 0;
		text += len;
		if (i + 1 == count)
			return *text == '\0';
		if (*text++ != '/')
			return 0;
	}
}

/* HOST/PART… without a port, an empty part, and parts "." and "..". */
static int is_url_path(const char *text, const char *alphabet)
{
	size_t host = strcspn(text, "/");

	if (memchr(text, '.', host) == NULL || memchr(text, '*', host) != NULL || text[host] != '/')
		return 0;
	for (const char *p = text;;) {
		size_t len = strcspn(p, "/");
		if (len == 0 || strspn(p, alphabet) < len || (p[0] == '.' && (len == 1 || (len == 2 && p[1] == '.'))))
			return 0;
		p += len;
		if (*p == '\0')
			return 1;
		p++;
	}
}

int fetch_list_is_provider(const char *text)
{
	return text != NULL && is_address(text, 3, LOWER "._-*");
}

int fetch_list_is_module(const char *text)
{
	static const char alphabet[] = LETTERS "._-~+*";

	if (text == NULL || strlen(text) >= MODULE_PLACE_SIZE)
		return 0;
	if (begins(text, git))
		return is_url_path(text + sizeof git - 1, alphabet);
	if (begins(text, https))
		return is_url_path(text + sizeof https - 1, alphabet);
	return is_address(text, 4, LETTERS "._-*");
}

/* NAME=VALUE&… of what go-getter may be told without choosing a credential or a program. */
static int is_query(const char *text)
{
	static const char *const names[] = {"ref", "depth", "archive", "checksum"};

	for (;;) {
		size_t name = strcspn(text, "="), known = 0;
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			known |= strlen(names[i]) == name && memcmp(text, names[i], name) == 0;
		if (!known || text[name] != '=' || text[name + 1] == '-')
			return 0;
		text += name + 1;
		text += strspn(text, LETTERS "._-~+/:");
		if (*text == '\0')
			return 1;
		if (*text++ != '&')
			return 0;
	}
}

/* Without "?…" and "//…", into PLACE behind FRONT. */
static enum module_kind take_url(const char *text, const char *front, enum module_kind kind, char place[MODULE_PLACE_SIZE])
{
	const char *query = strchr(text, '?'), *sub = strstr(text, "//");
	size_t len = query != NULL ? (size_t)(query - text) : strlen(text);

	if (query != NULL && !is_query(query + 1))
		return MODULE_OTHER;
	if (sub != NULL && sub < text + len)
		len = (size_t)(sub - text);
	if (snprintf(place, MODULE_PLACE_SIZE, "%s%.*s", front, (int)len, text) >= MODULE_PLACE_SIZE ||
	    !is_url_path(place + strlen(front), LETTERS "._-~+")) {
		place[0] = '\0';
		return MODULE_OTHER;
	}
	return kind;
}

/* github.com/OWNER/REPOSITORY is Terraform's word for a repository. */
static enum module_kind take_github(const char *source, char place[MODULE_PLACE_SIZE])
{
	enum module_kind kind = take_url(source, git, MODULE_GIT, place);
	size_t len = strlen(place);

	if (kind != MODULE_GIT || (len > 4 && strcmp(place + len - 4, ".git") == 0))
		return kind;
	if (len + sizeof ".git" > MODULE_PLACE_SIZE)
		return MODULE_OTHER;
	memcpy(place + len, ".git", sizeof ".git");
	return kind;
}

static enum module_kind take_registry(const char *source, char place[MODULE_PLACE_SIZE])
{
	const char *sub = strstr(source, "//");
	size_t len = sub != NULL ? (size_t)(sub - source) : strlen(source);
	char whole[MODULE_PLACE_SIZE];

	if (len >= MODULE_PLACE_SIZE)
		return MODULE_OTHER;
	memcpy(place, source, len);
	place[len] = '\0';
	if (is_address(place, 4, LETTERS "._-"))
		return MODULE_REGISTRY;
	if (snprintf(whole, sizeof whole, "%s%s", default_hosts[0], place) < (int)sizeof whole &&
	    memchr(place, '.', strcspn(place, "/")) == NULL && is_address(whole, 4, LETTERS "._-"))
		return MODULE_REGISTRY;
	place[0] = '\0';
	return MODULE_OTHER;
}

enum module_kind module_source(const char *source, char place[MODULE_PLACE_SIZE])
{
	place[0] = '\0';
	if (begins(source, "./") || begins(source, "../") || strcmp(source, ".") == 0 || strcmp(source, "..") == 0)
		return MODULE_LOCAL;
	if (begins(source, git))
		return take_url(source + sizeof git - 1, git, MODULE_GIT, place);
	if (begins(source, https))
		return take_url(source + sizeof https - 1, https, MODULE_ARCHIVE, place);
	if (begins(source, github))
		return take_github(source, place);
	return take_registry(source, place);
}

/* PLACE without the host that it has when none is written. */
static const char *without_default_host(const char *place)
{
	for (size_t i = 0; i < ARRAY_LEN(default_hosts); i++)
		if (begins(place, default_hosts[i]))
			return place + strlen(default_hosts[i]);
	return place;
}

int module_source_is_same(const char *source, const char *other)
{
	char place[MODULE_PLACE_SIZE], other_place[MODULE_PLACE_SIZE];
	const char *query = strchr(source, '?'), *other_query = strchr(other, '?');

	return module_source(source, place) == module_source(other, other_place) &&
	       strcmp(without_default_host(place), without_default_host(other_place)) == 0 &&
	       strcmp(query != NULL ? query : "", other_query != NULL ? other_query : "") == 0;
}

static int is_listed(jv list, const char *text)
{
	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv pattern = json_at(list, i);
		if (json_text(pattern) != NULL && fnmatch(json_text(pattern), text, FNM_PATHNAME | FNM_NOESCAPE) == 0)
			return 1;
	}
	return 0;
}

int fetch_list_has_provider(jv list, const char *source)
{
	return jv_is_valid(list) && is_listed(list, source);
}

int fetch_list_has_module(jv list, const char *source)
{
	char place[MODULE_PLACE_SIZE], whole[MODULE_PLACE_SIZE + 32];
	enum module_kind kind = module_source(source, place);

	if (!jv_is_valid(list) || place[0] == '\0')
		return 0;
	if (is_listed(list, place))
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(default_hosts) && kind == MODULE_REGISTRY; i++) {
		snprintf(whole, sizeof whole, "%s%s", default_hosts[i], place);
		if (is_address(whole, 4, LETTERS "._-") && is_listed(list, whole))
			return 1;
	}
	return 0;
}

static int refuse(const char *source, const char *code, const char *what, const char *list, struct sbx_error *err)
{
	char quoted[SBX_QUOTE_SIZE];

	sbx_fail(err, SBX_DENIED, code, "the policy does not say that the %s %s may be used", what,
		 sbx_quote(quoted, source, strlen(source)));
	return sbx_hint(err, "%s: in policy.yaml lists what may be fetched; whoever runs this installation can add it", list);
}

int fetch_list_refuse_provider(const char *source, struct sbx_error *err)
{
	return refuse(source, "provider_not_allowed", "provider", "providers", err);
}

int fetch_list_refuse_module(const char *source, struct sbx_error *err)
{
	return refuse(source, "module_not_allowed", "module", "modules", err);
}
