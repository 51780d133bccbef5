/* Scrub first, then cap, then keep: nothing unscrubbed is ever written anywhere. */
#include "sandbox_output.h"

#include <fcntl.h>

#include "io.h"
#include "log.h"

/* The largest output that a tool may ask for; it is held in memory once. */
static const uint64_t output_most = (uint64_t)16 << 20;
/* What the scrubber may append for one piece: the piece, and what it had held back. */
static const size_t piece_max = (size_t)1 << 20;

jv sandbox_artifact(const char *name, const char *sha256, uint64_t size)
{
	jv artifact = json_set_str(json_set_str(jv_object(), "name", name), "sha256", sha256);

	return json_set_int(artifact, "size", (int64_t)size);
}

int capture_open(struct capture *capture, const struct sandbox_job *job, const char *name, uint64_t max,
		 struct sandbox_text *text, struct sbx_error *err)
{
	text->bytes.max = max < output_most ? (size_t)max : (size_t)output_most;
	*capture = (struct capture){.text = text, .name = name, .run_fd = job->run_fd, .fd = -1};
	capture->stream = scrub_stream_new(job->scrub, err);
	return capture->stream != NULL ? 0 : -1;
}

/* A copy that cannot be kept (a full disk) is said once, and ends nothing: stopping an apply for it would be worse. */
static void give_up_file(struct capture *capture, struct sbx_error *err)
{
	sbx_wrap(err, "the run's %s is not kept", capture->name);
	log_error(err);
	base_close_fd(&capture->fd);
	capture->file_failed = 1;
}

static void write_file(struct capture *capture, const char *bytes, size_t len)
{
	struct sbx_error err = SBX_ERROR_INIT;

	if (capture->file_failed)
		return;
	if (capture->fd < 0) {
		capture->fd = openat(capture->run_fd, capture->name,
				     O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (capture->fd < 0)
			sbx_fail_errno(&err, SBX_CANNOT_CREATE, "cannot_create", "cannot make the file");
	}
	if (capture->fd < 0 || io_write_all(capture->fd, bytes, len, &err) < 0)
		give_up_file(capture, &err);
}

/* BYTES are scrubbed. */
static void keep(struct capture *capture, const struct buf *bytes)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sandbox_text *text = capture->text;
	size_t room = text->bytes.max - text->bytes.len, take = bytes->len < room ? bytes->len : room;

	if (take > 0 && buf_add(&text->bytes, bytes->data, take, &err) < 0)
		take = 0;
	text->dropped += bytes->len - take;
	if (take > 0)
		write_file(capture, bytes->data, take);
}

/* What cannot be scrubbed is dropped. */
static void drop(struct capture *capture, size_t len, const struct sbx_error *err)
{
	log_error(err);
	capture->text->dropped += len;
	scrub_stream_free(capture->stream);
	capture->stream = NULL;
}

void capture_feed(struct capture *capture, const char *bytes, size_t len)
{
	auto_buf clean = BUF_INIT(piece_max);
	struct sbx_error err = SBX_ERROR_INIT;

	if (capture->stream == NULL)
		capture->text->dropped += len;
	else if (scrub_feed(capture->stream, bytes, len, &clean, &err) < 0)
		drop(capture, len, &err);
	else
		keep(capture, &clean);
}

void capture_finish(struct capture *capture, jv *artifacts)
{
	auto_buf clean = BUF_INIT(piece_max);
	struct sbx_error err = SBX_ERROR_INIT;
	char sha256[DIGEST_HEX_SIZE];

	if (capture->stream != NULL && scrub_finish(capture->stream, &clean, &err) < 0)
		drop(capture, 0, &err);
	else
		keep(capture, &clean);
	if (capture->fd < 0)
		return;
	digest_sha256_hex(capture->text->bytes.data, capture->text->bytes.len, sha256);
	*artifacts = json_append(take_jv(artifacts), sandbox_artifact(capture->name, sha256, capture->text->bytes.len));
}

void capture_clear(struct capture *capture)
{
	scrub_stream_free(capture->stream);
	capture->stream = NULL;
	base_close_fd(&capture->fd);
}
