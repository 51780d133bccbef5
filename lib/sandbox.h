/* One run of policy.run in a throwaway sandbox: the step table, the driver, its frames, what comes out. The driver is a
 * program of its own (sbx-helper(7)); nothing here trusts what a step prints. */
#ifndef SBX_SANDBOX_H
#define SBX_SANDBOX_H

#include "digest.h"
#include "json.h"
#include "scrub.h"
#include "steps.h"

enum sandbox_state {
	SANDBOX_COMPLETED, /* every step returned 0 */
	SANDBOX_FAILED,	   /* a step did not, or what it made cannot be used */
	SANDBOX_TIMEOUT,
	SANDBOX_CANCELLED,
	SANDBOX_REFUSED, /* nothing was started */
	SANDBOX_UNKNOWN, /* a step had begun and nobody saw its end */
};
const char *sandbox_state_name(enum sandbox_state state);

/* Bytes with their digest; the descriptor is borrowed and -1 for none. */
struct sandbox_file {
	int fd;
	uint64_t size;
	char sha256[DIGEST_HEX_SIZE];
};
#define SANDBOX_NO_FILE                                                                                                \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

#define SANDBOX_LOCKS 8

/* Who may end a run early beside INT and TERM: a reader that has gone (HUP, POLLERR or POLLHUP on READER_FD). */
enum sandbox_reader { READER_STOPS, READER_MAY_GO };

struct egress_pins;

/* What a run is given. Everything is borrowed. */
struct sandbox_job {
	jv run;	     /* policy.run */
	jv settings; /* drivers.NAME of sbx.yaml */
	jv seal;     /* of the plan that it runs; invalid for none: then none of the next three is compared inside */
	jv programs, mounts; /* digests by name and by path (programs.h) */
	jv providers; /* packages that it is shown, of the mirror and fetched ones (providers.h, fetched.h); invalid for
			 none */
	const char *fetched;	 /* where the fetched ones are */
	int fetches;		 /* its steps keep modules and providers */
	const char *call, *tool; /* for the names of what a driver makes */
	const char *backend;	 /* type of the backend (backend.h) of a run that makes a plan or runs one; NULL for any
				    other */
	jv dead; /* calls whose locks of that backend a step may take away (left_lock.h); invalid for a run that takes none */
	char lock_of[DIGEST_HEX_SIZE]; /* and then: names the backend with its settings, and the target */
	const char *rc; /* file of the host bound as Terraform's CLI configuration; NULL where no terraform runs */
	const struct egress_pins *pins;	 /* sandbox_egress.h; NULL: none */
	struct sandbox_file tree;	 /* packed (tree.h) */
	struct sandbox_file modules;	 /* too: those that were fetched for it */
	struct sandbox_file plan;	 /* becomes the artefact "plan" */
	struct sandbox_file state;	 /* access read: the content; write: its digest alone (fd -1) */
	struct sandbox_file signed_text; /* signed_text.h */
	const char *state_file;		 /* access write: the working copy, bound */
	const char *signals;		 /* file with the signal table for sbx-plan; NULL where no step analyses */
	int credentials_fd;		 /* -1: none */
	int locks[SANDBOX_LOCKS];	 /* inherited by the driver until it has ended */
	size_t lock_count;
	const struct scrub *scrub;
	int run_fd;    /* state/runs/CALL: "stdout" and "stderr" are written there */
	int signal_fd; /* a signalfd of INT, TERM and HUP */
	int reader_fd;
	enum sandbox_reader reader;
};

/* What one stream printed, scrubbed and capped. */
struct sandbox_text {
	struct buf bytes;
	uint64_t dropped;
};

struct sandbox_outcome {
	enum sandbox_state state;
	int started;	   /* a step had begun */
	int complete;	   /* the stream of frames had its last one */
	int refused;	   /* and that was a refusal: no step began, and no check of the table changes anything */
	int left;	   /* it may be there still, and run: whoever mends asks the driver again */
	unsigned step;	   /* the last one that began, from 1 */
	int exit_code;	   /* of the step that ended the run; -1: none */
	int signal;	   /* that killed it; 0: none */
	int state_changed; /* a step wrote to a state that it had for reading */
	jv isolation;	   /* what sbx-entry measured */
	jv connections;	   /* array of {destination, address, sent, received, took_ms, end}: out of the sandbox, each at
			      its end */
	jv artifacts;	   /* array of {name, sha256, size} */
	jv shown;	   /* array: sandbox_shown.h */
	size_t shown_room; /* what more of them may take in the call */
	jv analysis;	   /* sbx-plan's object; invalid when there is none */
	jv unshown;	   /* unshown.h: what no plan shows of the configuration that was planned; invalid: nothing */
	jv unlocked;	   /* {call, lock}: a lock that was taken away, and the call that had left it; invalid for none */
	jv sealed_state;   /* {lineage, serial, sha256} of the state that a step printed; invalid for none */
	int plan_fd;	   /* the artefact "plan" in sealed memory, owned; -1: none */
	int modules_fd, providers_fd; /* what a run that fetches has kept, packed (tree.h), owned; -1: none */
	uint64_t modules_size, providers_size;
	jv fetched; /* fetched_keep.h; invalid: nothing */
	struct sandbox_text out, err;
	size_t err_before;	  /* bytes of err that were kept when the last step began */
	struct sbx_error trouble; /* why: a refusal, a plan that cannot be read, a driver that died; may be empty */
	int64_t took_ms;
};
void sandbox_outcome_init(struct sandbox_outcome *outcome);
void sandbox_outcome_clear(struct sandbox_outcome *outcome);

/* Run it. 0: OUTCOME says what happened; -1: ERR, and no driver was started ("bad_call", 76, for a policy.run that no
 * sbx-policy makes). */
int sandbox_run(const struct sandbox_job *job, struct sandbox_outcome *outcome, struct sbx_error *err);

#endif
