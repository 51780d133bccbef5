/* Descriptors, deadline, and what must be the same in the answer. */
#include "credential_run.h"

#include <string.h>
#include <sys/wait.h>

#include "call.h"
#include "clock.h"
#include "credential_seal.h"

enum {
	DEADLINE_DEFAULT_MS = 10 * 60 * 1000,
	DEADLINE_MAX_MS = 24 * 60 * 60 * 1000,
	RUN_MARGIN_MS = 2 * 60 * 1000, /* copies, digests, locks and analysis around the steps of sbx-run */
};
/* Descriptors of sbx-run. */
#define CREDENTIALS_NUMBER 3
#define SECRETS_NUMBER 4
#define LOCK_NUMBER 5

static int seal_call(struct credential_run *r, jv call, const struct leases *leases, struct sbx_error *err)
{
	jv out = jv_copy(call);

	if (leases->count > 0)
		out = json_set(out, "credential", credential_member(leases));
	jv_free(r->sealed);
	r->sealed = out;
	if (call_seal(&r->sealed, r->key, r->installation, CALL_CRED, err) < 0 ||
	    json_write(r->sealed, &r->input, err) < 0)
		return -1;
	return buf_add(&r->input, "\n", 1, err);
}

static void build_argv(struct credential_run *r, const struct leases *leases)
{
	static const char *const descriptors[] = {"--credentials-fd", SPAWN_NUMBER(CREDENTIALS_NUMBER),
						  "--secrets-fd",     SPAWN_NUMBER(SECRETS_NUMBER),
						  "--lock-fd",	      SPAWN_NUMBER(LOCK_NUMBER)};
	const char **argv = r->argv;

	*argv++ = r->command[0];
	*argv++ = "--config";
	*argv++ = r->config;
	for (size_t i = 0; leases->count > 0 && i < ARRAY_LEN(descriptors); i++)
		*argv++ = descriptors[i];
	for (int i = 1; r->command[i] != NULL; i++)
		*argv++ = r->command[i];
	*argv = NULL;
}

int credential_run_start(struct credential_run *r, jv call, const struct leases *leases, struct sbx_error *err)
{
	auto_fd credentials = -1, secrets = -1;

	if ((leases->count > 0 && credential_seal(leases, &credentials, &secrets, err) < 0) ||
	    seal_call(r, call, leases, err) < 0)
		return -1;
	const struct spawn_fd fds[] = {
		{CREDENTIALS_NUMBER, credentials}, {SECRETS_NUMBER, secrets}, {LOCK_NUMBER, r->lock_fd}};
	build_argv(r, leases);
	r->process.path = r->path;
	r->process.argv = r->argv;
	r->process.fds = fds;
	/* Our reader may have gone already: the signal that says so must not end a call that spent an approval. */
	r->process.flags = strcmp(r->command[0], "sbx-run") == 0 ? SPAWN_HOLD_STOP : 0;
	r->process.fd_count = leases->count > 0 ? ARRAY_LEN(fds) : 0;
	r->process.input = r->input.data;
	r->process.input_len = r->input.len;
	r->process.answer = &r->answer;
	r->process.signal_fd = r->signal_fd;
	r->process.reader_fd = r->reader_fd;
	int result = credential_process_start(&r->process, err);
	r->process.fds = NULL;
	/* It need not wait for what we do beside it. */
	if (result == 0)
		credential_process_feed(&r->process);
	return result;
}

static int64_t limit_ms(jv limits, const char *key, int64_t fallback)
{
	int64_t value;

	return json_int(limits, key, &value) == 0 && value >= 0 && value <= DEADLINE_MAX_MS ? value : fallback;
}

/* What the steps may take and what it takes to stop them, twice: whoever KILLs earlier cuts an apply in the middle. */
static int64_t deadline(const struct credential_run *r)
{
	auto_jv policy = json_object(r->sealed, "policy");
	auto_jv run = json_object(policy, "run");
	auto_jv limits = json_object(run, "limits");

	return clock_mono_ms() + limit_ms(limits, "deadline_ms", DEADLINE_DEFAULT_MS) +
	       2 * limit_ms(limits, "grace_ms", 0) + RUN_MARGIN_MS;
}

/* The answer must be the call that was given, with our seal and those before it untouched, and the run's seal. */
static int check_answer(const struct credential_run *r, jv *answer, struct sbx_error *err)
{
	auto_jv got = jv_invalid();

	if (call_parse(buf_str(&r->answer), r->answer.len, SBX_PROTOCOL, &got, err) < 0)
		return -1;
	if (call_is_bare_error(got)) {
		call_get_error(got, err);
		return -1;
	}
	if (call_verify(got, r->key, r->installation, CALL_REVOKE, err) < 0)
		return -1;
	auto_jv sent_seals = json_array(r->sealed, "seals"), got_seals = json_array(got, "seals");
	for (int i = 0; i < json_length(sent_seals); i++) {
		auto_jv sent = json_at(sent_seals, i), came = json_at(got_seals, i);
		if (!jv_is_valid(came) || !json_same(sent, came))
			return sbx_fail(err, SBX_PROTOCOL, "seal_invalid", "the answer is that of another call");
	}
	*answer = take_jv(&got);
	return 0;
}

jv credential_run_await(struct credential_run *r, struct sbx_error *why, struct sbx_error *died)
{
	jv answer = jv_invalid();
	int status = 0;
	int ended = credential_process_wait(&r->process, deadline(r), &status, why);

	credential_process_stop(&r->process);
	if (ended == 0 && check_answer(r, &answer, why) == 0)
		return answer;
	if (ended == 0 && WIFSIGNALED(status))
		sbx_fail(died, SBX_OUTCOME_UNKNOWN, "run_died",
			 "sbx-run was killed by signal %d; what it did is not known", WTERMSIG(status));
	else
		sbx_fail(died, SBX_OUTCOME_UNKNOWN, "run_died",
			 "sbx-run gave no whole answer (%s); what it did is not known", why->code);
	sbx_hint(died, "look before you try again: sbx-audit show --request-id %s", call_id(r->sealed));
	jv_free(answer);
	return call_set_error(jv_copy(r->sealed), call_stage_name(CALL_RUN), died);
}

void credential_run_clear(struct credential_run *r)
{
	credential_process_stop(&r->process);
	jv_free(take_jv(&r->sealed));
	buf_clear(&r->input);
	buf_clear(&r->answer);
}
