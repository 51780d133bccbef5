/* Inputs, artefacts, credential files. */
#include "entry_inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "entry_seal.h"
#include "io.h"
#include "limit.h"
#include "tree.h"
#include "wire.h"

enum { BLOCK = 64 * 1024 };

/* SIZE bytes of FROM at AT: into TO (-1: nowhere) and their digest. */
static int copy_section(int from, uint64_t at, uint64_t size, int to, char sha256[DIGEST_HEX_SIZE],
			struct sbx_error *err)
{
	auto_free char *block = malloc(BLOCK);
	unsigned char bytes[DIGEST_SIZE];
	struct digest digest;

	if (block == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	digest_init(&digest);
	while (size > 0) {
		ssize_t n = pread(from, block, size < BLOCK ? (size_t)size : (size_t)BLOCK, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			digest_clear(&digest);
			return n < 0 ? sbx_fail_errno(err, SBX_IO, "io_error", "cannot read an input")
				     : sbx_fail(err, SBX_PROTOCOL, "input_changed", "an input is cut off");
		}
		digest_add(&digest, block, (size_t)n);
		if (to >= 0 && io_write_all(to, block, (size_t)n, err) < 0) {
			digest_clear(&digest);
			return -1;
		}
		at += (uint64_t)n;
		size -= (uint64_t)n;
	}
	digest_finish(&digest, bytes);
	digest_to_hex(bytes, sizeof bytes, sha256);
	return 0;
}

/* Its bytes are those of the table before anything is made of them. */
static int take_tree(const struct steps *table, const struct input *in, int fd, uint64_t at, int work_fd,
		     struct sbx_error *err)
{
	char sha256[DIGEST_HEX_SIZE];

	if (copy_section(fd, at, in->size, -1, sha256, err) < 0)
		return -1;
	if (strcmp(sha256, in->sha256) != 0)
		return in->kind == INPUT_MODULES ? entry_differs(table, PLAN_PART_MODULE, "modules that were fetched", err)
						 : entry_differs(table, PLAN_PART_TREE, "the workspace", err);
	if (lseek(fd, (off_t)at, SEEK_SET) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read an input");
	return tree_unpack(fd, in->size, work_fd, err);
}

struct artifact *entry_new_artifact(struct artifacts *artifacts, const char *name, struct sbx_error *err)
{
	if (artifacts->count >= ENTRY_MAX_ARTIFACTS) {
		sbx_fail(err, SBX_PROTOCOL, "bad_steps", "more than %d artefacts", ENTRY_MAX_ARTIFACTS);
		return NULL;
	}
	int fd = io_memfd(name, err);
	if (fd < 0)
		return NULL;
	struct artifact *artifact = &artifacts->list[artifacts->count++];
	*artifact = (struct artifact){.name = name, .fd = fd};
	return artifact;
}

static int take_artifact(const struct steps *table, const struct input *in, int fd, uint64_t at,
			 struct artifacts *artifacts, struct sbx_error *err)
{
	struct artifact *artifact = entry_new_artifact(artifacts, in->name, err);

	if (artifact == NULL || copy_section(fd, at, in->size, artifact->fd, artifact->sha256, err) < 0)
		return -1;
	artifact->size = in->size;
	if (strcmp(artifact->sha256, in->sha256) != 0)
		return entry_differs(table, PLAN_PART_FILE, "an artefact", err);
	return io_seal(artifact->fd, err);
}

/* Make the directories on the way to PATH below WORK_FD. */
static int make_parents(int work_fd, const char *path, struct sbx_error *err)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		size_t len = (size_t)(slash - path);
		memcpy(part, path, len);
		part[len] = '\0';
		auto_fd there = io_open_beneath(work_fd, part, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
		if (there < 0 && (errno != ENOENT || mkdirat(work_fd, part, 0755) < 0))
			return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot create \"%s\"", part);
	}
	return 0;
}

/* PATH is a directory of its own, which is made. */
static int take_modules(const struct steps *table, const struct input *in, int fd, uint64_t at, int work_fd,
			struct sbx_error *err)
{
	char inside[PATH_MAX];

	if (snprintf(inside, sizeof inside, "%s/", in->path) >= (int)sizeof inside)
		return sbx_fail(err, SBX_PROTOCOL, "bad_steps", "the path of the modules is too long");
	if (make_parents(work_fd, inside, err) < 0)
		return -1;
	auto_fd dir = io_open_beneath(work_fd, in->path, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	if (dir < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot open \"%s\"", in->path);
	return take_tree(table, in, fd, at, dir, err);
}

static int take_state(const struct steps *table, const struct input *in, int fd, uint64_t at, int work_fd,
		      struct sbx_error *err)
{
	char sha256[DIGEST_HEX_SIZE];

