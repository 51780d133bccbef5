/* The backend block of a directory, as Terraform reads it and as OpenTofu does. */
#include "backend.h"

#include <string.h>

#include "backend_read.h"
#include "digest.h"
#include "tf_file.h"
#include "tf_reader.h"
#include "tf_run.h"
#include "tree.h"

static int refuse_arguments(jv run, struct sbx_error *err)
{
	static const char option[] = "-backend-config";
	auto_jv steps = json_array(run, "steps");

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i), argv = json_array(step, "argv");
		for (int j = 0, m = json_length(argv); j < m; j++) {
			auto_jv word = json_at(argv, j);
			const char *text = json_text(word);
			if (text == NULL)
				continue;
			text += strncmp(text, "--", 2) == 0; /* terraform takes both */
			if (strncmp(text, option, strlen(option)) != 0)
				continue;
			sbx_fail(err, SBX_CONFIG, "backend_config",
				 "a tool that makes or runs plans gives -backend-config to a step");
			return sbx_hint(err, "write the settings into the backend block of the configuration, which "
					     "the plan's seal covers");
		}
	}
	return 0;
}

/* Terraform writes the backend's settings into the plan file, and an apply works with those alone: a secret there would
 * be kept with the plan, and it would be the plan's and not the apply's. */
static int refuse_secret(const char *name, struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "backend_secret",
		 "the configuration gives the backend a secret (%s), which would stand in the plan file", name);
	return sbx_hint(err, "take it out: for a kubernetes or s3 backend the tool has a credential as a file "
			     "(credentials: in its policy); "
			     "an http backend takes none");
}

/* What one of the two programs reads of the directory. */
struct view {
	struct backend_found found;
	enum tf_reader by;
	int is_tofu_alone; /* Terraform does not come here */
	jv tofu; /* borrowed: the names of OpenTofu's own files, an array */
	/* Where symlinks are followed. */
	int tree_fd;
	uint64_t size;
	const char *dir;
};

/* Without bytes it is a symlink, or too large to be any. */
static int take_file(void *context, const char *name, const char *bytes, size_t len, struct sbx_error *err)
{
	struct view *view = context;
	auto_free char *followed = NULL;

	if (tf_reader_both(tf_reader_of(name, view->tofu), view->by) == TF_READ_BY_NONE)
		return 0;
	if (bytes == NULL && tf_file_follow(view->tree_fd, view->size, view->dir, name, &followed, &len, err) < 0)
		return -1;
	backend_read(&view->found, name, bytes != NULL ? bytes : followed, len);
	return 0;
}

static int look(struct view *view, struct sbx_error *err)
{
	const struct tree_taker taker = {.wanted = tf_file_is, .take = take_file, .context = view, .max = TF_FILE_MAX};

	if (tree_each(view->tree_fd, view->size, view->dir, &taker, err) < 0)
		return -1;
	return view->found.secret != NULL ? refuse_secret(view->found.secret, err) : 0;
}

static int is_same(const struct backend_found *one, const struct backend_found *other)
{
	return strcmp(one->type, other->type) == 0 && one->settings.len == other->settings.len &&
	       memcmp(buf_str(&one->settings), buf_str(&other->settings), one->settings.len) == 0;
}

/* What both programs find goes to FOUND: a file's name "terraform" does not say which of the two it is. Where they find
 * different things, nobody can read which it will be; where Terraform finds no configuration at all, only OpenTofu can
 * work. */
static int look_twice(struct backend_found *found, const struct view *both, struct sbx_error *err)
{
	struct view by_tofu = *both, by_terraform = *both;
	struct sbx_error too_large = SBX_ERROR_INIT;

	by_tofu.by = TF_READ_BY_TOFU;
	by_terraform.by = TF_READ_BY_TERRAFORM;
	by_tofu.found = by_terraform.found = (struct backend_found)BACKEND_FOUND_NONE;
	int result = both->is_tofu_alone ? 0 : look(&by_terraform, err);
	if (result == 0 && (both->is_tofu_alone || json_length(both->tofu) > 0))
		result = look(&by_tofu, err);
	int is_one = !both->is_tofu_alone &&
		     (json_length(both->tofu) == 0 ||
		      (by_terraform.found.files > 0 && is_same(&by_terraform.found, &by_tofu.found)));
	struct backend_found *first = is_one ? &by_terraform.found : &by_tofu.found;
	struct backend_found *second = is_one ? &by_tofu.found : &by_terraform.found;
	if (result == 0) {
		*found = *first;
		first->settings = (struct buf)BUF_INIT(BACKEND_SETTINGS_MAX);
		found->unreadable |= second->unreadable;
		if (!is_one && second->files > 0) {
			found->unreadable = 1;
			found->blocks += second->blocks;
			if (buf_add(&found->settings, buf_str(&second->settings), second->settings.len, &too_large) < 0)
				buf_reset(&found->settings);
		}
	}
	buf_clear(&by_terraform.found.settings);
	buf_clear(&by_tofu.found.settings);
	return result;
}

int backend_of(jv run, int tree_fd, uint64_t size, jv *backend, struct sbx_error *err)
{
	auto_jv workspace = json_object(run, "workspace"), env = json_object(run, "env"), tofu = jv_invalid();
	const char *cwd = json_str(workspace, "cwd"), *named = json_str(env, "TF_WORKSPACE");
	struct backend_found found = BACKEND_FOUND_NONE;
	char sha256[DIGEST_HEX_SIZE];

	int result = refuse_arguments(run, err);
	if (result == 0 && tree_fd >= 0) {
		const char *dir = cwd != NULL ? cwd : ".";
		result = tf_reader_names(tree_fd, size, dir, &tofu, err);
		const struct view view = {.is_tofu_alone = tf_run_is_tofu(run), .tofu = tofu, .tree_fd = tree_fd, .size = size, .dir = dir};
		if (result == 0)
			result = look_twice(&found, &view, err);
	}
	if (result == 0) {
		const char *type = found.unreadable ? "unknown" : found.blocks > 0 ? found.type : "local";
		jv made = json_set_str(jv_object(), "type", type);
		digest_sha256_hex(buf_str(&found.settings), found.settings.len, sha256);
		if (found.blocks > 0)
			made = json_set_str(made, "config_sha256", sha256);
		*backend = json_set_str(made, "workspace", named != NULL && named[0] != '\0' ? named : "default");
	}
	buf_clear(&found.settings);
	return result;
}
