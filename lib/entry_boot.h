/* Where sbx-entry is started by a cluster, nobody hands it descriptors: it makes them from the files that were mounted
 * (boot.h), sets the limits that the driver cannot, and takes TERM as the wish to stop. */
#ifndef SBX_ENTRY_BOOT_H
#define SBX_ENTRY_BOOT_H

#include "boot.h"
#include "entry_probe.h"

struct entry_boot {
	struct boot boot;
	char *bytes;					     /* what it points into */
	int entry_fd, inputs_fd, credentials_fd, control_fd; /* -1: none */
	struct probe probe;
};
#define ENTRY_BOOT_INIT                                                                                                \
	{                                                                                                              \
		.entry_fd = -1, .inputs_fd = -1, .credentials_fd = -1, .control_fd = -1, .probe = PROBE_INIT           \
	}

/* Read DIRECTORY. Blocks TERM. "boot_missing" (76), "wire_malformed". */
int entry_boot_read(const char *directory, struct entry_boot *boot, struct sbx_error *err);

/* Limits of this process, and so of all steps: processes, descriptors, no core files. */
int entry_boot_limits(const struct entry_boot *boot, struct sbx_error *err);

/* The probe, with the addresses that a cluster gives every Pod in its environment. */
int entry_boot_probe(struct entry_boot *boot, struct sbx_error *why);

void entry_boot_clear(struct entry_boot *boot);

#endif
