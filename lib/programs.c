/* Programs and what stands beside them. */
#include "programs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "program.h"

struct digests {
	const struct state *state; /* NULL: nothing is digested */
	jv programs, mounts;
};

static int bad_run(struct sbx_error *err)
{
	return sbx_fail(err, SBX_PROTOCOL, "bad_call", "policy.run names its programs otherwise than sbx-policy does");
}

/* One that is not there is the driver's to tell; who may write it is no question, since nothing of it is started. */
static int add_mount(struct digests *digests, const char *path, struct sbx_error *err)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char sha256[DIGEST_HEX_SIZE];
	struct stat st;

	if (json_has(digests->mounts, path) || fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (program_digest_fd(digests->state, fd, path, sha256, err) < 0)
		return -1;
	digests->mounts = json_set_str(take_jv(&digests->mounts), path, sha256);
	return 0;
}

static int add_program(struct digests *digests, const char *name, jv program, struct sbx_error *err)
{
	auto_jv mounts = json_array(program, "mounts");
	const char *path = json_str(program, "path");
	char sha256[DIGEST_HEX_SIZE];

	if (name == NULL || path == NULL)
		return bad_run(err);
	if (digests->state == NULL)
		return program_check(path, err);
	if (program_digest(digests->state, path, sha256, err) < 0)
		return -1;
	digests->programs = json_set_str(take_jv(&digests->programs), name, sha256);
	for (int i = 0, n = json_length(mounts); i < n; i++) {
		auto_jv mount = json_at(mounts, i);
		if (json_text(mount) == NULL)
			return bad_run(err);
		if (add_mount(digests, json_text(mount), err) < 0)
			return -1;
	}
	return 0;
}

static int each_program(struct digests *digests, jv run, struct sbx_error *err)
{
	auto_jv programs = json_object(run, "programs");

	if (!jv_is_valid(programs))
		return bad_run(err);
	for (int i = jv_object_iter(programs); jv_object_iter_valid(programs, i);
	     i = jv_object_iter_next(programs, i)) {
		auto_jv name = jv_object_iter_key(programs, i), program = jv_object_iter_value(programs, i);
		if (add_program(digests, json_text(name), program, err) < 0)
			return -1;
	}
	return 0;
}

int programs_check(jv run, struct sbx_error *err)
{
	struct digests none = {.programs = jv_invalid(), .mounts = jv_invalid()};

	return each_program(&none, run, err);
}

int programs_digest(const struct state *state, jv run, jv *programs, jv *mounts, struct sbx_error *err)
{
	struct digests digests = {.state = state, .programs = jv_object(), .mounts = jv_object()};

	if (each_program(&digests, run, err) < 0) {
		jv_free(digests.programs);
		jv_free(digests.mounts);
		return -1;
	}
	*programs = digests.programs;
	*mounts = digests.mounts;
	return 0;
}
