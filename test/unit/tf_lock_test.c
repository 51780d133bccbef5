/* What terraform says of a lock, as the backends have it said, and what somebody writes who wants to be taken for it.
 */
#include "tf_lock.h"

#include <stdio.h>
#include <string.h>

#include "base.h"
#include "unit.h"

#define CALL "0123456789abcdef0123456789abcdef"
#define HEAD "\nError: Error acquiring the state lock\n\nError message: "
#define LOCKED HEAD "the state is already locked\n"
#define TAIL                                                                                                           \
	"\n\nTerraform acquires a state lock to protect the state from being written\nby multiple users at the same "  \
	"time.\n"
#define INFO(id, who)                                                                                                  \
	"Lock Info:\n  ID:        " id "\n  Path:      a/b\n  Operation: OperationTypeApply\n  Who:       " who        \
	"\n  Version:   1.11.4\n  Created:   2026-11-30 18:24:05.1 +0000 UTC\n  Info:      "

static struct tf_lock lock;

static int finds(const char *text)
{
	memset(&lock, 'x', sizeof lock);
	return tf_lock_find(text, strlen(text), &lock);
}

static void test_backends(void)
{
	CHECK(finds(LOCKED INFO("1b2c-3", "root@sbx-" CALL) TAIL) == 1);
	CHECK_STR(lock.id, "1b2c-3");
	CHECK_STR(lock.operation, "OperationTypeApply");
	CHECK_STR(lock.who, "root@sbx-" CALL);
	CHECK_STR(lock.created, "2026-11-30 18:24:05.1 +0000 UTC");
	CHECK_STR(lock.call, CALL);
	CHECK(finds(HEAD "operation error S3: PutObject, https response error\nStatusCode: 412, api error "
			 "PreconditionFailed: x\n" INFO("f", "alice@laptop.example") TAIL) == 1);
	CHECK_STR(lock.who, "alice@laptop.example");
	CHECK_STR(lock.call, "");
	CHECK(finds(HEAD "the state is already locked by another terraform client\n" INFO("f", "@sbx-" CALL "-x7k2p")
			    TAIL) == 1);
	CHECK_STR(lock.call, CALL);
}

/* The http backend shows the lock that it asked for, behind the ID of the one that is there. */
static void test_http(void)
{
	static const char *const between[] = {" ", "\n"};
	char text[1024];

	for (size_t i = 0; i < ARRAY_LEN(between); i++) {
		snprintf(text, sizeof text,
			 HEAD "HTTP remote state already locked:%sID=there-1\n" INFO("asked", "a@sbx-" CALL) TAIL,
			 between[i]);
		CHECK(finds(text) == 1);
		CHECK_STR(lock.id, "there-1");
		CHECK_STR(lock.who, "");
		CHECK_STR(lock.operation, "");
		CHECK_STR(lock.created, "");
		CHECK_STR(lock.call, "");
	}
	CHECK(finds(HEAD "HTTP remote state already locked:\nID=\n" INFO("asked", "a@b") TAIL) == 0);
	CHECK(finds(HEAD "HTTP remote state already locked:\nID=-force\n" INFO("asked", "a@b") TAIL) == 0);
	CHECK(finds(HEAD "HTTP remote state already locked: x\n" INFO("asked", "a@b") TAIL) == 0);
	CHECK(finds(HEAD "HTTP remote state already locked:") == 0);
}

/* The same words about something else. */
static void test_others(void)
{
	CHECK(finds("") == 0);
	CHECK(finds(INFO("f", "a@b")) == 0);
	CHECK(finds(HEAD "operation error S3: PutObject, https response error StatusCode: 403, api error "
			 "AccessDenied" TAIL) == 0);
	CHECK(finds("Error: Failed to load state\n" INFO("f", "a@b") TAIL) == 0);
	CHECK(finds(HEAD "x" TAIL "\nError: Something else\n\n" INFO("f", "a@b") TAIL) == 0);
	CHECK(finds("Error: Error acquiring the state lock: not quite\n" INFO("f", "a@b") TAIL) == 0);
	CHECK(finds(LOCKED "Lock Info:\n  ID:        f\n  Path:      a/b\n" TAIL) == 0);
	CHECK(finds(LOCKED "Lock Info:\n  ID: f") == 0);
	CHECK(finds(LOCKED "Lock Info:") == 0);
}

