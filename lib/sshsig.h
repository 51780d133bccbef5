/* SSH signatures (OpenSSH's PROTOCOL.sshsig) over a review text: what the armor says is read here, strictly; whether it
 * is true is decided by `ssh-keygen -Y verify`, and by the trust file whose lines signers.h reads. */
#ifndef SBX_SSHSIG_H
#define SBX_SSHSIG_H

#include <stdint.h>

#include "base.h"
#include "error.h"
#include "signers.h"

/* What our signatures are made for: one of another namespace (git, file) never counts. */
#define SSHSIG_NAMESPACE "sbx-approve@v1"
/* An armored signature; an RSA one of 16384 bits has 6 KiB. */
#define SSHSIG_MAX ((size_t)16 << 10)

struct sshsig {
	unsigned char *blob; /* the decoded signature; owns the bytes that the views point into */
	size_t blob_len;
	const unsigned char *key; /* public key blob */
	size_t key_len;
	char key_type[48]; /* "ssh-ed25519", "sk-ssh-ed25519@openssh.com", … */
	int security_key;  /* 1: made by a security key (type sk-*) */
	int user_present;  /* 1: a security key that says somebody touched it (flag 0x01; the signature covers the flag)
			    */
};

/* Read one armored signature: exact framing, strict base64, version 1, our namespace, a known key type, no byte too
 * many. Nothing of it is true before sshsig_verify says so. SIG must be zeroed; it owns its blob afterwards. Errors:
 * "signature_malformed" (65), "signature_namespace" (77). */
int sshsig_parse(const char *armor, size_t len, struct sshsig *sig, struct sbx_error *err);
void sshsig_clear(struct sshsig *sig);
#define auto_sshsig __attribute__((cleanup(sshsig_clear))) struct sshsig

/* Verify ARMOR over TEXT by a key that the trust file SIGNERS (path; owner root or we, not writable by others) allows
 * at time NOW (seconds). SIGNER gets the principal that its line names, SIG what the armor says. Errors: those of
 * _parse and of signers_find, "signature_invalid" (77), and those of starting ssh-keygen. Takes some 5 ms. */
int sshsig_verify(const char *signers, const char *armor, size_t len, const void *text, size_t text_len, int64_t now,
		  char signer[SIGNER_SIZE], struct sshsig *sig, struct sbx_error *err);

#endif
