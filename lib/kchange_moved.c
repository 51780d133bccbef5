/* Differences, as paths with two values. */
#include "kchange_moved.h"

#include <string.h>

#include "kplan_mask.h"
#include "kplan_view.h"
#include "plan_finding.h"
#include "plan_mask.h"

enum { WAS, IS, SIDES };

struct compared {
	struct plan_tree trees[SIDES], masks[SIDES];
	struct plan_secrets secrets;
	struct plan_finding finding; /* its causes are the differences */
	struct plan_place way[PLAN_PLACES];
	unsigned more; /* that are not kept */
};

static void compared_init(struct compared *c)
{
	*c = (struct compared){.more = 0};
	for (int side = 0; side < SIDES; side++) {
		plan_tree_init(&c->trees[side]);
		plan_tree_init(&c->masks[side]);
	}
	plan_secrets_init(&c->secrets);
	plan_finding_init(&c->finding);
}

static void compared_clear(struct compared *c)
{
	for (int side = 0; side < SIDES; side++) {
		plan_tree_clear(&c->trees[side]);
		plan_tree_clear(&c->masks[side]);
	}
	plan_secrets_clear(&c->secrets);
	plan_finding_clear(&c->finding);
}

/* The status is no part of it: it follows. */
static int take(struct compared *c, int side, const struct kchange_object *object, struct sbx_error *err)
{
	const struct buf *type = &object->names.type;

	if (kplan_prune(&c->trees[side], &object->tree, STATUS_GOES, err) < 0 ||
	    kplan_mask(&c->masks[side], &c->trees[side], type, err) < 0)
		return -1;
	return kplan_mask_keep(&c->secrets, &c->trees[side], &c->masks[side], type, err);
}

static struct plan_value value_at(const struct compared *c, int side, const struct plan_node *node, unsigned depth)
{
	struct plan_value value;

	plan_value_take(&value, &c->trees[side], node);
	if (value.how == PLAN_VALUE_PLAIN && plan_mask_touches(&c->masks[side], c->way, depth))
		value.how = PLAN_VALUE_SENSITIVE;
	return value;
}

static int add_difference(struct compared *c, const struct plan_node *x, const struct plan_node *y, unsigned depth,
			  struct sbx_error *err)
{
	const struct plan_value was = value_at(c, WAS, x, depth), is = value_at(c, IS, y, depth);
	int cause = plan_finding_values(&c->finding, c->way, depth, &was, &is, err);

	c->more += cause == -1;
	return cause == -2 ? -1 : 0;
}

static int compare(struct compared *c, const struct plan_node *x, const struct plan_node *y, unsigned depth,
		   struct sbx_error *err);

/* What has a name or an index on one side, beside what has it on the other. */
static int compare_inside(struct compared *c, const struct plan_node *parents[SIDES], int side, unsigned depth,
			  struct sbx_error *err)
{
	const struct plan_tree *tree = &c->trees[side];
	const struct plan_node *child = plan_tree_first(tree, parents[side]);

	for (uint32_t index = 0; child != NULL; child = plan_tree_behind(tree, parents[side], child), index++) {
		struct plan_place *place = &c->way[depth];
		*place = parents[side]->kind == PLAN_ARRAY
				 ? (struct plan_place){.index = index}
				 : (struct plan_place){.name = plan_tree_name(tree, child), .len = child->key_len};
		const struct plan_node *other = plan_place_in(&c->trees[!side], parents[!side], place);
		if (side == IS && other != NULL)
			continue; /* was compared from the other side */
		if (compare(c, side == WAS ? child : other, side == WAS ? other : child, depth + 1, err) < 0)
			return -1;
	}
	return 0;
}

static int compare(struct compared *c, const struct plan_node *x, const struct plan_node *y, unsigned depth,
		   struct sbx_error *err)
{
	const struct plan_node *parents[SIDES] = {x, y};

