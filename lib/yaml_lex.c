/* libyaml's event parser (never its loader) behind the checks that make a policy file mean one thing: one document, no
 * anchors, tags or directives, each key once, no scalar whose type depends on the reader. */
#include "yaml_lex.h"

#include <yaml.h>

#include "hidden.h"
#include "json_out.h"
#include "limit.h"

/* Keys of one mapping are compared with each other, so their number is bounded; no policy comes near. */
enum { KEYS_MAX = 2048 };

struct key {
	char *text;
	size_t line, column;
};

/* One open mapping or list. */
struct level {
	int is_map;
	int wants_key; /* of a mapping: the next scalar is a key */
	struct key *keys;
	size_t key_count, key_cap;
};

struct yaml_lex {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one; owns the item's text */
	int has_event;
	const char *name;
	int started; /* the document has begun */
	int nulls;   /* allowed */
	struct level levels[LIMIT_YAML_DEPTH];
	size_t depth;
};

struct yaml_lex *yaml_lex_new(const char *bytes, size_t len, const char *name, struct sbx_error *err)
{
	static const char bom[] = "\xef\xbb\xbf";

	if (len > LIMIT_YAML) {
		sbx_fail(err, SBX_CONFIG, "yaml_too_large", "%s: more than %zu bytes", name, (size_t)LIMIT_YAML);
		return NULL;
	}
	/* UTF-16 announces itself with FE or FF, which no UTF-8 text holds: the reader refuses it. */
	if (len >= 3 && memcmp(bytes, bom, 3) == 0) {
		sbx_fail(err, SBX_CONFIG, "yaml_character", "%s:1:1: the file begins with a byte order mark", name);
		sbx_hint(err, "save it as UTF-8 without a byte order mark");
		return NULL;
	}
	struct yaml_lex *lex = calloc(1, sizeof *lex);
	if (lex == NULL || !yaml_parser_initialize(&lex->parser)) {
		free(lex);
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	lex->name = name;
	yaml_parser_set_encoding(&lex->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&lex->parser, (const unsigned char *)bytes, len);
	return lex;
}

static void level_clear(struct level *level)
{
	for (size_t i = 0; i < level->key_count; i++)
		free(level->keys[i].text);
	free(level->keys);
	*level = (struct level){.is_map = 0};
}

static void drop_event(struct yaml_lex *lex)
{
	if (lex->has_event)
		yaml_event_delete(&lex->event);
	lex->has_event = 0;
}

void yaml_lex_allow_null(struct yaml_lex *lex)
{
	lex->nulls = 1;
}

void yaml_lex_free(struct yaml_lex *lex)
{
	if (lex == NULL)
		return;
	while (lex->depth > 0)
		level_clear(&lex->levels[--lex->depth]);
	drop_event(lex);
	yaml_parser_delete(&lex->parser);
	free(lex);
}

static int fail_at(const struct yaml_lex *lex, const struct yaml_item *item, struct sbx_error *err, const char *code,
		   const char *message, const char *hint)
{
	sbx_fail(err, SBX_CONFIG, code, "%s:%zu:%zu: %s", lex->name, item->line, item->column, message);
	return hint == NULL ? -1 : sbx_hint(err, "%s", hint);
}

/* What libyaml itself refused. Its texts are fixed strings and quote nothing. */
static int fail_parser(const struct yaml_lex *lex, struct sbx_error *err)
{
	const yaml_parser_t *p = &lex->parser;
	const char *problem = p->problem ? p->problem : "it could not be read";

	if (p->error == YAML_MEMORY_ERROR)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (p->error == YAML_READER_ERROR)
		return sbx_fail(err, SBX_CONFIG, "yaml_character", "%s: at byte %zu: %s", lex->name, p->problem_offset,
				problem);
	return sbx_fail(err, SBX_CONFIG, "yaml_syntax", "%s:%zu:%zu: %s", lex->name, p->problem_mark.line + 1,
			p->problem_mark.column + 1, problem);
}

static int check_characters(const struct yaml_lex *lex, const struct yaml_item *item, const char *text, size_t len,
			    struct sbx_error *err)
{
	for (size_t i = 0; i < len;) {
		uint32_t code_point = 0;
		size_t n = json_out_utf8(text + i, len - i, &code_point);
		int kept = code_point == '\t' || code_point == '\n';
		if (n == 0 || (hidden_character(code_point) && !kept))
			return fail_at(lex, item, err, "yaml_character", "a control or invisible character in a text",
				       NULL);
		i += n;
	}
	return 0;
}

static size_t digits(const char *s)
{
	return strspn(s, "0123456789_");
}

/* 2026-01-01 and whatever follows it. */
static int looks_like_date(const char *s)
{
	static const char digit[] = "0123456789";

	if (strspn(s, digit) != 4 || s[4] != '-')
		return 0;
	size_t month = strspn(s + 5, digit);
	if (month < 1 || month > 2 || s[5 + month] != '-')
		return 0;
	return strspn(s + 6 + month, digit) > 0;
}

/* Some reader of YAML 1.1 or 1.2 takes it for a number: any base, grouping, sexagesimal, fraction, exponent, infinity.
 */
static int looks_like_number(const char *s)
{
	s += *s == '-' || *s == '+';
	if (strcasecmp(s, ".inf") == 0 || strcasecmp(s, ".nan") == 0)
		return 1;
	if (s[0] == '0' && s[1] != '\0' && strchr("xXoObB", s[1]) != NULL)
		return s[2 + strspn(s + 2, "0123456789abcdefABCDEF_")] == '\0';
	if (digits(s) == 0 && !(s[0] == '.' && digits(s + 1) > 0))
		return 0;
	s += digits(s);
	while (*s == ':' && digits(s + 1) > 0)
		s += 1 + digits(s + 1);
	if (*s == '.')
		s += 1 + digits(s + 1);
	if ((*s == 'e' || *s == 'E') && digits(s + 1 + (s[1] == '-' || s[1] == '+')) > 0) {
		s += 1 + (s[1] == '-' || s[1] == '+');
		s += digits(s);
	}
	return *s == '\0';
}

static int looks_like_word(const char *s)
{
	static const char *const words[] = {"",	  "~",	 "null", "y",	  "n",	"yes", "no",
					    "on", "off", "true", "false", "<<", "="};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasecmp(s, words[i]) == 0)
			return 1;
	return 0;
}

