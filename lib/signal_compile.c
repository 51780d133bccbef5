/* From the files of a policy to a table. */
#include "signal_compile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "signal_compile_impl.h"
#include "yaml_jv.h"

static const char directory[] = "signals/";

struct files {
	struct signal_file *files; /* owned */
	size_t count;
};

static void clear_files(struct files *files)
{
	for (size_t i = 0; i < files->count; i++)
		jv_free(files->files[i].root);
	free(files->files);
}

static int parse_files(const struct policy_files *policy, struct files *out, struct sbx_error *err)
{
	out->files = calloc(policy->count + 1, sizeof *out->files);
	if (out->files == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	for (size_t i = 0; i < policy->count; i++) {
		const struct policy_file *file = &policy->file[i];
		jv root = jv_invalid();
		if (strncmp(file->name, directory, sizeof directory - 1) != 0)
			continue;
		if (yaml_jv_parse(file->text, file->len, file->path, &root, err) < 0)
			return -1;
		out->files[out->count++] = (struct signal_file){
			.name = file->name,
			.schema = {.file = file->path,
				   .text = file->text,
				   .len = file->len,
				   .err = err},
			.root = root,
		};
	}
	return 0;
}

static int make_block(const struct files *files, struct buf *block, struct sbx_error *err)
{
	struct signal_draft draft;
	int result = 0;

	draft_init(&draft);
	for (size_t i = 0; result == 0 && i < files->count; i++)
		result = compile_file(&files->files[i], &draft);
	if (result == 0)
		result = draft_finish(&draft, block, err);
	draft_clear(&draft);
	return result;
}

/* The examples of FILE, whose first rule is *NUMBER in the table. */
static int run_file(const struct signal_file *file, struct signal_matcher *matcher,
		    uint32_t *number, struct signal_reporter *reporter)
{
	const struct yaml_at at = {.key = "signals"};
	auto_jv rules = json_array(file->root, "signals");

	reporter->file = file->name;
	for (int i = 0, n = json_length(rules); i < n; i++) {
		const struct yaml_at here = {.up = &at, .index = i};
		auto_jv rule = json_at(rules, i);
		if (run_examples(&file->schema, &here, rule, matcher, (*number)++, reporter) < 0)
			return -1;
	}
	return 0;
}

static int run_all(const struct files *files, const struct buf *block,
		   struct signal_reporter *reporter, struct sbx_error *err)
{
	struct signal_table table = {.block = NULL};
	uint32_t number = 0;
	int result = 0;

	if (signal_table_use(block->data, block->len, &table, err) < 0)
		return -1;
	struct signal_matcher *matcher = signal_matcher_new(&table, err);
	if (matcher == NULL)
		return -1;
	for (size_t i = 0; result == 0 && i < files->count; i++)
		result = run_file(&files->files[i], matcher, &number, reporter);
	signal_matcher_free(matcher);
	return result;
}

/* POLICY holds the text of its signals. */
static int compile_texts(const struct policy_files *policy, struct buf *block, struct signal_reporter *reporter,
		   struct sbx_error *err)
{
	struct files files = {.count = 0};
	int result = parse_files(policy, &files, err);

	if (result == 0)
		result = make_block(&files, block, err);
	if (result == 0)
		result = run_all(&files, block, reporter, err);
	clear_files(&files);
	return result;
}

/* The texts behind the digests of POLICY, which must still be the same. */
static int read_texts(const struct policy_files *policy, struct policy_files *texts, struct sbx_error *err)
{
	auto_free char *dir = NULL;

	if (asprintf(&dir, "%s/signals", policy->dir) < 0) {
		dir = NULL;
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	}
	if (policy_files_read_signals(dir, IO_TRUSTED, texts, err) < 0)
		return -1;
	if (strcmp(texts->signals_sha256, policy->signals_sha256) == 0)
		return 0;
	sbx_fail(err, SBX_CONFIG, "policy_invalid", "the files of signals/ changed while they were read");
	return sbx_hint(err, "ask again");
}

static int compile(const struct policy_files *policy, struct buf *block, struct signal_reporter *reporter,
		   struct sbx_error *err)
{
	auto_policy_files texts = {.count = 0};

	if (policy->dir == NULL)
		return compile_texts(policy, block, reporter, err);
	if (read_texts(policy, &texts, err) < 0)
		return -1;
	return compile_texts(&texts, block, reporter, err);
}

int signal_compile(const struct policy_files *policy, struct buf *out, struct sbx_error *err)
{
	struct signal_reporter reporter = {.each = NULL};
	auto_buf block = BUF_INIT(SIGNAL_TABLE_MAX);

	if (compile(policy, &block, &reporter, err) < 0)
		return -1;
	return buf_add(out, block.data, block.len, err);
}

int signal_check(const struct policy_files *policy,
		 void (*each)(void *context, const char *name, int number, const char *problem),
		 void *context, int *failed, struct sbx_error *err)
{
	struct signal_reporter reporter = {.each = each, .context = context};
	auto_buf block = BUF_INIT(SIGNAL_TABLE_MAX);

	if (compile(policy, &block, &reporter, err) < 0)
		return -1;
	*failed = reporter.failed;
	return 0;
}

int signal_compile_kept(const struct policy_files *policy, const struct state *state,
			struct sbx_error *err)
{
	auto_fd cache = state_dir(state, "cache", err);
	auto_fd dir = cache < 0 ? -1 : io_open_dir(cache, policy->sha256, IO_CREATE, err);
	auto_buf block = BUF_INIT(SIGNAL_TABLE_MAX);
	struct stat st;

	if (dir < 0)
		return -1;
	if (fstatat(dir, SIGNAL_CACHE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (signal_compile(policy, &block, err) < 0)
		return -1;
	return io_replace_file(dir, SIGNAL_CACHE_NAME, block.data, block.len, err);
}

/* Replaced as a whole, so that nobody reads half a table. */
static int put_file(const char *path, const struct buf *block, struct sbx_error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
	auto_free char *dir = slash == NULL ? strdup(".") : strndup(path, (size_t)(name - path));

	if (dir == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	auto_fd fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create",
				      "cannot open the directory %s", dir);
	return io_replace_file(fd, name, block->data, block->len, err);
}

int signal_compile_directory(const char *dir, const char *output, struct sbx_error *err)
{
	auto_policy_files policy = {.count = 0};
	auto_buf block = BUF_INIT(SIGNAL_TABLE_MAX);

	if (policy_files_read_signals(dir, 0, &policy, err) < 0 || signal_compile(&policy, &block, err) < 0)
		return -1;
	return put_file(output, &block, err);
}
