/* Texts, findings and evidence, cut to what the call has room for. */
#include "result.h"

#include <stdio.h>
#include <string.h>

#include "digest.h"
#include "json_out.h"

static const size_t findings_room = (size_t)256 << 10;
static const size_t finding_room = (size_t)8 << 10; /* a few addresses and attribute paths, as escaped */
static const size_t finding_string = 512;	    /* as escaped; a resource address rarely passes 200 */
static const int finding_elements = 16;
static const int finding_depth = 4;
static const int essence_elements = 3; /* the first words say what it is */

/* Lists of what matters less than any finding, and how much of each. */
static const struct list {
	const char *name, *total;
	int elements;
	size_t room;
} kept_lists[] = {
	{"safe", "safe_total", 50, (size_t)16 << 10},
	{"differences", "differences_total", 100, (size_t)32 << 10},
};
static const size_t isolation_room = (size_t)16 << 10;
static const size_t mark_room = 96; /* of "[sbx: N bytes left out]" with its line feeds, as escaped */

enum encoding { ENCODING_UTF8, ENCODING_ESCAPED };

static int needs_escapes(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = bytes[i] == '\0' ? 0 : json_out_utf8(bytes + i, len - i, NULL);
		if (n == 0)
			return 1;
		i += n;
	}
	return 0;
}

/* BYTES as text: UTF-8 without NUL. */
static int to_text(const char *bytes, size_t len, enum encoding encoding, struct buf *text, struct sbx_error *err)
{
	if (encoding == ENCODING_UTF8)
		return buf_add(text, bytes, len, err);
	for (size_t i = 0; i < len;) {
		size_t n = bytes[i] == '\0' ? 0 : json_out_utf8(bytes + i, len - i, NULL);
		int failed = n == 0		? buf_addf(text, err, "\\x%02x", (unsigned)(unsigned char)bytes[i])
			     : bytes[i] == '\\' ? buf_add(text, "\\\\", 2, err)
						: buf_add(text, bytes + i, n, err);
		if (failed)
			return -1;
		i += n == 0 ? 1 : n;
	}
	return 0;
}

/* Bytes that N bytes of text take inside a JSON string. */
static size_t cost(const char *text, size_t n)
{
	return json_out_string_size(text, n) - 2;
}

/* The longest run of whole characters at the head (or tail) of valid UTF-8 that costs at most ROOM. */
static size_t head_within(const char *text, size_t len, size_t room)
{
	size_t used = 0, i = 0;

	while (i < len) {
		size_t n = json_out_utf8(text + i, len - i, NULL), price = cost(text + i, n);
		if (n == 0 || used + price > room)
			break;
		used += price;
		i += n;
	}
	return i;
}

static size_t tail_within(const char *text, size_t len, size_t room)
{
	size_t used = 0, start = len;

	while (start > 0) {
		size_t from = start - 1;
		while (from > 0 && ((unsigned char)text[from] & 0xc0) == 0x80)
			from--;
		size_t price = cost(text + from, start - from);
		if (used + price > room)
			break;
		used += price;
		start = from;
	}
	return len - start;
}

/* TEXT as it may stand: whole, or its head and tail around a mark. */
static int fit(const struct buf *text, uint64_t dropped, size_t room, struct buf *out, int *truncated,
	       struct sbx_error *err)
{
	const char *p = buf_str(text);
	size_t left = room - mark_room * (dropped > 0 ? 2 : 1);

	if (cost(p, text->len) <= left) {
		if (buf_add(out, p, text->len, err) < 0)
			return -1;
	} else {
		size_t head = head_within(p, text->len, left / 2), tail = tail_within(p, text->len, left / 2);
		*truncated = 1;
		if (buf_add(out, p, head, err) < 0 ||
		    buf_addf(out, err, "\n[sbx: %zu bytes left out]\n", text->len - head - tail) < 0 ||
		    buf_add(out, p + text->len - tail, tail, err) < 0)
			return -1;
	}
	if (dropped == 0)
		return 0;
	*truncated = 1;
	return buf_addf(out, err, "\n[sbx: %llu more bytes, past the tool's output limit, were dropped]\n",
			(unsigned long long)dropped);
}

static int set_text(jv *result, const char *key, const char *bytes, size_t len, uint64_t dropped, size_t room,
		    enum encoding encoding, int *truncated, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(4 * len + 1), fitted = BUF_INIT(room + len + 1);

	if (to_text(bytes, len, encoding, &text, err) < 0 || fit(&text, dropped, room, &fitted, truncated, err) < 0)
		return -1;
	*result = json_set_str(take_jv(result), key, buf_str(&fitted));
	return 0;
}

