/* The lock that keeps Terraform or OpenTofu (1.5 to 1.14) from a state, out of the message that it ends with then:
 * whose it is can be told, and how it is taken away. Whoever wrote the configuration, or the lock, may have chosen
 * every byte of it, so nothing is taken but short words of plain characters, and nothing is decided by them. */
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

#endif
