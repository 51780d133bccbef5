/* A review text and the signatures under it, as they leave the database: sbx-approve writes them beside the call that has claimed
 * them, and a driver with an image hands them on, so that sbx-entry can look for itself (entry_signed.h). Length-prefixed
 * (wire.h); nothing in it is a secret, and nothing of it is true before sshsig_verify says so. */
#ifndef SBX_SIGNED_TEXT_H
#define SBX_SIGNED_TEXT_H

#include "buf.h"
#include "limit.h"

/* Its name in state/runs/CALL. */
#define SIGNED_TEXT_FILE "signed"
/* The text, LIMIT_APPROVERS signatures of 16 KiB, and their lengths. */
#define SIGNED_TEXT_MAX (LIMIT_REVIEW_TEXT + (size_t)LIMIT_APPROVERS * ((16 << 10) + 4) + 64)

struct signed_text {
	const char *text; /* LEN bytes, no NUL among them or behind them; everything here is borrowed */
	size_t len;
	struct {
		const char *armor;
		size_t len;
	} signatures[LIMIT_APPROVERS];
	uint32_t count;
};

int signed_text_encode(const struct signed_text *signed_text, struct buf *out, struct sbx_error *err);
/* Views into BYTES. "wire_malformed" (76). */
int signed_text_decode(const void *bytes, size_t len, struct signed_text *out, struct sbx_error *err);

#endif