/* -?(0|[1-9][0-9]*) within LIMIT_INTEGER. */
static int parse_integer(const char *s, int64_t *number)
{
	int negative = *s == '-';
	int64_t value = 0;

	s += negative;
	if (*s == '\0' || (*s == '0' && (s[1] != '\0' || negative)))
		return -1;
	for (; *s >= '0' && *s <= '9'; s++) {
		value = value * 10 + (*s - '0');
		if (value > LIMIT_INTEGER)
			return -1;
	}
	if (*s != '\0')
		return -1;
	*number = negative ? -value : value;
	return 0;
}

/* The type of a scalar by its style: quoted and block scalars are text, a plain one only when every reader agrees. */
static int classify(const struct yaml_lex *lex, struct yaml_item *item, struct sbx_error *err)
{
	const char *text = item->text;

	item->token = YAML_STRING;
	if (lex->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return 0;
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
		item->token = YAML_BOOLEAN;
		item->number = text[0] == 't';
		return 0;
	}
	if (parse_integer(text, &item->number) == 0) {
		item->token = YAML_INTEGER;
		return 0;
	}
	if (lex->nulls && strcmp(text, "null") == 0) {
		item->token = YAML_NULL;
		return 0;
	}
	if (looks_like_word(text) || looks_like_number(text) || looks_like_date(text))
		return fail_at(lex, item, err, "yaml_quote", "not every YAML reader takes this for the same value",
			       "quote it if text is meant; else write true, false or a decimal integer");
	return 0;
}

