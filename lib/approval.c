/* Rows, their time, and looking them up. */
#include "approval.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "approval_row.h"
#include "audit.h"
#include "clock.h"
#include "io.h"

/* "sbxA" */
static const int32_t application_id = 0x73627841;
enum { PREFIX_MIN = 6 };

/* One open row for each subject, one consumption for each round of an approval, one approval for each call: structure,
 * not only code. */
static const char schema_sql[] =
	"CREATE TABLE approval ("
	" number INTEGER PRIMARY KEY,"
	" id TEXT NOT NULL UNIQUE,"
	" state TEXT NOT NULL CHECK (state IN ('waiting','approved','claimed','denied','expired')),"
	" subject TEXT NOT NULL, asked_by TEXT NOT NULL,"
	" principal TEXT NOT NULL, tool TEXT NOT NULL, tier TEXT NOT NULL, client TEXT,"
	" nonce TEXT NOT NULL, head TEXT NOT NULL,"
	" created INTEGER NOT NULL, expires INTEGER NOT NULL, boot TEXT NOT NULL,"
	" booted INTEGER NOT NULL,"
	" text BLOB NOT NULL, text_sha256 TEXT NOT NULL,"
	" threshold INTEGER NOT NULL, user_verification INTEGER NOT NULL,"
	" signed INTEGER NOT NULL DEFAULT 0," /* people */
	" why TEXT NOT NULL, lost TEXT NOT NULL, mac TEXT NOT NULL,"
	" call TEXT, claimed INTEGER, round INTEGER NOT NULL DEFAULT 0,"
	" denied_by TEXT, denied INTEGER, reason TEXT, resolved_by TEXT,"
	" CHECK (state NOT IN ('approved','claimed') OR (threshold > 0 AND signed >= threshold))"
	") STRICT;"
	"CREATE TABLE signature ("
	" number INTEGER PRIMARY KEY,"
	" approval TEXT NOT NULL REFERENCES approval (id),"
	" signer TEXT NOT NULL, key_sha256 TEXT NOT NULL, armor BLOB NOT NULL, at INTEGER NOT NULL,"
	" UNIQUE (approval, key_sha256)"
	") STRICT;"
	"CREATE TABLE key (sha256 TEXT PRIMARY KEY, counter INTEGER NOT NULL) STRICT,"
	" WITHOUT ROWID;"
	"CREATE UNIQUE INDEX approval_open ON approval (subject)"
	" WHERE state IN ('waiting','approved');"
	"CREATE INDEX approval_subject ON approval (subject, number);"
	"CREATE TABLE consumption ("
	" approval TEXT NOT NULL REFERENCES approval (id), round INTEGER NOT NULL,"
	" call TEXT NOT NULL UNIQUE, at INTEGER NOT NULL,"
	" PRIMARY KEY (approval, round)"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE clock (one INTEGER PRIMARY KEY CHECK (one = 1), seen INTEGER NOT NULL,"
	" told INTEGER NOT NULL) STRICT;" /* when people were told last that something waits */
	"INSERT INTO clock VALUES (1, 0, 0);";

#define COLUMNS                                                                                    \
	"id, number, state, subject, asked_by, principal, tool, tier, client, nonce, head, "       \
	"created, expires, boot, booted, text, text_sha256, threshold, user_verification, why, "   \
	"lost, call, round, reason, resolved_by, mac"

static const char *const status_names[] = {"waiting", "approved", "claimed", "denied", "expired"};

const char *approval_status_name(enum approval_status status)
{
	return status < ARRAY_LEN(status_names) ? status_names[status] : "expired";
}

static enum approval_status parse_status(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(status_names); i++)
		if (name != NULL && strcmp(name, status_names[i]) == 0)
			return (enum approval_status)i;
	return APPROVAL_EXPIRED;
}

