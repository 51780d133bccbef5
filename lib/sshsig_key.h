/* Public keys of SSH as they stand in signatures and trust files (RFC 4253 section 6.6, RFC 5656,
 * RFC 8709, OpenSSH's PROTOCOL.u2f). One key has one spelling here: two keys are equal when their
 * bytes are, and that is all that looking one up, or revoking it, compares. */
#ifndef SBX_SSHSIG_KEY_H
#define SBX_SSHSIG_KEY_H

#include <stddef.h>

#include "wire.h"

enum sshsig_key_kind {
	SSHSIG_ED25519,
	SSHSIG_P256,
	SSHSIG_SK_ED25519,
	SSHSIG_SK_P256,
	SSHSIG_P384,
	SSHSIG_P521,
	SSHSIG_RSA,
};

/* Views into the blob that was read. */
struct sshsig_key {
	enum sshsig_key_kind kind;
	const char *type; /* "ssh-ed25519", …; static */
	const unsigned char
		*point; /* ed25519: 32 bytes; ecdsa: 4, X, Y; rsa: the modulus, shortest form */
	size_t point_len;
	const unsigned char *application; /* of a security key ("ssh:…"), else NULL */
	size_t application_len;
};

/* What is wrong with a key; the text begins with "is" or "has". */
enum sshsig_key_fault {
	SSHSIG_KEY_GOOD,
	SSHSIG_KEY_MALFORMED,
	SSHSIG_KEY_TYPE,	/* a type that is not in the list above */
	SSHSIG_KEY_CERTIFICATE, /* *-cert-v01@openssh.com: there are no authorities here */
	SSHSIG_KEY_SHORT,	/* RSA below 3072 bits */
	SSHSIG_KEY_APPLICATION, /* a security key for another purpose than SSH */
};
const char *sshsig_key_fault_text(enum sshsig_key_fault fault);

/* Read the blob of a public key: known type, canonical lengths and numbers, no byte too many. That
 * a point is on its curve is left to the arithmetic. GOOD, MALFORMED, TYPE or CERTIFICATE. */
enum sshsig_key_fault sshsig_key_read(const unsigned char *blob, size_t len,
				      struct sshsig_key *key);

/* Whether a key that was read may approve anything: GOOD, SHORT or APPLICATION. */
enum sshsig_key_fault sshsig_key_counts(const struct sshsig_key *key);

/* GOOD when the LEN bytes at TYPE name one of the kinds above; TYPE or CERTIFICATE. */
enum sshsig_key_fault sshsig_key_type(const char *type, size_t len);

/* 1 for the two kinds of security keys. */
int sshsig_key_is_hardware(enum sshsig_key_kind kind);

/* 1 for the kinds whose signatures libcrypto judges; the others are ssh-keygen's. */
int sshsig_key_is_native(enum sshsig_key_kind kind);

/* A positive number in its shortest form (mpint of RFC 4251 section 5) of at most MAX bytes, a view
 * into W: with the zero byte in front of a first bit that is set. -1 for anything else. */
int sshsig_get_number(struct wire *w, size_t max, const unsigned char **bytes, size_t *len);

/* 1 when the LEN bytes are TEXT. */
int sshsig_is_text(const void *bytes, size_t len, const char *text);

#endif
