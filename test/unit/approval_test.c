/* approval: one open row for a subject, signed by a key that counts, claimed once. Real SQLite, real ssh-keygen, real
 * processes. */
#include "approval.h"
#include "approval_row.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "audit.h"
#include "call.h"
#include "clock.h"
#include "desk.h"
#include "desk_export.h"
#include "io.h"
#include "notify.h"
#include "refused.h"
#include "spawn.h"
#include "sshsig.h"
#include "unit.h"

enum { RACERS = 8 };

static char dir[] = "/tmp/sbx-approval-XXXXXX";
static char beside[4096], signers[128], people[128];
static struct state state = STATE_NONE;
static struct secret key = SECRET_INIT;

static jv parse(const char *text)
{
	struct sbx_error err = SBX_ERROR_INIT;
	jv value;

	if (json_parse(text, strlen(text), LIMIT_CALL, &value, &err) < 0)
		printf("# %s: %s\n", err.code, err.message);
	return value;
}

/* The call of a tool with parameter NAME; its id is fresh. */
static jv make_call(const char *name, const char *client, int threshold)
{
	char id[STATE_ID_SIZE], subject_sha256[65];
	static const char decision[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
	struct sbx_error err = SBX_ERROR_INIT;
	jv params = json_set_str(jv_object(), "name", name);

	io_random_hex(id, 16);
	jv subject = json_set_str(json_set_str(jv_object(), "installation", state.installation), "principal", "agent");
	subject = json_set(json_set_str(subject, "tool", "drop"), "params", jv_copy(params));
	auto_jv whole = json_set_str(json_set(subject, "plan", jv_null()), "decision", decision);
	json_digest(whole, subject_sha256, &err);
	jv approval = json_set_int(json_set_int(jv_object(), "threshold", threshold), "ttl_s", 1800);
	jv policy = parse("{\"effect\":\"approve\",\"tier\":\"high\",\"rule\":\"tool:drop\",\"run\":{\"driver\":"
			  "\"local\",\"require\":\"local\"}}");
	policy = json_set_str(json_set_str(policy, "decision_sha256", decision), "subject_sha256", subject_sha256);
	policy = json_set(policy, "approval", approval);
	jv call = json_set_str(json_set_str(jv_object(), "id", id), "tool", "drop");
	call = json_set(json_set(call, "params", params), "principal",
			parse("{\"name\":\"agent\",\"uid\":0,\"via\":\"uid\"}"));
	call = json_set_str(call, "client", client);
	return json_set(json_set(json_set_int(jv_object(), "sbx", 1), "call", call), "policy", policy);
}

static void open_as(struct approvals *approvals, enum same_account setting, int in_account)
{
	static struct config kept[2]; /* one for each setting of the people that a test has open */
	static size_t turn;
	struct config *config = &kept[turn++ % ARRAY_LEN(kept)];
	struct sbx_error err = SBX_ERROR_INIT;

	*config = (struct config){.allowed_signers = signers, .approvers = people, .same_account = setting};
	if (approvals_open(approvals, &state, &key, config, in_account, &err) < 0)
		printf("# %s: %s\n", err.code, err.message);
}

static void sql(const char *text)
{
	char path[128];
	sqlite3 *db;
	char *message = NULL;

	snprintf(path, sizeof path, "%s/var/approvals.db", dir);
	sqlite3_open(path, &db);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
		printf("# %s\n", message);
	sqlite3_free(message);
	sqlite3_close(db);
}

/* As whoever has the key of the seals could edit a row: what a deeper check is for. */
static void genuine(struct approvals *approvals, struct approval *row)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char mac[65], text[200];

	CHECK(approval_reload(approvals, row, &err) == 0 && row->is_edited);
	CHECK(approval_mac(approvals, row, mac, &err) == 0);
	snprintf(text, sizeof text, "UPDATE approval SET mac = '%s' WHERE id = '%s'", mac, row->id);
	sql(text);
	CHECK(approval_reload(approvals, row, &err) == 0 && !row->is_edited);
}

/* A principal has five at once: what the tests before left is closed. */
static void close_all(void)
{
	sql("UPDATE approval SET state = 'expired' WHERE state IN ('waiting','approved')");
}

static int run(const char *const *argv, const char *input, size_t len, struct buf *out)
{
	const struct spawn what = {.path = argv[0], .argv = argv};
	struct sbx_error err = SBX_ERROR_INIT;
	int status = -1;

	spawn_capture(&what, input, len, out, clock_mono_ms() + 30000, &status, &err);
	return status;
}

static void sign_with(const char *name, const char *name_space, const char *text, size_t len, struct buf *out)
{
	char path[128];
	const char *const argv[] = {"/usr/bin/ssh-keygen", "-q", "-Y", "sign", "-n", name_space, "-f", path, NULL};

	snprintf(path, sizeof path, "%s/%s", dir, name);
	buf_reset(out);
	CHECK(run(argv, text, len, out) == 0);
}

static void make_signer(const char *name, const char *file)
{
	char path[128], public_path[160];
	const char *const argv[] = {"/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path, NULL};
	auto_buf out = BUF_INIT(4096);
	auto_free char *line = NULL;
	struct sbx_error err = SBX_ERROR_INIT;
	size_t len;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	snprintf(public_path, sizeof public_path, "%s.pub", path);
	if (access(path, F_OK) != 0)
		CHECK(run(argv, NULL, 0, &out) == 0);
	if (file == NULL)
		return;
	CHECK(io_read_file(AT_FDCWD, public_path, 4096, 0, &line, &len, &err) == 0);
	auto_fd fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	CHECK(dprintf(fd, "%s namespaces=\"" SSHSIG_NAMESPACE "\" %s", name, line) > 0);
}

/* A review of CALL, which it owns. */
static void review_of(jv call, enum review_level level, struct review *review)
{
	struct sbx_error err = SBX_ERROR_INIT;

	review_load(&state, &key, call, level, review, &err);
	jv_free(call);
}

static const char *code_of(int result, const struct sbx_error *err)
{
	return result == 0 ? "" : err->code;
}

static const char *meet(struct approvals *approvals, const struct review *review, struct approval *row)
{
	static struct sbx_error err;
	char subject[65];

	err = (struct sbx_error)SBX_ERROR_INIT;
	if (review_subject(review, subject, &err) < 0)
		return err.code;
	return code_of(approval_meet(approvals, review, subject, row, &err), &err);
}

static const char *accept_by(struct approvals *approvals, const char *name, struct approval *row)
{
	static struct sbx_error err;
	auto_buf armor = BUF_INIT(SSHSIG_MAX);

	err = (struct sbx_error)SBX_ERROR_INIT;
	sign_with(name, SSHSIG_NAMESPACE, row->text, row->text_len, &armor);
	return code_of(approval_accept(approvals, row, armor.data, armor.len, &err), &err);
}

static const char *check(struct approvals *approvals, const struct review *review, struct approval *row)
{
	static struct sbx_error err;

	err = (struct sbx_error)SBX_ERROR_INIT;
	return code_of(approval_check(approvals, row, review, &err), &err);
}

static const char *claim(struct approvals *approvals, struct approval *row, const char *call)
{
	static struct sbx_error err;

	err = (struct sbx_error)SBX_ERROR_INIT;
	return code_of(approval_claim(approvals, row, call, &err), &err);
}

static int take_event(jv event, void *context, struct sbx_error *err)
{
	const char *name = json_str(event, "event");
	char **list = context, *longer = NULL;

	if (name == NULL || strncmp(name, "approval.", 9) != 0)
		return 0;
	if (asprintf(&longer, "%s%s ", *list, name + 9) < 0)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	free(*list);
	*list = longer;
	return 0;
}

/* The approval events of a call, in their order. */
static char *events(const char *call)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char *list = strdup("");

	audit_each(&state, call, take_event, &list, &err);
	return list;
}

