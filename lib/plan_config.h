/* The configuration in a plan: provisioners, arguments that refer to something, outputs that are declared sensitive. */
#ifndef SBX_PLAN_CONFIG_H
#define SBX_PLAN_CONFIG_H

#include "plan_survey.h"

/* Right behind the key "configuration": add to SURVEY's sets. */
int plan_config_read(struct plan_scan *s, struct plan_survey *survey, struct sbx_error *err);

/* Hash of the configuration address of the object ADDRESS: the same without the keys of its instances
 * ("module.a[0].t.n[\"x\"]" is "module.a.t.n"). SCRATCH is overwritten. 0 on failure ("no_memory", "too_large"). */
uint64_t plan_config_hash(const struct key_seed *seed, const char *address, size_t len, struct buf *scratch,
			  struct sbx_error *err);

#endif
