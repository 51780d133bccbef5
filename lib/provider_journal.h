/* What a provider has made for one lease, on disk before the next thing is made: state/NAME/LEASE. So revoking does not
 * depend on an answer that was lost with the process that waited for it. Nothing in it is a secret: names can end what
 * they name, for who may, and nothing else. */
#ifndef SBX_PROVIDER_JOURNAL_H
#define SBX_PROVIDER_JOURNAL_H

#include <stdint.h>

#include "json.h"
#include "state.h"

struct provider_journal {
	int dir;	   /* borrowed: state/NAME */
	const char *lease; /* borrowed: ours, 32 hex digits */
	jv record; /* owned: made_at, expires_at (seconds since the epoch; made_at 0: nothing is on its way any more),
		    * and what the provider adds */
};

/* Begin with MEMBERS, an object, consumed: "exists" (73) when this lease had its mint already. */
int provider_journal_begin(struct provider_journal *journal, jv members, struct sbx_error *err);
/* Add or replace MEMBERS, consumed; whoever goes on with what they name waits for this. */
int provider_journal_add(struct provider_journal *journal, jv members, struct sbx_error *err);
/* Read it. 0: there is none, so nothing was ever asked for this lease. -1: "bad_journal" (78), or what io.h says. */
int provider_journal_read(struct provider_journal *journal, struct sbx_error *err);
/* A request that was on its way when its sender was killed may still be at work: wait until it has been done, or
 * dropped, so that what it makes is found. At once where that was long ago. */
void provider_journal_settle(const struct provider_journal *journal);
/* When all of it ends by itself. */
int64_t provider_journal_end_time(const struct provider_journal *journal);
/* All of it is gone. */
int provider_journal_end(struct provider_journal *journal, struct sbx_error *err);
void provider_journal_clear(struct provider_journal *journal);
#define auto_provider_journal __attribute__((cleanup(provider_journal_clear))) struct provider_journal

#endif
