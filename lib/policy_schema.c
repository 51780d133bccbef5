/* The shape of policy files. */
#include "policy_schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "duration.h"
#include "io.h"
#include "json_out.h"

static const uint64_t duration_max_ms = (uint64_t)24 * 60 * 60 * 1000; /* a day: no sandbox should live longer */
static const int64_t size_max = (int64_t)1 << 40;		       /* 1 Ti */

int schema_fail(const struct schema *s, const struct yaml_at *at, const char *hint, const char *format, ...)
{
	char text[sizeof s->err->message];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	sbx_fail(s->err, SBX_CONFIG, "policy_invalid", "%s:%zu: %s", s->file, yaml_line(s->text, s->len, at), text);
	return hint == NULL ? -1 : sbx_hint(s->err, "%s", hint);
}

int schema_duration(jv value, int64_t *ms)
{
	const char *text = json_text(value);
	uint64_t parsed;

	if (text == NULL || duration_parse_ms(text, duration_max_ms, &parsed) < 0 || parsed == 0)
		return -1;
	*ms = (int64_t)parsed;
	return 0;
}

int schema_size(jv value, int64_t *bytes)
{
	static const struct {
		const char *unit;
		int64_t bytes;
	} units[] = {{"Ki", (int64_t)1 << 10}, {"Mi", (int64_t)1 << 20}, {"Gi", (int64_t)1 << 30}};
	const char *text = json_text(value);
	size_t digits = text == NULL ? 0 : strspn(text, "0123456789");
	char number[16];
	uint64_t n;

	if (json_number(value, bytes) == 0)
		return *bytes > 0 && *bytes <= size_max ? 0 : -1;
	if (digits == 0 || digits >= sizeof number)
		return -1;
	memcpy(number, text, digits);
	number[digits] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(text + digits, units[i].unit) == 0) {
			if (io_parse_u64(number, 1, (uint64_t)(size_max / units[i].bytes), &n) < 0)
				return -1;
			*bytes = (int64_t)n * units[i].bytes;
			return 0;
		}
	return -1;
}

static int is_text(jv value)
{
	const char *text = json_text(value);

	return text != NULL && *text != '\0';
}

static int is_texts(jv value)
{
	int all = jv_get_kind(value) == JV_KIND_ARRAY;

	for (int i = 0, n = json_length(value); all && i < n; i++) {
		auto_jv element = json_at(value, i);
		all = is_text(element);
	}
	return all;
}

int schema_kind(const struct schema *s, const struct yaml_at *at, jv value, enum field_kind kind)
{
	jv_kind found = jv_get_kind(value);
	int64_t number;

	switch (kind) {
	case FIELD_TEXT:
		return is_text(value) ? 0
				      : schema_fail(s, at, "put text in quotes", "must be a text that is not empty");
	case FIELD_INTEGER:
		return found == JV_KIND_NUMBER ? 0 : schema_fail(s, at, NULL, "must be an integer");
	case FIELD_BOOLEAN:
		return found == JV_KIND_TRUE || found == JV_KIND_FALSE
			       ? 0
			       : schema_fail(s, at, NULL, "must be true or false");
	case FIELD_MAP:
		return found == JV_KIND_OBJECT ? 0 : schema_fail(s, at, NULL, "must be a mapping");
	case FIELD_LIST:
		return found == JV_KIND_ARRAY ? 0 : schema_fail(s, at, NULL, "must be a list");
	case FIELD_TEXTS:
		return is_texts(value) ? 0 : schema_fail(s, at, "put texts in quotes", "must be a list of texts");
	case FIELD_DURATION:
		return schema_duration(value, &number) == 0
			       ? 0
			       : schema_fail(s, at, "such as 500ms, 30s, 5m or 1h, at most 24h", "must be a duration");
	case FIELD_SIZE:
		return schema_size(value, &number) == 0
			       ? 0
			       : schema_fail(s, at, "such as 65536, 256Ki, 512Mi or 2Gi", "must be a size in bytes");
	case FIELD_ANY:
		return 0;
	}
	return 0;
}

static const struct field *find_field(const struct field *fields, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(fields[i].key, key) == 0)
			return &fields[i];
	return NULL;
}

static void list_fields(const struct field *fields, size_t count, char *out, size_t size)
{
	size_t used = (size_t)snprintf(out, size, "known here:");

	for (size_t i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, " %s", fields[i].key);
}

int schema_fields(const struct schema *s, const struct yaml_at *at, jv value, const struct field *fields, size_t count)
{
	char known[sizeof s->err->hint];

	if (schema_kind(s, at, value, FIELD_MAP) < 0)
		return -1;
	for (int i = jv_object_iter(value); jv_object_iter_valid(value, i); i = jv_object_iter_next(value, i)) {
		auto_jv key = jv_object_iter_key(value, i), member = jv_object_iter_value(value, i);
		struct yaml_at here = {.up = at, .key = json_text(key)};
		const struct field *field = find_field(fields, count, here.key);
		if (field == NULL) {
			list_fields(fields, count, known, sizeof known);
			return schema_fail(s, &here, known, "unknown key \"%s\"", here.key);
		}
		if (schema_kind(s, &here, member, field->kind) < 0)
			return -1;
	}
	for (size_t i = 0; i < count; i++)
		if (fields[i].presence == FIELD_REQUIRED && !json_has(value, fields[i].key))
			return schema_fail(s, at, NULL, "the key \"%s\" is missing", fields[i].key);
	return 0;
}

int schema_is_printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		uint32_t c = 0;
		size_t n = json_out_utf8(text + i, len - i, &c);
		if (n == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) ||
		    (c >= 0x2066 && c <= 0x2069) || c == 0xfeff)
			return 0;
		i += n;
	}
	return 1;
}

int schema_is_path(const char *path)
{
	size_t len = strlen(path);

	if (strcmp(path, ".") == 0)
		return 1;
	if (len == 0 || len > LIMIT_PARAMETER || *path == '-' || *path == '/' || path[len - 1] == '/' ||
	    !schema_is_printable(path, len))
		return 0;
	for (const char *part = path; part != NULL; part = strchr(part, '/')) {
		part += *part == '/';
		size_t n = strcspn(part, "/");
		if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
			return 0;
	}
	return 1;
}
