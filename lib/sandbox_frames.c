/* The frames of a run: what each one means for the outcome. */
#include "sandbox_frames.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "io.h"
#include "log.h"
#include "sandbox_shown.h"
#include "sandbox_unlock.h"

static const size_t evidence_max = FRAME_MAX;

/* Step NUMBER (from 1) of the run. */
static jv step_at(jv run, unsigned number)
{
	auto_jv steps = json_array(run, "steps");

	return number > 0 ? json_at(steps, (int)number - 1) : jv_invalid();
}

void sandbox_say_failure(const struct run *run)
{
	const struct sandbox_outcome *outcome = run->outcome;
	auto_jv entry = step_at(run->job->run, outcome->step);
	const char *program = json_str(entry, "program");
	char words[CAPTURE_WORDS_SIZE] = "", how[32];

	/* What did not start, or was stopped, is told as an error. */
	if (run->stop != STOP_NONE || outcome->trouble.class != SBX_OK || program == NULL ||
	    (outcome->exit_code <= 0 && outcome->signal == 0))
		return;
	if (run->err_came)
		capture_words(&run->err, run->outcome->err_before, words);
	snprintf(how, sizeof how, outcome->signal != 0 ? "by signal %d" : "with %d",
		 outcome->signal != 0 ? outcome->signal : outcome->exit_code);
	log_line("step %u of %u: %s ended %s%s%s", outcome->step, run->step_count, program, how,
		 words[0] != '\0' ? ": " : "", words);
}

void sandbox_hint_refusal(const struct run *run)
{
	struct sandbox_outcome *outcome = run->outcome;
	char lines[sizeof outcome->trouble.hint - sizeof "it said: "];

	if (!outcome->refused || !run->err_came || outcome->trouble.hint[0] != '\0')
		return;
	capture_lines(&run->err, run->outcome->err_before, lines, sizeof lines);
	if (lines[0] != '\0')
		sbx_hint(&outcome->trouble, "it said: %s", lines);
}

void sandbox_stop(struct run *run, enum stop why)
{
	if (run->stop != STOP_NONE)
		return;
	run->stop = why;
	run->guard = clock_mono_ms() + driver_grace_ms(run->job->run) + SANDBOX_SLACK_MS;
	base_close_fd(&run->driver.control);
}

static int bad_stream(struct run *run, const char *what)
{
	return sbx_fail(&run->broken, SBX_PROTOCOL, "bad_frame", "the sandbox driver broke its contract: %s", what);
}

/* The object of a frame; invalid with run->broken filled when it is none. */
static jv payload(struct run *run, const struct frame *frame)
{
	jv object = jv_invalid();

	if (json_parse(frame->payload, frame->len, evidence_max, &object, &run->broken) < 0 ||
	    jv_get_kind(object) != JV_KIND_OBJECT) {
		jv_free(take_jv(&object));
		bad_stream(run, "a frame holds no object");
	}
	return object;
}

static int take_step(struct run *run, const struct frame *frame)
{
	unsigned next = run->outcome->started ? run->outcome->step + 1 : run->checks + 1;

	if (frame->step != next || frame->step > run->step_count)
		return bad_stream(run, "a step out of order");
	auto_jv entry = step_at(run->job->run, frame->step);
	run->outcome->started = 1;
	run->outcome->step = frame->step;
	run->analysing = json_str(entry, "analyse") != NULL;
	run->outcome->err_before = run->outcome->err.bytes.len;
	run->err_came = 0;
	log_line("step %u of %u: %s", frame->step, run->step_count, json_str(entry, "program"));
	if (run->analysing && analysis_running(&run->analysis))
		return bad_stream(run, "two steps that analyse");
	return run->analysing ? analysis_start(&run->analysis, json_str(entry, "analyse"), run->job->signals, &run->broken)
			      : 0;
}

static int is_code(const char *text)
{
	return text != NULL && text[0] != '\0' && strlen(text) < sizeof((struct sbx_error *)NULL)->code &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text);
}

static int same_state(jv a, jv b)
{
	const char *a_lineage = json_str(a, "lineage"), *b_lineage = json_str(b, "lineage");
	const char *a_sha256 = json_str(a, "sha256"), *b_sha256 = json_str(b, "sha256");
	int64_t a_serial, b_serial;

	return a_lineage != NULL && b_lineage != NULL && strcmp(a_lineage, b_lineage) == 0 && a_sha256 != NULL &&
	       b_sha256 != NULL && strcmp(a_sha256, b_sha256) == 0 && json_int(a, "serial", &a_serial) == 0 &&
	       json_int(b, "serial", &b_serial) == 0 && a_serial == b_serial;
}

