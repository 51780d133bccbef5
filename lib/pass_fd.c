/* One byte, because a message needs one, and beside it one descriptor. */
#include "pass_fd.h"

#include <string.h>
#include <sys/socket.h>

#include "base.h"

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int pass_fd_send(int socket, int fd, struct sbx_error *err)
{
	char byte = 0;
	struct iovec content = {.iov_base = &byte, .iov_len = 1};
	union control control = {.bytes = {0}};
	struct msghdr message = {.msg_iov = &content,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof control.bytes};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(header), &fd, sizeof fd);
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1
		       ? 0
		       : sbx_fail_errno(err, SBX_OS, "os_error", "cannot hand a descriptor on");
}

int pass_fd_receive(int socket)
{
	char byte;
	struct iovec content = {.iov_base = &byte, .iov_len = 1};
	union control control = {.bytes = {0}};
	struct msghdr message = {.msg_iov = &content,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof control.bytes};
	int fd = -1;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
		return -1;
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(header), sizeof fd);
	return fd;
}
