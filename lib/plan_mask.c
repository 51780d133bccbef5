/* Paths of the trees beside a change's values. */
#include "plan_mask.h"

void plan_masks_reset(struct plan_masks *masks)
{
	masks->after.count = masks->unknown.count = masks->unknown_name.count = 0;
	masks->before.count = masks->after_mask.count = 0;
}

void plan_masks_clear(struct plan_masks *masks)
{
	plan_list_clear(&masks->after);
	plan_list_clear(&masks->unknown);
	plan_list_clear(&masks->unknown_name);
	plan_list_clear(&masks->before);
	plan_list_clear(&masks->after_mask);
}

/* Note the value at the top of the levels, whose first token was read. */
static int note(const struct plan_scan *s, enum plan_mask part, struct plan_masks *masks, struct sbx_error *err)
{
	const struct plan_level *levels = masks->levels, *top = &levels[masks->depth - 1];

	if (part == PLAN_MASK_AFTER)
		return s->token == JSON_NULL ? 0 : plan_list_add(&masks->after, top->path, err);
	if (s->token == JSON_STRING || s->token == JSON_NUMBER)
		return plan_refuse(s, "plan_kind", "a mask that is no truth value", err);
	if (s->token != JSON_TRUE)
		return 0;
	if (part == PLAN_MASK_AFTER_SENSITIVE)
		return plan_list_add(&masks->after_mask, top->path, err);
	if (part == PLAN_MASK_BEFORE_SENSITIVE) {
		for (unsigned i = 0; i < masks->depth; i++)
			if (plan_list_add(&masks->before, levels[i].path, err) < 0)
				return -1;
		return plan_list_add(&masks->before, 0, err);
	}
	for (unsigned i = 1; i < masks->depth; i++)
		if (!levels[i - 1].array && plan_list_add(&masks->unknown_name, levels[i].names, err) < 0)
			return -1;
	if (plan_list_add(&masks->unknown_name, 0, err) < 0)
		return -1;
	return plan_list_add(&masks->unknown, top->path, err);
}

static uint64_t path_of_index(const struct plan_scan *s, struct plan_level *array)
{
	uint64_t index = array->index++;

	return key_hash(s->seed, ~array->path, (const char *)&index, sizeof index);
}

/* Enter the next member or element of TOP (its key, or its first token, was read) and note it. */
static int enter(struct plan_scan *s, struct plan_level *top, enum plan_mask part, struct plan_masks *masks,
		 struct sbx_error *err)
{
	if (masks->depth == ARRAY_LEN(masks->levels))
		return plan_refuse(s, "json_depth", "nested too deeply", err);
	struct plan_level *inner = &masks->levels[masks->depth++];
	if (top->array)
		*inner = (struct plan_level){.path = path_of_index(s, top), .names = top->names};
	else
		*inner = (struct plan_level){.path = plan_hash(s, top->path), .names = plan_hash(s, top->names)};
	if ((!top->array && plan_next(s, err) < 0) || note(s, part, masks, err) < 0)
		return -1;
	inner->array = s->token == JSON_ARRAY_OPEN;
	if (!inner->array && s->token != JSON_OBJECT_OPEN)
		masks->depth--;
	return 0;
}

int plan_masks_read(struct plan_scan *s, enum plan_mask part, struct plan_masks *masks, struct sbx_error *err)
{
	masks->levels[0] = (struct plan_level){.path = PLAN_HASH_PATH, .names = PLAN_HASH_PATH};
	masks->depth = 1;
	if (plan_next(s, err) < 0 || note(s, part, masks, err) < 0)
		return -1;
	masks->levels[0].array = s->token == JSON_ARRAY_OPEN;
	if (!masks->levels[0].array && s->token != JSON_OBJECT_OPEN)
		return 0;
	while (masks->depth > 0) {
		struct plan_level *top = &masks->levels[masks->depth - 1];
		int more = top->array ? plan_element(s, err) : plan_key(s, err);
		if (more < 0 || (more == 1 && enter(s, top, part, masks, err) < 0))
			return -1;
		if (more == 0)
			masks->depth--;
	}
	return 0;
}

static int fill(struct plan_set *set, const struct plan_list *list, struct sbx_error *err)
{
	for (size_t i = 0; i < list->count; i++)
		if (plan_set_add(set, list->items[i], err) < 0)
			return -1;
	return 0;
}

/* One path that was sensitive, *RUN its way: 1 when no part of it is still masked and there is something to see at it.
 * *RUN is behind it then. */
static int is_exposed(const uint64_t **run, const struct plan_set *masked, const struct plan_set *unknown,
		      const struct plan_set *after)
{
	int hidden = 0, there = 0;
	const uint64_t *at = *run;

	for (; *at != 0; at++) {
		hidden |= plan_set_has(masked, *at);
		there |= plan_set_has(unknown, *at);
	}
	there |= plan_set_has(after, at[-1]);
	*run = at + 1;
	return there && !hidden;
}

int plan_masks_exposed(const struct plan_masks *masks, struct sbx_error *err)
{
	struct plan_set masked = {.slots = NULL}, unknown = {.slots = NULL}, after = {.slots = NULL};
	int exposed = 0;

	if (masks->before.count == 0)
		return 0;
	const uint64_t *run = masks->before.items, *end = run + masks->before.count;
	if (fill(&masked, &masks->after_mask, err) < 0 || fill(&unknown, &masks->unknown, err) < 0 ||
	    fill(&after, &masks->after, err) < 0)
		exposed = -1;
	while (exposed == 0 && run < end)
		exposed = is_exposed(&run, &masked, &unknown, &after);
	plan_set_clear(&masked);
	plan_set_clear(&unknown);
	plan_set_clear(&after);
	return exposed;
}

int plan_masks_unknown_argument(const struct plan_masks *masks, const struct plan_survey *survey,
				const struct key_seed *seed, uint64_t config)
{
	const struct plan_list *names = &masks->unknown_name;

	for (size_t i = 0; i < names->count; i++) {
		uint64_t argument = 0;
		for (; names->items[i] != 0; i++) {
			argument = plan_survey_argument(seed, config, names->items[i]);
			if (plan_set_has(&survey->referring, argument))
				return 1;
		}
		/* The whole object (no name), or a block with such an argument in it. */
		if (argument == 0 || plan_set_has(&survey->above_referring, argument))
			return 1;
	}
	return 0;
}
