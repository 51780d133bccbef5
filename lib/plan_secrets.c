/* Polynomial hashes over windows of a text (Rabin and Karp), modulo 2^61 - 1 with a random base. */
#include "plan_secrets.h"

#include <string.h>

#include "io.h"
#include "plan_beside.h"

#define PRIME (((uint64_t)1 << 61) - 1)

enum { LAYERS_MAX = 8 }; /* of escapes: each doubles their number, so no text that is shown holds more */

void plan_secrets_init(struct plan_secrets *secrets)
{
	*secrets = (struct plan_secrets){.lengths = 0};
	io_random(&secrets->base, sizeof secrets->base);
	secrets->base = secrets->base % (PRIME - 512) + 257;
}

void plan_secrets_clear(struct plan_secrets *secrets)
{
	hash_set_clear(&secrets->exact);
	hash_set_clear(&secrets->probes);
}

static uint64_t times(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;
	uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);

	return sum >= PRIME ? sum - PRIME : sum;
}

static uint64_t shift(const struct plan_secrets *s, uint64_t hash, char byte)
{
	return (times(hash, s->base) + (unsigned char)byte + 1) % PRIME;
}

static uint64_t hash_of(const struct plan_secrets *s, const char *text, size_t len)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < len; i++)
		hash = shift(s, hash, text[i]);
	return hash;
}

/* One set for all lengths; its items are never 0. */
static uint64_t item(uint64_t hash, size_t len)
{
	return (key_hash_mix(hash + 1) ^ (uint64_t)len << 58) | 1;
}

static int remember(struct plan_secrets *s, const char *text, size_t len, struct sbx_error *err)
{
	size_t probe = len < PLAN_SECRET_PROBE ? len : PLAN_SECRET_PROBE;
	struct hash_set *set = len < PLAN_SECRET_MIN ? &s->exact : &s->probes;

	if (len == 0)
		return 0;
	if (len >= PLAN_SECRET_MIN)
		s->lengths |= (uint64_t)1 << probe;
	return hash_set_add(set, item(hash_of(s, text, probe), probe), err);
}

/* \uXXXX at TEXT. */
static int unicode_escape(const char *text, size_t len, uint32_t *c)
{
	*c = 0;
	if (len < 6 || text[1] != 'u')
		return 0;
	for (size_t i = 2; i < 6; i++) {
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *digit = text[i] == '\0' ? NULL : strchr(digits, text[i]);
		if (digit == NULL)
			return 0;
		*c = *c << 4 | (uint32_t)((digit - digits) % 16);
	}
	return 1;
}

/* The same text without one layer of JSON escapes, as far as it fits; nothing that is no escape is touched. */
static size_t unescape(const char *text, size_t len, char *out, size_t room)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	size_t put = 0, i = 0;

	while (i < len && put < room) {
		const char *found = i + 1 < len && text[i] == '\\' && text[i + 1] != '\0' ? strchr(from, text[i + 1]) : NULL;
		uint32_t c;
		if (found != NULL) {
			out[put++] = to[found - from];
			i += 2;
		} else if (text[i] == '\\' && unicode_escape(text + i, len - i, &c) && c < 0x80) {
			out[put++] = (char)c;
			i += 6;
		} else {
			out[put++] = text[i++];
		}
	}
	return put;
}

/* Escapes above ASCII stay as they are on both sides, or are UTF-8 on both: Terraform writes them no other way. */
int plan_secrets_add(struct plan_secrets *s, const char *text, size_t len, struct sbx_error *err)
{
	char plain[PLAN_SECRET_PROBE];
	size_t plain_len = unescape(text, len, plain, sizeof plain);

	if (remember(s, text, len, err) < 0)
		return -1;
	if (plain_len == (len < sizeof plain ? len : sizeof plain) && memcmp(plain, text, plain_len) == 0)
		return 0;
	return remember(s, plain, plain_len, err);
}