static void test_life(void)
{
	auto_approvals approvals = {0};
	auto_approval row = {0}, again = {0}, spent = {0};
	auto_review review = REVIEW_INIT, same = REVIEW_INIT, other = REVIEW_INIT;
	struct sbx_error err = SBX_ERROR_INIT;

	open_as(&approvals, SAME_ACCOUNT_FILE, 0);
	review_of(make_call("life", "one", 1), approvals.level, &review);
	review_of(make_call("life", "two", 1), approvals.level, &same);
	review_of(make_call("life2", "one", 1), approvals.level, &other);
	CHECK_STR(meet(&approvals, &review, &row), "");
	CHECK(row.status == APPROVAL_WAITING && state_is_id(row.id) && row.number == 1 && !approval_has_ended(&row));
	CHECK(row.expires - row.created == LIMIT_APPROVAL_S && strncmp(row.text, "L0: ", 4) == 0);
	/* The same call again, with another client's name, meets the same row; the text keeps the first one's claim. */
	CHECK_STR(meet(&approvals, &same, &again), "");
	CHECK_STR(again.id, row.id);
	CHECK_STR(claim(&approvals, &again, call_id(same.call)), "approval_mismatch");
	CHECK_STR(check(&approvals, &same, &again), "approval_incomplete");
	CHECK_STR(accept_by(&approvals, "alice", &row), "");
	CHECK(row.status == APPROVAL_APPROVED);
	CHECK(row.people.count == 1);
	CHECK_STR(row.people.who[0].signer, "alice");
	CHECK_STR(accept_by(&approvals, "alice", &row), "approval_not_waiting");
	CHECK_STR(meet(&approvals, &same, &again), "");
	CHECK(again.status == APPROVAL_APPROVED);
	/* Another call does not give this text. */
	CHECK_STR(check(&approvals, &other, &again), "approval_mismatch");
	CHECK_STR(check(&approvals, &same, &again), "");
	CHECK_STR(claim(&approvals, &again, call_id(same.call)), "");
	CHECK(again.status == APPROVAL_CLAIMED);
	CHECK_STR(claim(&approvals, &row, call_id(review.call)), "approval_in_use");
	auto_free char *first = events(call_id(review.call)), *second = events(call_id(same.call));
	CHECK_STR(first, "requested granted ");
	CHECK_STR(second, "claimed ");
	/* Spent: the next one asks anew. */
	CHECK_STR(meet(&approvals, &review, &spent), "");
	CHECK(spent.status == APPROVAL_WAITING && spent.number == 2 && strcmp(spent.id, again.id) != 0);
	/* Two rows cannot be found by one prefix, one can. */
	auto_approval found = {0};
	char prefix[7];
	snprintf(prefix, sizeof prefix, "%.6s", row.id);
	CHECK(approval_find(&approvals, prefix, &found, &err) == 0 && strcmp(found.id, row.id) == 0);
	CHECK(approval_find(&approvals, "12345", &found, &err) == -1 && strcmp(err.code, "bad_id") == 0);
	sbx_error_clear(&err);
	CHECK(approval_find(&approvals, "%%%%%%", &found, &err) == -1 && strcmp(err.code, "bad_id") == 0);
	sbx_error_clear(&err);
	CHECK(approval_find(&approvals, "ffffffffffffffffffffffffffffffff", &found, &err) == -1 &&
	      strcmp(err.code, "approval_unknown") == 0);
}

/* A row that is approved by alice, for the call of REVIEW. */
static void approved(struct approvals *approvals, const char *name, struct review *review, struct approval *row)
{
	review_of(make_call(name, NULL, 1), approvals->level, review);
	CHECK_STR(meet(approvals, review, row), "");
	CHECK_STR(accept_by(approvals, "alice", row), "");
}

/* What somebody who can write the database can do: block, not forge. */
#define APPROVED "(SELECT id FROM approval WHERE state = 'approved')"
static void test_edits(void)
{
	static const struct {
		const char *sql, *code;
	} edits[] = {
		{"UPDATE approval SET text = CAST(replace(CAST(text AS TEXT), '\"edit', '\"Edit') AS BLOB) WHERE state "
		 "= 'approved'",
		 "approval_mismatch"},
		{"UPDATE approval SET text_sha256 = subject WHERE state = 'approved'", "approval_mismatch"},
		{"UPDATE approval SET expires = expires + 30, created = created + 30 WHERE state = 'approved'",
		 "approval_mismatch"},
		{"UPDATE approval SET expires = expires + 1000, created = created + 1000 WHERE state = 'approved'",
		 "approval_not_yet"},
		{"UPDATE approval SET expires = expires + 1 WHERE state = 'approved'", "approval_expired"},
		{"UPDATE approval SET nonce = id WHERE state = 'approved'", "approval_mismatch"},
		{"UPDATE approval SET number = number + 500 WHERE state = 'approved'", "approval_mismatch"},
		{"UPDATE approval SET head = text_sha256 WHERE state = 'approved'", "approval_mismatch"},
		{"UPDATE approval SET client = 'me' WHERE state = 'approved'", "approval_mismatch"},
		{"UPDATE approval SET principal = 'me' WHERE state = 'approved'", "approval_mismatch"},
		{"UPDATE approval SET lost = 'x' WHERE state = 'approved'", "approval_edited"},
		{"UPDATE approval SET why = 'harmless' WHERE state = 'approved'", "approval_edited"},
		{"UPDATE approval SET tier = 'low' WHERE state = 'approved'", "approval_edited"},
		{"UPDATE approval SET tool = 'low' WHERE state = 'approved'", "approval_edited"},
		{"UPDATE approval SET boot = 'x' WHERE state = 'approved'", "approval_edited"},
		{"UPDATE approval SET booted = booted + 1 WHERE state = 'approved'", "approval_edited"},
		{"UPDATE approval SET user_verification = 1 WHERE state = 'approved'", "approval_edited"},
		{"UPDATE approval SET asked_by = id WHERE state = 'approved'", "approval_edited"},
		{"UPDATE approval SET mac = upper(mac) WHERE state = 'approved'", "approval_edited"},
		{"UPDATE signature SET armor = x'00' WHERE approval = " APPROVED, "signature_malformed"},
		{"UPDATE signature SET signer = 'bob' WHERE approval = " APPROVED, "approval_mismatch"},
		{"UPDATE signature SET key_sha256 = '' WHERE approval = " APPROVED, "approval_mismatch"},
		{"UPDATE signature SET armor = (SELECT armor FROM signature ORDER BY number LIMIT 1) WHERE approval = " APPROVED,
		 "signature_invalid"},
		{"DELETE FROM signature WHERE approval = " APPROVED, "approval_incomplete"},
	};

	for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
		auto_approvals approvals = {0};
		auto_approval row = {0};
		auto_review review = REVIEW_INIT;
		char name[32];
		open_as(&approvals, SAME_ACCOUNT_FILE, 0);
		snprintf(name, sizeof name, "edit %zu", i);
		approved(&approvals, name, &review, &row);
		CHECK_STR(check(&approvals, &review, &row), "");
		sql(edits[i].sql);
		struct sbx_error err = SBX_ERROR_INIT;
		CHECK(approval_reload(&approvals, &row, &err) == 0);
		printf("# edit %zu\n", i);
		CHECK_STR(check(&approvals, &review, &row), edits[i].code);
		sql("UPDATE approval SET state = 'expired' WHERE state = 'approved'");
	}
}

