/* The record: chain, torn tails, tampering, full and broken disks. */
#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "audit_reader.h"
#include "clock.h"
#include "digest.h"
#include "io.h"
#include "unit.h"

#define CALL_A "0123456789abcdef0123456789abcdef"
#define CALL_B "fedcba9876543210fedcba9876543210"
#define RECORD_MAX ((size_t)16 << 20)
#define TMPFS_MIB 4

static char root[] = "/tmp/sbx-audit-test-XXXXXX";
static int made;

/* A fresh state directory below ROOT. */
static struct state fresh(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct state state;
	char path[128];

	snprintf(path, sizeof path, "%s/%d", root, ++made);
	if (state_open(path, &state, &err) < 0) {
		fprintf(stderr, "state: %s\n", err.message);
		exit(1);
	}
	return state;
}

static int append_kind(const struct state *state, enum audit_kind kind, const char *event, struct sbx_error *err)
{
	auto_jv details = json_set_str(jv_object(), "tool", "terraform_plan");

	sbx_error_clear(err);
	return audit_append(state, kind, event, CALL_A, details, err);
}

static int append(const struct state *state, const char *event)
{
	struct sbx_error err;

	int result = append_kind(state, AUDIT_INTENT, event, &err);
	if (result < 0)
		printf("# %s: %s\n", err.code, err.message);
	return result;
}

/* The code of a refused append; "" when it was accepted. */
static const char *refusal(const struct state *state, enum audit_kind kind)
{
	static struct sbx_error err;

	return append_kind(state, kind, "tool.request", &err) < 0 ? err.code : "";
}

static const char *verify(const struct state *state, struct audit_verdict *verdict)
{
	static struct sbx_error err;

	sbx_error_clear(&err);
	return audit_verify(state, verdict, &err) < 0 ? err.code : "";
}

static char *content(const struct state *state, size_t *len)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char *text;

	if (io_read_file(state->fd, "audit.jsonl", RECORD_MAX, 0, &text, len, &err) < 0)
		exit(1);
	return text;
}

static void put(const struct state *state, const char *text, size_t len)
{
	auto_fd fd = openat(state->fd, "audit.jsonl", O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		exit(1);
}

static void add_raw(const struct state *state, const char *text)
{
	auto_fd fd = openat(state->fd, "audit.jsonl", O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		exit(1);
}

/* As a crash leaves it: the note of the last whole append, which is the one before. */
static void forget_note(const struct state *state)
{
	unlinkat(state->fd, "audit.lock", 0);
}

static void cut(const struct state *state, size_t bytes)
{
	struct stat st;

	if (fstatat(state->fd, "audit.jsonl", &st, 0) < 0)
		exit(1);
	auto_fd fd = openat(state->fd, "audit.jsonl", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, st.st_size - (off_t)bytes) < 0)
		exit(1);
	forget_note(state);
}

static int count_event(jv event, void *context, struct sbx_error *err)
{
	(void)event;
	(void)err;
	++*(int *)context;
	return 0;
}

static int count(const struct state *state, const char *id)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int n = 0;

	return audit_each(state, id, count_event, &n, &err) < 0 ? -1 : n;
}

/* How many events stand behind HEAD; -1 with the code in SINCE_CODE. */
static char since_code[40];
static int64_t latest;
static int since(const struct state *state, const char *head, const char *word)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int n = 0, result = audit_since(state, head, word, count_event, &n, &latest, &err);

	snprintf(since_code, sizeof since_code, "%s", err.code);
	return result < 0 ? -1 : n;
}

