/* A plan that a run made and sbx-plan has judged: what its seal covers, and keeping it. */
#ifndef SBX_SANDBOX_KEEP_H
#define SBX_SANDBOX_KEEP_H

#include "fetched.h"
#include "sandbox.h"
#include "state.h"

/* What the seal is made from, beside the outcome. Everything is borrowed. */
struct sandbox_plan {
	jv call;				 /* its seals verified */
	jv programs, mounts, providers, backend; /* as the seal has them (plan.h) */
	const char *target_sha256;		 /* "" without a target */
	jv state; /* {workspace, path, lineage, serial, sha256}; jv_invalid() for a tool without state */
	const struct fetched *fetched;
	struct sandbox_file tree; /* the workspace copy that was planned on */
	jv findings;		  /* those of sbx-plan and our own, strongest first */
	const char *verdict;	  /* over all of them */
};

/* 1 when the run asks for a plan to be kept. */
int sandbox_makes_plan(jv run);

/* Seal and keep (plan.h). *KEPT is {id, seal_sha256, verdict, expires_at}, the caller's. */
int sandbox_keep(const struct state *state, const struct secret *key, const struct sandbox_plan *plan,
		 const struct sandbox_outcome *outcome, jv *kept, struct sbx_error *err);

#endif
