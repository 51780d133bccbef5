/* stored: which call an approval's id leads to, by what the record says of it. */
#include "stored.h"

#include <fcntl.h>

#include "audit.h"
#include "io.h"
#include "unit.h"

#define ASKER "00000000000000000000000000000001"
#define FIRST "00000000000000000000000000000002"
#define SECOND "00000000000000000000000000000003"
#define APPROVAL "0123456789abcdef0123456789abcdef"

static struct state state;
static struct secret key = SECRET_INIT;

static void say(const char *event, const char *call, const char *name, const char *value)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv details = json_set_str(jv_object(), name, value);

	CHECK(audit_append(&state, AUDIT_INTENT, event, call, details, &err) == 0);
}

static void say_of_approval(const char *event, const char *call)
{
	say(event, call, "approval", APPROVAL);
}

static const char *answer(const char *id)
{
	static struct sbx_error err;
	char *text;
	size_t len;
	jv object;

	sbx_error_clear(&err);
	CHECK(stored_find(&state, &key, id, "agent", &text, &len, &object, &err) < 0);
	return err.code;
}

/* A call of the agent's that is at work. */
static void call_begins(const char *call)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_fd run_fd = state_run_create(&state, call, &err);

	CHECK(run_fd >= 0);
	say("tool.request", call, "principal", "agent");
}

int main(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char root[] = "/tmp/sbx-stored-test-XXXXXX", path[64];

	CHECK(mkdtemp(root) != NULL);
	snprintf(path, sizeof path, "%s/state", root);
	CHECK(state_open(path, &state, &err) == 0 && state_seal_key(&state, &key, &err) == 0);
	CHECK_STR(answer(APPROVAL), "result_unknown");
	say("tool.request", ASKER, "principal", "agent");
	say_of_approval("approval.requested", ASKER);
	say_of_approval("approval.granted", ASKER);
	CHECK_STR(answer(APPROVAL), "approval_required");
	call_begins(FIRST);
	say_of_approval("approval.claimed", FIRST);
	CHECK_STR(answer(APPROVAL), "call_running");
	say_of_approval("approval.released", FIRST);
	CHECK_STR(answer(APPROVAL), "approval_required");
	call_begins(SECOND);
	say_of_approval("approval.claimed", SECOND);
	CHECK_STR(answer(APPROVAL), "call_running");
	/* Only who holds it gives it back. */
	say_of_approval("approval.released", FIRST);
	CHECK_STR(answer(APPROVAL), "call_running");
	say_of_approval("approval.released", SECOND);
	CHECK_STR(answer(APPROVAL), "approval_required");
	secret_clear(&key);
	state_close(&state);
	io_remove_tree(AT_FDCWD, root, &err);
	return unit_done();
}
