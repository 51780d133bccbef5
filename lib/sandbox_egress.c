/* getaddrinfo can hang and loads what a system's administrators like: it runs in a process of its own (sbx-resolve) that can be
 * killed. */
#include "sandbox_egress.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "clock.h"
#include "io.h"
#include "ip_class.h"
#include "process.h"
#include "spawn.h"

static const int64_t resolve_ms = 5000;
enum { HOST_MAX = 254, ANSWER_MAX = 64 };

void egress_pins_clear(struct egress_pins *pins)
{
	for (size_t i = 0; i < pins->count; i++) {
		free(pins->list[i].name);
		free(pins->list[i].host);
	}
	pins->count = 0;
}

static int unresolved(const char *host, struct sbx_error *err)
{
	sbx_fail(err, SBX_UNAVAILABLE, "egress_unresolved", "%.100s has no IPv4 address, or nobody said so in time", host);
	return sbx_hint(err, "getent ahostsv4 %.100s says what this machine knows; IPv6 alone is not enough", host);
}

/* The first address that the system gives. */
static int ask(const char *host, struct in_addr *address, struct sbx_error *err)
{
	auto_free char *path = process_helper("sbx-resolve", err);
	const char *const argv[] = {"sbx-resolve", host, NULL};
	struct spawn what = {.path = path, .argv = argv, .flags = SPAWN_NO_TERMINAL};
	auto_buf answer = BUF_INIT(ANSWER_MAX);
	int status = 0;

	if (path == NULL)
		return -1;
	if (spawn_capture(&what, NULL, 0, &answer, clock_mono_ms() + resolve_ms, &status, err) < 0) {
		if (strcmp(err->code, "timeout") != 0)
			return -1;
		sbx_error_clear(err);
		return unresolved(host, err);
	}
	return spawn_exit_code(status) == 0 && inet_pton(AF_INET, buf_str(&answer), address) == 1 ? 0
												   : unresolved(host, err);
}

static int allow(const struct egress_pin *pin, int private, struct sbx_error *err)
{
	enum ip_class class = ip_class(pin->address);
	char text[INET_ADDRSTRLEN];

	if (class == IP_PUBLIC)
		return 0;
	if ((class == IP_PRIVATE || class == IP_LOOPBACK) && (private || pin->host == NULL))
		return 0;
	if (class == IP_METADATA && pin->host == NULL)
		return 0;
	inet_ntop(AF_INET, &pin->address, text, sizeof text);
	sbx_fail(err, SBX_DENIED, "egress_refused", "the destination %.64s leads to %s, which is %s", pin->name, text,
		 ip_class_name(class));
	return sbx_hint(err, class == IP_PRIVATE || class == IP_LOOPBACK
				     ? "where that is meant, say private: true for it under egress: in policy.yaml"
				     : "no name may lead there; where it is meant, write the address itself in policy.yaml");
}

/* An earlier one of PINS has asked for HOST: one name means one address inside, whatever its ports are. */
static int is_known(const struct egress_pins *pins, const char *host, struct in_addr *address)
{
	for (size_t i = 0; i + 1 < pins->count; i++)
		if (pins->list[i].host != NULL && strcasecmp(pins->list[i].host, host) == 0) {
			*address = pins->list[i].address;
			return 1;
		}
	return 0;
}

/* The next of PINS, the destination NAME. */
static int pin_next(jv run, const char *name, struct egress_pins *pins, struct sbx_error *err)
{
	auto_jv all = json_object(run, "destinations"), found = json_object(all, name);
	const char *to = json_str(found, "to"), *colon = to != NULL ? strrchr(to, ':') : NULL;
	struct egress_pin *pin = &pins->list[pins->count++];
	char host[HOST_MAX];
	uint64_t port;

	if (!jv_is_valid(found)) {
		sbx_fail(err, SBX_CONFIG, "egress_unsupported", "the tool needs a destination that nothing explains");
		return sbx_hint(err, "in policy.yaml: egress: {%.64s: {to: \"HOST:PORT\"}}; kubernetes-api is the server of the call's target",
				name);
	}
	if (colon == NULL || (size_t)(colon - to) >= sizeof host || io_parse_u64(colon + 1, 1, UINT16_MAX, &port) < 0)
		return sbx_fail(err, SBX_PROTOCOL, "bad_call", "a destination of the run is no HOST:PORT");
	memcpy(host, to, (size_t)(colon - to));
	host[colon - to] = '\0';
	pin->port = (uint16_t)port;
	pin->name = strdup(name);
	int literal = inet_pton(AF_INET, host, &pin->address) == 1;
	pin->host = literal ? NULL : strdup(host);
	if (pin->name == NULL || (!literal && pin->host == NULL))
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (!literal && !is_known(pins, host, &pin->address) && ask(host, &pin->address, err) < 0)
		return -1;
	return allow(pin, json_bool(found, "private") == 1, err);
}

int sandbox_egress(jv run, struct egress_pins *pins, struct sbx_error *err)
{
	auto_jv egress = json_array(run, "egress");

	*pins = (struct egress_pins){.count = 0};
	for (int i = 0, n = json_length(egress); i < n; i++) {
		auto_jv name = json_at(egress, i);
		if (pins->count == LIMIT_EGRESS || json_text(name) == NULL)
			return sbx_fail(err, SBX_PROTOCOL, "bad_call", "the run has too many destinations");
		if (pin_next(run, json_text(name), pins, err) < 0)
			return -1;
	}
	return 0;
}
