/* The only place where a secret may stand: memory that is locked, left out of core dumps and child processes, and wiped. There
 * is no print function, on purpose. */
#ifndef SBX_SECRET_H
#define SBX_SECRET_H

#include "base.h"
#include "error.h"

struct secret {
	unsigned char *data; /* a mapping of its own; NULL when empty */
	size_t len;
	size_t cap;
};

#define SECRET_INIT {.data = NULL}

/* Room for CAP bytes; S must be empty. mlock may fail where RLIMIT_MEMLOCK is small; that is not an error. */
int secret_alloc(struct secret *s, size_t cap, struct sbx_error *err);

/* Append; never grows: "too_large" (65) when CAP is passed. */
int secret_append(struct secret *s, const void *bytes, size_t len, struct sbx_error *err);

/* Read FD to its end (at most MAX bytes) into an empty S. */
int secret_read_fd(struct secret *s, int fd, size_t max, struct sbx_error *err);

/* A sealed memfd of the bytes, owned by the caller. */
int secret_memfd(const struct secret *s, const char *name, struct sbx_error *err);

/* 1 when both hold the same bytes, in time that depends on the lengths alone. */
int secret_equal(const struct secret *a, const struct secret *b);

/* Wipe and give back; also for an empty one. */
void secret_clear(struct secret *s);

#define auto_secret __attribute__((cleanup(secret_clear))) struct secret

#endif
