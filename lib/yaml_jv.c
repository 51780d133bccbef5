/* Tokens of a strict YAML document put together as one JSON value. */
#include "yaml_jv.h"

#include "io.h"
#include "yaml_lex.h"

static int build(struct yaml_lex *lex, const struct yaml_item *first, jv *out, struct sbx_error *err);

/* The next value of LEX: 1 and *VALUE, or 0 at CLOSE. */
static int next_value(struct yaml_lex *lex, enum yaml_token close, jv *value, struct sbx_error *err)
{
	struct yaml_item item;

	if (yaml_lex_next(lex, &item, err) < 0)
		return -1;
	if (item.token == close)
		return 0;
	return build(lex, &item, value, err) < 0 ? -1 : 1;
}

static int build_list(struct yaml_lex *lex, jv *out, struct sbx_error *err)
{
	auto_jv list = jv_array();
	jv element = jv_invalid();
	int more;

	while ((more = next_value(lex, YAML_LIST_CLOSE, &element, err)) == 1)
		list = json_append(take_jv(&list), take_jv(&element));
	if (more < 0)
		return -1;
	*out = take_jv(&list);
	return 0;
}

static int build_map(struct yaml_lex *lex, jv *out, struct sbx_error *err)
{
	auto_jv map = jv_object();

	for (;;) {
		struct yaml_item item;
		if (yaml_lex_next(lex, &item, err) < 0)
			return -1;
		if (item.token == YAML_MAP_CLOSE)
			break;
		auto_free char *key = strdup(item.text); /* the lexer's text goes with the next token */
		if (key == NULL)
			return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		jv value = jv_invalid();
		if (next_value(lex, YAML_END, &value, err) != 1)
			return -1;
		map = json_set(take_jv(&map), key, take_jv(&value));
	}
	*out = take_jv(&map);
	return 0;
}

static int build(struct yaml_lex *lex, const struct yaml_item *first, jv *out, struct sbx_error *err)
{
	switch (first->token) {
	case YAML_MAP_OPEN:
		return build_map(lex, out, err);
	case YAML_LIST_OPEN:
		return build_list(lex, out, err);
	case YAML_STRING:
		*out = jv_string(first->text);
		return 0;
	case YAML_INTEGER:
		*out = jv_number((double)first->number);
		return 0;
	case YAML_BOOLEAN:
		*out = first->number ? jv_true() : jv_false();
		return 0;
	case YAML_NULL:
	case YAML_KEY:
	case YAML_MAP_CLOSE:
	case YAML_LIST_CLOSE:
	case YAML_END:
		break;
	}
	return sbx_fail(err, SBX_BUG, "bug", "a YAML token stands where a value belongs");
}

int yaml_jv_parse(const char *bytes, size_t len, const char *name, jv *out, struct sbx_error *err)
{
	auto_yaml_lex *lex = yaml_lex_new(bytes, len, name, err);
	auto_jv value = jv_invalid();
	struct yaml_item item;

	*out = jv_invalid();
	if (lex == NULL || yaml_lex_next(lex, &item, err) < 0 || build(lex, &item, &value, err) < 0)
		return -1;
	/* Trailing junk shows only with the event behind the document's end. */
	if (yaml_lex_next(lex, &item, err) < 0)
		return -1;
	*out = take_jv(&value);
	return 0;
}

int yaml_jv_file(int dirfd, const char *name, jv *out, char **bytes, size_t *len, struct sbx_error *err)
{
	auto_free char *text = NULL;
	size_t n = 0;

	*out = jv_invalid();
	if (io_read_file(dirfd, name, LIMIT_YAML, IO_TRUSTED, &text, &n, err) < 0) {
		/* A settings file that is missing or too large is a fault of the installation, whatever io calls it. */
		err->class = SBX_CONFIG;
		return -1;
	}
	if (yaml_jv_parse(text, n, name, out, err) < 0)
		return -1;
	if (bytes != NULL)
		*bytes = take_ptr(&text);
	if (len != NULL)
		*len = n;
	return 0;
}
