/* One process from mint to revoke (sbx-helper(7), "One that stays"): what was loaded, and the connection, are there
 * when the command has ended. */
#ifndef SBX_PROVIDER_STAY_H
#define SBX_PROVIDER_STAY_H

#include "provider.h"

/* So long a process stays as it is, with its connection and its login; a server, and what stands before it, keeps a
 * connection that is idle for longer, and who waits for a longer command does not wait for us. */
enum { PROVIDER_STAY_MS = 10 * 1000 };

/* The descriptor on which REQUEST, a mint's, says that the next one may come; -1: it says none that we were given. */
int provider_again_fd(const struct provider *provider, jv request);

/* Behind an answer that says "stays": let go of the locks and of the secrets' pipe, and wait on AGAIN_FD, which is
 * closed at the end. 1: *REQUEST, the caller's, is what we are asked, of LEASE, "bad_request" (65) otherwise; 0: nobody
 * asks anything any more. After KEEP_MS the process becomes, by exec, one that was started to revoke, and waits as
 * such: with none of its memory, which may hold what was minted, and no connection. -1 when it cannot. */
int provider_stay(const struct provider *provider, int again_fd, const char *lease, int keep_ms, jv *request,
		  struct sbx_error *err);

#endif
