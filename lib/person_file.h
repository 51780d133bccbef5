/* What a person does with the files of an approval, without a desk; and with keys. */
#ifndef SBX_PERSON_FILE_H
#define SBX_PERSON_FILE_H

#include "config.h"

/* Write the files that desk_export packed into the new directory DIR: "cannot_create" (73), also
 * when it is there; "bad_export" (76). */
int person_unpack(const char *dir, const char *bytes, size_t len, struct sbx_error *err);

/* Check an approval from its files alone, and print on stdout what was found. PATH is a directory
 * that was exported (the keys are those in it), or a text with its signature in PATH.sig (the keys
 * are those that CONFIG_FILE's settings trust). What the text asks for is required: how many
 * people, and whether their keys must have checked who touched them. The errors of sshsig_verify;
 * "approval_incomplete" (77); "missing_file" (66). */
int person_verify(const char *path, const char *config_file, struct sbx_error *err);

/* Make a security key for approvals in FILE (NULL: ~/.ssh/id_sbx of ENVP), unless it is there, and
 * print the line of the trust file for NAME on stdout. "no_key" (66), "bad_name" (64),
 * "not_enrolled" (1: ssh-keygen made no key), "not_security_key" (65: the file holds another
 * one). */
int person_enrol(const char *name, const char *file, const char *const *envp,
		 struct sbx_error *err);

#endif
