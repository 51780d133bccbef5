/* Names of those who ask. */
#include "principal.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int principal_is_name(const char *name)
{
	static const char inside[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@-";
	size_t len = strlen(name);

	return len > 0 && len < PRINCIPAL_SIZE && name[strspn(name, inside)] == '\0' && strchr("-.@", name[0]) == NULL;
}

static int no_principal(struct sbx_error *err, const char *why)
{
	sbx_fail(err, SBX_DENIED, "no_principal", "%s", why);
	return sbx_hint(err, "the line that starts the toolkit says --principal NAME, or --peer for a socket");
}

static void name_of_uid(struct principal *p)
{
	const struct passwd *entry = getpwuid(p->uid);

	if (entry != NULL && principal_is_name(entry->pw_name))
		snprintf(p->name, sizeof p->name, "%s", entry->pw_name);
	else
		snprintf(p->name, sizeof p->name, "uid-%u", (unsigned)p->uid);
}

int principal_find(const char *name, enum principal_from from, int in_account, struct principal *out,
		   struct sbx_error *err)
{
	struct ucred peer;
	socklen_t size = sizeof peer;

	*out = (struct principal){.uid = getuid(), .via = "uid"};
	if (name != NULL) {
		if (!principal_is_name(name))
			return no_principal(err, "the name behind --principal is none");
		out->via = "line";
		snprintf(out->name, sizeof out->name, "%s", name);
		return 0;
	}
	if (from == PRINCIPAL_FROM_PEER) {
		if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
			return no_principal(err, "standard input is no socket whose peer the kernel knows");
		out->uid = peer.uid;
		out->via = "peer";
	} else if (in_account) {
		return no_principal(err, "in the toolkit's account nobody is known to ask");
	}
	name_of_uid(out);
	return 0;
}
