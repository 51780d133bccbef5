/* Around a run: record, state, plan, result. */
#include "sandbox_close.h"

#include <string.h>

#include "audit.h"
#include "call.h"
#include "fetched_keep.h"
#include "log.h"
#include "plan.h"
#include "refused.h"
#include "sandbox_keep.h"
#include "sandbox_report.h"
#include "sandbox_unlock.h"

enum { CONNECTIONS_A_LINE = 200 }; /* 200 bytes each, below LIMIT_EVENT */

void sandbox_stage_init(struct sandbox_stage *s)
{
	*s = (struct sandbox_stage){
		.call = jv_invalid(), .run_fd = -1, .findings = jv_array(), .plan = jv_invalid(), .state_file = "none"};
	sandbox_outcome_init(&s->outcome);
}

void sandbox_stage_clear(struct sandbox_stage *s)
{
	jv_free(take_jv(&s->findings));
	jv_free(take_jv(&s->plan));
	sandbox_outcome_clear(&s->outcome);
}

int sandbox_is_claimed(jv call)
{
	const char *state = call_approval_state(call);

	return state != NULL && strcmp(state, "claimed") == 0;
}

static int record_start(const struct sandbox_stage *s, struct sbx_error *err)
{
	auto_jv policy = json_object(s->call, "policy"), plan = json_object(policy, "plan");
	auto_jv steps = json_array(s->prepared->run, "steps");
	auto_jv details = json_set_str(jv_object(), "driver", json_str(s->prepared->run, "driver"));

	details = json_set_str(take_jv(&details), "isolation", json_str(s->prepared->run, "require"));
	details = json_set_int(take_jv(&details), "steps", json_length(steps));
	details = json_set_str(take_jv(&details), "plan", json_str(plan, "id"));
	/* Whoever dies before it can say which one it took away has said which it could. */
	if (json_length(s->prepared->dead) > 0)
		details = json_set(take_jv(&details), "may_unlock", jv_copy(s->prepared->dead));
	return audit_append(s->state, AUDIT_INTENT, "sandbox.started", call_id(s->call), details, err);
}

int sandbox_begin(struct sandbox_stage *s, struct sbx_error *err)
{
	const char *id = json_str(s->prepared->seal, "id");

	if (id != NULL && plan_take(s->state, id, err) < 0)
		return -1;
	s->has_plan = id != NULL;
	if (sandbox_unlock_begin(&s->prepared->job, s->state, call_id(s->call), err) < 0)
		return -1;
	if (record_start(s, err) == 0)
		return 0;
	sandbox_unlock_end(&s->prepared->job, s->state, call_id(s->call), &s->outcome, 1);
	return -1;
}

/* Of the evidence what says where it ran; all of it is in the call's result. */
static jv record_evidence(jv details, jv isolation)
{
	static const char *const members[] = {"isolation", "kernel", "egress", "approval"};

	for (size_t i = 0; jv_is_valid(isolation) && i < ARRAY_LEN(members); i++)
		if (json_has(isolation, members[i]))
			details = json_set(details, members[i], json_get(isolation, members[i]));
	return details;
}

/* Many in one line, for a line is a write to the disk. */
static void record_connections(const struct sandbox_stage *s, struct sbx_error *err)
{
	jv all = s->outcome.connections;
	auto_jv list = jv_array();

	for (int i = 0, n = json_length(all); i < n; i++) {
		list = json_append(take_jv(&list), json_at(all, i));
		if (i + 1 < n && json_length(list) < CONNECTIONS_A_LINE)
			continue;
		auto_jv details = json_set(jv_object(), "connections", take_jv(&list));
		list = jv_array();
		if (audit_append(s->state, AUDIT_OUTCOME, "sandbox.connections", call_id(s->call), details, err) < 0)
			return;
	}
}

static void record_end(const struct sandbox_stage *s)
{
	const struct sandbox_outcome *o = &s->outcome;
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv details = json_set_str(jv_object(), "state", sandbox_state_name(o->state)), digests = jv_array();

	for (int i = 0, n = json_length(o->artifacts); i < n; i++) {
		auto_jv artifact = json_at(o->artifacts, i);
		digests = json_append(take_jv(&digests), json_get(artifact, "sha256"));
	}
	if (o->exit_code >= 0)
		details = json_set_int(take_jv(&details), "exit", o->exit_code);
	if (o->signal > 0)
		details = json_set_int(take_jv(&details), "signal", o->signal);
	if (o->trouble.class != SBX_OK)
		details = json_set_str(take_jv(&details), "code", o->trouble.code);
	details = json_set_int(take_jv(&details), "took_ms", o->took_ms);
	details = json_set(take_jv(&details), "artifacts", take_jv(&digests));
	details = json_set_str(take_jv(&details), "verdict", sandbox_verdict(o));
	details = json_set_str(take_jv(&details), "state_file", s->state_file);
	details = record_evidence(take_jv(&details), o->isolation);
	record_connections(s, &err);
	if (audit_append(s->state, AUDIT_OUTCOME, "sandbox.completed", call_id(s->call), details, &err) < 0)
		log_error(&err);
}