static void test_chain(void)
{
	auto_state state = fresh();
	struct audit_verdict verdict;
	struct sbx_error err = SBX_ERROR_INIT;
	char head[65];
	int64_t seq;
	size_t len;

	CHECK(audit_head(&state, head, &seq, &err) == 0 && seq == 0);
	CHECK(strspn(head, "0") == 64);
	CHECK_STR(verify(&state, &verdict), "");
	CHECK(append(&state, "tool.request") == 0);
	CHECK(append(&state, "tool.result") == 0);
	CHECK(audit_head(&state, head, &seq, &err) == 0 && seq == 3);
	CHECK_STR(verify(&state, &verdict), "");
	CHECK(verdict.records == 3 && verdict.torn == 0 && verdict.torn_tail == 0);
	CHECK_STR(verdict.head, head);
	auto_free char *text = content(&state, &len);
	CHECK(strncmp(text, "{\"seq\":1,\"prev\":\"0000", 21) == 0);
	CHECK(strstr(text, "\"event\":\"audit.open\"") != NULL && strstr(text, state.installation) != NULL);
	CHECK(count(&state, NULL) == 3);
	CHECK(count(&state, CALL_A) == 2);
	CHECK(count(&state, CALL_B) == 0);
}

static void test_redaction(void)
{
	auto_state state = fresh();
	struct sbx_error err = SBX_ERROR_INIT;
	size_t len;
	auto_jv details = jv_invalid();
	const char *text_in =
		"{\"params\":{\"db_password\":\"hunter2hunter2\",\"secret\":[1,{\"a\":\"inner-one\"}],\"ok\":\"plain\","
		"\"note\":\"use AKIAIOSFODNN7EXAMPLE now\",\"auto_token\":true,\"plan_sha256\":\"e3b0c442\"}}";

	CHECK(json_parse(text_in, strlen(text_in), LIMIT_CALL, &details, &err) == 0);
	CHECK(audit_append(&state, AUDIT_INTENT, "tool.request", CALL_A, details, &err) == 0);
	auto_free char *text = content(&state, &len);
	CHECK(strstr(text, "hunter2") == NULL && strstr(text, "inner-one") == NULL &&
	      strstr(text, "AKIAIOSFODNN7EXAMPLE") == NULL);
	CHECK(strstr(text, "\"note\":\"use [REDACTED:aws-key] now\"") != NULL);
	CHECK(strstr(text, "\"ok\":\"plain\"") != NULL && strstr(text, "\"auto_token\":true") != NULL);
	CHECK(strstr(text, "\"plan_sha256\":\"e3b0c442\"") != NULL);
}

static void test_refused_details(void)
{
	auto_state state = fresh();
	struct sbx_error err = SBX_ERROR_INIT;
	struct audit_verdict verdict;
	auto_jv clash = json_set_str(jv_object(), "time", "now");
	auto_free char *long_text = malloc(LIMIT_EVENT + 1);

	CHECK(audit_append(&state, AUDIT_INTENT, "tool.request", CALL_A, clash, &err) < 0);
	CHECK_STR(err.code, "bug");
	memset(long_text, 'x', LIMIT_EVENT);
	long_text[LIMIT_EVENT] = '\0';
	auto_jv large = json_set_str(jv_object(), "text", long_text);
	sbx_error_clear(&err);
	CHECK(audit_append(&state, AUDIT_INTENT, "tool.request", CALL_A, large, &err) < 0);
	CHECK_STR(err.code, "too_large");
	auto_jv deep = jv_object();
	for (int i = 0; i < LIMIT_CALL_DEPTH; i++)
		deep = json_set(jv_object(), "d", take_jv(&deep));
	sbx_error_clear(&err);
	CHECK(audit_append(&state, AUDIT_INTENT, "tool.request", CALL_A, deep, &err) < 0);
	CHECK_STR(err.code, "too_large");
	CHECK_STR(verify(&state, &verdict), "");
	CHECK(verdict.records == 0);
	CHECK(append(&state, "tool.request") == 0);
}

static void head_of(const struct state *state, char head[65])
{
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(audit_head(state, head, NULL, &err) == 0);
}

static const char nothing[] = "0000000000000000000000000000000000000000000000000000000000000000";

