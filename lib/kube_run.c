/* Create, follow, end, remove. */
#include "kube_run.h"

#include <stdio.h>
#include <string.h>

#include "boot.h"
#include "clock.h"
#include "http_status.h"
#include "kube_end.h"
#include "kube_make.h"
#include "kube_mend.h"
#include "kube_policy.h"
#include "log.h"

static const int64_t request_ms = 10000;
static const int64_t first_pause_ms = 250;
static const size_t job_max = (size_t)64 << 10;
/* A Pod comes within milliseconds of its Job. One that does not was refused, and only an event says why. */
static const int64_t no_pod_ms = 1000;
/* The status of a Pod lags behind its log. */
static const int64_t status_lag_ms = 5000;
static const int64_t kill_slack_ms = 2000; /* as on this machine: sbx-entry's own, after the grace */
static const int64_t remove_ms = 8000;	   /* after a kill; sbx-run's patience is longer */
static const int64_t reader_ms = 30000;

struct run {
	const struct kube_task *t;
	struct kube_loop loop;
	char name[KUBE_NAME_SIZE], uid[KUBE_UID_SIZE];
	int made;			/* there may be a Job */
	int began;			/* all that the Pod waits for may be there */
	struct http_exchange *policies; /* the namespace's network policies, asked for beside the rest */
	struct http_exchange *drop;	/* the removal of the credentials' Secret */
	int dropped;
	int lost; /* the reader was told that something may run on */
};

/* --- creating --- */

/* The uid of the Job in ANSWER, if this driver made it. */
static int take_uid(struct run *r, const struct http_exchange *answer, struct sbx_error *err)
{
	auto_jv object = jv_invalid();

	if (kube_object(answer, &object, err) < 0)
		return -1;
	auto_jv metadata = json_object(object, "metadata"), labels = json_object(metadata, "labels");
	const char *uid = json_str(metadata, "uid"), *run = json_str(labels, KUBE_LABEL_RUN);
	if (uid == NULL || uid[0] == '\0' || strlen(uid) >= sizeof r->uid)
		return sbx_fail(err, SBX_PROTOCOL, "cluster_answer", "the API server's Job has no uid");
	if (run == NULL || strcmp(run, r->t->job->run) != 0)
		return sbx_fail(err, SBX_CANNOT_CREATE, "cluster_exists",
				"there is a Job of this call that is not ours");
	memcpy(r->uid, uid, strlen(uid) + 1);
	kube_loop_own(&r->loop, r->uid);
	return 0;
}

/* A bad Job is created all the same, and says so in a warning: its Pod will be refused. */
static int check_warning(const struct http_exchange *answer, struct sbx_error *err)
{
	char said[200];

	if (strstr(http_warning(answer), "would violate PodSecurity") == NULL)
		return 0;
	kube_printable(http_warning(answer), said, sizeof said);
	sbx_fail(err, SBX_DENIED, "cluster_admission", "the cluster would not admit the sandbox's Pod");
	return sbx_hint(err, "the API server says: %s", said);
}

/* The Job of this name that is there already; asked for until REQUEST_MS have passed. */
static struct http_exchange *find_job(struct run *r, struct sbx_error *err)
{
	int64_t until = clock_mono_ms() + request_ms;

	for (;;) {
		struct sbx_error why = SBX_ERROR_INIT;
		struct http_exchange *answer = kube_get(r->t->kube, KUBE_JOB, r->name, until, err);
		if (answer == NULL || kube_loop_await(&r->loop, answer, until + first_pause_ms, err) < 0) {
			http_end(answer);
			return NULL;
		}
		enum kube_answer got = kube_read(answer, "find the Job", &why);
		if (got == KUBE_OK)
			return answer;
		http_end(answer);
		if (got != KUBE_AGAIN || clock_left_ms(until) == 0 || kube_loop_is_to_end(&r->loop)) {
			*err = why;
			return NULL;
		}
		if (kube_loop_pause(&r->loop, first_pause_ms, err) < 0)
			return NULL;
	}
}

