/* Read, compared, asked again. */
#include "kchange_fresh.h"

#include <string.h>

#include "kchange_moved.h"

/* 1: what the request would do to the object of now is not what the plan says. */
static int is_otherwise(struct kchange_server *server, const struct kchange_plan *plan, uint32_t number,
			const struct kchange_step *step, struct buf *lines, struct sbx_error *err)
{
	static const char doing[] = "see what it would do";
	auto_kchange_answer answer = KCHANGE_ANSWER_INIT;
	struct plan_tree planned, again;
	int result = -1;

	plan_tree_init(&planned);
	plan_tree_init(&again);
	if (kchange_request_send(server, &step->request, KCHANGE_DRY, &answer, err) == 0 &&
	    kchange_answer_read(&answer, doing, &again, err) == 0 &&
	    kchange_plan_planned(plan, number, &planned, err) == 0)
		result = kchange_moved_planned(step, &planned, &again, lines, err);
	plan_tree_clear(&planned);
	plan_tree_clear(&again);
	return result;
}

int kchange_fresh(struct kchange_server *server, const struct kchange_plan *plan, uint32_t number,
		  struct kchange_step *step, struct buf *lines, struct sbx_error *err)
{
	struct kchange_object now;

	kchange_object_init(&now);
	int got = kchange_object_get(server, &step->name, &now, err);
	int moved = got < 0 ? -1 : kchange_moved(step, got == 1 ? &now : NULL, lines, err);
	if (moved == 0 && step->is_live && strcmp(step->live.version, now.version) != 0) {
		moved = kchange_request_renew(&step->request, now.version, err);
		if (moved == 0 && kchange_request_leaves(&step->request))
			moved = is_otherwise(server, plan, number, step, lines, err);
	}
	kchange_object_clear(&now);
	return moved;
}
