/* Digest of a plan's meaning. Everything is length-prefixed, so that no two plans have the same bytes. */
#include "plan_effect.h"

#include <string.h>

static const char domain[] = "sbx-plan-effect/1";
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

/* Nodes and text of a tree say all of it. */
static void add_tree(struct digest *d, const struct plan_tree *tree)
{
	add_block(d, tree->nodes, tree->count * sizeof *tree->nodes);
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