static int create_job(struct run *r, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(job_max);

	if (kube_job_text(r->t->job, &text, err) < 0)
		return -1;
	struct kube_making job = {.kind = KUBE_JOB, .body = text.data, .len = text.len, .doing = "create the Job"};
	if (kube_make(&r->loop, &job, 1, err) < 0) {
		/* Without an answer it may be there all the same; a server that nobody reached has made nothing. */
		r->made = err->class == SBX_UNAVAILABLE && strcmp(err->code, "server_unreachable") != 0;
		kube_make_clear(&job, 1);
		return -1;
	}
	struct http_exchange *answer = take_ptr(&job.answer);
	if (http_status(answer) == STATUS_CONFLICT) {
		http_end(answer);
		answer = find_job(r, err);
	}
	int result = answer != NULL ? take_uid(r, answer, err) : -1;
	/* Another's is left alone; one that nobody can tell us of may be ours. */
	r->made = result == 0 || (answer == NULL && err->class == SBX_UNAVAILABLE);
	if (result == 0)
		result = check_warning(answer, err);
	http_end(answer);
	return result;
}

static int check_policies(struct run *r, struct sbx_error *err)
{
	auto_jv list = jv_invalid();

	if (kube_loop_await(&r->loop, r->policies, clock_mono_ms() + request_ms, err) < 0)
		return -1;
	if (kube_read(r->policies, "list network policies", err) != KUBE_OK || kube_object(r->policies, &list, err) < 0)
		return -1;
	return kube_policy_closed(list, err);
}

/* The Secrets of a run: the pieces of the boot text, then the credentials. */
struct secrets {
	struct secret texts[BOOT_PIECES + 1];
	struct kube_making list[BOOT_PIECES + 1];
	size_t count;
};

static int add_secret(const struct run *r, struct secrets *s, const char *name, const char *file, const void *bytes,
		      size_t len, struct sbx_error *err)
{
	struct secret *text = &s->texts[s->count];

	*text = (struct secret)SECRET_INIT;
	s->list[s->count++] = (struct kube_making){.kind = KUBE_SECRET, .doing = "create a Secret"};
	if (kube_secret_text(r->t->job, r->uid, name, file, bytes, len, text, err) < 0)
		return -1;
	s->list[s->count - 1].body = text->data;
	s->list[s->count - 1].len = text->len;
	return 0;
}

static int write_secrets(const struct run *r, struct secrets *s, struct sbx_error *err)
{
	const struct kube_task *t = r->t;
	char name[KUBE_NAME_SIZE], file[KUBE_NAME_SIZE];

	for (unsigned i = 0; i < t->job->pieces; i++) {
		size_t at = i * BOOT_PIECE, left = t->boot->len - at;
		kube_piece_name(t->job, i, name);
		snprintf(file, sizeof file, BOOT_FILE, i);
		if (add_secret(r, s, name, file, t->boot->data + at, left < BOOT_PIECE ? left : BOOT_PIECE, err) < 0)
			return -1;
	}
	if (!t->job->credentials)
		return 0;
	kube_credentials_name(t->job, name);
	return add_secret(r, s, name, BOOT_CREDENTIALS, t->credentials->data, t->credentials->len, err);
}

/* As soon as the last of them is there, the Pod may start: nothing is sent before the policies were looked at. */
static int create_secrets(struct run *r, struct sbx_error *err)
{
	struct secrets secrets = {.count = 0};
	int result = -1;

	if (check_policies(r, err) == 0 && write_secrets(r, &secrets, err) == 0) {
		r->began = !kube_loop_is_to_end(&r->loop);
		result = kube_make(&r->loop, secrets.list, secrets.count, err);
	}
	kube_make_clear(secrets.list, secrets.count);
	for (size_t i = 0; i < secrets.count; i++)
		secret_clear(&secrets.texts[i]);
	return result;
}

/* --- following --- */

/* sbx-entry has read them. A failure is not worth an end: the Secret goes with the Job. */
static int drop_credentials(struct run *r, struct sbx_error *err)
{
	char name[KUBE_NAME_SIZE];

	if (r->drop != NULL && http_state(r->drop) != HTTP_RUNNING)
		http_end(take_ptr(&r->drop));
	if (!r->loop.relay.hello || r->dropped || !r->t->job->credentials)
		return 0;
	r->dropped = 1;
	kube_credentials_name(r->t->job, name);
	r->drop = kube_delete(r->t->kube, KUBE_SECRET, name, -1, clock_mono_ms() + request_ms, err);
	return r->drop != NULL ? 0 : -1;
}

