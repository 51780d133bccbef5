/* What this provider has made for one lease, on disk before the next thing is made: state/vault/LEASE. So revoking does
 * not depend on an answer that was lost with the process that waited for it. Nothing in it is a secret: an accessor and
 * a lease id can end what they name, for who may, and nothing else. */
#ifndef SBX_VAULT_JOURNAL_H
#define SBX_VAULT_JOURNAL_H

#include <stdint.h>

#include "json.h"
#include "state.h"

struct vault_journal {
	int dir;	   /* borrowed: state/vault */
	const char *lease; /* borrowed: ours, 32 hex digits */
	jv record; /* owned: made_at, expires_at (seconds since the epoch; 0: long ago), fixed, accessor, vault_lease */
};

/* Begin with MEMBERS, an object, consumed: "exists" (73) when this lease had its mint already. */
int vault_journal_begin(struct vault_journal *journal, jv members, struct sbx_error *err);
/* Add or replace MEMBERS, consumed; whoever goes on with what they name waits for this. */
int vault_journal_add(struct vault_journal *journal, jv members, struct sbx_error *err);
/* Read it. 0: there is none, so nothing was ever asked for this lease. -1: "bad_journal" (78), or what io.h says. */
int vault_journal_read(struct vault_journal *journal, struct sbx_error *err);
/* All of it is gone. */
int vault_journal_end(struct vault_journal *journal, struct sbx_error *err);
void vault_journal_clear(struct vault_journal *journal);
#define auto_vault_journal __attribute__((cleanup(vault_journal_clear))) struct vault_journal

#endif
