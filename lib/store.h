/* One SQLite file in a directory that is ours alone: opened with checks, durable at each commit, and spoken to through
 * bound statements only. The only includer of sqlite3.h. Nothing that an edited file holds (trigger, view, another
 * schema) is run. */
#ifndef SBX_STORE_H
#define SBX_STORE_H

#include <stdint.h>

#include "base.h"
#include "error.h"

struct store; /* an open file */

/* What the file is for: checked against its header when it is there, written when it is new. */
struct store_schema {
	int32_t application_id;
	int32_t version;
	const char *sql; /* CREATE statements, run once in one transaction */
};

/* Open NAME below DIRFD, making it (mode 0600) when it is missing. Owned by the caller. Errors: "unsafe_store" (78: a
 * symlink, another owner, any access for others, not writable for us, more than one name), "store_unknown" (78: not
 * ours, or of another version), "store_damaged" (78), "store_unavailable" (74: read-only or full disk, a fault while
 * reading). */
struct store *store_open(int dirfd, const char *name, const struct store_schema *schema, struct sbx_error *err);
void store_close(struct store *store); /* rolls back what is open; NULL is fine */

static inline void store_close_at(struct store **store)
{
	store_close(*store);
}
#define auto_store __attribute__((cleanup(store_close_at))) struct store

/* A write transaction from its first moment (BEGIN IMMEDIATE): what is read in it cannot change before the commit. Only
 * a 0 of _commit means that it happened; with -1 it is rolled back. Others are waited for 5 s ("store_busy", 69). */
int store_begin(struct store *store, struct sbx_error *err);
int store_commit(struct store *store, struct sbx_error *err);
void store_rollback(struct store *store); /* nothing when none is open */

/* Values for the ?1, ?2, … of a statement. Texts and bytes must outlive the call. */
enum store_kind { STORE_NULL, STORE_NUMBER, STORE_TEXT, STORE_BYTES };
struct store_value {
	enum store_kind kind;
	int64_t number;
	const void *bytes;
	size_t len;
};
struct store_value store_number(int64_t number);
struct store_value store_text(const char *text); /* NULL: the SQL NULL */
struct store_value store_bytes(const void *bytes, size_t len);

/* Run one statement that returns no rows. *CHANGED (may be NULL) is the number of rows it changed. A broken UNIQUE,
 * CHECK or foreign key rule is "store_conflict" (70; callers that expect it look at the code). */
int store_run(struct store *store, const char *sql, const struct store_value *values, size_t count, int64_t *changed,
	      struct sbx_error *err);

/* One row of a result, valid inside the callback. Getters never fail: a NULL or another type is 0 or NULL; columns
 * count from 0. */
struct store_row;
int64_t store_row_number(const struct store_row *row, int column);
const char *store_row_text(const struct store_row *row, int column);
const void *store_row_bytes(const struct store_row *row, int column,
			    size_t *len); /* NULL with *LEN 0 when it is no BLOB */

/* Call EACH for every row; it returns 0 to go on, 1 to stop (not an error), -1 with an error. Returns how many rows
 * were given to it, or -1. */
typedef int store_each_fn(const struct store_row *row, void *context, struct sbx_error *err);
int store_query(struct store *store, const char *sql, const struct store_value *values, size_t count,
		store_each_fn *each, void *context, struct sbx_error *err);

/* *VALUE becomes the number in the first column of the first row, and stays what it was when there is no row. */
int store_query_number(struct store *store, const char *sql, const struct store_value *values, size_t count,
		       int64_t *value, struct sbx_error *err);

#endif
