/* What the two passes of plan_read.c share: a cursor over the tokens of a plan that refuses wrong kinds with a place,
 * and sets and lists of hashes, so that memory grows by 8 bytes for an address and not by the address. */
#ifndef SBX_PLAN_SCAN_H
#define SBX_PLAN_SCAN_H

#include "buf.h"
#include "digest.h"
#include "hash_set.h"
#include "json_lex.h"
#include "key_hash.h"

/* A list that grows. Zeroed is empty. "no_memory" (71). */
struct plan_list {
	uint64_t *items; /* owned */
	size_t count, cap;
};
int plan_list_add(struct plan_list *list, uint64_t item, struct sbx_error *err);
void plan_list_clear(struct plan_list *list);

struct plan_scan {
	struct json_lex *lex;	     /* borrowed */
	const struct key_seed *seed; /* borrowed: the same in both passes */
	enum json_token token;	     /* the last one, with its text as json_lex_next says */
	const char *text;
	size_t len;
	/* Borrowed; NULL, or every token that is read or passed over from now on is added to it: its kind, and the
	 * length and bytes of a text. White space and escapes make no difference. */
	struct digest *effect;
};

/* Fill ERR with CODE (65) and "WHAT at LINE:COLUMN" of the last token; -1. */
int plan_refuse(const struct plan_scan *s, const char *code, const char *what, struct sbx_error *err);

/* The next token; and the next one, which must be EXPECTED, else "plan_kind": WHAT names what was read. */
void plan_add_token(const struct plan_scan *s); /* the last one to its effect */
static inline int plan_next(struct plan_scan *s, struct sbx_error *err)
{
	if (json_lex_next(s->lex, &s->token, &s->text, &s->len, err) < 0)
		return -1;
	if (s->effect != NULL)
		plan_add_token(s);
	return 0;
}
int plan_expect(struct plan_scan *s, enum json_token expected, const char *what, struct sbx_error *err);

/* Inside an object: 1 when a key was read, 0 at its end. Inside an array: 1 when the first token of an element was
 * read, 0 at its end. */
int plan_key(struct plan_scan *s, struct sbx_error *err);
int plan_element(struct plan_scan *s, struct sbx_error *err);

/* 1 when the text of the last token is exactly NAME; and its place among COUNT names, or -1. */
static inline int plan_is(const struct plan_scan *s, const char *name)
{
	size_t len = strlen(name);

	return len == s->len && memcmp(name, s->text, len) == 0;
}
int plan_name(const struct plan_scan *s, const char *const *names, size_t count);

/* Right behind a key: pass its value over; or read it as text into OUT (made empty first), or as a truth value. */
int plan_skip(struct plan_scan *s, struct sbx_error *err);
int plan_string(struct plan_scan *s, struct buf *out, const char *what, struct sbx_error *err);
int plan_bool(struct plan_scan *s, int *out, const char *what, struct sbx_error *err);

/* The last token began a value: pass over what is left of it (nothing for a scalar). */
int plan_skip_rest(struct plan_scan *s, struct sbx_error *err);

/* In a first pass over a document: the value that began at BEGIN (json_lex_offset) was read; add it to SPANS when it is
 * long. In a second one over the same bytes, in place of plan_skip: pass over a value that is in SPANS without reading
 * it again. Whoever does so must see that the bytes are the same (plan_input.h). */
int plan_note_span(const struct plan_scan *s, struct plan_list *spans, uint64_t begin, struct sbx_error *err);
int plan_skip_known(struct plan_scan *s, const struct plan_list *spans, struct sbx_error *err);

/* Hash of the text of the last token behind START. */
uint64_t plan_hash(const struct plan_scan *s, uint64_t start);

#endif