int approvals_open(struct approvals *approvals, const struct state *state, const struct secret *key,
		   const struct config *config, int in_account, struct sbx_error *err)
{
	const struct store_schema schema = {
		.application_id = application_id, .version = 3, .sql = schema_sql};

	*approvals = (struct approvals){
		.state = state,
		.key = key,
		.config = config,
		.in_account = in_account,
		.level = !in_account && config->same_account == SAME_ACCOUNT_FILE ? REVIEW_LEVEL_0
										  : REVIEW_SEPARATE,
	};
	if (approvers_load(config, &approvals->approvers, err) < 0)
		return -1;
	approvals->store = store_open(state->fd, "approvals.db", &schema, err);
	return approvals->store != NULL ? 0 : -1;
}

void approvals_close(struct approvals *approvals)
{
	store_close(take_ptr(&approvals->store));
	approvers_clear(&approvals->approvers);
}

void approval_clear(struct approval *approval)
{
	free(approval->text);
	for (size_t i = 0; i < approval->signature_count; i++)
		free(approval->signatures[i].armor);
	*approval = (struct approval){.status = APPROVAL_EXPIRED};
}

#define COPY_TEXT(field, column)                                                                                       \
	snprintf(field, sizeof field, "%s", store_row_text(from, column) ? store_row_text(from, column) : "")

