/* Digest of a plan's meaning. Everything is length-prefixed, so that no two plans have the same bytes. */
#include "plan_effect.h"

#include "limit.h"

static const char domain[] = "sbx-plan-effect/2";
static const char *const part_names[PLAN_EFFECT_PARTS] = {
	"output_changes", "configuration",	"variables",
	"action_invocations", "deferred_changes", "deferred_action_invocations",
};

void plan_effect_init(struct plan_effect *effect)
{
	digest_init(&effect->changes);
	for (size_t i = 0; i < PLAN_EFFECT_PARTS; i++)
		digest_init(&effect->parts[i]);
}

void plan_effect_clear(struct plan_effect *effect)
{
	digest_clear(&effect->changes);
	for (size_t i = 0; i < PLAN_EFFECT_PARTS; i++)
		digest_clear(&effect->parts[i]);
}

struct digest *plan_effect_part(struct plan_effect *effect, const struct plan_scan *s)
{
	int part = plan_name(s, part_names, PLAN_EFFECT_PARTS);

	return part < 0 ? NULL : &effect->parts[part];
}

static void add_block(struct digest *d, const void *bytes, size_t len)
{
	uint64_t size = len;

	digest_add(d, &size, sizeof size);
	digest_add(d, bytes, len);
}

_Static_assert(LIMIT_PLAN_TREE < 1u << 29 && LIMIT_PLAN_TREE_NODES < 1u << 29, "a length leaves room for a kind");

/* The length of a node's text, or how many nodes one with parts has, and its kind. */
static uint32_t size_and_kind(const struct plan_tree *tree, uint32_t i)
{
	const struct plan_node *node = &tree->nodes[i];
	int has_parts = node->kind == PLAN_OBJECT || node->kind == PLAN_ARRAY;

	return (has_parts ? node->next - i : node->len) | node->kind << 29;
}

/* Names and texts stand in the order of the nodes: with the length of each they say the whole tree. */
static void add_tree(struct digest *d, const struct plan_tree *tree)
{
	uint64_t count = tree->count;
	uint32_t piece[128];

	digest_add(d, &count, sizeof count);
	for (uint32_t i = 0; i < tree->count;) {
		size_t used = 0;
		for (; i < tree->count && used < ARRAY_LEN(piece); i++) {
			piece[used++] = tree->nodes[i].key_len;
			piece[used++] = size_and_kind(tree, i);
		}
		digest_add(d, piece, used * sizeof *piece);
	}
	add_block(d, buf_str(&tree->text), tree->text.len);
}

void plan_effect_add(struct plan_effect *effect, const struct plan_change *c)
{
	struct digest *d = &effect->changes;
	const struct buf *const texts[] = {&c->address, &c->previous_address, &c->deposed, &c->mode, &c->type,
					   &c->provider};
	const struct plan_tree *const trees[] = {&c->before,	  &c->after,	     &c->unknown,  &c->before_mask,
						 &c->after_mask, &c->replace_paths, &c->importing};

	if (PLAN_ONLY(&c->actions, ACTION_NO_OP) && c->previous_address.len == 0 && !plan_change_imports(c))
		return;
	add_block(d, c->actions.list, c->actions.count);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		add_block(d, buf_str(texts[i]), texts[i]->len);
	for (size_t i = 0; i < ARRAY_LEN(trees); i++)
		add_tree(d, trees[i]);
}

void plan_effect_finish(struct plan_effect *effect, char hex[DIGEST_HEX_SIZE])
{
	unsigned char part[DIGEST_SIZE], whole[DIGEST_SIZE];
	struct digest d;

	digest_init(&d);
	digest_add(&d, domain, sizeof domain);
	digest_finish(&effect->changes, part);
	digest_add(&d, part, sizeof part);
	for (size_t i = 0; i < PLAN_EFFECT_PARTS; i++) {
		digest_finish(&effect->parts[i], part);
		digest_add(&d, part, sizeof part);
	}
	digest_finish(&d, whole);
	digest_to_hex(whole, sizeof whole, hex);
}