	if (x == NULL && y == NULL)
		return 0;
	if (x == NULL || y == NULL || x->kind != y->kind || (x->kind != PLAN_OBJECT && x->kind != PLAN_ARRAY) ||
	    depth + 1 >= PLAN_PLACES)
		return x != NULL && y != NULL && plan_tree_equal(&c->trees[WAS], x, &c->trees[IS], y)
			       ? 0
			       : add_difference(c, x, y, depth, err);
	return compare_inside(c, parents, WAS, depth, err) < 0 ? -1 : compare_inside(c, parents, IS, depth, err);
}

static int begin_line(struct buf *lines, const struct buf *address, struct sbx_error *err)
{
	return plan_value_quote(lines, buf_str(address), address->len, err) < 0 ? -1 : buf_add_str(lines, ": ", err);
}

int kchange_moved_line(struct buf *lines, const struct buf *address, const char *words, struct sbx_error *err)
{
	return begin_line(lines, address, err) < 0 ? -1 : buf_addf(lines, err, "%s\n", words);
}

static int add_lines(const struct compared *c, const struct buf *address, struct buf *lines, struct sbx_error *err)
{
	for (unsigned i = 0; i < c->finding.cause_count; i++) {
		const struct plan_cause *cause = &c->finding.causes[i];
		if (begin_line(lines, address, err) < 0 ||
		    plan_value_quote(lines, buf_str(&cause->path), cause->path.len, err) < 0 ||
		    buf_add_str(lines, " (", err) < 0 || plan_value_show(&cause->before, &c->secrets, lines, err) < 0 ||
		    buf_add_str(lines, " -> ", err) < 0 ||
		    plan_value_show(&cause->after, &c->secrets, lines, err) < 0 || buf_add_str(lines, ")\n", err) < 0)
			return -1;
	}
	return c->more == 0 ? 0 : kchange_moved_line(lines, address, "and more", err);
}

static const struct plan_node *root_of(struct compared *c, int side, enum kchange_same same)
{
	static const char *const spec[] = {"spec", NULL};

	return same == KCHANGE_SAME_SPEC ? kplan_at(&c->trees[side], spec) : plan_tree_root(&c->trees[side]);
}

static int tell(const struct kchange_step *step, const struct kchange_object *is, enum kchange_same same,
		int is_another, struct buf *lines, struct sbx_error *err)
{
	static const struct plan_place spec = {.name = "spec", .len = 4};
	const struct buf *address = &step->live.names.address;
	unsigned depth = same == KCHANGE_SAME_SPEC ? 1 : 0;
	struct compared c;
	int result = -1;

	compared_init(&c);
	c.way[0] = spec;
	if (take(&c, WAS, &step->live, err) < 0 || take(&c, IS, is, err) < 0 ||
	    compare(&c, root_of(&c, WAS, same), root_of(&c, IS, same), depth, err) < 0)
		goto out;
	if (same == KCHANGE_SAME_SPEC && !is_another && c.finding.cause_count == 0) {
		result = 0;
		goto out;
	}
	result = 1;
	if ((is_another && kchange_moved_line(lines, address, "was deleted, and another one has its name", err) < 0) ||
	    (!is_another && c.finding.cause_count == 0 &&
	     kchange_moved_line(lines, address, "was written to: its status, or who keeps its fields", err) < 0) ||
	    add_lines(&c, address, lines, err) < 0)
		result = -1;
out:
	compared_clear(&c);
	return result;
}

int kchange_moved(const struct kchange_step *step, const struct kchange_object *is, enum kchange_same same,
		  struct buf *lines, struct sbx_error *err)
{
	const struct kchange_object *was = &step->live;

	if (!step->is_live)
		return is == NULL									     ? 0
		       : kchange_moved_line(lines, &is->names.address, "is there now, and was not", err) < 0 ? -1
													     : 1;
	if (is == NULL)
		return kchange_moved_line(lines, &was->names.address, "is not there any more", err) < 0 ? -1 : 1;
	int is_another = !kplan_text_same(&was->names.uid, &is->names.uid);
	if (!is_another &&
	    (same == KCHANGE_SAME_UID || (same == KCHANGE_SAME_VERSION && strcmp(was->version, is->version) == 0)))
		return 0;
	return tell(step, is, same, is_another, lines, err);
}
