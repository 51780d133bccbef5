/* Blocks `module`, in Terraform's language and in JSON; and those of blocks `run` in files of tests. */
#include "module_calls.h"

#include <stdio.h>
#include <string.h>

#include "fetch_list.h"
#include "hcl_lex.h"
#include "limit.h"
#include "tf_file.h"
#include "tree.h"

enum { PATH_SIZE = 1024, KEY_SIZE = 1024, NESTED_MAX = 64 };

/* A directory that is to be looked at: the local modules that were found, and what is read. */
struct search {
	int tree_fd;
	uint64_t size;
	jv places; /* array of {dir, key}: the directory itself, then local modules */
	jv calls;
	/* Where we are. */
	const char *dir, *key;
	const char *file, *file_dir;
	unsigned files; /* of the directory at hand */
	const char *block; /* whose label is a call's name: "module", in a file of tests "run" */
};

static int unreadable(const struct search *s, const char *why, struct sbx_error *err)
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

/* One call; VERSION may be NULL. */
static int take_call(struct search *s, const char *name, const char *source, const char *version, struct sbx_error *err)
{
	char key[KEY_SIZE], path[PATH_SIZE], place[MODULE_PLACE_SIZE];

	if (json_length(s->calls) + json_length(s->places) >= LIMIT_MODULE_CALLS)
		return unreadable(s, "are more calls than there may be", err);
	if (snprintf(key, sizeof key, "%s%s%s", s->key, s->key[0] != '\0' ? "." : "", name) >= (int)sizeof key)
		return unreadable(s, "is a name that is too long", err);
	if (module_source(source, place) != MODULE_LOCAL) {
		jv call = json_set_str(json_set_str(jv_object(), "key", key), "source", source);
		if (version != NULL)
			call = json_set_str(call, "version", version);
		s->calls = json_append(take_jv(&s->calls), call);
		return 0;
	}
	if (join(s->dir, source, path) < 0)
		return unreadable(s, "is a local module outside the workspace", err);
	jv local = json_set_str(json_set_str(jv_object(), "dir", path), "key", key);
	s->places = json_append(take_jv(&s->places), local);
	return 0;
}

/* A text that means just what stands there. */
static int is_plain(const char *text, size_t len)
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
	    hcl_next(lex, token, &text, &len) < 0 || *token != HCL_STRING || !is_plain(text, len) || len >= size)
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

static int take_native(struct search *s, const char *text, size_t len, struct sbx_error *err)
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
			return unreadable(s, "is no configuration", err);
		if (token == HCL_END)
			return 0;
		if (token == HCL_OPEN) {
			if ((is_module && strcmp(s->block, "run") == 0 ? take_run(&lex, &block)
								       : take_block(&lex, is_module ? &block : NULL)) < 0)
				return unreadable(s, "is a block that cannot be read", err);
			if (is_module && block.has_source &&
			    take_call(s, block.name, block.source, block.version[0] != '\0' ? block.version : NULL, err) < 0)
				return -1;
			is_module = 0;
		} else if (at_start) {
			is_module = token == HCL_NAME && hcl_is(word, word_len, s->block);
			block = (struct block){.name = ""};
		} else if (is_module) {
			if ((token != HCL_STRING && token != HCL_NAME) || word_len >= sizeof block.name || !is_plain(word, word_len))
				return unreadable(s, "is a module without a name", err);
			memcpy(block.name, word, word_len);
			block.name[word_len] = '\0';
		}
		at_start = token == HCL_NEWLINE;
	}
}

static int take_json_body(struct search *s, const char *name, jv body, struct sbx_error *err)
{
	auto_jv source = json_get(body, "source"), version = json_get(body, "version");
	const char *text = json_text(source), *at_least = json_text(version);

	if (jv_get_kind(body) == JV_KIND_ARRAY) {
		for (int i = 0, n = json_length(body); i < n; i++) {
			auto_jv one = json_at(body, i);
			if (jv_get_kind(one) == JV_KIND_ARRAY)
				return unreadable(s, "is a module that cannot be read", err);
			if (take_json_body(s, name, one, err) < 0)
				return -1;
		}
		return 0;
	}
	if (jv_get_kind(body) == JV_KIND_OBJECT && !jv_is_valid(source))
		return 0;
	if (text == NULL || !is_plain(text, strlen(text)) || strlen(text) >= MODULE_PLACE_SIZE * 2 ||
	    (jv_is_valid(version) && (at_least == NULL || !is_plain(at_least, strlen(at_least)))))
		return unreadable(s, "is a module that cannot be read", err);
	return take_call(s, name, text, at_least, err);
}

/* "module": {NAME: {…}}, or a list of such. */
static int take_json_modules(struct search *s, jv modules, struct sbx_error *err)
{
	if (jv_get_kind(modules) == JV_KIND_ARRAY) {
		for (int i = 0, n = json_length(modules); i < n; i++) {
			auto_jv one = json_at(modules, i);
			if (jv_get_kind(one) != JV_KIND_OBJECT)
				return unreadable(s, "is a module that cannot be read", err);
			if (take_json_modules(s, one, err) < 0)
				return -1;
		}
		return 0;
	}
	if (jv_get_kind(modules) != JV_KIND_OBJECT)
		return unreadable(s, "is a module that cannot be read", err);
	for (int i = jv_object_iter(modules); jv_object_iter_valid(modules, i); i = jv_object_iter_next(modules, i)) {
		auto_jv name = jv_object_iter_key(modules, i), body = jv_object_iter_value(modules, i);
		if (json_text(name) == NULL)
			return unreadable(s, "is a module without a name", err);
		if (take_json_body(s, json_text(name), body, err) < 0)
			return -1;
	}
	return 0;
}

