/* What sbx-entry finds where nobody can hand it a descriptor: one text of length-prefixed fields (wire.h), cut into
 * pieces of a size that a Kubernetes Secret holds, each a file boot.NN. Step table and inputs are the ones that a
 * descriptor would have brought. */
#ifndef SBX_BOOT_H
#define SBX_BOOT_H

#include <stdint.h>

#include "buf.h"

#define BOOT_VERSION 1u
#define BOOT_FILE "boot.%02u"
#define BOOT_CREDENTIALS "credentials" /* beside them; as sbx-cred writes it */
/* A Secret's values may have 1 MiB; and a request with all of it as base64 stays far below the 3 MiB that an API server
 * reads. Sixteen of them are what a node should be asked to hold in memory for one call. */
#define BOOT_PIECE ((size_t)1000000)
#define BOOT_PIECES 16u
#define BOOT_MAX (BOOT_PIECE * BOOT_PIECES)
#define BOOT_ADDRESSES 16u

/* Where to try: "203.0.113.1:6443", "[2001:db8::1]:443". */
struct boot_addresses {
	char *list[BOOT_ADDRESSES];
	uint32_t count;
};

struct boot {
	char *limits;				  /* JSON for the evidence */
	uint64_t artifact_max;			  /* bytes of one artefact that the way back takes */
	uint64_t pids, files;			  /* limits that sbx-entry sets for the steps */
	uint64_t probe_ms;			  /* how long it may take until the network policy is in force */
	uint32_t credentials;			  /* 1: there is a file of them */
	struct boot_addresses allowed, forbidden; /* must answer; must not */
	const unsigned char *table;		  /* views into what was decoded, or borrowed for encoding */
	size_t table_len;
	const unsigned char *inputs;
	size_t inputs_len;
};

/* "inputs_too_large" (65) past BOOT_MAX. */
int boot_encode(const struct boot *boot, struct buf *out, struct sbx_error *err);
/* Its error, for whoever finds that out earlier. */
int boot_too_large(struct sbx_error *err);
/* Fills an empty BOOT, whose texts it then owns; BYTES must outlive it. "wire_malformed" (76). */
int boot_decode(const void *bytes, size_t len, struct boot *boot, struct sbx_error *err);
void boot_clear(struct boot *boot);

#endif