static int remember_key(struct yaml_lex *lex, const struct yaml_item *item, struct sbx_error *err)
{
	struct level *level = &lex->levels[lex->depth - 1];

	for (size_t i = 0; i < level->key_count; i++) {
		if (strcmp(level->keys[i].text, item->text) != 0)
			continue;
		sbx_fail(err, SBX_CONFIG, "yaml_duplicate_key", "%s:%zu:%zu: this key stands at %zu:%zu already",
			 lex->name, item->line, item->column, level->keys[i].line, level->keys[i].column);
		return sbx_hint(err, "remove one of the two");
	}
	if (level->key_count >= KEYS_MAX)
		return fail_at(lex, item, err, "yaml_too_large", "too many keys in one mapping", NULL);
	if (level->key_count == level->key_cap) {
		size_t cap = level->key_cap ? level->key_cap * 2 : 16;
		struct key *keys = reallocarray(level->keys, cap, sizeof *keys);
		if (keys == NULL)
			return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		level->keys = keys;
		level->key_cap = cap;
	}
	char *copy = strdup(item->text);
	if (copy == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	level->keys[level->key_count++] = (struct key){.text = copy, .line = item->line, .column = item->column};
	return 0;
}

static int take_scalar(struct yaml_lex *lex, struct yaml_item *item, struct sbx_error *err)
{
	struct level *level = lex->depth > 0 ? &lex->levels[lex->depth - 1] : NULL;
	size_t len = lex->event.data.scalar.length;

	item->text = (const char *)lex->event.data.scalar.value;
	if (lex->event.data.scalar.anchor != NULL)
		return fail_at(lex, item, err, "yaml_anchor", "anchors are not supported", "write the value out");
	if (lex->event.data.scalar.tag != NULL)
		return fail_at(lex, item, err, "yaml_tag", "tags are not supported", "remove the tag");
	if (check_characters(lex, item, item->text, len, err) < 0 || classify(lex, item, err) < 0)
		return -1;
	if (level == NULL || !level->is_map)
		return 0;
	if (!level->wants_key) {
		level->wants_key = 1;
		return 0;
	}
	level->wants_key = 0;
	if (item->token != YAML_STRING)
		return fail_at(lex, item, err, "yaml_quote", "a key that is no text", "quote it");
	item->token = YAML_KEY;
	return remember_key(lex, item, err);
}

static int open_level(struct yaml_lex *lex, struct yaml_item *item, int is_map, const unsigned char *anchor,
		      const unsigned char *tag, struct sbx_error *err)
{
	struct level *level = lex->depth > 0 ? &lex->levels[lex->depth - 1] : NULL;

	if (anchor != NULL)
		return fail_at(lex, item, err, "yaml_anchor", "anchors are not supported", "write the value out");
	if (tag != NULL)
		return fail_at(lex, item, err, "yaml_tag", "tags are not supported", "remove the tag");
	if (level != NULL && level->is_map) {
		if (level->wants_key)
			return fail_at(lex, item, err, "yaml_key", "a key must be a text", NULL);
		level->wants_key = 1;
	}
	if (lex->depth >= LIMIT_YAML_DEPTH)
		return fail_at(lex, item, err, "yaml_depth", "nested too deeply", NULL);
	lex->levels[lex->depth++] = (struct level){.is_map = is_map, .wants_key = is_map};
	item->token = is_map ? YAML_MAP_OPEN : YAML_LIST_OPEN;
	return 0;
}

static int close_level(struct yaml_lex *lex, struct yaml_item *item)
{
	struct level *level = &lex->levels[--lex->depth];

	item->token = level->is_map ? YAML_MAP_CLOSE : YAML_LIST_CLOSE;
	level_clear(level);
	return 0;
}

static int start_document(struct yaml_lex *lex, const struct yaml_item *item, struct sbx_error *err)
{
	if (lex->started)
		return fail_at(lex, item, err, "yaml_documents", "a second document", "one file holds one document");
	if (lex->event.data.document_start.version_directive != NULL ||
	    lex->event.data.document_start.tag_directives.start != lex->event.data.document_start.tag_directives.end)
		return fail_at(lex, item, err, "yaml_directive", "directives are not supported",
			       "remove the line with %");
	lex->started = 1;
	return 0;
}

/* One event into ITEM: 1 when it is a token, 0 when it is none, -1 on error. */
static int take_event(struct yaml_lex *lex, struct yaml_item *item, struct sbx_error *err)
{
	const yaml_event_t *e = &lex->event;

	switch (e->type) {
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	case YAML_DOCUMENT_START_EVENT:
		return start_document(lex, item, err);
	case YAML_STREAM_END_EVENT:
		if (!lex->started)
			return fail_at(lex, item, err, "yaml_documents", "the file holds nothing", NULL);
		item->token = YAML_END;
		return 1;
	case YAML_ALIAS_EVENT:
		return fail_at(lex, item, err, "yaml_anchor", "aliases are not supported", "write the value out");
	case YAML_SCALAR_EVENT:
		return take_scalar(lex, item, err) < 0 ? -1 : 1;
	case YAML_SEQUENCE_START_EVENT:
		return open_level(lex, item, 0, e->data.sequence_start.anchor, e->data.sequence_start.tag, err) < 0 ? -1
														    : 1;
	case YAML_MAPPING_START_EVENT:
		return open_level(lex, item, 1, e->data.mapping_start.anchor, e->data.mapping_start.tag, err) < 0 ? -1
														  : 1;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_level(lex, item) < 0 ? -1 : 1;
	}
	return sbx_fail(err, SBX_BUG, "bug", "libyaml gave an event that is unknown");
}

int yaml_lex_next(struct yaml_lex *lex, struct yaml_item *item, struct sbx_error *err)
{
	for (;;) {
		drop_event(lex);
		if (!yaml_parser_parse(&lex->parser, &lex->event))
			return fail_parser(lex, err);
		lex->has_event = 1;
		*item = (struct yaml_item){
			.line = lex->event.start_mark.line + 1,
			.column = lex->event.start_mark.column + 1,
		};
		int taken = take_event(lex, item, err);
		if (taken != 0)
			return taken < 0 ? -1 : 0;
	}
}