const char *sandbox_taken_name(enum ws_taken taken)
{
	return taken == WS_TAKEN ? "taken" : taken == WS_UNCHANGED ? "unchanged" : "kept_beside";
}

static void fail_rejected(struct sbx_error *trouble)
{
	sbx_fail(trouble, SBX_COMMAND_FAILED, "state_rejected",
		 "the state that the run left is not a successor of the one it was given");
	sbx_hint(trouble,
		 "it stands beside, as state.rejected in the call's directory below runs/ in the state directory");
}

/* Mending by itself looks only after calls that died: this one is to be named. */
static void fail_not_taken(struct sbx_error *trouble, const struct sbx_error *why, const char *call)
{
	sbx_fail(trouble, SBX_COMMAND_FAILED, "state_not_taken",
		 "the state that the run left could not be taken back (%s)", why->message);
	sbx_hint(trouble,
		 "it waits in the call's directory: see to the cause (a full disk?), then run sbx-run --mend %s; the "
		 "next call that uses this state takes it too",
		 call);
}

/* An apply that says it succeeded and left the state as it was did not do what was signed, or did it elsewhere. */
static void check_unchanged(struct sandbox_stage *s)
{
	struct sandbox_outcome *o = &s->outcome;
	int64_t changes = 0;

	if (o->state != SANDBOX_COMPLETED || json_int(s->prepared->seal, "changes", &changes) < 0 || changes == 0)
		return;
	o->state = SANDBOX_FAILED;
	sbx_fail(&o->trouble, SBX_COMMAND_FAILED, "state_unchanged",
		 "the command ended well, but the state is as it was before it");
	sbx_hint(&o->trouble, "look at what it changed before anything is planned again: the plan changes %lld objects",
		 (long long)changes);
}

void sandbox_take_state_back(struct sandbox_stage *s)
{
	struct sandbox_outcome *o = &s->outcome;
	struct sbx_error err = SBX_ERROR_INIT;
	enum ws_taken taken = WS_KEPT_BESIDE;

	if (!s->prepared->writes || s->prepared->state_file == NULL)
		return;
	int got = sandbox_began_nothing(s) ? ws_state_put_back(&s->prepared->ws, s->run_fd, &taken, &err)
					   : ws_state_take_back(&s->prepared->ws, s->run_fd, &taken, &err);
	if (got < 0)
		log_error(&err);
	s->state_file = got < 0 ? "not_taken" : sandbox_taken_name(taken);
	if (got == 0 && taken == WS_UNCHANGED)
		check_unchanged(s);
	if ((got == 0 && taken != WS_KEPT_BESIDE) || !s->driver_ran)
		return;
	/* An apply whose state is not known any more is no success. */
	if (o->state == SANDBOX_COMPLETED)
		o->state = SANDBOX_FAILED;
	if (got < 0)
		fail_not_taken(&o->trouble, &err, call_id(s->call));
	else
		fail_rejected(&o->trouble);
}

int sandbox_began_nothing(const struct sandbox_stage *s)
{
	const struct sandbox_outcome *o = &s->outcome;
	int is_believed = o->state == SANDBOX_REFUSED || o->state == SANDBOX_TIMEOUT || o->state == SANDBOX_CANCELLED;

	return !s->driver_ran || (o->complete && o->refused && is_believed);
}

/* A plan is used up when anything of it may have happened. */
static void drop_used_plan(struct sandbox_stage *s)
{
	struct sbx_error err = SBX_ERROR_INIT;

	if (!s->has_plan || sandbox_began_nothing(s))
		return;
	s->has_plan = 0;
	if (plan_drop(s->state, json_str(s->prepared->seal, "id"), &err) < 0)
		log_error(&err);
}

static int record_plan(const struct sandbox_stage *s, struct sbx_error *err)
{
	auto_jv details = json_set_str(jv_object(), "plan", json_str(s->plan, "id"));
	auto_jv digest = json_object(s->outcome.analysis, "digest");

	details = json_set_str(take_jv(&details), "seal_sha256", json_str(s->plan, "seal_sha256"));
	details = json_set_str(take_jv(&details), "verdict", json_str(s->plan, "verdict"));
	details = json_set_str(take_jv(&details), "effect_sha256", json_str(digest, "effect"));
	return audit_append(s->state, AUDIT_OUTCOME, "plan.kept", call_id(s->call), details, err);
}