/* The row of another call, moved under this call's subject; and a row that is changed between check and claim. */
static void test_swaps(void)
{
	auto_approvals approvals = {0};
	auto_approval row = {0}, stolen = {0}, fresh = {0};
	auto_review review = REVIEW_INIT, victim = REVIEW_INIT;
	char text[400], subject[65];
	struct sbx_error err = SBX_ERROR_INIT;

	open_as(&approvals, SAME_ACCOUNT_FILE, 0);
	approved(&approvals, "harmless", &review, &row);
	review_of(make_call("harmful", NULL, 1), approvals.level, &victim);
	CHECK(review_subject(&victim, subject, &err) == 0);
	snprintf(text, sizeof text, "UPDATE approval SET subject = '%s' WHERE id = '%s'", subject, row.id);
	sql(text);
	CHECK_STR(meet(&approvals, &victim, &stolen), "");
	CHECK(stolen.status == APPROVAL_APPROVED);
	CHECK_STR(check(&approvals, &victim, &stolen), "approval_mismatch");
	snprintf(text, sizeof text, "UPDATE approval SET subject = '%s' WHERE id = '%s'", row.subject, row.id);
	sql(text);
	CHECK_STR(check(&approvals, &review, &row), "");
	snprintf(text, sizeof text, "UPDATE approval SET text = x'00' WHERE id = '%s'", row.id);
	sql(text);
	CHECK(strcmp(claim(&approvals, &row, call_id(review.call)), "") != 0);

	/* A claimed row that is set back to approved: the consumption stays. */
	auto_review second = REVIEW_INIT;
	approved(&approvals, "replay", &second, &fresh);
	CHECK_STR(claim(&approvals, &fresh, call_id(second.call)), "");
	snprintf(text, sizeof text, "UPDATE approval SET state = 'approved', call = NULL WHERE id = '%s'", fresh.id);
	sql(text);
	CHECK(approval_reload(&approvals, &fresh, &err) == 0 && fresh.status == APPROVAL_APPROVED);
	CHECK_STR(claim(&approvals, &fresh, "ffffffffffffffffffffffffffffffff"), "approval_spent");
}

static void test_time(void)
{
	auto_approvals approvals = {0};
	auto_approval row = {0}, next = {0};
	auto_review review = REVIEW_INIT, slow = REVIEW_INIT, other = REVIEW_INIT;
	struct sbx_error err = SBX_ERROR_INIT;

	open_as(&approvals, SAME_ACCOUNT_FILE, 0);
	approved(&approvals, "late", &review, &row);
	/* One second over, by the wall clock. */
	sql("UPDATE approval SET expires = CAST(strftime('%s') AS INTEGER) - 1, created = CAST(strftime('%s') AS "
	    "INTEGER) - 1801 WHERE state = 'approved'");
	CHECK(approval_reload(&approvals, &row, &err) == 0 && approval_has_ended(&row));
	CHECK_STR(check(&approvals, &review, &row), "approval_expired");
	CHECK_STR(claim(&approvals, &row, call_id(review.call)), "approval_expired");
	CHECK_STR(meet(&approvals, &review, &next), "");
	CHECK(next.status == APPROVAL_WAITING && strcmp(next.id, row.id) != 0);
	CHECK(approval_reload(&approvals, &row, &err) == 0 && row.status == APPROVAL_EXPIRED);
	auto_free char *told = events(row.asked_by);
	CHECK_STR(told, "requested granted expired requested ");

	/* Its time ended while somebody waited for a person: the row still says waiting, the answer is that it is over. */
	CHECK(next.status == APPROVAL_WAITING);
	sql("UPDATE approval SET expires = CAST(strftime('%s') AS INTEGER) - 1, created = CAST(strftime('%s') AS "
	    "INTEGER) - 1801 WHERE state = 'waiting'");
	CHECK(approval_reload(&approvals, &next, &err) == 0 && next.status == APPROVAL_WAITING);
	CHECK_STR(claim(&approvals, &next, call_id(review.call)), "approval_expired");

	/* The wall clock was set back: the boot clock has run on. */
	approved(&approvals, "set back", &slow, &row);
	sql("UPDATE approval SET booted = booted - 1801 WHERE state = 'approved'");
	CHECK(approval_reload(&approvals, &row, &err) == 0 && approval_has_ended(&row));
	CHECK_STR(claim(&approvals, &row, call_id(slow.call)), "approval_expired");
	/* After a reboot only the wall clock counts. */
	approved(&approvals, "reboot", &other, &row);
	sql("UPDATE approval SET booted = booted - 1801, boot = 'another' WHERE state = 'approved'");
	genuine(&approvals, &row);
	CHECK(!approval_has_ended(&row));
	CHECK_STR(check(&approvals, &other, &row), "");

	sql("UPDATE clock SET seen = CAST(strftime('%s') AS INTEGER) + 120");
	CHECK_STR(claim(&approvals, &row, call_id(other.call)), "clock_went_back");
	sql("UPDATE clock SET seen = CAST(strftime('%s') AS INTEGER) + 30");
	CHECK_STR(claim(&approvals, &row, call_id(other.call)), "");
	sql("UPDATE clock SET seen = 0");
}

static void test_denied(void)
{
	auto_approvals approvals = {0};
	auto_approval row = {0}, next = {0};
	auto_review review = REVIEW_INIT;
	struct sbx_error err = SBX_ERROR_INIT;

	open_as(&approvals, SAME_ACCOUNT_FILE, 0);
	approved(&approvals, "denied", &review, &row);
	CHECK(approval_deny(&approvals, &row, "carol", "not on a Friday", &err) == 0 && row.status == APPROVAL_DENIED);
	CHECK_STR(claim(&approvals, &row, call_id(review.call)), "approval_denied");
	CHECK(approval_deny(&approvals, &row, "carol", "", &err) == -1);
	CHECK_STR(err.code, "approval_not_open");
	CHECK_STR(accept_by(&approvals, "alice", &row), "approval_not_waiting");
	CHECK_STR(meet(&approvals, &review, &next), "");
	CHECK(next.status == APPROVAL_WAITING && strcmp(next.id, row.id) != 0);
	auto_free char *told = events(row.asked_by);
	CHECK_STR(told, "requested granted denied requested ");
}

/* A request that needs two people, in the toolkit's own account. */
static void ask_two(struct approvals *approvals, const char *name, struct review *review, struct approval *row)
{
	open_as(approvals, SAME_ACCOUNT_TOUCH, 1);
	review_of(make_call(name, NULL, 2), approvals->level, review);
	CHECK_STR(meet(approvals, review, row), "");
	CHECK(strstr(row->text, "Needs the signatures of 2 people\n") != NULL);
}

