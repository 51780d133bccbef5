/* Scrub first, then cap, then keep: nothing unscrubbed is ever written anywhere. */
#include "sandbox_output.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

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

/* Behind blanks and the vertical bar of a box: where the words of the line from LINE to END begin. */
static const char *skip_frame(const char *line, const char *end)
{
	static const char bar[] = "\xe2\x94\x82"; /* U+2502 */

	for (;;) {
		if (line < end && (*line == ' ' || *line == '\t' || *line == '\r'))
			line++;
		else if ((size_t)(end - line) >= sizeof bar - 1 && memcmp(line, bar, sizeof bar - 1) == 0)
			line += sizeof bar - 1;
		else
			return line;
	}
}

/* Appended to the USED bytes of OUT, as far as there is room; how many it has then. */
static size_t put_words(const char *from, const char *end, char *out, size_t used, size_t size)
{
	while (end > from && (end[-1] == ' ' || end[-1] == '\r'))
		end--;
	for (; from < end; from++) {
		int plain = *from >= 0x20 && *from <= 0x7e;
		if (used + (plain ? 1 : sizeof "\\xNN" - 1) >= size)
			break;
		used += (size_t)snprintf(out + used, size - used, plain ? "%c" : "\\x%02x",
					 (unsigned char)*from);
	}
	out[used] = '\0';
	return used;
}

void capture_lines(const struct capture *capture, size_t from, char *out, size_t size)
{
	static const char between[] = "; ";
	const struct buf *bytes = &capture->text->bytes;
	const char *line = buf_str(bytes) + (from < bytes->len ? from : bytes->len);
	const char *const end = buf_str(bytes) + bytes->len;
	size_t used = 0;

	out[0] = '\0';
	while (line < end) {
		const char *feed = memchr(line, '\n', (size_t)(end - line)), *stop = feed != NULL ? feed : end;
		const char *words = skip_frame(line, stop);
		if (words < stop && used > 0 && used + sizeof between <= size) {
			memcpy(out + used, between, sizeof between);
			used += sizeof between - 1;
		}
		used = put_words(words, stop, out, used, size);
		line = feed != NULL ? feed + 1 : end;
	}
}

void capture_words(const struct capture *capture, size_t from, char out[CAPTURE_WORDS_SIZE])
{
	const struct buf *bytes = &capture->text->bytes;
	const char *line = buf_str(bytes) + (from < bytes->len ? from : bytes->len);
	const char *const end = buf_str(bytes) + bytes->len;
	static const char error[] = "Error";

	out[0] = '\0';
	while (line < end) {
		const char *feed = memchr(line, '\n', (size_t)(end - line)), *stop = feed != NULL ? feed : end;
		const char *words = skip_frame(line, stop);
		if (words < stop)
			put_words(words, stop, out, 0, CAPTURE_WORDS_SIZE);
		if ((size_t)(stop - words) >= sizeof error - 1 && memcmp(words, error, sizeof error - 1) == 0)
			return;
		line = feed != NULL ? feed + 1 : end;
	}
}

void capture_clear(struct capture *capture)
{
	scrub_stream_free(capture->stream);
	capture->stream = NULL;
	base_close_fd(&capture->fd);
}
