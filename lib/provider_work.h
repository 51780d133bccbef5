/* What a provider that makes things on a server does at the beginning and the end of each verb (sbx-helper(7)): it
 * reads what is asked, opens its own directory below the state directory, and answers. */
#ifndef SBX_PROVIDER_WORK_H
#define SBX_PROVIDER_WORK_H

#include "config.h"
#include "provider.h"
#include "provider_journal.h"

/* A verb's time, for all its requests together: sbx-cred ends us after ten seconds. */
enum { PROVIDER_VERB_MS = 9000 };

struct provider_work {
	jv request;
	struct config config;
	struct state state;
	int dir;			 /* state/NAME */
	struct provider_journal journal; /* of the request's lease; nothing of it is read yet */
	int again_fd;			 /* where the next request may come (provider_stay.h); -1: nowhere */
};
#define PROVIDER_WORK_INIT                                                                                             \
	{                                                                                                              \
		.state = STATE_NONE, .dir = -1, .again_fd = -1                                                         \
	}
int provider_work_open(const struct provider *provider, const char *name, struct provider_work *work,
		       struct sbx_error *err);
void provider_work_close(struct provider_work *work);

/* For whom, and how long: "bad_request" (65) when the request has no call, no principal, or no lifetime_s of at most a
 * day. The texts are borrowed from REQUEST. */
struct provider_wish {
	const char *call, *principal;
	int64_t lifetime_s; /* the credential must live as long */
};
int provider_wish_read(jv request, struct provider_wish *wish, struct sbx_error *err);

/* What a mint made. */
enum { PROVIDER_FIELDS = 3 };
struct provider_minted {
	struct {
		const char *name; /* NULL: no more */
		struct secret value;
	} fields[PROVIDER_FIELDS];
	int64_t expires_at; /* seconds since the epoch */
	char jti[201];	    /* "" when it has none */
};
#define PROVIDER_MINTED_INIT                                                                                           \
	{                                                                                                              \
		.expires_at = 0                                                                                        \
	}
void provider_minted_clear(struct provider_minted *minted);
#define auto_provider_minted __attribute__((cleanup(provider_minted_clear))) struct provider_minted

/* 1 when it lives as long as WISH, but for the seconds that a mint takes and a server cuts. */
int provider_minted_suffices(const struct provider_minted *minted, const struct provider_wish *wish);

/* The secrets by their pipe, then the answer, which says that we stay where we can. */
int provider_hand_over(const struct provider *provider, const char *name, const struct provider_work *work,
		       const struct provider_minted *minted, struct sbx_error *err);

/* Behind a mint, where again_fd says that we stay: wait for what comes. 1: WORK is of the revoke that is asked for; 0:
 * nobody asks for one; -1. */
int provider_work_stay(const struct provider *provider, struct provider_work *work, struct sbx_error *err);

/* What became of a lease. */
struct provider_outcome {
	const char *state; /* "revoked", "expires", "deferred" */
	char proof[200];
};
void provider_say(struct provider_outcome *outcome, const char *state, const char *format, ...) SBX_PRINTF(3, 4);

int provider_tell(const struct provider *provider, const struct provider_outcome *outcome, struct sbx_error *err);

/* A revoke's beginning and end. _begin reads the journal. 1: what it says is to be ended; 0: nothing was made, and
 * OUTCOME says so; -1. _end removes the journal, unless something is left to do, and answers. */
int provider_revoke_begin(struct provider_work *work, struct provider_outcome *outcome, struct sbx_error *err);
int provider_revoke_end(const struct provider *provider, struct provider_work *work,
			const struct provider_outcome *outcome, struct sbx_error *err);

#endif
