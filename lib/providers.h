/* The providers that terraform can load for one directory: those that its lock file names and that the mirror has. A
 * run is shown their packages and nothing else of the mirror, so what is found here is what can be loaded, however
 * somebody else reads the lock file. */
#ifndef SBX_PROVIDERS_H
#define SBX_PROVIDERS_H

#include "json.h"
#include "state.h"

/* Look up LOCKED (lock_file.h; borrowed) in MIRROR, a directory. *FOUND, the caller's: an array of {source, version,
 * hashes, path} in the order of the lock file, PATH relative to the mirror: the unpacked package for this machine's
 * platform, else the packed one. What is not there is left out. "mirror_missing" (78), "provider_unsafe" (78) for a
 * package that leads out of the mirror. */
int providers_find(const char *mirror, jv locked, jv *found, struct sbx_error *err);

/* Who has chosen what lies there. A mirror is the operator's: "provider_not_locked" (77) where the lock file has
 * digests of unpacked packages, and not this one's; a packed one is left to terraform to compare. What was fetched came
 * from elsewhere: the same for each package whose digest does not stand in the lock file, for nothing else says that a
 * person chose it. */
enum providers_from { PROVIDERS_MIRRORED, PROVIDERS_FETCHED };

/* For each entry of *FOUND: "package", its digest (package.h), remembered like those of programs, in the place of
 * "hashes". Nobody but root or we may be able to write to it ("unsafe_file", 78). */
int providers_digest(const struct state *state, const char *mirror, enum providers_from from, jv *found,
		     struct sbx_error *err);

/* Which provider of EXPECTED (as above, digested) is missing in FOUND or is another one there, or is there and was not
 * expected: its source, borrowed from either; NULL when they are the same. */
const char *providers_differ(jv expected, jv found);

#endif
