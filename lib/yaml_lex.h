/* Strict YAML as a stream of tokens: the only includer of libyaml. The accepted subset and the refusals are those of
 * yaml_jv.h; everything that makes two YAML readers disagree about a file is an error here. */
#ifndef SBX_YAML_LEX_H
#define SBX_YAML_LEX_H

#include <stdint.h>

#include "base.h"
#include "error.h"

enum yaml_token {
	YAML_END, /* the one document is complete and nothing follows */
	YAML_MAP_OPEN,
	YAML_MAP_CLOSE,
	YAML_LIST_OPEN,
	YAML_LIST_CLOSE,
	YAML_KEY,     /* text: each once in a mapping */
	YAML_STRING,  /* text: without control characters but tab and line feed */
	YAML_INTEGER, /* number: within LIMIT_INTEGER */
	YAML_BOOLEAN, /* number: 1 or 0 */
	YAML_NULL,    /* plain null, after yaml_lex_allow_null */
};

struct yaml_item {
	enum yaml_token token;
	const char *text; /* UTF-8, no NUL in it; valid until the next call */
	int64_t number;
	size_t line, column; /* counted from 1 */
};

struct yaml_lex;

/* Over a block that must outlive it; NAME stands in messages and must outlive it too. NULL with "yaml_too_large",
 * "no_memory". */
struct yaml_lex *yaml_lex_new(const char *bytes, size_t len, const char *name, struct sbx_error *err);
void yaml_lex_free(struct yaml_lex *lex); /* NULL is fine */
/* For a file that other programs write, and that has null for what is not there: as a value it is a token. Every reader takes
 * it for the same; of files that people write for us it is refused, for a text may have been meant. */
void yaml_lex_allow_null(struct yaml_lex *lex);

/* The next token; -1 with class 78 and "NAME:LINE:COLUMN: …": "yaml_syntax", "yaml_anchor", "yaml_tag",
 * "yaml_directive", "yaml_documents", "yaml_key", "yaml_duplicate_key", "yaml_quote" (a plain scalar that is not text
 * to every reader), "yaml_character", "yaml_depth", "yaml_too_large". After an error only yaml_lex_free may follow. */
int yaml_lex_next(struct yaml_lex *lex, struct yaml_item *item, struct sbx_error *err);

static inline void yaml_lex_free_at(struct yaml_lex **lex)
{
	yaml_lex_free(*lex);
}
#define auto_yaml_lex __attribute__((cleanup(yaml_lex_free_at))) struct yaml_lex

#endif
