/* The bytes of a packed tree, shared by the packer (tree.c) and the reader (tree_read.c):
 *
 *     "sbx-tree/1\n", then for each entry, a directory before what it holds and names in byte order:
 *     u32 kind, path (wire.h field); FILE and PROGRAM: u64 size and that many bytes; SYMLINK: target (wire.h field);
 *     at last a u32 TREE_END. */
#ifndef SBX_TREE_WIRE_H
#define SBX_TREE_WIRE_H

#define TREE_MAGIC "sbx-tree/1\n"

enum tree_kind {
	TREE_END,
	TREE_DIR,
	TREE_FILE,
	TREE_PROGRAM, /* a file that its owner may execute */
	TREE_SYMLINK,
};

/* 1 when a symlink at PATH (relative, normal) with this TARGET names something below the tree, as far as text can tell.
 */
int tree_target_stays(const char *path, const char *target);

#endif
