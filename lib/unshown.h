/* What a configuration starts of which `terraform show -json` says nothing: looked for in its files, before it is
 * planned. */
#ifndef SBX_UNSHOWN_H
#define SBX_UNSHOWN_H

#include "json.h"

/* Of the packed tree (SIZE bytes of TREE_FD) whose directory CWD ("." is the top) is planned, and of the modules that
 * it calls by a relative path; and, where FETCHED is not NULL, in the modules from elsewhere. *PLACES, the caller's, is
 * an array of texts "DIRECTORY/FILE: WHAT", at most UNSHOWN_PLACES and one that says so when there are more:
 *   - a provisioner in a `removed` block, which runs when the object is destroyed
 *   - a `dynamic` block in a provider's settings that makes a block, or has an argument, which starts a program
 *     (setting.h)
 *   - the same in a `terraform` block: a backend's settings, and OpenTofu's encryption; without required_providers
 *   - a module that lies elsewhere and was not fetched, or whose source is no plain text, and a file that cannot be
 * read: what is in it is not known. A name counts wherever it stands in such a block, also as a key of a value: too
 * much is found rather than too little. "no_memory", or as tree_each. */
#define UNSHOWN_PLACES 6
struct unshown_fetched {
	int fd; /* packed (tree.h) */
	uint64_t size;
	jv dirs; /* borrowed: array of the directories in it that are modules */
};
int unshown_find(int tree_fd, uint64_t size, const char *cwd, const struct unshown_fetched *fetched, jv *places,
		 struct sbx_error *err);

#endif