/* Five open ones, and a pause after a deny: per principal. */
static void test_limits(void)
{
	auto_approvals approvals = {0};
	auto_review review = REVIEW_INIT;
	auto_approval row = {0};
	struct sbx_error err = SBX_ERROR_INIT;
	char name[32];

	open_as(&approvals, SAME_ACCOUNT_FILE, 0);
	for (int i = 0; i < LIMIT_OPEN_APPROVALS; i++) {
		snprintf(name, sizeof name, "open %d", i);
		review_clear(&review);
		review_of(make_call(name, NULL, 1), approvals.level, &review);
		CHECK_STR(meet(&approvals, &review, &row), "");
	}
	/* The same one is met, another one is too many. */
	CHECK_STR(meet(&approvals, &review, &row), "");
	auto_review more = REVIEW_INIT;
	auto_approval none = {0};
	review_of(make_call("one more", NULL, 1), approvals.level, &more);
	CHECK_STR(meet(&approvals, &more, &none), "too_many_approvals");
	CHECK(none.id[0] == '\0');
	sql("UPDATE approval SET principal = 'another' WHERE state = 'waiting'");
	CHECK_STR(meet(&approvals, &more, &none), "");
	sql("UPDATE approval SET principal = 'agent' WHERE state = 'waiting'");
	close_all();

	/* Without a pause the same can be asked at once. */
	CHECK(approval_reload(&approvals, &none, &err) == 0);
	CHECK_STR(meet(&approvals, &more, &none), "");
	CHECK(approval_deny(&approvals, &none, "carol", "", &err) == 0);
	CHECK_STR(meet(&approvals, &more, &none), "");
	CHECK(approval_deny(&approvals, &none, "carol", "", &err) == 0);
	struct config paused = *approvals.config;
	paused.approval_pause_ms = 300 * 1000;
	approvals.config = &paused;
	CHECK_STR(meet(&approvals, &more, &none), "approval_paused");
	CHECK_STR(meet(&approvals, &review, &none), "approval_paused"); /* of the same tool */
	sql("UPDATE approval SET principal = 'another' WHERE state = 'denied'");
	CHECK_STR(meet(&approvals, &review, &none), "");
	sql("UPDATE approval SET principal = 'agent' WHERE state = 'denied'");
	CHECK_STR(meet(&approvals, &more, &none), "approval_paused");
	sql("UPDATE approval SET denied = denied - 300 WHERE state = 'denied'");
	CHECK_STR(meet(&approvals, &more, &none), "");
	auto_review last = REVIEW_INIT;
	review_of(make_call("the last", NULL, 1), approvals.level, &last);
	sql("UPDATE approval SET denied = denied + 300 WHERE state = 'denied'");
	CHECK_STR(meet(&approvals, &last, &none), "approval_paused");
	sql("UPDATE approval SET tool = 'another' WHERE state = 'denied'");
	CHECK_STR(meet(&approvals, &last, &none), "");
	sql("UPDATE approval SET denied = 0 WHERE state = 'denied'");
}

static void test_threshold(void)
{
	auto_approvals approvals = {0};
	auto_approval row = {0}, again = {0};
	auto_review review = REVIEW_INIT;
	struct sbx_error err = SBX_ERROR_INIT;

	ask_two(&approvals, "two people", &review, &row);
	auto_free char *text = strdup(row.text);
	CHECK_STR(accept_by(&approvals, "alice", &row), "");
	CHECK(row.status == APPROVAL_WAITING && row.people.count == 1);
	/* Who has signed changes nothing of what is signed. */
	CHECK_STR(row.text, text);
	CHECK_STR(meet(&approvals, &review, &again), "");
	CHECK(again.status == APPROVAL_WAITING);
	CHECK_STR(check(&approvals, &review, &again), "approval_incomplete");
	CHECK_STR(accept_by(&approvals, "alice", &row), "already_signed");
	CHECK_STR(accept_by(&approvals, "bob", &row), "");
	CHECK(row.status == APPROVAL_APPROVED && row.people.count == 2);
	CHECK_STR(check(&approvals, &review, &row), "");
	CHECK_STR(claim(&approvals, &row, call_id(review.call)), "");
	auto_free char *told = events(call_id(review.call));
	CHECK_STR(told, "requested signed granted claimed ");

	/* A row that was made to want fewer: the call knows better. */
	auto_approval few = {0};
	auto_review cheap = REVIEW_INIT;
	approvals_close(&approvals);
	ask_two(&approvals, "cheaper", &cheap, &few);
	sql("UPDATE approval SET threshold = 1 WHERE state = 'waiting'");
	CHECK(approval_reload(&approvals, &few, &err) == 0);
	CHECK_STR(accept_by(&approvals, "alice", &few), "approval_edited");
	genuine(&approvals, &few);
	CHECK_STR(accept_by(&approvals, "alice", &few), "");
	CHECK(few.status == APPROVAL_APPROVED);
	CHECK_STR(check(&approvals, &cheap, &few), "approval_incomplete");

	/* One deny ends it, whoever has signed. */
	auto_approval denied = {0};
	auto_review ended = REVIEW_INIT;
	approvals_close(&approvals);
	ask_two(&approvals, "denied by one", &ended, &denied);
	CHECK_STR(accept_by(&approvals, "alice", &denied), "");
	CHECK(approval_deny(&approvals, &denied, "carol", "", &err) == 0);
	CHECK_STR(accept_by(&approvals, "bob", &denied), "approval_not_waiting");
	close_all();
}

static void write_people(const char *text)
{
	struct sbx_error err = SBX_ERROR_INIT;

	unlink(people);
	if (text != NULL)
		CHECK(io_create_file(AT_FDCWD, people, text, strlen(text), &err) == 0);
}

