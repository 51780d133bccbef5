/* The backend block of a configuration, read file by file: its type, its settings without secrets, and whether it holds
 * one. */
#ifndef SBX_BACKEND_READ_H
#define SBX_BACKEND_READ_H

#include "buf.h"

enum { BACKEND_LABEL_MAX = 64 };
#define BACKEND_SETTINGS_MAX ((size_t)1 << 20)

struct backend_found {
	char type[BACKEND_LABEL_MAX + 1]; /* "" : none yet; "cloud" for a cloud block */
	struct buf settings;		  /* owned */
	const char *secret; /* a constant: which of the names has a value there, or an address; NULL: none */
	unsigned blocks, files;
	int unreadable; /* something that could be a backend is none that anybody can read */
	/* Terraform lets a file of overrides replace the block of the others. */
	int in_override, from_override;
};
#define BACKEND_FOUND_NONE                                                                                             \
	{                                                                                                              \
		.settings = BUF_INIT(BACKEND_SETTINGS_MAX)                                                             \
	}

/* One more file of the directory, in the order of the names; BYTES NULL: it has none that could be read. */
void backend_read(struct backend_found *found, const char *name, const char *bytes, size_t len);

#endif
