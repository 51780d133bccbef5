/* What sbx-entry finds out about the place that it was started in, and whether that is what the step table requires. */
#ifndef SBX_ENTRY_EVIDENCE_H
#define SBX_ENTRY_EVIDENCE_H

#include "entry_probe.h"
#include "steps.h"

struct evidence {
	uint64_t namespaces[STEPS_NAMESPACES]; /* inode numbers; 0: unreadable */
	int new_namespaces;		       /* none is the host's (which the table names) */
	int seccomp;			       /* mode; 2: a filter */
	int no_new_privs;
	char capabilities[5][20]; /* inherited, permitted, effective, bounding, ambient: hex as the kernel says it */
	unsigned uid;
	unsigned mounts;
	int root_read_only;
	int only_loopback;
	int landlock;	     /* ABI level, when a ruleset is in force; else 0 */
	struct buf writable; /* JSON array of the mount points that are not read-only */
	int gvisor;	     /* the kernel is gVisor's */
	char kernel[66];     /* its release */
	int token;	     /* a service account's token is mounted */
	const struct probe *probe; /* borrowed; NULL where no network is expected */
};

/* Look, at /proc and by trying. TABLE (NULL: not readable) gives the host's namespaces; PROBE is what the network said. */
int evidence_gather(const struct steps *table, const struct probe *probe, struct evidence *e, struct sbx_error *err);
void evidence_clear(struct evidence *e);

/* What is not measured here, as JSON objects to be passed on; NULL: nothing. */
struct evidence_told {
	const char *limits;   /* by the driver: what limits there are */
	const char *egress;   /* by the driver: where its relay leads */
	const char *approval; /* of entry_signed.h */
};

/* As the JSON of the hello frame. */
int evidence_json(const struct evidence *e, const struct evidence_told *told, struct buf *out, struct sbx_error *err);

/* 0 if this place is at least REQUIRE; -1 with "isolation_too_weak" (77), naming what is missing. */
int evidence_check(const struct evidence *e, const char *require, struct sbx_error *err);

#endif