/* A step that seals the state printed it: {lineage, serial, sha256}. Where a sealed plan runs, sbx-entry has compared
 * them, and here it is done again. */
static int take_state(struct run *run, unsigned number, jv exit)
{
	auto_jv entry = step_at(run->job->run, number), found = json_object(exit, "state");
	unsigned char digest[DIGEST_SIZE];

	if (json_str(entry, "seals") == NULL)
		return jv_is_valid(found) ? bad_stream(run, "a state that nobody asked for") : 0;
	const char *sha256 = json_str(found, "sha256"), *lineage = json_str(found, "lineage");
	if (sha256 == NULL || digest_from_hex(sha256, digest, sizeof digest) < 0 || lineage == NULL ||
	    strlen(lineage) >= WS_LINEAGE_SIZE)
		return bad_stream(run, "a state without its digest");
	auto_jv sealed = json_object(run->job->seal, "state");
	if (jv_is_valid(run->job->seal) && !same_state(sealed, found))
		return bad_stream(run, "a state that is not the sealed one");
	jv_free(take_jv(&run->outcome->sealed_state));
	run->outcome->sealed_state = take_jv(&found);
	return 0;
}

static int take_exit(struct run *run, const struct frame *frame)
{
	struct sandbox_outcome *outcome = run->outcome;
	auto_jv object = payload(run, frame);
	int64_t value;

	if (frame->step != outcome->step || outcome->step == 0 || !jv_is_valid(object))
		return bad_stream(run, "an exit without its step");
	outcome->exit_code = -1;
	outcome->signal = 0;
	if (json_int(object, "exit", &value) == 0 && value >= 0 && value <= 255)
		outcome->exit_code = (int)value;
	else if (json_int(object, "signal", &value) == 0 && value > 0 && value < 128)
		outcome->signal = (int)value;
	else
		return bad_stream(run, "an exit that says nothing");
	if (json_int(object, "out_dropped", &value) == 0 && value > 0) {
		if (run->analysing)
			run->analysis.overrun = 1;
		else
			outcome->out.dropped += (uint64_t)value;
	}
	if (json_int(object, "err_dropped", &value) == 0 && value > 0)
		outcome->err.dropped += (uint64_t)value;
	const char *failed = json_str(object, "failed"), *message = json_str(object, "message");
	if (failed != NULL && !is_code(failed))
		return bad_stream(run, "an exit that fails without a code");
	if (failed != NULL && message != NULL)
		sbx_fail(&outcome->trouble, SBX_COMMAND_FAILED, failed, "step %u: %s", frame->step, message);
	else if (failed != NULL)
		sbx_fail(&outcome->trouble, SBX_COMMAND_FAILED, failed,
			 "step %u did not start, or did not leave what it was to make", frame->step);
	run->exits += outcome->exit_code == 0 && failed == NULL;
	return outcome->exit_code == 0 && failed == NULL ? take_state(run, frame->step, object) : 0;
}

/* Where a tree goes that a run keeps by NAME; NULL for any other artefact. */
static int *kept_tree(struct run *run, const char *name)
{
	if (!run->job->fetches || name == NULL)
		return NULL;
	if (strcmp(name, SANDBOX_KEPT_MODULES) == 0)
		return &run->outcome->modules_fd;
	return strcmp(name, SANDBOX_KEPT_PROVIDERS) == 0 ? &run->outcome->providers_fd : NULL;
}

