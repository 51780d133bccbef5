/* Length-prefixed binary fields: what MACs cover and what crosses between sbx-run and sbx-entry. Numbers are big-endian; a field
 * is a 4-byte length and that many bytes. */
#ifndef SBX_WIRE_H
#define SBX_WIRE_H

#include <stdint.h>

#include "buf.h"

int wire_put_u32(struct buf *b, uint32_t value, struct sbx_error *err);
int wire_put_u64(struct buf *b, uint64_t value, struct sbx_error *err);
int wire_put_bytes(struct buf *b, const void *bytes, size_t len, struct sbx_error *err);
/* NULL counts as "". */
int wire_put_str(struct buf *b, const char *text, struct sbx_error *err);

/* Reads from a block that must outlive it. Every getter returns -1 with "wire_malformed" (76) when the block ends too early or a
 * limit is passed; nothing is read past the end. */
struct wire {
	const unsigned char *p;
	size_t left;
};
int wire_get_u32(struct wire *w, uint32_t max, uint32_t *value, struct sbx_error *err);
int wire_get_u64(struct wire *w, uint64_t *value, struct sbx_error *err);
/* A view into the block. */
int wire_get_bytes(struct wire *w, size_t max, const unsigned char **bytes, size_t *len, struct sbx_error *err);
/* A copy with a NUL behind it, owned by the caller; an embedded NUL is malformed. */
int wire_get_str(struct wire *w, size_t max, char **text, struct sbx_error *err);

#endif