/* 1 with WHY when the Job's events say that no Pod can be made. */
static int ask_why_no_pod(struct run *r, struct sbx_error *why, struct sbx_error *err)
{
	char query[128 + KUBE_UID_SIZE], said[240] = "";
	auto_jv events = jv_invalid();
	struct sbx_error ignored = SBX_ERROR_INIT;
	int64_t until = clock_mono_ms() + request_ms;

	snprintf(query, sizeof query, "fieldSelector=involvedObject.uid%%3D%s%%2Creason%%3DFailedCreate", r->uid);
	struct http_exchange *x = kube_list(r->t->kube, KUBE_EVENT, query, until, err);
	if (x == NULL || kube_loop_await(&r->loop, x, until + first_pause_ms, err) < 0) {
		http_end(x);
		return -1;
	}
	if (kube_read(x, "list events", &ignored) == KUBE_OK && kube_object(x, &events, &ignored) == 0)
		kube_failed_create(events, said, sizeof said);
	http_end(x);
	if (said[0] == '\0' || r->loop.watch.pod.name[0] != '\0')
		return 0;
	kube_why_no_pod(said, why);
	return 1;
}

/* 1: over, and WHY may say why; 0: stopped. */
static int follow(struct run *r, struct sbx_error *why, struct sbx_error *err)
{
	struct kube_loop *l = &r->loop;
	int64_t ask_at = clock_mono_ms() + no_pod_ms, over_since = 0;

	while (l->stop == KUBE_RUNS) {
		const struct kube_pod *pod = &l->watch.pod;
		if (kube_loop_turn(l, (int)no_pod_ms, err) < 0 || drop_credentials(r, err) < 0)
			return -1;
		if (relay_is_whole(&l->relay))
			return 1;
		if (l->trouble.class != SBX_OK) {
			*why = l->trouble;
			return 1;
		}
		if (!l->relay.hello && (pod->why == KUBE_WHY_IMAGE || pod->why == KUBE_WHY_START)) {
			kube_why_error(pod, why);
			return 1;
		}
		if (pod->name[0] == '\0' && clock_left_ms(ask_at) == 0) {
			int answer = ask_why_no_pod(r, why, err);
			if (answer != 0)
				return answer;
			ask_at = clock_mono_ms() + no_pod_ms;
		}
		if (!l->log_over)
			continue;
		/* The log is at its end, and it was not the right one. */
		if (over_since == 0)
			over_since = clock_mono_ms();
		if (pod->ended || clock_mono_ms() - over_since > status_lag_ms) {
			kube_why_error(pod, why);
			return 1;
		}
	}
	/* Why it did not even start is worth more than that its time was over. */
	if (l->stop == KUBE_DEADLINE && !l->relay.hello && l->watch.pod.why == KUBE_WHY_UNSCHEDULED)
		kube_why_error(&l->watch.pod, why);
	return 0;
}

/* --- ending --- */

/* DELETE NAME, tried until UNTIL; what is not there is deleted. */
static int erase(struct run *r, enum kube_kind kind, const char *name, int grace_s, int64_t until,
		 struct sbx_error *err)
{
	for (;;) {
		struct sbx_error why = SBX_ERROR_INIT;
		struct http_exchange *x = kube_delete(r->t->kube, kind, name, grace_s, until, err);
		if (x == NULL || kube_loop_await(&r->loop, x, until + first_pause_ms, err) < 0) {
			http_end(x);
			return -1;
		}
		enum kube_answer got = kube_read(x, "remove the sandbox", &why);
		http_end(x);
		if (got == KUBE_OK || got == KUBE_NOT_FOUND)
			return 0;
		if (got != KUBE_AGAIN || clock_left_ms(until) == 0) {
			*err = why;
			return -1;
		}
		if (kube_loop_pause(&r->loop, first_pause_ms, err) < 0)
			return -1;
	}
}

static int pod_is_gone(const struct kube_loop *l)
{
	return l->watch.pod.name[0] == '\0' || l->watch.pod.gone;
}

/* A Pod that the watch never showed may run all the same: the server is asked. */
static int see_it_gone(struct run *r, int64_t until, struct sbx_error *err)
{
	if (kube_mend(r->t->kube, r->t->job->call, until, err) < 0)
		return -1;
	r->loop.watch.pod.gone = 1;
	return 0;
}

