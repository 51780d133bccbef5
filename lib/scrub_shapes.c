/* Matching the shapes of credentials (scrub_table.c). */
#include "scrub_shapes.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "scrub_table.h"

#define USERINFO_LONGEST 512
#define BETWEEN_LONGEST 8
#define KEY_LABEL_LONGEST 48 /* "ENCRYPTED PRIVATE KEY" and room for what comes */
#define KEY_LONGEST                                                                                                    \
	((size_t)16 << 10) /* PEM of 16384 bits of RSA is 13 KB; a key without an end must not hide a whole output */
/* Where the inside of a base64 text must begin to show, and the first digit of a value: bounds the work for texts that
 * only begin like a token. */
#define DECODE_LONGEST 1024
#define DIGIT_WITHIN 64
#define JWT_PARTS 3
#define JWE_PARTS 5
#define JWT_PAYLOAD_LEAST 10 /* {"a":""} is 8 bytes, 11 characters */

static int in_set(unsigned set, char c)
{
	return (scrub_sets[(unsigned char)c] & set) != 0;
}

static size_t run_of(unsigned set, const char *p, size_t len)
{
	size_t n = 0;

	while (n < len && in_set(set, p[n]))
		n++;
	return n;
}

enum verdict { VERDICT_NO, VERDICT_HIT, VERDICT_OPEN /* depends on bytes that are still to come */ };

struct text {
	const char *p;
	size_t len;
	enum shapes_more more;
};

struct hit {
	size_t keep;	  /* bytes before the secret part that stay */
	size_t len;	  /* of all */
	unsigned swallow; /* the run touches the end of the text: what follows may belong to it */
	size_t dead;	  /* VERDICT_NO of a JWT: no other can begin before this offset */
};

static enum verdict open_end(const struct text *t)
{
	return t->more == SHAPES_MORE_COMES ? VERDICT_OPEN : VERDICT_NO;
}

static enum verdict prefix_at(const struct shape *shape, const struct text *t)
{
	size_t n = strlen(shape->prefix), seen = t->len < n ? t->len : n;
	int differs =
		shape->flags & ANY_CASE ? strncasecmp(t->p, shape->prefix, seen) : memcmp(t->p, shape->prefix, seen);

	return differs ? VERDICT_NO : seen < n ? open_end(t) : VERDICT_HIT;
}

static enum verdict take(const struct text *t, struct hit *hit, size_t keep, size_t len, unsigned set)
{
	*hit = (struct hit){.keep = keep, .len = len, .swallow = len == t->len ? set : 0};
	return VERDICT_HIT;
}

static enum verdict match_run(const struct shape *shape, const struct text *t, struct hit *hit)
{
	size_t prefix = strlen(shape->prefix), left = t->len - prefix;
	size_t n = run_of(shape->set, t->p + prefix, shape->most && left > shape->most ? shape->most + 1 : left);

	if (shape->most && n > shape->most)
		return VERDICT_NO;
	if (prefix + n == t->len && t->more == SHAPES_MORE_COMES)
		return VERDICT_OPEN;
	if (n < shape->least)
		return VERDICT_NO;
	if (shape->flags & END_BOUNDARY && prefix + n < t->len && in_set(SET_WORD, t->p[prefix + n]))
		return VERDICT_NO;
	return take(t, hit, 0, prefix + n, shape->set);
}

/* Header, payload and signature; or the five parts of an encrypted token. A token that was cut behind its payload is
 * hidden as well. */
static enum verdict match_jwt(const struct shape *shape, const struct text *t, struct hit *hit)
{
	size_t end = run_of(shape->set, t->p, t->len), parts = 1, most = JWE_PARTS;

	*hit = (struct hit){.dead = end};
	if (end == t->len && t->more == SHAPES_MORE_COMES)
		return VERDICT_OPEN;
	if (end < shape->least)
		return VERDICT_NO;
	while (parts < most && end < t->len && t->p[end] == '.') {
		const char *part = t->p + end + 1;
		size_t n = run_of(shape->set, part, t->len - end - 1);
		if (end + 1 + n == t->len && t->more == SHAPES_MORE_COMES)
			return VERDICT_OPEN;
		if (parts == 1 && n >= JWT_PAYLOAD_LEAST && memcmp(part, shape->prefix, strlen(shape->prefix)) == 0)
			most = JWT_PARTS;
		parts++;
		end += 1 + n;
	}
	if (most == JWE_PARTS && parts < JWE_PARTS)
		return VERDICT_NO;
	return take(t, hit, 0, end, shape->set);
}

