/* The objects of one call on a cluster, as JSON text: a Job, and the Secrets that it mounts and owns. Everything that
 * keeps the sandbox closed and that Kubernetes can say stands in the Job; cluster/ refuses one that says less. */
#ifndef SBX_KUBE_JOB_H
#define SBX_KUBE_JOB_H

#include <stdint.h>

#include "buf.h"
#include "secret.h"

#define KUBE_CONTAINER "run"
#define KUBE_LABEL_CALL "sbx/call"
#define KUBE_LABEL_RUN "sbx/run"
#define KUBE_NAME_SIZE 64 /* a label value, too */
#define KUBE_BOOT_DIR "/run/sbx/in"
#define KUBE_DESTINATIONS 16

struct kube_job {
	const char *call; /* 32 hex digits */
	const char *run;  /* 8 more, of this driver alone: what has them was made by it */
	const char *tool; /* may be NULL */
	const char *image, *pull_policy, *runtime_class, *service_account;
	int64_t memory, work; /* bytes */
	int64_t cpu;	      /* cores */
	int64_t deadline_s;   /* after which the cluster itself ends it */
	int64_t grace_s;
	unsigned pieces;		       /* of the boot text */
	int credentials;		       /* 1: a Secret of them, too */
	const char *egress[KUBE_DESTINATIONS]; /* names, for the policies that select by them */
	size_t egress_count;
};

/* "sbx-CALL", "sbx-CALL-RUN-NN", "sbx-CALL-RUN-cred". */
void kube_job_name(const struct kube_job *job, char out[KUBE_NAME_SIZE]);
void kube_piece_name(const struct kube_job *job, unsigned piece, char out[KUBE_NAME_SIZE]);
void kube_credentials_name(const struct kube_job *job, char out[KUBE_NAME_SIZE]);

int kube_job_text(const struct kube_job *job, struct buf *out, struct sbx_error *err);

/* A Secret NAME with the one file FILE, owned by the Job of UID. OUT, which must be empty, is allocated: it may hold
 * secrets. */
int kube_secret_text(const struct kube_job *job, const char *uid, const char *name, const char *file, const void *bytes,
		     size_t len, struct secret *out, struct sbx_error *err);

#endif