static void test_people(void)
{
	auto_approvals approvals = {0};
	auto_approval row = {0}, own = {0};
	auto_review review = REVIEW_INIT, other = REVIEW_INIT;
	char revoked[160], public_key[160];

	make_signer("laptop", signers);
	write_people("people:\n  alice: {signers: [alice, laptop], accounts: [alice, agent]}\n  bob: {signers: [bob]}\n");
	ask_two(&approvals, "people", &review, &row);
	/* The requester's own account: same_account is touch, and this is a key file. */
	CHECK_STR(accept_by(&approvals, "alice", &row), "touch_required");
	CHECK_STR(accept_by(&approvals, "mallory", &row), "signer_unknown");
	CHECK_STR(accept_by(&approvals, "bob", &row), "");
	write_people("people:\n  alice: {signers: [alice, laptop]}\n  bob: {signers: [bob]}\n");
	approvals_close(&approvals);
	open_as(&approvals, SAME_ACCOUNT_TOUCH, 1);
	CHECK_STR(accept_by(&approvals, "alice", &row), "");
	CHECK(row.status == APPROVAL_APPROVED);
	CHECK_STR(check(&approvals, &review, &row), "");

	/* Two keys of one person are one person. */
	approvals_close(&approvals);
	ask_two(&approvals, "one person", &other, &own);
	CHECK_STR(accept_by(&approvals, "alice", &own), "");
	CHECK_STR(accept_by(&approvals, "laptop", &own), "already_signed");
	write_people("people:\n  alice: {signers: [alice]}\n  bob: {signers: [bob]}\n");
	approvals_close(&approvals);
	open_as(&approvals, SAME_ACCOUNT_TOUCH, 1);
	CHECK_STR(accept_by(&approvals, "laptop", &own), "signer_nobody");
	write_people(NULL);
	approvals_close(&approvals);
	open_as(&approvals, SAME_ACCOUNT_TOUCH, 1);
	CHECK_STR(accept_by(&approvals, "laptop", &own), "");
	CHECK_STR(check(&approvals, &other, &own), "");
	/* Where the file says afterwards that they are one, they are. */
	write_people("people:\n  alice: {signers: [alice, laptop]}\n");
	approvals_close(&approvals);
	open_as(&approvals, SAME_ACCOUNT_TOUCH, 1);
	CHECK_STR(check(&approvals, &other, &own), "approval_incomplete");
	write_people(NULL);
	approvals_close(&approvals);

	/* A key that is revoked while others are asked: its signature counts no more, and makes room. */
	auto_approval late = {0};
	auto_review third = REVIEW_INIT;
	struct sbx_error err = SBX_ERROR_INIT;
	ask_two(&approvals, "revoked", &third, &late);
	CHECK_STR(accept_by(&approvals, "laptop", &late), "");
	snprintf(revoked, sizeof revoked, "%s.revoked", signers);
	snprintf(public_key, sizeof public_key, "%s/laptop.pub", dir);
	CHECK(link(public_key, revoked) == 0);
	CHECK_STR(accept_by(&approvals, "bob", &late), "");
	CHECK(late.status == APPROVAL_WAITING && late.people.count == 1 && late.signature_count == 1);
	CHECK_STR(accept_by(&approvals, "alice", &late), "");
	CHECK(late.status == APPROVAL_APPROVED);
	unlink(revoked);
	/* And after both have signed: the claim looks again. */
	snprintf(public_key, sizeof public_key, "%s/bob.pub", dir);
	CHECK(link(public_key, revoked) == 0);
	CHECK_STR(check(&approvals, &third, &late), "signer_revoked");
	unlink(revoked);
	CHECK_STR(check(&approvals, &third, &late), "");
	CHECK_STR(claim(&approvals, &late, call_id(third.call)), "");

	/* What the file may not be. */
	static const char *const bad[] = {
		"people: []\n", "person: {}\n", "people: {a: []}\n", "people: {a: {signers: []}}\n", "people: {a: {}}\n",
		"people: {a: {signers: alice}}\n", "people: {a: {signers: [\"x y\"]}}\n", "people: {a: {signers: [1]}}\n",
		"people: {a: {signers: [x]}, b: {signers: [x]}}\n", "people: {a: {signers: [x, x]}}\n",
		"people: {a: {signers: [x], keys: [z]}}\n", "people: {a: {signers: [x], accounts: z}}\n",
		"people: {\"a b\": {signers: [x]}}\n", "people: {a: {signers: [x]}}\nmore: {}\n"};
	const struct config config = {.approvers = people};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		auto_approvers loaded = APPROVERS_INIT;
		sbx_error_clear(&err);
		write_people(bad[i]);
		CHECK(approvers_load(&config, &loaded, &err) == -1);
		CHECK_STR(err.code, "approvers_invalid");
		CHECK(err.class == SBX_CONFIG);
	}
	const struct config named = {.approvers = people, .approvers_named = 1};
	auto_approvers loaded = APPROVERS_INIT;
	sbx_error_clear(&err);
	write_people(NULL);
	CHECK(approvers_load(&config, &loaded, &err) == 0);
	CHECK(approvers_load(&named, &loaded, &err) == -1);
	CHECK_STR(err.code, "missing_file");
	sbx_error_clear(&err);
	write_people("people: {a: {signers: [x]}}\n");
	CHECK(approvers_load(&named, &loaded, &err) == 0 && approvers_has_account(&loaded, "a", "a") == 1);
	CHECK(approvers_has_account(&loaded, "a", "x") == 0);
	approvers_clear(&loaded);
	CHECK(chmod(people, 0666) == 0 && approvers_load(&named, &loaded, &err) == -1);
	CHECK_STR(err.code, "unsafe_file");
	write_people(NULL);
}

static void test_signers(void)
{
	auto_approvals approvals = {0};
	auto_approval row = {0};
	auto_review review = REVIEW_INIT;
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	struct sbx_error err = SBX_ERROR_INIT;

	open_as(&approvals, SAME_ACCOUNT_FILE, 0);
	review_of(make_call("signers", NULL, 1), approvals.level, &review);
	CHECK_STR(meet(&approvals, &review, &row), "");
	CHECK_STR(accept_by(&approvals, "mallory", &row), "signer_unknown");
	sign_with("alice", "git", row.text, row.text_len, &armor);
	CHECK_STR(code_of(approval_accept(&approvals, &row, armor.data, armor.len, &err), &err), "signature_namespace");
	sbx_error_clear(&err);
	sign_with("alice", SSHSIG_NAMESPACE, row.text, row.text_len - 1, &armor);
	CHECK_STR(code_of(approval_accept(&approvals, &row, armor.data, armor.len, &err), &err), "signature_invalid");
	CHECK_STR(accept_by(&approvals, "alice", &row), "");
	/* A key that is taken out of the trust file after it signed does not count any more. */
	CHECK(rename(signers, "/dev/null/x") < 0);
	char kept[160];
	snprintf(kept, sizeof kept, "%s.kept", signers);
	CHECK(rename(signers, kept) == 0);
	make_signer("mallory", signers);
	CHECK_STR(check(&approvals, &review, &row), "signer_unknown");
	CHECK(rename(kept, signers) == 0);
	CHECK_STR(check(&approvals, &review, &row), "");
}

static const char *accept_touched(struct approvals *approvals, const char *flags, struct approval *row)
{
	static struct sbx_error err;
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	static unsigned counter = 7; /* of the signature that makes the key */
	char path[128], program[4200], count[16];
	const char *const argv[] = {program, "ed25519", path, flags, SSHSIG_NAMESPACE, count, NULL};

	err = (struct sbx_error)SBX_ERROR_INIT;
	snprintf(count, sizeof count, "%u", ++counter);
	snprintf(path, sizeof path, "%s/touch", dir);
	snprintf(program, sizeof program, "%s/sksign", beside);
	CHECK(run(argv, row->text, row->text_len, &armor) == 0);
	return code_of(approval_accept(approvals, row, armor.data, armor.len, &err), &err);
}

