/* Writing a plan. */
#include "kchange_plan.h"

#include <string.h>

#include "json_out.h"
#include "limit.h"

void kchange_draft_init(struct kchange_draft *draft)
{
	*draft = (struct kchange_draft){.requests = BUF_INIT(LIMIT_CHANGE), .objects = BUF_INIT(LIMIT_CHANGE)};
}

void kchange_draft_clear(struct kchange_draft *draft)
{
	buf_clear(&draft->requests);
	buf_clear(&draft->objects);
}

static int add_comma(struct buf *list, struct sbx_error *err)
{
	return list->len > 0 ? buf_add(list, ",", 1, err) : 0;
}

int kchange_draft_request(struct kchange_draft *draft, const struct kchange_request *request, struct sbx_error *err)
{
	return add_comma(&draft->requests, err) < 0 ? -1 : kchange_request_write(&draft->requests, request, err);
}

static int add_object(struct buf *out, const struct buf *object, struct sbx_error *err)
{
	return object == NULL ? buf_add_str(out, "null", err) : buf_add(out, buf_str(object), object->len, err);
}

int kchange_draft_entry(struct kchange_draft *draft, const struct buf *live, const struct buf *planned,
			struct sbx_error *err)
{
	struct buf *out = &draft->objects;

	if (add_comma(out, err) < 0 || buf_add_str(out, "{\"live\":", err) < 0 || add_object(out, live, err) < 0 ||
	    buf_add_str(out, ",\"planned\":", err) < 0 || add_object(out, planned, err) < 0)
		return -1;
	return buf_add_str(out, "}", err);
}

int kchange_draft_beside(struct kchange_draft *draft, const struct buf *object, struct sbx_error *err)
{
	struct buf *out = &draft->objects;

	if (add_comma(out, err) < 0 || buf_add_str(out, "{\"beside\":", err) < 0 || add_object(out, object, err) < 0)
		return -1;
	return buf_add_str(out, "}", err);
}

int kchange_draft_append(struct kchange_draft *draft, const struct kchange_draft *more, struct sbx_error *err)
{
	const struct buf *list = &more->objects;

	return add_comma(&draft->objects, err) < 0 ? -1 : buf_add(&draft->objects, buf_str(list), list->len, err);
}

static int add_member(struct buf *out, const char *name, const char *text, struct sbx_error *err)
{
	if (json_out_key(out, name, err) < 0)
		return -1;
	return text[0] != '\0' ? json_out_string(out, text, strlen(text), err) : buf_add_str(out, "null", err);
}

int kchange_draft_finish(const struct kchange_draft *draft, enum kchange_verb verb, struct kchange_server *server,
			 struct buf *out, struct sbx_error *err)
{
	char uid[KCHANGE_UID_SIZE];

	if (kchange_cluster_uid(server, uid, err) < 0 ||
	    buf_addf(out, err, "{\"change\":\"%s\",\"cluster\":{", kchange_verb_name(verb)) < 0 ||
	    add_member(out, "ca_sha256", server->ca, err) < 0 ||
	    add_member(out, "server", server->access.server, err) < 0 || add_member(out, "uid", uid, err) < 0 ||
	    buf_addf(out, err, "},\"format\":\"" KCHANGE_FORMAT "\",\"objects\":[") < 0 ||
	    buf_add(out, buf_str(&draft->objects), draft->objects.len, err) < 0 ||
	    buf_add_str(out, "],\"requests\":[", err) < 0 ||
	    buf_add(out, buf_str(&draft->requests), draft->requests.len, err) < 0)
		return -1;
	return buf_add_str(out, "]}\n", err);
}
