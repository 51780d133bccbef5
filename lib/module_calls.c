/* Blocks `module` in Terraform's language, and those of blocks `run` in files of tests. */
#include "module_calls.h"

#include <stdio.h>
#include <string.h>

#include "fetch_list.h"
#include "hcl_lex.h"
#include "limit.h"
#include "module_calls_impl.h"
#include "tf_file.h"
#include "tree.h"

enum { PATH_SIZE = 1024, KEY_SIZE = 1024, NESTED_MAX = 64 };

int module_unreadable(const struct module_search *s, const char *why, struct sbx_error *err)
{
	char quoted[SBX_QUOTE_SIZE];
	const char *file = s->file != NULL ? s->file : s->dir;

	sbx_fail(err, SBX_BAD_REQUEST, "module_unreadable", "which modules are called cannot be told: in %s %s",
		 sbx_quote(quoted, file, strlen(file)), why);
	return sbx_hint(err, "a module's source is a plain text, as in source = \"git::https://git.example.com/net.git?ref=v1\"");
}

/* SOURCE below DIR without "." and ".."; -1 when it leads out of the tree. */
static int join(const char *dir, const char *source, char out[PATH_SIZE])
{
	size_t len = strcmp(dir, ".") == 0 ? 0 : strlen(dir);

	if (len >= PATH_SIZE)
		return -1;
	memcpy(out, dir, len);
	out[len] = '\0';
	for (const char *p = source; *p != '\0'; p += strspn(p, "/")) {
		size_t part = strcspn(p, "/");
		if (part == 2 && p[0] == '.' && p[1] == '.') {
			if (len == 0)
				return -1;
			char *slash = strrchr(out, '/');
			len = slash != NULL ? (size_t)(slash - out) : 0;
		} else if (part != 1 || p[0] != '.') {
			if (len + 1 + part >= PATH_SIZE)
				return -1;
			if (len > 0)
				out[len++] = '/';
			memcpy(out + len, p, part);
			len += part;
		}
		out[len] = '\0';
		p += part;
	}
	if (len == 0)
		memcpy(out, ".", sizeof ".");
	return 0;
}

int module_call(struct module_search *s, const char *name, const char *source, const char *version, struct sbx_error *err)
{
	char key[KEY_SIZE], path[PATH_SIZE], place[MODULE_PLACE_SIZE];

	if (json_length(s->calls) + json_length(s->places) >= LIMIT_MODULE_CALLS)
		return module_unreadable(s, "are more calls than there may be", err);
	if (snprintf(key, sizeof key, "%s%s%s", s->key, s->key[0] != '\0' ? "." : "", name) >= (int)sizeof key)
		return module_unreadable(s, "is a name that is too long", err);
	if (module_source(source, place) != MODULE_LOCAL) {
		jv call = json_set_str(json_set_str(jv_object(), "key", key), "source", source);
		if (version != NULL)
			call = json_set_str(call, "version", version);
		if (s->reader != TF_READ_BY_BOTH)
			call = json_set_str(call, "only", s->reader == TF_READ_BY_TOFU ? MODULE_ONLY_TOFU : MODULE_ONLY_TERRAFORM);
		s->calls = json_append(take_jv(&s->calls), call);
		return 0;
	}
	if (join(s->dir, source, path) < 0)
		return module_unreadable(s, "is a local module outside the workspace", err);
	jv local = json_set_str(json_set_str(jv_object(), "dir", path), "key", key);
	local = json_set(local, "reader", jv_number(s->reader));
	s->places = json_append(take_jv(&s->places), local);
	return 0;
}

int module_is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\\' || text[i] == '\0' || ((text[i] == '$' || text[i] == '%') && i + 1 < len && text[i + 1] == '{'))
			return 0;
	return 1;
}

struct block {
	char name[256], source[MODULE_PLACE_SIZE * 2], version[256];
	int has_source;
};

