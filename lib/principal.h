/* Who asks: from the line that started us, or from the kernel, never from input (design section 7, "Who asks"). */
#ifndef SBX_PRINCIPAL_H
#define SBX_PRINCIPAL_H

#include <sys/types.h>

#include "error.h"

#define PRINCIPAL_SIZE 65

struct principal {
	char name[PRINCIPAL_SIZE];
	uid_t uid;
	const char *via; /* "line", "peer" or "uid" */
};

/* NAME is what --principal said, or NULL. FROM says where to look when there is none: the peer of the socket on stdin
 * (--peer), or the real user id, which is "no_principal" (77) where IN_ACCOUNT (struct started) is set: there nobody is
 * known to ask. */
enum principal_from { PRINCIPAL_FROM_UID, PRINCIPAL_FROM_PEER };
int principal_find(const char *name, enum principal_from from, int in_account, struct principal *out,
		   struct sbx_error *err);

/* 1 when NAME may stand for a principal: 1 to 64 letters, digits and "._@-", beginning with none of "-.@". */
int principal_is_name(const char *name);

#endif
