/* One run on a cluster, from the Job to its removal. Nothing of it starts before all that it mounts is there; whatever
 * ends it, the Job is deleted and everything else with it. */
#ifndef SBX_KUBE_RUN_H
#define SBX_KUBE_RUN_H

#include "kube_api.h"
#include "kube_job.h"

struct kube_task {
	const struct kube *kube;
	const struct kube_job *job;
	const struct buf *boot;		  /* the boot text, at most job->pieces times BOOT_PIECE */
	const struct secret *credentials; /* empty: none */
	int out;			  /* frames */
	int control;			  /* readable or closed: stop */
	int64_t deadline;		  /* clock_mono_ms */
	int64_t grace_ms;
};

/* Exit status of a driver (sbx-helper(7)): 0 for a whole stream, 1 for one that was cut, else the class of what went
 * wrong; the frames say what it was. -1: ERR, and nothing was begun. */
int kube_run(const struct kube_task *task, struct sbx_error *err);

#endif
