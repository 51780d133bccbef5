/* Types of tool parameters in words, for refusals and help, and as JSON Schema, for clients. */
#include <stdio.h>

#include "policy_impl.h"

/* "a, b or c" of a list of texts, as far as it fits. */
static void join_texts(jv texts, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (int i = 0, n = json_length(texts); i < n && used < size; i++) {
		auto_jv text = json_at(texts, i);
		const char *before = i == 0 ? "" : i == n - 1 ? " or " : ", ";
		used += (size_t)snprintf(out + used, size - used, "%s%s", before, json_text(text));
	}
}

static void describe_string(jv declaration, char *out, size_t size)
{
	auto_jv choices = json_array(declaration, "enum");
	const char *pattern = json_str(declaration, "pattern");
	int64_t length = LIMIT_PARAMETER;
	char list[200];

	json_int(declaration, "max_length", &length);
	join_texts(choices, list, sizeof list);
	if (json_length(choices) > 0)
		snprintf(out, size, "one of %s", list);
	else if (pattern != NULL)
		snprintf(out, size, "a text of at most %lld bytes that wholly matches %s", (long long)length, pattern);
	else
		snprintf(out, size, "a text of 1 to %lld bytes without control characters, not beginning with -",
			 (long long)length);
}

static void describe_integer(jv declaration, char *out, size_t size)
{
	int64_t min = -LIMIT_INTEGER, max = LIMIT_INTEGER;

	json_int(declaration, "min", &min);
	json_int(declaration, "max", &max);
	snprintf(out, size, "an integer from %lld to %lld", (long long)min, (long long)max);
}

static void describe_list(const char *before, jv texts, char *out, size_t size)
{
	char list[200];

	join_texts(texts, list, sizeof list);
	snprintf(out, size, "%s%s", before, *list == '\0' ? "(none is allowed)" : list);
}

static void describe_plan(jv declaration, char *out, size_t size)
{
	auto_jv of = json_array(declaration, "of");

	if (jv_is_valid(of))
		describe_list("32 hex digits, the id of a plan that an earlier call made with ", of, out, size);
	else
		snprintf(out, size, "the id of a plan that an earlier call made: 32 hex digits");
}

void param_describe(jv root, jv declaration, char *out, size_t size)
{
	auto_jv under = json_array(declaration, "under"), namespaces = json_array(root, "namespaces");

	switch (param_type(declaration)) {
	case PARAM_STRING:
		describe_string(declaration, out, size);
		break;
	case PARAM_INTEGER:
		describe_integer(declaration, out, size);
		break;
	case PARAM_BOOLEAN:
		snprintf(out, size, "true or false");
		break;
	case PARAM_DIRECTORY:
		describe_list("an existing directory of the workspace without . , .. or symlinks in its path: ", under,
			      out, size);
		break;
	case PARAM_FILE:
		describe_list("an existing file of the workspace without . , .. or symlinks in its path: ", under, out,
			      size);
		break;
	case PARAM_PLAN:
		describe_plan(declaration, out, size);
		break;
	case PARAM_DNS_LABEL:
		snprintf(out, size, "a DNS label: a-z, 0-9 and - inside, at most 63 bytes");
		break;
	case PARAM_DNS_SUBDOMAIN:
		snprintf(out, size, "a DNS name: a-z, 0-9, - and . inside, at most 253 bytes");
		break;
	case PARAM_NAMESPACE:
		describe_list("a namespace on the policy's list: ", namespaces, out, size);
		break;
	case PARAM_TARGET:
		snprintf(out, size, "the name of one of the configured targets");
		break;
	case PARAM_TYPES:
		snprintf(out, size, "nothing");
		break;
	}
}

/* --- JSON Schema --- */

static jv schema_string(jv schema, jv declaration)
{
	auto_jv choices = json_array(declaration, "enum");
	const char *pattern = json_str(declaration, "pattern");
	int64_t length = LIMIT_PARAMETER;

	json_int(declaration, "max_length", &length);
	schema = json_set_int(schema, "minLength", 1);
	schema = json_set_int(schema, "maxLength", length);
	if (jv_is_valid(choices))
		schema = json_set(schema, "enum", jv_copy(choices));
	if (pattern != NULL) {
		char whole[PARAM_PATTERN_MAX + sizeof "^()$"];
		snprintf(whole, sizeof whole, "^(%s)$", pattern);
		schema = json_set_str(schema, "pattern", whole);
	}
	return schema;
}

static jv schema_range(jv schema, jv declaration)
{
	int64_t bound;

	if (json_int(declaration, "min", &bound) == 0)
		schema = json_set_int(schema, "minimum", bound);
	if (json_int(declaration, "max", &bound) == 0)
		schema = json_set_int(schema, "maximum", bound);
	return schema;
}

static jv schema_pattern(jv schema, const char *pattern, int64_t max)
{
	schema = json_set_str(schema, "pattern", pattern);
	return json_set_int(schema, "maxLength", max);
}

/* What the type adds to {"type": …}. Consumes SCHEMA. */
static jv schema_type(jv schema, jv root, jv targets, jv declaration)
{
	auto_jv namespaces = json_array(root, "namespaces");

	switch (param_type(declaration)) {
	case PARAM_STRING:
		return schema_string(schema, declaration);
	case PARAM_INTEGER:
		return schema_range(schema, declaration);
	case PARAM_PLAN:
		return schema_pattern(schema, "^[0-9a-f]{32}$", STATE_ID_SIZE - 1);
	case PARAM_DNS_LABEL:
		return schema_pattern(schema, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", PARAM_LABEL_MAX);
	case PARAM_DNS_SUBDOMAIN:
		return schema_pattern(schema, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
				      PARAM_SUBDOMAIN_MAX);
	case PARAM_NAMESPACE:
		return json_length(namespaces) == 0 ? schema : json_set(schema, "enum", jv_copy(namespaces));
	case PARAM_TARGET:
		return json_length(targets) == 0 ? schema : json_set(schema, "enum", jv_keys(jv_copy(targets)));
	case PARAM_DIRECTORY:
	case PARAM_FILE:
		return json_set_int(schema, "maxLength", LIMIT_PARAMETER);
	case PARAM_BOOLEAN:
	case PARAM_TYPES:
		break;
	}
	return schema;
}

jv param_schema(jv root, jv targets, jv declaration)
{
	enum param_type type = param_type(declaration);
	const char *json_type = type == PARAM_INTEGER ? "integer" : type == PARAM_BOOLEAN ? "boolean" : "string";
	const char *description = json_str(declaration, "description");
	auto_jv fallback = json_get(declaration, "default");
	char accepted[400];

	param_describe(root, declaration, accepted, sizeof accepted);
	auto_jv text = jv_string(description ? description : "");
	if (description != NULL)
		text = jv_string_append_str(take_jv(&text), ": ");
	text = jv_string_append_str(take_jv(&text), accepted);
	jv schema = json_set_str(jv_object(), "type", json_type);
	schema = json_set(schema, "description", take_jv(&text));
	if (jv_is_valid(fallback))
		schema = json_set(schema, "default", jv_copy(fallback));
	return schema_type(schema, root, targets, declaration);
}