/* What a person would be told to type is an ID or nothing, and the rest is words. */
static void test_hostile(void)
{
	char text[2048];

	CHECK(finds(LOCKED INFO("-force", "a@b") TAIL) == 0);
	CHECK(finds(LOCKED INFO("f-", "a@b") TAIL) == 0);
	CHECK(finds(LOCKED INFO("", "a@b") TAIL) == 0);
	CHECK(finds(LOCKED INFO("a b", "a@b") TAIL) == 0);
	CHECK(finds(LOCKED INFO("a;b", "a@b") TAIL) == 0);
	CHECK(finds(LOCKED INFO("a\x1b[2J", "a@b") TAIL) == 0);
	CHECK(finds(LOCKED INFO("f", "x: ignore what stands here, and") TAIL) == 1);
	CHECK_STR(lock.who, "");
	CHECK(finds(LOCKED INFO("f", "a\"b") TAIL) == 1);
	CHECK_STR(lock.who, "");
	CHECK(finds(LOCKED INFO("f", "a@sbx-" CALL "0") TAIL) == 1);
	CHECK_STR(lock.call, "");
	CHECK(finds(LOCKED INFO("f", "a@sbx-0123") TAIL) == 1);
	CHECK_STR(lock.call, "");
	/* The host is what stands behind the last @, and all of it. */
	CHECK(finds(LOCKED INFO("f", "a@sbx-" CALL "@laptop") TAIL) == 1);
	CHECK_STR(lock.call, "");
	CHECK(finds(LOCKED INFO("f", "a@sbx-" CALL "-b@laptop") TAIL) == 1);
	CHECK_STR(lock.call, "");
	CHECK(finds(LOCKED INFO("f", "a@laptop@sbx-" CALL) TAIL) == 1);
	CHECK_STR(lock.call, CALL);
	static const char *const hosts[] = {"a@sbx-" CALL "-", "a@sbx-" CALL "-x-y", "a@sbx-" CALL ".example", "a@xsbx-" CALL, "sbx-" CALL};
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		snprintf(text, sizeof text, LOCKED INFO("f", "%s") TAIL, hosts[i]);
		CHECK(finds(text) == 1);
		CHECK_STR(lock.who, hosts[i]);
		CHECK_STR(lock.call, "");
	}
	for (unsigned len = TF_LOCK_ID_MAX; len <= TF_LOCK_ID_MAX + 1; len++) {
		snprintf(text, sizeof text, LOCKED INFO("%0*d", "a@b") TAIL, (int)len, 7);
		CHECK(finds(text) == (len == TF_LOCK_ID_MAX));
	}
	snprintf(text, sizeof text, LOCKED INFO("f", "%0*d") TAIL, TF_LOCK_WORD_MAX + 1, 7);
	CHECK(finds(text) == 1);
	CHECK_STR(lock.who, "");
	/* The last one is terraform's own: it ends with it. */
	CHECK(finds(LOCKED INFO("forged", "a@b") TAIL LOCKED INFO("true", "a@b") TAIL) == 1);
	CHECK_STR(lock.id, "true");
	CHECK(finds(LOCKED INFO("true", "a@b") TAIL LOCKED INFO("-x", "a@b") TAIL) == 1);
	CHECK_STR(lock.id, "true");
	/* Bytes that end a string end no line. */
	memcpy(text, LOCKED INFO("f\0g", "a@b") TAIL, sizeof LOCKED INFO("f\0g", "a@b") TAIL);
	CHECK(tf_lock_find(text, sizeof LOCKED INFO("f\0g", "a@b") TAIL - 1, &lock) == 0);
}

#define ASKED "00000000-0000-0000-0000-000000000000"
#define OTHER "9db590f1-b6fe-c5f2-2678-8804f089deba"
#define FAILED "Failed to unlock state: "
#define S3(asked, there) FAILED "lock ID '" asked "' does not match the existing lock ID '" there "'\n"
#define KUBERNETES(asked) FAILED "lock id \"" asked "\" does not match existing lock\n"

static int finds_other(const char *text)
{
	memset(&lock, 'x', sizeof lock);
	return tf_lock_find_other(text, strlen(text), ASKED, &lock);
}

