/* The entries of a packed tree one after the other, shared by those who unpack one (tree_unpack.c) and those who look
 * into it (tree_look.c). All fail with "bad_tree" (76) on bytes that no packer makes, and "io_error" (74). */
#ifndef SBX_TREE_READ_H
#define SBX_TREE_READ_H

#include <linux/limits.h>
#include <stdint.h>

#include "error.h"
#include "tree_wire.h"

enum { TREE_BLOCK = 32768 };

struct tree_reader {
	int fd;	       /* borrowed; its offset does not move */
	uint64_t at;   /* offset of the next byte to fetch */
	uint64_t left; /* bytes not yet fetched */
	size_t used, filled;
	unsigned char block[TREE_BLOCK];
};

struct tree_head {
	enum tree_kind kind;
	char path[PATH_MAX];
	uint64_t size; /* of a file */
};

/* The tree is the SIZE bytes of FD from AT. */
int tree_read_begin(struct tree_reader *r, int fd, uint64_t at, uint64_t size, struct sbx_error *err);

/* The head of the next entry; TREE_END stands at the very end. What follows it is to be read or skipped first: */
int tree_read_head(struct tree_reader *r, struct tree_head *head, struct sbx_error *err);
int tree_read_skip(struct tree_reader *r, const struct tree_head *head, struct sbx_error *err); /* reads no more than it must */
/* of a file up to LEN bytes that are in memory, in place, at least one; or LEN bytes into OUT; */
int tree_read_piece(struct tree_reader *r, uint64_t len, const unsigned char **bytes, size_t *got, struct sbx_error *err);
int tree_read_bytes(struct tree_reader *r, void *out, size_t len, struct sbx_error *err);
/* of a symlink its target. */
int tree_read_text(struct tree_reader *r, char out[PATH_MAX], struct sbx_error *err);

int tree_malformed(struct sbx_error *err); /* "bad_tree"; returns -1 */

#endif
