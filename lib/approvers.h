/* approvers.yaml beside the trust file: which keys and which accounts are one person's.
 *
 *     people:
 *       alice: {signers: [alice, alice-laptop], accounts: [alice]}
 *       bob: {signers: [bob]}
 *
 * Signers are principals of the trust file, accounts are the principals that calls are made by.
 * Without the file each signer is a person of its own. */
#ifndef SBX_APPROVERS_H
#define SBX_APPROVERS_H

#include "config.h"
#include "signers.h"

struct approvers {
	jv people; /* owned; invalid: there is no file */
};
#define APPROVERS_INIT                                                                             \
	{                                                                                          \
		.people = jv_invalid()                                                             \
	}

/* Read the file that CONFIG names; it may be missing unless the settings say it. Checked like the
 * trust file, and whole: known keys only, exact names, no signer with two people. The errors of
 * yaml_jv, "missing_file", "unsafe_file" and "approvers_invalid" (78). */
int approvers_load(const struct config *config, struct approvers *approvers, struct sbx_error *err);
void approvers_clear(struct approvers *approvers);
#define auto_approvers __attribute__((cleanup(approvers_clear))) struct approvers

/* The names of the people whose signatures would count now, in byte order (the caller's; empty: nobody's), as
 * sshsig_verify takes a key: by a line of the trust file that is for approvals and for this time, and not revoked. A
 * signer that approvers.yaml gives to nobody is passed over. "missing_file", "unsafe_file", "signers_invalid" (also when
 * the file is empty), "revoked_invalid" (78). */
int approvers_now(const struct config *config, const struct approvers *approvers, jv *people, struct sbx_error *err);

/* The person that SIGNER is: itself without a file. "signer_nobody" (77): the file gives it to
 * nobody. */
int approvers_person(const struct approvers *approvers, const char *signer,
		     char person[SIGNER_SIZE], struct sbx_error *err);

/* 1 when ACCOUNT is one of PERSON's: those that the file lists; where it lists none, and without a
 * file, the one of the same name. */
int approvers_has_account(const struct approvers *approvers, const char *person,
			  const char *account);

#endif