/* "run": {NAME: {"module": {…}}} of a file of tests, or a list of such. */
static int take_json_runs(struct search *s, jv runs, struct sbx_error *err)
{
	if (jv_get_kind(runs) == JV_KIND_ARRAY) {
		for (int i = 0, n = json_length(runs); i < n; i++) {
			auto_jv one = json_at(runs, i);
			if (jv_get_kind(one) == JV_KIND_ARRAY || take_json_runs(s, one, err) < 0)
				return unreadable(s, "is a run that cannot be read", err);
		}
		return 0;
	}
	if (jv_get_kind(runs) != JV_KIND_OBJECT)
		return unreadable(s, "is a run that cannot be read", err);
	for (int i = jv_object_iter(runs); jv_object_iter_valid(runs, i); i = jv_object_iter_next(runs, i)) {
		auto_jv name = jv_object_iter_key(runs, i), body = jv_object_iter_value(runs, i);
		auto_jv only = jv_get_kind(body) == JV_KIND_ARRAY && json_length(body) == 1 ? json_at(body, 0) : jv_copy(body);
		auto_jv module = json_get(only, "module");
		if (jv_get_kind(only) != JV_KIND_OBJECT || json_text(name) == NULL)
			return unreadable(s, "is a run that cannot be read", err);
		if (jv_is_valid(module) && take_json_body(s, json_text(name), module, err) < 0)
			return -1;
	}
	return 0;
}

static int take_json_file(struct search *s, jv file, struct sbx_error *err)
{
	auto_jv modules = json_get(file, s->block);

	if (jv_get_kind(file) != JV_KIND_OBJECT)
		return unreadable(s, "is no configuration", err);
	if (jv_is_valid(modules) && strcmp(s->block, "run") == 0)
		return take_json_runs(s, modules, err);
	return jv_is_valid(modules) ? take_json_modules(s, modules, err) : 0;
}

static int take_json(struct search *s, const char *text, size_t len, struct sbx_error *err)
{
	struct sbx_error no_json = SBX_ERROR_INIT;
	auto_jv file = jv_invalid();

	if (json_parse_foreign(text, len, TF_FILE_MAX, &file, &no_json) < 0)
		return unreadable(s, "is no configuration", err);
	if (jv_get_kind(file) != JV_KIND_ARRAY)
		return take_json_file(s, file, err);
	for (int i = 0, n = json_length(file); i < n; i++) {
		auto_jv part = json_at(file, i);
		if (take_json_file(s, part, err) < 0)
			return -1;
	}
	return 0;
}

/* Without bytes it is a symlink, or too large. */
static int take_file(void *context, const char *name, const char *bytes, size_t len, struct sbx_error *err)
{
	struct search *s = context;
	auto_free char *followed = NULL;

	s->file = name;
	s->files++;
	if (bytes == NULL && tf_file_follow(s->tree_fd, s->size, s->file_dir, name, &followed, &len, err) < 0)
		return -1;
	bytes = bytes != NULL ? bytes : followed;
	if (bytes == NULL)
		return unreadable(s, "is a link to no file, or more than somebody reads", err);
	return tf_file_is_json(name) ? take_json(s, bytes, len, err) : take_native(s, bytes, len, err);
}

/* The configuration in a directory, which is where the sources of local modules begin. */
static int take_dir(struct search *s, const char *dir, struct sbx_error *err)
{
	const struct tree_taker taker = {.wanted = tf_file_is, .take = take_file, .context = s, .max = TF_FILE_MAX};

	s->dir = s->file_dir = dir;
	s->block = "module";
	return tree_each(s->tree_fd, s->size, dir, &taker, err);
}

static int look_into(struct search *s, jv place, struct sbx_error *err)
{
	struct sbx_error circle = SBX_ERROR_INIT;
	char real[PATH_MAX];

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

/* Terraform's name for what run blocks of this file call: test.DIR.NAME (internal/configs, buildTestModules). */
static int take_test(void *context, const char *name, const char *bytes, size_t len, struct sbx_error *err)
{
	static const char native[] = ".tftest.hcl";
	struct search *s = context;
	size_t base = strlen(name), end = sizeof native - 1;
	char key[KEY_SIZE];

	if (base > end && strcmp(name + base - end, native) == 0)
		base -= end;
	snprintf(key, sizeof key, "test.%s%.*s", s->file_dir == s->dir ? "" : TF_FILE_TESTS ".", (int)base, name);
	s->key = key;
	return take_file(context, name, bytes, len, err);
}

/* The tests of the directory, which init installs modules for whoever runs them. */
static int take_tests(struct search *s, const char *dir, struct sbx_error *err)
{
	const struct tree_taker taker = {.wanted = tf_file_is_test, .take = take_test, .context = s, .max = TF_FILE_MAX};
	char tests[PATH_SIZE];

	s->dir = s->file_dir = dir;
	s->block = "run";
	if (tree_each(s->tree_fd, s->size, dir, &taker, err) < 0)
		return -1;
	if (join(dir, TF_FILE_TESTS, tests) < 0)
		return 0;
	s->file_dir = tests;
	return tree_each(s->tree_fd, s->size, tests, &taker, err);
}

int module_calls(int tree_fd, uint64_t size, const char *dir, jv *calls, struct sbx_error *err)
{
	struct search s = {.tree_fd = tree_fd, .size = size, .calls = jv_array()};

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
