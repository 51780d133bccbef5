/* Kept plans: state/plans/ID/ holds plan.bin, tree (the packed workspace copy), findings.json (what sbx-plan said of
 * it) and seal.json, all 0600.
 * The seal is a JSON object; beside it stands a MAC of the seal key over its canonical form, which covers everything
 * that an apply relies on: HMAC-SHA256(key, "sbx-plan/1" | installation | canonical bytes), fields length-prefixed
 * (wire.h). */
#ifndef SBX_PLAN_H
#define SBX_PLAN_H

#include "json.h"
#include "plan_verdict.h"
#include "state.h"

/* The seal, in a plan's directory. */
#define PLAN_SEAL_FILE "seal.json"

/* A kept plan may be applied for this long, unless the seal says otherwise: long enough to find a person who signs,
 * short enough that what the plan saw still holds. */
#define PLAN_TTL_S (60 * 60)

/* Seal and keep. SEAL (borrowed) is an object with what is covered:
 *   tool, params, principal, made_by: who asked for it, how
 *   plan_sha256, tree_sha256 ("": no workspace), lock_sha256 ("": none): the saved plan, the copy of the
 *     workspace, the lock file in it
 *   format: plan_format.h
 *   workspace, workspace_at {name, tree, cwd, state_path}, state {workspace, path, lineage, serial, sha256}
 *   backend {type, config_sha256, workspace}: backend.h
 *   terraform {program, sha256, version}: whose words about the plan were believed; "judge" in a plan of another format
 *   programs, mounts: digests by name and by path (programs.h)
 *   providers [{source, version, path, package}]: what of the mirror, or fetched ("from"), could be loaded
 *     (providers.h)
 *   fetched, modules_sha256: the product of a fetch that it was made with, and the modules in it (absent: none)
 *   driver, image, isolation, target, target_sha256
 *   verdict, data_destroyed, changes, digest {artefact, effect}, findings (their number), findings_sha256
 *   created_at, expires_at (RFC 3339): optional; filled in where they are missing (now, and PLAN_TTL_S later)
 * To this _keep adds id and installation. PLAN_FD and TREE_FD are read from offset 0; what they hold must have the
 * digests of SEAL, REPORT that of findings_sha256 (json_digest), or nothing is kept: "plan_mismatch" (70). REPORT is an
 * object: findings (strongest first), findings_total, counts, safe, safe_total, data_destroyed, and of a change to a
 * cluster differences and differences_total. The directory appears whole or not at all. A principal keeps only so many (plan_room.h): "too_many_plans" (69). *SEAL_SHA256 is the digest
 * of the sealed object's canonical form. */
int plan_keep(const struct state *state, const struct secret *key, jv seal, int plan_fd, int tree_fd, jv report,
	      char id[STATE_ID_SIZE], char seal_sha256[65], struct sbx_error *err);

/* Find plan ID: MAC, installation and expiry are checked. "plan_unknown" (77; also for text that is no id, and for a
 * plan that was taken), "plan_seal_invalid" (77), "plan_expired" (77). *SEAL is the caller's. */
int plan_find(const struct state *state, const struct secret *key, const char *id, jv *seal, char seal_sha256[65],
	      struct sbx_error *err);

/* Its files, digests checked against the SEAL that plan_find gave: sealed memfds at offset 0, owned by the caller (the
 * digest is that of the copy, so nothing can change behind the check), with their sizes, and the report. When they are
 * not those that were sealed: "plan_file_changed", "plan_tree_changed" and, for the report or a file that is missing,
 * "plan_seal_invalid" (77). *TREE_FD is -1 for a plan that was made without a workspace. */
int plan_open_file(const struct state *state, jv seal, int *plan_fd, uint64_t *size, struct sbx_error *err);
int plan_open_tree(const struct state *state, jv seal, int *tree_fd, uint64_t *size, struct sbx_error *err);
int plan_open_report(const struct state *state, jv seal, jv *report, struct sbx_error *err);

/* A plan is run once. _take gives it to exactly one of all who ask, for whom nobody finds it any more: "plan_unknown"
 * (77) for the others. Only what was taken and provably not begun is put back. A crash in between costs the plan. */
int plan_take(const struct state *state, const char *id, struct sbx_error *err);
int plan_put_back(const struct state *state, const char *id, struct sbx_error *err);

/* Remove a plan, taken or not; absent is fine. And all that have expired, with what a crash left half-made. A plan
 * holds secrets (its values, and the state's), so it goes when nobody can use it any more: _sweep looks at most once in
 * PLAN_SWEEP_S, and is for whoever comes by. */
#define PLAN_SWEEP_S 60
int plan_drop(const struct state *state, const char *id, struct sbx_error *err);
int plan_drop_expired(const struct state *state, struct sbx_error *err);
int plan_sweep(const struct state *state, struct sbx_error *err);

#endif
