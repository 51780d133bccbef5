/* What runs beside everything that a driver on a cluster does: the watch of the Pod, its log on the way to the reader,
 * the signals, the control pipe, the deadline. Whoever waits for an answer turns this loop, so nothing of it ever
 * stands still. */
#ifndef SBX_KUBE_LOOP_H
#define SBX_KUBE_LOOP_H

#include "frame_lines.h"
#include "kube_api.h"
#include "kube_pod.h"
#include "relay.h"

enum kube_stop { KUBE_RUNS, KUBE_STOPPED, KUBE_DEADLINE, KUBE_UNREAD };

struct kube_loop {
	const struct kube *kube;
	const char *call;
	struct relay relay;
	struct frame_lines lines;
	struct kube_watch watch;
	struct http_exchange *watching, *log;
	int64_t watch_at, log_at;    /* when to try (again) */
	int64_t placed_at;	     /* when the Pod had a node; 0: it has none */
	uint64_t log_seen, log_skip; /* bytes of the log that were taken; still to be passed over after a new start */
	int64_t log_moved_at;	     /* when the request that runs was made, or brought something last */
	int log_last;		     /* that request was made when the container's end was known: it gets all there is */
	int log_over;		     /* nothing more comes */
	int not_found;		     /* how often the log's Pod was not there, though nobody said that it is gone */
	int64_t ended_at;	     /* when the container's end was known; 0: it is not */
	int control;		     /* -1: none, or heard */
	int signals;
	int64_t deadline;
	enum kube_stop stop;	  /* why it is to end; the first reason stands */
	struct sbx_error trouble; /* the stream is not ours, or the log is refused: it must be stopped */
};

/* Fails only for want of memory or descriptors. TERM, INT and HUP stay blocked afterwards. */
int kube_loop_init(struct kube_loop *loop, const struct kube *kube, const char *call, int out, int control,
		   int64_t deadline, struct sbx_error *err);
void kube_loop_clear(struct kube_loop *loop);

/* The Job with UID (less than KUBE_UID_SIZE) is ours: from now on its Pod is watched, and followed where it leads. */
void kube_loop_own(struct kube_loop *loop, const char *uid);

/* One turn, at most TIMEOUT_MS: returns after anything happened. */
int kube_loop_turn(struct kube_loop *loop, int timeout_ms, struct sbx_error *err);

/* Turn until EXCHANGE is answered or broken; or UNTIL (clock_mono_ms) has passed: 0 then, else 1. */
int kube_loop_await(struct kube_loop *loop, struct http_exchange *exchange, int64_t until, struct sbx_error *err);
/* Turn for MS. */
int kube_loop_pause(struct kube_loop *loop, int64_t ms, struct sbx_error *err);

/* 1: nothing new is to be begun, for it was stopped or is in trouble. */
int kube_loop_is_to_end(const struct kube_loop *loop);

/* Hand the reader what waits, until UNTIL. */
int kube_loop_flush(struct kube_loop *loop, int64_t until, struct sbx_error *err);

#endif