int result_set_output(jv *result, const struct result_output *o, struct sbx_error *err)
{
	int truncated = 0;
	enum encoding encoding = needs_escapes(o->out, o->out_len) || needs_escapes(o->err, o->err_len)
					 ? ENCODING_ESCAPED
					 : ENCODING_UTF8;

	if (set_text(result, "stdout", o->out, o->out_len, o->out_dropped, LIMIT_RESULT_STDOUT, encoding, &truncated,
		     err) < 0 ||
	    set_text(result, "stderr", o->err, o->err_len, o->err_dropped, LIMIT_RESULT_STDERR, encoding, &truncated,
		     err) < 0)
		return -1;
	*result = json_set_str(take_jv(result), "encoding", encoding == ENCODING_UTF8 ? "utf-8" : "escaped");
	*result = json_set_bool(take_jv(result), "truncated", truncated);
	return 0;
}

/* Bytes of VALUE in its written form; past ROOM, ROOM + 1. */
static size_t written_size(jv value, size_t room)
{
	auto_buf text = BUF_INIT(room);
	struct sbx_error ignored = SBX_ERROR_INIT;

	return json_write(value, &text, &ignored) < 0 ? room + 1 : text.len;
}

/* A string too long for its place: its head, and a digest by which the whole can be found again. */
static jv clip_string(jv value)
{
	const char *text = jv_string_value(value);
	size_t len = (size_t)jv_string_length_bytes(jv_copy(value));
	char digest[DIGEST_HEX_SIZE], mark[32];

	if (cost(text, len) <= finding_string)
		return jv_copy(value);
	digest_sha256_hex(text, len, digest);
	int mark_len = snprintf(mark, sizeof mark, "[sha256 %.12s]", digest);
	size_t head = head_within(text, len, finding_string - (size_t)mark_len);
	jv cut = jv_string_sized(text, (int)head);
	return jv_string_append_buf(cut, mark, mark_len);
}

static jv clip(jv value, int depth);

static jv clip_array(jv value, int depth, int elements)
{
	jv cut = jv_array();
	int n = json_length(value);

	for (int i = 0; i < n && i < elements; i++) {
		auto_jv element = json_at(value, i);
		cut = json_append(cut, clip(element, depth - 1));
	}
	return n > elements ? json_append(cut, jv_string_fmt("[%d more]", n - elements)) : cut;
}

static jv clip_object(jv value, int depth)
{
	jv cut = jv_object();
	int left = finding_elements;

	for (int i = jv_object_iter(value); jv_object_iter_valid(value, i) && left-- > 0;
	     i = jv_object_iter_next(value, i)) {
		auto_jv key = jv_object_iter_key(value, i), member = jv_object_iter_value(value, i);
		cut = jv_object_set(cut, clip_string(key), clip(member, depth - 1));
	}
	return cut;
}

static jv clip(jv value, int depth)
{
	jv_kind kind = jv_get_kind(value);

	if (depth == 0 && (kind == JV_KIND_ARRAY || kind == JV_KIND_OBJECT))
		return jv_string("[too deep]");
	if (kind == JV_KIND_STRING)
		return clip_string(value);
	if (kind == JV_KIND_ARRAY)
		return clip_array(value, depth, finding_elements);
	if (kind == JV_KIND_OBJECT)
		return clip_object(value, depth);
	return jv_copy(value);
}

/* What says most, when the whole is too large: without attribute paths and their values. */
static jv essence(jv finding)
{
	static const char *const texts[] = {"address", "deposed", "verdict", "type", "reason", "text"};
	static const char *const lists[] = {"signals", "actions"};
	jv cut = jv_object();

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		auto_jv member = json_get(finding, texts[i]);
		if (jv_get_kind(member) == JV_KIND_STRING)
			cut = json_set(cut, texts[i], clip_string(member));
	}
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		auto_jv member = json_array(finding, lists[i]);
		if (jv_is_valid(member))
			cut = json_set(cut, lists[i], clip_array(member, 1, essence_elements));
	}
	if (json_bool(finding, "holds_data") == 1)
		cut = json_set_bool(cut, "holds_data", 1);
	return cut;
}

