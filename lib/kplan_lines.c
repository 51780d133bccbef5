/* Lines out of blocks. */
#include "kplan_lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "limit.h"

int kplan_lines_init(struct kplan_lines *l, int fd, struct sbx_error *err)
{
	l->fd = fd;
	l->line = (struct buf)BUF_INIT(LIMIT_PLAN_LINE);
	l->number = l->total = 0;
	l->at = l->len = 0;
	digest_init(&l->digest);
	if (lseek(fd, 0, SEEK_SET) == 0)
		return 0;
	return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read the changes twice");
}

void kplan_lines_clear(struct kplan_lines *l)
{
	buf_clear(&l->line);
	digest_clear(&l->digest);
}

/* 1 when there is a block, 0 at the end. */
static int fill(struct kplan_lines *l, struct sbx_error *err)
{
	ssize_t n;

	do
		n = read(l->fd, l->block, sizeof l->block);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read the changes");
	l->at = 0;
	l->len = (size_t)n;
	l->total += l->len;
	if (l->total > LIMIT_PLAN_JSON)
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "the changes have more than %llu bytes",
				(unsigned long long)LIMIT_PLAN_JSON);
	digest_add(&l->digest, l->block, l->len);
	return n > 0;
}

static int add(struct kplan_lines *l, size_t len, struct sbx_error *err)
{
	if (l->line.len + len > LIMIT_PLAN_LINE)
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "line %llu has more than %zu bytes",
				(unsigned long long)l->number, LIMIT_PLAN_LINE);
	if (buf_add(&l->line, l->block + l->at, len, err) < 0)
		return -1;
	l->at += len;
	return 0;
}

int kplan_lines_next(struct kplan_lines *l, struct sbx_error *err)
{
	int more, begun = 0;

	buf_reset(&l->line);
	l->number++;
	for (;;) {
		if (l->at == l->len && (more = fill(l, err)) <= 0)
			return more < 0 ? -1 : begun;
		const char *end = memchr(l->block + l->at, '\n', l->len - l->at);
		begun = 1;
		if (add(l, end == NULL ? l->len - l->at : (size_t)(end - l->block) - l->at, err) < 0)
			return -1;
		if (end == NULL)
			continue;
		l->at++;
		return 1;
	}
}