/* Keep what sbx-plan has judged; a plan that the record does not know is not kept. */
static void keep_plan(struct sandbox_stage *s)
{
	struct sandbox_outcome *o = &s->outcome;
	struct sbx_error err = SBX_ERROR_INIT;

	if (o->state != SANDBOX_COMPLETED || !sandbox_makes_plan(s->prepared->run) || !jv_is_valid(o->analysis))
		return;
	if (json_bool(o->analysis, "errored") == 1) {
		o->state = SANDBOX_FAILED;
		sbx_fail(&o->trouble, SBX_COMMAND_FAILED, "plan_errored",
			 "the plan says of itself that it is not complete");
		return;
	}
	struct sandbox_plan plan = {.call = s->call,
				    .programs = s->prepared->programs,
				    .mounts = s->prepared->mounts,
				    .providers = s->prepared->providers,
				    .backend = s->prepared->backend,
				    .fetched = &s->prepared->fetched,
				    .target_sha256 = s->prepared->target_sha256,
				    .state = s->prepared->state_facts,
				    .tree = s->prepared->job.tree,
				    .findings = s->findings,
				    .verdict = sandbox_verdict(o)};
	if (o->plan_fd < 0)
		sbx_fail(&err, SBX_PROTOCOL, "bad_frame", "the sandbox gave no plan");
	if (o->plan_fd < 0 || sandbox_keep(s->state, s->key, &plan, o, &s->plan, &err) < 0 ||
	    record_plan(s, &err) < 0) {
		struct sbx_error late = SBX_ERROR_INIT;
		if (jv_is_valid(s->plan))
			plan_drop(s->state, json_str(s->plan, "id"), &late);
		jv_free(take_jv(&s->plan));
		log_error(&err);
		o->state = SANDBOX_FAILED;
		o->trouble = err;
	}
}

/* A product that the record does not know is not kept, either. */
static int record_fetched(void *context, jv kept, struct sbx_error *err)
{
	const struct sandbox_stage *s = context;

	return audit_append(s->state, AUDIT_OUTCOME, "fetched.kept", call_id(s->call), kept, err);
}

static void keep_fetched(struct sandbox_stage *s)
{
	struct sandbox_outcome *o = &s->outcome;
	struct prepared *p = s->prepared;
	const char *principal = call_principal(s->call);
	const struct fetched_trees trees = {.modules_fd = o->modules_fd,
					    .modules_size = o->modules_size,
					    .providers_fd = o->providers_fd,
					    .providers_size = o->providers_size};
	const struct fetched_keeper keeper = {.call = call_id(s->call),
					      .principal = principal != NULL ? principal : "",
					      .know = record_fetched,
					      .context = s};
	auto_jv fetch = json_object(p->run, "fetch");

	if (!p->job.fetches || o->state != SANDBOX_COMPLETED)
		return;
	if (fetched_keep(s->state, &keeper, &p->need, fetch, &trees, &o->fetched, &o->trouble) == 0)
		return;
	log_error(&o->trouble);
	o->state = SANDBOX_FAILED;
}

static jv add_record_head(const struct sandbox_stage *s, jv result)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char head[65];
	int64_t seq;

	if (audit_head(s->state, head, &seq, &err) < 0) {
		log_error(&err);
		return result;
	}
	return json_set_str(result, "record_head", head);
}

void sandbox_give_back(struct sandbox_stage *s)
{
	auto_jv approval = json_object(s->call, "approval");
	struct sbx_error err = SBX_ERROR_INIT, unused = SBX_ERROR_INIT;

	/* The plan first: whoever sees the proof can use both. */
	if (s->has_plan && plan_put_back(s->state, json_str(s->prepared->seal, "id"), &unused) < 0)
		log_error(&unused);
	s->has_plan = 0;
	if (sandbox_is_claimed(s->call) &&
	    refused_write(s->state, s->key, s->run_fd, call_id(s->call), json_str(approval, "id"), &err) < 0)
		log_error(&err);
}

/* A step that takes the lock gives it back before it ends with 0; and what was refused has come to none. */
static void end_lock(const struct sandbox_stage *s)
{
	const struct sandbox_outcome *o = &s->outcome;
	int is_over = !s->driver_ran || o->state == SANDBOX_COMPLETED ||
		      (o->state == SANDBOX_REFUSED && sandbox_began_nothing(s));

	sandbox_unlock_end(&s->prepared->job, s->state, call_id(s->call), o, is_over);
}

void sandbox_close(struct sandbox_stage *s)
{
	jv_free(take_jv(&s->findings));
	if (jv_is_valid(s->outcome.analysis)) {
		jv_free(take_jv(&s->outcome.unshown));
		s->outcome.unshown = jv_copy(s->prepared->unshown);
	}
	s->findings = sandbox_findings(&s->outcome);
	drop_used_plan(s);
	keep_plan(s);
	keep_fetched(s);
	end_lock(s);
	record_end(s);
}

jv sandbox_result(const struct sandbox_stage *s)
{
	const struct sandbox_outcome *o = &s->outcome;
	struct sbx_error err = SBX_ERROR_INIT;
	jv result = jv_invalid();

	if (sandbox_report(s->state, s->prepared->run, o, s->findings, sandbox_verdict(o), &result, &err) < 0) {
		log_error(&err);
		jv_free(result);
		result = json_set_str(jv_object(), "state", sandbox_state_name(o->state));
	}
	result = json_set_str(result, "state_file", s->state_file);
	if (jv_is_valid(o->unlocked))
		result = json_set(result, "unlocked", jv_copy(o->unlocked));
	if (jv_is_valid(o->fetched))
		result = json_set(result, "fetched", jv_copy(o->fetched));
	if (jv_is_valid(s->plan))
		result = json_set(result, "plan", jv_copy(s->plan));
	return add_record_head(s, result);
}