static int base64_value(char c)
{
	return isupper((unsigned char)c)   ? c - 'A'
	       : islower((unsigned char)c) ? c - 'a' + 26
	       : isdigit((unsigned char)c) ? c - '0' + 52
	       : c == '+'		   ? 62
	       : c == '/'		   ? 63
					   : -1;
}

static size_t decode(const char *p, size_t len, char *out)
{
	unsigned bits = 0;
	size_t n = 0;

	for (size_t i = 0; i < len && base64_value(p[i]) >= 0; i++) {
		bits = bits << 6 | (unsigned)base64_value(p[i]);
		if (i % 4 != 0)
			out[n++] = (char)(bits >> (6 - 2 * (i % 4)));
	}
	return n;
}

static enum verdict match_encoded(const struct shape *shape, const struct text *t, struct hit *hit)
{
	char plain[DECODE_LONGEST];
	size_t decoded = decode(t->p, t->len < sizeof plain ? t->len : sizeof plain, plain);
	int found = memmem(plain, decoded, shape->inside, strlen(shape->inside)) != NULL;

	explicit_bzero(plain, sizeof plain);
	if (!found)
		return t->len < DECODE_LONGEST && run_of(shape->set, t->p, t->len) == t->len ? open_end(t) : VERDICT_NO;
	size_t n = run_of(shape->set, t->p, t->len);
	if (n == t->len && t->more == SHAPES_MORE_COMES)
		return VERDICT_OPEN;
	return n < shape->least ? VERDICT_NO : take(t, hit, 0, n, shape->set);
}

/* "-----BEGIN … PRIVATE KEY-----": what follows is swallowed up to the END line. */
static enum verdict match_key(const struct shape *shape, const struct text *t, struct hit *hit)
{
	static const char what[] = "PRIVATE KEY-----", open_ssh[] = "PRIVATE KEY BLOCK-----";
	size_t prefix = strlen(shape->prefix);
	size_t seen = t->len - prefix < KEY_LABEL_LONGEST ? t->len - prefix : KEY_LABEL_LONGEST;
	const char *label = t->p + prefix, *dashes = memmem(label, seen, "-----", 5);

	if (dashes == NULL)
		return seen < KEY_LABEL_LONGEST ? open_end(t) : VERDICT_NO;
	size_t len = (size_t)(dashes - label) + 5;
	if (memmem(label, len, what, sizeof what - 1) == NULL &&
	    memmem(label, len, open_ssh, sizeof open_ssh - 1) == NULL)
		return VERDICT_NO;
	*hit = (struct hit){.len = prefix + len};
	return VERDICT_HIT;
}

static int is_scheme(const char *p, size_t len)
{
	static const char *const schemes[] = {"bearer", "basic", "token", "digest", "negotiate"};

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (strlen(schemes[i]) == len && strncasecmp(p, schemes[i], len) == 0)
			return 1;
	return 0;
}

static int has_digit(const char *p, size_t len)
{
	for (size_t i = 0; i < len && i < DIGIT_WITHIN; i++)
		if (isdigit((unsigned char)p[i]))
			return 1;
	return 0;
}

static enum verdict match_value(const struct shape *shape, const struct text *t, struct hit *hit)
{
	size_t at = strlen(shape->prefix), between = run_of(SET_BETWEEN, t->p + at, t->len - at);

	if (between > BETWEEN_LONGEST)
		return VERDICT_NO;
	if (at + between == t->len)
		return open_end(t);
	if (between == 0 || (!(shape->flags & SPACE_IS_ENOUGH) && memchr(t->p + at, ':', between) == NULL &&
			     memchr(t->p + at, '=', between) == NULL))
		return VERDICT_NO;
	at += between;
	size_t left = t->len - at;
	size_t n = run_of(shape->set, t->p + at, left < DIGIT_WITHIN ? left : DIGIT_WITHIN);
	if (is_scheme(t->p + at, n) && at + n < t->len && t->p[at + n] == ' ') {
		at += n + 1;
		n = run_of(shape->set, t->p + at, t->len - at);
	}
	if (at + n == t->len && t->more == SHAPES_MORE_COMES)
		return VERDICT_OPEN;
	if (n < shape->least || (shape->flags & NEEDS_DIGIT && !has_digit(t->p + at, n)))
		return VERDICT_NO;
	n += run_of(shape->set, t->p + at + n, t->len - at - n);
	if (at + n == t->len && t->more == SHAPES_MORE_COMES)
		return VERDICT_OPEN;
	return take(t, hit, at, at + n, shape->set);
}