static void test_since(void)
{
	auto_state state = fresh();
	struct sbx_error err = SBX_ERROR_INIT;
	char first[65], last[65], other[65];
	size_t len;

	CHECK(since(&state, nothing, NULL) == -1);
	CHECK_STR(since_code, "audit_head_missing");
	CHECK(append(&state, "tool.request") == 0);
	head_of(&state, first);
	CHECK(since(&state, nothing, NULL) == 2 && since(&state, first, NULL) == 0 && latest == 0);
	CHECK(append(&state, "guardrail.decision") == 0);
	auto_jv details = json_set_str(jv_object(), "approval", CALL_B);
	CHECK(audit_append(&state, AUDIT_INTENT, "approval.claimed", CALL_A, details, &err) == 0);
	CHECK(append(&state, "tool.result") == 0);
	head_of(&state, last);
	CHECK(since(&state, first, NULL) == 3 && latest - clock_seconds() <= 1 && clock_seconds() - latest <= 5);
	CHECK(since(&state, first, CALL_B) == 1 && since(&state, last, NULL) == 0);
	memset(other, '1', 64);
	other[64] = '\0';
	CHECK(since(&state, other, NULL) == -1);
	CHECK_STR(since_code, "audit_head_missing");

	/* The chain is checked from the head on, and from there alone. */
	auto_free char *text = content(&state, &len);
	auto_free char *edited = strdup(text);
	char *claim = strstr(edited, "\"approval\":\"" CALL_B);
	claim[strlen("\"approval\":\"")] ^= 1;
	put(&state, edited, len);
	CHECK(since(&state, first, CALL_B) == -1);
	CHECK_STR(since_code, "audit_broken");
	memcpy(edited, text, len);
	claim = strstr(edited, "approval.claimed"); /* its line taken out */
	while (claim[-1] != '\n')
		claim--;
	size_t line = strcspn(claim, "\n") + 1;
	memmove(claim, claim + line, strlen(claim + line) + 1);
	put(&state, edited, strlen(edited));
	CHECK(since(&state, first, CALL_B) == -1);
	CHECK_STR(since_code, "audit_broken");
	memcpy(edited, text, len);
	edited[strlen("{\"seq\":1,\"prev\":\"")] = '1';
	put(&state, edited, len);
	CHECK(since(&state, first, CALL_B) == 1);
	CHECK(since(&state, nothing, NULL) == -1);
	/* Cut behind the head: it is there, what came after it is not; cut before it: it is not there. */
	size_t end = (size_t)(strstr(text, "guardrail.decision") - text);
	while (text[end - 1] != '\n')
		end--;
	put(&state, text, end);
	CHECK(since(&state, first, NULL) == 0);
	put(&state, text, end - 1);
	CHECK(since(&state, first, NULL) == -1);
	CHECK_STR(since_code, "audit_head_missing");
	put(&state, text, strcspn(text, "\n") + 1);
	CHECK(since(&state, first, NULL) == -1);
	CHECK_STR(since_code, "audit_head_missing");
}

/* A head is found wherever the blocks of the search end, among lines of every length. */
static void test_since_far(void)
{
	enum { EVENTS = 60, LONGEST = 60000 };
	auto_state state = fresh();
	struct sbx_error err = SBX_ERROR_INIT;
	static char filler[LONGEST + 1], heads[EVENTS][65];
	int wrong = 0;

	for (int i = 0; i < EVENTS; i++) {
		memset(filler, 'x', sizeof filler - 1);
		filler[(i * 7919) % LONGEST] = '\0';
		auto_jv details = json_set_str(jv_object(), "text", filler);
		wrong += audit_append(&state, AUDIT_INTENT, "tool.request", CALL_A, details, &err) < 0;
		wrong += audit_head(&state, heads[i], NULL, &err) < 0;
	}
	CHECK(wrong == 0);
	for (int i = 0; i < EVENTS; i++)
		wrong += since(&state, heads[i], NULL) != EVENTS - 1 - i;
	CHECK(wrong == 0);
	/* A line that no record can be: the search ends, and finds nothing behind it. */
	forget_note(&state);
	auto_fd fd = openat(state.fd, "audit.jsonl", O_WRONLY | O_APPEND | O_CLOEXEC);
	for (int i = 0; i < 6; i++)
		CHECK(write(fd, filler, LONGEST) == LONGEST);
	add_raw(&state, "\n");
	CHECK(since(&state, heads[0], NULL) == -1);
	CHECK_STR(since_code, "audit_head_missing");
}

