/* Every limit of the toolkit, each with its reason. Sizes are bytes, times are milliseconds unless the name says
 * otherwise. */
#ifndef SBX_LIMIT_H
#define SBX_LIMIT_H

/* The object in the pipe: fits a pipe reader's memory, and libjq needs up to 56 times as much. */
#define LIMIT_CALL ((size_t)1 << 20)
/* Nesting of a call: no tool needs more, and every libjq from 1.6 on parses and prints it. */
#define LIMIT_CALL_DEPTH 64
/* Nesting of a Terraform plan: real plans with generated values reach 120. */
#define LIMIT_PLAN_DEPTH 512
/* The largest integer that every JSON reader agrees on (RFC 8259 section 6). */
#define LIMIT_INTEGER (((int64_t)1 << 53) - 1)
/* One YAML file; libyaml's time grows with the square of the nesting, so both are small. */
#define LIMIT_YAML ((size_t)1 << 20)
#define LIMIT_YAML_DEPTH 32
/* Captured output as it may stand in the call, counted after JSON escaping, so that the object stays legal. */
#define LIMIT_RESULT_STDOUT ((size_t)64 << 10)
#define LIMIT_RESULT_STDERR ((size_t)16 << 10)
/* Files that a tool shows to its client, all of one call, as they stand in the call: a picture of a graph in base64. A run
 * that shows files has no findings, which would take as much. */
#define LIMIT_RESULT_SHOWN ((size_t)256 << 10)
/* What an analysed tool may show of its own words: enough for an error message, not for a dump of the state. */
#define LIMIT_ANALYSED_STDERR ((size_t)4 << 10)
#define LIMIT_FINDINGS 200
/* Values of a change that are listed with what they were and become: a person reads no more. */
#define LIMIT_DIFFERENCES 400
/* One event of the record; longer data goes to a side file and is named by digest. */
#define LIMIT_EVENT ((size_t)64 << 10)
/* A workspace copy: a Terraform tree is text; more is a mistake (a vendored binary, a data dump). */
#define LIMIT_TREE_FILES 20000
#define LIMIT_TREE_BYTES ((uint64_t)256 << 20)
#define LIMIT_TREE_DEPTH 64
/* A saved plan, and a state file. */
#define LIMIT_ARTIFACT ((uint64_t)256 << 20)
#define LIMIT_STATE_FILE ((uint64_t)256 << 20)
/* A program, or one file of a provider: the largest known ones (a cloud's provider) have 700 MB. */
#define LIMIT_PROGRAM ((uint64_t)2 << 30)
/* Providers that one lock file names: each is a mount of its own, and a sandbox has 64. */
#define LIMIT_PROVIDERS 32
/* Files of one provider: a program, its licence and notes. */
#define LIMIT_PROVIDER_FILES 1024
/* Modules from elsewhere that one directory calls, and local ones on the way to them: large ones have some fifty. */
#define LIMIT_MODULE_CALLS 256
/* What one fetch may leave, modules or providers: the largest known provider has 700 MB. */
#define LIMIT_FETCHED_BYTES ((uint64_t)1 << 30)
/* Products of fetches that are kept: of one principal, and of all together. */
#define LIMIT_FETCHED 20
#define LIMIT_FETCHED_TOTAL ((uint64_t)8 << 30)
/* Of that one principal has at most so much: there is room for the largest product of another one whatever it keeps. */
#define LIMIT_FETCHED_SHARE ((uint64_t)6 << 30)
/* Terraform's lock file: some hundred providers with all their digests. */
#define LIMIT_LOCK_FILE ((size_t)1 << 20)
/* A plan, and the JSON form of one, on their way back from a cluster: in base64, by a container's log, which kubelets
 * turn at 10 MiB. */
#define LIMIT_CLUSTER_ARTIFACT ((uint64_t)7 << 20)
/* The JSON form of a plan (it is some 200 times its plan file). */
#define LIMIT_PLAN_JSON ((uint64_t)512 << 20)
/* One line of a description of changes to a cluster: two objects, which have at most some 1.5 MiB each there (etcd), with
 * escapes. */