static int add_node(struct plan_secrets *s, const struct plan_tree *value, const struct plan_node *node,
		    struct sbx_error *err)
{
	if (node->kind != PLAN_STRING && node->kind != PLAN_NUMBER)
		return 0;
	return plan_secrets_add(s, plan_tree_text(value, node), node->len, err);
}

/* NODE and all below it. */
static int add_subtree(struct plan_secrets *s, const struct plan_tree *value, const struct plan_node *node,
		       struct sbx_error *err)
{
	const struct plan_node *end = value->nodes + node->next;

	for (; node < end; node++)
		if (add_node(s, value, node, err) < 0)
			return -1;
	return 0;
}

int plan_secrets_add_all(struct plan_secrets *s, const struct plan_tree *value, struct sbx_error *err)
{
	const struct plan_node *root = plan_tree_root(value);

	return root == NULL ? 0 : add_subtree(s, value, root, err);
}

/* Depth is bounded by that of the text. */
static int add_masked(struct plan_secrets *s, const struct plan_tree *value, const struct plan_node *node,
		      const struct plan_tree *mask, const struct plan_node *at, struct sbx_error *err)
{
	if (node == NULL || at == NULL)
		return 0;
	if (at->kind == PLAN_TRUE)
		return add_subtree(s, value, node, err);
	const struct plan_node *child = plan_tree_first(mask, at);
	struct plan_beside values = plan_beside_start(value, node);
	for (; child != NULL; child = plan_tree_behind(mask, at, child)) {
		const struct plan_node *inner = plan_beside_child(&values, mask, at, child);
		if (add_masked(s, value, inner, mask, child, err) < 0)
			return -1;
	}
	return 0;
}

int plan_secrets_add_masked(struct plan_secrets *s, const struct plan_tree *value, const struct plan_tree *mask,
			    struct sbx_error *err)
{
	uint32_t i = 0;

	while (i < mask->count && mask->nodes[i].kind != PLAN_TRUE)
		i++;
	if (i == mask->count)
		return 0;
	return add_masked(s, value, plan_tree_root(value), mask, plan_tree_root(mask), err);
}

/* Windows of LEN bytes. */
static int holds(const struct plan_secrets *s, const char *text, size_t text_len, size_t len)
{
	uint64_t hash = hash_of(s, text, len), power = 1;

	for (size_t i = 0; i < len; i++)
		power = times(power, s->base);
	for (size_t i = len;; i++) {
		if (hash_set_has(&s->probes, item(hash, len)))
			return 1;
		if (i >= text_len)
			return 0;
		uint64_t gone = times(power, (unsigned char)text[i - len] + 1u);
		hash = (shift(s, hash, text[i]) + PRIME - gone) % PRIME;
	}
}

static int holds_any(const struct plan_secrets *s, const char *text, size_t len)
{
	if (len > 0 && len < PLAN_SECRET_MIN)
		return hash_set_has(&s->exact, item(hash_of(s, text, len), len));
	for (size_t n = PLAN_SECRET_MIN; n <= PLAN_SECRET_PROBE && n <= len; n++)
		if ((s->lengths >> n & 1) != 0 && holds(s, text, len, n))
			return 1;
	return 0;
}

/* A document may hold a document that holds the secret: each layer has escapes of its own. */
int plan_secrets_in(const struct plan_secrets *s, const char *text, size_t len)
{
	char layers[2][PLAN_SECRET_TEXT];

	if (holds_any(s, text, len))
		return 1;
	for (int i = 0; i < LAYERS_MAX; i++) {
		char *plain = layers[i % 2];
		size_t plain_len = unescape(text, len, plain, PLAN_SECRET_TEXT);
		if (plain_len == len)
			return 0; /* no escape is left */
		if (holds_any(s, plain, plain_len))
			return 1;
		text = plain;
		len = plain_len;
	}
	return 0;
}
