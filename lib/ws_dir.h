/* What ws_state.c and ws_copy.c share: the directory of one state, its lock, its mark. Nothing else includes this. */
#ifndef SBX_WS_DIR_H
#define SBX_WS_DIR_H

#include "io.h"
#include "ws_state.h"

/* Whoever waits longer than this is told that the workspace is busy. */
enum { WS_LOCK_WAIT_MS = 10000 };

#define WS_STATE_FILE "terraform.tfstate"
#define WS_BACKUP_FILE "terraform.tfstate.backup"
#define WS_MARK_FILE "checked-out"
/* In the call's directory. */
#define WS_WORKING_FILE "state"
#define WS_NOTE_FILE "state.note"
#define WS_REJECTED_FILE "state.rejected"

/* The directory of NAME and PATH: a descriptor owned by the caller; -1 without an error when it may not be made and is
 * not there. */
int ws_dir_open(const struct state *state, const char *name, const char *path, enum io_create create,
		struct sbx_error *err);

/* Open the lock file and take it (LOCK_SH or LOCK_EX) until DEADLINE (clock_mono_ms): a descriptor owned by the caller.
 * _relock converts. */
int ws_dir_lock(int dir_fd, int operation, int64_t deadline, struct sbx_error *err);
int ws_dir_relock(int lock_fd, int operation, int64_t deadline, struct sbx_error *err);

/* 1: the directory is marked as checked out, CALL holds the id; 0: not; -1: ERR. */
int ws_dir_mark(int dir_fd, char call[STATE_ID_SIZE], struct sbx_error *err);

/* Put what FROM holds (from offset 0, at most LIMIT_STATE_FILE) at NAME below DIRFD: atomic, synced, 0600, ours. */
int ws_dir_put(int dir_fd, const char *name, int from, struct sbx_error *err);

/* Read the state below WS->dir_fd into WS. */
int ws_dir_load(struct ws_state *ws, struct sbx_error *err);

/* The exclusive lock is held and the directory is marked with CALL: take its working copy back or put it beside, and
 * remove the mark. */
int ws_copy_recover(const struct state *state, struct ws_state *ws, const char *call, enum ws_taken *taken,
		    struct sbx_error *err);

#endif
