/* Running one step: its products are looked at when nothing else is left in the sandbox, so nothing can change them under
 * our hands. */
#include "entry_step.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "clock.h"
#include "entry_keep.h"
#include "entry_program.h"
#include "io.h"
#include "json_out.h"

enum { JSON_MAX = 4096 };

/* --- products --- */

static int announce(struct running *r, const struct artifact *artifact, struct sbx_error *err)
{
	auto_buf json = BUF_INIT(JSON_MAX);
	static char block[FRAME_MAX];

	if (buf_add_str(&json, "{", err) < 0 || json_out_member(&json, "name", artifact->name, err) < 0 ||
	    json_out_member(&json, "sha256", artifact->sha256, err) < 0 ||
	    json_out_member_int(&json, "size", (int64_t)artifact->size, err) < 0 || buf_add_str(&json, "}", err) < 0 ||
	    frame_write(r->run->frames_fd, r->run->nonce, FRAME_ARTIFACT, r->number, json.data, json.len, err) < 0)
		return -1;
	for (uint64_t at = 0; at < artifact->size;) {
		ssize_t n = pread(artifact->fd, block, sizeof block, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read an artefact");
		if (frame_write(r->run->frames_fd, r->run->nonce, FRAME_DATA, r->number, block, (size_t)n, err) < 0)
			return -1;
		at += (uint64_t)n;
	}
	return 0;
}

static const char *look_at_product(int fd, uint64_t max)
{
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? "artifact_missing" : "artifact_unsafe";
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return "artifact_unsafe";
	return (uint64_t)st.st_size > max ? "artifact_too_large" : NULL;
}

/* Sets r->failed when a product is not there or not what it must be; -1 when the frames cannot be written. */
static int take_products(struct running *r, const struct step *step, struct sbx_error *err)
{
	for (uint32_t i = 0; i < step->produce_count && r->failed == NULL; i++) {
		const struct produce *produce = &step->produces[i];
		struct sbx_error why = SBX_ERROR_INIT;
		/* No symlink on the way: it could name what the step may not show, or what a later step changes. */
		auto_fd fd = io_open_beneath(r->run->cwd_fd, produce->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
					     RESOLVE_NO_SYMLINKS);
		const struct artifact *artifact = NULL;
		r->artifact = produce->name;
		r->failed = look_at_product(fd, r->run->table->artifact_max);
		if (r->failed == NULL) {
			artifact = entry_add_artifact(&r->run->artifacts, produce->name, fd,
						      r->run->table->artifact_max, &why);
			r->failed = artifact == NULL ? "artifact_too_large" : NULL;
		}
		if (artifact != NULL && announce(r, artifact, err) < 0)
			return -1;
	}
	return 0;
}

/* What it has fetched. */
static int take_kept(struct running *r, const struct step *step, struct sbx_error *err)
{
	for (size_t i = 0; i < ENTRY_KEEPS && r->failed == NULL; i++) {
		const struct artifact *artifact = NULL;
		if (!(step->flags & entry_keeps[i].flag))
			continue;
		r->artifact = entry_keeps[i].name;
		if (entry_keep_take(&entry_keeps[i], r->run->cwd_fd, &r->run->artifacts, &artifact, &r->found) < 0)
			r->failed = r->found.code;
		if (artifact != NULL && announce(r, artifact, err) < 0)
			return -1;
	}
	return 0;
}

/* --- the whole --- */

static int put_flag(struct buf *json, const char *key, int value, struct sbx_error *err)
{
	if (!value)
		return 0;
	return json_out_key(json, key, err) < 0 ? -1 : buf_add_str(json, "true", err);
}

/* What came back of a state that the step printed. */
static int put_state(const struct running *r, struct buf *json, struct sbx_error *err)
{
	if (r->state.fd < 0 || r->status != 0 || r->failed != NULL)
		return 0;
	return json_out_key(json, "state", err) < 0 ? -1 : entry_state_json(&r->state, json, err);
}

static int report_exit(struct running *r, struct sbx_error *err)
{
	auto_buf json = BUF_INIT(JSON_MAX);
	int signalled = WIFSIGNALED(r->status);

	if (buf_add_str(&json, "{", err) < 0 ||
	    json_out_member_int(&json, signalled ? "signal" : "exit",
				signalled ? WTERMSIG(r->status) : WEXITSTATUS(r->status), err) < 0 ||
	    json_out_member_int(&json, "took_ms", clock_mono_ms() - r->started, err) < 0 ||
	    json_out_member_int(&json, "out_dropped", (int64_t)r->streams[STREAM_OUT].dropped, err) < 0 ||
	    json_out_member_int(&json, "err_dropped", (int64_t)r->streams[STREAM_ERR].dropped, err) < 0 ||
	    put_flag(&json, "stopped", r->run->stopped, err) < 0 ||
	    json_out_member(&json, "failed", r->failed, err) < 0 ||
	    (r->found.class != SBX_OK && json_out_member(&json, "message", r->found.message, err) < 0) ||
	    put_state(r, &json, err) < 0 ||
	    json_out_member(&json, "artifact", r->failed != NULL ? r->artifact : NULL, err) < 0 ||
	    buf_add_str(&json, "}", err) < 0)
		return -1;
	return frame_write(r->run->frames_fd, r->run->nonce, FRAME_EXIT, r->number, json.data, json.len, err);
}

int entry_step(struct entry_run *run, unsigned number, const struct step *step, enum step_outcome *outcome,
	       struct sbx_error *err)
{
	struct running r = RUNNING_INIT(run, number);

	int result = frame_write(run->frames_fd, run->nonce, FRAME_STEP, number, NULL, 0, err);
	if (result == 0)
		result = entry_program_run(&r, step, err);
	if (result == 0 && r.status == 0 && r.failed == NULL)
		result = take_products(&r, step, err) < 0 ? -1 : take_kept(&r, step, err);
	if (result == 0)
		result = report_exit(&r, err);
	entry_program_clear(&r);
	*outcome = r.status == 0 && r.failed == NULL && !run->stopped ? STEP_DONE : STEP_FAILED;
	return result;
}
