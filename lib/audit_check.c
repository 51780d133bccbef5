/* Beginnings without ends, and how they are told. */
#include "audit_check.h"

#include <string.h>

struct search {
	struct audit_gaps *gaps;
	jv claims; /* {CALL: APPROVAL} */
	jv spent;  /* {APPROVAL: CALL} */
};

static void begin(jv *map, const char *key, const char *text)
{
	if (key != NULL)
		*map = json_set_str(take_jv(map), key, text != NULL ? text : "");
}

static void end(jv *map, const char *key)
{
	if (key != NULL)
		*map = json_delete(take_jv(map), key);
}

/* The claim is recorded before it is made, and may have failed: it counts when the call went on to run. */
static void spend(struct search *search, const char *id)
{
	const char *approval = id != NULL ? json_str(search->claims, id) : NULL;
	const char *spent_by = approval != NULL ? json_str(search->spent, approval) : NULL;

	if (approval == NULL)
		return;
	if (spent_by != NULL && strcmp(spent_by, id) != 0)
		begin(&search->gaps->spent_twice, approval, id);
	begin(&search->spent, approval, id);
}

/* The claim of another call is not given back by it. */
static void release(struct search *search, jv event, const char *id)
{
	const char *approval = json_str(event, "approval");
	const char *spent_by = approval != NULL ? json_str(search->spent, approval) : NULL;

	if (id != NULL && spent_by != NULL && strcmp(spent_by, id) == 0)
		end(&search->spent, approval);
}

/* A credential.revoked that says "deferred" is a promise of the server, not an end. */
static void give_back(struct search *search, jv event)
{
	const char *state = json_str(event, "state");

	if (state == NULL || strcmp(state, "deferred") != 0)
		end(&search->gaps->credentials, json_str(event, "lease"));
}

static int look(jv event, void *context, struct sbx_error *err)
{
	struct search *search = context;
	const char *name = json_str(event, "event"), *id = json_str(event, "request_id"),
		   *lease = json_str(event, "lease");

	(void)err;
	if (name == NULL)
		return 0;
	if (strcmp(name, "tool.request") == 0)
		begin(&search->gaps->requests, id, json_str(event, "time"));
	else if (strcmp(name, "tool.result") == 0)
		end(&search->gaps->requests, id);
	else if (strcmp(name, "credential.requested") == 0 || strcmp(name, "credential.issued") == 0)
		begin(&search->gaps->credentials, lease, id);
	else if (strcmp(name, "credential.failed") == 0)
		end(&search->gaps->credentials, lease);
	else if (strcmp(name, "credential.revoked") == 0)
		give_back(search, event);
	else if (strcmp(name, "approval.claimed") == 0)
		begin(&search->claims, id, json_str(event, "approval"));
	else if (strcmp(name, "approval.released") == 0)
		release(search, event, id);
	else if (strcmp(name, "sandbox.started") == 0)
		spend(search, id);
	return 0;
}

int audit_find_gaps(const struct state *state, struct audit_gaps *gaps, struct sbx_error *err)
{
	struct search search = {.gaps = gaps, .claims = jv_object(), .spent = jv_object()};

	*gaps = (struct audit_gaps){.requests = jv_object(), .credentials = jv_object(), .spent_twice = jv_object()};
	int result = audit_each(state, NULL, look, &search, err);
	jv_free(search.claims);
	jv_free(search.spent);
	if (result < 0)
		audit_gaps_clear(gaps);
	return result;
}

void audit_gaps_clear(struct audit_gaps *gaps)
{
	jv_free(gaps->requests);
	jv_free(gaps->credentials);
	jv_free(gaps->spent_twice);
	*gaps = (struct audit_gaps){.requests = jv_invalid(), .credentials = jv_invalid(), .spent_twice = jv_invalid()};
}

static int list_gaps(jv map, const char *what, const char *missing, struct buf *out, struct sbx_error *err)
{
	auto_jv keys = jv_keys(jv_copy(map));

	for (int i = 0, n = json_length(keys); i < n; i++) {
		auto_jv key = json_at(keys, i);
		const char *name = json_text(key);
		const char *text = name != NULL ? json_str(map, name) : NULL;
		if (name != NULL &&
		    buf_addf(out, err, "  %s %s (%s): %s\n", what, name, text ? text : "?", missing) < 0)
			return -1;
	}
	return 0;
}

int audit_report_text(const struct audit_verdict *verdict, const struct audit_gaps *gaps,
		      const struct sbx_error *broken, struct buf *out, struct sbx_error *err)
{
	int complete =
		json_length(gaps->requests) + json_length(gaps->credentials) + json_length(gaps->spent_twice) == 0;

	if (broken->class != SBX_OK
		    ? buf_addf(out, err, "integrity: BROKEN: %s\n", broken->message) < 0
		    : buf_addf(out, err, "integrity: ok (%lld records, %lld torn by crashes and declared)\nhead: %s\n",
			       (long long)verdict->records, (long long)verdict->torn, verdict->head) < 0)
		return -1;
	if (broken->class == SBX_OK &&
	    (verdict->torn_tail > 0
		     ? buf_addf(out, err, "tail: %lld bytes of a line that a crash cut; the next event declares them\n",
				(long long)verdict->torn_tail) < 0
		     : buf_add_str(out, "tail: whole\n", err) < 0))
		return -1;
	if (buf_addf(out, err, "completeness: %s\n", complete ? "ok" : "gaps") < 0 ||
	    list_gaps(gaps->requests, "call", "no result (it still runs, or wants mending)", out, err) < 0 ||
	    list_gaps(gaps->credentials, "credential", "not given back", out, err) < 0 ||
	    list_gaps(gaps->spent_twice, "approval", "SPENT TWICE", out, err) < 0)
		return -1;
	return 0;
}

int audit_report_json(const struct audit_verdict *verdict, const struct audit_gaps *gaps,
		      const struct sbx_error *broken, struct buf *out, struct sbx_error *err)
{
	auto_jv all = json_set_str(jv_object(), "integrity", broken->class != SBX_OK ? "broken" : "ok");

	if (broken->class != SBX_OK)
		all = json_set_str(json_set_str(take_jv(&all), "code", broken->code), "message", broken->message);
	all = json_set_str(json_set_int(take_jv(&all), "records", verdict->records), "head", verdict->head);
	all = json_set_int(json_set_int(take_jv(&all), "torn", verdict->torn), "torn_tail", verdict->torn_tail);
	all = json_set(take_jv(&all), "without_result", jv_copy(gaps->requests));
	all = json_set(take_jv(&all), "not_given_back", jv_copy(gaps->credentials));
	all = json_set(take_jv(&all), "spent_twice", jv_copy(gaps->spent_twice));
	return json_write(all, out, err) < 0 ? -1 : buf_add(out, "\n", 1, err);
}
