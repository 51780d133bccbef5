/* The signal rules in their compiled form: one flat block that sbx-policy writes and sbx-plan
 * reads. All of it is checked once when it is opened (magic, version, SHA-256, every index and
 * reference within its bounds, no cycle among conditions), so that the matcher needs no check. The
 * layout is in signal_format.h. */
#ifndef SBX_SIGNAL_TABLE_H
#define SBX_SIGNAL_TABLE_H

#include <stddef.h>

#include "error.h"

struct signal_table {
	const void *block;
	size_t size;
	void *owned; /* NULL: the block is borrowed */
};

/* Take a copy of the file FD, which may change or be closed afterwards; or use a block, aligned as
 * malloc does, that outlives the table. "signals_invalid" (78), "os_error", "no_memory" (71). TABLE
 * is untouched on failure. */
int signal_table_map(int fd, struct signal_table *table, struct sbx_error *err);
int signal_table_use(const void *block, size_t size, struct signal_table *table,
		     struct sbx_error *err);
void signal_table_close(struct signal_table *table); /* all zero is fine */

#endif