/* Which keys count: setting × account × kind of key. */
static void test_key_rules(void)
{
	static const struct {
		enum same_account setting;
		int in_account;
		const char *file, *untouched, *touched;
	} rules[] = {
		{SAME_ACCOUNT_TOUCH, 0, "touch_required", "touch_required", ""},
		{SAME_ACCOUNT_REFUSE, 0, "same_account", "touch_required", "same_account"},
		{SAME_ACCOUNT_FILE, 0, "", "touch_required", ""},
		{SAME_ACCOUNT_TOUCH, 1, "", "touch_required", ""},
		{SAME_ACCOUNT_REFUSE, 1, "", "touch_required", ""},
		{SAME_ACCOUNT_FILE, 1, "", "touch_required", ""},
	};

	{
		/* The key is made, and becomes a signer. */
		auto_buf armor = BUF_INIT(SSHSIG_MAX);
		char path[128], program[4200];
		const char *const argv[] = {program, "ed25519", path, "1", SSHSIG_NAMESPACE, NULL};
		snprintf(path, sizeof path, "%s/touch", dir);
		snprintf(program, sizeof program, "%s/sksign", beside);
		CHECK(run(argv, "x", 1, &armor) == 0);
		make_signer("touch", signers);
	}
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		for (int kind = 0; kind < 3; kind++) {
			auto_approvals approvals = {0}, tightened = {0};
			auto_approval row = {0};
			auto_review review = REVIEW_INIT;
			char name[32];
			open_as(&approvals, rules[i].setting, rules[i].in_account);
			close_all();
			snprintf(name, sizeof name, "rule %zu %d", i, kind);
			review_of(make_call(name, NULL, 1), approvals.level, &review);
			CHECK_STR(meet(&approvals, &review, &row), "");
			CHECK((strncmp(row.text, "L0: ", 4) == 0) ==
			      (rules[i].setting == SAME_ACCOUNT_FILE && !rules[i].in_account));
			const char *expected = kind == 0   ? rules[i].file
					       : kind == 1 ? rules[i].untouched
							   : rules[i].touched;
			const char *got = kind == 0 ? accept_by(&approvals, "alice", &row)
						    : accept_touched(&approvals, kind == 1 ? "0" : "1", &row);
			printf("# rule %zu, key %d\n", i, kind);
			CHECK_STR(got, expected);
			if (expected[0] != '\0')
				continue;
			CHECK_STR(check(&approvals, &review, &row), "");
			/* A setting that was tightened after the signature counts at the claim. */
			open_as(&tightened, SAME_ACCOUNT_REFUSE, 0);
			CHECK_STR(check(&tightened, &review, &row), "same_account");
		}
}

/* A child's memory of a secret is wiped: it reads its own. */
static void open_in_child(struct approvals *approvals)
{
	struct sbx_error err = SBX_ERROR_INIT;

	secret_clear(&key);
	CHECK(state_seal_key(&state, &key, &err) == 0);
	open_as(approvals, SAME_ACCOUNT_FILE, 0);
}