/* What crashes left is passed over as far as it is declared, and what they took back does not count. */
static void test_since_torn(void)
{
	auto_state state = fresh();
	char first[65];
	size_t len, from;

	CHECK(append(&state, "tool.request") == 0);
	head_of(&state, first);
	auto_free char *one = content(&state, &from);
	CHECK(append(&state, "approval.claimed") == 0);
	auto_free char *two = content(&state, &len);
	int all_fine = 1;
	for (size_t at = from + 1; at < len; at++) {
		put(&state, two, at);
		forget_note(&state);
		all_fine &= since(&state, first, "approval.claimed") == 0 && append(&state, "tool.result") == 0 &&
			    since(&state, first, NULL) == 2 && since(&state, first, "approval.claimed") == 0;
	}
	CHECK(all_fine);
}

/* The code of a look at the record, from its beginning or for HEAD from its end, while BYTES of it are cut off; "" when
 * it came to the first line, or behind the one of HEAD. */
static const char *look_while_cut(const struct state *state, const char *head, size_t bytes)
{
	static struct sbx_error err;
	auto_audit_file file = AUDIT_FILE_NONE;
	struct audit_reader r;
	struct audit_raw line;
	int64_t seq;
	size_t left;

	sbx_error_clear(&err);
	CHECK(audit_reader_open(state, &file, &r, &err) == 0);
	cut(state, bytes);
	int found = head == NULL ? audit_reader_next(&r, &line, &left, &err) : audit_reader_seek(&r, head, &seq, &err);
	CHECK(found == (err.class == SBX_OK ? 1 : -1));
	audit_reader_clear(&r);
	return err.code;
}

static void test_cut_while_read(void)
{
	auto_state state = fresh();
	char first[65];
	size_t len, all;

	CHECK(append(&state, "tool.request") == 0);
	head_of(&state, first);
	auto_free char *one = content(&state, &len);
	CHECK(append(&state, "tool.result") == 0);
	auto_free char *two = content(&state, &all);
	CHECK_STR(look_while_cut(&state, NULL, 0), "");
	CHECK_STR(look_while_cut(&state, first, 0), "");
	CHECK_STR(look_while_cut(&state, first, all - len), "audit_broken");
	CHECK_STR(look_while_cut(&state, NULL, 0), "");
	CHECK_STR(look_while_cut(&state, NULL, len), "audit_broken");
}

/* A line that was cut anywhere is declared by the next append; that append and the declaration may be cut too. */
static void test_torn(void)
{
	auto_state state = fresh();
	struct audit_verdict verdict;
	size_t len, first;
	auto_free char *one = NULL, *two = NULL;
	int all_fine = 1;

	CHECK(append(&state, "tool.request") == 0);
	one = content(&state, &first);
	CHECK(append(&state, "guardrail.decision") == 0);
	two = content(&state, &len);
	for (size_t at = first + 1; at < len; at++) {
		put(&state, two, at);
		forget_note(&state);
		int ok = strcmp(verify(&state, &verdict), "") == 0 && verdict.torn_tail == (int64_t)(at - first) &&
			 verdict.records == 2 && append(&state, "tool.result") == 0 &&
			 strcmp(verify(&state, &verdict), "") == 0 && verdict.torn == 1 && verdict.records == 4 &&
			 count(&state, NULL) == 4;
		if (!ok)
			printf("# cut at %zu of %zu\n", at, len);
		all_fine &= ok;
	}
	CHECK(all_fine);
	/* And the genesis. */
	for (size_t at = 1; at < first; at++) {
		put(&state, two, at);
		forget_note(&state);
		int ok = append(&state, "tool.result") == 0 && strcmp(verify(&state, &verdict), "") == 0;
		if (!ok)
			printf("# genesis cut at %zu of %zu\n", at, first);
		all_fine &= ok;
	}
	CHECK(all_fine);
}