/* Ask it to stop, as its node asks: TERM, the grace, KILL. Its last words are still read. */
static int stop_gently(struct run *r, struct sbx_error *err)
{
	struct kube_loop *l = &r->loop;
	int64_t until = clock_mono_ms() + r->t->grace_ms + kill_slack_ms;

	if (erase(r, KUBE_JOB, r->name, -1, until, err) < 0)
		return -1;
	/* Without the Job's uid no Pod was known for ours. */
	if (l->watch.pod.name[0] == '\0')
		return r->began || r->uid[0] == '\0' ? see_it_gone(r, until, err) : 0;
	if (erase(r, KUBE_POD, l->watch.pod.name, -1, until, err) < 0)
		return -1;
	while (!pod_is_gone(l) && clock_left_ms(until) > 0)
		if (kube_loop_turn(l, clock_left_ms(until), err) < 0)
			return -1;
	return 0;
}

static int stop_hard(struct run *r, struct sbx_error *err)
{
	struct kube_loop *l = &r->loop;
	int64_t until = clock_mono_ms() + remove_ms;

	if (!relay_is_whole(&l->relay))
		relay_tell(&l->relay, "killed", "the sandbox did not stop in time and was killed", err);
	if (erase(r, KUBE_POD, l->watch.pod.name, 0, until, err) < 0)
		return -1;
	while (!pod_is_gone(l) && clock_left_ms(until) > 0)
		if (kube_loop_turn(l, clock_left_ms(until), err) < 0)
			return -1;
	return pod_is_gone(l) ? 0
			      : sbx_fail(err, SBX_UNAVAILABLE, "cluster_lingers", "the sandbox's Pod does not go away");
}

/* Remove everything, and do not return before it is gone, if the stream was cut: something may still run. */
static int leave(struct run *r, struct sbx_error *err)
{
	struct kube_loop *l = &r->loop;

	if (!r->made)
		return 0;
	if (relay_is_whole(&l->relay) && l->stop == KUBE_RUNS)
		return erase(r, KUBE_JOB, r->name, -1, clock_mono_ms() + remove_ms, err);
	if (stop_gently(r, err) < 0)
		return -1;
	return pod_is_gone(l) ? 0 : stop_hard(r, err);
}

/* What the reader is told of an end that no frame tells. */
static int report(struct run *r, const struct sbx_error *why, const struct sbx_error *left, struct sbx_error *err)
{
	struct kube_loop *l = &r->loop;

	if (relay_is_whole(&l->relay))
		return 0;
	if (left->class != SBX_OK && r->began) {
		r->lost = 1;
		return relay_event(&l->relay, "lost", left, err);
	}
	if (l->stop != KUBE_RUNS)
		return why->class != SBX_OK && !l->relay.hello ? relay_event(&l->relay, "failed", why, err) : 0;
	struct sbx_error told = *why;
	if (told.class == SBX_OK)
		kube_why_error(&l->watch.pod, &told);
	/* Where nobody saw the container's end, nobody knows what it did. */
	r->lost = r->began && told.class == SBX_OUTCOME_UNKNOWN;
	return relay_event(&l->relay, r->lost ? "lost" : "failed", &told, err);
}

static int end_status(const struct run *r, const struct sbx_error *why)
{
	if (relay_is_whole(&r->loop.relay))
		return 0;
	return why->class != SBX_OK && !r->loop.relay.hello && !r->lost ? (int)why->class : SBX_COMMAND_FAILED;
}

int kube_run(const struct kube_task *task, struct sbx_error *err)
{
	struct run r = {.t = task};
	struct sbx_error why = SBX_ERROR_INIT, left = SBX_ERROR_INIT;

	kube_job_name(task->job, r.name);
	if (kube_loop_init(&r.loop, task->kube, task->job->call, task->out, task->control, task->deadline, err) < 0) {
		kube_loop_clear(&r.loop);
		return -1;
	}
	r.policies = kube_list(task->kube, KUBE_POLICY, NULL, clock_mono_ms() + request_ms, &why);
	if (r.policies != NULL && create_job(&r, &why) == 0 && create_secrets(&r, &why) == 0)
		follow(&r, &why, &why);
	if (leave(&r, &left) < 0)
		log_error(&left);
	report(&r, &why, &left, &left);
	kube_loop_flush(&r.loop, clock_mono_ms() + reader_ms, &left);
	if (why.class != SBX_OK)
		log_error(&why);
	http_end(r.drop);
	http_end(r.policies);
	int status = end_status(&r, &why);
	kube_loop_clear(&r.loop);
	return status;
}
