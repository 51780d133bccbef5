/* The comparisons inside. */
#include "entry_seal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "limit.h"

int entry_differs(const struct steps *table, enum plan_part part, const char *what, struct sbx_error *err)
{
	if (table->plan == STEPS_SEALED_PLAN)
		return plan_part_differs(part, NULL, err);
	return sbx_fail(err, SBX_DENIED, "input_changed", "%s has another digest than the one that was decided on",
			what);
}

static int program_differs(const struct steps *table, const char *path, struct sbx_error *err)
{
	if (table->plan == STEPS_SEALED_PLAN)
		return plan_part_differs(PLAN_PART_PROGRAM, path, err);
	return sbx_fail(err, SBX_DENIED, "program_changed",
			"\"%s\" is not there, or has another digest than the one that was decided on", path);
}

int entry_check_programs(const struct steps *table, struct sbx_error *err)
{
	char sha256[DIGEST_HEX_SIZE];

	for (uint32_t i = 0; i < table->program_count; i++) {
		const struct program_digest *program = &table->programs[i];
		auto_fd fd = open(program->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			return program_differs(table, program->path, err);
		if (digest_fd_hex(fd, LIMIT_PROGRAM, sha256, NULL, err) < 0)
			return -1;
		if (strcmp(sha256, program->sha256) != 0)
			return program_differs(table, program->path, err);
	}
	return 0;
}

int entry_check_packages(const struct steps *table, struct sbx_error *err)
{
	char hash[PACKAGE_HASH_SIZE];

	for (uint32_t i = 0; i < table->sealed.package_count; i++) {
		const struct package_digest *package = &table->sealed.packages[i];
		auto_fd fd = open(package->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			return plan_part_differs(PLAN_PART_PROVIDER, package->source, err);
		if (package_hash(fd, package->path, NULL, hash, err) < 0)
			return -1;
		if (strcmp(hash, package->hash) != 0)
			return plan_part_differs(PLAN_PART_PROVIDER, package->source, err);
	}
	return 0;
}

/* Through no symlink: one that the tree holds in its place is none that the seal means. */
int entry_check_lock(const struct steps *table, int work_fd, struct sbx_error *err)
{
	struct sbx_error unread = SBX_ERROR_INIT;
	char sha256[DIGEST_HEX_SIZE] = "";
	struct stat st;

	if (table->plan != STEPS_SEALED_PLAN)
		return 0;
	auto_fd fd = io_open_beneath(work_fd, table->sealed.lock_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
				     RESOLVE_NO_SYMLINKS);
	if (fd < 0 && errno != ENOENT)
		return plan_part_differs(PLAN_PART_LOCK, NULL, err);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
			digest_fd_hex(fd, LIMIT_LOCK_FILE, sha256, NULL, &unread) < 0))
		return plan_part_differs(PLAN_PART_LOCK, NULL, err);
	return strcmp(sha256, table->sealed.lock_sha256) == 0 ? 0 : plan_part_differs(PLAN_PART_LOCK, NULL, err);
}

int entry_name_state(const struct steps *table, int fd, struct sbx_error *err)
{
	struct sbx_error unreadable = SBX_ERROR_INIT;
	const struct sealed_parts *sealed = &table->sealed;
	struct ws_file file;

	if (table->plan != STEPS_SEALED_PLAN)
		return entry_differs(table, PLAN_PART_STATE, "the state", err);
	if (fd < 0 || ws_file_read(fd, WS_FILE_STORED, SBX_PROTOCOL, &file, &unreadable) < 0)
		return plan_part_differs(PLAN_PART_STATE, "it cannot be read", err);
	if (strcmp(file.lineage, sealed->lineage) != 0)
		return plan_part_differs(PLAN_PART_LINEAGE, NULL, err);
	return plan_part_differs(file.serial != sealed->serial ? PLAN_PART_SERIAL : PLAN_PART_STATE, NULL, err);
}