static void test_torn_declaration(void)
{
	auto_state state = fresh();
	struct audit_verdict verdict;
	size_t len, cut_len;
	int all_fine = 1;

	CHECK(append(&state, "tool.request") == 0);
	CHECK(append(&state, "guardrail.decision") == 0);
	cut(&state, 1); /* looks like a whole record */
	auto_free char *torn = content(&state, &cut_len);
	CHECK(append(&state, "tool.result") == 0);
	CHECK_STR(verify(&state, &verdict), "");
	CHECK(verdict.torn == 1 && count(&state, CALL_A) == 2);
	auto_free char *all = content(&state, &len);
	for (size_t at = cut_len + 1; at < len; at++) {
		put(&state, all, at);
		forget_note(&state);
		int ok = append(&state, "tool.result") == 0 && strcmp(verify(&state, &verdict), "") == 0;
		if (!ok)
			printf("# declaration cut at %zu of %zu\n", at, len);
		all_fine &= ok;
	}
	CHECK(all_fine);
	/* Crash after crash, each time without the last line feed alone. */
	for (int i = 0; i < 6; i++) {
		CHECK(append(&state, "tool.result") == 0);
		cut(&state, 1);
	}
	CHECK(append(&state, "tool.result") == 0);
	CHECK_STR(verify(&state, &verdict), "");
	CHECK(verdict.torn > 0);
}

static void test_glued(void)
{
	auto_state state = fresh();
	struct audit_verdict verdict;
	size_t one_len, two_len;

	CHECK(append(&state, "tool.request") == 0);
	auto_free char *one = content(&state, &one_len);
	CHECK(append(&state, "tool.result") == 0);
	auto_free char *two = content(&state, &two_len);
	for (size_t half = 1; half < 60; half += 7) {
		put(&state, one, one_len);
		auto_free char *start = strndup(two + one_len, half);
		add_raw(&state, start);
		add_raw(&state, two + one_len);
		forget_note(&state);
		CHECK_STR(verify(&state, &verdict), "audit_broken");
		CHECK_STR(refusal(&state, AUDIT_INTENT), "audit_unsafe");
		CHECK_STR(refusal(&state, AUDIT_OUTCOME), "audit_unsafe");
	}
	put(&state, two, two_len);
	CHECK_STR(refusal(&state, AUDIT_INTENT), "");
}

struct lines {
	char *at[64];
	size_t count;
};

static struct lines split(char *text)
{
	struct lines lines = {.count = 0};

	for (char *p = text; *p != '\0' && lines.count < ARRAY_LEN(lines.at);) {
		char *end = strchr(p, '\n');
		lines.at[lines.count++] = p;
		*end = '\0';
		p = end + 1;
	}
	return lines;
}

static void put_lines(const struct state *state, const struct lines *lines)
{
	put(state, "", 0);
	for (size_t i = 0; i < lines->count; i++) {
		add_raw(state, lines->at[i]);
		add_raw(state, "\n");
	}
}