/* The value behind "=" into OUT, and the end of its line. */
static int take_text(struct hcl_lex *lex, char *out, size_t size, enum hcl_token *token)
{
	const char *text;
	size_t len;

	if (hcl_next(lex, token, &text, &len) < 0 || *token != HCL_OTHER || !hcl_is(text, len, "=") ||
	    hcl_next(lex, token, &text, &len) < 0 || *token != HCL_STRING || !module_is_plain(text, len) || len >= size)
		return -1;
	memcpy(out, text, len);
	out[len] = '\0';
	if (hcl_next(lex, token, &text, &len) < 0)
		return -1;
	return *token == HCL_NEWLINE || *token == HCL_CLOSE ? 0 : -1;
}

/* A block to its closing brace, behind the opening one; BLOCK NULL: whatever it holds. */
static int take_block(struct hcl_lex *lex, struct block *block)
{
	enum hcl_token token;
	const char *text;
	size_t len;
	unsigned open = 1;
	int at_start = 1;

	for (;;) {
		if (hcl_next(lex, &token, &text, &len) < 0 || token == HCL_END || open > NESTED_MAX)
			return -1;
		if (block != NULL && open == 1 && at_start && token == HCL_NAME) {
			int is_source = hcl_is(text, len, "source");
			if (is_source && take_text(lex, block->source, sizeof block->source, &token) < 0)
				return -1;
			if (!is_source && hcl_is(text, len, "version") &&
			    take_text(lex, block->version, sizeof block->version, &token) < 0)
				return -1;
			block->has_source |= is_source;
		}
		open += token == HCL_OPEN;
		open -= token == HCL_CLOSE;
		if (open == 0)
			return 0;
		at_start = token == HCL_NEWLINE || token == HCL_OPEN;
	}
}

/* A block `run` of a file of tests, behind its opening brace: the module that it runs, if it names one. */
static int take_run(struct hcl_lex *lex, struct block *block)
{
	enum hcl_token token;
	const char *text;
	size_t len;
	unsigned open = 1;
	int at_start = 1, is_module = 0;

	while (open > 0) {
		if (hcl_next(lex, &token, &text, &len) < 0 || token == HCL_END || open > NESTED_MAX)
			return -1;
		if (token == HCL_OPEN && is_module) {
			if (take_block(lex, block) < 0)
				return -1;
			token = HCL_OTHER;
		}
		open += token == HCL_OPEN;
		open -= token == HCL_CLOSE;
		is_module = open == 1 && at_start && token == HCL_NAME && hcl_is(text, len, "module");
		at_start = token == HCL_NEWLINE || token == HCL_OPEN;
	}
	return 0;
}

static int take_native(struct module_search *s, const char *text, size_t len, struct sbx_error *err)
{
	struct block block = {.name = ""};
	struct hcl_lex lex;
	enum hcl_token token;
	const char *word;
	size_t word_len;
	int at_start = 1, is_module = 0;

	hcl_begin(&lex, text, len);
	for (;;) {
		if (hcl_next(&lex, &token, &word, &word_len) < 0)
			return module_unreadable(s, "is no configuration", err);
		if (token == HCL_END)
			return 0;
		if (token == HCL_OPEN) {
			if ((is_module && strcmp(s->block, "run") == 0 ? take_run(&lex, &block)
								       : take_block(&lex, is_module ? &block : NULL)) < 0)
				return module_unreadable(s, "is a block that cannot be read", err);
			if (is_module && block.has_source &&
			    module_call(s, block.name, block.source, block.version[0] != '\0' ? block.version : NULL, err) < 0)
				return -1;
			is_module = 0;
		} else if (at_start) {
			is_module = token == HCL_NAME && hcl_is(word, word_len, s->block);
			block = (struct block){.name = ""};
		} else if (is_module) {
			if ((token != HCL_STRING && token != HCL_NAME) || word_len >= sizeof block.name || !module_is_plain(word, word_len))
				return module_unreadable(s, "is a module without a name", err);
			memcpy(block.name, word, word_len);
			block.name[word_len] = '\0';
		}
		at_start = token == HCL_NEWLINE;
	}
}

