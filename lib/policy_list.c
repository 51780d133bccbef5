/* The tools as a client sees them. */
#include <string.h>

#include "digest.h"
#include "io.h"
#include "policy_impl.h"

static const size_t list_max = 1 << 20; /* 4,096 tools of 256 bytes */

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

/* The list depends on the policy's files, on the targets, and on which tools fail their tests, which the files decide. */
static int cache_name(const struct policy_world *world, char name[DIGEST_HEX_SIZE + 8], struct sbx_error *err)
{
	char digest[DIGEST_HEX_SIZE];
	auto_jv key = json_set_str(jv_object(), "version", SBX_VERSION);

	key = json_set(take_jv(&key), "targets", jv_copy(world->targets));
	if (json_digest(key, digest, err) < 0)
		return -1;
	snprintf(name, DIGEST_HEX_SIZE + 8, "list-%s", digest);
	return 0;
}

/* The directory of what was worked out from exactly these tools. */
static int open_cache(const struct policy *policy, const struct state *state, struct sbx_error *err)
{
	auto_fd cache = state_dir(state, "cache", err);

	return cache < 0 ? -1 : io_open_dir(cache, policy->tools_sha256, IO_CREATE, err);
}

int policy_list_kept(const struct policy *policy, const struct state *state, const struct policy_world *world, struct buf *out,
		     struct sbx_error *err)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	char name[DIGEST_HEX_SIZE + 8];
	auto_free char *kept = NULL;
	size_t len;
	auto_fd dir = open_cache(policy, state, err);

	if (dir < 0 || cache_name(world, name, err) < 0)
		return -1;
	/* The digest in the cache's name does not say whether the rules are there: loading the tools does. */
	if (!policy->has_signals)
		return 0;
	if (io_read_file(dir, name, list_max, IO_PRIVATE, &kept, &len, &ignored) < 0)
		return 0;
	return buf_add(out, kept, len, err) < 0 ? -1 : 1;
}

int policy_list_keep(const struct policy *policy, const struct state *state, const struct policy_world *world, jv list, struct buf *out,
		     struct sbx_error *err)
{
	char name[DIGEST_HEX_SIZE + 8];
	auto_fd dir = open_cache(policy, state, err);

	if (dir < 0 || cache_name(world, name, err) < 0 || json_write(list, out, err) < 0 || buf_add(out, "\n", 1, err) < 0)
		return -1;
	return io_replace_file(dir, name, buf_str(out), out->len, err);
}
