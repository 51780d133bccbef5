/* SSH signatures (OpenSSH's PROTOCOL.sshsig and PROTOCOL.u2f) over a review text: read strictly,
 * checked against the trust file (signers.h), and verified by libcrypto, in this process or in one
 * of its own; those of the few kinds of keys that are left, by `ssh-keygen -Y verify`.
 *
 * Stricter than ssh-keygen, which takes each of these: a security key that nobody touched, or with
 * flags that are not known; a counter that stands still; an application that is not ssh:; RSA below
 * 3072 bits; DSA and certificates; version 0; bytes in the reserved field; numbers of ECDSA that
 * are not in their shortest form, and one of Ed25519 that is not below the order; an armor with
 * blanks, empty lines, lines of several lengths, or text behind its end; and the second at which a
 * key's valid-before begins. */
#ifndef SBX_SSHSIG_H
#define SBX_SSHSIG_H

#include <stdint.h>

#include "base.h"
#include "digest.h"
#include "error.h"
#include "signers.h"
#include "sshsig_key.h"

/* What our signatures are made for: one of another namespace (git, file) never counts. */
#define SSHSIG_NAMESPACE "sbx-approve@v1"
/* An armored signature; an RSA one of 16384 bits has 6 KiB. */
#define SSHSIG_MAX ((size_t)16 << 10)

/* What a security key must say of the person. Presence (a touch) is always asked for; verification
 * (a PIN or a fingerprint) is what no other key can show, so with it only security keys count. */
enum sshsig_user { SSHSIG_USER_PRESENT, SSHSIG_USER_VERIFIED };

struct sshsig {
	unsigned char *blob; /* the decoded signature; owns the bytes that the views point into */
	size_t blob_len;
	const char *armor; /* what it was read from: the caller's */
	size_t armor_len;
	const unsigned char *key_blob; /* the public key as it stands in the trust file */
	size_t key_len;
	struct sshsig_key key;
	char key_sha256[DIGEST_HEX_SIZE]; /* of key_blob; the bytes of ssh-keygen's fingerprint, in
					     hex */
	const char *hash;		  /* "sha256", "sha512" */
	const unsigned char
		*value; /* ed25519: 64 bytes; ecdsa: the numbers r and s, as on the wire */
	size_t value_len;
	int security_key;	  /* 1: made by a security key; else the rest is 0 */
	unsigned char flags;	  /* as the key signed them */
	int user_present;	  /* 1: somebody touched it */
	int user_verified;	  /* 1: it knows who */
	uint32_t counter;	  /* of its signatures; 0 for a key that does not count them */
	char signer[SIGNER_SIZE]; /* the principal of the trust file's line; "" before sshsig_verify
				   */
};

/* Read one armored signature: exact framing, strict base64, version 1, our namespace, nothing in
 * the reserved field, sha256 or sha512, a key that counts, canonical lengths and numbers, no byte
 * too many. Nothing of it is true before sshsig_verify says so. SIG must be zeroed; it owns its
 * blob afterwards, also after an error. Errors: "signature_malformed" (65); "signature_namespace",
 * "signature_sha1" (RSA with SHA-1), "key_type_refused", "key_too_short", "key_application" (77).
 */
int sshsig_parse(const char *armor, size_t len, struct sshsig *sig, struct sbx_error *err);
void sshsig_clear(struct sshsig *sig);
#define auto_sshsig __attribute__((cleanup(sshsig_clear))) struct sshsig

/* The arithmetic of a signature of a native kind (sshsig_key_is_native) that was parsed: whether it
 * is one over TEXT, by the key in it. sshsig_check.h has the one that does it, sshsig_apart.h one
 * that has it done. "signature_invalid" (77), "crypto_failed" (71). */
typedef int sshsig_check_fn(const struct sshsig *sig, const void *text, size_t len,
			    struct sbx_error *err);
int sshsig_fail_invalid(struct sbx_error *err);

/* Verify ARMOR over TEXT: by a key that the trust file SIGNERS (path; owner root or we, not
 * writable by others) allows at time NOW (seconds), and that is not in the file SIGNERS.revoked
 * beside it, when there is one. SIG says by whom and what; it is true only after 0. The first of
 * these that is wrong:
 *
 *   those of _parse
 *   a file: "missing_file", "unsafe_file", "signers_invalid", "revoked_invalid" (78)
 *   "signer_revoked", "signer_unknown", "signer_not_valid" (77)
 *   those of CHECK, or of starting ssh-keygen, and "signature_invalid" (77)
 *   "signature_flags", "touch_required", "user_verification_required" (77)
 *
 * Takes 0.2 ms with sshsig_check, the first of a process 0.7 ms; p384, p521 and rsa some 5 ms. */
int sshsig_verify(const char *signers, const char *armor, size_t len, const void *text,
		  size_t text_len, int64_t now, enum sshsig_user user, sshsig_check_fn *check,
		  struct sshsig *sig, struct sbx_error *err);

/* Whether the counter of the verified SIG may follow LAST, the greatest one that was accepted of
 * its key (key_sha256; 0: none): a key that ever counted must count on, or there is a copy of it.
 * To be asked once, when a signature is accepted: the same one checked again later has the same
 * counter. "signature_counter" (77). */
int sshsig_check_counter(const struct sshsig *sig, uint32_t last, struct sbx_error *err);

#endif