static void test_tampering(void)
{
	auto_state state = fresh();
	struct audit_verdict verdict;
	char head[65];
	size_t len;

	for (int i = 0; i < 6; i++)
		append(&state, "tool.request");
	auto_free char *text = content(&state, &len);
	auto_free char *copy = strdup(text), *edited = NULL;
	struct lines lines = split(copy), changed = lines;
	put_lines(&state, &lines);
	CHECK_STR(verify(&state, &verdict), "");
	memcpy(head, verdict.head, sizeof head);

	edited = strdup(lines.at[3]);
	memcpy(strstr(edited, "terraform_plan"), "terraform_PLAN", 14);
	changed.at[3] = edited;
	put_lines(&state, &changed);
	CHECK_STR(verify(&state, &verdict), "audit_broken");

	changed = lines; /* one deleted */
	memmove(changed.at + 2, changed.at + 3, 4 * sizeof *changed.at);
	changed.count--;
	put_lines(&state, &changed);
	CHECK_STR(verify(&state, &verdict), "audit_broken");

	changed = lines; /* the first deleted */
	memmove(changed.at, changed.at + 1, 6 * sizeof *changed.at);
	changed.count--;
	put_lines(&state, &changed);
	CHECK_STR(verify(&state, &verdict), "audit_broken");

	changed = lines; /* one twice */
	memmove(changed.at + 4, changed.at + 3, 4 * sizeof *changed.at);
	changed.count++;
	put_lines(&state, &changed);
	CHECK_STR(verify(&state, &verdict), "audit_broken");

	changed = lines; /* two swapped */
	changed.at[4] = lines.at[5];
	changed.at[5] = lines.at[4];
	put_lines(&state, &changed);
	CHECK_STR(verify(&state, &verdict), "audit_broken");

	changed = lines; /* one inserted: a number that fits, a hash that does not */
	memmove(changed.at + 4, changed.at + 3, 4 * sizeof *changed.at);
	changed.at[3] = (char *)(uintptr_t) "{\"seq\":4,\"prev\":"
					    "\"0000000000000000000000000000000000000000000000000000000000000000\","
					    "\"event\":\"x\"}";
	changed.count++;
	put_lines(&state, &changed);
	CHECK_STR(verify(&state, &verdict), "audit_broken");

	changed = lines; /* an empty line */
	memmove(changed.at + 4, changed.at + 3, 4 * sizeof *changed.at);
	changed.at[3] = (char *)(uintptr_t) "";
	changed.count++;
	put_lines(&state, &changed);
	CHECK_STR(verify(&state, &verdict), "audit_broken");

	changed = lines; /* the last made unreadable */
	changed.at[6] = (char *)(uintptr_t) "{\"seq\":7}";
	put_lines(&state, &changed);
	CHECK_STR(verify(&state, &verdict), "audit_broken");
	CHECK_STR(refusal(&state, AUDIT_OUTCOME), "audit_unsafe");

	/* A tail cut at a line boundary is a legal chain: only a head that is known from elsewhere shows it, and our
	 * own note. */
	changed = lines;
	changed.count--;
	put_lines(&state, &changed);
	CHECK_STR(verify(&state, &verdict), "");
	CHECK(strcmp(verdict.head, head) != 0);
	CHECK_STR(refusal(&state, AUDIT_OUTCOME), "audit_unsafe");
	put_lines(&state, &lines);
	CHECK_STR(refusal(&state, AUDIT_OUTCOME), "");
}

/* Somebody who can write takes the last record back by declaring it torn: a whole record with its line feed cannot be
 * declared away when another one follows it. */
static void test_false_declaration(void)
{
	auto_state state = fresh();
	struct audit_verdict verdict;
	size_t len;

	append(&state, "tool.request");
	append(&state, "credential.requested");
	append(&state, "credential.issued");
	auto_free char *text = content(&state, &len);
	auto_free char *copy = strdup(text);
	struct lines lines = split(copy);
	char sha256[65], head[65], line[1024];
	size_t start = (size_t)(lines.at[2] - copy);

	digest_sha256_hex(text + start, len - 1 - start, sha256);
	digest_sha256_hex(lines.at[1], strlen(lines.at[1]), head);
	snprintf(line, sizeof line,
		 "{\"seq\":3,\"prev\":\"%s\",\"event\":\"audit.torn\",\"torn_bytes\":%zu,\"torn_sha256\":\"%s\"}\n",
		 head, len - 1 - start, sha256);
	add_raw(&state, line);
	CHECK_STR(verify(&state, &verdict), "audit_broken");
}

