/* The desk: one request of a person, one reply, in the toolkit's account. A request is a line, and
 * for `accept` bytes behind it:
 *
 *     list                     every open request, a line each
 *     show ID                  its text
 *     read ID                  the same, when it may be signed now (approval_may_sign)
 *     accept ID LENGTH         and LENGTH bytes: an armored signature over that text
 *     deny ID [REASON]         close it
 *     resolve ID               somebody has looked what its call, whose outcome is unknown, did
 *     export ID                its text and signatures as files (desk_export.h)
 *
 * The reply is `ok LENGTH ID STATE SIGNED/NEEDED PEOPLE [LOST]` (- for what there is none of) and
 * LENGTH bytes, or `error CODE CLASS MESSAGE` and a hint. PEOPLE are those who have signed, with
 * commas; LOST, to the end of the line, is an object that holds data and is destroyed, as the text
 * names it. ID may be the first 6 or more digits of one. */
#ifndef SBX_DESK_H
#define SBX_DESK_H

#include "approval.h"

/* The longest request (a signature and its line) and reply (a review text, or a list). */
#define DESK_REQUEST_MAX ((size_t)20 << 10)
#define DESK_REPLY_MAX ((size_t)1 << 20)

/* Do what the REQUEST (LEN bytes) of NAME says, and append the reply to REPLY. ERR is filled when the reply is an
 * error. Whoever calls it may deny; only a signature approves. Malformed: "bad_request" (65). */
int desk_answer(struct approvals *approvals, const char *name, const char *request, size_t len, struct buf *reply,
		struct sbx_error *err);

/* The reply that says ERR. */
int desk_write_error(const struct sbx_error *failure, struct buf *reply, struct sbx_error *err);

/* 1 when NAME may stand for a person: 1 to 64 letters, digits and "._@-", not beginning with '-'. */
#define DESK_NAME_SIZE 65
int desk_is_name(const char *name);

/* --- the person's side --- */

struct desk_reply {
	struct buf whole;
	char id[STATE_ID_SIZE]; /* "" when there is none */
	char state[17];
	uint64_t signed_by, needed;
	char people[APPROVAL_PEOPLE_MAX * SIGNER_SIZE];	  /* "" when there is none */
	char lost[sizeof((struct approval *)NULL)->lost]; /* "" when there is none */
	const char *bytes;	  /* point into WHOLE */
	size_t len;
};
#define DESK_REPLY_INIT                                                                                                \
	{                                                                                                              \
		.whole = BUF_INIT(DESK_REPLY_MAX)                                                                      \
	}
void desk_reply_clear(struct desk_reply *reply);
#define auto_desk_reply __attribute__((cleanup(desk_reply_clear))) struct desk_reply

/* Start ARGV (absolute path first) with ENVP, hand it REQUEST, and read what it says into an empty REPLY. An error that
 * the desk says becomes ERR; no whole reply is "desk_failed" (69). */
int desk_ask(const char *const *argv, const char *const *envp, const char *request, size_t len,
	     struct desk_reply *reply, struct sbx_error *err);

#endif
