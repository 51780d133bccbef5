/* One event, one line. */
#include "audit_show.h"

#include <string.h>

#include "clock.h"
#include "digest.h"
#include "duration.h"
#include "io.h"
#include "json_out.h"

#define VALUE_LONGEST 160 /* of a value as it is shown; --json has the whole */
#define SHORT_ID 8
#define SHORT_DIGEST 16
#define EVENT_WIDTH 20

static const char *const head_names[] = {"seq", "prev", "time", "boot", "event", "request_id"};

void timeline_init(struct timeline *timeline)
{
	timeline->begins = jv_object();
}

void timeline_clear(struct timeline *timeline)
{
	jv_free(timeline->begins);
	timeline->begins = jv_invalid();
}

/* "…:04.123456Z" in microseconds since the epoch; -1 if it is no such time. */
static int64_t micros(const char *time)
{
	const char *dot = time != NULL ? strchr(time, '.') : NULL;
	int64_t seconds, fraction = 0, weight = 100000;

	if (time == NULL || clock_parse(time, &seconds) < 0)
		return -1;
	for (const char *p = dot != NULL ? dot + 1 : ""; *p >= '0' && *p <= '9'; p++, weight /= 10)
		fraction += (*p - '0') * weight;
	return seconds * 1000000 + fraction;
}

static int put_escaped(struct buf *out, const char *text, size_t len, struct sbx_error *err)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		int failed = c < 0x20 || c >= 0x7f ? buf_addf(out, err, "\\x%02x", c) : buf_add(out, &c, 1, err);
		if (failed < 0)
			return -1;
	}
	return 0;
}

static int is_plain(const char *text, size_t len)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/@+-";

	return len > 0 && strspn(text, plain) == len;
}

/* A string that could be taken for something else stands in quotes, a digest is cut, anything that is no string is
 * JSON. */
static int put_value(struct buf *out, jv value, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_EVENT * 6);
	int string = jv_get_kind(value) == JV_KIND_STRING;

	if (string ? buf_add(&text, jv_string_value(value), (size_t)jv_string_length_bytes(jv_copy(value)), err) < 0
		   : json_write(value, &text, err) < 0)
		return -1;
	if (string && !is_plain(buf_str(&text), text.len)) {
		auto_buf quoted = BUF_INIT(LIMIT_EVENT * 6);
		if (json_out_string(&quoted, buf_str(&text), text.len, err) < 0)
			return -1;
		buf_reset(&text);
		if (buf_add(&text, quoted.data, quoted.len, err) < 0)
			return -1;
	}
	if (text.len == DIGEST_HEX_SIZE - 1 && strspn(text.data, "0123456789abcdef") == text.len)
		return buf_addf(out, err, "%.*s..", SHORT_DIGEST, text.data);
	size_t shown = text.len > VALUE_LONGEST ? VALUE_LONGEST : text.len;
	if (put_escaped(out, buf_str(&text), shown, err) < 0)
		return -1;
	return shown < text.len ? buf_addf(out, err, "...(%zu bytes)", text.len) : 0;
}

static int put_details(struct buf *out, jv event, struct sbx_error *err)
{
	auto_jv details = jv_copy(event);

	for (size_t i = 0; i < ARRAY_LEN(head_names); i++)
		details = json_delete(take_jv(&details), head_names[i]);
	auto_jv keys = jv_keys(jv_copy(details));
	for (int i = 0, n = json_length(keys); i < n; i++) {
		auto_jv key = json_at(keys, i);
		auto_jv value = jv_object_get(jv_copy(details), jv_copy(key));
		if (buf_add(out, " ", 1, err) < 0 ||
		    put_escaped(out, jv_string_value(key), (size_t)jv_string_length_bytes(jv_copy(key)), err) < 0 ||
		    buf_add(out, "=", 1, err) < 0 || put_value(out, value, err) < 0)
			return -1;
	}
	return 0;
}

/* Seconds since the call's first event that was seen; blanks for events of no call. */
static int put_elapsed(struct timeline *timeline, const char *id, int64_t now, struct buf *out, struct sbx_error *err)
{
	int64_t begin;

	if (id == NULL || now < 0)
		return buf_addf(out, err, "%9s", "");
	auto_jv known = json_get(timeline->begins, id);
	if (!jv_is_valid(known) || json_number(known, &begin) < 0) {
		timeline->begins = json_set_int(take_jv(&timeline->begins), id, now);
		begin = now;
	}
	return buf_addf(out, err, "%+8.3fs", (double)(now - begin) / 1e6);
}

int timeline_line(struct timeline *timeline, jv event, struct buf *out, struct sbx_error *err)
{
	const char *time = json_str(event, "time"), *name = json_str(event, "event"),
		   *id = json_str(event, "request_id");
	auto_buf shown = BUF_INIT(LIMIT_EVENT * 6);

	if (put_escaped(&shown, time ? time : "?", strlen(time ? time : "?"), err) < 0)
		return -1;
	for (char *p = shown.data; *p != '\0'; p++)
		if (*p == 'T')
			*p = ' ';
	if (buf_addf(out, err, "%s ", shown.data) < 0 || put_elapsed(timeline, id, micros(time), out, err) < 0)
		return -1;
	buf_reset(&shown);
	if (put_escaped(&shown, id ? id : "-", id && strlen(id) > SHORT_ID ? SHORT_ID : strlen(id ? id : "-"), err) <
		    0 ||
	    buf_addf(out, err, "  %-*s  ", SHORT_ID, shown.data) < 0)
		return -1;
	buf_reset(&shown);
	if (put_escaped(&shown, name ? name : "?", strlen(name ? name : "?"), err) < 0 ||
	    buf_addf(out, err, "%-*s", EVENT_WIDTH, shown.data) < 0 || put_details(out, event, err) < 0)
		return -1;
	return buf_add(out, "\n", 1, err);
}

/* "90s" or "1d" in milliseconds. Days are for looking back alone. */
static int parse_ago(const char *text, uint64_t *ms)
{
	static const uint64_t day_ms = 24 * 60 * 60 * 1000, days_max = 1000000;
	size_t digits = strspn(text, "0123456789");
	auto_free char *days = strcmp(text + digits, "d") == 0 ? strndup(text, digits) : NULL;

	if (days == NULL)
		return duration_parse_ms(text, days_max * day_ms, ms);
	if (io_parse_u64(days, 0, days_max, ms) < 0)
		return -1;
	*ms *= day_ms;
	return 0;
}

int timeline_since(const char *text, int64_t *since, struct sbx_error *err)
{
	uint64_t ago_ms;

	if (clock_parse(text, since) == 0)
		return 0;
	if (parse_ago(text, &ago_ms) < 0)
		return sbx_fail(err, SBX_USAGE, "usage", "--since wants 2026-11-29T21:50:04Z or 90s, 15m, 2h, 1d");
	*since = clock_seconds() - (int64_t)(ago_ms / 1000);
	return 0;
}