static void test_unsafe_files(void)
{
	auto_state state = fresh();
	struct sbx_error err;
	size_t len;

	CHECK(append(&state, "tool.request") == 0);
	auto_free char *text = content(&state, &len);
	CHECK(fchmodat(state.fd, "audit.jsonl", 0644, 0) == 0);
	CHECK(append_kind(&state, AUDIT_INTENT, "tool.request", &err) < 0);
	CHECK_STR(err.code, "audit_unsafe");
	CHECK(err.class == SBX_CONFIG && strstr(err.hint, "chmod") != NULL);
	CHECK(fchmodat(state.fd, "audit.jsonl", 0600, 0) == 0);
	CHECK_STR(refusal(&state, AUDIT_INTENT), "");
	if (geteuid() == 0) {
		CHECK(fchownat(state.fd, "audit.jsonl", 12345, 0, 0) == 0);
		CHECK_STR(refusal(&state, AUDIT_INTENT), "audit_unsafe");
		CHECK(fchownat(state.fd, "audit.jsonl", 0, 0, 0) == 0);
		CHECK_STR(refusal(&state, AUDIT_INTENT), "");
	}
	CHECK(fchmodat(state.fd, "audit.lock", 0666, 0) == 0);
	CHECK_STR(refusal(&state, AUDIT_INTENT), "audit_unsafe");
	CHECK(fchmodat(state.fd, "audit.lock", 0600, 0) == 0);
	/* Taken away, or replaced by an older copy: the note in the lock file knows. */
	renameat(state.fd, "audit.jsonl", state.fd, "old");
	CHECK_STR(refusal(&state, AUDIT_INTENT), "audit_unsafe");
	unlinkat(state.fd, "audit.jsonl", 0);
	put(&state, text, len);
	CHECK_STR(refusal(&state, AUDIT_INTENT), "audit_unsafe");
	unlinkat(state.fd, "audit.jsonl", 0);
	CHECK(symlinkat("old", state.fd, "audit.jsonl") == 0);
	CHECK_STR(refusal(&state, AUDIT_INTENT), "audit_unsafe");
	unlinkat(state.fd, "audit.jsonl", 0);
	mkdirat(state.fd, "audit.jsonl", 0700);
	CHECK(refusal(&state, AUDIT_INTENT)[0] != '\0');
	unlinkat(state.fd, "audit.jsonl", AT_REMOVEDIR);
	renameat(state.fd, "old", state.fd, "audit.jsonl");
	CHECK_STR(refusal(&state, AUDIT_INTENT), "");
}

static void append_for_ever(const struct state *state)
{
	struct sbx_error err;

	for (;;)
		append_kind(state, AUDIT_OUTCOME, "tool.request", &err);
}

static off_t record_size(const struct state *state)
{
	struct stat st;

	return fstatat(state->fd, "audit.jsonl", &st, 0) < 0 ? 0 : st.st_size;
}

