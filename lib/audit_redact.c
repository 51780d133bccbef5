/* Details of an event without secrets: by the names of members first, then by shape. The exact scrubbing of known
 * secrets is done by whoever holds them, before the event is made. */
#include "audit_line.h"
#include "scrub.h"
#include "secret_words.h"

static const char redacted[] = "[REDACTED:key]";

static int redact_value(jv value, jv *clean, struct sbx_error *err);

static int redact_string(jv value, jv *clean, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_CALL);

	if (scrub_text(NULL, jv_string_value(value), (size_t)jv_string_length_bytes(jv_copy(value)), &text, err) < 0)
		return -1;
	*clean = jv_string_sized(buf_str(&text), (int)text.len);
	return 0;
}

static int redact_array(jv value, jv *clean, struct sbx_error *err)
{
	auto_jv all = jv_array();

	for (int i = 0, n = json_length(value); i < n; i++) {
		auto_jv element = json_at(value, i);
		jv clean_element = jv_invalid();
		if (redact_value(element, &clean_element, err) < 0)
			return -1;
		all = json_append(all, clean_element);
	}
	*clean = take_jv(&all);
	return 0;
}

/* true, false and null tell nothing, whatever their name. */
static int tells_something(jv value)
{
	jv_kind kind = jv_get_kind(value);

	return kind != JV_KIND_TRUE && kind != JV_KIND_FALSE && kind != JV_KIND_NULL;
}

static int redact_member(jv *all, jv key, jv value, struct sbx_error *err)
{
	auto_jv clean_key = jv_invalid();
	jv clean_value = jv_invalid();

	if (redact_string(key, &clean_key, err) < 0)
		return -1;
	if (tells_something(value) &&
	    secret_words_in(jv_string_value(key), (size_t)jv_string_length_bytes(jv_copy(key))))
		clean_value = jv_string(redacted);
	else if (redact_value(value, &clean_value, err) < 0)
		return -1;
	*all = jv_object_set(take_jv(all), take_jv(&clean_key), clean_value);
	return 0;
}

static int redact_object(jv value, jv *clean, struct sbx_error *err)
{
	auto_jv all = jv_object();

	for (int i = jv_object_iter(value); jv_object_iter_valid(value, i); i = jv_object_iter_next(value, i)) {
		auto_jv key = jv_object_iter_key(value, i);
		auto_jv member = jv_object_iter_value(value, i);
		if (redact_member(&all, key, member, err) < 0)
			return -1;
	}
	*clean = take_jv(&all);
	return 0;
}

static int redact_value(jv value, jv *clean, struct sbx_error *err)
{
	switch (jv_get_kind(value)) {
	case JV_KIND_STRING:
		return redact_string(value, clean, err);
	case JV_KIND_ARRAY:
		return redact_array(value, clean, err);
	case JV_KIND_OBJECT:
		return redact_object(value, clean, err);
	case JV_KIND_INVALID:
	case JV_KIND_NULL:
	case JV_KIND_TRUE:
	case JV_KIND_FALSE:
	case JV_KIND_NUMBER:
		break;
	}
	*clean = jv_copy(value);
	return 0;
}

int audit_redact(jv details, jv *clean, struct sbx_error *err)
{
	*clean = jv_invalid();
	return redact_value(details, clean, err);
}
