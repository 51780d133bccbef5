/* The allow-list as libseccomp rules. */
#ifndef SBX_ISOLATE_RULES_H
#define SBX_ISOLATE_RULES_H

/* A filter of the machine that this runs on (a scmp_filter_ctx, owned by the caller), or NULL with errno. */
void *isolate_rules(void);

#endif
