/* Values for people: short, and in characters that are what they look like. */
#include "plan_value.h"

#include <string.h>

#include "json_out.h"

static void put(struct plan_value *v, const char *bytes, size_t len)
{
	size_t room = sizeof v->bytes - v->kept, take = len < room ? len : room;

	memcpy(v->bytes + v->kept, bytes, take);
	v->kept += take;
	v->is_short |= take < len;
}

static void put_string(struct plan_value *v, const char *text, size_t len)
{
	put(v, "\"", 1);
	for (size_t i = 0; i < len && !v->is_short; i++) {
		if (text[i] == '"' || text[i] == '\\')
			put(v, "\\", 1);
		if (text[i] == '\n')
			put(v, "\\n", 2);
		else
			put(v, text + i, 1);
	}
	put(v, "\"", 1);
}

/* NODE as JSON; stops as soon as there is no more room, so that a large value costs no more than a small one. */
static void put_json(struct plan_value *v, const struct plan_tree *tree, const struct plan_node *node)
{
	static const char *const words[] = {
		[PLAN_NULL] = "null", [PLAN_FALSE] = "false", [PLAN_TRUE] = "true", [PLAN_NUMBER] = ""};

	if (node->kind == PLAN_STRING) {
		put_string(v, plan_tree_text(tree, node), node->len);
		return;
	}
	if (node->kind == PLAN_NUMBER) {
		put(v, plan_tree_text(tree, node), node->len);
		return;
	}
	if (node->kind != PLAN_ARRAY && node->kind != PLAN_OBJECT) {
		put(v, words[node->kind], strlen(words[node->kind]));
		return;
	}
	put(v, node->kind == PLAN_ARRAY ? "[" : "{", 1);
	const struct plan_node *first = plan_tree_first(tree, node), *child = first;
	for (; child != NULL && !v->is_short; child = plan_tree_behind(tree, node, child)) {
		if (child != first)
			put(v, ",", 1);
		if (node->kind == PLAN_OBJECT) {
			put_string(v, plan_tree_name(tree, child), child->key_len);
			put(v, ":", 1);
		}
		put_json(v, tree, child);
	}
	put(v, node->kind == PLAN_ARRAY ? "]" : "}", 1);
}

void plan_value_take(struct plan_value *v, const struct plan_tree *tree, const struct plan_node *node)
{
	v->how = node == NULL || node->kind == PLAN_NULL ? PLAN_VALUE_ABSENT : PLAN_VALUE_PLAIN;
	v->is_text = node != NULL && node->kind == PLAN_STRING;
	v->is_short = 0;
	v->kept = 0;
	if (v->how == PLAN_VALUE_ABSENT)
		return;
	if (v->is_text)
		put(v, plan_tree_text(tree, node), node->len);
	else
		put_json(v, tree, node);
}

void plan_value_take_text(struct plan_value *v, const char *text, size_t len)
{
	*v = (struct plan_value){.how = PLAN_VALUE_PLAIN, .is_text = 1};
	put(v, text, len);
}

int plan_value_is_hidden(const struct plan_value *v, const struct plan_secrets *secrets)
{
	return v->how == PLAN_VALUE_SENSITIVE ||
	       (v->how == PLAN_VALUE_PLAIN && plan_secrets_in(secrets, v->bytes, v->kept));
}

/* One character above ASCII, or one byte that is none. */
static int put_escape(struct buf *out, const char *text, size_t len, size_t *taken, struct sbx_error *err)
{
	uint32_t c = 0;

	*taken = json_out_utf8(text, len, &c);
	if (*taken == 0) {
		*taken = 1;
		return buf_add_str(out, "\\ufffd", err);
	}
	if (c < 0x10000)
		return buf_addf(out, err, "\\u%04x", (unsigned)c);
	c -= 0x10000;
	return buf_addf(out, err, "\\u%04x\\u%04x", (unsigned)(0xd800 + (c >> 10)), (unsigned)(0xdc00 + (c & 0x3ff)));
}

static int put_ascii(struct buf *out, const char *text, size_t len, const char *escaped, struct sbx_error *err)
{
	size_t taken = 1;

	for (size_t i = 0; i < len; i += taken) {
		int plain = text[i] >= 0x20 && text[i] < 0x7f, result;
		taken = 1;
		if (plain && strchr(escaped, text[i]) == NULL)
			result = buf_add(out, text + i, 1, err);
		else if (plain)
			result = buf_addf(out, err, "\\%c", text[i]);
		else if (text[i] == '\n' || text[i] == '\t')
			result = buf_add_str(out, text[i] == '\n' ? "\\n" : "\\t", err);
		else
			result = put_escape(out, text + i, len - i, &taken, err);
		if (result < 0)
			return -1;
	}
	return 0;
}

int plan_value_quote(struct buf *out, const char *text, size_t len, struct sbx_error *err)
{
	if (buf_add(out, "\"", 1, err) < 0 || put_ascii(out, text, len, "\"\\", err) < 0)
		return -1;
	return buf_add(out, "\"", 1, err);
}

/* Up to PLAN_VALUE_SHOWN bytes that do not split a character. */
static size_t shown_length(const struct plan_value *v)
{
	size_t len = v->kept;

	if (!v->is_short && len <= PLAN_VALUE_SHOWN)
		return len;
	if (len > PLAN_VALUE_SHOWN)
		len = PLAN_VALUE_SHOWN;
	while (len > 0 && len < v->kept && ((unsigned char)v->bytes[len] & 0xc0) == 0x80)
		len--;
	return len;
}

int plan_value_show(const struct plan_value *v, const struct plan_secrets *secrets, struct buf *out,
		    struct sbx_error *err)
{
	size_t shown = shown_length(v);

	if (v->how == PLAN_VALUE_ABSENT)
		return buf_add_str(out, "(nothing)", err);
	if (v->how == PLAN_VALUE_UNKNOWN)
		return buf_add_str(out, "(known after apply)", err);
	if (v->how == PLAN_VALUE_COMPUTED)
		return buf_add_str(out, "(computed)", err);
	if (v->how == PLAN_VALUE_SENSITIVE ||
	    (v->how != PLAN_VALUE_OPEN && plan_secrets_in(secrets, v->bytes, v->kept)))
		return buf_add_str(out, "(sensitive)", err);
	if (v->how == PLAN_VALUE_FROM && buf_add_str(out, "from ", err) < 0)
		return -1;
	if (v->is_text ? plan_value_quote(out, v->bytes, shown, err) : put_ascii(out, v->bytes, shown, "", err))
		return -1;
	return shown < v->kept || v->is_short ? buf_add_str(out, "...", err) : 0;
}
