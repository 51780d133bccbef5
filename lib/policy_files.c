/* Reading and hashing, before anything is parsed. */
#include "policy_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "io.h"
#include "limit.h"
#include "schema_name.h"
#include "wire.h"

static const size_t files_max = 512;		  /* tools and signals together */
static const size_t bytes_max = (size_t)16 << 20; /* of all files */
static const char suffix[] = POLICY_FILE_SUFFIX;

void policy_files_clear(struct policy_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		free(files->file[i].name);
		free(files->file[i].path);
		free(files->file[i].text);
	}
	free(files->file);
	free(files->dir);
	*files = (struct policy_files){.count = 0};
}

/* A fault of these files is one of the installation, whatever class io gives it. */
static int as_config(struct sbx_error *err)
{
	err->class = SBX_CONFIG;
	return -1;
}

/* What is wanted of a file: a large one that nobody looks into need not be held. */
enum reading { READ_TEXT, READ_DIGEST };

/* The digest of a file without its text, by one small block. */
static int digest_file(int fd, struct policy_file *file, struct sbx_error *err)
{
	struct digest d;
	char block[32768];
	ssize_t n;

	digest_init(&d);
	while ((n = read(fd, block, sizeof block)) > 0 && file->len <= LIMIT_YAML) {
		digest_add(&d, block, (size_t)n);
		file->len += (size_t)n;
	}
	digest_finish(&d, file->sha256);
	if (n < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read %s", file->path);
	return file->len > LIMIT_YAML ? sbx_fail(err, SBX_CONFIG, "too_large", "%s is too large", file->path) : 0;
}

static int read_text(int fd, struct policy_file *file, struct sbx_error *err)
{
	if (io_read_all(fd, LIMIT_YAML, &file->text, &file->len, err) < 0)
		return sbx_wrap(err, "%s", file->path);
	digest_sha256(file->text, file->len, file->sha256);
	return 0;
}

/* How the files of a directory are read. */
struct manner {
	enum reading reading;
	unsigned flags; /* of io_open_file */
};
static const struct manner trusted_text = {READ_TEXT, IO_TRUSTED}, trusted_digest = {READ_DIGEST, IO_TRUSTED};

/* A directory of the policy: what its files' names begin with, "" for the policy directory itself, and its path. */
struct place {
	const char *directory, *path;
};

static int read_file(int dirfd, const struct place *at, const char *name, struct manner how, struct policy_file *file,
		     struct sbx_error *err)
{
	if (asprintf(&file->name, "%s%s%s", at->directory, *at->directory == '\0' ? "" : "/", name) < 0) {
		file->name = NULL;
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	}
	if (asprintf(&file->path, "%s/%s", at->path, name) < 0) {
		file->path = NULL;
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	}
	auto_fd fd = io_open_file_as(dirfd, name, file->path, how.flags, err);
	return fd < 0 || (how.reading == READ_TEXT ? read_text : digest_file)(fd, file, err) < 0 ? as_config(err) : 0;
}

static int add_file(struct policy_files *files, int dirfd, const struct place *at, const char *name, struct manner how,
		    struct sbx_error *err)
{
	if (files->count >= files_max)
		return sbx_fail(err, SBX_CONFIG, "policy_invalid", "the policy directory holds more than %zu files",
				files_max);
	struct policy_file *grown = reallocarray(files->file, files->count + 1, sizeof *grown);
	if (grown == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	files->file = grown;
	struct policy_file *file = &grown[files->count++];
	*file = (struct policy_file){.name = NULL};
	return read_file(dirfd, at, name, how, file, err);
}

/* WORD.yaml */
static int is_file_name(const char *name)
{
	size_t len = strlen(name);
	char word[128];

	if (len <= sizeof suffix - 1 || len >= sizeof word || strcmp(name + len - (sizeof suffix - 1), suffix) != 0)
		return 0;
	memcpy(word, name, len);
	word[len - (sizeof suffix - 1)] = '\0';
	return schema_is_name(word);
}

static int read_entries(struct policy_files *files, DIR *dir, const struct place *at, struct manner how,
			struct sbx_error *err)
{
	char quoted[SBX_QUOTE_SIZE];

	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (entry == NULL && errno != 0)
			return sbx_fail_errno(err, SBX_CONFIG, "unsafe_file", "cannot read the directory %s",
					      at->path);
		if (entry == NULL)
			return 0;
		if (entry->d_name[0] == '.')
			continue;
		/* A tool that is silently skipped for its file's name would be missed for long. */
		if (!is_file_name(entry->d_name)) {
			sbx_fail(err, SBX_CONFIG, "policy_invalid", "%s holds %s, whose name is not NAME.yaml",
				 at->path, sbx_quote(quoted, entry->d_name, strlen(entry->d_name)));
			return sbx_hint(err, "remove it, or call it by a lower-case name and .yaml");
		}
		if (add_file(files, dirfd(dir), at, entry->d_name, how, err) < 0)
			return -1;
	}
}

/* The files of the directory FD, which it takes. */
static int read_files(struct policy_files *files, int *fd, const struct place *at, struct manner how, struct sbx_error *err)
{
	DIR *dir = fdopendir(*fd);

	if (dir == NULL)
		return sbx_fail_errno(err, SBX_OS, "no_memory", "cannot read the directory %s", at->path);
	take_fd(fd);
	int result = read_entries(files, dir, at, how, err);
	closedir(dir);
	return result;
}

static int read_directory(struct policy_files *files, int dirfd, const char *directory, struct manner how,
			  struct sbx_error *err)
{
	auto_fd fd = openat(dirfd, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_free char *path = NULL;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (asprintf(&path, "%s/%s", files->dir, directory) < 0) {
		path = NULL;
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	}
	if (fd < 0)
		return sbx_fail_errno(err, SBX_CONFIG, "unsafe_file", "cannot open the directory %s", path);
	if (io_check_trust(fd, path, IO_TRUSTED, err) < 0)
		return as_config(err);
	return read_files(files, &fd, &(struct place){directory, path}, how, err);
}

static int by_name(const void *a, const void *b)
{
	const struct policy_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int is_signal_file(const struct policy_file *file)
{
	return strncmp(file->name, "signals/", strlen("signals/")) == 0;
}

/* SHA-256 over the length-prefixed names, and the lengths and digests, of files, in byte order of the names. */
enum hashed { HASH_ALL, HASH_SIGNALS, HASH_OTHERS };
static int hash_files(const struct policy_files *files, enum hashed which, char hex[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	unsigned char sum[DIGEST_SIZE];
	struct digest d;

	digest_init(&d);
	for (size_t i = 0; i < files->count; i++) {
		const struct policy_file *file = &files->file[i];
		auto_buf head = BUF_INIT(1024);
		if (which != HASH_ALL && is_signal_file(file) != (which == HASH_SIGNALS))
			continue;
		if (wire_put_str(&head, file->name, err) < 0 || wire_put_u64(&head, file->len, err) < 0) {
			digest_clear(&d);
			return -1;
		}
		digest_add(&d, buf_str(&head), head.len);
		digest_add(&d, file->sha256, sizeof file->sha256);
	}
	digest_finish(&d, sum);
	digest_to_hex(sum, sizeof sum, hex);
	return 0;
}

static int digest_files(struct policy_files *files, struct sbx_error *err)
{
	size_t total = 0;

	files->signal_count = 0;

	if (files->count > 0)
		qsort(files->file, files->count, sizeof *files->file, by_name);
	for (size_t i = 0; i < files->count; i++) {
		total += files->file[i].len;
		files->signal_count += (size_t)is_signal_file(&files->file[i]);
	}
	if (total > bytes_max)
		return sbx_fail(err, SBX_CONFIG, "policy_invalid", "the policy's files hold more than %zu bytes",
				bytes_max);
	return hash_files(files, HASH_ALL, files->sha256, err) < 0 ||
			       hash_files(files, HASH_SIGNALS, files->signals_sha256, err) < 0 ||
			       hash_files(files, HASH_OTHERS, files->tools_sha256, err) < 0
		       ? -1
		       : 0;
}

const struct policy_file *policy_files_find(const struct policy_files *files, const char *name)
{
	struct policy_file wanted = {.name = (char *)(uintptr_t)name};

	return bsearch(&wanted, files->file, files->count, sizeof *files->file, by_name);
}

int policy_files_read(const char *dir, enum policy_part part, struct policy_files *files, struct sbx_error *err)
{
	*files = (struct policy_files){.count = 0};
	auto_fd fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		sbx_fail_errno(err, SBX_CONFIG, "missing_file", "cannot open the policy directory %s", dir);
		return sbx_hint(err, "set \"policy\" in sbx.yaml to a directory with policy.yaml and tools/");
	}
	if (io_check_trust(fd, dir, IO_TRUSTED, err) < 0)
		return as_config(err);
	files->dir = strdup(dir);
	if (files->dir == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (add_file(files, fd, &(struct place){"", dir}, "policy.yaml", trusted_text, err) < 0 ||
	    read_directory(files, fd, "tools", trusted_text, err) < 0)
		return -1;
	if (part == POLICY_WHOLE && read_directory(files, fd, "signals", trusted_digest, err) < 0)
		return -1;
	files->has_signals = faccessat(fd, "signals", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	return digest_files(files, err);
}

int policy_files_read_signals(const char *dir, unsigned flags, struct policy_files *files, struct sbx_error *err)
{
	*files = (struct policy_files){.count = 0};
	auto_fd fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && flags != 0)
		return digest_files(files, err);
	if (fd < 0)
		return sbx_fail_errno(err, SBX_CONFIG, "missing_file", "cannot open the directory %s", dir);
	if (flags != 0 && io_check_trust(fd, dir, flags, err) < 0)
		return as_config(err);
	if (read_files(files, &fd, &(struct place){"signals", dir}, (struct manner){READ_TEXT, flags}, err) < 0)
		return -1;
	return digest_files(files, err);
}
