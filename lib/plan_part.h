/* What a sealed plan relies on, part by part: the error code of each, the sentence that names it, and what to do. The
 * host compares what it can see (hostcheck.h), sbx-entry what it finds in the sandbox (entry_seal.h): the same part has
 * the same code, whoever notices. */
#ifndef SBX_PLAN_PART_H
#define SBX_PLAN_PART_H

#include "error.h"

enum plan_part {
	PLAN_PART_FILE,	     /* the saved plan's bytes */
	PLAN_PART_TREE,	     /* the live directory, the kept copy, or what is unpacked from it */
	PLAN_PART_LOCK,	     /* Terraform's dependency lock file */
	PLAN_PART_LINEAGE,   /* of the state */
	PLAN_PART_SERIAL,    /* of the state */
	PLAN_PART_STATE,     /* its content, under the same lineage and serial */
	PLAN_PART_PROGRAM,   /* one that made the plan, or a file that it is shown */
	PLAN_PART_PROVIDER,  /* a package of the mirror, or one that was fetched */
	PLAN_PART_MODULE,    /* the modules that were fetched */
	PLAN_PART_BACKEND,   /* where Terraform keeps the state, as the configuration says it */
	PLAN_PART_WORKSPACE, /* directory of the settings, or Terraform's own workspace */
	PLAN_PART_DRIVER,
	PLAN_PART_IMAGE,
	PLAN_PART_TARGET,
};

/* Fill ERR (class 77, code "plan_PART_changed"), with a hint, and return -1. WHICH (NULL: nothing) names the one of
 * several that differs: a name of ours, or one whose alphabet was checked. */
int plan_part_differs(enum plan_part part, const char *which, struct sbx_error *err);

#endif
