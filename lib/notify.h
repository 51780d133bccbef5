/* The command of the setting `notify`: told, as one JSON object on its stdin, that something has
 * begun to wait for people. It decides nothing and learns no secret, and nobody waits for it:
 *
 *     {"approval":ID,"installation":ID,"expires_at":TIME,"needed":PEOPLE,"principal":NAME,
 *      "tier":TIER,"tool":NAME,"waiting":COUNT,"why":TEXT} */
#ifndef SBX_NOTIFY_H
#define SBX_NOTIFY_H

#include "approval.h"
#include "spawn.h"

struct notify {
	struct child child;
	int64_t deadline; /* clock_mono_ms */
};
#define NOTIFY_NONE                                                                                \
	{                                                                                          \
		.child = CHILD_NONE                                                                \
	}

/* Start the command of CONFIG for ROW, of which approval_meet says that somebody is to be told. The
 * command's output goes to stderr. "notify_failed" (69), as for the others: no reason to end a
 * call. */
int notify_start(struct notify *notify, const struct config *config, const struct state *state,
		 const struct approval *row, struct sbx_error *err);

/* Look after it, without waiting: at its deadline, 5 s after its start, it and its group are
 * killed. */
int notify_tend(struct notify *notify, struct sbx_error *err);

/* The same at the end, waiting until the deadline. */
int notify_end(struct notify *notify, struct sbx_error *err);

#endif
