/* A descriptor to another process, over a connected Unix socket (SCM_RIGHTS): a lock goes with it, and lasts until the last
 * of those who have it closes it. */
#ifndef SBX_PASS_FD_H
#define SBX_PASS_FD_H

#include "error.h"

/* Never waits. "os_error" (71) when the other end has gone or takes nothing more. FD stays open here. */
int pass_fd_send(int socket, int fd, struct sbx_error *err);

/* The descriptor that came (O_CLOEXEC; the caller's); -1 when none did. */
int pass_fd_receive(int socket);

#endif