#define LIMIT_PLAN_LINE ((size_t)8 << 20)
/* A change to a cluster as it is kept: it has to come back from a cluster too (LIMIT_CLUSTER_ARTIFACT). */
#define LIMIT_CHANGE ((size_t)7 << 20)
/* An address of a plan, or another text about a change: a for_each key is the longest part of one. */
#define LIMIT_PLAN_ADDRESS ((size_t)1 << 20)
/* Of one value that is held as a tree: bytes of text, and nodes of 24 bytes. A change of a real plan has some 10 KB. */
#define LIMIT_PLAN_TREE ((size_t)64 << 20)
#define LIMIT_PLAN_TREE_NODES ((uint32_t)4 << 20)
/* One credential, and how many a call may have. */
#define LIMIT_SECRET ((size_t)64 << 10)
#define LIMIT_CREDENTIALS 8
/* All of them as one text: each behind its index and its length. */
#define LIMIT_CREDENTIAL_FILES ((size_t)LIMIT_CREDENTIALS * (8 + LIMIT_SECRET))
/* Destinations of one tool; connections of one run, at once (what providers open side by side) and in all (each is a line of
 * the record); bytes in both directions, unless the tool says otherwise. */
#define LIMIT_EGRESS 16
#define LIMIT_EGRESS_AT_ONCE 64
#define LIMIT_EGRESS_CONNECTIONS 4096
#define LIMIT_EGRESS_BYTES ((uint64_t)1 << 30)
#define LIMIT_STEPS 32
#define LIMIT_ARGV 256
#define LIMIT_ARGUMENT ((size_t)128 << 10)
/* A parameter that is a string: a path or a name, never a document. */
#define LIMIT_PARAMETER 4096
/* A line that the dispatcher reads, and one that it writes (clients drop the connection above 8 to 10 MiB). */
#define LIMIT_RPC_LINE ((size_t)4 << 20)
/* The review text that a person signs; and of each datum in it, whose length would else push what matters off the screen. */
#define LIMIT_REVIEW_TEXT ((size_t)256 << 10)
#define LIMIT_DATUM ((size_t)120)
/* People who sign one request: more would be a meeting. */
#define LIMIT_APPROVERS 9

/* Calls whose locks of a remote state one run may take away, the newest ones: each was killed, or failed while it had the lock. */
#define LIMIT_LEFT_LOCKS 64
/* Who has not missed a state for so long will not: by then a person has looked at its lock. */
#define LIMIT_LEFT_AGE_S (30 * 24 * 60 * 60)

/* How often a change is sent that met a write to its object's status on the way: a rollout writes about once a second. */
#define LIMIT_CHANGE_TRIES 5

/* How long a drain asks again for what a disruption budget does not allow yet: a replacement has to be ready first. */
#define LIMIT_EVICTIONS_MS 120000

/* A seal is believed this long; clocks of one machine do not differ by more than the second. */
#define LIMIT_SEAL_AGE_S 60
#define LIMIT_SEAL_AHEAD_S 5
/* A dead call is mended when its newest stage file is older than this. */
#define LIMIT_DEAD_AGE_S 75
/* Results are kept this long. */
#define LIMIT_RESULT_AGE_S (24 * 60 * 60)
/* An approval, from request to claim. */
#define LIMIT_APPROVAL_S (30 * 60)
/* Open approvals of one principal: more at once are clicked away, not read. */
#define LIMIT_OPEN_APPROVALS 5
/* Calls that one principal has at the door at once, whatever they wait for: what one sbx-mcp makes, and some beside it. Each
 * is five processes and more. */
#define LIMIT_DOOR_CALLS 20
/* Kept plans of one principal, with the workspace copies that they hold: the disk is everybody's.
 */
#define LIMIT_KEPT_PLANS 20
#define LIMIT_KEPT_PLAN_BYTES ((uint64_t)1 << 30)

#endif
