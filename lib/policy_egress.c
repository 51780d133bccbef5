/* Destinations of tools: egress: in policy.yaml and in a tool, and the API server of the call's target. */
#include <stdio.h>
#include <string.h>

#include "io.h"
#include "policy_impl.h"

/* The name that every policy has: the server of the call's target (targets: in the settings). */
static const char api_name[] = "kubernetes-api", https[] = "https://";
enum { PORT_HTTPS = 443, PLACE_MAX = 253 + sizeof ":65535" };

/* --- policy.yaml --- */

/* Labels of letters, digits, '-' and '_' (RFC 1123, and what people have). An IPv4 address is one, too. */
static int is_host(const char *text)
{
	for (const char *p = text;; p++) {
		size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
		if (len == 0 || len > 63 || p[0] == '-')
			return 0;
		p += len;
		if (*p == '\0')
			return p - text <= 253;
		if (*p != '.')
			return 0;
	}
}

/* "HOST:PORT". */
static int is_place(const char *text)
{
	const char *colon = text != NULL ? strrchr(text, ':') : NULL;
	char host[PLACE_MAX];
	uint64_t port;

	if (colon == NULL || (size_t)(colon - text) >= sizeof host || io_parse_u64(colon + 1, 1, UINT16_MAX, &port) < 0)
		return 0;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	return is_host(host);
}

int egress_check(const struct schema *s, const struct yaml_at *at, const char *name, jv entry)
{
	static const struct field fields[] = {{"to", FIELD_TEXT, FIELD_REQUIRED}, {"private", FIELD_BOOLEAN, FIELD_OPTIONAL}};
	struct yaml_at at_to = {.up = at, .key = "to"};

	if (!schema_is_name(name))
		return schema_fail(s, at, "such as registry", "is no name of a destination");
	if (schema_fields(s, at, entry, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	return is_place(json_str(entry, "to"))
		       ? 0
		       : schema_fail(s, &at_to, "such as registry.example.com:443", "is no HOST:PORT");
}

int egress_check_tool(const struct schema *s, jv tool)
{
	auto_jv egress = json_array(tool, "egress");
	auto_jv limits = json_object(tool, "limits");
	struct yaml_at at = {.key = "egress"}, at_limits = {.key = "limits"};

	if (json_length(egress) == 0 && (json_has(limits, "connections") || json_has(limits, "traffic")))
		return schema_fail(s, &at_limits, "connections and traffic belong to a tool with egress:",
				   "the tool reaches nothing that could be counted");
	if (json_length(egress) > LIMIT_EGRESS)
		return schema_fail(s, &at, NULL, "has more than %d destinations", LIMIT_EGRESS);
	for (int i = 0, n = json_length(egress); i < n; i++) {
		auto_jv name = json_at(egress, i);
		struct yaml_at here = {.up = &at, .index = i};
		if (!schema_is_name(json_text(name)))
			return schema_fail(s, &here, "such as kubernetes-api", "is no name of a destination");
	}
	return 0;
}

/* --- a call --- */

/* "https://HOST[:PORT][/…]" as "HOST:PORT". */
static int place_of_server(const char *server, char out[PLACE_MAX])
{
	if (server == NULL || strncmp(server, https, sizeof https - 1) != 0)
		return -1;
	const char *host = server + sizeof https - 1;
	size_t len = strcspn(host, "/");
	if (memchr(host, ':', len) != NULL)
		snprintf(out, PLACE_MAX, "%.*s", (int)len, host);
	else
		snprintf(out, PLACE_MAX, "%.*s:%d", (int)len, host, PORT_HTTPS);
	return is_place(out) ? 0 : -1;
}

static jv destination(const char *to, int private)
{
	return json_set_bool(json_set_str(jv_object(), "to", to), "private", private);
}

/* The operator wrote the server into the settings: that is as much as private: true. */
static jv api_of_target(const struct policy_world *world, jv target)
{
	const char *name = json_text(target);
	auto_jv settings = name != NULL ? json_object(world->targets, name) : jv_invalid();
	char place[PLACE_MAX];

	if (place_of_server(json_str(settings, "server"), place) < 0)
		return jv_invalid();
	return destination(place, 1);
}

/* Another driver's settings say what a destination is there. */
static int is_local(const struct policy_world *world)
{
	return world->driver != NULL && strcmp(world->driver, "local") == 0;
}

int egress_is_relayed(const struct policy_world *world, jv tool)
{
	auto_jv egress = json_array(tool, "egress");

	return is_local(world) && json_length(egress) > 0;
}

jv egress_resolve(const struct policy_world *world, jv root, jv tool, jv target)
{
	auto_jv egress = json_array(tool, "egress"), known = json_object(root, "egress");
	jv out = jv_object();

	for (int i = 0, n = is_local(world) ? json_length(egress) : 0; i < n; i++) {
		auto_jv member = json_at(egress, i);
		const char *name = json_text(member);
		auto_jv entry = json_object(known, name);
		jv found = jv_invalid();
		if (jv_is_valid(entry))
			found = destination(json_str(entry, "to"), json_bool(entry, "private") == 1);
		else if (strcmp(name, api_name) == 0)
			found = api_of_target(world, target);
		if (jv_is_valid(found))
			out = json_set(out, name, found);
	}
	return out;
}