jv result_set_findings(jv result, jv findings, int64_t total)
{
	jv kept = jv_array();
	size_t used = 0;
	int count = json_length(findings);

	for (int i = 0; i < count && i < LIMIT_FINDINGS; i++) {
		auto_jv whole = json_at(findings, i), finding = clip(whole, finding_depth);
		size_t size = written_size(finding, finding_room);
		if (size > finding_room) {
			jv small = essence(finding);
			jv_free(take_jv(&finding));
			finding = small;
			size = written_size(finding, finding_room);
		}
		if (size > finding_room || used + size + 1 > findings_room)
			break;
		used += size + 1;
		kept = json_append(kept, take_jv(&finding));
	}
	result = json_set(result, "findings", kept);
	return json_set_int(result, "findings_total", total > count ? total : count);
}

/* Consumes TO; the named numbers of FROM alone. */
static jv copy_numbers(jv to, jv from, const char *const *names, size_t count)
{
	int64_t number;

	for (size_t i = 0; i < count; i++)
		if (json_int(from, names[i], &number) == 0)
			to = json_set_int(to, names[i], number);
	return to;
}

/* Consumes RESULT. */
static jv set_list(jv result, jv answer, const struct list *list)
{
	auto_jv all = json_array(answer, list->name);
	int64_t total = json_length(all);
	size_t used = 0;
	jv kept = jv_array();

	json_int(answer, list->total, &total);
	for (int i = 0, n = json_length(all); i < n && i < list->elements; i++) {
		auto_jv whole = json_at(all, i), one = clip(whole, finding_depth);
		size_t size = written_size(one, list->room);
		if (used + size + 1 > list->room)
			break;
		used += size + 1;
		kept = json_append(kept, take_jv(&one));
	}
	return json_set_int(json_set(result, list->name, kept), list->total, total);
}

jv result_set_plan(jv result, jv answer)
{
	static const char *const counts[] = {"create", "update", "replace", "delete", "forget", "read", "noop"};
	static const char *const numbers[] = {"data_destroyed"};
	static const char *const digests[] = {"artefact", "effect"};
	auto_jv said = json_object(answer, "counts"), digest = json_object(answer, "digest");
	jv kept = jv_object();

	if (jv_get_kind(answer) != JV_KIND_OBJECT) {
		jv_free(kept);
		return result;
	}
	for (size_t i = 0; i < ARRAY_LEN(digests); i++) {
		auto_jv text = json_get(digest, digests[i]);
		if (jv_get_kind(text) == JV_KIND_STRING)
			kept = json_set(kept, digests[i], clip_string(text));
	}
	result = json_set(result, "counts", copy_numbers(jv_object(), said, counts, ARRAY_LEN(counts)));
	result = copy_numbers(result, answer, numbers, ARRAY_LEN(numbers));
	result = json_set(result, "digest", kept);
	for (size_t i = 0; i < ARRAY_LEN(kept_lists); i++)
		if (i == 0 || json_has(answer, kept_lists[i].name))
			result = set_list(result, answer, &kept_lists[i]);
	return result;
}

jv result_set_isolation(jv result, jv evidence)
{
	if (jv_get_kind(evidence) == JV_KIND_OBJECT && written_size(evidence, isolation_room) <= isolation_room)
		return json_set(result, "isolation", jv_copy(evidence));
	const char *name = json_str(evidence, "isolation");
	jv short_form = json_set_str(jv_object(), "isolation", name != NULL && strlen(name) <= 64 ? name : NULL);
	return json_set(result, "isolation", json_set_bool(short_form, "cut", 1));
}

int result_fits(jv call, struct sbx_error *err)
{
	if (written_size(call, LIMIT_CALL - RESULT_ROOM) <= LIMIT_CALL - RESULT_ROOM)
		return 0;
	sbx_fail(err, SBX_PROTOCOL, "too_large", "the call leaves no room for a result");
	return sbx_hint(err, "give it fewer or shorter parameters");
}

/* The strongest has 2. */
static int strength(jv finding)
{
	const char *verdict = json_str(finding, "verdict");

	if (verdict != NULL && strcmp(verdict, "safe") == 0)
		return 0;
	return verdict != NULL && strcmp(verdict, "review") == 0 ? 1 : 2;
}

jv result_insert_finding(jv findings, jv finding)
{
	auto_jv from = findings, added = finding;
	jv to = jv_array();
	int placed = 0, mine = strength(added);

	for (int i = 0, n = json_length(from); i < n; i++) {
		jv element = json_at(from, i);
		if (!placed && strength(element) < mine) {
			to = json_append(to, jv_copy(added));
			placed = 1;
		}
		to = json_append(to, element);
	}
	return placed ? to : json_append(to, jv_copy(added));
}
