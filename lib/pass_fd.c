/* One byte, because a message needs one, and beside it one descriptor. */
#include "pass_fd.h"

#include <string.h>
#include <sys/socket.h>

#include "base.h"

/* A message and what it points to. */
struct letter {
	char byte;
	struct iovec content;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message;
};

static void letter_init(struct letter *l)
{
	*l = (struct letter){.byte = 0};
	l->content = (struct iovec){.iov_base = &l->byte, .iov_len = 1};
	l->message = (struct msghdr){.msg_iov = &l->content,
				     .msg_iovlen = 1,
				     .msg_control = l->control.bytes,
				     .msg_controllen = sizeof l->control.bytes};
}

int pass_fd_send(int socket, int fd, struct sbx_error *err)
{
	struct letter l;

	letter_init(&l);
	struct cmsghdr *header = &l.control.align;
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(header), &fd, sizeof fd);
	return sendmsg(socket, &l.message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1
		       ? 0
		       : sbx_fail_errno(err, SBX_OS, "os_error", "cannot hand a descriptor on");
}

int pass_fd_receive(int socket)
{
	struct letter l;
	int fd = -1;

	letter_init(&l);
	if (recvmsg(socket, &l.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
		return -1;
	struct cmsghdr *header = CMSG_FIRSTHDR(&l.message);
	if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(header), sizeof fd);
	return fd;
}
