/* Lines of a review text: what is ours as it is, what is not in quotes. */
#include "review_writer.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "review_quote.h"

void writer_put(struct writer *w, const char *text)
{
	if (!w->failed)
		w->failed = buf_add_str(w->out, text, w->err) < 0;
}

void writer_number(struct writer *w, int64_t number)
{
	if (!w->failed)
		w->failed = buf_addf(w->out, w->err, "%lld", (long long)number) < 0;
}

void writer_time(struct writer *w, int64_t seconds)
{
	char text[CLOCK_RFC3339_SIZE];

	clock_format(seconds, text);
	writer_put(w, text);
}

static void writer_quote_bytes(struct writer *w, const char *bytes, size_t len, size_t max)
{
	if (!w->failed)
		w->failed = review_quote_cut(w->out, bytes, len, max, w->err) < 0;
}

static void sink_say(void *to, const char *words)
{
	writer_put(to, words);
}

static void sink_quote(void *to, const char *bytes, size_t len, size_t max)
{
	writer_quote_bytes(to, bytes, len, max);
}

struct finding_sink writer_sink(struct writer *w)
{
	return (struct finding_sink){.to = w, .say = sink_say, .quote = sink_quote};
}

void writer_quote(struct writer *w, const char *text)
{
	writer_quote_bytes(w, text, strlen(text), FINDING_DATUM_MAX);
}

void writer_value(struct writer *w, jv value)
{
	auto_buf text = BUF_INIT(2 * LIMIT_CALL);

	if (jv_get_kind(value) == JV_KIND_STRING) {
		writer_quote_bytes(w, jv_string_value(value), (size_t)jv_string_length_bytes(jv_copy(value)),
				   FINDING_DATUM_MAX);
		return;
	}
	if (!jv_is_valid(value)) {
		writer_put(w, "none");
		return;
	}
	if (w->failed || (w->failed = json_write(value, &text, w->err) < 0))
		return;
	if (jv_get_kind(value) != JV_KIND_ARRAY && jv_get_kind(value) != JV_KIND_OBJECT) {
		writer_put(w, buf_str(&text));
		return;
	}
	writer_put(w, "json ");
	writer_quote_bytes(w, buf_str(&text), text.len, FINDING_DATUM_MAX);
}

void writer_member(struct writer *w, jv object, const char *key)
{
	auto_jv value = json_get(object, key);

	if (jv_get_kind(value) == JV_KIND_NULL)
		writer_put(w, "none");
	else
		writer_value(w, value);
}

void writer_members(struct writer *w, jv object, const char *heading)
{
	if (json_length(object) == 0 || jv_get_kind(object) != JV_KIND_OBJECT)
		return;
	auto_jv keys = jv_keys(jv_copy(object));
	for (int i = 0; i < json_length(keys); i++) {
		auto_jv key = json_at(keys, i);
		auto_jv value = jv_object_get(jv_copy(object), jv_copy(key));
		writer_put(w, heading);
		writer_value(w, key);
		writer_put(w, " is ");
		writer_value(w, value);
		writer_put(w, "\n");
	}
}

void writer_list(struct writer *w, jv array, int max)
{
	int count = json_length(array);

	for (int i = 0; i < count && i < max; i++) {
		auto_jv element = json_at(array, i);
		writer_put(w, i > 0 ? ", " : "");
		writer_value(w, element);
	}
	if (count > max) {
		writer_put(w, " and ");
		writer_number(w, count - max);
		writer_put(w, " more");
	}
}
