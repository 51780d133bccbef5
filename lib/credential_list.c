/* What is live, whose, until when. */
#include "credential_list.h"

#include <string.h>

#include "credential_lease.h"
#include "json_out.h"

struct list {
	const struct state *state;
	jv entries; /* owned */
};

static int see(void *context, jv record, struct sbx_error *err)
{
	static const char *const members[] = {"expires_at", "state",	 "principal",	"call",	 "index", "provider",
					      "scope",	    "namespace", "permissions", "lease", "jti"};
	struct list *list = context;
	auto_jv target = json_object(record, "target");
	auto_jv entry = json_set_str(jv_object(), "process",
				     lease_is_running(list->state, json_str(record, "call")) ? "running" : "left");

	(void)err;
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (json_has(record, members[i]))
			entry = json_set(take_jv(&entry), members[i], json_get(record, members[i]));
	entry = json_set_str(take_jv(&entry), "target", json_str(target, "name"));
	list->entries = json_append(take_jv(&list->entries), take_jv(&entry));
	return 0;
}

static int put(struct buf *out, jv entry, const char *member, struct sbx_error *err)
{
	const char *text = json_str(entry, member);

	if (text == NULL)
		return 0;
	return buf_addf(out, err, " %s=", member) < 0 ? -1 : json_out_string(out, text, strlen(text), err);
}

static int put_line(struct buf *out, jv entry, struct sbx_error *err)
{
	static const char *const quoted[] = {"provider", "scope", "namespace", "target", "jti"};
	const char *until = json_str(entry, "expires_at"), *state = json_str(entry, "state"),
		   *principal = json_str(entry, "principal");
	int64_t index = 0;

	json_int(entry, "index", &index);
	if (json_out_string(out, until ? until : "?", strlen(until ? until : "?"), err) < 0 ||
	    buf_addf(out, err, " %s ", json_str(entry, "process")) < 0 ||
	    json_out_string(out, state ? state : "?", strlen(state ? state : "?"), err) < 0 ||
	    buf_add_str(out, " ", err) < 0 ||
	    json_out_string(out, principal ? principal : "?", strlen(principal ? principal : "?"), err) < 0 ||
	    buf_addf(out, err, " %s/%d", json_str(entry, "call"), (int)index) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(quoted); i++)
		if (put(out, entry, quoted[i], err) < 0)
			return -1;
	return buf_add_str(out, "\n", err);
}

int credential_list(const struct state *state, enum credential_list_form form, struct buf *out, struct sbx_error *err)
{
	struct list list = {.state = state, .entries = jv_array()};
	int result = lease_each(state, see, &list, err);
	auto_jv entries = list.entries, ends = jv_array();
	struct sbx_error full = SBX_ERROR_INIT;

	for (int i = 0; i < json_length(entries); i++) {
		auto_jv entry = json_at(entries, i), end = json_get(entry, "expires_at");
		ends = json_append(take_jv(&ends), jv_is_valid(end) ? jv_copy(end) : jv_null());
	}
	entries = jv_sort(take_jv(&entries), take_jv(&ends));
	for (int i = 0; i < json_length(entries); i++) {
		auto_jv entry = json_at(entries, i);
		if (form == CREDENTIAL_LIST_TEXT
			    ? put_line(out, entry, &full) < 0
			    : json_write(entry, out, &full) < 0 || buf_add_str(out, "\n", &full) < 0) {
			*err = full;
			return -1;
		}
	}
	return result;
}
