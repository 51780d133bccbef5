/* One stream of a run on its way out: scrubbed as it comes, capped, kept for the result and in state/runs/CALL/. */
#ifndef SBX_SANDBOX_OUTPUT_H
#define SBX_SANDBOX_OUTPUT_H

#include "sandbox.h"

struct capture {
	struct scrub_stream *stream; /* owned */
	struct sandbox_text *text;   /* where the bytes go; borrowed */
	const char *name;	     /* of the file and the artefact */
	int run_fd;		     /* borrowed */
	int fd;			     /* of the file, made with the first byte */
	int file_failed;	     /* and given up */
};
#define CAPTURE_NONE                                                                                                   \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

/* TEXT holds at most MAX scrubbed bytes afterwards; what is more is counted in .dropped. */
int capture_open(struct capture *capture, const struct sandbox_job *job, const char *name, uint64_t max,
		 struct sandbox_text *text, struct sbx_error *err);
/* Neither fails: what cannot be scrubbed is dropped and counted, a file that cannot be written is given up with a line.
 */
void capture_feed(struct capture *capture, const char *bytes, size_t len);
/* The end of the stream: an artefact {name, sha256, size} is appended to *ARTIFACTS when the file holds the whole. */
void capture_finish(struct capture *capture, jv *artifacts);
/* What a program that failed wrote last, after FINISH: of the kept bytes from FROM on the first line that begins with
 * "Error" (behind the frame that terraform draws), else the last one that is not empty; as \xNN what is not printable
 * ASCII. "" when it wrote nothing. */
#define CAPTURE_WORDS_SIZE 201
void capture_words(const struct capture *capture, size_t from, char out[CAPTURE_WORDS_SIZE]);
/* All lines from FROM on that are not empty, in the same form, with "; " between them, cut at SIZE - 1 bytes. */
void capture_lines(const struct capture *capture, size_t from, char *out, size_t size);
void capture_clear(struct capture *capture);

/* {name, sha256, size} */
jv sandbox_artifact(const char *name, const char *sha256, uint64_t size);

#endif
