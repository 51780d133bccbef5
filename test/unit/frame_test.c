/* Frames: what is written is read, in any pieces; anything else is bad_frame. */
#include "frame.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

static const char nonce[] = "0123456789abcdef0123456789abcdef";
static const char other[] = "0123456789abcdef0123456789abcde0";
static const char zeros[] = "00000000000000000000000000000000";

static void put(struct buf *b, const char *n, enum frame_type type, unsigned step, const char *text)
{
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(frame_put(b, n, type, step, text, strlen(text), &err) == 0);
}

/* Feed TEXT in pieces of SIZE; returns how many frames came, or -1 (with its code checked). */
static int count_frames(const struct buf *b, size_t size)
{
	auto_frame_reader r;
	struct sbx_error err = SBX_ERROR_INIT;
	struct frame f;
	int count = 0, got = 0;

	frame_reader_init(&r);
	for (size_t at = 0; at < b->len; at += size) {
		size_t n = b->len - at < size ? b->len - at : size;
		if (frame_feed(&r, b->data + at, n, &err) < 0)
			return -2;
		while ((got = frame_next(&r, &f, &err)) == 1)
			count++;
		if (got < 0)
			return strcmp(err.code, "bad_frame") == 0 ? -1 : -2;
	}
	return frame_pending(&r) == 0 ? count : -3;
}

static int count_text(const char *text)
{
	auto_buf b = BUF_INIT(1 << 20);
	struct sbx_error err = SBX_ERROR_INIT;

	buf_add_str(&b, text, &err);
	return count_frames(&b, b.len);
}

static void test_round(void)
{
	auto_buf b = BUF_INIT(1 << 20);
	auto_frame_reader r;
	struct sbx_error err = SBX_ERROR_INIT;
	struct frame f;
	char *big = malloc(FRAME_MAX);

	put(&b, nonce, FRAME_HELLO, 0, "{}");
	put(&b, nonce, FRAME_STEP, 1, "");
	put(&b, nonce, FRAME_OUT, 1, "line\nsbx-frame not one\n");
	put(&b, zeros, FRAME_EVENT, 0, "{\"event\":\"deadline\"}");
	put(&b, nonce, FRAME_END, 0, "{}");
	for (size_t size = 1; size < 40; size++)
		CHECK(count_frames(&b, size) == 5);
	frame_reader_init(&r);
	CHECK(frame_feed(&r, b.data, b.len, &err) == 0);
	CHECK(frame_next(&r, &f, &err) == 1 && f.type == FRAME_HELLO && f.len == 2);
	CHECK_STR(r.nonce, nonce);
	CHECK(frame_next(&r, &f, &err) == 1 && f.type == FRAME_STEP && f.step == 1 && f.len == 0);
	CHECK(frame_next(&r, &f, &err) == 1 && f.type == FRAME_OUT);
	CHECK_STR(f.payload, "line\nsbx-frame not one\n");
	memset(big, '\n', FRAME_MAX);
	buf_reset(&b);
	put(&b, nonce, FRAME_HELLO, 0, "{}");
	CHECK(frame_put(&b, nonce, FRAME_OUT, 1, big, FRAME_MAX, &err) == 0);
	CHECK(count_frames(&b, 4096) == 2);
	CHECK(frame_put(&b, nonce, FRAME_OUT, 1, big, FRAME_MAX + 1, &err) == -1);
	free(big);
}

static void test_refused(void)
{
	auto_buf b = BUF_INIT(1 << 20);

	put(&b, nonce, FRAME_HELLO, 0, "{}");
	put(&b, other, FRAME_OUT, 1, "x");
	CHECK(count_frames(&b, 7) == -1);
	buf_reset(&b);
	put(&b, nonce, FRAME_OUT, 1, "x"); /* before hello */
	CHECK(count_frames(&b, 7) == -1);
	buf_reset(&b);
	put(&b, nonce, FRAME_HELLO, 0, "{}");
	put(&b, nonce, FRAME_HELLO, 0, "{}");
	CHECK(count_frames(&b, 7) == -1);
	buf_reset(&b);
	put(&b, nonce, FRAME_HELLO, 0, "{}");
	put(&b, nonce, FRAME_EVENT, 0, "{}"); /* an event is the driver's alone */
	CHECK(count_frames(&b, 7) == -1);
	buf_reset(&b);
	put(&b, zeros, FRAME_HELLO, 0, "{}");
	CHECK(count_frames(&b, 7) == -1);
}

static void test_malformed(void)
{
	char line[256];
	static const char *const bad[] = {
		"sbx-frame %s hello 0 2\n{}x",	 "sbx-frame %s hello 0 2 \n{}\n", "sbx-frame %s hello 0\n{}\n",
		"sbx-frame %s hello -1 2\n{}\n", "sbx-frame %s hello 0 02\n{}\n", "sbx-frame %s hello 0 65537\n{}\n",
		"sbx-frame %s hullo 0 2\n{}\n",	 "sbx-fram3 %s hello 0 2\n{}\n",  "sbx-frame  %s hello 0 2\n{}\n",
		"sbx-frame %sA hello 0 2\n{}\n",
	};

	snprintf(line, sizeof line, "sbx-frame %s hello 0 2\n{}\n", nonce);
	CHECK(count_text(line) == 1);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(line, sizeof line, bad[i], nonce);
#pragma GCC diagnostic pop
		CHECK(count_text(line) == -1);
	}
	CHECK(count_text("no header at all, but a long line without a line feed, longer than any header that is one, "
			 "so it cannot become "
			 "one any more") == -1);
	CHECK(count_text("sbx-frame") == -3); /* may still become one */
}

static void test_write(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf b = BUF_INIT(1 << 20);
	char got[256] = "";
	int ends[2];

	CHECK(pipe(ends) == 0);
	CHECK(frame_write(ends[1], nonce, FRAME_ERR, 3, "abc", 3, &err) == 0);
	put(&b, nonce, FRAME_ERR, 3, "abc");
	CHECK(read(ends[0], got, sizeof got) == (ssize_t)b.len);
	CHECK_STR(got, b.data);
	close(ends[0]);
	close(ends[1]);
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	CHECK(frame_write(full, nonce, FRAME_ERR, 3, "abc", 3, &err) == -1);
	CHECK(err.class == SBX_IO);
	close(full);
}

int main(void)
{
	test_round();
	test_refused();
	test_malformed();
	test_write();
	return unit_done();
}