/* Eight processes that all checked the same row: one claims it. */
static void test_race(void)
{
	int ready[2], go[2], winners = 0, losers = 0;
	auto_approvals approvals = {0};
	auto_approval row = {0};
	auto_review review = REVIEW_INIT;
	char byte;

	open_as(&approvals, SAME_ACCOUNT_FILE, 0);
	approved(&approvals, "race", &review, &row);
	CHECK(pipe(ready) == 0 && pipe(go) == 0);
	approvals_close(&approvals);
	for (int i = 0; i < RACERS; i++) {
		if (fork() != 0)
			continue;
		char call[STATE_ID_SIZE];
		struct sbx_error err = SBX_ERROR_INIT;
		struct approvals mine = {0};
		io_random_hex(call, 16);
		open_in_child(&mine);
		if (write(ready[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(9);
		int got = approval_claim(&mine, &row, call, &err);
		_exit(got == 0 ? 0 : strcmp(err.code, "approval_in_use") == 0 ? 1 : 2);
	}
	for (int i = 0; i < RACERS; i++)
		CHECK(read(ready[0], &byte, 1) == 1);
	CHECK(write(go[1], "01234567", RACERS) == RACERS);
	for (int i = 0; i < RACERS; i++) {
		int status;
		CHECK(wait(&status) > 0);
		winners += WIFEXITED(status) && WEXITSTATUS(status) == 0;
		losers += WIFEXITED(status) && WEXITSTATUS(status) == 1;
	}
	CHECK(winners == 1 && losers == RACERS - 1);
}

/* Eight processes that ask for the same thing at once: one request. */
static void test_ask_race(void)
{
	auto_review review = REVIEW_INIT;
	char first[STATE_ID_SIZE] = "", id[STATE_ID_SIZE];
	int out[2];

	review_of(make_call("ask race", NULL, 1), REVIEW_LEVEL_0, &review);
	CHECK(pipe(out) == 0);
	for (int i = 0; i < RACERS; i++) {
		if (fork() != 0)
			continue;
		struct approvals mine = {0};
		struct approval row = {0};
		open_in_child(&mine);
		meet(&mine, &review, &row);
		_exit(write(out[1], row.id, sizeof row.id) != (ssize_t)sizeof row.id);
	}
	for (int i = 0; i < RACERS; i++) {
		int status;
		CHECK(read(out[0], id, sizeof id) == (ssize_t)sizeof id && state_is_id(id));
		if (first[0] == '\0')
			memcpy(first, id, sizeof first);
		CHECK_STR(id, first);
		CHECK(wait(&status) > 0);
	}
}

static int begin_call(const char *call, int *stage_fd)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int run_fd = state_run_create(&state, call, &err);

	*stage_fd = state_stage_begin(run_fd, "cred", &err);
	return run_fd;
}

static void test_release(void)
{
	auto_approvals approvals = {0};
	auto_approval row = {0}, second = {0}, third = {0};
	auto_review review = REVIEW_INIT, again = REVIEW_INIT, last = REVIEW_INIT;
	struct sbx_error err = SBX_ERROR_INIT;
	int stage;

	open_as(&approvals, SAME_ACCOUNT_FILE, 0);
	approved(&approvals, "release", &review, &row);
	auto_fd run_fd = begin_call(call_id(review.call), &stage);
	CHECK_STR(claim(&approvals, &row, call_id(review.call)), "");
	review_of(make_call("release", NULL, 1), approvals.level, &again);
	/* At work: nobody else, even with a proof. */
	CHECK_STR(meet(&approvals, &again, &second), "approval_in_use");
	CHECK(refused_write(&state, &key, run_fd, call_id(review.call), row.id, &err) == 0);
	CHECK_STR(meet(&approvals, &again, &second), "approval_in_use");
	close(stage);
	CHECK_STR(meet(&approvals, &again, &second), "");
	CHECK(second.status == APPROVAL_CLAIMED && strcmp(second.id, row.id) == 0);
	CHECK_STR(check(&approvals, &again, &second), "");
	auto_fd second_fd = begin_call(call_id(again.call), &stage);
	CHECK_STR(claim(&approvals, &second, call_id(again.call)), "");
	/* The proof was of the first call: it is worth nothing for the second. */
	close(stage);
	review_of(make_call("release", NULL, 1), approvals.level, &last);
	CHECK(linkat(run_fd, "refused", second_fd, "refused", 0) == 0);
	CHECK_STR(meet(&approvals, &last, &third), "");
	CHECK(third.status == APPROVAL_WAITING && strcmp(third.id, row.id) != 0);
	auto_free char *told = events(call_id(review.call)), *after = events(call_id(again.call));
	CHECK_STR(told, "requested granted claimed released ");
	CHECK_STR(after, "claimed ");
}

static void end_as(const char *call, const char *state_name)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv details = json_set_str(jv_object(), "state", state_name);

	CHECK(audit_append(&state, AUDIT_OUTCOME, "tool.result", call, details, &err) == 0);
}

static const char *resolve(struct approvals *approvals, struct approval *row)
{
	static struct sbx_error err;

	err = (struct sbx_error)SBX_ERROR_INIT;
	return code_of(approval_resolve(approvals, row, "dana", &err), &err);
}

/* What the record says of the call that claimed the last approval decides about the next one. */
static void test_outcome(void)
{
	auto_approvals approvals = {0};
	auto_approval row = {0}, next = {0}, known = {0};
	auto_review review = REVIEW_INIT, again = REVIEW_INIT, other = REVIEW_INIT;
	struct sbx_error err = SBX_ERROR_INIT;

	open_as(&approvals, SAME_ACCOUNT_FILE, 0);
	approved(&approvals, "outcome", &review, &row);
	CHECK_STR(resolve(&approvals, &row), "nothing_to_resolve");
	CHECK_STR(claim(&approvals, &row, call_id(review.call)), "");
	auto_fd run_fd = state_run_create(&state, call_id(review.call), &err);
	int stage = state_stage_begin(run_fd, "run", &err);
	review_of(make_call("outcome", NULL, 1), approvals.level, &again);
	CHECK_STR(meet(&approvals, &again, &next), "approval_in_use");
	CHECK_STR(resolve(&approvals, &row), "approval_in_use");
	/* It has died, and nobody has mended it yet. */
	close(stage);
	CHECK_STR(meet(&approvals, &again, &next), "outcome_unknown");
	end_as(call_id(review.call), "unknown");
	CHECK_STR(meet(&approvals, &again, &next), "outcome_unknown");
	/* The time of the approval does not tell either. */
	sql("UPDATE approval SET expires = expires - 1800, created = created - 1800 WHERE state = 'claimed'");
	CHECK_STR(meet(&approvals, &again, &next), "outcome_unknown");
	CHECK(approval_reload(&approvals, &row, &err) == 0);
	CHECK_STR(resolve(&approvals, &row), "");
	CHECK_STR(row.resolved_by, "dana");
	CHECK_STR(resolve(&approvals, &row), "nothing_to_resolve");
	CHECK_STR(meet(&approvals, &again, &next), "");
	CHECK(next.status == APPROVAL_WAITING);
	auto_free char *told = events(call_id(review.call));
	CHECK_STR(told, "requested granted claimed resolved ");

	approved(&approvals, "outcome 2", &other, &known);
	CHECK_STR(claim(&approvals, &known, call_id(other.call)), "");
	end_as(call_id(other.call), "failed");
	CHECK_STR(meet(&approvals, &other, &next), "");
	CHECK(next.status == APPROVAL_WAITING);
	CHECK(approval_reload(&approvals, &known, &err) == 0);
	CHECK_STR(known.resolved_by, "the record");
	CHECK_STR(resolve(&approvals, &known), "nothing_to_resolve");
}

/* The shortest address of those that hold data and go, as the text has it. */
static void test_lost(void)
{
	static const struct {
		const char *report, *lost;
	} reports[] = {
		{"{}", ""},
		{"{\"findings\":[{\"address\":\"a\",\"holds_data\":true,\"actions\":[\"update\"]}]}", ""},
		{"{\"findings\":[{\"address\":\"a\",\"actions\":[\"delete\"]}]}", ""},
		{"{\"findings\":[{\"address\":\"much_longer\",\"holds_data\":true,\"actions\":[\"delete\",\"create\"]},"
		 "{\"address\":\"a[\\\"x\\\"]\",\"holds_data\":true,\"actions\":[\"delete\"]}]}",
		 "a[\\\"x\\\"]"},
	};

	for (size_t i = 0; i < ARRAY_LEN(reports); i++) {
		auto_review review = REVIEW_INIT;
		char lost[REVIEW_LOST_SIZE];
		review.report = parse(reports[i].report);
		review_lost(&review, lost);
		CHECK_STR(lost, reports[i].lost);
	}
}

/* A desk may be anybody's: what it packs is taken apart with care. */
static void test_export(void)
{
	static const char *const bad[] = {"x",		"text 1\n", "text\nx", "../text 1\nx", "0.sig 1\nx", "10.sig 1\nx",
					  "text -1\nx", "text 01\nx", "text 1 \nx", "text 1\nxy", "README2 1\nx", "\n"};
	const char *bytes = "text 3\na\nb1.sig 0\n", *content;
	char name[DESK_EXPORT_NAME_SIZE];
	struct sbx_error err = SBX_ERROR_INIT;
	size_t len = strlen(bytes), content_len;

	CHECK(desk_export_next(&bytes, &len, name, &content, &content_len, &err) == 1);
	CHECK(strcmp(name, "text") == 0 && content_len == 3 && memcmp(content, "a\nb", 3) == 0);
	CHECK(desk_export_next(&bytes, &len, name, &content, &content_len, &err) == 1);
	CHECK(strcmp(name, "1.sig") == 0 && content_len == 0);
	CHECK(desk_export_next(&bytes, &len, name, &content, &content_len, &err) == 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		int more = 1;
		sbx_error_clear(&err);
		bytes = bad[i];
		len = strlen(bytes);
		while (more == 1)
			more = desk_export_next(&bytes, &len, name, &content, &content_len, &err);
		CHECK(more == -1);
		CHECK_STR(err.code, "bad_export");
	}
}

/* A command that hangs is killed at its deadline. */
static void test_notify(void)
{
	struct notify notify = NOTIFY_NONE;
	struct sbx_error err = SBX_ERROR_INIT;
	struct config config = {.notify = parse("[\"/bin/sleep\",\"60\"]")};
	struct approval row = {.told_of = 1};

	CHECK(notify_start(&notify, &config, &state, &row, &err) == 0 && notify.child.pid > 0);
	CHECK(notify_tend(&notify, &err) == 0 && notify.child.pid > 0);
	pid_t pid = notify.child.pid;
	notify.deadline = clock_mono_ms();
	CHECK(notify_tend(&notify, &err) == -1);
	CHECK_STR(err.code, "notify_failed");
	CHECK(notify.child.pid == 0 && kill(pid, 0) < 0);
	sbx_error_clear(&err);
	CHECK(notify_end(&notify, &err) == 0);
	row.told_of = 0;
	CHECK(notify_start(&notify, &config, &state, &row, &err) == 0 && notify.child.pid == 0);
	jv_free(config.notify);
}

/* No record, no request, no grant, no claim. */
static void test_no_record(void)
{
	auto_approvals approvals = {0};
	auto_approval row = {0}, other = {0}, none = {0};
	auto_review review = REVIEW_INIT, waiting = REVIEW_INIT, fresh = REVIEW_INIT;
	struct sbx_error err = SBX_ERROR_INIT;

	open_as(&approvals, SAME_ACCOUNT_FILE, 0);
	approved(&approvals, "unrecorded", &review, &row);
	review_of(make_call("unrecorded 2", NULL, 1), approvals.level, &waiting);
	CHECK_STR(meet(&approvals, &waiting, &other), "");
	CHECK(fchmodat(state.fd, "audit.jsonl", 0666, 0) == 0);
	review_of(make_call("unrecorded 3", NULL, 1), approvals.level, &fresh);
	CHECK_STR(meet(&approvals, &fresh, &none), "audit_unsafe");
	CHECK_STR(accept_by(&approvals, "alice", &other), "audit_unsafe");
	CHECK_STR(claim(&approvals, &row, call_id(review.call)), "audit_unsafe");
	CHECK(fchmodat(state.fd, "audit.jsonl", 0600, 0) == 0);
	CHECK(approval_reload(&approvals, &row, &err) == 0 && row.status == APPROVAL_APPROVED);
	CHECK(approval_reload(&approvals, &other, &err) == 0 && other.status == APPROVAL_WAITING);
	CHECK_STR(claim(&approvals, &row, call_id(review.call)), "");
}

static int count_rows(const struct approval *row, void *context, struct sbx_error *err)
{
	(void)err;
	*(int *)context += row->status == APPROVAL_WAITING || row->status == APPROVAL_APPROVED;
	return 0;
}

static const char *desk(struct approvals *approvals, const char *request, struct buf *reply)
{
	struct sbx_error err = SBX_ERROR_INIT;

	buf_reset(reply);
	desk_answer(approvals, "dana", request, strlen(request), reply, &err);
	return buf_str(reply);
}

static void test_desk(void)
{
	auto_approvals approvals = {0};
	auto_approval row = {0};
	auto_review review = REVIEW_INIT;
	auto_buf reply = BUF_INIT(DESK_REPLY_MAX), armor = BUF_INIT(SSHSIG_MAX), request = BUF_INIT(DESK_REQUEST_MAX);
	struct sbx_error err = SBX_ERROR_INIT;
	char line[128];
	int open_rows = 0;

	open_as(&approvals, SAME_ACCOUNT_FILE, 0);
	review_of(make_call("desk", NULL, 1), approvals.level, &review);
	CHECK_STR(meet(&approvals, &review, &row), "");
	CHECK(approval_each(&approvals, count_rows, &open_rows, &err) == 0 && open_rows == 1);
	CHECK(strstr(desk(&approvals, "list\n", &reply), row.id) != NULL && strncmp(buf_str(&reply), "ok ", 3) == 0);
	snprintf(line, sizeof line, "show %.8s\n", row.id);
	CHECK(strstr(desk(&approvals, line, &reply), row.text) != NULL);
	static const char *const bad[] = {"",	     "\n",	 "lists\n", "list\nx",		 "show\n",
					  "show \n", "accept\n", "deny\n",  "show 12345678 9\n", "sign 12345678\n",
					  " list\n"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		CHECK(strncmp(desk(&approvals, bad[i], &reply), "error bad_request 65 ", 21) == 0);
	CHECK(strncmp(desk(&approvals, "show zz\n", &reply), "error bad_id 64 ", 16) == 0);
	CHECK(strncmp(desk(&approvals, "show 00000000000000000000000000000000\n", &reply), "error approval_unknown 66 ",
		      26) == 0);
	sign_with("alice", SSHSIG_NAMESPACE, row.text, row.text_len, &armor);
	/* The length must be the one that is there. */
	buf_addf(&request, &err, "accept %s %zu\n%s", row.id, armor.len + 1, armor.data);
	CHECK(strncmp(desk(&approvals, buf_str(&request), &reply), "error bad_request 65 ", 21) == 0);
	buf_reset(&request);
	buf_addf(&request, &err, "accept %s %zu\n%s", row.id, armor.len, armor.data);
	snprintf(line, sizeof line, "ok 0 %s approved 1/1 alice\n", row.id);
	CHECK_STR(desk(&approvals, buf_str(&request), &reply), line);
	snprintf(line, sizeof line, "deny %.10s too \033[2J late\n", row.id);
	CHECK(strncmp(desk(&approvals, line, &reply), "error bad_request 65 ", 21) == 0);
	snprintf(line, sizeof line, "deny %.10s too late\n", row.id);
	CHECK(strncmp(desk(&approvals, line, &reply), "ok 0 ", 5) == 0);
	CHECK(approval_reload(&approvals, &row, &err) == 0 && row.status == APPROVAL_DENIED);
	CHECK_STR(row.reason, "too late");
	int64_t denied = 0;
	CHECK(store_query_number(approvals.store, "SELECT count(*) FROM approval WHERE denied_by = 'dana'", NULL, 0, &denied,
				 &err) == 0 && denied == 1);
	CHECK(desk_is_name("dana") && desk_is_name("a.b@c-1") && !desk_is_name("") && !desk_is_name("-x") &&
	      !desk_is_name("a b") && !desk_is_name("a\n"));
}

/* `approval_test measure` prints what a check (mostly ssh-keygen) and a claim (mostly syncs) cost. */
static void measure(void)
{
	enum { ROUNDS = 40 };
	auto_approvals approvals = {0};
	int64_t check_us = 0, claim_us = 0;

	open_as(&approvals, SAME_ACCOUNT_FILE, 0);
	for (int i = 0; i < ROUNDS; i++) {
		auto_approval row = {0};
		auto_review review = REVIEW_INIT;
		struct timespec a, b, c;
		char name[32];
		snprintf(name, sizeof name, "measure %d", i);
		approved(&approvals, name, &review, &row);
		clock_gettime(CLOCK_MONOTONIC, &a);
		CHECK_STR(check(&approvals, &review, &row), "");
		clock_gettime(CLOCK_MONOTONIC, &b);
		CHECK_STR(claim(&approvals, &row, call_id(review.call)), "");
		clock_gettime(CLOCK_MONOTONIC, &c);
		check_us += (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000;
		claim_us += (c.tv_sec - b.tv_sec) * 1000000 + (c.tv_nsec - b.tv_nsec) / 1000;
	}
	printf("# check %lld us, claim %lld us (means of %d)\n", (long long)check_us / ROUNDS,
	       (long long)claim_us / ROUNDS, ROUNDS);
}

int main(int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char path[64];

	umask(077);
	snprintf(beside, sizeof beside, "%s", argv[0]);
	char *slash = strrchr(beside, '/');
	if (slash == NULL || mkdtemp(dir) == NULL)
		return 1;
	*slash = '\0';
	snprintf(path, sizeof path, "%s/var", dir);
	snprintf(signers, sizeof signers, "%s/signers", dir);
	snprintf(people, sizeof people, "%s/approvers.yaml", dir);
	CHECK(state_open(path, &state, &err) == 0 && state_seal_key(&state, &key, &err) == 0);
	make_signer("alice", signers);
	make_signer("bob", signers);
	make_signer("mallory", NULL);
	if (argc > 1) {
		measure();
		return unit_done();
	}
	test_life();
	close_all();
	test_edits();
	close_all();
	test_swaps();
	close_all();
	test_time();
	close_all();
	test_denied();
	close_all();
	test_limits();
	close_all();
	test_threshold();
	close_all();
	test_people();
	close_all();
	test_signers();
	close_all();
	test_key_rules();
	close_all();
	test_race();
	close_all();
	test_ask_race();
	close_all();
	test_release();
	close_all();
	test_outcome();
	test_lost();
	test_export();
	test_notify();
	close_all();
	test_no_record();
	close_all();
	test_desk();
	secret_clear(&key);
	state_close(&state);
	io_remove_tree(AT_FDCWD, dir, &err);
	return unit_done();
}
