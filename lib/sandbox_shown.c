/* From artefact to an entry of the result. */
#include "sandbox_shown.h"

#include <string.h>

#include "base64.h"
#include "io.h"
#include "json_out.h"
#include "log.h"

static int is_text(const char *bytes, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = bytes[i] == '\0' ? 0 : json_out_utf8(bytes + i, len - i, NULL);
		if (n == 0)
			return 0;
	}
	return 1;
}

/* What a media type says of its bytes; whether it is true is seen by is_text. */
static int is_text_media(const char *media)
{
	return strncmp(media, "text/", 5) == 0 || strstr(media, "json") != NULL || strstr(media, "xml") != NULL;
}

static int load(const struct sandbox_job *job, int fd, uint64_t size, struct buf *clean, struct sbx_error *err)
{
	auto_free char *bytes = malloc(size + 1);

	if (bytes == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	for (size_t got = 0; got < size;) {
		ssize_t n = pread(fd, bytes + got, size - got, (off_t)got);
		if (n <= 0)
			return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read an artefact");
		got += (size_t)n;
	}
	return scrub_text(job->scrub, bytes, size, clean, err);
}

/* The data of ENTRY (consumed), or its absence; *ROOM is what all of them together may still take in the call. */
static jv add_data(jv entry, const struct buf *clean, size_t *room)
{
	const char *media = json_str(entry, "media");
	struct sbx_error too_large = SBX_ERROR_INIT;
	auto_buf text = BUF_INIT(*room);
	int as_text = is_text_media(media) && is_text(buf_str(clean), clean->len);
	size_t cost = as_text ? json_out_string_size(buf_str(clean), clean->len) : base64_size(clean->len) + 2;

	if (cost > *room || (as_text ? buf_add(&text, buf_str(clean), clean->len, &too_large)
				     : base64_add(&text, buf_str(clean), clean->len, &too_large)) < 0)
		return json_set_bool(entry, "omitted", 1);
	*room -= cost;
	entry = json_set_str(entry, "encoding", as_text ? "utf-8" : "base64");
	return json_set(entry, "data", jv_string_sized(buf_str(&text), (int)text.len));
}

void shown_take(const struct sandbox_job *job, struct sandbox_outcome *outcome, const char *name, int fd, uint64_t size)
{
	auto_jv show = json_object(job->run, "show");
	const char *media = json_str(show, name);
	auto_buf clean = BUF_INIT(2 * LIMIT_RESULT_SHOWN);
	struct sbx_error unscrubbed = SBX_ERROR_INIT;

	if (media == NULL)
		return;
	jv entry = json_set_str(json_set_str(jv_object(), "name", name), "media", media);
	if (size > LIMIT_RESULT_SHOWN) {
		entry = json_set_bool(entry, "omitted", 1);
	} else if (load(job, fd, size, &clean, &unscrubbed) < 0) {
		log_error(&unscrubbed);
		entry = json_set_bool(entry, "omitted", 1);
	} else {
		entry = add_data(entry, &clean, &outcome->shown_room);
	}
	outcome->shown = json_append(take_jv(&outcome->shown), entry);
}
