/* Marks of untrusted output. */
#include "taint.h"

#include <fcntl.h>
#include <string.h>

#include "clock.h"
#include "io.h"

static const char directory[] = "taint";
static const size_t mark_max = 1024;

int taint_mark(const struct state *state, const char *principal, const char *tool, struct sbx_error *err)
{
	auto_jv mark = json_set_int(json_set_str(jv_object(), "tool", tool), "at", clock_seconds());
	auto_buf text = BUF_INIT(mark_max);
	auto_fd dir = state_dir(state, directory, err);

	if (dir < 0 || json_write(mark, &text, err) < 0)
		return -1;
	return io_replace_file(dir, principal, buf_str(&text), text.len, err);
}

int taint_find(const struct state *state, const char *principal, jv *last, struct sbx_error *err)
{
	struct sbx_error unread = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	auto_jv mark = jv_invalid();
	int64_t at = 0, now = clock_seconds();
	size_t len;

	*last = jv_null();
	auto_fd dir = state_dir(state, directory, err);
	if (dir < 0)
		return -1;
	if (io_read_file(dir, principal, mark_max, IO_PRIVATE, &text, &len, &unread) < 0) {
		if (strcmp(unread.code, "missing_file") == 0)
			return 0;
	} else if (json_parse(text, len, mark_max, &mark, &unread) == 0) {
		json_int(mark, "at", &at);
	}
	const char *tool = json_str(mark, "tool");
	*last = json_set_str(jv_object(), "tool", tool ? tool : "");
	*last = json_set_int(*last, "age_s", at > 0 && at < now ? now - at : 0);
	return 0;
}
