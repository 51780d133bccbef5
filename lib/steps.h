/* The step table: what sbx-entry is to check and to run, written by sbx-run, handed over by descriptor, length-prefixed
 * (wire.h). */
#ifndef SBX_STEPS_H
#define SBX_STEPS_H

#include <stdint.h>

#include "buf.h"
#include "package.h"
#include "ws_file.h"

#define STEPS_VERSION 7u

/* Where things stand inside every sandbox. */
#define SANDBOX_WORK "/work"
#define SANDBOX_CREDENTIALS "/run/sbx/cred"
#define SANDBOX_ENTRY "/run/sbx/entry"
#define SANDBOX_HOME "/tmp/home" /* empty at the start; TMPDIR is /tmp */
/* What terraform has fetched, relative to the directory of the steps. */
#define SANDBOX_MODULES ".terraform/modules"
#define SANDBOX_PROVIDERS ".terraform/providers"
/* And what the artefacts are called that are made of it. */
#define SANDBOX_KEPT_MODULES "modules"
#define SANDBOX_KEPT_PROVIDERS "providers"
/* Each program stands alone in a directory of its own (NAME/BASENAME): terraform takes for a plugin what it finds beside
 * itself. No program's name begins with a dot, so what else is there stands apart from all of them. */
#define SANDBOX_PROGRAMS "/opt/sbx"
#define SANDBOX_RC SANDBOX_PROGRAMS "/.terraformrc"
#define SANDBOX_RC_PAIR "TF_CLI_CONFIG_FILE=" SANDBOX_RC /* in the environment of what runs terraform */

/* 1 for an absolute path inside that no mount of a policy may cover: what is a sandbox's own, or lies below such a place. */
int steps_is_reserved(const char *path);

enum slot_kind {
	SLOT_TEXT,
	SLOT_ARTIFACT, /* text: its name; becomes /proc/self/fd/N */
	SLOT_LOCK,     /* text: ""; becomes the ID of a lock (entry_lock.h) */
};
struct slot {
	enum slot_kind kind;
	char *text;
};

#define STEP_ANALYSE 1u	    /* stdout is for sbx-plan; neither credential nor egress */
#define STEP_CREDENTIALS 2u /* may see the credential files */
#define STEP_SEALS_STATE 4u /* stdout is Terraform's state (entry_state.h) */
#define STEP_CHECK 8u	    /* looks before anything begins, and changes nothing: nothing begins unless it ends with 0 */
#define STEP_KEEPS_MODULES 16u /* fills SANDBOX_MODULES, SANDBOX_PROVIDERS (entry_keep.h) */
#define STEP_KEEPS_PROVIDERS 32u

struct produce {
	char *name; /* of the artefact */
	char *path; /* relative to the step's working directory */
};

struct step {
	char *program; /* absolute path in the sandbox */
	struct slot *argv;
	uint32_t argc; /* argv[0] included */
	uint32_t flags;
	struct produce *produces; /* taken right after this step */
	uint32_t produce_count;
};

enum input_kind {
	INPUT_TREE,	   /* a tree archive (tree.h), unpacked to SANDBOX_WORK */
	INPUT_MODULES,	   /* the same, to PATH below SANDBOX_WORK: modules that were fetched before (fetched.h) */
	INPUT_ARTIFACT,	   /* NAME: becomes a sealed memfd at once */
	INPUT_STATE_READ,  /* written to PATH below SANDBOX_WORK; a change is reported and thrown away */
	INPUT_STATE_WRITE, /* no byte of the inputs: the driver has mounted it at PATH; only its digest is checked */
	INPUT_SIGNED,	   /* the text that people signed for this run (signed_text.h); at most one, read by entry_signed.h */
};
struct input {
	enum input_kind kind;
	char *name; /* INPUT_ARTIFACT */
	char *path; /* INPUT_MODULES, INPUT_STATE_*: relative to SANDBOX_WORK */
	char sha256[65];
	uint64_t size; /* of its bytes in the inputs descriptor, where the inputs stand one after the other */
};

struct program_digest {
	char *path; /* in the sandbox */
	char sha256[65];
};

/* A provider package that a run is shown. */
struct package_digest {
	char *path;   /* in the sandbox */
	char *source; /* its name in a message: HOST/NAMESPACE/TYPE */
	char hash[PACKAGE_HASH_SIZE];
};

/* What a sealed plan relies on beside the inputs and the programs. */
struct sealed_parts {
	char *lock_path;      /* relative to SANDBOX_WORK */
	char lock_sha256[65]; /* "": there must be no such file */
	/* Of the state that was planned against, for naming what of INPUT_STATE_WRITE or of a printed one differs: ""
	 * and -1 for none. */
	char lineage[WS_LINEAGE_SIZE];
	int64_t serial;
	char state_sha256[65]; /* what a step of STEP_SEALS_STATE must print; "": the plan's seal has none */
	struct package_digest *packages;
	uint32_t package_count;
};

/* A call of the installation that is over, and may have left the lock of its state. */
struct dead_call {
	char id[33];
};

#define STEPS_NAMESPACES 7 /* user mnt pid net ipc uts cgroup, in this order */

/* Whether the table runs a sealed plan. Then a difference has the code of its part (plan_part.h). */
enum steps_plan { STEPS_NO_PLAN, STEPS_SEALED_PLAN };

struct steps {
	char require[16]; /* isolation that must be found: "local", "gvisor", "cluster-gvisor" */
	uint64_t host_namespaces[STEPS_NAMESPACES]; /* inode numbers of the host's, for the comparison */
	char *cwd;				    /* relative to SANDBOX_WORK; "." */
	char **env;				    /* NAME=value, NULL at the end */
	uint64_t output_max; /* bytes of stdout, and of stderr, that a step may send; the rest is counted and dropped */
	uint64_t artifact_max;
	uint64_t grace_ms; /* between INT and KILL when the driver stops it */
	struct input *inputs;
	uint32_t input_count;
	struct program_digest *programs; /* those that must match; may be none */
	uint32_t program_count;
	enum steps_plan plan;
	struct sealed_parts sealed; /* empty unless PLAN is STEPS_SEALED_PLAN */
	struct dead_call *dead;	    /* whose locks the step with SLOT_LOCK may take away; none: it is passed over */
	uint32_t dead_count;
	struct step *steps;
	uint32_t step_count;
};

/* 1 for the one step with SLOT_LOCK: a check, PROGRAM force-unlock -force SLOT_LOCK. */
int steps_unlocks(const struct step *step);

int steps_encode(const struct steps *steps, struct buf *out, struct sbx_error *err);
/* Fills an empty STEPS, whose fields are then owned by it; the limits of limit.h hold. */
int steps_decode(const void *bytes, size_t len, struct steps *steps, struct sbx_error *err);
void steps_clear(struct steps *steps);

#endif
