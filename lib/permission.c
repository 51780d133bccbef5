/* Taking the words apart. */
#include "permission.h"

#include <stdio.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define NAME_BYTES LETTERS "0123456789-"

int permission_parse(const char *word, struct permission *out)
{
	*out = (struct permission){.group = ""};
	if (word == NULL || strlen(word) >= PERMISSION_MAX)
		return -1;
	const char *colon = strchr(word, ':');
	size_t name = strspn(word, NAME_BYTES), group = 0, sub = 0;
	const char *p = word + name;
	if (colon == NULL || name == 0 || colon[1 + strspn(colon + 1, LETTERS)] != '\0' || colon[1] == '\0')
		return -1;
	if (*p == '.') {
		group = strspn(p + 1, NAME_BYTES ".");
		if (group == 0)
			return -1;
		snprintf(out->group, sizeof out->group, "%.*s", (int)group, p + 1);
		p += 1 + group;
	}
	if (*p == '/') {
		sub = strspn(p + 1, NAME_BYTES);
		if (sub == 0)
			return -1;
		sub++;
	}
	if (p + sub != colon)
		return -1;
	snprintf(out->resource, sizeof out->resource, "%.*s%.*s", (int)name, word, (int)sub, p);
	snprintf(out->verb, sizeof out->verb, "%s", colon + 1);
	return 0;
}

static int is_one_of(const char *word, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(*list, word) == 0)
			return 1;
	return 0;
}

int permission_only_reads(const struct permission *permission)
{
	static const char *const verbs[] = {"get", "list", "watch", "read", NULL};
	/* A command in a container is started by a GET, too. */
	static const char *const doing[] = {
		"pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy", "nodes/proxy", NULL};

	return is_one_of(permission->verb, verbs) && !is_one_of(permission->resource, doing);
}

int permission_reads_secrets(const struct permission *permission)
{
	static const char *const inside[] = {"serviceaccounts/token", "pods/exec", "pods/attach", "nodes/proxy", NULL};

	return (strcmp(permission->resource, "secrets") == 0 && permission_only_reads(permission)) ||
	       is_one_of(permission->resource, inside);
}

int permission_find_look(jv words, struct permission *out)
{
	for (int i = 0; i < json_length(words); i++) {
		auto_jv word = json_at(words, i);
		if (permission_parse(json_text(word), out) == 0 && permission_only_reads(out) &&
		    (strcmp(out->verb, "get") == 0 || strcmp(out->verb, "list") == 0))
			return 0;
	}
	return -1;
}

static jv one_text(const char *text)
{
	return json_append(jv_array(), jv_string(text));
}

/* Which of RULES is for that resource; -1: none. */
static int find_rule(jv rules, const struct permission *permission)
{
	for (int i = 0; i < json_length(rules); i++) {
		auto_jv rule = json_at(rules, i), groups = json_array(rule, "apiGroups"),
			resources = json_array(rule, "resources"), group = json_at(groups, 0),
			resource = json_at(resources, 0);
		if (strcmp(json_text(group), permission->group) == 0 &&
		    strcmp(json_text(resource), permission->resource) == 0)
			return i;
	}
	return -1;
}

jv permission_rules(jv words)
{
	jv rules = jv_array();

	for (int i = 0; i < json_length(words); i++) {
		auto_jv word = json_at(words, i);
		struct permission permission;
		if (permission_parse(json_text(word), &permission) < 0)
			continue;
		int at = find_rule(rules, &permission);
		if (at < 0) {
			jv rule = json_set(jv_object(), "apiGroups", one_text(permission.group));
			rule = json_set(rule, "resources", one_text(permission.resource));
			rules = json_append(rules, json_set(rule, "verbs", one_text(permission.verb)));
			continue;
		}
		auto_jv rule = json_at(rules, at), verbs = json_array(rule, "verbs");
		verbs = json_append(take_jv(&verbs), jv_string(permission.verb));
		rule = json_set(take_jv(&rule), "verbs", take_jv(&verbs));
		rules = jv_array_set(rules, at, take_jv(&rule));
	}
	return rules;
}
