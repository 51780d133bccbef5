/* The run: one loop over the driver's frames, the signals, the reader that may go, and sbx-plan. */
#include "sandbox.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "clock.h"
#include "log.h"
#include "sandbox_frames.h"

static const int64_t answer_ms = 60000; /* sbx-plan, from the end of its input */
static const int64_t reap_ms = 10000;	/* a driver, from the end of its frames */

const char *sandbox_state_name(enum sandbox_state state)
{
	static const char *const names[] = {"completed", "failed", "timeout", "cancelled", "refused", "unknown"};

	return names[state];
}

void sandbox_outcome_init(struct sandbox_outcome *outcome)
{
	*outcome = (struct sandbox_outcome){.state = SANDBOX_REFUSED,
					    .exit_code = -1,
					    .isolation = jv_invalid(),
					    .connections = jv_array(),
					    .artifacts = jv_array(),
					    .shown = jv_array(),
					    .shown_room = LIMIT_RESULT_SHOWN,
					    .analysis = jv_invalid(),
					    .unshown = jv_invalid(),
					    .unlocked = jv_invalid(),
					    .sealed_state = jv_invalid(),
					    .plan_fd = -1,
					    .modules_fd = -1,
					    .providers_fd = -1,
					    .fetched = jv_invalid()};
}

void sandbox_outcome_clear(struct sandbox_outcome *outcome)
{
	jv_free(take_jv(&outcome->isolation));
	jv_free(take_jv(&outcome->connections));
	jv_free(take_jv(&outcome->artifacts));
	jv_free(take_jv(&outcome->shown));
	jv_free(take_jv(&outcome->analysis));
	jv_free(take_jv(&outcome->unshown));
	jv_free(take_jv(&outcome->unlocked));
	jv_free(take_jv(&outcome->sealed_state));
	jv_free(take_jv(&outcome->fetched));
	base_close_fd(&outcome->plan_fd);
	base_close_fd(&outcome->modules_fd);
	base_close_fd(&outcome->providers_fd);
	buf_clear(&outcome->out.bytes);
	buf_clear(&outcome->err.bytes);
}

static int read_frames(struct run *run)
{
	char block[65536];
	ssize_t n = read(run->driver.frames, block, sizeof block);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		base_close_fd(&run->driver.frames);
		return 0;
	}
	return frame_feed(&run->frames, block, (size_t)n, &run->broken) < 0 ? -1 : sandbox_take_frames(run);
}

static void on_signal(struct run *run)
{
	struct signalfd_siginfo info;

	if (read(run->job->signal_fd, &info, sizeof info) != (ssize_t)sizeof info)
		return;
	if (info.ssi_signo != SIGHUP || run->job->reader == READER_STOPS)
		sandbox_stop(run, STOP_CANCEL);
}

/* The reader of our own output has gone. */
static void on_reader(struct run *run)
{
	run->reader_fd = -1;
	if (run->job->reader == READER_STOPS)
		sandbox_stop(run, STOP_CANCEL);
	else
		log_line("the reader has gone; the call spent an approval and goes on");
}

/* The driver did not keep its own deadline, or not its grace. */
static void lose_patience(struct run *run)
{
	if (run->stop == STOP_NONE) {
		sandbox_stop(run, STOP_DEADLINE);
		return;
	}
	run->killed = 1;
	spawn_kill(&run->driver.child);
	base_close_fd(&run->driver.frames);
}

enum { ON_FRAMES, ON_SIGNAL, ON_READER, ON_PLAN_OUT, ON_PLAN_IN, POLLED };

