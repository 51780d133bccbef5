/* Reading the policy directory: every file is read and hashed, so that the digest in the call covers what decided; only
 * what a call needs is parsed. */
#include "policy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "digest.h"
#include "io.h"
#include "policy_impl.h"
#include "wire.h"
#include "yaml_jv.h"

static const size_t files_max = 512;		  /* tools and signals together */
static const size_t bytes_max = (size_t)16 << 20; /* of all files */
static const char suffix[] = ".yaml";

void policy_clear(struct policy *policy)
{
	for (size_t i = 0; i < policy->file_count; i++) {
		free(policy->files[i].name);
		free(policy->files[i].path);
		free(policy->files[i].text);
	}
	free(policy->files);
	free(policy->dir);
	jv_free(policy->root);
	jv_free(policy->tools);
	*policy = (struct policy){.root = jv_invalid(), .tools = jv_invalid()};
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

static int add_file(struct policy *policy, int dirfd, const struct place *at, const char *name, struct manner how,
		    struct sbx_error *err)
{
	if (policy->file_count >= files_max)
		return sbx_fail(err, SBX_CONFIG, "policy_invalid", "the policy directory holds more than %zu files",
				files_max);
	struct policy_file *files = reallocarray(policy->files, policy->file_count + 1, sizeof *files);
	if (files == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	policy->files = files;
	struct policy_file *file = &files[policy->file_count++];
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

static int read_entries(struct policy *policy, DIR *dir, const struct place *at, struct manner how,
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
		if (add_file(policy, dirfd(dir), at, entry->d_name, how, err) < 0)
			return -1;
	}
}

/* The files of the directory FD, which it takes. */
static int read_files(struct policy *policy, int *fd, const struct place *at, struct manner how, struct sbx_error *err)
{
	DIR *dir = fdopendir(*fd);

	if (dir == NULL)
		return sbx_fail_errno(err, SBX_OS, "no_memory", "cannot read the directory %s", at->path);
	take_fd(fd);
	int result = read_entries(policy, dir, at, how, err);
	closedir(dir);
	return result;
}

static int read_directory(struct policy *policy, int dirfd, const char *directory, struct manner how,
			  struct sbx_error *err)
{
	auto_fd fd = openat(dirfd, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_free char *path = NULL;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (asprintf(&path, "%s/%s", policy->dir, directory) < 0) {
		path = NULL;
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	}
	if (fd < 0)
		return sbx_fail_errno(err, SBX_CONFIG, "unsafe_file", "cannot open the directory %s", path);
	if (io_check_trust(fd, path, IO_TRUSTED, err) < 0)
		return as_config(err);
	return read_files(policy, &fd, &(struct place){directory, path}, how, err);
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
static int hash_files(const struct policy *policy, enum hashed which, char hex[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	unsigned char sum[DIGEST_SIZE];
	struct digest d;

	digest_init(&d);
	for (size_t i = 0; i < policy->file_count; i++) {
		const struct policy_file *file = &policy->files[i];
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

static int digest_policy(struct policy *policy, struct sbx_error *err)
{
	size_t total = 0;

	policy->signal_count = 0;

	if (policy->file_count > 0)
		qsort(policy->files, policy->file_count, sizeof *policy->files, by_name);
	for (size_t i = 0; i < policy->file_count; i++) {
		total += policy->files[i].len;
		policy->signal_count += (size_t)is_signal_file(&policy->files[i]);
	}
	if (total > bytes_max)
		return sbx_fail(err, SBX_CONFIG, "policy_invalid", "the policy's files hold more than %zu bytes",
				bytes_max);
	return hash_files(policy, HASH_ALL, policy->sha256, err) < 0 ||
			       hash_files(policy, HASH_SIGNALS, policy->signals_sha256, err) < 0 ||
			       hash_files(policy, HASH_OTHERS, policy->tools_sha256, err) < 0
		       ? -1
		       : 0;
}

static const struct policy_file *find_file(const struct policy *policy, const char *name)
{
	struct policy_file wanted = {.name = (char *)(uintptr_t)name};

	return bsearch(&wanted, policy->files, policy->file_count, sizeof *policy->files, by_name);
}

int policy_read(const char *dir, enum policy_part part, struct policy *policy, struct sbx_error *err)
{
	*policy = (struct policy){.root = jv_invalid(), .tools = jv_object()};
	auto_fd fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		sbx_fail_errno(err, SBX_CONFIG, "missing_file", "cannot open the policy directory %s", dir);
		return sbx_hint(err, "set \"policy\" in sbx.yaml to a directory with policy.yaml and tools/");
	}
	if (io_check_trust(fd, dir, IO_TRUSTED, err) < 0)
		return as_config(err);
	policy->dir = strdup(dir);
	if (policy->dir == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (add_file(policy, fd, &(struct place){"", dir}, "policy.yaml", trusted_text, err) < 0 ||
	    read_directory(policy, fd, "tools", trusted_text, err) < 0)
		return -1;
	if (part == POLICY_WHOLE && read_directory(policy, fd, "signals", trusted_digest, err) < 0)
		return -1;
	policy->has_signals = faccessat(fd, "signals", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	return digest_policy(policy, err);
}

int policy_read_signals(const char *dir, unsigned flags, struct policy *policy, struct sbx_error *err)
{
	*policy = (struct policy){.root = jv_invalid(), .tools = jv_object()};
	auto_fd fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && flags != 0)
		return digest_policy(policy, err);
	if (fd < 0)
		return sbx_fail_errno(err, SBX_CONFIG, "missing_file", "cannot open the directory %s", dir);
	if (flags != 0 && io_check_trust(fd, dir, flags, err) < 0)
		return as_config(err);
	if (read_files(policy, &fd, &(struct place){"signals", dir}, (struct manner){READ_TEXT, flags}, err) < 0)
		return -1;
	return digest_policy(policy, err);
}

int policy_load(const char *dir, struct policy *policy, struct sbx_error *err)
{
	if (policy_read(dir, POLICY_WHOLE, policy, err) < 0)
		return -1;
	const struct policy_file *file = find_file(policy, "policy.yaml");
	auto_jv root = jv_invalid();
	if (yaml_jv_parse(file->text, file->len, file->path, &root, err) < 0)
		return -1;
	const struct schema s = {.file = file->path, .text = file->text, .len = file->len, .err = err};
	if (root_check(&s, root) < 0)
		return -1;
	policy->root = take_jv(&root);
	return 0;
}

/* Without rules a plan that opens, widens or unprotects something counts as safe: whoever wants that says so with an
 * empty directory, so that one which was forgotten is not taken for it. */
static int check_signals(const struct policy *policy, const char *name, jv tool, struct sbx_error *err)
{
	if (policy->has_signals || !steps_analyse(tool))
		return 0;
	sbx_fail(err, SBX_CONFIG, "signals_missing", "there is no directory %s/signals, by which %s judges its plans",
		 policy->dir, name);
	return sbx_hint(err, "copy PREFIX/share/sbx/policy/signals there; to judge by structure alone make an empty one");
}

int policy_tool(struct policy *policy, const char *name, jv *tool, struct sbx_error *err)
{
	char path[128];

	*tool = json_object(policy->tools, name);
	if (jv_is_valid(*tool))
		return 1;
	if (!schema_is_word(name))
		return 0;
	snprintf(path, sizeof path, "tools/%s%s", name, suffix);
	const struct policy_file *file = find_file(policy, path);
	if (file == NULL)
		return 0;
	auto_jv value = jv_invalid();
	if (yaml_jv_parse(file->text, file->len, file->path, &value, err) < 0)
		return -1;
	const struct schema s = {.file = file->path, .text = file->text, .len = file->len, .err = err};
	if (tool_check(&s, policy->root, name, value) < 0 || check_signals(policy, name, value, err) < 0)
		return -1;
	policy->tools = json_set(take_jv(&policy->tools), name, jv_copy(value));
	*tool = take_jv(&value);
	return 1;
}

/* Compiling costs some 20 ms for each expression, so it is done with the tests and not for each call. */
static int compile_rules(const struct policy_file *file, jv tool, struct sbx_error *err)
{
	const struct schema s = {.file = file->path, .text = file->text, .len = file->len, .err = err};
	auto_jv rules = json_array(tool, "when");
	struct yaml_at at = {.key = "when"};

	for (int i = 0, n = json_length(rules); i < n; i++) {
		auto_jv rule = json_at(rules, i);
		struct yaml_at here = {.up = &at, .index = i}, at_if = {.up = &here, .key = "if"};
		struct sbx_error refused = SBX_ERROR_INIT;
		if (when_compiles(json_str(rule, "if"), &refused) == 0)
			continue;
		if (refused.class != SBX_CONFIG) {
			*err = refused;
			return -1;
		}
		return schema_fail(&s, &at_if, "see the section on when: in sbx-policy(5)",
				   "this jq expression does not compile");
	}
	return 0;
}

int policy_load_tools(struct policy *policy, enum policy_depth depth, struct sbx_error *err)
{
	for (size_t i = 0; i < policy->file_count; i++) {
		const struct policy_file *file = &policy->files[i];
		char name[128];
		if (strncmp(file->name, "tools/", 6) != 0)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)(strlen(file->name) - 6 - (sizeof suffix - 1)),
			 file->name + 6);
		auto_jv tool = jv_invalid();
		int found = policy_tool(policy, name, &tool, err);
		if (found < 0)
			return -1;
		if (found == 0) {
			sbx_fail(err, SBX_CONFIG, "policy_invalid", "%s: the file's name is no name of a tool",
				 file->path);
			return sbx_hint(err, "a tool's name is a lower-case letter, then letters, digits and _");
		}
		if (depth == POLICY_WITH_RULES && compile_rules(file, tool, err) < 0)
			return -1;
	}
	return 0;
}
