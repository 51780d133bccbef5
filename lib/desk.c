/* The desk's side of the protocol. */
#include "desk.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "io.h"
#include "sshsig.h"

enum { NAME_MAX_LEN = 64, REASON_MAX = 256 };

struct request {
	char id[STATE_ID_SIZE];
	const char *rest; /* behind the id: a length or a reason */
	const char *bytes;
	size_t len;
};

static int bad_request(struct sbx_error *err)
{
	sbx_fail(err, SBX_BAD_REQUEST, "bad_request", "the request is none that the desk knows");
	return sbx_hint(err, "list, show ID, accept ID LENGTH, deny ID REASON");
}

int desk_is_name(const char *name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@-";
	size_t len = strlen(name);

	return len > 0 && len <= NAME_MAX_LEN && name[0] != '-' && strspn(name, allowed) == len;
}

static int say_ok(struct buf *reply, const struct approval *row, const void *bytes, size_t len, struct sbx_error *err)
{
	const char *id = row != NULL ? row->id : "-", *state = row != NULL ? approval_status_name(row->status) : "-";

	if (row != NULL && (row->status == APPROVAL_WAITING || row->status == APPROVAL_APPROVED) &&
	    approval_has_ended(row))
		state = approval_status_name(APPROVAL_EXPIRED);
	if (buf_addf(reply, err, "ok %zu %s %s %s\n", len, id, state,
		     row != NULL && row->signer[0] != '\0' ? row->signer : "-") < 0)
		return -1;
	return buf_add(reply, bytes, len, err);
}

int desk_write_error(const struct sbx_error *failure, struct buf *reply, struct sbx_error *err)
{
	if (buf_addf(reply, err, "error %s %d %s\n", failure->code, (int)failure->class, failure->message) < 0)
		return -1;
	return buf_add_str(reply, failure->hint, err);
}

static int list_one(const struct approval *row, void *context, struct sbx_error *err)
{
	char until[CLOCK_RFC3339_SIZE];
	struct buf *lines = context;

	clock_format(row->expires, until);
	if (buf_addf(lines, err, "%s %-8s until %s tool ", row->id, approval_status_name(row->status), until) < 0 ||
	    review_quote(lines, row->tool, strlen(row->tool), err) < 0 || buf_add_str(lines, " tier ", err) < 0 ||
	    review_quote(lines, row->tier, strlen(row->tier), err) < 0 || buf_add_str(lines, " principal ", err) < 0 ||
	    review_quote(lines, row->principal, strlen(row->principal), err) < 0)
		return -1;
	return buf_add_str(lines, "\n", err);
}

static int do_list(struct approvals *approvals, struct buf *reply, struct sbx_error *err)
{
	auto_buf lines = BUF_INIT(DESK_REPLY_MAX - 256);

	if (approval_each(approvals, list_one, &lines, err) < 0)
		return -1;
	return say_ok(reply, NULL, buf_str(&lines), lines.len, err);
}

static int do_show(struct approvals *approvals, const struct request *request, struct buf *reply, struct sbx_error *err)
{
	auto_approval row = {0};

	if (request->len > 0)
		return bad_request(err);
	if (approval_find(approvals, request->id, &row, err) < 0)
		return -1;
	return say_ok(reply, &row, row.text != NULL ? row.text : "", row.text_len, err);
}

static int do_accept(struct approvals *approvals, const struct request *request, struct buf *reply,
		     struct sbx_error *err)
{
	auto_approval row = {0};
	uint64_t len;

	if (io_parse_u64(request->rest, 1, SSHSIG_MAX, &len) < 0 || len != request->len)
		return bad_request(err);
	if (approval_find(approvals, request->id, &row, err) < 0 ||
	    approval_accept(approvals, &row, request->bytes, request->len, err) < 0)
		return -1;
	return say_ok(reply, &row, "", 0, err);
}

static int do_deny(struct approvals *approvals, const char *name, const struct request *request, struct buf *reply,
		   struct sbx_error *err)
{
	auto_approval row = {0};

	if (request->len > 0 || strlen(request->rest) > REASON_MAX)
		return bad_request(err);
	/* The reason travels back to the agent and to other people's terminals. */
	for (const char *c = request->rest; *c != '\0'; c++)
		if (*c < 0x20 || *c > 0x7e)
			return bad_request(err);
	if (approval_find(approvals, request->id, &row, err) < 0 ||
	    approval_deny(approvals, &row, name, request->rest, err) < 0)
		return -1;
	return say_ok(reply, &row, "", 0, err);
}

/* Take VERB and an id from LINE into REQUEST; 1 when it is this verb. */
static int takes(const char *line, const char *verb, struct request *request)
{
	size_t verb_len = strlen(verb);

	if (strncmp(line, verb, verb_len) != 0 || line[verb_len] != ' ')
		return 0;
	const char *id = line + verb_len + 1;
	size_t id_len = strcspn(id, " ");
	if (id_len == 0 || id_len >= sizeof request->id)
		return 0;
	memcpy(request->id, id, id_len);
	request->id[id_len] = '\0';
	request->rest = id[id_len] == ' ' ? id + id_len + 1 : "";
	return 1;
}

static int answer(struct approvals *approvals, const char *name, const char *line, struct request *request,
		  struct buf *reply, struct sbx_error *err)
{
	if (strcmp(line, "list") == 0 && request->len == 0)
		return do_list(approvals, reply, err);
	if (takes(line, "show", request) && request->rest[0] == '\0')
		return do_show(approvals, request, reply, err);
	if (takes(line, "accept", request))
		return do_accept(approvals, request, reply, err);
	if (takes(line, "deny", request))
		return do_deny(approvals, name, request, reply, err);
	return bad_request(err);
}

int desk_answer(struct approvals *approvals, const char *name, const char *text, size_t len, struct buf *reply,
		struct sbx_error *err)
{
	const char *feed = memchr(text, '\n', len);
	size_t line_len = feed != NULL ? (size_t)(feed - text) : len;
	auto_free char *line = strndup(text, line_len);
	struct request request = {.rest = ""};
	int done;

	if (line == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (feed != NULL) {
		request.bytes = feed + 1;
		request.len = len - line_len - 1;
	}
	done = strlen(line) == line_len ? answer(approvals, name, line, &request, reply, err) : bad_request(err);
	if (done == 0)
		return 0;
	struct sbx_error late = SBX_ERROR_INIT;
	buf_reset(reply);
	desk_write_error(err, reply, &late);
	return -1;
}
