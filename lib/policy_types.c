/* Types of tool parameters: what a declaration may say, and what a value must be. A message names the parameter and
 * what would be accepted, never the value: it may be an injection that the next reader would follow. */
#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "policy_impl.h"

static const struct {
	const char *name;
	const char *also; /* keys that only some types have, each between spaces */
} types[PARAM_TYPES] = {
	[PARAM_STRING] = {"string", " pattern enum max_length "},
	[PARAM_INTEGER] = {"integer", " min max "},
	[PARAM_BOOLEAN] = {"boolean", " "},
	[PARAM_DIRECTORY] = {"directory", " under "},
	[PARAM_FILE] = {"file", " under "},
	[PARAM_PLAN] = {"plan", " of "},
	[PARAM_DNS_LABEL] = {"dns_label", " "},
	[PARAM_DNS_SUBDOMAIN] = {"dns_subdomain", " "},
	[PARAM_NAMESPACE] = {"namespace", " "},
	[PARAM_TARGET] = {"target", " "},
};

enum param_type param_type(jv declaration)
{
	const char *name = json_str(declaration, "type");

	for (int i = 0; name != NULL && i < PARAM_TYPES; i++)
		if (strcmp(types[i].name, name) == 0)
			return (enum param_type)i;
	return PARAM_TYPES;
}

int param_is_required(jv declaration)
{
	return !json_has(declaration, "default") && json_bool(declaration, "optional") != 1;
}

int param_may_be_absent(jv declaration)
{
	return !json_has(declaration, "default") && json_bool(declaration, "optional") == 1;
}

/* --- declarations --- */

/* Past a bracket expression whose '[' is at P; NULL when it would not mean the same to every reader. */
static const char *past_bracket(const char *p)
{
	p += 1 + (p[1] == '^');
	if (*p == ']')
		return NULL; /* a literal to regcomp, an empty set to others */
	size_t n = strcspn(p, "]\\[");
	return p[n] == ']' ? p + n + 1 : NULL;
}

/* A pattern must mean the same to regcomp and to a client that reads it in inputSchema: no POSIX classes, no letter
 * escapes, no back references. */
static int is_portable_pattern(const char *pattern)
{
	for (const char *p = pattern; p != NULL && *p != '\0';) {
		if (*p == '[') {
			p = past_bracket(p);
			if (p == NULL)
				return 0;
		} else if (*p == '\\') {
			if (p[1] == '\0' || strchr(".+*?()[]{}|^$/-\\", p[1]) == NULL)
				return 0;
			p += 2;
		} else if (p[0] == '(' && p[1] == '?') {
			return 0;
		} else {
			p++;
		}
	}
	return 1;
}

