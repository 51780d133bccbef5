/* The door's words as data. */
#include "mcp_reply.h"

#include <string.h>

#include "words.h"

const char *mcp_reply_parse(const struct mcp_reply *reply, jv *object)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	*object = jv_invalid();
	if (reply->text == NULL)
		return "it answered with more than may be in an answer";
	if (reply->len == 0)
		return "it answered nothing";
	if (json_parse(reply->text, reply->len, LIMIT_CALL, object, &ignored) < 0 ||
	    jv_get_kind(*object) != JV_KIND_OBJECT)
		return "its answer is no object";
	return NULL;
}

jv mcp_copy(jv to, const char *name, jv from, const char *key)
{
	jv value = json_get(from, key);

	if (!jv_is_valid(value)) {
		jv_free(value);
		return to;
	}
	return json_set(to, name, value);
}

static jv visible_string(jv string)
{
	auto_words w = WORDS_INIT(LIMIT_RPC_LINE);

	words_show(&w, jv_string_value(string), (size_t)jv_string_length_bytes(jv_copy(string)));
	return jv_string_sized(buf_str(&w.text), (int)w.text.len);
}

jv mcp_visible(jv value)
{
	auto_jv whole = value;
	jv_kind kind = jv_get_kind(whole);

	if (kind == JV_KIND_STRING)
		return visible_string(whole);
	if (kind == JV_KIND_ARRAY) {
		jv out = jv_array();
		for (int i = 0, n = json_length(whole); i < n; i++)
			out = json_append(out, mcp_visible(json_at(whole, i)));
		return out;
	}
	if (kind == JV_KIND_OBJECT) {
		jv out = jv_object();
		for (int i = jv_object_iter(whole); jv_object_iter_valid(whole, i); i = jv_object_iter_next(whole, i))
			out = jv_object_set(out, mcp_visible(jv_object_iter_key(whole, i)),
					    mcp_visible(jv_object_iter_value(whole, i)));
		return out;
	}
	return take_jv(&whole);
}

/* The string token of N bytes at TEXT, of a text that was parsed before. */
static int add_string(const char *text, size_t n, struct buf *out, struct sbx_error *err)
{
	auto_buf token = BUF_INIT(n);
	auto_jv string = jv_invalid();

	if (buf_add(&token, text, n, err) < 0 || json_parse(token.data, n, n, &string, err) < 0)
		return -1;
	auto_jv shown = visible_string(string);
	return json_write(shown, out, err);
}

int mcp_compact(const char *bytes, size_t len, struct buf *out, struct sbx_error *err)
{
	auto_jv checked = jv_invalid();

	if (json_parse_foreign(bytes, len, LIMIT_CALL, &checked, err) < 0)
		return -1;
	for (size_t i = 0, n; i < len; i += n) {
		n = strspn(bytes + i, " \t\r\n");
		if (n > 0)
			continue;
		if (bytes[i] != '"') {
			n = strcspn(bytes + i, "\" \t\r\n");
			if (buf_add(out, bytes + i, n, err) < 0)
				return -1;
			continue;
		}
		for (n = 1; bytes[i + n] != '"'; n++)
			n += bytes[i + n] == '\\';
		n++;
		if (add_string(bytes + i, n, out, err) < 0)
			return -1;
	}
	return 0;
}
