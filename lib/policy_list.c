/* The tools as a client sees them. */
#include <string.h>

#include "policy_impl.h"

static jv input_schema(jv root, jv targets, jv tool)
{
	auto_jv params = json_object(tool, "params"), properties = jv_object(), required = jv_array();

	if (jv_is_valid(params)) {
		auto_jv names = jv_keys(jv_copy(params));
		for (int i = 0, n = json_length(names); i < n; i++) {
			auto_jv name = json_at(names, i), declaration = json_object(params, json_text(name));
			properties = json_set(take_jv(&properties), json_text(name),
					      param_schema(root, targets, declaration));
			if (param_is_required(declaration) && !client_asks(tool, json_text(name)))
				required = json_append(take_jv(&required), jv_copy(name));
		}
	}
	jv schema = json_set_str(jv_object(), "$schema", "https://json-schema.org/draft/2020-12/schema");
	schema = json_set_str(schema, "type", "object");
	schema = json_set(schema, "properties", take_jv(&properties));
	if (json_length(required) > 0)
		schema = json_set(schema, "required", take_jv(&required));
	return json_set_bool(schema, "additionalProperties", 0);
}

/* Hints of the Model Context Protocol, from what the policy knows for sure. */
static jv annotations(jv tool, enum tier tier)
{
	auto_jv egress = json_array(tool, "egress"), credentials = json_array(tool, "credentials");
	auto_free char *plan = tool_param_of(tool, PARAM_PLAN);
	int reads = tier == TIER_LOW;
	jv hints = json_set_bool(jv_object(), "readOnlyHint", reads);

	/* What a plan destroys is not known before one is named. */
	hints = json_set_bool(hints, "destructiveHint", tier >= TIER_HIGH || (!reads && plan != NULL));
	hints = json_set_bool(hints, "idempotentHint", reads);
	return json_set_bool(hints, "openWorldHint", json_length(egress) > 0 || json_length(credentials) > 0);
}

jv policy_list(const struct policy *policy, const struct policy_world *world, jv skip)
{
	auto_jv names = jv_keys(jv_copy(policy->tools));
	jv tools = jv_array();

	for (int i = 0, n = json_length(names); i < n; i++) {
		auto_jv name = json_at(names, i), tool = json_object(policy->tools, json_text(name));
		enum tier tier = TIER_CRITICAL;
		if (json_has(skip, json_text(name)))
			continue;
		tier_parse(json_str(tool, "tier"), &tier);
		jv entry = json_set(jv_object(), "name", jv_copy(name));
		entry = json_set_str(entry, "title", json_str(tool, "title"));
		entry = json_set_str(entry, "description", json_str(tool, "description"));
		entry = json_set_str(entry, "tier", tier_name(tier));
		entry = json_set(entry, "inputSchema", input_schema(policy->root, world->targets, tool));
		entry = json_set(entry, "annotations", annotations(tool, tier));
		tools = json_append(tools, client_list(entry, policy->root, world->targets, tool));
	}
	return json_set(jv_object(), "tools", tools);
}
