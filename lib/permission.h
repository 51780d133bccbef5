/* One word of a scope's permissions: RESOURCE[.GROUP][/SUBRESOURCE]:VERB, as kubectl names resources ("pods:get",
 * "deployments.apps/scale:update"). There is no wildcard: what nobody wrote down is granted to nobody. */
#ifndef SBX_PERMISSION_H
#define SBX_PERMISSION_H

#include "json.h"

enum { PERMISSION_MAX = 200 }; /* bytes of one word */

struct permission {
	char resource[PERMISSION_MAX]; /* with its subresource: "pods/log", as a rule of a Role has it */
	char group[PERMISSION_MAX];    /* "": the core group */
	char verb[PERMISSION_MAX];
};

/* 0, or -1 when WORD (NULL is fine) is none. */
int permission_parse(const char *word, struct permission *out);

/* 1 when it changes nothing: get, list, watch, read. */
int permission_only_reads(const struct permission *permission);
/* 1 when its bearer sees what is secret: Secrets, tokens of service accounts, the inside of running containers. */
int permission_reads_secrets(const struct permission *permission);

/* The first of WORDS, an array of such words, that gets or lists: what its bearer can ask for and change nothing. -1:
 * there is none. */
int permission_find_look(jv words, struct permission *out);

/* The rules of a Role that grants WORDS: an array of {apiGroups, resources, verbs}, one for
 * each resource, in the order of the words; the caller's. Anything that is no such word is left out. */
jv permission_rules(jv words);

#endif
