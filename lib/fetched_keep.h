/* Keeping what a call has fetched (fetched.h): unpacked beside, looked at, and put in its place by one rename, so that
 * whoever looks finds the old product, the new one, or none. */
#ifndef SBX_FETCHED_KEEP_H
#define SBX_FETCHED_KEEP_H

#include "fetched.h"

struct fetched_trees {
	int modules_fd, providers_fd; /* packed (tree.h), read from offset 0; -1: none came */
	uint64_t modules_size, providers_size;
};

/* FETCH is policy.run.fetch, CALL and PRINCIPAL whose product it is. Every module that came is one that FETCH lists,
 * and all that NEED calls are there; every package is one that NEED's lock file has by its digest
 * ("provider_not_locked", 77). Else nothing is kept, with "fetch_incomplete" (76) or as fetched_modules. A product that
 * is there already is left when it has the same content, or when a person put it there and it passes the same look;
 * another one is exchanged. *KEPT, the caller's: {key, state: "kept" or "unchanged", modules_sha256 (absent: none),
 * providers: [{source, version, package}]}. KNOW is called with it before the product can be used, and ends it when it
 * returns -1. */
struct fetched_keeper {
	const char *call, *principal;
	int (*know)(void *context, jv kept, struct sbx_error *err);
	void *context;
};
int fetched_keep(const struct state *state, const struct fetched_keeper *keeper, const struct fetch_need *need,
		 jv fetch, const struct fetched_trees *trees, jv *kept, struct sbx_error *err);

#endif
