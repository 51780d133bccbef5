/* Results that wait for whoever asks later. */
#include "stored.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit.h"
#include "call.h"
#include "clock.h"
#include "io.h"
#include "limit.h"
#include "mend.h"

int stored_keep(int run_fd, const char *text, size_t len, struct sbx_error *err)
{
	return io_create_file(run_fd, CALL_OBJECT, text, len, err);
}

static int unknown(struct sbx_error *err)
{
	sbx_error_clear(err);
	sbx_fail(err, SBX_NO_INPUT, "result_unknown", "there is no result of that call for you");
	return sbx_hint(err, "results are kept for 24 hours, for the principal that made the call");
}

/* What the record says of a call without an object. */
struct told {
	char principal[128];
	char state[64]; /* of tool.result */
	int64_t class;
	int has_result;
};

static int hear(jv event, void *context, struct sbx_error *err)
{
	struct told *told = context;
	const char *name = json_str(event, "event"), *principal = json_str(event, "principal"),
		   *state = json_str(event, "state");

	(void)err;
	if (name != NULL && strcmp(name, "tool.request") == 0 && principal != NULL)
		snprintf(told->principal, sizeof told->principal, "%s", principal);
	if (name == NULL || strcmp(name, "tool.result") != 0)
		return 0;
	told->has_result = 1;
	if (json_int(event, "class", &told->class) < 0)
		told->class = SBX_OUTCOME_UNKNOWN;
	snprintf(told->state, sizeof told->state, "%s", state != NULL ? state : "an error");
	return 0;
}

/* What the record says of an approval. */
struct asked {
	const char *id;
	char by[STATE_ID_SIZE];	    /* the call that asked for it */
	char holder[STATE_ID_SIZE]; /* the call that claimed it and has not given it back; "" */
	int denied, expired, granted;
};

static int hear_approval(jv event, void *context, struct sbx_error *err)
{
	struct asked *asked = context;
	const char *name = json_str(event, "event"), *approval = json_str(event, "approval"),
		   *call = json_str(event, "request_id");

	(void)err;
	if (name == NULL || approval == NULL || call == NULL || strcmp(approval, asked->id) != 0)
		return 0;
	if (strcmp(name, "approval.requested") == 0)
		snprintf(asked->by, sizeof asked->by, "%s", call);
	else if (strcmp(name, "approval.claimed") == 0)
		snprintf(asked->holder, sizeof asked->holder, "%s", call);
	else if (strcmp(name, "approval.released") == 0 && strcmp(call, asked->holder) == 0)
		asked->holder[0] = '\0';
	asked->granted |= strcmp(name, "approval.granted") == 0;
	asked->denied |= strcmp(name, "approval.denied") == 0;
	asked->expired |= strcmp(name, "approval.expired") == 0;
	return 0;
}

/* No call has used it: what it waits for. */
static int fail_unused(const struct asked *asked, struct sbx_error *err)
{
	if (asked->denied) {
		sbx_fail(err, SBX_DENIED, "approval_denied", "a person denied this call");
		return sbx_hint(err, "ask the person, not the toolkit, before anything like it is tried again");
	}
	if (asked->expired) {
		sbx_fail(err, SBX_DENIED, "approval_expired", "the approval's time is over");
		return sbx_hint(err, "make the call again; it opens a new request");
	}
	if (asked->granted) {
		sbx_fail(err, SBX_APPROVAL_REQUIRED, "approval_required",
			 "this approval is given, and no call has used it");
		return sbx_hint(err, "make exactly the same call again; it continues");
	}
	sbx_fail(err, SBX_APPROVAL_REQUIRED, "approval_required", "this approval waits for a person");
	return sbx_hint(err, "a person signs with: sbx-approve sign %s; then make the same call again", asked->id);
}

