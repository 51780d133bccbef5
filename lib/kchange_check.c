/* One object after the other. */
#include "kchange_check.h"

#include <string.h>

#include "kchange_beside.h"
#include "kchange_drain.h"
#include "kchange_fresh.h"

/* 1: what goes with it moved. */
static int check_beside(struct kchange_server *server, const struct kchange_plan *plan, const struct kchange_step *step,
			struct buf *lines, struct sbx_error *err)
{
	struct kchange_beside beside;

	kchange_beside_init(&beside);
	int moved = kchange_beside_gather(server, &step->name, &step->live, &beside, err);
	if (moved == 0)
		moved = kchange_beside_moved(&beside, plan, lines, err);
	kchange_beside_clear(&beside);
	return moved;
}

/* 1: it moved. */
static int check_step(struct kchange_server *server, const struct kchange_plan *plan, uint32_t number,
		      struct kchange_step *step, struct buf *lines, struct sbx_error *err)
{
	int moved = kchange_fresh(server, plan, number, step, lines, err);

	if (moved == 0 && plan->verb == KCHANGE_DRAIN && strcmp(step->name.kind->kind, "Node") == 0)
		moved = kchange_drain_moved(server, step->name.name, plan, lines, err);
	if (moved == 0 && plan->verb == KCHANGE_DELETE)
		moved = check_beside(server, plan, step, lines, err);
	return moved;
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
		int one = !step.has_request ? 0 : check_step(server, plan, i, &step, lines, err);
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
