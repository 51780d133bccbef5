/* The lock that keeps Terraform or OpenTofu (1.5 to 1.14) from a state, out of the message that it ends with then, or out of the one
 * about a lock that it was to take away: whose it is can be told, and how it is taken away. Whoever wrote the configuration, or the lock, may have chosen
 * every byte of it, so nothing is taken but short words of plain characters. What is decided by them holds for whatever stands in them. */
#ifndef SBX_TF_LOCK_H
#define SBX_TF_LOCK_H

#include <stddef.h>

/* The letters, digits and hyphens of what the tool terraform_force_unlock takes. */
#define TF_LOCK_ID_MAX 64
#define TF_LOCK_WORD_MAX 80

/* "" is what the message did not say, or not in such words. */
struct tf_lock {
	char id[TF_LOCK_ID_MAX + 1];
	char operation[TF_LOCK_WORD_MAX + 1];
	char who[TF_LOCK_WORD_MAX + 1];
	char created[TF_LOCK_WORD_MAX + 1];
	char call[33]; /* the call that made it: sandboxes are called sbx-CALL (sbx-run-local(8), sbx-run-kubernetes(8))
			*/
};

/* 1 when the LEN bytes at TEXT say, without colours, that the state could not be locked and whose lock it has: the last
 * one that they name. 0 otherwise, also where the lock could not be had for another reason (no right to make one,
 * nobody there). */
int tf_lock_find(const char *text, size_t len, struct tf_lock *lock);

/* 1 when ID is one: letters, digits and hyphens, and never an option. */
int tf_lock_is_id(const char *id);

/* 1 when the LEN bytes at TEXT, which `force-unlock -force ASKED` has ended with, say that another lock is there than ASKED, in the
 * words of the backends that compare the two (kubernetes, s3), and whose that is. 0 otherwise: there is none, or nobody knows;
 * also where they say so more than once. Colours of the first line are read over. */
int tf_lock_find_other(const char *text, size_t len, const char *asked, struct tf_lock *lock);

#endif