/* CALL becomes the one that claimed approval ID; -1 when there is no such approval of PRINCIPAL, or nobody has used it. */
static int find_claimer(const struct state *state, const char *id, const char *principal, char call[STATE_ID_SIZE],
			struct sbx_error *err)
{
	struct asked asked = {.id = id};
	struct told told = {.class = SBX_OK};

	if (audit_each_word(state, id, hear_approval, &asked, err) < 0)
		return -1;
	if (asked.by[0] == '\0')
		return unknown(err);
	if (audit_each(state, asked.by, hear, &told, err) < 0)
		return -1;
	if (strcmp(told.principal, principal) != 0)
		return unknown(err);
	if (asked.holder[0] == '\0')
		return fail_unused(&asked, err);
	memcpy(call, asked.holder, STATE_ID_SIZE);
	return 0;
}

/* A success without its object is not handed out as one. */
static enum sbx_class mended_class(const struct told *told)
{
	return told->class == SBX_COMMAND_FAILED || told->class == SBX_DENIED ? (enum sbx_class)told->class
									      : SBX_OUTCOME_UNKNOWN;
}

static int without_object(const struct state *state, int run_fd, const char *call, const char *principal,
			  struct sbx_error *err)
{
	struct told told = {.class = SBX_OUTCOME_UNKNOWN};

	if (audit_each(state, call, hear, &told, err) < 0)
		return -1;
	if (strcmp(told.principal, principal) != 0)
		return unknown(err);
	if (told.has_result && !state_run_works(run_fd)) {
		sbx_fail(err, mended_class(&told), "call_mended",
			 "the processes of this call died; what the record knows of it is: %s", told.state);
		return sbx_hint(err, "sbx-audit show --request-id %s", call);
	}
	sbx_fail(err, SBX_UNAVAILABLE, "call_running", "this call has no result yet");
	return sbx_hint(err, "ask again later");
}

static int is_fresh(int run_fd)
{
	struct stat st;

	return fstatat(run_fd, CALL_OBJECT, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       clock_seconds() - st.st_mtim.tv_sec <= LIMIT_RESULT_AGE_S;
}

int stored_find(const struct state *state, const struct secret *key, const char *call, const char *principal,
		char **text, size_t *len, jv *object, struct sbx_error *err)
{
	struct sbx_error missing = SBX_ERROR_INIT;
	char claimer[STATE_ID_SIZE];
	auto_jv value = jv_invalid();
	auto_free char *bytes = NULL;

	*object = jv_invalid();
	if (!state_is_id(call)) {
		sbx_fail(err, SBX_USAGE, "bad_id", "this is no id of a call or an approval");
		return sbx_hint(err, "an id has 32 hexadecimal digits");
	}
	auto_fd run_fd = state_run_open(state, call, &missing);
	if (run_fd < 0) {
		if (find_claimer(state, call, principal, claimer, err) < 0)
			return -1;
		call = claimer;
		sbx_error_clear(&missing);
		run_fd = state_run_open(state, call, &missing);
	}
	if (run_fd < 0)
		return unknown(err);
	if (io_read_file(run_fd, CALL_OBJECT, LIMIT_CALL, IO_PRIVATE, &bytes, len, &missing) < 0) {
		if (strcmp(missing.code, "missing_file") == 0)
			return without_object(state, run_fd, call, principal, err);
		*err = missing;
		return -1;
	}
	if (!is_fresh(run_fd))
		return unknown(err);
	if (call_parse(bytes, *len, SBX_PROTOCOL, &value, err) < 0)
		return -1;
	/* Seals first: who may read it is said by the object itself. */
	if (call_verify_stored(value, key, state->installation, CALL_STAGES, err) < 0)
		return -1;
	const char *owner = call_principal(value), *id = call_id(value);
	if (owner == NULL || id == NULL || strcmp(owner, principal) != 0 || strcmp(id, call) != 0)
		return unknown(err);
	*text = take_ptr(&bytes);
	*object = take_jv(&value);
	return 0;
}
