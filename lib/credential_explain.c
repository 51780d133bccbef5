/* sbx-cred --explain. */
#include "credential_explain.h"

#include "call.h"
#include "json_out.h"
#include "permission.h"
#include "steps.h"

/* LABEL and the quoted text of a member; nothing when it is absent. */
static int line(struct buf *out, const char *label, jv from, const char *member, struct sbx_error *err)
{
	const char *text = json_str(from, member);

	if (text == NULL)
		return 0;
	if (buf_addf(out, err, "  %-10s ", label) < 0 || json_out_string(out, text, strlen(text), err) < 0)
		return -1;
	return buf_add(out, "\n", 1, err);
}

/* The rules of a Role that grants what policy says, each as it stands there. */
static int rules(const struct lease *lease, struct buf *out, struct sbx_error *err)
{
	auto_jv words = json_array(lease->record, "permissions"), list = permission_rules(words);

	if (!jv_is_valid(words))
		return buf_addf(out, err, "  %-10s not said: add permissions: to the scope\n", "may");
	for (int i = 0; i < json_length(list); i++) {
		auto_jv rule = json_at(list, i);
		if (buf_addf(out, err, "  %-10s ", i == 0 ? "may" : "") < 0 || json_write(rule, out, err) < 0 ||
		    buf_add(out, "\n", 1, err) < 0)
			return -1;
	}
	return 0;
}

static int explain_one(const struct lease *lease, jv wanted, size_t index, struct buf *out, struct sbx_error *err)
{
	auto_jv target = json_get(lease->record, "target");
	auto_jv settings = json_get(lease->record, "settings");
	int64_t lifetime = 0;

	json_int(lease->record, "lifetime_s", &lifetime);
	if (buf_addf(out, err, "credential %zu\n", index) < 0 || line(out, "scope", lease->record, "scope", err) < 0 ||
	    line(out, "namespace", lease->record, "namespace", err) < 0 || rules(lease, out, err) < 0 ||
	    line(out, "provider", lease->record, "provider", err) < 0 ||
	    line(out, "as", lease->record, "as", err) < 0 ||
	    buf_addf(out, err, "  %-10s %s/%zu, while the steps run that may have it\n", "file", SANDBOX_CREDENTIALS,
		     index) < 0 ||
	    line(out, "named by", wanted, "env", err) < 0 ||
	    buf_addf(out, err, "  %-10s %lld s\n", "lifetime", (long long)lifetime) < 0 ||
	    line(out, "target", target, "name", err) < 0 || line(out, "server", target, "server", err) < 0)
		return -1;
	if (json_length(settings) == 0)
		return 0;
	if (buf_addf(out, err, "  %-10s ", "settings") < 0 || json_write(settings, out, err) < 0)
		return -1;
	return buf_add(out, "\n", 1, err);
}

int credential_explain(const struct credential_broker *broker, jv call, struct buf *out, struct sbx_error *err)
{
	auto_leases leases;
	auto_jv policy = json_object(call, "policy");
	auto_jv wanted = json_array(policy, "credentials");

	leases_init(&leases);
	if (credential_plan(broker, call, &leases, err) < 0)
		return -1;
	if (leases.count == 0)
		return buf_add_str(out, "no credential\n", err);
	for (size_t i = 0; i < leases.count; i++) {
		auto_jv one = json_at(wanted, (int)i);
		if (explain_one(&leases.lease[i], one, i, out, err) < 0)
			return -1;
	}
	return 0;
}
