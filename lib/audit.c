/* Appending to the record: one locked, chained, synced write for each event. */
#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "audit_file.h"
#include "audit_line.h"

/* Space that outcome events alone may use, when the disk is full: some 2000 of them. */
#define RESERVE_FILE "audit.reserve"
static const off_t reserve_bytes = (off_t)1 << 20;
/* An intent needs this much free space beside the reserve: its own line, and what the act itself writes before its
 * outcome (the object, the captured output) in the smallest case. */
static const uint64_t intent_headroom_bytes = (uint64_t)256 << 10;

static const char full_disk_hint[] = "free space on the file system of the state directory";

static uint64_t free_bytes(int dirfd)
{
	struct statvfs fs;

	if (fstatvfs(dirfd, &fs) < 0 || fs.f_blocks == 0) /* 0 blocks: a file system without a limit */
		return UINT64_MAX;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static int make_reserve(int dirfd, struct sbx_error *err)
{
	auto_fd fd =
		openat(dirfd, RESERVE_FILE, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
	int failed = fd < 0 ? errno : posix_fallocate(fd, 0, reserve_bytes);

	if (failed == 0)
		return 0;
	if (fd >= 0)
		unlinkat(dirfd, RESERVE_FILE, 0);
	errno = failed;
	sbx_fail_errno(err, SBX_IO, "audit_unavailable", "cannot keep space in reserve for the record");
	return sbx_hint(err, "%s", full_disk_hint);
}

/* An act may begin only when its outcome will find room. */
static int check_room(const struct state *state, struct sbx_error *err)
{
	uint64_t available = free_bytes(state->fd), needed = intent_headroom_bytes;
	struct stat reserve;
	int kept = fstatat(state->fd, RESERVE_FILE, &reserve, AT_SYMLINK_NOFOLLOW) == 0 &&
		   reserve.st_size >= reserve_bytes;

	if (!kept)
		needed += (uint64_t)reserve_bytes;
	if (available < needed) {
		sbx_fail(err, SBX_IO, "audit_unavailable", "the disk has no room for the record of what would be done");
		return sbx_hint(err, "%s", full_disk_hint);
	}
	return kept ? 0 : make_reserve(state->fd, err);
}

/* 0 when every byte is in the file, else an errno. */
static int write_lines(const struct state *state, const struct audit_file *file, enum audit_kind kind,
		       const struct buf *lines)
{
	for (size_t done = 0; done < lines->len;) {
		ssize_t n = write(file->fd, lines->data + done, lines->len - done);
		int failed = n < 0 ? errno : n == 0 ? EIO : 0;
		if (n > 0)
			done += (size_t)n;
		else if (failed == EINTR)
			continue;
		else if ((failed != ENOSPC && failed != EDQUOT) || kind != AUDIT_OUTCOME ||
			 unlinkat(state->fd, RESERVE_FILE, 0) < 0)
			return failed;
	}
	return 0;
}

static int put(const struct state *state, const struct audit_file *file, enum audit_kind kind, const struct buf *lines,
	       struct sbx_error *err)
{
	int failed = write_lines(state, file, kind, lines);

	/* After a failed sync the kernel may call the next one a success: what is not on disk now is reported now. */
	if (failed == 0 && fdatasync(file->fd) < 0)
		failed = errno;
	if (failed == 0)
		return 0;
	/* Take back the part that did not fit, and what nobody was told of. Where that is forbidden (chattr +a), the
	 * next writer declares a part as torn. */
	(void)!ftruncate(file->fd, file->size);
	errno = failed;
	sbx_fail_errno(err, SBX_IO, "audit_unavailable", "cannot write the record");
	return sbx_hint(err, "%s", full_disk_hint);
}

struct position {
	int64_t seq;
	char head[DIGEST_HEX_SIZE];
};

static int add_line(struct buf *lines, struct position *at, const char *event, const char *id, jv details,
		    struct sbx_error *err)
{
	size_t start = lines->len;

	if (audit_line_write(lines, at->seq + 1, at->head, event, id, details, err) < 0)
		return -1;
	at->seq++;
	digest_sha256_hex(lines->data + start, lines->len - start - 1, at->head);
	return 0;
}

static int add_torn(struct buf *lines, struct position *at, const struct audit_tail *tail, struct sbx_error *err)
{
	auto_jv details = json_set_str(json_set_int(jv_object(), "torn_bytes", (int64_t)tail->torn_bytes),
				       "torn_sha256", tail->torn_sha256);

	if (tail->open_line && buf_add_str(lines, "\n", err) < 0)
		return -1;
	return add_line(lines, at, AUDIT_TORN_EVENT, NULL, details, err);
}

static int add_open(struct buf *lines, struct position *at, const struct state *state, struct sbx_error *err)
{
	auto_jv details =
		json_set_str(json_set_str(jv_object(), "version", SBX_VERSION), "installation", state->installation);

	return add_line(lines, at, "audit.open", NULL, details, err);
}

static int append_locked(const struct state *state, const struct audit_file *file, enum audit_kind kind,
			 const char *event, const char *id, jv details, struct sbx_error *err)
{
	auto_buf lines = BUF_INIT(4 * LIMIT_EVENT);
	struct audit_tail tail;
	struct position at;

	if (audit_tail_read(file, &tail, err) < 0 || audit_note_check(file, &tail, err) < 0)
		return -1;
	at.seq = tail.seq;
	memcpy(at.head, tail.head, sizeof at.head);
	if ((tail.torn && add_torn(&lines, &at, &tail, err) < 0) ||
	    (tail.seq == 0 && add_open(&lines, &at, state, err) < 0) ||
	    add_line(&lines, &at, event, id, details, err) < 0)
		return -1;
	if (put(state, file, kind, &lines, err) < 0)
		return -1;
	/* A new name lasts only when its directory is on disk too; whoever made the file may have died before that. */
	if (tail.seq == 0 && fsync(state->fd) < 0)
		return sbx_fail_errno(err, SBX_IO, "audit_unavailable", "cannot sync the state directory");
	audit_note_write(file, at.seq, at.head);
	return 0;
}

int audit_append(const struct state *state, enum audit_kind kind, const char *event, const char *id, jv details,
		 struct sbx_error *err)
{
	auto_audit_file file = AUDIT_FILE_NONE;
	auto_jv clean = jv_invalid();

	if (audit_redact(details, &clean, err) < 0 || audit_file_open(state, AUDIT_APPEND, &file, err) < 0)
		return -1;
	if (kind == AUDIT_INTENT && check_room(state, err) < 0)
		return -1;
	return append_locked(state, &file, kind, event, id, clean, err);
}

int audit_head(const struct state *state, char sha256[65], int64_t *seq, struct sbx_error *err)
{
	auto_audit_file file = AUDIT_FILE_NONE;
	struct audit_tail tail;

	if (audit_file_open(state, AUDIT_READ, &file, err) < 0 || audit_tail_read(&file, &tail, err) < 0)
		return -1;
	memcpy(sha256, tail.head, sizeof tail.head);
	if (seq != NULL)
		*seq = tail.seq;
	return 0;
}