/* In memory; but providers are large: a file without a name. */
static int artifact_file(struct run *run, const char *name)
{
	if (kept_tree(run, name) == NULL)
		return io_memfd("sbx-artefact", &run->broken);
	int fd = openat(run->job->run_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		sbx_fail_errno(&run->broken, SBX_CANNOT_CREATE, "cannot_create", "cannot keep what the run has fetched");
	return fd;
}

static int64_t artifact_max(struct run *run, const char *name)
{
	return (int64_t)(kept_tree(run, name) != NULL ? LIMIT_FETCHED_BYTES + LIMIT_ARTIFACT : LIMIT_ARTIFACT);
}

/* The artefact was announced by the table, so the plan is the only one that is kept, beside what is fetched; others are counted
 * by digest. */
static int take_artifact(struct run *run, const struct frame *frame)
{
	auto_jv object = payload(run, frame);
	const char *name = json_str(object, "name"), *sha256 = json_str(object, "sha256");
	int64_t size;

	if (run->artifact_fd >= 0 || name == NULL || sha256 == NULL || json_int(object, "size", &size) < 0 ||
	    size < 0 || size > artifact_max(run, name) || json_length(run->outcome->artifacts) >= LIMIT_STEPS)
		return bad_stream(run, "an artefact that cannot be");
	run->artifact_fd = artifact_file(run, name);
	if (run->artifact_fd < 0)
		return -1;
	jv_free(run->artifact);
	run->artifact = take_jv(&object);
	run->artifact_left = (uint64_t)size;
	return 0;
}

/* All its bytes are here: they must be those that sbx-entry hashed. */
static int finish_artifact(struct run *run)
{
	auto_fd fd = take_fd(&run->artifact_fd);
	const char *name = json_str(run->artifact, "name"), *claimed = json_str(run->artifact, "sha256");
	char sha256[DIGEST_HEX_SIZE];
	uint64_t size;

	int *tree = kept_tree(run, name);
	if ((tree == NULL && io_seal(fd, &run->broken) < 0) ||
	    digest_fd_hex(fd, (uint64_t)artifact_max(run, name), sha256, &size, &run->broken) < 0)
		return -1;
	if (strcmp(sha256, claimed) != 0)
		return bad_stream(run, "an artefact with another digest");
	run->outcome->artifacts = json_append(take_jv(&run->outcome->artifacts), sandbox_artifact(name, sha256, size));
	if (tree != NULL) {
		if (*tree >= 0)
			return bad_stream(run, "two trees of one name");
		*(tree == &run->outcome->modules_fd ? &run->outcome->modules_size : &run->outcome->providers_size) = size;
		*tree = take_fd(&fd);
		return 0;
	}
	shown_take(run->job, run->outcome, name, fd, size);
	if (strcmp(name, "plan") == 0) {
		if (run->outcome->plan_fd >= 0)
			return bad_stream(run, "two plans");
		run->outcome->plan_fd = take_fd(&fd);
	}
	return 0;
}

static int take_data(struct run *run, const struct frame *frame)
{
	if (run->artifact_fd < 0 || frame->len > run->artifact_left)
		return bad_stream(run, "data that belongs to no artefact");
	run->artifact_left -= frame->len;
	return io_write_all(run->artifact_fd, frame->payload, frame->len, &run->broken);
}

static int take_refused(struct run *run, const struct frame *frame)
{
	auto_jv object = payload(run, frame);
	const char *code = json_str(object, "code"), *message = json_str(object, "message");
	const char *hint = json_str(object, "hint");

	run->outcome->complete = 1;
	if (run->outcome->started)
		return bad_stream(run, "a refusal after a step");
	run->outcome->refused = 1;
	sbx_fail(&run->outcome->trouble, SBX_DENIED, is_code(code) ? code : "sandbox_refused", "%s",
		 message != NULL ? message : "the sandbox refused to start");
	if (hint != NULL)
		sbx_hint(&run->outcome->trouble, "%s", hint);
	return 0;
}

/* A sandbox that is somewhere else can end in ways that a driver of this machine does not know: the driver says which. */
static void take_end(struct run *run, jv object, enum told told)
{
	const char *code = json_str(object, "code"), *message = json_str(object, "message"), *hint = json_str(object, "hint");
	enum sbx_class class = SBX_UNAVAILABLE;
	int64_t number;

	/* That an approval is required would tell the agent to make the same call again, and this one has begun. */
	if (json_int(object, "class", &number) == 0 && sbx_is_class(number) && number != SBX_APPROVAL_REQUIRED)
		class = (enum sbx_class)number;
	if (!is_code(code))
		code = "driver_failed";
	run->told = told;
	sbx_fail(&run->outcome->trouble, class, code, "%s", message != NULL ? message : "the sandbox ended");
	if (hint != NULL)
		sbx_hint(&run->outcome->trouble, "%s", hint);
}

/* A connection out of the sandbox that is over: kept for the record. */
static int take_connection(struct run *run, jv object)
{
	static const char *const texts[] = {"destination", "address", "end"}, *const numbers[] = {"sent", "received", "took_ms"};
	jv connection = jv_object();
	int64_t number;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		connection = json_set_str(connection, texts[i], json_str(object, texts[i]));
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		connection = json_set_int(connection, numbers[i],
					  json_int(object, numbers[i], &number) == 0 ? number : 0);
	if (json_length(run->outcome->connections) >= LIMIT_EGRESS_CONNECTIONS + LIMIT_EGRESS_AT_ONCE) {
		jv_free(connection);
		return bad_stream(run, "more connections than there can be");
	}
	run->outcome->connections = json_append(take_jv(&run->outcome->connections), connection);
	return 0;
}

static int take_unlocked(struct run *run, const struct frame *frame)
{
	auto_jv object = payload(run, frame);

	if (!jv_is_valid(object))
		return -1;
	return !run->outcome->started && sandbox_unlock_take(run->job, object, run->outcome) == 0
		       ? 0
		       : bad_stream(run, "a lock that it was not to take away");
}

/* What the driver itself has to say. */
static int take_event(struct run *run, const struct frame *frame)
{
	auto_jv object = payload(run, frame);
	const char *event = json_str(object, "event"), *message = json_str(object, "message");

	if (event == NULL)
		return bad_stream(run, "an event without a name");
	if (strcmp(event, "deadline") == 0 && run->stop == STOP_NONE)
		sandbox_stop(run, STOP_DEADLINE);
	else if (strcmp(event, "cannot_isolate") == 0) {
		sbx_fail(&run->outcome->trouble, SBX_UNAVAILABLE, "cannot_isolate", "%s",
			 message != NULL ? message : "this machine cannot make a sandbox");
		const char *hint = json_str(object, "hint");
		sbx_hint(&run->outcome->trouble, "%s", hint != NULL ? hint : "sbx-run --check says what is missing");
	} else if (strcmp(event, "connection") == 0)
		return take_connection(run, object);
	else if (strcmp(event, "failed") == 0)
		take_end(run, object, TOLD_FAILED);
	else if (strcmp(event, "lost") == 0)
		take_end(run, object, TOLD_LOST);
	else if (message != NULL)
		log_line("%s: %s", event, message);
	return 0;
}

static int take_frame(struct run *run, const struct frame *frame)
{
	switch (frame->type) {
	case FRAME_HELLO:
		run->outcome->isolation = payload(run, frame);
		return jv_is_valid(run->outcome->isolation) ? 0 : -1;
	case FRAME_REFUSED:
		return take_refused(run, frame);
	case FRAME_STEP:
		return take_step(run, frame);
	case FRAME_OUT:
		if (run->analysing)
			return analysis_give(&run->analysis, frame->payload, frame->len, &run->broken);
		capture_feed(&run->out, frame->payload, frame->len);
		return 0;
	case FRAME_ERR:
		run->err_came = 1;
		capture_feed(&run->err, frame->payload, frame->len);
		return 0;
	case FRAME_ARTIFACT:
		if (take_artifact(run, frame) < 0)
			return -1;
		return run->artifact_left == 0 ? finish_artifact(run) : 0;
	case FRAME_DATA:
		if (take_data(run, frame) < 0)
			return -1;
		return run->artifact_left == 0 ? finish_artifact(run) : 0;
	case FRAME_EXIT:
		return take_exit(run, frame);
	case FRAME_END: {
		auto_jv object = payload(run, frame);
		run->outcome->complete = 1;
		run->outcome->state_changed = run->job->state_file == NULL && json_bool(object, "state_changed") == 1;
		return jv_is_valid(object) ? 0 : -1;
	}
	case FRAME_UNLOCKED:
		return take_unlocked(run, frame);
	case FRAME_EVENT:
		return take_event(run, frame);
	}
	return bad_stream(run, "an unknown frame");
}

/* Frames that are whole, until sbx-plan cannot take more. */
int sandbox_take_frames(struct run *run)
{
	struct frame frame;
	int got = 0;

	while (!analysis_blocked(&run->analysis) && (got = frame_next(&run->frames, &frame, &run->broken)) == 1) {
		if (run->outcome->complete && frame.type != FRAME_EVENT)
			return bad_stream(run, "a frame after the last");
		if (take_frame(run, &frame) < 0)
			return -1;
	}
	return got < 0 ? -1 : 0;
}
