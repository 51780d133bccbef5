/* One line of the record: how it is written, and how it is read. Private to the audit modules.
 *
 *     {"seq":N,"prev":HEX,"time":RFC3339,"boot":UUID,"event":NAME,"request_id":ID,details in byte order…}
 *
 * "prev" is the SHA-256 of the bytes of the line before, without its line feed; 64 zeros before the first. */
#ifndef SBX_AUDIT_LINE_H
#define SBX_AUDIT_LINE_H

#include <stdint.h>

#include "clock.h"
#include "digest.h"
#include "json.h"

#define AUDIT_FIRST_PREV "0000000000000000000000000000000000000000000000000000000000000000"
#define AUDIT_TORN_EVENT "audit.torn"

struct audit_line {
	int64_t seq; /* from 1 */
	char prev[DIGEST_HEX_SIZE];
	char time[CLOCK_RFC3339_SIZE]; /* as it stands there; "" when it is longer */
	char event[64];
	int64_t torn_bytes;		   /* of an AUDIT_TORN_EVENT; else -1 */
	char torn_sha256[DIGEST_HEX_SIZE]; /* of one; else "" */
};

/* Read the LEN bytes of a line, its line feed left out: the whole of it must be one strict JSON object with this head.
 * 0 or -1. */
int audit_line_read(const char *bytes, size_t len, struct audit_line *line);

/* 1 when the line begins as a record does, whatever the rest of it is, and as one that follows another line than the
 * one whose SHA-256 is HEAD. */
int audit_line_names_another(const char *bytes, size_t len, const char head[DIGEST_HEX_SIZE]);

/* 1 when the head of a record stands anywhere but at the beginning of the line: half a line with the next one written
 * on to it. A line that was cut off by a crash never looks like this, because every writer looks at the tail first. */
int audit_line_glued(const char *bytes, size_t len);

/* Append the line and its line feed to OUT. DETAILS must hold none of the head's names ("bug"); more than LIMIT_EVENT
 * bytes, or nested too deeply to be read again: "too_large" (65). */
int audit_line_write(struct buf *out, int64_t seq, const char *prev, const char *event, const char *id, jv details,
		     struct sbx_error *err);

/* A copy of DETAILS without secrets: values under a name that says password, token, secret or the like, and credential
 * shapes in every other string. Owned by the caller. */
int audit_redact(jv details, jv *clean, struct sbx_error *err);

#endif