/* Without bytes it is a symlink, or too large. */
static int take_file(void *context, const char *name, const char *bytes, size_t len, struct sbx_error *err)
{
	struct module_search *s = context;
	auto_free char *followed = NULL;

	s->file = name;
	s->files++;
	s->reader = tf_reader_both(tf_reader_of(name, s->tofu), s->place_reader);
	if (s->reader == TF_READ_BY_NONE)
		return 0;
	if (bytes == NULL && tf_file_follow(s->tree_fd, s->size, s->file_dir, name, &followed, &len, err) < 0)
		return -1;
	bytes = bytes != NULL ? bytes : followed;
	if (bytes == NULL)
		return module_unreadable(s, "is a link to no file, or more than somebody reads", err);
	return tf_file_is_json(name) ? module_json(s, bytes, len, err) : take_native(s, bytes, len, err);
}

/* Every file of a directory that TAKER wants. */
static int take_each(struct module_search *s, const char *dir, const struct tree_taker *taker, struct sbx_error *err)
{
	auto_jv tofu = jv_invalid();

	if (tf_reader_names(s->tree_fd, s->size, dir, &tofu, err) < 0)
		return -1;
	s->tofu = tofu;
	return tree_each(s->tree_fd, s->size, dir, taker, err);
}

/* The configuration in a directory, which is where the sources of local modules begin. */
static int take_dir(struct module_search *s, const char *dir, struct sbx_error *err)
{
	const struct tree_taker taker = {.wanted = tf_file_is, .take = take_file, .context = s, .max = TF_FILE_MAX};

	s->dir = s->file_dir = dir;
	s->block = "module";
	return take_each(s, dir, &taker, err);
}

static int look_into(struct module_search *s, jv place, struct sbx_error *err)
{
	struct sbx_error circle = SBX_ERROR_INIT;
	char real[PATH_MAX];

	int64_t reader = TF_READ_BY_BOTH;

	json_int(place, "reader", &reader);
	s->place_reader = (enum tf_reader)reader;
	s->key = json_str(place, "key");
	s->file = NULL;
	s->files = 0;
	if (take_dir(s, json_str(place, "dir"), err) < 0)
		return -1;
	/* Behind a symlink there is nothing in a packed tree. Terraform goes there, and on from there. */
	if (s->files > 0 || tree_follow(s->tree_fd, s->size, s->dir, real, &circle) != 1)
		return 0;
	return take_dir(s, real[0] != '\0' ? real : ".", err);
}

/* The name that both programs have for what run blocks of this file call: test.DIR.NAME, where one ending is taken away
 * and no other (internal/configs, buildTestModules). */
static int take_test(void *context, const char *name, const char *bytes, size_t len, struct sbx_error *err)
{
	static const char native[] = ".tftest.hcl";
	struct module_search *s = context;
	size_t base = strlen(name), end = sizeof native - 1;
	char key[KEY_SIZE];

	if (base > end && strcmp(name + base - end, native) == 0)
		base -= end;
	snprintf(key, sizeof key, "test.%s%.*s", s->file_dir == s->dir ? "" : TF_FILE_TESTS ".", (int)base, name);
	s->key = key;
	return take_file(context, name, bytes, len, err);
}

/* The tests of the directory, which init installs modules for whoever runs them. */
static int take_tests(struct module_search *s, const char *dir, struct sbx_error *err)
{
	const struct tree_taker taker = {.wanted = tf_file_is_test, .take = take_test, .context = s, .max = TF_FILE_MAX};
	char tests[PATH_SIZE];

	s->dir = s->file_dir = dir;
	s->block = "run";
	if (take_each(s, dir, &taker, err) < 0)
		return -1;
	if (join(dir, TF_FILE_TESTS, tests) < 0)
		return 0;
	s->file_dir = tests;
	return take_each(s, tests, &taker, err);
}

int module_calls(int tree_fd, uint64_t size, const char *dir, jv *calls, struct sbx_error *err)
{
	struct module_search s = {.tree_fd = tree_fd, .size = size, .calls = jv_array()};

	s.places = json_append(jv_array(), json_set_str(json_set_str(jv_object(), "dir", dir), "key", ""));
	int result = take_tests(&s, dir, err);
	/* A module that calls itself ends at the limit. */
	for (int i = 0; result == 0 && i < json_length(s.places); i++) {
		auto_jv place = json_at(s.places, i);
		result = look_into(&s, place, err);
	}
	jv_free(s.places);
	if (result < 0)
		jv_free(s.calls);
	else
		*calls = jv_sort(s.calls, jv_copy(s.calls)); /* whichever file it stands in */
	return result;
}
