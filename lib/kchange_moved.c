/* Differences, as paths with two values. */
#include "kchange_moved.h"

#include <string.h>

#include "kplan_mask.h"
#include "kplan_view.h"
#include "plan_finding.h"

enum { WAS, IS, SIDES };

struct compared {
	struct plan_tree trees[SIDES], masks[SIDES];
	struct plan_secrets secrets;
	struct plan_finding finding; /* its causes are the differences */
	struct plan_place way[PLAN_PLACES];
	unsigned more;	/* that are not kept */
	int is_planned; /* WAS has marks where the server chooses */
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

static int take(struct compared *c, int side, const struct plan_tree *tree, const struct buf *type,
		struct sbx_error *err)
{
	if (kplan_prune(&c->trees[side], tree, STATUS_GOES, err) < 0 ||
	    kplan_mask(&c->masks[side], &c->trees[side], type, err) < 0)
		return -1;
	return kplan_mask_keep(&c->secrets, &c->trees[side], &c->masks[side], type, err);
}

static struct plan_value value_at(const struct compared *c, int side, const struct plan_node *node, unsigned depth)
{
	return kplan_mask_value(&c->trees[side], node, &c->masks[side], c->way, depth);
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

/* What the server was known to choose anew, and chose. */
static int is_choice(const struct compared *c, const struct plan_node *x, const struct plan_node *y)
{
	static const char chosen[] = KCHANGE_CHOSEN;

	if (!c->is_planned || x == NULL || y == NULL)
		return 0;
	return x->kind == PLAN_NULL ||
	       (x->kind == PLAN_STRING && y->kind == PLAN_STRING && x->len == sizeof chosen - 1 &&
		memcmp(plan_tree_text(&c->trees[WAS], x), chosen, x->len) == 0);
}

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

	if ((x == NULL && y == NULL) || is_choice(c, x, y))
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

/* Everything of WAS and IS, objects of the type of STEP. */
static int compare_trees(struct compared *c, const struct kchange_step *step, const struct plan_tree *was,
			 const struct plan_tree *is, struct sbx_error *err)
{
	const struct buf *type = &step->live.names.type;

	if (take(c, WAS, was, type, err) < 0 || take(c, IS, is, type, err) < 0)
		return -1;
	return compare(c, plan_tree_root(&c->trees[WAS]), plan_tree_root(&c->trees[IS]), 0, err);
}

static const struct plan_node *generation_of(const struct plan_tree *tree)
{
	static const char *const at[] = {"metadata", "generation", NULL};

	return kplan_at(tree, at);
}

/* Was it written to otherwise than to its status, though nothing of it is different? */
static int is_written(const struct kchange_object *was, const struct kchange_object *is)
{
	static const char *const status[] = {"status", NULL};
	const struct plan_node *x = generation_of(&was->tree), *y = generation_of(&is->tree);

	if (x != NULL || y != NULL)
		return x == NULL || y == NULL || !plan_tree_equal(&was->tree, x, &is->tree, y);
	return kplan_at(&was->tree, status) == NULL;
}

static int tell(const struct kchange_step *step, const struct kchange_object *is, int is_another, struct buf *lines,
		struct sbx_error *err)
{
	const struct buf *address = &step->live.names.address;
	struct compared c;
	int result = -1;

	compared_init(&c);
	if (compare_trees(&c, step, &step->live.tree, &is->tree, err) < 0)
		goto out;
	int is_other = c.finding.cause_count > 0, is_touched = is_written(&step->live, is);
	if ((is_another && kchange_moved_line(lines, address, "was deleted, and another one has its name", err) < 0) ||
	    (!is_another && !is_other && is_touched &&
	     kchange_moved_line(lines, address, "was written to, and is as it was: there and back, or by whom", err) <
		     0) ||
	    add_lines(&c, address, lines, err) < 0)
		goto out;
	result = is_another || is_other || is_touched;
out:
	compared_clear(&c);
	return result;
}

int kchange_moved(const struct kchange_step *step, const struct kchange_object *is, struct buf *lines,
		  struct sbx_error *err)
{
	const struct kchange_object *was = &step->live;

	if (!step->is_live)
		return is == NULL									     ? 0
		       : kchange_moved_line(lines, &is->names.address, "is there now, and was not", err) < 0 ? -1
													     : 1;
	if (is == NULL)
		return kchange_moved_line(lines, &was->names.address, "is not there any more", err) < 0 ? -1 : 1;
	int is_another = !kplan_text_same(&was->names.uid, &is->names.uid);
	return !is_another && strcmp(was->version, is->version) == 0 ? 0 : tell(step, is, is_another, lines, err);
}

int kchange_moved_planned(const struct kchange_step *step, const struct plan_tree *planned,
			  const struct plan_tree *again, struct buf *lines, struct sbx_error *err)
{
	const struct buf *address = &step->live.names.address;
	struct compared c;
	int result = -1;

	compared_init(&c);
	c.is_planned = 1;
	if (compare_trees(&c, step, planned, again, err) == 0)
		result = c.finding.cause_count > 0;
	if (result == 1 &&
	    (kchange_moved_line(lines, address, "would become something else than was planned", err) < 0 ||
	     add_lines(&c, address, lines, err) < 0))
		result = -1;
	compared_clear(&c);
	return result;
}
