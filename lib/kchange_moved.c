/* Two states of an object, compared. */
#include "kchange_moved.h"

#include <string.h>

#include "kplan_differ.h"
#include "kplan_view.h"
#include "secret_mask.h"

/* Lines about one object. */
enum { LINES_MAX = 8 };

struct compared {
	struct plan_tree trees[PLAN_SIDES], masks[PLAN_SIDES];
	struct plan_secrets secrets;
	struct plan_differences differences;
};

static void compared_init(struct compared *c)
{
	for (int side = 0; side < PLAN_SIDES; side++) {
		plan_tree_init(&c->trees[side]);
		plan_tree_init(&c->masks[side]);
	}
	plan_secrets_init(&c->secrets);
	plan_differences_init(&c->differences, LINES_MAX);
}

static void compared_clear(struct compared *c)
{
	for (int side = 0; side < PLAN_SIDES; side++) {
		plan_tree_clear(&c->trees[side]);
		plan_tree_clear(&c->masks[side]);
	}
	plan_secrets_clear(&c->secrets);
	plan_differences_clear(&c->differences);
}

static int take(struct compared *c, enum plan_side side, const struct plan_tree *tree, const struct buf *type,
		struct sbx_error *err)
{
	if (kplan_prune(&c->trees[side], tree, STATUS_GOES, err) < 0 ||
	    secret_mask(&c->masks[side], &c->trees[side], type, err) < 0)
		return -1;
	return secret_mask_keep(&c->secrets, &c->trees[side], &c->masks[side], type, err);
}

/* What the server was known to choose anew, and chose. */
static int is_choice(const struct plan_tree *const trees[PLAN_SIDES], const struct plan_node *was,
		     const struct plan_node *is)
{
	static const char chosen[] = KCHANGE_CHOSEN;

	return was->kind == PLAN_NULL ||
	       (was->kind == PLAN_STRING && is->kind == PLAN_STRING && was->len == sizeof chosen - 1 &&
		memcmp(plan_tree_text(trees[PLAN_WAS], was), chosen, was->len) == 0);
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
	const struct plan_differences *differences = &c->differences;

	for (unsigned i = 0; i < differences->kept; i++)
		if (begin_line(lines, address, err) < 0 ||
		    plan_difference_say(&differences->list[i], &c->secrets, lines, err) < 0 ||
		    buf_add(lines, "\n", 1, err) < 0)
			return -1;
	return differences->total == differences->kept ? 0 : kchange_moved_line(lines, address, "and more", err);
}

/* Everything of WAS and IS, objects of the type of STEP, but what ALIKE says. */
static int compare_trees(struct compared *c, const struct kchange_step *step, const struct plan_tree *was,
			 const struct plan_tree *is, kplan_alike *alike, struct sbx_error *err)
{
	const struct buf *type = &step->live.names.type;
	const struct kplan_sides sides = {.trees = {&c->trees[PLAN_WAS], &c->trees[PLAN_IS]},
					  .masks = {&c->masks[PLAN_WAS], &c->masks[PLAN_IS]},
					  .secrets = &c->secrets,
					  .alike = alike};

	if (take(c, PLAN_WAS, was, type, err) < 0 || take(c, PLAN_IS, is, type, err) < 0)
		return -1;
	return kplan_differ(&c->differences, &sides, err);
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
	if (compare_trees(&c, step, &step->live.tree, &is->tree, NULL, err) < 0)
		goto out;
	int is_other = c.differences.total > 0, is_touched = is_written(&step->live, is);
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
	if (compare_trees(&c, step, planned, again, is_choice, err) == 0)
		result = c.differences.total > 0;
	if (result == 1 &&
	    (kchange_moved_line(lines, address, "would become something else than was planned", err) < 0 ||
	     add_lines(&c, address, lines, err) < 0))
		result = -1;
	compared_clear(&c);
	return result;
}
