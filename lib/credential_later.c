/* The witnesses' descriptors, and one line of JSON on what they are. */
#include "credential_later.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "audit.h"
#include "credential_lease.h"
#include "io.h"
#include "process.h"

enum { REQUEST_MAX = 4096 /* no more than a pipe takes at once */ };
#define LOCK_NUMBER 3
#define FIRST_NUMBER 4

static int is_left(const struct lease *lease)
{
	return lease->witness.out >= 0;
}

int credential_later_has(const struct leases *leases)
{
	for (size_t i = 0; i < leases->count; i++)
		if (is_left(&leases->lease[i]))
			return 1;
	return 0;
}

/* ---- handing over ---- */

static jv describe(const struct lease *lease)
{
	int64_t index = 0;

	json_int(lease->record, "index", &index);
	jv out = json_set_int(jv_object(), "index", index);
	out = json_set_int(out, "began_ms", lease->witness.began);
	out = json_set_int(out, "ends_ms", lease->witness.ends);
	return json_set_int(out, "wait_ms", lease->witness.wait_ms);
}

static int start(const struct credential_broker *broker, const char *call, const struct spawn_fd *fds, size_t count,
		 struct sbx_error *err)
{
	static const char *const numbers[] = {"4", "5", "6", "7", "8", "9", "10", "11"};
	const char *argv[8 + 2 * LIMIT_CREDENTIALS] = {"sbx-cred", "--config",	broker->config->file,	  "--witness",
						       call,	   "--lock-fd", SPAWN_NUMBER(LOCK_NUMBER)};
	auto_free char *path = process_helper(argv[0], err);
	struct child child;

	_Static_assert(LIMIT_CREDENTIALS <= ARRAY_LEN(numbers), "a number for each witness");
	if (path == NULL)
		return -1;
	for (size_t i = 0, at = 7; i < count; i++) {
		argv[at++] = "--witness-fd";
		argv[at++] = numbers[i];
	}
	const struct spawn what = {.path = path,
				   .argv = argv,
				   .fds = fds,
				   .fd_count = count + 3,
				   .flags = SPAWN_SESSION | SPAWN_NO_TERMINAL};
	if (spawn_start(&what, &child, err) < 0)
		return -1;
	/* It is nobody's child when we have ended. */
	base_close_fd(&child.pidfd);
	return 0;
}

int credential_later_start(const struct credential_broker *broker, const char *call, struct leases *leases,
			   struct sbx_error *err)
{
	auto_buf text = BUF_INIT(REQUEST_MAX);
	auto_jv list = jv_array();
	auto_fd nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	int request[2] = {-1, -1};
	size_t count = 0;

	if (nothing < 0 || pipe2(request, O_CLOEXEC) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a pipe");
	auto_fd in = request[0], out = request[1];
	/* Whoever reads our standard error must not wait for it. */
	struct spawn_fd fds[3 + LIMIT_CREDENTIALS] = {
		{STDIN_FILENO, in}, {STDERR_FILENO, nothing}, {LOCK_NUMBER, broker->lock_fd}};
	for (size_t i = 0; i < leases->count; i++) {
		if (!is_left(&leases->lease[i]))
			continue;
		fds[3 + count] = (struct spawn_fd){FIRST_NUMBER + (int)count, leases->lease[i].witness.out};
		list = json_append(take_jv(&list), describe(&leases->lease[i]));
		count++;
	}
	if (json_write(list, &text, err) < 0 || io_write_all(out, text.data, text.len, err) < 0 ||
	    start(broker, call, fds, count, err) < 0)
		return -1;
	for (size_t i = 0; i < leases->count; i++)
		credential_witness_leave(&leases->lease[i].witness);
	return 0;
}

/* ---- what the other one does ---- */

static struct lease *find(struct leases *leases, int64_t index)
{
	int64_t said;

	for (size_t i = 0; i < leases->count; i++)
		if (json_int(leases->lease[i].record, "index", &said) == 0 && said == index)
			return &leases->lease[i];
	return NULL;
}

/* Take the descriptors and what is known of them to the leases. */
static int attach(jv list, const int *fds, size_t count, struct leases *leases, struct sbx_error *err)
{
	for (size_t i = 0; i < count; i++) {
		auto_jv one = json_at(list, (int)i);
		int64_t index;
		struct lease *lease = json_int(one, "index", &index) == 0 ? find(leases, index) : NULL;
		if (lease == NULL || lease->witness.out >= 0 || json_int(one, "began_ms", &lease->witness.began) < 0 ||
		    json_int(one, "wait_ms", &lease->witness.wait_ms) < 0 ||
		    json_int(one, "ends_ms", &lease->witness.ends) < 0)
			return sbx_fail(err, SBX_BAD_REQUEST, "bad_request",
					"a witness has no lease, or no time at which it ends");
		lease->witness.out = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		/* Without one there would seem to be nothing left of the lease. */
		if (lease->witness.out < 0)
			return sbx_fail_errno(err, SBX_OS, "os_error", "cannot hear a witness");
		lease->witness.is_taken = 1;
	}
	return 0;
}

/* 0; 1: it is still taken; -1. */
static int record(const struct credential_broker *broker, struct lease *lease, struct sbx_error *err)
{
	static const char *const members[] = {"provider", "scope", "namespace", "lease", "jti", "expires_at"};
	auto_jv outcome = json_set_str(jv_object(), "state", "revoked"), details = jv_object();
	struct credential_witness *w = &lease->witness;

	if (!credential_witness_conclude(w, w->ends, &outcome))
		return sbx_fail(err, SBX_BUG, "bug", "a witness was not waited for");
	const char *unproven = json_str(outcome, "unproven");
	int is_taken = unproven != NULL && strcmp(unproven, "still_taken") == 0;
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (json_has(lease->record, members[i]) && (is_taken || strcmp(members[i], "expires_at") != 0))
			details = json_set(take_jv(&details), members[i], json_get(lease->record, members[i]));
	details = jv_object_merge(take_jv(&details), take_jv(&outcome));
	if (audit_append(broker->state, AUDIT_OUTCOME, "credential.witnessed", json_str(lease->record, "call"), details,
			 err) < 0)
		return -1;
	if (is_taken)
		return lease_write(broker->state, lease, "still_taken", err) < 0 ? -1 : 1;
	return lease_remove(broker->state, lease->record, err);
}

int credential_later_run(const struct credential_broker *broker, const char *call, int request_fd, const int *fds,
			 size_t count, struct sbx_error *err)
{
	auto_free char *text = NULL;
	auto_jv list = jv_invalid();
	auto_leases leases;
	int result = 0;
	size_t len;

	leases_init(&leases);
	if (io_read_all(request_fd, REQUEST_MAX, &text, &len, err) < 0 ||
	    json_parse(text, len, REQUEST_MAX, &list, err) < 0 || lease_left(broker->state, call, &leases, err) < 0 ||
	    attach(list, fds, count, &leases, err) < 0)
		return -1;
	for (size_t i = 0; i < leases.count; i++) {
		int left = is_left(&leases.lease[i]) ? record(broker, &leases.lease[i], err) : 0;
		if (left < 0 || result == 0)
			result = left;
	}
	return result;
}
