/* The state directory: made at first use (mode 0700), with the installation's name and the key of the seals; and the directory of one
 * call, state/runs/CALL/, in which every stage leaves a locked file while it works. */
#ifndef SBX_STATE_H
#define SBX_STATE_H

#include <stdint.h>

#include "secret.h"

#define STATE_ID_SIZE 33 /* 32 hex digits: ids of calls, plans, approvals, installations */

struct state {
	char *path; /* as the settings say it, absolute */
	int fd;
	char installation[STATE_ID_SIZE];
};
#define STATE_NONE {.fd = -1}

/* Open, making what is missing. Wrong owner or mode: "unsafe_state" (78) with the command that mends it. */
int state_open(const char *path, struct state *state, struct sbx_error *err);
void state_close(struct state *state);
#define auto_state __attribute__((cleanup(state_close))) struct state

/* The key of the seals (32 bytes; made once), into an empty KEY. */
int state_seal_key(const struct state *state, struct secret *key, struct sbx_error *err);

/* A subdirectory of the state directory ("plans", "runs", "ws", …), made when missing: a descriptor owned by the caller. */
int state_dir(const struct state *state, const char *name, struct sbx_error *err);

/* 1 when TEXT is 32 lower-case hex digits. */
int state_is_id(const char *text);

/* The call's directory. _create makes runs/CALL (sbx-policy alone); _open finds it: "call_closed" (77) when it is not there. Both return
 * a descriptor owned by the caller. */
int state_run_create(const struct state *state, const char *call, struct sbx_error *err);
int state_run_open(const struct state *state, const char *call, struct sbx_error *err);

/* The stages that leave a file there, in their order: "policy", "approve", "cred", "run", "audit". */
#define STATE_STAGES 5
extern const char *const state_stages[STATE_STAGES];

/* Begin stage NAME of the call: its file appears locked ("call_reused", 77, when it was
 * there); then "call_closed" (77) when the call was mended meanwhile. Returns the locked descriptor: the lock lasts until it
 * and every copy given to a child are closed. */
int state_stage_begin(int run_fd, const char *name, struct sbx_error *err);
/* Mark the stage as done (its file becomes read-only), before its output. */
int state_stage_done(int stage_fd, struct sbx_error *err);

/* What a stage file tells to mending. */
enum stage_state { STAGE_ABSENT, STAGE_LOCKED, STAGE_DEAD /* no lock, not done */, STAGE_DONE };
enum stage_state state_stage_look(int run_fd, const char *name, int64_t *modified_s);
/* 1 when nothing of the stage is left to come: it is marked as done, whoever holds its lock, or it never began. */
int state_stage_is_over(int run_fd, const char *name);
/* 1 while a process holds the lock of any stage. */
int state_run_works(int run_fd);

/* Make the mend file of a call, which closes the call to every later stage, and lock it until the descriptor is closed: -1 without an error when
 * another process mends at this moment. A mending that died is taken up again by the next one. */
int state_mend_begin(int run_fd, struct sbx_error *err);

#endif