/* One turn: wait for anything, serve it. -1: the stream is broken. */
static int turn(struct run *run)
{
	int blocked = analysis_blocked(&run->analysis);
	struct pollfd fds[POLLED] = {
		[ON_FRAMES] = {.fd = blocked ? -1 : run->driver.frames, .events = POLLIN},
		[ON_SIGNAL] = {.fd = run->job->signal_fd, .events = POLLIN},
		[ON_READER] = {.fd = run->reader_fd, .events = 0},
		[ON_PLAN_OUT] = {.fd = run->analysis.out, .events = POLLIN},
		[ON_PLAN_IN] = {.fd = blocked ? run->analysis.in : -1, .events = POLLOUT},
	};
	int n = poll(fds, POLLED, clock_left_ms(run->guard));

	/* Not only when nothing came: a driver that never stops writing must not outlive its time. */
	if (clock_left_ms(run->guard) == 0) {
		lose_patience(run);
		return 0;
	}
	if (n <= 0)
		return 0;
	if (fds[ON_SIGNAL].revents & POLLIN)
		on_signal(run);
	if (fds[ON_READER].revents & (POLLERR | POLLHUP | POLLNVAL))
		on_reader(run);
	if (fds[ON_PLAN_OUT].revents || fds[ON_PLAN_IN].revents) {
		if (analysis_pump(&run->analysis, &run->broken) < 0 || sandbox_take_frames(run) < 0)
			return -1;
	}
	return fds[ON_FRAMES].revents ? read_frames(run) : 0;
}

/* Until the driver has closed its stdout. A broken stream stops the driver, which is then read no further. */
static void follow(struct run *run)
{
	while (run->driver.frames >= 0) {
		if (turn(run) < 0) {
			base_close_fd(&run->driver.control);
			base_close_fd(&run->driver.frames);
		}
	}
	if (run->broken.class == SBX_OK && frame_pending(&run->frames) > 0)
		run->outcome->complete = 0;
}

/* The driver is gone before anything of the run is touched: it holds the lock of the state. */
static void end_driver(struct run *run)
{
	int64_t patience = run->broken.class != SBX_OK ? driver_grace_ms(run->job->run) + SANDBOX_SLACK_MS : reap_ms;
	int status;

	base_close_fd(&run->driver.control);
	if (run->driver.child.pid <= 0)
		return;
	if (spawn_wait(&run->driver.child, clock_mono_ms() + patience, &status) == 1) {
		run->died = WIFSIGNALED(status);
		return;
	}
	run->killed = 1;
	spawn_kill(&run->driver.child);
}

/* A driver that was killed has removed nothing, and one that lost its sandbox could not: that may be elsewhere and run on. */
static void remove_left(const struct run *run)
{
	const char *name = json_str(run->job->run, "driver");
	struct sbx_error why = SBX_ERROR_INIT;

	run->outcome->left = run->told == TOLD_LOST;
	if ((!run->died && !run->killed) || name == NULL || driver_mend(name, run->job->settings, run->job->call, &why) == 0)
		return;
	log_error(&why);
	run->outcome->left = 1;
}

/* The last step returned 0 and its output went to sbx-plan: what does that say? */
static void judge_plan(struct run *run)
{
	struct sandbox_outcome *outcome = run->outcome;

	if (analysis_finish(&run->analysis, clock_mono_ms() + answer_ms, &outcome->analysis, &outcome->trouble) < 0)
		outcome->state = SANDBOX_FAILED;
}

static enum sandbox_state end_state(const struct run *run)
{
	const struct sandbox_outcome *outcome = run->outcome;

	if (outcome->complete && run->broken.class == SBX_OK && run->checks + run->exits == run->step_count)
		return SANDBOX_COMPLETED;
	/* It may have begun although no frame of it reached us, and may still run. */
	if (run->told == TOLD_LOST || (run->died && !outcome->complete))
		return SANDBOX_UNKNOWN;
	if (run->killed || run->broken.class != SBX_OK)
		return outcome->started ? SANDBOX_UNKNOWN : SANDBOX_FAILED;
	if (run->stop == STOP_DEADLINE)
		return SANDBOX_TIMEOUT;
	if (run->stop == STOP_CANCEL)
		return SANDBOX_CANCELLED;
	if (outcome->trouble.class != SBX_OK && !outcome->started)
		return SANDBOX_REFUSED;
	/* Its end was seen, if not by a frame. */
	if (run->told == TOLD_FAILED)
		return SANDBOX_FAILED;
	if (!outcome->complete)
		return outcome->started ? SANDBOX_UNKNOWN : SANDBOX_FAILED;
	return SANDBOX_FAILED;
}