static int copy_bytes(const struct store_row *from, int column, char **out, size_t *out_len, struct sbx_error *err)
{
	size_t len;
	const void *bytes = store_row_bytes(from, column, &len);

	*out_len = len;
	*out = NULL;
	if (bytes == NULL)
		return 0;
	*out = malloc(len + 1);
	if (*out == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	memcpy(*out, bytes, len);
	(*out)[len] = '\0';
	return 0;
}

static int copy_row(const struct approvals *approvals, const struct store_row *from, struct approval *to,
		    struct sbx_error *err)
{
	approval_clear(to);
	COPY_TEXT(to->id, 0);
	to->number = store_row_number(from, 1);
	to->status = parse_status(store_row_text(from, 2));
	COPY_TEXT(to->subject, 3);
	COPY_TEXT(to->asked_by, 4);
	COPY_TEXT(to->principal, 5);
	COPY_TEXT(to->tool, 6);
	COPY_TEXT(to->tier, 7);
	COPY_TEXT(to->client, 8);
	COPY_TEXT(to->nonce, 9);
	COPY_TEXT(to->head, 10);
	to->created = store_row_number(from, 11);
	to->expires = store_row_number(from, 12);
	COPY_TEXT(to->boot, 13);
	to->booted = store_row_number(from, 14);
	COPY_TEXT(to->text_sha256, 16);
	to->terms.threshold = store_row_number(from, 17);
	to->terms.user =
		store_row_number(from, 18) != 0 ? SSHSIG_USER_VERIFIED : SSHSIG_USER_PRESENT;
	COPY_TEXT(to->why, 19);
	COPY_TEXT(to->lost, 20);
	COPY_TEXT(to->call, 21);
	to->round = store_row_number(from, 22);
	COPY_TEXT(to->reason, 23);
	COPY_TEXT(to->resolved_by, 24);
	to->is_edited = !approval_is_genuine(approvals, to, store_row_text(from, 25));
	return copy_bytes(from, 15, &to->text, &to->text_len, err);
}

static int take_signature(const struct store_row *from, void *context, struct sbx_error *err)
{
	struct approval *to = context;
	struct approval_signature *one = &to->signatures[to->signature_count];

	COPY_TEXT(one->signer, 0);
	COPY_TEXT(one->key_sha256, 1);
	if (copy_bytes(from, 2, &one->armor, &one->armor_len, err) < 0)
		return -1;
	to->signature_count++;
	return to->signature_count == ARRAY_LEN(to->signatures);
}

/* The row and what was signed for it. */
static int copy_whole(struct approvals *approvals, const struct store_row *from,
		      struct approval *to, struct sbx_error *err)
{
	if (copy_row(approvals, from, to, err) < 0)
		return -1;
	const struct store_value values[] = {store_text(to->id)};
	return store_query(approvals->store,
			   "SELECT signer, key_sha256, armor FROM signature WHERE approval = "
			   "?1 ORDER BY number",
			   values, 1, take_signature, to, err) < 0
		       ? -1
		       : 0;
}

struct loading {
	struct approvals *approvals;
	struct approval *row;
};

static int load_one(const struct store_row *from, void *context, struct sbx_error *err)
{
	struct loading *loading = context;

	return copy_whole(loading->approvals, from, loading->row, err) < 0 ? -1 : 1;
}

int approval_load(struct approvals *approvals, const char *where, const struct store_value *values, size_t count,
		  struct approval *row, struct sbx_error *err)
{
	struct loading loading = {approvals, row};
	char sql[1024];

	approval_clear(row);
	snprintf(sql, sizeof sql, "SELECT " COLUMNS " FROM approval WHERE %s", where);
	return store_query(approvals->store, sql, values, count, load_one, &loading, err);
}

int approval_clock_read(struct approval_clock *clock, struct sbx_error *err)
{
	auto_fd fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	struct timespec boot;
	ssize_t n;

	/* A proc file: its size is 0, one read gives it whole. */
	if (fd < 0 || (n = read(fd, clock->boot, sizeof clock->boot - 1)) <= 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot read the boot id");
	clock->boot[n] = '\0';
	clock->boot[strcspn(clock->boot, "\n")] = '\0';
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock->booted = boot.tv_sec;
	clock->wall = clock_seconds();
	return 0;
}

static int has_ended_at(const struct approval *row, const struct approval_clock *now)
{
	if (!(row->expires > now->wall) || row->expires - row->created > LIMIT_APPROVAL_S)
		return 1;
	/* A wall clock that is set back gives no time: within one boot the other clock counts too. */
	return strcmp(row->boot, now->boot) == 0 && now->booted - row->booted >= row->expires - row->created;
}

int approval_has_ended(const struct approval *row)
{
	struct approval_clock now;
	struct sbx_error ignored = SBX_ERROR_INIT;

	return approval_clock_read(&now, &ignored) < 0 || has_ended_at(row, &now);
}

int approval_check_time(const struct approval *row, struct sbx_error *err)
{
	struct approval_clock now;

	if (approval_clock_read(&now, err) < 0)
		return -1;
	if (has_ended_at(row, &now))
		return approval_fail_ended(err);
	if (row->created <= now.wall + APPROVAL_CLOCK_SLACK_S)
		return 0;
	sbx_fail(err, SBX_DENIED, "approval_not_yet",
		 "the clock is behind the time at which this approval was asked for");
	return sbx_hint(err, "set the clock right");
}

int approval_fail_clock(struct sbx_error *err)
{
	sbx_fail(err, SBX_OS, "clock_went_back", "the clock is behind a time at which an approval was handled before");
	return sbx_hint(err, "set the clock right; approvals rest until it is");
}

static int move_clock(struct approvals *approvals, int64_t now, struct sbx_error *err)
{
	const struct store_value values[] = {store_number(now), store_number(now + APPROVAL_CLOCK_SLACK_S)};
	int64_t changed = 0;

	if (store_run(approvals->store, "UPDATE clock SET seen = max(seen, ?1) WHERE one = 1 AND seen <= ?2", values, 2,
		      &changed, err) < 0)
		return -1;
	return changed == 1 ? 0 : approval_fail_clock(err);
}

/* How many rows were closed, or -1. */
static int close_ended(struct approvals *approvals, const struct approval_clock *now, struct sbx_error *err)
{
	const struct store_value limits[] = {store_number(now->wall), store_text(now->boot), store_number(now->booted)};
	auto_approval row = {0};

	for (int closed = 0;; closed++) {
		int found = approval_load(approvals,
					  "state IN ('waiting','approved') AND (NOT expires > ?1 OR (boot = ?2 AND ?3 "
					  "- booted >= expires - created))"
					  " ORDER BY number LIMIT 1",
					  limits, ARRAY_LEN(limits), &row, err);
		if (found <= 0)
			return found < 0 ? -1 : closed;
		auto_jv details = json_set_str(jv_object(), "approval", row.id);
		const struct store_value values[] = {store_text(row.id)};
		if (store_run(approvals->store, "UPDATE approval SET state = 'expired' WHERE id = ?1", values, 1, NULL,
			      err) < 0 ||
		    audit_append(approvals->state, AUDIT_OUTCOME, "approval.expired", row.asked_by, details, err) < 0)
			return -1;
	}
}

int approval_begin(struct approvals *approvals, struct approval_clock *clock, struct sbx_error *err)
{
	for (;;) {
		if (store_begin(approvals->store, err) < 0)
			return -1;
		/* The time is read behind the lock: whoever waited for it does not bring an old one. */
		int closed = -1;
		if (approval_clock_read(clock, err) == 0 && move_clock(approvals, clock->wall, err) == 0)
			closed = close_ended(approvals, clock, err);
		if (closed == 0)
			return 0;
		if (closed < 0) {
			store_rollback(approvals->store);
			return -1;
		}
		/* Kept whatever becomes of the caller's change: the events are in the record. */
		if (store_commit(approvals->store, err) < 0)
			return -1;
	}
}

int approval_reload(struct approvals *approvals, struct approval *row, struct sbx_error *err)
{
	char id[STATE_ID_SIZE];

	memcpy(id, row->id, sizeof id);
	const struct store_value values[] = {store_text(id)};
	int found = approval_load(approvals, "id = ?1", values, 1, row, err);
	return found == 1  ? 0
	       : found < 0 ? -1
			   : sbx_fail(err, SBX_NO_INPUT, "approval_unknown", "the approval is gone");
}

struct search {
	struct approvals *approvals;
	struct approval *row;
	int found;
};

static int take_match(const struct store_row *from, void *context, struct sbx_error *err)
{
	struct search *search = context;

	if (search->found++ > 0)
		return 0;
	return copy_whole(search->approvals, from, search->row, err);
}

int approval_find(struct approvals *approvals, const char *prefix, struct approval *row, struct sbx_error *err)
{
	const struct store_value values[] = {store_text(prefix)};
	struct search search = {.approvals = approvals, .row = row};
	size_t len = strlen(prefix);

	if (len < PREFIX_MIN || len >= STATE_ID_SIZE || strspn(prefix, "0123456789abcdef") != len) {
		sbx_fail(err, SBX_USAGE, "bad_id",
			 "an approval's id has 32 hex digits, of which the first %d or more may stand", PREFIX_MIN);
		return sbx_hint(err, "sbx-approve list shows them");
	}
	if (store_query(approvals->store,
			"SELECT " COLUMNS " FROM approval WHERE substr(id, 1, length(?1)) = ?1 LIMIT 2", values, 1,
			take_match, &search, err) < 0)
		return -1;
	if (search.found == 1)
		return 0;
	if (search.found > 1)
		return sbx_fail(err, SBX_BAD_REQUEST, "approval_ambiguous",
				"more than one approval's id begins like that");
	sbx_fail(err, SBX_NO_INPUT, "approval_unknown", "there is no approval with this id");
	return sbx_hint(err, "sbx-approve list shows those that are open");
}

struct listing {
	struct approvals *approvals;
	int (*each)(const struct approval *row, void *context, struct sbx_error *err);
	void *context;
	struct approval_clock now;
};

static int list_row(const struct store_row *from, void *context, struct sbx_error *err)
{
	struct listing *listing = context;
	auto_approval row = {0};

	if (copy_whole(listing->approvals, from, &row, err) < 0)
		return -1;
	return has_ended_at(&row, &listing->now) ? 0 : listing->each(&row, listing->context, err);
}

int approval_each(struct approvals *approvals,
		  int (*each)(const struct approval *row, void *context, struct sbx_error *err), void *context,
		  struct sbx_error *err)
{
	struct listing listing = {.approvals = approvals, .each = each, .context = context};

	if (approval_clock_read(&listing.now, err) < 0)
		return -1;
	return store_query(approvals->store,
			   "SELECT " COLUMNS " FROM approval WHERE state IN ('waiting','approved') ORDER BY number",
			   NULL, 0, list_row, &listing, err) < 0
		       ? -1
		       : 0;
}
