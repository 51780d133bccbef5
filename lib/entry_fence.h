/* Between a step and what it must not have. In a cluster that is what was mounted for sbx-entry: in one Pod every process sees the same files and the same
 * network; so each step is started through a fence: user and mount namespaces of its own, where the directory of the boot
 * files, the credentials among them, and the file of last words on the node's disk are covered, and for a step that must not have it a network namespace with nothing in
 * it. In a sandbox of this machine, where no namespace can be made any more, it is a filter that refuses sockets of the
 * network. */
#ifndef SBX_ENTRY_FENCE_H
#define SBX_ENTRY_FENCE_H

#include "error.h"

/* argv[1] of sbx-entry as the fence; the next ones: what to cover, one of the three below, the program, its argv. With
 * ENTRY_FENCE_NO_SOCKETS nothing is covered. */
#define ENTRY_FENCE "--fence"
#define ENTRY_FENCE_NETWORK "network"
#define ENTRY_FENCE_NO_NETWORK "no-network"
#define ENTRY_FENCE_NO_SOCKETS "no-sockets"
#define ENTRY_FENCE_WORDS 5 /* before the program's argv[0] */

/* Becomes the program; returns the exit status of a failure, told on stderr. Must come before anything that makes the process
 * undumpable, for the maps of the namespace are then root's. */
int entry_fence(int argc, char **argv);

#endif