/* As Terraform 1.11.4 said it about a bucket and about a Lease, with and without -no-color. */
static void test_unlock(void)
{
	static const char s3[] =
		"Failed to unlock state: lock ID '00000000-0000-0000-0000-000000000000' does not match the existing lock ID "
		"'9db590f1-b6fe-c5f2-2678-8804f089deba'\n"
		"Lock Info:\n"
		"  ID:        9db590f1-b6fe-c5f2-2678-8804f089deba\n"
		"  Path:      state/envs/far.tfstate\n"
		"  Operation: OperationTypeApply\n"
		"  Who:       @sbx-0123456789abcdef0123456789abcdef\n"
		"  Version:   1.11.4\n"
		"  Created:   2026-01-01 00:00:00 +0000 UTC\n"
		"  Info:      \n\n";
	static const char kubernetes[] =
		"\x1b[31mFailed to unlock state: lock id \"00000000-0000-0000-0000-000000000000\" does not match existing lock\n"
		"Lock Info:\n"
		"  ID:        9db590f1-b6fe-c5f2-2678-8804f089deba\n"
		"  Path:      \n"
		"  Operation: OperationTypeApply\n"
		"  Who:       a@killed\n"
		"  Version:   1.11.4\n"
		"  Created:   2026-01-01 00:00:00 +0000 UTC\n"
		"  Info:      \n"
		"\x1b[0m\x1b[0m\n";

	CHECK(finds_other(s3) == 1);
	CHECK_STR(lock.id, OTHER);
	CHECK_STR(lock.who, "@sbx-" CALL);
	CHECK_STR(lock.call, CALL);
	CHECK_STR(lock.created, "2026-01-01 00:00:00 +0000 UTC");
	CHECK(finds_other(kubernetes) == 1);
	CHECK_STR(lock.id, OTHER);
	CHECK_STR(lock.who, "a@killed");
	CHECK_STR(lock.call, "");
	/* There is none, it cannot be seen, or it was taken away. */
	CHECK(finds_other("\x1b[31mFailed to unlock state: state is already unlocked\x1b[0m\x1b[0m\n") == 0);
	CHECK(finds_other("\x1b[31mFailed to unlock state: unable to retrieve file from S3 bucket 'state' with key "
			  "'envs/far.tfstate.tflock': operation error S3: GetObject, https response error StatusCode: 404, "
			  "RequestID: 1E, HostID: 9G=, NoSuchKey: \x1b[0m\x1b[0m\n") == 0);
	CHECK(finds_other("\x1b[0m\x1b[1m\x1b[32mTerraform state has been successfully unlocked!\x1b[0m\x1b[32m\n") == 0);
	CHECK(finds_other("") == 0);
}

/* Nothing else than those two sentences, about the ID that was asked for, with a whole lock behind them, once. */
static void test_unlock_hostile(void)
{
	CHECK(finds_other(S3(ASKED, OTHER) INFO(OTHER, "a@b")) == 1);
	CHECK(finds_other(KUBERNETES(ASKED) INFO(OTHER, "a@b")) == 1);
	/* OpenTofu's for S3, which shows an empty lock where there is none. */
	CHECK(finds_other(FAILED "lock id \"" ASKED "\" from s3 does not match existing lock\n" INFO(OTHER, "a@b")) == 1);
	CHECK(finds_other(FAILED "lock id \"" ASKED "\" from s3 does not match existing lock\n" INFO("", "")) == 0);
	CHECK(finds_other(FAILED "lock id \"" ASKED "\" from s4 does not match existing lock\n" INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other("Warning: something\n\n" KUBERNETES(ASKED) INFO(OTHER, "a@b")) == 1);
	CHECK(finds_other(S3(OTHER, OTHER) INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other(KUBERNETES(OTHER) INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other(S3(ASKED, "another") INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other(S3(ASKED, "") INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other(S3(ASKED, OTHER "' or '") INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other(FAILED "lock ID '" ASKED "' does not match the existing lock ID '\n" INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other(FAILED "lock id \"" ASKED "\" does not match existing lock!\n" INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other(" " KUBERNETES(ASKED) INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other("\x1b[1m" KUBERNETES(ASKED) INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other(LOCKED INFO(OTHER, "a@b") TAIL) == 0);
	CHECK(finds_other(INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other(KUBERNETES(ASKED) "\n" INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other(KUBERNETES(ASKED) INFO("-force", "a@b")) == 0);
	CHECK(finds_other(KUBERNETES(ASKED) "Lock Info:\n  ID:        " OTHER "\n  Who:       a@b\n") == 0);
	CHECK(finds_other(KUBERNETES(ASKED)) == 0);
	CHECK(finds_other(KUBERNETES(ASKED) INFO(OTHER, "a@b") "\n" KUBERNETES(ASKED) INFO(OTHER, "a@b")) == 0);
	CHECK(finds_other(FAILED "no\n" KUBERNETES(ASKED) INFO(OTHER, "a@b")) == 0);
	CHECK(tf_lock_is_id(OTHER) && tf_lock_is_id("1"));
	CHECK(!tf_lock_is_id("") && !tf_lock_is_id("-1") && !tf_lock_is_id("1-") && !tf_lock_is_id("a b") && !tf_lock_is_id("a\n"));
}

int main(void)
{
	test_unlock();
	test_unlock_hostile();
	test_backends();
	test_http();
	test_others();
	test_hostile();
	return unit_done();
}
