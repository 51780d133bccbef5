/* policy.yaml: tiers, defaults, limits and the decisions about trust that all tools share. */
#include <stdio.h>
#include <string.h>

#include "env_name.h"
#include "isolation.h"
#include "limit.h"
#include "policy_impl.h"
#include "scrub_known.h"
#include "secret_words.h"
#include "steps.h"

static const int64_t threshold_high = 1;
static const int64_t threshold_critical = 2; /* one person alone can be deceived */
static const int64_t threshold_max = 9; /* people who must agree; more is a mistake */
static const int64_t taint_ms = 30 * 60 * 1000; /* what an agent has read stays in its window for about a session */

const struct field limit_fields[LIMIT_FIELDS] = {
	{"deadline", FIELD_DURATION, FIELD_OPTIONAL},	{"grace", FIELD_DURATION, FIELD_OPTIONAL},
	{"memory", FIELD_SIZE, FIELD_OPTIONAL},		{"cpu", FIELD_INTEGER, FIELD_OPTIONAL},
	{"pids", FIELD_INTEGER, FIELD_OPTIONAL},	{"output", FIELD_SIZE, FIELD_OPTIONAL},
	{"files", FIELD_INTEGER, FIELD_OPTIONAL},	{"workdir", FIELD_SIZE, FIELD_OPTIONAL},
	{"connections", FIELD_INTEGER, FIELD_OPTIONAL}, {"traffic", FIELD_SIZE, FIELD_OPTIONAL},
};

static const char *const tier_names[TIERS] = {"low", "medium", "high", "critical"};

const char *tier_name(enum tier tier)
{
	return tier_names[tier];
}

int tier_parse(const char *name, enum tier *tier)
{
	for (int i = 0; name != NULL && i < TIERS; i++) {
		if (strcmp(tier_names[i], name) != 0)
			continue;
		*tier = (enum tier)i;
		return 0;
	}
	return -1;
}

