/* The Terraform state that is kept for one directory of a workspace (local backend): state/ws/NAME/DIGEST-OF-PATH/
 * holds terraform.tfstate, the one before it (terraform.tfstate.backup), the lock, the name of the directory, and while
 * a run may write "checked-out" with the call's id. All 0600 in 0700. NAME "" is stored as "default". */
#ifndef SBX_WS_STATE_H
#define SBX_WS_STATE_H

#include "state.h"
#include "ws_file.h"

enum ws_access { WS_READ, WS_WRITE };

struct ws_state {
	int dir_fd;  /* of its directory, made when missing (-1 from ws_state_look when there is none) */
	int lock_fd; /* held: shared (READ) or exclusive (WRITE); give it to the driver */
	int present; /* 0: no state yet */
	char lineage[WS_LINEAGE_SIZE]; /* "" without a state */
	int64_t serial;		       /* -1 without one */
	char sha256[DIGEST_HEX_SIZE];  /* of no bytes without one */
	uint64_t size;
};
#define WS_STATE_NONE                                                                                                  \
	{                                                                                                              \
		.dir_fd = -1, .lock_fd = -1                                                                            \
	}
void ws_state_close(struct ws_state *ws);
#define auto_ws_state __attribute__((cleanup(ws_state_close))) struct ws_state

/* Lock and look. Whoever cannot have the lock in 10 s gets "workspace_busy" (69). A state file that cannot be read
 * strictly: "state_unreadable" (76). PATH is the directory relative to the root's tree; one that is absolute or has
 * ".." in it is "bad_parameter" (77). First recovers what a killed run left (ws_state_recover). WS must be
 * WS_STATE_NONE; on failure it is so again. */
int ws_state_open(const struct state *state, const char *name, const char *path, enum ws_access access,
		  struct ws_state *ws, struct sbx_error *err);

/* Lineage, serial, digest without a lock (for seals and checks); makes nothing. */
int ws_state_look(const struct state *state, const char *name, const char *path, struct ws_state *ws,
		  struct sbx_error *err);

/* The bytes as an open descriptor at offset 0, owned by the caller; for an absent state an empty memfd. */
int ws_state_content(const struct ws_state *ws, struct sbx_error *err);

/* WRITE: put a working copy at runs/CALL/state (0600, below RUN_FD; empty for an absent state, which Terraform takes
 * for none) with a note of which directory it belongs to; *FILE, absolute, is for the driver's mount and owned by the
 * caller. A run as root may give the copy to another user. */
int ws_state_checkout(const struct state *state, struct ws_state *ws, int run_fd, const char *call, const char *name,
		      const char *path, char **file, struct sbx_error *err);

enum ws_taken { WS_UNCHANGED, WS_TAKEN, WS_KEPT_BESIDE };
/* Take the working copy back if it is regular, has one link, is within its cap, of the same lineage (or the first one)
 * and of a higher serial; else leave it beside as runs/CALL/state.rejected, owned by us again. Atomic and synced; then
 * the working copy is removed, and WS says what holds now. -1 (a full disk): nothing is lost, and the next
 * ws_state_open tries again. */
int ws_state_take_back(struct ws_state *ws, int run_fd, enum ws_taken *taken, struct sbx_error *err);

/* The same for a run that began nothing: nobody was to write the copy, so one that is another now is kept beside whatever
 * it holds. */
int ws_state_put_back(struct ws_state *ws, int run_fd, enum ws_taken *taken, struct sbx_error *err);

/* For mending: take back the working copy of CALL if there is one (waits for the lock at most 10 s). A copy that
 * another call has overtaken is kept beside. A call that is gone or had no copy: WS_UNCHANGED. */
int ws_state_recover(const struct state *state, const char *call, enum ws_taken *taken, struct sbx_error *err);

/* Adopt FILE (a path of the operator's) as the state of the directory: refused when there is one ("state_exists", 73)
 * unless it is the same. "missing_file" (66), "state_unreadable" (65), "unsafe_file" (78). FILE itself is left alone.
 */
int ws_state_adopt(const struct state *state, const char *name, const char *path, const char *file,
		   struct sbx_error *err);

#endif
