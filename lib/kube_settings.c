/* Members and defaults. */
#include "kube_settings.h"

#include <stdio.h>
#include <string.h>

#include "duration.h"
#include "kube_api.h"

static const int64_t default_probe_ms = 10000;
static const uint64_t probe_max_ms = 120000;

static const char section[] = "drivers.kubernetes";

static int wrong(struct sbx_error *err, const char *member, const char *wanted)
{
	return kube_login_wrong(section, member, wanted, err);
}

static int take_name(jv all, const char *member, const char *otherwise, const char **out, struct sbx_error *err)
{
	*out = json_has(all, member) ? json_str(all, member) : otherwise;
	return kube_is_name(*out) ? 0 : wrong(err, member, "a name of the cluster");
}

/* Whitespace and quotes are in no image's name; what else it may hold is the cluster's to say. */
static int take_image(jv all, const char **out, struct sbx_error *err)
{
	*out = json_str(all, "image");
	if (*out != NULL && **out != '\0' && strpbrk(*out, " \t\n\"'\\") == NULL)
		return 0;
	return wrong(err, "image", "the runner image, best as NAME@sha256:DIGEST");
}

static int take_pull_policy(jv all, const char **out, struct sbx_error *err)
{
	static const char *const known[] = {"IfNotPresent", "Never", "Always"};

	*out = json_has(all, "image_pull_policy") ? json_str(all, "image_pull_policy") : known[0];
	for (size_t i = 0; *out != NULL && i < ARRAY_LEN(known); i++)
		if (strcmp(*out, known[i]) == 0)
			return 0;
	return wrong(err, "image_pull_policy", "IfNotPresent, Never or Always");
}

static int take_probe(jv all, int64_t *ms, struct sbx_error *err)
{
	const char *text = json_str(all, "probe");
	uint64_t value;

	*ms = default_probe_ms;
	if (!json_has(all, "probe"))
		return 0;
	if (text == NULL || duration_parse_ms(text, probe_max_ms, &value) < 0 || value == 0)
		return wrong(err, "probe", "how long to wait until the network policy is in force, such as 10s");
	*ms = (int64_t)value;
	return 0;
}

static int add_address(struct boot_addresses *to, const char *text, const char *member, struct sbx_error *err)
{
	if (text == NULL || strchr(text, ':') == NULL || to->count >= BOOT_ADDRESSES)
		return wrong(err, member, "a list of ADDRESS:PORT, at most 16");
	to->list[to->count] = strdup(text);
	if (to->list[to->count] == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	to->count++;
	return 0;
}

static int add_addresses(struct boot_addresses *to, jv list, const char *member, struct sbx_error *err)
{
	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv entry = json_at(list, i);
		if (add_address(to, json_text(entry), member, err) < 0)
			return -1;
	}
	return 0;
}

int kube_settings_read(jv settings, struct kube_settings *out, struct sbx_error *err)
{
	static const char *const known[] = {
		KUBE_LOGIN_MEMBERS, "namespace", "image",  "image_pull_policy", "runtime_class",
		"service_account",  "probe",	 "egress", "forbidden",		NULL};
	auto_free char *unknown = json_unknown_key(settings, known);

	*out = (struct kube_settings){.all = jv_copy(settings)};
	if (unknown != NULL) {
		sbx_fail(err, SBX_CONFIG, "cluster_settings",
			 "drivers.kubernetes in the settings has a member that it does not know");
		return sbx_hint(err, "sbx-run-kubernetes(8) lists them; it is none of them: %.60s", unknown);
	}
	auto_jv forbidden = json_array(out->all, "forbidden");
	if (json_has(out->all, "forbidden") && !jv_is_valid(forbidden))
		return wrong(err, "forbidden", "a list of ADDRESS:PORT");
	if (kube_login_read(out->all, section, &out->login, err) < 0 ||
	    take_name(out->all, "namespace", NULL, &out->namespace, err) < 0 ||
	    take_name(out->all, "runtime_class", "gvisor", &out->runtime_class, err) < 0 ||
	    take_name(out->all, "service_account", "default", &out->service_account, err) < 0 ||
	    take_image(out->all, &out->image, err) < 0 ||
	    take_pull_policy(out->all, &out->image_pull_policy, err) < 0 ||
	    take_probe(out->all, &out->probe_ms, err) < 0)
		return -1;
	return add_addresses(&out->forbidden, forbidden, "forbidden", err);
}

static void clear_addresses(struct boot_addresses *addresses)
{
	for (uint32_t i = 0; i < addresses->count; i++)
		free(addresses->list[i]);
	addresses->count = 0;
}

void kube_settings_clear(struct kube_settings *settings)
{
	jv_free(settings->all);
	settings->all = jv_invalid();
	clear_addresses(&settings->forbidden);
}

int kube_settings_egress(const struct kube_settings *settings, jv egress, struct boot_addresses *addresses,
			 const char **names, size_t max, size_t *count, struct sbx_error *err)
{
	auto_jv known = json_object(settings->all, "egress");

	*count = 0;
	for (int i = 0, n = json_length(egress); i < n; i++) {
		auto_jv name = json_at(egress, i);
		const char *text = json_text(name);
		auto_jv list = json_array(known, text != NULL ? text : "");
		if (text == NULL || *count >= max || !jv_is_valid(list) || json_length(list) == 0) {
			sbx_fail(err, SBX_CONFIG, "egress_unsupported",
				 "the tool needs a destination whose addresses the settings do not say");
			return sbx_hint(err,
					"in sbx.yaml: drivers: {kubernetes: {egress: {%.60s: [\"ADDRESS:PORT\"]}}}",
					text != NULL ? text : "NAME");
		}
		/* EGRESS, which the caller keeps, holds the text. */
		names[(*count)++] = text;
		if (add_addresses(addresses, list, "egress", err) < 0)
			return -1;
	}
	return 0;
}