static void conclude(struct run *run)
{
	struct sandbox_outcome *outcome = run->outcome;

	outcome->state = end_state(run);
	if (run->broken.class != SBX_OK && outcome->trouble.class == SBX_OK)
		outcome->trouble = run->broken;
	if (outcome->state == SANDBOX_FAILED && !outcome->started && outcome->trouble.class == SBX_OK)
		sbx_fail(&outcome->trouble, SBX_OS, "driver_failed",
			 "the sandbox driver ended before it started anything");
	if (outcome->state == SANDBOX_UNKNOWN && outcome->trouble.class == SBX_OK)
		sbx_fail(&outcome->trouble, SBX_OUTCOME_UNKNOWN, "driver_died",
			 outcome->started ? "the sandbox driver died while a step ran; nobody saw how it ended"
					  : "the sandbox driver was killed; nobody saw whether a step ran");
	if (outcome->state == SANDBOX_COMPLETED && analysis_running(&run->analysis))
		judge_plan(run);
}

static unsigned count_checks(jv steps)
{
	unsigned checks = 0;

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i);
		checks += json_bool(step, "check") == 1;
	}
	return checks;
}

static int prepare(struct run *run, struct sbx_error *err)
{
	const struct sandbox_job *job = run->job;
	auto_jv limits = json_object(job->run, "limits"), steps = json_array(job->run, "steps");
	int64_t output;

	if (json_int(limits, "output", &output) < 0 || output <= 0)
		output = (int64_t)LIMIT_RESULT_STDOUT;
	run->step_count = (unsigned)json_length(steps);
	run->checks = count_checks(steps);
	run->guard = clock_mono_ms() + driver_deadline_ms(job->run) + driver_grace_ms(job->run) + SANDBOX_SLACK_MS;
	frame_reader_init(&run->frames);
	analysis_init(&run->analysis);
	return capture_open(&run->out, job, "stdout", (uint64_t)output, &run->outcome->out, err) < 0
		       ? -1
		       : capture_open(&run->err, job, "stderr", (uint64_t)output, &run->outcome->err, err);
}

static void release(struct run *run)
{
	driver_clear(&run->driver);
	frame_reader_clear(&run->frames);
	analysis_clear(&run->analysis);
	capture_clear(&run->out);
	capture_clear(&run->err);
	base_close_fd(&run->artifact_fd);
	jv_free(run->artifact);
}

int sandbox_run(const struct sandbox_job *job, struct sandbox_outcome *outcome, struct sbx_error *err)
{
	struct run run = {.job = job,
			  .outcome = outcome,
			  .driver = DRIVER_NONE,
			  .out = CAPTURE_NONE,
			  .err = CAPTURE_NONE,
			  .reader_fd = job->reader_fd,
			  .artifact_fd = -1,
			  .artifact = jv_invalid(),
			  .broken = SBX_ERROR_INIT};
	int64_t begun = clock_mono_ms();
	int result = -1;

	if (prepare(&run, err) == 0 && driver_start(&run.driver, job, err) == 0) {
		follow(&run);
		end_driver(&run);
		remove_left(&run);
		capture_finish(&run.out, &outcome->artifacts);
		capture_finish(&run.err, &outcome->artifacts);
		sandbox_say_failure(&run);
		sandbox_hint_refusal(&run);
		conclude(&run);
		outcome->took_ms = clock_mono_ms() - begun;
		result = 0;
	}
	release(&run);
	return result;
}
