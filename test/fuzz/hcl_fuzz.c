/* What an agent may have written of Terraform's language: the tokens never leave the text and come to an end; what the
 * lock file's reader accepts is safe as a path; a configuration has a backend, and is looked through for programs,
 * whatever stands in it. */
#include <stdint.h>
#include <string.h>

#include "backend.h"
#include "fetch_list.h"
#include "hcl_lex.h"
#include "io.h"
#include "lock_file.h"
#include "module_calls.h"
#include "tree_wire.h"
#include "unshown.h"
#include "wire.h"

static void must(int good)
{
	if (!good)
		abort();
}

static void check_tokens(const char *text, size_t size)
{
	struct hcl_lex lex;
	enum hcl_token token = HCL_OTHER;
	const char *at, *before = text;
	size_t len;

	hcl_begin(&lex, text, size);
	while (token != HCL_END && hcl_next(&lex, &token, &at, &len) == 0) {
		must(at >= before && at + len <= text + size && lex.at <= text + size);
		must(token == HCL_END || lex.at > before || before == text);
		must(lex.depth == 0);
		before = lex.at;
	}
}

static void check_lock(const char *text, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv locked = jv_invalid();

	if (lock_file_read(text, size, &locked, &err) < 0) {
		must(strcmp(err.code, "lock_invalid") == 0);
		return;
	}
	must(json_length(locked) <= LIMIT_PROVIDERS);
	for (int i = 0, n = json_length(locked); i < n; i++) {
		auto_jv one = json_at(locked, i), hashes = json_array(one, "hashes");
		const char *source = json_str(one, "source"), *version = json_str(one, "version");
		must(source != NULL && version != NULL && jv_is_valid(hashes));
		must(source[0] != '/' && source[0] != '.' && strstr(source, "/.") == NULL &&
		     strstr(source, "//") == NULL);
		must(version[0] != '.' && strchr(version, '/') == NULL);
		must(strpbrk(source, "\"\n\\ :$") == NULL && strpbrk(version, "\"\n\\ :$") == NULL);
	}
}

/* A packed tree with this file alone. */
static int pack(const char *name, const uint8_t *data, size_t size, uint64_t *packed)
{
	auto_buf bytes = BUF_INIT((size_t)1 << 21);
	struct sbx_error err = SBX_ERROR_INIT;

	buf_add_str(&bytes, TREE_MAGIC, &err);
	wire_put_u32(&bytes, TREE_FILE, &err);
	wire_put_str(&bytes, name, &err);
	wire_put_u64(&bytes, size, &err);
	buf_add(&bytes, data, size, &err);
	wire_put_u32(&bytes, TREE_END, &err);
	*packed = bytes.len;
	return io_sealed_memfd("tree", bytes.data, bytes.len, &err);
}

static void check_backend(const char *name, const uint8_t *data, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv run = jv_object(), backend = jv_invalid(), places = jv_invalid();
	uint64_t packed;
	auto_fd tree = pack(name, data, size, &packed);

	must(tree >= 0 && unshown_find(tree, packed, ".", NULL, &places, &err) == 0);
	must(json_length(places) <= UNSHOWN_PLACES + 1);
	if (backend_of(run, tree, packed, &backend, &err) < 0) {
		must(strcmp(err.code, "backend_secret") == 0);
		return;
	}
	const char *type = json_str(backend, "type"), *config = json_str(backend, "config_sha256");
	must(type != NULL && type[0] != '\0' && (config == NULL || strlen(config) == 64));
	must(json_str(backend, "workspace") != NULL);
}

/* Which modules are called: told, or refused as a whole. */
static void check_calls(const char *name, const uint8_t *data, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv calls = jv_invalid();
	uint64_t packed;
	auto_fd tree = pack(name, data, size, &packed);

	if (module_calls(tree, packed, ".", &calls, &err) < 0) {
		must(strcmp(err.code, "module_unreadable") == 0 && !jv_is_valid(calls));
		return;
	}
	for (int i = 0, n = json_length(calls); i < n; i++) {
		auto_jv call = json_at(calls, i);
		const char *key = json_str(call, "key"), *source = json_str(call, "source");
		char place[MODULE_PLACE_SIZE];
		must(key != NULL && source != NULL && strstr(source, "${") == NULL);
		must(module_source(source, place) != MODULE_LOCAL && strstr(place, "/../") == NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Without a byte behind it, so that a sanitizer sees who reads one too many. */
	auto_free char *text = malloc(size > 0 ? size : 1);

	must(text != NULL);
	memcpy(text, data, size);
	check_tokens(text, size);
	check_lock(text, size);
	check_backend("main.tf", data, size);
	check_backend("main.tf.json", data, size);
	check_calls("main.tf", data, size);
	check_calls("main.tf.json", data, size);
	return 0;
}