static int check_pattern(const struct schema *s, const struct yaml_at *at, const char *pattern)
{
	regex_t compiled;

	if (!is_portable_pattern(pattern))
		return schema_fail(s, at, "write ranges such as [a-z0-9] without escapes in them, and plain groups",
				   "not every reader of regular expressions takes this pattern for the same");
	if (strlen(pattern) > PARAM_PATTERN_MAX || regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return schema_fail(s, at, "see regex(7)", "is no extended regular expression of at most %d bytes",
				   PARAM_PATTERN_MAX);
	regfree(&compiled);
	return 0;
}

static int check_under(const struct schema *s, const struct yaml_at *at, jv under)
{
	for (int i = 0, n = json_length(under); i < n; i++) {
		auto_jv glob = json_at(under, i);
		struct yaml_at here = {.up = at, .index = i};
		if (!schema_is_path(json_text(glob)))
			return schema_fail(s, &here, "such as envs/* or modules/net; * stands for one part of a path",
					   "must be a relative path without . and ..");
	}
	return json_length(under) > 0 ? 0 : schema_fail(s, at, NULL, "names no directory");
}

/* The tools whose plans a parameter takes. */
static int check_makers(const struct schema *s, const struct yaml_at *up, jv declaration)
{
	auto_jv of = json_array(declaration, "of");
	struct yaml_at at = {.up = up, .key = "of"};

	for (int i = 0, n = json_length(of); i < n; i++) {
		auto_jv maker = json_at(of, i);
		struct yaml_at here = {.up = &at, .index = i};
		if (!schema_is_word(json_text(maker)))
			return schema_fail(s, &here, "the name of a tool that makes plans", "is no name of a tool");
	}
	return json_length(of) > 0 ? 0 : schema_fail(s, &at, NULL, "names no tool");
}

static int check_type_keys(const struct schema *s, const struct yaml_at *at, jv declaration, enum param_type type)
{
	static const char *const keys[] = {"pattern", "enum", "max_length", "min", "max", "under", "of"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		char word[32];
		snprintf(word, sizeof word, " %s ", keys[i]);
		struct yaml_at here = {.up = at, .key = keys[i]};
		if (json_has(declaration, keys[i]) && strstr(types[type].also, word) == NULL)
			return schema_fail(s, &here, NULL, "the type %s has no \"%s\"", types[type].name, keys[i]);
	}
	return 0;
}

/* Defaults and enumerated values must be acceptable themselves. */
static int check_values(const struct schema *s, const struct yaml_at *at, jv declaration)
{
	struct sbx_error refused = SBX_ERROR_INIT;
	auto_jv fallback = json_get(declaration, "default"), choices = json_array(declaration, "enum");
	jv taken = jv_invalid();
	auto_jv root = jv_object();
	/* Which namespaces and targets there are is not the declaration's matter. */
	enum param_type type = param_type(declaration);
	struct yaml_at at_default = {.up = at, .key = "default"}, at_enum = {.up = at, .key = "enum"};

	if (jv_is_valid(fallback) && type != PARAM_NAMESPACE) {
		if (param_take(root, "default", declaration, fallback, POLICY_TYPED, &taken, &refused) < 0)
			return schema_fail(s, &at_default, refused.hint,
					   "the parameter's own type refuses this default");
		jv_free(taken);
	}
	for (int i = 0, n = json_length(choices); i < n; i++) {
		auto_jv choice = json_at(choices, i);
		struct yaml_at here = {.up = &at_enum, .index = i};
		if (param_take(root, "enum", declaration, choice, POLICY_TYPED, &taken, &refused) < 0)
			return schema_fail(s, &here, refused.hint, "no call could give this value");
		jv_free(taken);
	}
	if (jv_is_valid(choices) && json_length(choices) == 0)
		return schema_fail(s, &at_enum, NULL, "names no value");
	return 0;
}

int param_check(const struct schema *s, const struct yaml_at *at, jv declaration)
{
	static const struct field fields[] = {
		{"type", FIELD_TEXT, FIELD_REQUIRED},	       {"description", FIELD_TEXT, FIELD_OPTIONAL},
		{"default", FIELD_ANY, FIELD_OPTIONAL},	       {"optional", FIELD_BOOLEAN, FIELD_OPTIONAL},
		{"pattern", FIELD_TEXT, FIELD_OPTIONAL},       {"enum", FIELD_TEXTS, FIELD_OPTIONAL},
		{"max_length", FIELD_INTEGER, FIELD_OPTIONAL}, {"min", FIELD_INTEGER, FIELD_OPTIONAL},
		{"max", FIELD_INTEGER, FIELD_OPTIONAL},	       {"under", FIELD_TEXTS, FIELD_OPTIONAL},
		{"form", FIELD_TEXT, FIELD_OPTIONAL},	       {"of", FIELD_TEXTS, FIELD_OPTIONAL},
	};
	struct yaml_at at_type = {.up = at, .key = "type"}, at_pattern = {.up = at, .key = "pattern"},
		       at_under = {.up = at, .key = "under"}, at_length = {.up = at, .key = "max_length"},
		       at_max = {.up = at, .key = "max"}, at_form = {.up = at, .key = "form"};
	int64_t length = 1, min = -LIMIT_INTEGER, max = LIMIT_INTEGER;

	if (schema_fields(s, at, declaration, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	enum param_type type = param_type(declaration);
	if (type == PARAM_TYPES)
		return schema_fail(
			s, &at_type,
			"string, integer, boolean, directory, file, plan, dns_label, dns_subdomain, namespace or target",
			"no such type");
	if (check_type_keys(s, at, declaration, type) < 0)
		return -1;
	const char *pattern = json_str(declaration, "pattern"), *form = json_str(declaration, "form");
	if ((pattern != NULL && check_pattern(s, &at_pattern, pattern) < 0) ||
	    (form != NULL && client_check_form(s, &at_form, form) < 0))
		return -1;
	json_int(declaration, "max_length", &length);
	if (length < 1 || length > LIMIT_PARAMETER)
		return schema_fail(s, &at_length, NULL, "must be within 1 and %d", LIMIT_PARAMETER);
	json_int(declaration, "min", &min);
	json_int(declaration, "max", &max);
	if (min > max)
		return schema_fail(s, &at_max, NULL, "is smaller than min");
	if (param_is_path(declaration)) {
		auto_jv under = json_array(declaration, "under");
		if (!jv_is_valid(under))
			return schema_fail(s, at, "such as under: [envs/*]", "the type %s needs under:",
					   types[type].name);
		if (check_under(s, &at_under, under) < 0)
			return -1;
	}
	if (json_has(declaration, "of") && check_makers(s, at, declaration) < 0)
		return -1;
	return check_values(s, at, declaration);
}

/* --- values --- */

static int matches_whole(const char *pattern, const char *text)
{
	char whole[PARAM_PATTERN_MAX + sizeof "^()$"];
	regex_t compiled;

	snprintf(whole, sizeof whole, "^(%s)$", pattern);
	if (regcomp(&compiled, whole, REG_EXTENDED | REG_NOSUB) != 0)
		return 0;
	int matched = regexec(&compiled, text, 0, NULL, 0) == 0;
	regfree(&compiled);
	return matched;
}

static int is_one_of(jv texts, const char *text)
{
	for (int i = 0, n = json_length(texts); i < n; i++) {
		auto_jv element = json_at(texts, i);
		const char *candidate = json_text(element);
		if (candidate != NULL && strcmp(candidate, text) == 0)
			return 1;
	}
	return 0;
}

static int is_string(jv declaration, const char *text)
{
	auto_jv choices = json_array(declaration, "enum");
	const char *pattern = json_str(declaration, "pattern");
	int64_t length = LIMIT_PARAMETER;

	json_int(declaration, "max_length", &length);
	return strlen(text) <= (size_t)length && (!jv_is_valid(choices) || is_one_of(choices, text)) &&
	       (pattern == NULL || matches_whole(pattern, text));
}

static int is_label(const char *text, size_t len)
{
	static const char inside[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	return len > 0 && strspn(text, inside) >= len && text[0] != '-' && text[len - 1] != '-';
}

int param_is_label(const char *text)
{
	return text != NULL && strlen(text) <= PARAM_LABEL_MAX && is_label(text, strlen(text));
}

static int is_subdomain(const char *text)
{
	if (strlen(text) > PARAM_SUBDOMAIN_MAX)
		return 0;
	for (;;) {
		size_t n = strcspn(text, ".");
		if (!is_label(text, n))
			return 0;
		if (text[n] == '\0')
			return 1;
		text += n + 1;
	}
}

const char *param_path(const char *value, char *name, size_t size)
{
	const char *colon = strchr(value, ':');
	size_t len = colon == NULL ? 0 : (size_t)(colon - value);

	name[0] = '\0';
	if (colon == NULL)
		return value;
	if (len == 0 || len >= size)
		return NULL;
	memcpy(name, value, len);
	name[len] = '\0';
	return schema_is_name(name) ? colon + 1 : NULL;
}

int param_is_path(jv declaration)
{
	enum param_type type = param_type(declaration);

	return type == PARAM_DIRECTORY || type == PARAM_FILE;
}

static int is_under(jv declaration, const char *text)
{
	auto_jv under = json_array(declaration, "under");
	char workspace[80];
	const char *path = param_path(text, workspace, sizeof workspace);

	if (path == NULL || !schema_is_path(path))
		return 0;
	for (int i = 0, n = json_length(under); i < n; i++) {
		auto_jv glob = json_at(under, i);
		/* The root itself and hidden directories only where they are written out. */
		if (strcmp(json_text(glob), path) == 0 ||
		    (strcmp(path, ".") != 0 &&
		     fnmatch(json_text(glob), path, FNM_PATHNAME | FNM_PERIOD | FNM_NOESCAPE) == 0))
			return 1;
	}
	return 0;
}

static int text_is(jv root, jv declaration, enum param_type type, const char *text)
{
	auto_jv namespaces = json_array(root, "namespaces");

	switch (type) {
	case PARAM_STRING:
		return is_string(declaration, text);
	case PARAM_DIRECTORY:
	case PARAM_FILE:
		return is_under(declaration, text);
	case PARAM_PLAN:
		return state_is_id(text);
	case PARAM_DNS_LABEL:
		return param_is_label(text);
	case PARAM_DNS_SUBDOMAIN:
		return is_subdomain(text);
	case PARAM_NAMESPACE:
		return param_is_label(text) && is_one_of(namespaces, text);
	case PARAM_TARGET:
		return schema_is_name(text);
	case PARAM_INTEGER:
	case PARAM_BOOLEAN:
	case PARAM_TYPES:
		break;
	}
	return 0;
}

static int parse_word(const char *word, int64_t *number)
{
	int negative = word[0] == '-';
	size_t n = strspn(word + negative, "0123456789");

	if (n == 0 || n > 16 || word[negative + (int)n] != '\0' || (word[negative] == '0' && (n > 1 || negative)))
		return -1;
	*number = strtoll(word, NULL, 10);
	return *number >= -LIMIT_INTEGER && *number <= LIMIT_INTEGER ? 0 : -1;
}

/* 1 and *OUT when VALUE is an integer or a boolean as TYPE and DECLARATION want it. */
static int scalar_is(jv declaration, enum param_type type, jv value, enum policy_typing typing, jv *out)
{
	const char *word = typing == POLICY_WORDS ? json_text(value) : NULL;
	int64_t number, min = -LIMIT_INTEGER, max = LIMIT_INTEGER;

	if (type == PARAM_BOOLEAN) {
		int truth = word != NULL && strcmp(word, "true") == 0;
		int is_word = truth || (word != NULL && strcmp(word, "false") == 0);
		jv_kind kind = jv_get_kind(value);
		if (is_word)
			*out = truth ? jv_true() : jv_false();
		else if (kind == JV_KIND_TRUE || kind == JV_KIND_FALSE)
			*out = jv_copy(value);
		else
			return 0;
		return 1;
	}
	if (word != NULL ? parse_word(word, &number) < 0 : json_number(value, &number) < 0)
		return 0;
	json_int(declaration, "min", &min);
	json_int(declaration, "max", &max);
	if (number < min || number > max)
		return 0;
	*out = jv_number((double)number);
	return 1;
}

int param_take(jv root, const char *name, jv declaration, jv value, enum policy_typing typing, jv *out,
	       struct sbx_error *err)
{
	enum param_type type = param_type(declaration);
	const char *text = json_text(value);
	char accepted[sizeof err->hint];

	*out = jv_invalid();
	if (type == PARAM_INTEGER || type == PARAM_BOOLEAN) {
		if (scalar_is(declaration, type, value, typing, out))
			return 0;
	} else if (text != NULL && *text != '\0' && *text != '-' && strlen(text) <= LIMIT_PARAMETER &&
		   schema_is_printable(text, strlen(text)) && text_is(root, declaration, type, text)) {
		*out = jv_copy(value);
		return 0;
	}
	param_describe(root, declaration, accepted, sizeof accepted);
	sbx_fail(err, SBX_DENIED, "bad_parameter", "the parameter \"%s\" is not what the tool accepts", name);
	return sbx_hint(err, "%s: %s", name, accepted);
}
