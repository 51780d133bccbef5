/* Polynomial hashes over windows of a text (Rabin and Karp), modulo 2^61 - 1 with a random base. */
#include "plan_secrets.h"

#include "io.h"
#include "json_out.h"

#define PRIME (((uint64_t)1 << 61) - 1)

static const size_t escaped_max = 4 * PLAN_SECRET_PROBE * 6; /* the first PLAN_SECRET_PROBE bytes are enough */

void plan_secrets_init(struct plan_secrets *secrets)
{
	*secrets = (struct plan_secrets){.lengths = 0};
	io_random(&secrets->base, sizeof secrets->base);
	secrets->base = secrets->base % (PRIME - 512) + 257;
}

void plan_secrets_clear(struct plan_secrets *secrets)
{
	plan_set_clear(&secrets->exact);
	plan_set_clear(&secrets->probes);
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
	struct plan_set *set = len < PLAN_SECRET_MIN ? &s->exact : &s->probes;

	if (len == 0)
		return 0;
	if (len >= PLAN_SECRET_MIN)
		s->lengths |= (uint64_t)1 << probe;
	return plan_set_add(set, item(hash_of(s, text, probe), probe), err);
}

/* A secret that needs escapes in JSON looks another way inside of a document. */
int plan_secrets_add(struct plan_secrets *s, const char *text, size_t len, struct sbx_error *err)
{
	auto_buf escaped = BUF_INIT(escaped_max);
	size_t head = len < PLAN_SECRET_PROBE ? len : PLAN_SECRET_PROBE;

	if (remember(s, text, len, err) < 0)
		return -1;
	if (json_out_string_size(text, head) == head + 2)
		return 0;
	if (json_out_string(&escaped, text, head, err) < 0)
		return -1;
	return remember(s, escaped.data + 1, escaped.len - 2, err);
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
	for (uint32_t i = 0; child != NULL; child = plan_tree_behind(mask, at, child), i++) {
		const struct plan_node *inner =
			at->kind == PLAN_OBJECT
				? plan_tree_member(value, node, plan_tree_name(mask, child), child->key_len)
				: plan_tree_element(value, node, i);
		if (add_masked(s, value, inner, mask, child, err) < 0)
			return -1;
	}
	return 0;
}

int plan_secrets_add_masked(struct plan_secrets *s, const struct plan_tree *value, const struct plan_tree *mask,
			    struct sbx_error *err)
{
	return add_masked(s, value, plan_tree_root(value), mask, plan_tree_root(mask), err);
}

/* Windows of LEN bytes. */
static int holds(const struct plan_secrets *s, const char *text, size_t text_len, size_t len)
{
	uint64_t hash = hash_of(s, text, len), power = 1;

	for (size_t i = 0; i < len; i++)
		power = times(power, s->base);
	for (size_t i = len;; i++) {
		if (plan_set_has(&s->probes, item(hash, len)))
			return 1;
		if (i >= text_len)
			return 0;
		uint64_t gone = times(power, (unsigned char)text[i - len] + 1u);
		hash = (shift(s, hash, text[i]) + PRIME - gone) % PRIME;
	}
}

int plan_secrets_in(const struct plan_secrets *s, const char *text, size_t len)
{
	if (len > 0 && len < PLAN_SECRET_MIN)
		return plan_set_has(&s->exact, item(hash_of(s, text, len), len));
	for (size_t n = PLAN_SECRET_MIN; n <= PLAN_SECRET_PROBE && n <= len; n++)
		if ((s->lengths >> n & 1) != 0 && holds(s, text, len, n))
			return 1;
	return 0;
}
