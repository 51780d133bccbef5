/* Opening, locking and the tail of the record. */
#include "audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "audit_line.h"
#include "clock.h"
#include "io.h"

/* Others hold the lock for one write and one sync. */
static const int64_t lock_wait_ms = 10 * 1000;
static const long lock_first_sleep_ns = 50 * 1000;
static const long lock_longest_sleep_ns = 2 * 1000 * 1000;

/* Tail windows: the first holds any ordinary last line, the second the longest one behind the longest torn one and its
 * torn declaration. */
static const size_t tail_windows[] = {4096, 4 * LIMIT_EVENT};

#define NOTE_SEQ_DIGITS 20
#define NOTE_SIZE (NOTE_SEQ_DIGITS + 1 + DIGEST_HEX_SIZE) /* "SEQ HEX\n" */

static int unavailable(struct sbx_error *err, const char *what)
{
	sbx_fail_errno(err, SBX_IO, "audit_unavailable", "cannot %s the record", what);
	return sbx_hint(
		err, "nothing runs without a record: see to the space, the mount and the owner of the state directory");
}

static int unsafe(struct sbx_error *err, const char *message)
{
	sbx_fail(err, SBX_CONFIG, "audit_unsafe", "%s", message);
	return sbx_hint(err, "run: sbx-audit verify");
}

static int check_file(int dirfd, int fd, const char *name, struct sbx_error *err)
{
	struct stat open_file, named;

	if (fstat(fd, &open_file) < 0)
		return unavailable(err, "look at");
	if (!S_ISREG(open_file.st_mode))
		return sbx_fail(err, SBX_CONFIG, "audit_unsafe", "%s is not a regular file", name);
	if (io_check_trust(fd, name, IO_PRIVATE, err) < 0) {
		snprintf(err->code, sizeof err->code, "audit_unsafe");
		return -1;
	}
	/* Whoever moves the file away while it is open would have us write into what nobody reads. */
	if (fstatat(dirfd, name, &named, AT_SYMLINK_NOFOLLOW) < 0 || named.st_dev != open_file.st_dev ||
	    named.st_ino != open_file.st_ino)
		return sbx_fail(err, SBX_CONFIG, "audit_unsafe", "%s was replaced while it was open", name);
	return 0;
}

static int take_lock(int fd, int operation, struct sbx_error *err)
{
	int64_t deadline = clock_mono_ms() + lock_wait_ms;
	struct timespec pause = {.tv_nsec = lock_first_sleep_ns};

	while (flock(fd, operation | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return unavailable(err, "lock");
		if (clock_left_ms(deadline) == 0)
			return sbx_fail(err, SBX_IO, "audit_unavailable", "the record stays locked by another program");
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < lock_longest_sleep_ns)
			pause.tv_nsec *= 2;
	}
	return 0;
}

/* A reader makes nothing: it also reads a copy on a disk that is mounted read-only. Without a lock file nobody writes.
 */
static int open_lock(const struct state *state, enum audit_use use, struct audit_file *file, struct sbx_error *err)
{
	int flags =
		O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | (use == AUDIT_APPEND ? O_RDWR | O_CREAT : O_RDONLY);

	file->lock_fd = openat(state->fd, AUDIT_LOCK, flags, 0600);
	if (file->lock_fd < 0 && errno == ENOENT && use == AUDIT_READ)
		return 0;
	if (file->lock_fd < 0)
		return errno == ELOOP ? unsafe(err, AUDIT_LOCK " is a symbolic link") : unavailable(err, "lock");
	if (take_lock(file->lock_fd, use == AUDIT_APPEND ? LOCK_EX : LOCK_SH, err) < 0)
		return -1;
	return check_file(state->fd, file->lock_fd, AUDIT_LOCK, err);
}

static int open_record(const struct state *state, enum audit_use use, struct audit_file *file, struct sbx_error *err)
{
	int flags =
		O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | (use == AUDIT_APPEND ? O_RDWR | O_APPEND : O_RDONLY);

	file->fd = openat(state->fd, AUDIT_FILE, flags);
	if (file->fd < 0 && errno == ENOENT) {
		if (use == AUDIT_READ)
			return 0;
		file->fd = openat(state->fd, AUDIT_FILE, flags | O_CREAT | O_EXCL, 0600);
	}
	if (file->fd < 0)
		return errno == ELOOP ? unsafe(err, AUDIT_FILE " is a symbolic link") : unavailable(err, "open");
	if (check_file(state->fd, file->fd, AUDIT_FILE, err) < 0)
		return -1;
	file->size = lseek(file->fd, 0, SEEK_END);
	return file->size < 0 ? unavailable(err, "read") : 0;
}

int audit_file_open(const struct state *state, enum audit_use use, struct audit_file *file, struct sbx_error *err)
{
	*file = (struct audit_file)AUDIT_FILE_NONE;
	if (open_lock(state, use, file, err) < 0 || open_record(state, use, file, err) < 0) {
		audit_file_close(file);
		return -1;
	}
	return 0;
}

