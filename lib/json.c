/* libjq behind strict checks, and our own canonical writer. */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json_lex.h"
#include "json_out.h"

static int parse(const char *bytes, size_t len, size_t max, unsigned integers, jv *out, struct sbx_error *err)
{
	const struct json_lex_limits limits = {
		.bytes = max,
		.depth = LIMIT_CALL_DEPTH,
		.string = max,
		.integers = integers,
	};

	*out = jv_invalid();
	if (json_lex_check(bytes, len, &limits, err) < 0)
		return -1;
	jv value = jv_parse_sized(bytes, (int)len);
	if (!jv_is_valid(value)) {
		jv_free(value); /* its message quotes the input: never shown */
		return sbx_fail(err, SBX_BAD_REQUEST, "json_invalid", "the JSON text could not be read");
	}
	*out = value;
	return 0;
}

int json_parse(const char *bytes, size_t len, size_t max, jv *out, struct sbx_error *err)
{
	return parse(bytes, len, max, JSON_INTEGERS_ONLY, out, err);
}

int json_parse_foreign(const char *bytes, size_t len, size_t max, jv *out, struct sbx_error *err)
{
	return parse(bytes, len, max, JSON_ANY_NUMBER, out, err);
}

jv json_get(jv object, const char *key)
{
	if (jv_get_kind(object) != JV_KIND_OBJECT)
		return jv_invalid();
	return jv_object_get(jv_copy(object), jv_string(key));
}

static jv get_kind(jv object, const char *key, jv_kind kind)
{
	jv value = json_get(object, key);

	if (jv_get_kind(value) == kind)
		return value;
	jv_free(value);
	return jv_invalid();
}

jv json_object(jv object, const char *key)
{
	return get_kind(object, key, JV_KIND_OBJECT);
}

jv json_array(jv object, const char *key)
{
	return get_kind(object, key, JV_KIND_ARRAY);
}

int json_has(jv object, const char *key)
{
	auto_jv value = json_get(object, key);

	return jv_is_valid(value);
}

const char *json_text(jv value)
{
	if (jv_get_kind(value) != JV_KIND_STRING)
		return NULL;
	const char *text = jv_string_value(value);
	size_t len = (size_t)jv_string_length_bytes(jv_copy(value));
	return strlen(text) == len ? text : NULL;
}

const char *json_str(jv object, const char *key)
{
	auto_jv value = get_kind(object, key, JV_KIND_STRING);

	/* OBJECT keeps its own reference, so the text outlives ours. */
	return json_text(value);
}

int json_number(jv value, int64_t *out)
{
	if (jv_get_kind(value) != JV_KIND_NUMBER)
		return -1;
	double number = jv_number_value(value);
	if (!isfinite(number) || number != trunc(number) || fabs(number) > (double)LIMIT_INTEGER)
		return -1;
	*out = (int64_t)number;
	return 0;
}

int json_int(jv object, const char *key, int64_t *value)
{
	auto_jv member = json_get(object, key);

	return json_number(member, value);
}

int json_bool(jv object, const char *key)
{
	auto_jv value = json_get(object, key);
	jv_kind kind = jv_get_kind(value);

	return kind == JV_KIND_TRUE ? 1 : kind == JV_KIND_FALSE ? 0 : -1;
}

int json_length(jv value)
{
	jv_kind kind = jv_get_kind(value);

	if (kind == JV_KIND_ARRAY)
		return jv_array_length(jv_copy(value));
	if (kind == JV_KIND_OBJECT)
		return jv_object_length(jv_copy(value));
	return 0;
}

jv json_at(jv array, int i)
{
	if (i < 0 || jv_get_kind(array) != JV_KIND_ARRAY || i >= json_length(array))
		return jv_invalid();
	return jv_array_get(jv_copy(array), i);
}

char *json_unknown_key(jv object, const char *const *allowed)
{
	if (jv_get_kind(object) != JV_KIND_OBJECT)
		return NULL;
	for (int i = jv_object_iter(object); jv_object_iter_valid(object, i); i = jv_object_iter_next(object, i)) {
		auto_jv key = jv_object_iter_key(object, i);
		const char *text = json_text(key);
		int known = 0;
		for (size_t k = 0; text != NULL && allowed[k] != NULL; k++)
			known |= strcmp(allowed[k], text) == 0;
		if (!known)
			return strdup(text ? text : "(a key with a NUL)");
	}
	return NULL;
}

jv json_set(jv object, const char *key, jv value)
{
	if (jv_get_kind(object) != JV_KIND_OBJECT || !jv_is_valid(value))
		abort();
	return jv_object_set(object, jv_string(key), value);
}

jv json_set_str(jv object, const char *key, const char *text)
{
	return text == NULL ? object : json_set(object, key, jv_string(text));
}

