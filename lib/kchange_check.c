/* One object after the other. */
#include "kchange_check.h"

#include <string.h>

#include "kchange_beside.h"
#include "kchange_drain.h"
#include "kchange_moved.h"

static enum kchange_same same_for(const struct kchange_step *step)
{
	if (step->request.form == KCHANGE_EVICTION)
		return KCHANGE_SAME_UID;
	return strcmp(step->name.kind->kind, "Node") == 0 ? KCHANGE_SAME_SPEC : KCHANGE_SAME_VERSION;
}

/* 1: what goes with it moved. */
static int check_beside(struct kchange_server *server, const struct kchange_plan *plan, const struct kchange_step *step,
			const struct kchange_object *now, struct buf *lines, struct sbx_error *err)
{
	struct kchange_beside beside;

	kchange_beside_init(&beside);
	int moved = kchange_beside_gather(server, &step->name, now, &beside, err);
	if (moved == 0)
		moved = kchange_beside_moved(&beside, plan, lines, err);
	kchange_beside_clear(&beside);
	return moved;
}

/* 1: it moved. */
static int check_step(struct kchange_server *server, const struct kchange_plan *plan, const struct kchange_step *step,
		      struct buf *lines, struct sbx_error *err)
{
	struct kchange_object now;

	kchange_object_init(&now);
	int got = kchange_object_get(server, &step->name, &now, err);
	if (got >= 0)
		got = kchange_moved(step, got == 1 ? &now : NULL, same_for(step), lines, err);
	if (got == 0 && plan->verb == KCHANGE_DRAIN && strcmp(step->name.kind->kind, "Node") == 0)
		got = kchange_drain_moved(server, step->name.name, plan, lines, err);
	if (got == 0 && plan->verb == KCHANGE_DELETE)
		got = check_beside(server, plan, step, &now, lines, err);
	kchange_object_clear(&now);
	return got;
}

int kchange_check(struct kchange_server *server, const struct kchange_plan *plan, struct buf *lines,
		  struct sbx_error *err)
{
	struct kchange_step step;
	int more = 0, moved = 0;

	if (kchange_plan_is_for(plan, server, err) < 0)
		return -1;
	kchange_step_init(&step);
	for (uint32_t i = 0; (more = kchange_plan_step(plan, i, &step, err)) == 1; i++) {
		/* What is left as it is may be what it likes. */
		int one = !step.has_request ? 0 : check_step(server, plan, &step, lines, err);
		moved |= one;
		if (one < 0) {
			more = -1;
			break;
		}
	}
	kchange_step_clear(&step);
	if (more < 0)
		return -1;
	return moved == 0 ? 0
			  : sbx_fail(err, SBX_BAD_REQUEST, "object_moved",
				     "the cluster is not what this change was planned with");
}