void audit_file_unlock(struct audit_file *file)
{
	base_close_fd(&file->lock_fd);
}

void audit_file_close(struct audit_file *file)
{
	base_close_fd(&file->fd);
	base_close_fd(&file->lock_fd);
}

static int read_at(int fd, char *out, size_t len, off_t at, struct sbx_error *err)
{
	while (len > 0) {
		ssize_t n = pread(fd, out, len, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return unavailable(err, "read");
		if (n == 0)
			return unsafe(err, "the record became shorter while it was read");
		out += n;
		len -= (size_t)n;
		at += n;
	}
	return 0;
}

enum found { FOUND_RECORD, FOUND_NONE, FOUND_TOO_SHORT };

/* Walk back over lines that are no records. *GOOD gets where the last record's line begins and *END where the torn part
 * begins. */
static enum found walk_back(const char *bytes, size_t len, int whole_file, struct audit_line *line, size_t *start,
			    size_t *end, int *glued)
{
	size_t at = len;

	*glued = 0;
	while (at > 0) {
		size_t line_end = bytes[at - 1] == '\n' ? at - 1 : at;
		const char *before = line_end > 0 ? memrchr(bytes, '\n', line_end) : NULL;
		if (before == NULL && !whole_file)
			return FOUND_TOO_SHORT;
		size_t line_start = before == NULL ? 0 : (size_t)(before - bytes) + 1;
		if (line_end < at && audit_line_read(bytes + line_start, line_end - line_start, line) == 0) {
			*start = line_start;
			*end = at;
			return FOUND_RECORD;
		}
		*glued |= audit_line_glued(bytes + line_start, line_end - line_start);
		at = line_start;
	}
	*start = *end = 0;
	return whole_file ? FOUND_NONE : FOUND_TOO_SHORT;
}

static void describe(const char *bytes, size_t len, off_t from, size_t start, size_t end, struct audit_tail *tail)
{
	size_t torn = len - end;

	if (end > start)
		digest_sha256_hex(bytes + start, end - start - 1, tail->head);
	tail->end = from + (off_t)end;
	tail->torn = torn > 0;
	tail->open_line = torn > 0 && bytes[len - 1] != '\n';
	tail->torn_bytes = torn > 0 && !tail->open_line ? torn - 1 : torn;
	digest_sha256_hex(bytes + end, tail->torn_bytes, tail->torn_sha256);
}

int audit_tail_read(const struct audit_file *file, struct audit_tail *tail, struct sbx_error *err)
{
	*tail = (struct audit_tail){.head = AUDIT_FIRST_PREV};
	for (size_t i = 0; i < ARRAY_LEN(tail_windows) && file->fd >= 0 && file->size > 0; i++) {
		size_t len = file->size > (off_t)tail_windows[i] ? tail_windows[i] : (size_t)file->size;
		off_t from = file->size - (off_t)len;
		auto_free char *bytes = malloc(len);
		struct audit_line line = {.seq = 0};
		size_t start, end;
		int glued;

		if (bytes == NULL)
			return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		if (read_at(file->fd, bytes, len, from, err) < 0)
			return -1;
		enum found found = walk_back(bytes, len, from == 0, &line, &start, &end, &glued);
		if (glued)
			return unsafe(err, "the record ends in half a line with another one written on to it");
		if (found == FOUND_TOO_SHORT)
			continue;
		tail->seq = found == FOUND_RECORD ? line.seq : 0;
		describe(bytes, len, from, start, end, tail);
		return 0;
	}
	return file->fd < 0 || file->size == 0 ? 0 : unsafe(err, "the end of the record is not readable");
}

int audit_note_check(const struct audit_file *file, const struct audit_tail *tail, struct sbx_error *err)
{
	char note[NOTE_SIZE + 1] = "";
	char *rest;

	if (pread(file->lock_fd, note, NOTE_SIZE, 0) != NOTE_SIZE)
		return 0;
	errno = 0;
	long long seq = strtoll(note, &rest, 10);
	if (errno != 0 || rest != note + NOTE_SEQ_DIGITS || *rest != ' ')
		return 0;
	if (tail->seq > seq || (tail->seq == seq && memcmp(rest + 1, tail->head, DIGEST_HEX_SIZE - 1) == 0))
		return 0;
	sbx_fail(err, SBX_CONFIG, "audit_unsafe",
		 "the record ends at number %lld and had come to %lld: it was cut or replaced", (long long)tail->seq,
		 seq);
	return sbx_hint(err,
			"keep it and compare it with your copies; when that is done, remove %s in the state directory",
			AUDIT_LOCK);
}

void audit_note_write(const struct audit_file *file, int64_t seq, const char *head)
{
	char note[NOTE_SIZE + 1];

	snprintf(note, sizeof note, "%0*lld %s\n", NOTE_SEQ_DIGITS, (long long)seq, head);
	/* A lost note only makes the next check weaker. */
	if (pwrite(file->lock_fd, note, NOTE_SIZE, 0) != NOTE_SIZE)
		return;
}
