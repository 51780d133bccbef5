/* Blocks `module` and `run` in JSON. */
#include <string.h>

#include "fetch_list.h"
#include "module_calls_impl.h"
#include "tf_file.h"

static int take_json_body(struct module_search *s, const char *name, jv body, struct sbx_error *err)
{
	auto_jv source = json_get(body, "source"), version = json_get(body, "version");
	const char *text = json_text(source), *at_least = json_text(version);

	if (jv_get_kind(body) == JV_KIND_ARRAY) {
		for (int i = 0, n = json_length(body); i < n; i++) {
			auto_jv one = json_at(body, i);
			if (jv_get_kind(one) == JV_KIND_ARRAY)
				return module_unreadable(s, "is a module that cannot be read", err);
			if (take_json_body(s, name, one, err) < 0)
				return -1;
		}
		return 0;
	}
	if (jv_get_kind(body) == JV_KIND_OBJECT && !jv_is_valid(source))
		return 0;
	if (text == NULL || !module_is_plain(text, strlen(text)) || strlen(text) >= MODULE_PLACE_SIZE * 2 ||
	    (jv_is_valid(version) && (at_least == NULL || !module_is_plain(at_least, strlen(at_least)))))
		return module_unreadable(s, "is a module that cannot be read", err);
	return module_call(s, name, text, at_least, err);
}

/* "module": {NAME: {…}}, or a list of such. */
static int take_json_modules(struct module_search *s, jv modules, struct sbx_error *err)
{
	if (jv_get_kind(modules) == JV_KIND_ARRAY) {
		for (int i = 0, n = json_length(modules); i < n; i++) {
			auto_jv one = json_at(modules, i);
			if (jv_get_kind(one) != JV_KIND_OBJECT)
				return module_unreadable(s, "is a module that cannot be read", err);
			if (take_json_modules(s, one, err) < 0)
				return -1;
		}
		return 0;
	}
	if (jv_get_kind(modules) != JV_KIND_OBJECT)
		return module_unreadable(s, "is a module that cannot be read", err);
	for (int i = jv_object_iter(modules); jv_object_iter_valid(modules, i); i = jv_object_iter_next(modules, i)) {
		auto_jv name = jv_object_iter_key(modules, i), body = jv_object_iter_value(modules, i);
		if (json_text(name) == NULL)
			return module_unreadable(s, "is a module without a name", err);
		if (take_json_body(s, json_text(name), body, err) < 0)
			return -1;
	}
	return 0;
}

/* "run": {NAME: {"module": {…}}} of a file of tests, or a list of such. */
static int take_json_runs(struct module_search *s, jv runs, struct sbx_error *err)
{
	if (jv_get_kind(runs) == JV_KIND_ARRAY) {
		for (int i = 0, n = json_length(runs); i < n; i++) {
			auto_jv one = json_at(runs, i);
			if (jv_get_kind(one) == JV_KIND_ARRAY || take_json_runs(s, one, err) < 0)
				return module_unreadable(s, "is a run that cannot be read", err);
		}
		return 0;
	}
	if (jv_get_kind(runs) != JV_KIND_OBJECT)
		return module_unreadable(s, "is a run that cannot be read", err);
	for (int i = jv_object_iter(runs); jv_object_iter_valid(runs, i); i = jv_object_iter_next(runs, i)) {
		auto_jv name = jv_object_iter_key(runs, i), body = jv_object_iter_value(runs, i);
		auto_jv only = jv_get_kind(body) == JV_KIND_ARRAY && json_length(body) == 1 ? json_at(body, 0) : jv_copy(body);
		auto_jv module = json_get(only, "module");
		if (jv_get_kind(only) != JV_KIND_OBJECT || json_text(name) == NULL)
			return module_unreadable(s, "is a run that cannot be read", err);
		if (jv_is_valid(module) && take_json_body(s, json_text(name), module, err) < 0)
			return -1;
	}
	return 0;
}

static int take_json_file(struct module_search *s, jv file, struct sbx_error *err)
{
	auto_jv modules = json_get(file, s->block);

	if (jv_get_kind(file) != JV_KIND_OBJECT)
		return module_unreadable(s, "is no configuration", err);
	if (jv_is_valid(modules) && strcmp(s->block, "run") == 0)
		return take_json_runs(s, modules, err);
	return jv_is_valid(modules) ? take_json_modules(s, modules, err) : 0;
}

int module_json(struct module_search *s, const char *text, size_t len, struct sbx_error *err)
{
	struct sbx_error no_json = SBX_ERROR_INIT;
	auto_jv file = jv_invalid();

	if (json_parse_foreign(text, len, TF_FILE_MAX, &file, &no_json) < 0)
		return module_unreadable(s, "is no configuration", err);
	if (jv_get_kind(file) != JV_KIND_ARRAY)
		return take_json_file(s, file, err);
	for (int i = 0, n = json_length(file); i < n; i++) {
		auto_jv part = json_at(file, i);
		if (take_json_file(s, part, err) < 0)
			return -1;
	}
	return 0;
}
