/* How much isolation a run has or requires, from the weakest. */
#ifndef SBX_ISOLATION_H
#define SBX_ISOLATION_H

enum isolation { ISOLATION_NONE, ISOLATION_LOCAL, ISOLATION_GVISOR, ISOLATION_CLUSTER_GVISOR };

/* "none", "local", "gvisor", "cluster-gvisor"; constants. */
const char *isolation_name(enum isolation isolation);
/* ISOLATION_NONE for a NAME (may be NULL) that is no isolation to require. */
enum isolation isolation_parse(const char *name);

#endif