	if (make_parents(work_fd, in->path, err) < 0)
		return -1;
	const char *slash = strrchr(in->path, '/');
	char parent[PATH_MAX] = ".";
	if (slash != NULL)
		snprintf(parent, sizeof parent, "%.*s", (int)(slash - in->path), in->path);
	auto_fd dir = io_open_beneath(work_fd, parent, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	auto_fd file = dir < 0 ? -1
			       : openat(dir, slash ? slash + 1 : in->path,
					O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot create \"%s\"", in->path);
	if (copy_section(fd, at, in->size, file, sha256, err) < 0)
		return -1;
	return strcmp(sha256, in->sha256) == 0 ? 0 : entry_differs(table, PLAN_PART_STATE, "the state", err);
}

/* The state at the place of IN: a descriptor, -1 when there is no regular file. */
static int open_state(const struct input *in, int work_fd)
{
	auto_fd fd = io_open_beneath(work_fd, in->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, RESOLVE_NO_SYMLINKS);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? take_fd(&fd) : -1;
}

static int state_differs(const struct input *in, int fd)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	char sha256[DIGEST_HEX_SIZE];

	return fd < 0 || digest_fd_hex(fd, LIMIT_STATE_FILE, sha256, NULL, &ignored) < 0 ||
	       strcmp(sha256, in->sha256) != 0;
}

static int check_mounted_state(const struct steps *table, const struct input *in, int work_fd, struct sbx_error *err)
{
	auto_fd fd = open_state(in, work_fd);

	return state_differs(in, fd) ? entry_name_state(table, fd, err) : 0;
}

int entry_take_inputs(const struct steps *table, int inputs_fd, int work_fd, struct artifacts *artifacts,
		      struct sbx_error *err)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < table->input_count; i++) {
		const struct input *in = &table->inputs[i];
		int result = 0;
		switch (in->kind) {
		case INPUT_TREE:
			result = take_tree(table, in, inputs_fd, at, work_fd, err);
			break;
		case INPUT_MODULES:
			result = take_modules(table, in, inputs_fd, at, work_fd, err);
			break;
		case INPUT_ARTIFACT:
			result = take_artifact(table, in, inputs_fd, at, artifacts, err);
			break;
		case INPUT_STATE_READ:
			result = take_state(table, in, inputs_fd, at, work_fd, err);
			break;
		case INPUT_STATE_WRITE:
			result = check_mounted_state(table, in, work_fd, err);
			break;
		case INPUT_SIGNED:
			break;
		}
		if (result < 0)
			return -1;
		at += in->size;
	}
	return 0;
}

const struct artifact *entry_artifact(const struct artifacts *artifacts, const char *name)
{
	for (size_t i = 0; i < artifacts->count; i++)
		if (strcmp(artifacts->list[i].name, name) == 0)
			return &artifacts->list[i];
	return NULL;
}

const struct artifact *entry_add_artifact(struct artifacts *artifacts, const char *name, int fd, uint64_t max,
					  struct sbx_error *err)
{
	struct artifact *artifact = entry_new_artifact(artifacts, name, err);

	if (artifact == NULL || io_copy(fd, artifact->fd, max, &artifact->size, err) < 0 ||
	    io_seal(artifact->fd, err) < 0 || digest_fd_hex(artifact->fd, max, artifact->sha256, NULL, err) < 0)
		return NULL;
	return artifact;
}

int entry_state_changed(const struct steps *table, int work_fd)
{
	for (uint32_t i = 0; i < table->input_count; i++) {
		const struct input *in = &table->inputs[i];
		if (in->kind != INPUT_STATE_READ && in->kind != INPUT_STATE_WRITE)
			continue;
		auto_fd fd = open_state(in, work_fd);
		if (state_differs(in, fd))
			return 1;
	}
	return 0;
}

static void credential_path(uint32_t index, char out[sizeof SANDBOX_CREDENTIALS "/4294967295"])
{
	snprintf(out, sizeof SANDBOX_CREDENTIALS "/4294967295", SANDBOX_CREDENTIALS "/%u", index);
}

int entry_write_credentials(const struct secret *credentials, struct sbx_error *err)
{
	struct wire w = {.p = credentials->data, .left = credentials->len};
	char path[sizeof SANDBOX_CREDENTIALS "/4294967295"];

	while (w.left > 0) {
		const unsigned char *bytes;
		uint32_t index;
		size_t len;
		if (wire_get_u32(&w, LIMIT_CREDENTIALS - 1, &index, err) < 0 ||
		    wire_get_bytes(&w, LIMIT_SECRET, &bytes, &len, err) < 0)
			return -1;
		credential_path(index, path);
		auto_fd fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
		if (fd < 0)
			return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create",
					      "cannot create a credential file");
		if (io_write_all(fd, bytes, len, err) < 0)
			return -1;
	}
	return 0;
}

void entry_remove_credentials(void)
{
	char path[sizeof SANDBOX_CREDENTIALS "/4294967295"];

	for (uint32_t i = 0; i < LIMIT_CREDENTIALS; i++) {
		credential_path(i, path);
		unlink(path);
	}
}
