/* What sbx-plan may ask of the kernel once it is confined, as libseccomp rules: compiled when the program is built
 * (gen/filter.c), because doing so takes as long as reading a small plan. */
#ifndef SBX_PLAN_CALLS_H
#define SBX_PLAN_CALLS_H

/* A filter of the machine that this runs on (a scmp_filter_ctx, owned by the caller), or NULL with errno. A call that it
 * does not name ends the process. */
void *plan_calls(void);

#endif
