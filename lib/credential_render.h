/* From the secret fields that a provider gave to the files that a sandbox gets, all in locked memory (design section 4,
 * Credentials). */
#ifndef SBX_CREDENTIAL_RENDER_H
#define SBX_CREDENTIAL_RENDER_H

#include "json.h"
#include "secret.h"

enum credential_form { CREDENTIAL_TOKEN, CREDENTIAL_KUBECONFIG, CREDENTIAL_AWS, CREDENTIAL_FORMS };

/* The form that policy calls "token", "kubeconfig", "aws-credentials"; CREDENTIAL_FORMS for any other word. */
enum credential_form credential_form(const char *as);

/* FIELDS as a provider writes them: for each one NAME NUL LENGTH NUL BYTES. */
struct credential_field {
	const char *name;
	const unsigned char *bytes; /* a view into FIELDS */
	size_t len;
};

/* The field at *AT (0 at first), which moves behind it. 1: *FIELD is it, 0: there is none left, -1: malformed. */
int credential_next_field(const struct secret *fields, size_t *at, struct credential_field *field);

/* 1 when FIELDS is whole and its names are exactly the strings of the array NAMES, in order, each of at least 8 bytes:
 * a shorter one could not be scrubbed from what leaves. */
int credential_fields_are(const struct secret *fields, jv names);

/* 1 when TEXT holds the bytes of one of FIELDS. */
int credential_is_in(const struct secret *fields, const void *text, size_t len);

/* The file for FORM into an empty FILE: a token as it is; a kubeconfig with the token in it, for the server and the CA
 * of TARGET (an object: server, ca_file); an AWS credentials file. Errors: "provider_protocol" (76) when a field is
 * missing or holds what could not stand in that file, those of credential_check_target. */
int credential_render(enum credential_form form, const struct secret *fields, jv target, struct secret *file,
		      struct sbx_error *err);

/* Before anything is minted: TARGET has a server (https:// alone: a token is not sent in the clear) and a readable
 * ca_file if it names one. "bad_target" (78). */
int credential_check_target(jv target, struct sbx_error *err);

#endif