static enum verdict match_userinfo(const struct shape *shape, const struct text *t, struct hit *hit)
{
	size_t at = strlen(shape->prefix), left = t->len - at;
	size_t n = run_of(shape->set, t->p + at, left < USERINFO_LONGEST ? left : USERINFO_LONGEST);

	if (n == left)
		return open_end(t);
	const char *colon = memchr(t->p + at, ':', n);
	if (t->p[at + n] != '@' || colon == NULL || (size_t)(colon - (t->p + at)) + 1 == n)
		return VERDICT_NO;
	return take(t, hit, at, at + n, 0);
}

static enum verdict match(const struct shape *shape, const struct text *t, unsigned char prev, struct hit *hit)
{
	enum verdict verdict = prefix_at(shape, t);

	if (verdict == VERDICT_NO || (shape->flags & AT_BOUNDARY && in_set(SET_WORD, (char)prev)) ||
	    (shape->flags & RUN_BOUNDARY && prev != '=' && in_set(shape->set, (char)prev)))
		return VERDICT_NO;
	if (verdict == VERDICT_OPEN)
		return VERDICT_OPEN;
	switch (shape->kind) {
	case KIND_RUN:
		return match_run(shape, t, hit);
	case KIND_JWT:
		return match_jwt(shape, t, hit);
	case KIND_KEY:
		return match_key(shape, t, hit);
	case KIND_ENCODED:
		return match_encoded(shape, t, hit);
	case KIND_VALUE:
		return match_value(shape, t, hit);
	case KIND_USERINFO:
		return match_userinfo(shape, t, hit);
	}
	return VERDICT_NO;
}

static int may_begin(const char *p, size_t len, enum shapes_more more)
{
	if (!scrub_may_begin((unsigned char)p[0]))
		return 0;
	return len == 1 ? more == SHAPES_MORE_COMES : scrub_may_begin_with((unsigned char)p[0], (unsigned char)p[1]);
}

/* The first shape of the table that is there; an open one waits even if a later one hits, since it may turn out to be
 * longer. JWT_DEAD: a JWT cannot begin here, as one that was tried before says; without that, a text of nothing but
 * "eyJ" would take quadratic time. */
static enum verdict match_any(const struct text *t, unsigned char prev, int jwt_dead, const struct shape **shape,
			      struct hit *hit, size_t *dead)
{
	for (size_t i = 0; i < scrub_table_size; i++) {
		if (scrub_table[i].prefix[0] != t->p[0] &&
		    (!(scrub_table[i].flags & ANY_CASE) || scrub_table[i].prefix[0] != tolower((unsigned char)t->p[0])))
			continue;
		if (scrub_table[i].kind == KIND_JWT && jwt_dead)
			continue;
		enum verdict verdict = match(&scrub_table[i], t, prev, hit);
		if (verdict == VERDICT_OPEN && t->len >= SHAPES_HOLD) {
			struct text whole = {t->p, t->len, SHAPES_LAST};
			verdict = match(&scrub_table[i], &whole, prev, hit);
		}
		*shape = &scrub_table[i];
		if (verdict != VERDICT_NO)
			return verdict;
		if (scrub_table[i].kind == KIND_JWT && hit->dead > 0)
			*dead = hit->dead;
		*hit = (struct hit){.len = 0};
	}
	return VERDICT_NO;
}