static int check_env_name(const struct schema *s, const struct yaml_at *at, const char *name)
{
	static const char inside[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	if (name[strspn(name, inside)] != '\0' || strchr("0123456789", name[0]) != NULL)
		return schema_fail(s, at, "capital letters, digits and _", "is no name of the environment");
	if (env_name_is_forbidden(name, strlen(name)))
		return schema_fail(s, at, "remove it; what it would change belongs into the tool's steps",
				   "\"%s\" would change what the program is or does", name);
	return 0;
}

static int is_absolute(const char *path)
{
	return path != NULL && path[0] == '/' && path[1] != '\0' && schema_is_path(path + 1) && strcmp(path, "/.") != 0;
}

/* Call CHECK on every member of the mapping KEY of PARENT, with names that schema_is_name accepts. */
static int each_member(const struct schema *s, const struct yaml_at *up, jv parent, const char *key,
		       int (*check)(const struct schema *s, const struct yaml_at *at, const char *name, jv value))
{
	auto_jv map = json_object(parent, key);
	struct yaml_at at = {.up = up, .key = key};

	if (!jv_is_valid(map))
		return 0;
	for (int i = jv_object_iter(map); jv_object_iter_valid(map, i); i = jv_object_iter_next(map, i)) {
		auto_jv name = jv_object_iter_key(map, i), value = jv_object_iter_value(map, i);
		struct yaml_at here = {.up = &at, .key = json_text(name)};
		if (check(s, &here, here.key, value) < 0)
			return -1;
	}
	return 0;
}

static int check_name(const struct schema *s, const struct yaml_at *at, const char *name)
{
	if (schema_is_name(name))
		return 0;
	return schema_fail(s, at, "a lower-case letter, then letters, digits, . _ -", "is no name");
}

static int check_env(const struct schema *s, const struct yaml_at *at, const char *name, jv value)
{
	if (check_env_name(s, at, name) < 0 || schema_kind(s, at, value, FIELD_TEXT) < 0)
		return -1;
	const char *text = json_text(value);
	if (!schema_is_printable(text, strlen(text)))
		return schema_fail(s, at, NULL, "holds a control character");
	/* It would go into each call and its record. */
	if (secret_words_in(name, strlen(name)) && strlen(text) >= KNOWN_SHORTEST && text[0] != '/')
		return schema_fail(s, at, "a tool's credentials: hand it over as a file, and its env: names that",
				   "\"%s\" would be a secret, and the environment is no place for one", name);
	return 0;
}

static int check_program(const struct schema *s, const struct yaml_at *at, const char *name, jv program)
{
	static const struct field fields[] = {
		{"path", FIELD_TEXT, FIELD_REQUIRED},
		{"mounts", FIELD_TEXTS, FIELD_OPTIONAL},
		{"env", FIELD_MAP, FIELD_OPTIONAL},
		{"env_allowed", FIELD_TEXTS, FIELD_OPTIONAL},
	};
	struct yaml_at at_path = {.up = at, .key = "path"}, at_mounts = {.up = at, .key = "mounts"},
		       at_allowed = {.up = at, .key = "env_allowed"};

	if (check_name(s, at, name) < 0 || schema_fields(s, at, program, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	if (!is_absolute(json_str(program, "path")))
		return schema_fail(s, &at_path, "programs are never searched in PATH",
				   "must be an absolute path without . and ..");
	auto_jv mounts = json_array(program, "mounts"), allowed = json_array(program, "env_allowed"),
		env = json_object(program, "env");
	for (int i = 0, n = json_length(mounts); i < n; i++) {
		auto_jv mount = json_at(mounts, i);
		struct yaml_at here = {.up = &at_mounts, .index = i};
		if (!is_absolute(json_text(mount)))
			return schema_fail(s, &here, NULL, "must be an absolute path without . and ..");
		if (steps_is_reserved(json_text(mount)))
			return schema_fail(s, &here, NULL, "is a place of the sandbox's own");
	}
	for (int i = 0, n = json_length(allowed); i < n; i++) {
		auto_jv name_allowed = json_at(allowed, i);
		struct yaml_at here = {.up = &at_allowed, .index = i};
		if (check_env_name(s, &here, json_text(name_allowed)) < 0)
			return -1;
		if (json_has(env, json_text(name_allowed)))
			return schema_fail(s, &here, "remove one of the two", "has a fixed value under env: already");
	}
	return each_member(s, at, program, "env", check_env);
}

static int check_isolation(const struct schema *s, const struct yaml_at *at, jv require)
{
	static const struct field fields[] = {{"isolation", FIELD_TEXT, FIELD_REQUIRED}};
	struct yaml_at here = {.up = at, .key = "isolation"};

	if (schema_fields(s, at, require, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	if (isolation_parse(json_str(require, "isolation")) == ISOLATION_NONE)
		return schema_fail(s, &here, "local, gvisor or cluster-gvisor", "no such isolation");
	return 0;
}

int root_check_require(const struct schema *s, const struct yaml_at *up, jv parent)
{
	auto_jv require = json_get(parent, "require");
	struct yaml_at at = {.up = up, .key = "require"};

	return jv_is_valid(require) ? check_isolation(s, &at, require) : 0;
}

int root_check_limits(const struct schema *s, const struct yaml_at *up, jv parent)
{
	static const char *const counts[] = {"cpu", "pids", "files", "connections"};
	static const int64_t largest[] = {256, 65536, 1 << 20, LIMIT_EGRESS_CONNECTIONS};
	auto_jv limits = json_get(parent, "limits");
	struct yaml_at at = {.up = up, .key = "limits"};

	if (!jv_is_valid(limits))
		return 0;
	if (schema_fields(s, &at, limits, limit_fields, LIMIT_FIELDS) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct yaml_at here = {.up = &at, .key = counts[i]};
		int64_t number = 1;
		json_int(limits, counts[i], &number);
		if (number < 1 || number > largest[i])
			return schema_fail(s, &here, NULL, "must be within 1 and %lld", (long long)largest[i]);
	}
	return 0;
}

static int check_tier(const struct schema *s, const struct yaml_at *at, const char *name, jv value)
{
	static const struct field fields[] = {
		{"threshold", FIELD_INTEGER, FIELD_OPTIONAL},
		{"user_verification", FIELD_BOOLEAN, FIELD_OPTIONAL},
		{"ttl", FIELD_DURATION, FIELD_OPTIONAL},
		{"require", FIELD_MAP, FIELD_OPTIONAL},
	};
	struct yaml_at here = {.up = at, .key = "threshold"};
	int64_t threshold = 1;
	enum tier tier;

	if (tier_parse(name, &tier) < 0)
		return schema_fail(s, at, "low, medium, high or critical", "no such tier");
	if (schema_fields(s, at, value, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	json_int(value, "threshold", &threshold);
	if (threshold < 1 || threshold > threshold_max)
		return schema_fail(s, &here, NULL, "must be within 1 and %lld", (long long)threshold_max);
	if (tier < TIER_HIGH && (json_has(value, "threshold") || json_has(value, "ttl") ||
				 json_has(value, "user_verification")))
		return schema_fail(
			s, at, "threshold, user_verification and ttl belong to high and critical",
			"calls of this tier need no approval");
	return root_check_require(s, at, value);
}

static int check_lists(const struct schema *s, jv root)
{
	auto_jv namespaces = json_array(root, "namespaces"), writable = json_array(root, "agent_writable");
	struct yaml_at at_namespaces = {.key = "namespaces"}, at_writable = {.key = "agent_writable"};

	for (int i = 0, n = json_length(namespaces); i < n; i++) {
		auto_jv name = json_at(namespaces, i);
		struct yaml_at here = {.up = &at_namespaces, .index = i};
		if (!param_is_label(json_text(name)))
			return schema_fail(s, &here, NULL, "is no DNS label");
	}
	for (int i = 0, n = json_length(writable); i < n; i++) {
		auto_jv glob = json_at(writable, i);
		struct yaml_at here = {.up = &at_writable, .index = i};
		if (!schema_is_path(json_text(glob)))
			return schema_fail(s, &here, "such as agent/*", "must be a relative path without . and ..");
	}
	return 0;
}

static int check_taint(const struct schema *s, jv root)
{
	static const struct field fields[] = {
		{"raise", FIELD_TEXT, FIELD_OPTIONAL},
		{"for", FIELD_DURATION, FIELD_OPTIONAL},
	};
	auto_jv taint = json_object(root, "taint");
	struct yaml_at at = {.key = "taint"}, at_raise = {.up = &at, .key = "raise"};
	const char *raise = json_str(taint, "raise");
	enum tier tier = TIER_MEDIUM;

	if (!jv_is_valid(taint))
		return 0;
	if (schema_fields(s, &at, taint, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	if (raise != NULL && (tier_parse(raise, &tier) < 0 || tier == TIER_LOW))
		return schema_fail(s, &at_raise, "medium, high or critical; nothing lowers a tier",
				   "no tier to raise to");
	return 0;
}

int64_t root_threshold(jv root, enum tier tier)
{
	auto_jv tiers = json_object(root, "tiers"), terms = json_object(tiers, tier_name(tier));
	int64_t threshold = tier == TIER_CRITICAL ? threshold_critical : threshold_high;

	json_int(terms, "threshold", &threshold);
	return threshold;
}

void root_taint(jv root, enum tier *raise, int64_t *for_s)
{
	auto_jv taint = json_object(root, "taint"), stated = json_get(taint, "for");
	int64_t ms = taint_ms;

	*raise = TIER_LOW;
	if (json_str(taint, "raise") != NULL)
		tier_parse(json_str(taint, "raise"), raise);
	schema_duration(stated, &ms);
	*for_s = ms / 1000;
}

int root_check(const struct schema *s, jv root)
{
	static const struct field fields[] = {
		{"defaults", FIELD_MAP, FIELD_OPTIONAL},     {"tiers", FIELD_MAP, FIELD_OPTIONAL},
		{"programs", FIELD_MAP, FIELD_OPTIONAL},     {"scopes", FIELD_MAP, FIELD_OPTIONAL},
		{"namespaces", FIELD_TEXTS, FIELD_OPTIONAL}, {"agent_writable", FIELD_TEXTS, FIELD_OPTIONAL},
		{"mirror", FIELD_TEXT, FIELD_OPTIONAL},	     {"taint", FIELD_MAP, FIELD_OPTIONAL},
		{"egress", FIELD_MAP, FIELD_OPTIONAL},	     {"providers", FIELD_TEXTS, FIELD_OPTIONAL},
		{"modules", FIELD_TEXTS, FIELD_OPTIONAL},
	};
	static const struct field default_fields[] = {
		{"limits", FIELD_MAP, FIELD_OPTIONAL},
		{"require", FIELD_MAP, FIELD_OPTIONAL},
	};
	struct yaml_at at_defaults = {.key = "defaults"}, at_mirror = {.key = "mirror"};

	if (schema_fields(s, NULL, root, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	auto_jv defaults = json_object(root, "defaults");
	if (jv_is_valid(defaults) &&
	    (schema_fields(s, &at_defaults, defaults, default_fields, ARRAY_LEN(default_fields)) < 0 ||
	     root_check_limits(s, &at_defaults, defaults) < 0 || root_check_require(s, &at_defaults, defaults) < 0))
		return -1;
	if (json_has(root, "mirror") && !is_absolute(json_str(root, "mirror")))
		return schema_fail(s, &at_mirror, NULL, "must be an absolute path without . and ..");
	if (each_member(s, NULL, root, "programs", check_program) < 0 ||
	    each_member(s, NULL, root, "scopes", scope_check) < 0 ||
	    each_member(s, NULL, root, "egress", egress_check) < 0 ||
	    each_member(s, NULL, root, "tiers", check_tier) < 0 || check_taint(s, root) < 0 ||
	    fetch_check(s, root) < 0)
		return -1;
	return check_lists(s, root);
}
