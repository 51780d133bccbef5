/* What was fetched for directories of Terraform: state/fetched/KEY/ holds
 *
 *     modules/    as terraform leaves .terraform/modules: modules.json, and a directory for each module from elsewhere
 *     providers/  as terraform leaves .terraform/providers: HOST/NAMESPACE/TYPE/VERSION/PLATFORM/
 *     made.json   {call, principal, at}: the call that fetched it; absent where a person has put it there
 *
 * KEY is the digest of what the directory asks for: its lock file, and the modules from elsewhere that it and its local
 * modules call. Whoever made it, each use looks at all of it again. */
#ifndef SBX_FETCHED_H
#define SBX_FETCHED_H

#include "digest.h"
#include "json.h"
#include "state.h"

#define FETCHED_DIR "fetched"
#define FETCHED_MODULES "modules"
#define FETCHED_PROVIDERS "providers"
#define FETCHED_MADE "made.json"
#define FETCHED_HALF_MADE ".new-" /* prefixes of what is not whole yet, and of what is to be removed */
#define FETCHED_OLD ".old-"

/* What a directory asks for. */
struct fetch_need {
	jv calls;  /* module_calls.h */
	jv locked; /* lock_file.h */
	char key[65];
};
#define FETCH_NEED_NONE                                                                                                \
	{                                                                                                              \
		.calls = jv_invalid(), .locked = jv_invalid()                                                          \
	}
void fetch_need_clear(struct fetch_need *need);
#define auto_need __attribute__((cleanup(fetch_need_clear))) struct fetch_need

/* Of the directory DIR in a packed tree. As module_calls and lock_file_read. */
int fetch_need_of(int tree_fd, uint64_t size, const char *dir, struct fetch_need *need, struct sbx_error *err);

/* All of it is on the lists of FETCH (policy.run.fetch): "provider_not_allowed", "module_not_allowed" (77). */
int fetch_need_allowed(const struct fetch_need *need, jv fetch, struct sbx_error *err);

/* What is there for it. */
struct fetched {
	char key[65];	/* "": nothing is needed beside the mirror */
	int dir_fd;	/* locked against removal while it is open; -1: none */
	char *path;	/* of the product; owned */
	jv providers;	/* those that the mirror does not have, as providers_find says, with "from": "fetched" */
	int modules_fd; /* packed (tree.h), sealed, at offset 0; -1: none */
	uint64_t modules_size;
	char modules_sha256[DIGEST_HEX_SIZE]; /* "": none */
	jv module_dirs;			      /* of the modules in it: array */
};
#define FETCHED_NONE                                                                                                   \
	{                                                                                                              \
		.dir_fd = -1, .providers = jv_invalid(), .modules_fd = -1, .module_dirs = jv_invalid()                 \
	}
void fetched_clear(struct fetched *fetched);
#define auto_fetched __attribute__((cleanup(fetched_clear))) struct fetched

/* What RUN (policy.run), which works on a packed tree and runs the plan with SEAL (invalid: none), is shown of
 * providers and modules. *MIRRORED, the caller's: those of its mirror, as providers_find; left alone where RUN has
 * none. FETCHED: what of the rest was fetched. Nothing of that is looked for where RUN starts no terraform, fetches
 * itself, or its policy lists nothing that may be fetched. "lock_invalid" (65); what the policy does not list: as
 * fetch_need_allowed; "not_fetched" (66) when it is not there or not whole. */
int fetched_find(const struct state *state, jv run, jv seal, int tree_fd, uint64_t size, jv *mirrored,
		 struct fetched *fetched, struct sbx_error *err);

/* The digests of its providers, as providers_digest with PROVIDERS_FETCHED. */
int fetched_digest(const struct state *state, struct fetched *fetched, struct sbx_error *err);

/* Look at the modules of a product in the directory DIR_FD, made for NEED: they go to FETCHED, and are those that NEED
 * calls and FETCH lists. -1: "module_not_allowed" (77), "fetch_incomplete" (76), or as tree_pack. */
int fetched_modules(int dir_fd, const struct fetch_need *need, jv fetch, struct fetched *fetched,
		    struct sbx_error *err);

/* Where the product of NEED's key is kept, and where the packages of a PRODUCT are: paths, owned by the caller. */
char *fetched_path(const struct state *state, const char *key, struct sbx_error *err);
char *fetched_providers(const char *product, struct sbx_error *err);

#endif