/* Within a private key: how many bytes are part of it. *OPEN: the rest cannot be decided yet. */
static size_t swallow_key(struct shapes *shapes, const char *p, size_t len, enum shapes_more more, int *open)
{
	static const char end_mark[] = "-----END ";
	size_t i = 0;

	*open = 0;
	for (; i < len && in_set(SET_KEY, p[i]) && shapes->in_key_bytes < KEY_LONGEST; i++, shapes->in_key_bytes++) {
		size_t left = len - i, seen = left < sizeof end_mark - 1 ? left : sizeof end_mark - 1;
		if (p[i] != '-' || memcmp(p + i, end_mark, seen) != 0)
			continue;
		size_t label = left - seen < KEY_LABEL_LONGEST ? left - seen : KEY_LABEL_LONGEST;
		const char *dashes = seen < sizeof end_mark - 1 ? NULL : memmem(p + i + seen, label, "-----", 5);
		if (dashes == NULL && label < KEY_LABEL_LONGEST && more == SHAPES_MORE_COMES) {
			*open = 1;
			return i;
		}
		if (dashes != NULL) {
			shapes->in_key = 0;
			return (size_t)(dashes - p) + 5;
		}
	}
	if (i < len || more == SHAPES_LAST)
		shapes->in_key = 0;
	return i;
}

/* What is left of a token or a key whose replacement was written before. 1: it goes on behind this text. */
static int swallow(struct shapes *shapes, const char *p, size_t len, enum shapes_more more, size_t *at)
{
	int open = 0;

	if (shapes->in_key) {
		*at += swallow_key(shapes, p + *at, len - *at, more, &open);
		return open || shapes->in_key;
	}
	if (shapes->swallow) {
		*at += run_of(shapes->swallow, p + *at, len - *at);
		if (*at == len)
			return 1;
		shapes->swallow = 0;
	}
	return 0;
}

static int replace(struct shapes *shapes, const struct shape *shape, const char *p, const struct hit *hit,
		   struct buf *out, struct sbx_error *err)
{
	if (buf_add(out, p, hit->keep, err) < 0 || buf_addf(out, err, "[REDACTED:%s]", shape->label) < 0)
		return -1;
	shapes->swallow = hit->swallow;
	if (shape->kind == KIND_KEY) {
		shapes->in_key = 1;
		shapes->in_key_bytes = 0;
	}
	return 0;
}

int shapes_scan(struct shapes *shapes, const char *bytes, size_t len, enum shapes_more more, size_t *used,
		struct buf *out, struct sbx_error *err)
{
	size_t at = 0, plain = 0, jwt_dead = 0;
	unsigned char prev = shapes->prev;

	scrub_table_prepare();
	if (swallow(shapes, bytes, len, more, &at))
		goto done;
	for (plain = at; at < len;) {
		const struct text t = {bytes + at, len - at, more};
		const struct shape *shape = NULL;
		struct hit hit = {.len = 0};
		size_t dead = 0;
		enum verdict verdict = VERDICT_NO;
		if (at > 0)
			prev = (unsigned char)bytes[at - 1];
		if (may_begin(t.p, t.len, more))
			verdict = match_any(&t, prev, at < jwt_dead, &shape, &hit, &dead);
		if (dead > 0)
			jwt_dead = at + dead;
		if (verdict == VERDICT_NO) {
			at++;
			continue;
		}
		if (buf_add(out, bytes + plain, at - plain, err) < 0)
			return -1;
		plain = at;
		if (verdict == VERDICT_OPEN)
			goto done;
		if (replace(shapes, shape, t.p, &hit, out, err) < 0)
			return -1;
		at += hit.len;
		plain = at;
		if (swallow(shapes, bytes, len, more, &at))
			goto done;
		plain = at;
	}
	if (buf_add(out, bytes + plain, at - plain, err) < 0)
		return -1;
done:
	if (at > 0)
		shapes->prev = (unsigned char)bytes[at - 1];
	*used = at;
	return 0;
}

int shapes_in(const char *bytes, size_t len)
{
	size_t jwt_dead = 0;

	scrub_table_prepare();
	for (size_t at = 0; at < len; at++) {
		const struct text t = {bytes + at, len - at, SHAPES_LAST};
		const struct shape *shape = NULL;
		struct hit hit = {.len = 0};
		size_t dead = 0;
		if (!may_begin(t.p, t.len, SHAPES_LAST))
			continue;
		if (match_any(&t, at > 0 ? (unsigned char)bytes[at - 1] : 0, at < jwt_dead, &shape, &hit, &dead) ==
		    VERDICT_HIT)
			return 1;
		if (dead > 0)
			jwt_dead = at + dead;
	}
	return 0;
}
