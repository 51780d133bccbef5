/* Blocks in JSON (HCL's JSON syntax): members of objects, at whatever depth. */
#include <string.h>

#include "setting.h"
#include "unshown_impl.h"

static const size_t file_max = (size_t)1 << 20;

/* What a member NAME with VALUE says: 1 to go on below it. */
typedef int name_fn(struct unshown *u, const char *name, jv value, void *context);

/* Each member of VALUE and of what is below it; strings that are no text of names cannot be read. Depth is bounded by
 * that of a document. */
static int each_name(struct unshown *u, jv value, name_fn *take, void *context)
{
	if (jv_get_kind(value) == JV_KIND_ARRAY) {
		for (int i = 0, n = json_length(value); i < n; i++) {
			auto_jv element = json_at(value, i);
			if (each_name(u, element, take, context) < 0)
				return -1;
		}
		return 0;
	}
	if (jv_get_kind(value) != JV_KIND_OBJECT)
		return 0;
	for (int i = jv_object_iter(value); jv_object_iter_valid(value, i); i = jv_object_iter_next(value, i)) {
		auto_jv key = jv_object_iter_key(value, i), below = jv_object_iter_value(value, i);
		const char *name = json_text(key);
		if (name == NULL)
			return -1;
		if (take(u, name, below, context) && each_name(u, below, take, context) < 0)
			return -1;
	}
	return 0;
}

static int take_removed(struct unshown *u, const char *name, jv value, void *context)
{
	(void)value;
	(void)context;
	if (strcmp(name, "provisioner") == 0)
		unshown_add(u, UNSHOWN_REMOVED);
	return 1;
}

static int starts_program(const char *name, jv value)
{
	enum setting setting = setting_of(name, strlen(name));
	const char *text = json_text(value);

	return setting == SETTING_PROGRAM ||
	       (setting == SETTING_FILE && !(text != NULL && setting_is_ours(text, strlen(text))));
}

static int take_setting(struct unshown *u, const char *name, jv value, void *what)
{
	if (starts_program(name, value))
		unshown_add(u, what);
	return strcmp(name, "required_providers") != 0;
}

static int take_provider(struct unshown *u, const char *name, jv value, void *context)
{
	static char what[] = UNSHOWN_PROVIDER;

	(void)context;
	if (strcmp(name, "dynamic") != 0)
		return 1;
	if (each_name(u, value, take_setting, what) < 0)
		unshown_add(u, what);
	return 0;
}

static int take_module(struct unshown *u, const char *name, jv value, void *context)
{
	const char *source = json_text(value);

	(void)context;
	if (strcmp(name, "source") == 0)
		unshown_module(u, source, source == NULL ? 0 : strlen(source));
	return 1;
}

/* The member NAME of a file, or of each of its objects: a file may be an array of them. */
static int take_blocks(struct unshown *u, jv file, const char *name, name_fn *take, void *context)
{
	if (jv_get_kind(file) == JV_KIND_ARRAY) {
		for (int i = 0, n = json_length(file); i < n; i++) {
			auto_jv element = json_at(file, i);
			if (take_blocks(u, element, name, take, context) < 0)
				return -1;
		}
		return 0;
	}
	auto_jv blocks = json_get(file, name);
	return jv_is_valid(blocks) ? each_name(u, blocks, take, context) : 0;
}

int unshown_json(struct unshown *u, const char *text, size_t len)
{
	static char terraform[] = UNSHOWN_TERRAFORM;
	struct sbx_error unread = SBX_ERROR_INIT;
	auto_jv file = jv_invalid();

	if (json_parse_foreign(text, len, file_max, &file, &unread) < 0)
		return -1;
	return take_blocks(u, file, "removed", take_removed, NULL) < 0 ||
			       take_blocks(u, file, "provider", take_provider, NULL) < 0 ||
			       take_blocks(u, file, "terraform", take_setting, terraform) < 0 ||
			       take_blocks(u, file, "module", take_module, NULL) < 0
		       ? -1
		       : 0;
}
