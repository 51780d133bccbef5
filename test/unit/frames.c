/* Test tool: reads frames on stdin and prints one JSON object a line: {"type","step","text"} or, for a JSON payload, "json" beside them.
 * Artefacts are written to DIR/NAME when DIR is given. Exits 1 on a malformed stream, 2 when it ends inside a frame. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "frame.h"
#include "io.h"
#include "json_out.h"

static const char *const names[] = {"hello", "refused", "step", "out", "err", "artifact", "data", "exit", "end", "event"};

static int print(const struct frame *f, struct sbx_error *err)
{
	auto_buf line = BUF_INIT(8 * FRAME_MAX);

	if (buf_addf(&line, err, "{\"type\":\"%s\",\"step\":%u,", names[f->type], f->step) < 0)
		return -1;
	if (f->len > 0 && f->payload[0] == '{' && f->type != FRAME_OUT && f->type != FRAME_ERR && f->type != FRAME_DATA) {
		if (buf_addf(&line, err, "\"json\":%s}", f->payload) < 0)
			return -1;
	} else if (buf_addf(&line, err, "\"bytes\":%zu,\"text\":", f->len) < 0 || json_out_string(&line, f->payload, f->len, err) < 0 ||
		   buf_add_str(&line, "}", err) < 0) {
		return -1;
	}
	return puts(line.data) < 0 ? -1 : 0;
}

static int keep(const char *dir, const struct frame *f)
{
	static char path[4096];
	static int file = -1;

	if (f->type == FRAME_ARTIFACT) {
		char name[64] = "";
		sscanf(f->payload, "{\"name\":\"%63[A-Za-z0-9_-]", name);
		snprintf(path, sizeof path, "%s/%s", dir, name);
		base_close_fd(&file);
		file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		return file < 0 ? -1 : 0;
	}
	return f->type == FRAME_DATA && write(file, f->payload, f->len) != (ssize_t)f->len ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_frame_reader reader;
	struct frame frame;
	static char block[FRAME_MAX];
	ssize_t n;

	frame_reader_init(&reader);
	while ((n = read(STDIN_FILENO, block, sizeof block)) > 0) {
		int got;
		if (frame_feed(&reader, block, (size_t)n, &err) < 0)
			break;
		while ((got = frame_next(&reader, &frame, &err)) > 0)
			if (print(&frame, &err) < 0 || (argc > 1 && keep(argv[1], &frame) < 0))
				return 1;
		if (got < 0)
			break;
	}
	if (err.class != SBX_OK) {
		fprintf(stderr, "frames: %s\n", err.message);
		return 1;
	}
	return frame_pending(&reader) > 0 ? 2 : 0;
}