jv json_set_int(jv object, const char *key, int64_t number)
{
	return json_set(object, key, jv_number((double)number));
}

jv json_set_bool(jv object, const char *key, int truth)
{
	return json_set(object, key, truth ? jv_true() : jv_false());
}

jv json_append(jv array, jv value)
{
	if (jv_get_kind(array) != JV_KIND_ARRAY || !jv_is_valid(value))
		abort();
	return jv_array_append(array, value);
}

jv json_delete(jv object, const char *key)
{
	if (jv_get_kind(object) != JV_KIND_OBJECT)
		return object;
	return jv_object_delete(object, jv_string(key));
}

static int write_value(jv value, struct buf *out, struct sbx_error *err);

static int write_string(jv value, struct buf *out, struct sbx_error *err)
{
	return json_out_string(out, jv_string_value(value), (size_t)jv_string_length_bytes(jv_copy(value)), err);
}

static int write_number(jv value, struct buf *out, struct sbx_error *err)
{
	int64_t number;

	if (json_number(value, &number) < 0)
		return sbx_fail(err, SBX_BAD_REQUEST, "json_number", "a number is no integer that every reader agrees on");
	return buf_addf(out, err, "%lld", (long long)number);
}

static int write_array(jv value, struct buf *out, struct sbx_error *err)
{
	if (buf_add(out, "[", 1, err) < 0)
		return -1;
	for (int i = 0, n = json_length(value); i < n; i++) {
		auto_jv element = json_at(value, i);
		if ((i > 0 && buf_add(out, ",", 1, err) < 0) || write_value(element, out, err) < 0)
			return -1;
	}
	return buf_add(out, "]", 1, err);
}

static int by_bytes(const void *a, const void *b)
{
	const jv *x = a, *y = b;
	size_t xn = (size_t)jv_string_length_bytes(jv_copy(*x)), yn = (size_t)jv_string_length_bytes(jv_copy(*y));
	int order = memcmp(jv_string_value(*x), jv_string_value(*y), xn < yn ? xn : yn);

	return order != 0 ? order : xn < yn ? -1 : xn > yn;
}

static int write_members(jv value, jv *keys, size_t count, struct buf *out, struct sbx_error *err)
{
	for (size_t i = 0; i < count; i++) {
		auto_jv member = jv_object_get(jv_copy(value), jv_copy(keys[i]));
		if ((i > 0 && buf_add(out, ",", 1, err) < 0) || write_string(keys[i], out, err) < 0 ||
		    buf_add(out, ":", 1, err) < 0 || write_value(member, out, err) < 0)
			return -1;
	}
	return 0;
}

static int write_object(jv value, struct buf *out, struct sbx_error *err)
{
	size_t count = 0, size = (size_t)json_length(value);
	jv *keys = calloc(size + 1, sizeof *keys);
	int result = -1;

	if (keys == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	for (int i = jv_object_iter(value); jv_object_iter_valid(value, i) && count < size; i = jv_object_iter_next(value, i))
		keys[count++] = jv_object_iter_key(value, i);
	qsort(keys, count, sizeof *keys, by_bytes);
	if (buf_add(out, "{", 1, err) == 0 && write_members(value, keys, count, out, err) == 0)
		result = buf_add(out, "}", 1, err);
	for (size_t i = 0; i < count; i++)
		jv_free(keys[i]);
	free(keys);
	return result;
}

static int write_value(jv value, struct buf *out, struct sbx_error *err)
{
	switch (jv_get_kind(value)) {
	case JV_KIND_NULL:
		return buf_add(out, "null", 4, err);
	case JV_KIND_TRUE:
		return buf_add(out, "true", 4, err);
	case JV_KIND_FALSE:
		return buf_add(out, "false", 5, err);
	case JV_KIND_NUMBER:
		return write_number(value, out, err);
	case JV_KIND_STRING:
		return write_string(value, out, err);
	case JV_KIND_ARRAY:
		return write_array(value, out, err);
	case JV_KIND_OBJECT:
		return write_object(value, out, err);
	case JV_KIND_INVALID:
		break;
	}
	return sbx_fail(err, SBX_BUG, "bug", "an invalid value was to be written");
}

int json_write(jv value, struct buf *out, struct sbx_error *err)
{
	return write_value(value, out, err);
}

int json_same(jv a, jv b)
{
	auto_buf x = BUF_INIT(LIMIT_CALL * 8), y = BUF_INIT(LIMIT_CALL * 8);
	struct sbx_error ignored = SBX_ERROR_INIT;

	return json_write(a, &x, &ignored) == 0 && json_write(b, &y, &ignored) == 0 && x.len == y.len &&
	       memcmp(buf_str(&x), buf_str(&y), x.len) == 0;
}
