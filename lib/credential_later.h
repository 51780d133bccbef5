/* What is left when a call has its answer: an API server that has seen a token believes it for ten seconds more, and
 * its refusal is proof that nobody should wait for. Another sbx-cred does, outlives the call, holds its lock, and puts
 * credential.witnessed into the record. When it is killed, mending gives the lease back once more; the proof is lost
 * then, and only that. */
#ifndef SBX_CREDENTIAL_LATER_H
#define SBX_CREDENTIAL_LATER_H

#include "credential.h"

/* 1 when a witness of LEASES has not testified (credential_give_back has left it). */
int credential_later_has(const struct leases *leases);

/* Start the other one and leave it the witnesses: sbx-cred --witness CALL. */
int credential_later_start(const struct credential_broker *broker, const char *call, struct leases *leases,
			   struct sbx_error *err);

/* What it does: read on REQUEST_FD what _start has sent, and the witnesses' words on the COUNT descriptors FDS
 * (borrowed), record what was seen of CALL's leases, and remove their files. One that is still taken keeps its file,
 * with the state "still_taken", until it has ended by itself: 1 then, 0 when all is over, -1. */
int credential_later_run(const struct credential_broker *broker, const char *call, int request_fd, const int *fds,
			 size_t count, struct sbx_error *err);

#endif
