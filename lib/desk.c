/* The desk's side of the protocol. */
#include "desk.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "desk_export.h"
#include "io.h"
#include "plan.h"
#include "review_quote.h"
#include "sshsig.h"

enum { REASON_MAX = 256 };

struct request {
	char id[STATE_ID_SIZE];
	const char *rest; /* behind the id: a length or a reason */
	const char *bytes;
	size_t len;
};

static int bad_request(struct sbx_error *err)
{
	sbx_fail(err, SBX_BAD_REQUEST, "bad_request", "the request is none that the desk knows");
	return sbx_hint(err,
			"list, show ID, read ID, accept ID LENGTH, deny ID REASON, resolve ID, export ID");
}

int desk_is_name(const char *name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@-";
	size_t len = strlen(name);

	return len > 0 && len < DESK_NAME_SIZE && name[0] != '-' && strspn(name, allowed) == len;
}

static int say_people(struct buf *out, const struct approval *row, struct sbx_error *err)
{
	if (row->people.count == 0)
		return buf_add_str(out, "-", err);
	for (size_t i = 0; i < row->people.count; i++)
		if (buf_addf(out, err, "%s%s", i > 0 ? "," : "", row->people.who[i].name) < 0)
			return -1;
	return 0;
}

/* ROW is counted. */
static int say_row(struct buf *reply, const struct approval *row, size_t len, struct sbx_error *err)
{
	const char *state = approval_status_name(row->status);

	if ((row->status == APPROVAL_WAITING || row->status == APPROVAL_APPROVED) &&
	    approval_has_ended(row))
		state = approval_status_name(APPROVAL_EXPIRED);
	if (buf_addf(reply, err, "ok %zu %s %s %zu/%lld ", len, row->id, state, row->people.count,
		     (long long)row->terms.threshold) < 0 ||
	    say_people(reply, row, err) < 0)
		return -1;
	return row->lost[0] != '\0' ? buf_addf(reply, err, " %s\n", row->lost)
				    : buf_add_str(reply, "\n", err);
}

static int say_ok(struct approvals *approvals, struct approval *row, const void *bytes, size_t len,
		  struct buf *reply, struct sbx_error *err)
{
	approval_count(approvals, row);
	return say_row(reply, row, len, err) < 0 ? -1 : buf_add(reply, bytes, len, err);
}

int desk_write_error(const struct sbx_error *failure, struct buf *reply, struct sbx_error *err)
{
	if (buf_addf(reply, err, "error %s %d %s\n", failure->code, (int)failure->class, failure->message) < 0)
		return -1;
	return buf_add_str(reply, failure->hint, err);
}

struct listing {
	const struct approvals *approvals;
	struct buf lines;
};

static int say_quoted(struct buf *lines, const char *name, const char *text, struct sbx_error *err)
{
	if (buf_addf(lines, err, " %s ", name) < 0)
		return -1;
	return review_quote(lines, text, strlen(text), err);
}

static int list_one(const struct approval *found, void *context, struct sbx_error *err)
{
	char since[CLOCK_RFC3339_SIZE], until[CLOCK_RFC3339_SIZE];
	struct listing *listing = context;
	struct buf *lines = &listing->lines;
	struct approval row = *found; /* its own count; the rest stays FOUND's */

	approval_count(listing->approvals, &row);
	clock_format(row.created, since);
	clock_format(row.expires, until);
	if (buf_addf(lines, err, "%s %-8s since %s until %s", row.id,
		     approval_status_name(row.status), since, until) < 0 ||
	    say_quoted(lines, "tool", row.tool, err) < 0 ||
	    say_quoted(lines, "tier", row.tier, err) < 0 ||
	    say_quoted(lines, "principal", row.principal, err) < 0 ||
	    buf_addf(lines, err, " signed %zu/%lld by ", row.people.count,
		     (long long)row.terms.threshold) < 0 ||
	    say_people(lines, &row, err) < 0 || say_quoted(lines, "why", row.why, err) < 0)
		return -1;
	return buf_add_str(lines, "\n", err);
}

static int do_list(struct approvals *approvals, struct buf *reply, struct sbx_error *err)
{
	struct listing listing = {.approvals = approvals, .lines = BUF_INIT(DESK_REPLY_MAX - 256)};
	int done = approval_each(approvals, list_one, &listing, err);

	if (done == 0)
		done = buf_addf(reply, err, "ok %zu - - 0/0 -\n", listing.lines.len);
	if (done == 0)
		done = buf_add(reply, buf_str(&listing.lines), listing.lines.len, err);
	buf_clear(&listing.lines);
	return done;
}

static int do_show(struct approvals *approvals, const struct request *request, struct buf *reply, struct sbx_error *err)
{
	auto_approval row = {0};

	if (request->len > 0)
		return bad_request(err);
	if (approval_find(approvals, request->id, &row, err) < 0)
		return -1;
	return say_ok(approvals, &row, row.text != NULL ? row.text : "", row.text_len, reply, err);
}

static int do_read(struct approvals *approvals, const struct request *request, struct buf *reply, struct sbx_error *err)
{
	auto_approval row = {0};

	if (request->len > 0)
		return bad_request(err);
	if (approval_find(approvals, request->id, &row, err) < 0 || approval_may_sign(approvals, &row, err) < 0)
		return -1;
	return say_ok(approvals, &row, row.text != NULL ? row.text : "", row.text_len, reply, err);
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
	return say_row(reply, &row, 0, err); /* approval_accept has counted it */
}

/* The plan that a denied request would have applied holds secrets, and nobody needs it any more. */
static int drop_plan(const struct state *state, const struct approval *row, struct sbx_error *err)
{
	char plan[STATE_ID_SIZE];

	if (row->text == NULL || !review_plan(row->text, row->text_len, plan))
		return 0;
	return plan_drop(state, plan, err);
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
	if (drop_plan(approvals->state, &row, err) < 0)
		return sbx_wrap(err, "the request is denied, but its plan could not be removed");
	return say_ok(approvals, &row, "", 0, reply, err);
}

static int do_resolve(struct approvals *approvals, const char *name, const struct request *request,
		      struct buf *reply, struct sbx_error *err)
{
	auto_approval row = {0};

	if (request->len > 0)
		return bad_request(err);
	if (approval_find(approvals, request->id, &row, err) < 0 ||
	    approval_resolve(approvals, &row, name, err) < 0)
		return -1;
	return say_ok(approvals, &row, "", 0, reply, err);
}

static int do_export(struct approvals *approvals, const struct request *request, struct buf *reply,
		     struct sbx_error *err)
{
	auto_buf files = BUF_INIT(DESK_REPLY_MAX - 1024);
	auto_approval row = {0};

	if (request->len > 0)
		return bad_request(err);
	if (approval_find(approvals, request->id, &row, err) < 0 ||
	    desk_export(&row, approvals->state, &files, err) < 0)
		return -1;
	return say_ok(approvals, &row, buf_str(&files), files.len, reply, err);
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
	if (takes(line, "read", request) && request->rest[0] == '\0')
		return do_read(approvals, request, reply, err);
	if (takes(line, "accept", request))
		return do_accept(approvals, request, reply, err);
	if (takes(line, "deny", request))
		return do_deny(approvals, name, request, reply, err);
	if (takes(line, "resolve", request) && request->rest[0] == '\0')
		return do_resolve(approvals, name, request, reply, err);
	if (takes(line, "export", request) && request->rest[0] == '\0')
		return do_export(approvals, request, reply, err);
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
