/* After a driver that was killed. */
#include "kube_mend.h"

#include "clock.h"
#include "kube_job.h"

static const int64_t look_every_ms = 250;
/* What was asked just before the deadline may be answered this much later: that something is still there is worth more
 * than that the time is over. */
static const int64_t answer_ms = 3000;

static int list_left(const struct kube *kube, enum kube_kind kind, const char *query, int64_t deadline, jv *list,
		     struct sbx_error *err)
{
	struct http_exchange *x = kube_list(kube, kind, query, deadline, err);
	int result = x == NULL || http_finish(kube->http, x, err) < 0 ||
				     kube_read(x, "look for what is left of the sandbox", err) != KUBE_OK ||
				     kube_object(x, list, err) < 0
			     ? -1
			     : 0;

	http_end(x);
	return result;
}

static int erase_listed(const struct kube *kube, enum kube_kind kind, jv list, int64_t deadline, struct sbx_error *err)
{
	auto_jv items = json_array(list, "items");

	for (int i = 0, n = json_length(items); i < n; i++) {
		auto_jv item = json_at(items, i), metadata = json_object(item, "metadata");
		const char *name = json_str(metadata, "name");
		if (name == NULL)
			continue;
		struct sbx_error why = SBX_ERROR_INIT;
		struct http_exchange *x = kube_delete(kube, kind, name, -1, deadline, err);
		int failed = x == NULL || http_finish(kube->http, x, err) < 0;
		enum kube_answer got = failed ? KUBE_REFUSED : kube_read(x, "remove the sandbox", &why);
		http_end(x);
		if (got == KUBE_OK || got == KUBE_NOT_FOUND)
			continue;
		*err = why.class != SBX_OK ? why : *err;
		return -1;
	}
	return 0;
}

/* Jobs first, which own the rest; then until no Pod is left. Secrets are not looked for: listing them would take the
 * right to read them, and the cluster removes what has no owner any more. */
int kube_mend(const struct kube *kube, const char *call, int64_t deadline, struct sbx_error *err)
{
	static const enum kube_kind kinds[] = {KUBE_JOB, KUBE_POD};
	auto_buf query = BUF_INIT(256);
	int64_t until = deadline + answer_ms;

	if (kube_add_selector(&query, KUBE_LABEL_CALL, call, err) < 0)
		return -1;
	for (;;) {
		int left = 0;
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
			auto_jv list = jv_invalid();
			if (list_left(kube, kinds[i], buf_str(&query), until, &list, err) < 0 ||
			    erase_listed(kube, kinds[i], list, until, err) < 0)
				return -1;
			auto_jv items = json_array(list, "items");
			left += json_length(items);
		}
		if (left == 0)
			return 0;
		if (clock_left_ms(deadline) == 0)
			return sbx_fail(err, SBX_UNAVAILABLE, "cluster_lingers",
					"what a call left on the cluster does not go away");
		poll(NULL, 0, (int)look_every_ms);
	}
}