/* Kill it while it appends: after it began to, at no particular moment. */
static void kill_appender(const struct state *state)
{
	off_t before = record_size(state);
	int64_t deadline = clock_mono_ms() + 30000;
	unsigned random;
	pid_t pid = fork();

	if (pid == 0)
		append_for_ever(state);
	while (record_size(state) == before && clock_left_ms(deadline) > 0)
		usleep(100);
	io_random(&random, sizeof random);
	usleep(random % 2000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_killed(void)
{
	auto_state state = fresh();
	struct audit_verdict verdict;
	int fine = 0;

	append(&state, "tool.request");
	for (int i = 0; i < 50; i++) {
		kill_appender(&state);
		fine += strcmp(verify(&state, &verdict), "") == 0;
	}
	CHECK(fine == 50);
	CHECK(append(&state, "tool.result") == 0);
	CHECK_STR(verify(&state, &verdict), "");
	printf("# 50 kills: %lld records, %lld torn\n", (long long)verdict.records, (long long)verdict.torn);
	CHECK(verdict.records > 50);
}

static void test_side_by_side(void)
{
	enum { PROCESSES = 6, EACH = 100 };
	auto_state state = fresh();
	struct audit_verdict verdict;

	for (int p = 0; p < PROCESSES; p++)
		if (fork() == 0) {
			int failed = 0;
			for (int i = 0; i < EACH; i++)
				failed |= append(&state, "tool.request") < 0;
			_exit(failed);
		}
	int status, failed = 0;
	while (wait(&status) > 0)
		failed |= status;
	CHECK(failed == 0);
	CHECK_STR(verify(&state, &verdict), "");
	CHECK(verdict.records == PROCESSES * EACH + 1 && verdict.torn == 0);
}

static void write_text(const char *path, const char *text)
{
	auto_fd fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
}

/* A mount namespace of our own; 0 where that is not allowed. */
static int own_mounts(void)
{
	char map[64];
	unsigned uid = geteuid();

	if (uid != 0) {
		snprintf(map, sizeof map, "0 %u 1", uid);
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			return 0;
		write_text("/proc/self/setgroups", "deny");
		write_text("/proc/self/uid_map", map);
	} else if (unshare(CLONE_NEWNS) < 0) {
		return 0;
	}
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void fill(int dirfd, const char *name, size_t leave)
{
	auto_fd fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	static char block[4096];
	struct statvfs fs;

	while (fstatvfs(dirfd, &fs) == 0 && fs.f_bavail * fs.f_frsize > leave && write(fd, block, sizeof block) > 0)
		;
}

static void test_full_disk(void)
{
	char path[128], options[32];
	struct audit_verdict verdict;
	struct sbx_error err = SBX_ERROR_INIT;
	struct state state;
	size_t len;

	snprintf(path, sizeof path, "%s/disk", root);
	mkdir(path, 0700);
	snprintf(options, sizeof options, "size=%dm,mode=700", TMPFS_MIB);
	if (mount("tmpfs", path, "tmpfs", 0, options) < 0 || state_open(path, &state, &err) < 0) {
		printf("# no tmpfs: %s\n", strerror(errno));
		CHECK(0);
		return;
	}
	CHECK_STR(refusal(&state, AUDIT_INTENT), "");
	fill(state.fd, "stuff", (size_t)64 << 10);
	CHECK_STR(refusal(&state, AUDIT_INTENT), "audit_unavailable"); /* the act's outcome would find no room */
	CHECK_STR(refusal(&state, AUDIT_OUTCOME), "");
	fill(state.fd, "stuff", 0);
	int written = 0;
	for (; written < 200 && strcmp(refusal(&state, AUDIT_OUTCOME), "") == 0; written++)
		;
	CHECK(written == 200); /* from the reserve */
	CHECK(faccessat(state.fd, "audit.reserve", F_OK, 0) < 0);
	CHECK_STR(refusal(&state, AUDIT_INTENT), "audit_unavailable");
	CHECK_STR(verify(&state, &verdict), "");
	/* Not one byte left: nothing is written, and nothing is broken. */
	fill(state.fd, "stuff", 0);
	for (int i = 0; i < 20 && strcmp(refusal(&state, AUDIT_OUTCOME), "") == 0; i++)
		;
	CHECK_STR(refusal(&state, AUDIT_OUTCOME), "audit_unavailable");
	CHECK_STR(verify(&state, &verdict), "");
	CHECK(verdict.torn_tail == 0);
	/* Space comes back: so does the reserve. */
	unlinkat(state.fd, "stuff", 0);
	CHECK_STR(refusal(&state, AUDIT_INTENT), "");
	CHECK(faccessat(state.fd, "audit.reserve", F_OK, 0) == 0);
	auto_free char *before = content(&state, &len);
	CHECK(mount("tmpfs", path, "tmpfs", MS_REMOUNT | MS_RDONLY, options) == 0);
	CHECK_STR(refusal(&state, AUDIT_INTENT), "audit_unavailable");
	CHECK_STR(refusal(&state, AUDIT_OUTCOME), "audit_unavailable");
	CHECK_STR(verify(&state, &verdict), "");
	CHECK(mount("tmpfs", path, "tmpfs", MS_REMOUNT, options) == 0);
	CHECK_STR(refusal(&state, AUDIT_INTENT), "");

	enum { ROUNDS = 500 };
	double begin = unit_cpu_ms();
	for (int i = 0; i < ROUNDS; i++)
		append(&state, "tool.request");
	double each = (unit_cpu_ms() - begin) * 1000 / ROUNDS;
	printf("# an append on tmpfs: %.0f us of the processor\n", each);
	CHECK(each < 1000);
	state_close(&state);
	umount2(path, MNT_DETACH);
}

int main(void)
{
	struct sbx_error err = SBX_ERROR_INIT;

	setvbuf(stdout, NULL, _IOLBF, 0);
	umask(077);
	if (mkdtemp(root) == NULL)
		return 1;
	test_chain();
	test_since();
	test_since_far();
	test_since_torn();
	test_cut_while_read();
	test_redaction();
	test_refused_details();
	test_torn();
	test_torn_declaration();
	test_glued();
	test_tampering();
	test_false_declaration();
	test_unsafe_files();
	test_killed();
	test_side_by_side();
	if (own_mounts())
		test_full_disk();
	else
		printf("# no mount namespace here: the full disk was not tried\n");
	io_remove_tree(AT_FDCWD, root, &err);
	return unit_done();
}
