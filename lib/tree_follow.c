/* The way through a packed tree's symlinks, as the kernel would go it in the unpacked one. */
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>

#include "tree.h"

enum { LINKS_MAX = 40 /* the kernel's own limit: path_resolution(7) */ };

static int leads_nowhere(const char *path, struct sbx_error *err)
{
	return sbx_fail(err, SBX_BAD_REQUEST, "unsafe_tree", "\"%.120s\" leads out of the tree, or in a circle", path);
}

/* WAY without its last part; -1 when it has none. */
static int go_up(char *way)
{
	char *slash = strrchr(way, '/');

	if (way[0] == '\0')
		return -1;
	*(slash != NULL ? slash : way) = '\0';
	return 0;
}

/* -1 when it is too long. */
static int go_into(char way[PATH_MAX], const char *part, size_t len)
{
	size_t here = strlen(way);

	if (here + 1 + len >= PATH_MAX)
		return -1;
	if (here > 0)
		way[here++] = '/';
	memcpy(way + here, part, len);
	way[here + len] = '\0';
	return 0;
}

int tree_follow(int fd, uint64_t size, const char *path, char out[PATH_MAX], struct sbx_error *err)
{
	char rest[2 * PATH_MAX], target[PATH_MAX], more[PATH_MAX];
	int links = 0;

	out[0] = '\0';
	if (snprintf(rest, sizeof rest, "%s", path) >= PATH_MAX)
		return leads_nowhere(path, err);
	for (const char *p = rest; *p != '\0'; p += strspn(p, "/")) {
		size_t len = strcspn(p, "/");
		const char *part = p;
		p += len;
		if (len == 1 && part[0] == '.')
			continue;
		if (len == 2 && part[0] == '.' && part[1] == '.') {
			if (go_up(out) < 0)
				return leads_nowhere(path, err);
			continue;
		}
		if (go_into(out, part, len) < 0)
			return leads_nowhere(path, err);
		int is_link = tree_link(fd, size, out, target, err);
		if (is_link < 0)
			return -1;
		if (is_link == 0)
			continue;
		if (++links > LINKS_MAX || target[0] == '/' || snprintf(more, sizeof more, "%s", p) >= PATH_MAX)
			return leads_nowhere(path, err);
		go_up(out);
		snprintf(rest, sizeof rest, "%s/%s", target, more);
		p = rest;
	}
	return links > 0;
}
