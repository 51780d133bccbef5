/* JSON values: the only caller of jv_parse, and the only writer of jv values. Input passes json_lex first, so that libjq 1.6, 1.7 and
 * 1.8 agree on what they see. A jv parameter is borrowed unless its comment says "consumes"; a returned jv is the caller's. */
#ifndef SBX_JSON_H
#define SBX_JSON_H

#include <jv.h>
#include <stdint.h>

#include "buf.h"
#include "limit.h"

static inline void json_free_at(jv *value)
{
	jv_free(*value);
}
/* Freed at the end of the scope. Hand it to a consuming call as take_jv(&x) only: a second free is seen by no sanitizer. */
#define auto_jv __attribute__((cleanup(json_free_at))) jv

static inline jv take_jv(jv *value)
{
	jv taken = *value;
	*value = jv_invalid();
	return taken;
}

/* Parse a complete text under the limits of the call (LIMIT_CALL bytes unless MAX says otherwise, LIMIT_CALL_DEPTH, integers only).
 * -1 with a "json_*" code (65). BYTES need a NUL behind them (io_read_all and buf put one). */
int json_parse(const char *bytes, size_t len, size_t max, jv *out, struct sbx_error *err);
/* The same for a message of another protocol, which may hold any number: one that is no integer within LIMIT_INTEGER is refused where it
 * is used, by json_number and json_write. */
int json_parse_foreign(const char *bytes, size_t len, size_t max, jv *out, struct sbx_error *err);

/* Look-ups that never abort: OBJECT may be of any kind, a missing or wrongly typed member is "no". */
const char *json_str(jv object, const char *key); /* borrowed from OBJECT; NULL if no string, or one with a NUL in it */
int json_int(jv object, const char *key, int64_t *value); /* 0 or -1 */
int json_bool(jv object, const char *key);		  /* 1, 0, or -1 if it is no boolean */
jv json_get(jv object, const char *key);		  /* jv_invalid() if there is none */
jv json_object(jv object, const char *key);		  /* jv_invalid() if it is no object */
jv json_array(jv object, const char *key);		  /* jv_invalid() if it is no array */
int json_has(jv object, const char *key);
/* The string VALUE itself as a C string, NULL as above; and an integral number as int64. */
const char *json_text(jv value);
int json_number(jv value, int64_t *out);
/* Elements of an array, members of an object; 0 for anything else. */
int json_length(jv value);
/* Element I of an array, jv_invalid() outside it. */
jv json_at(jv array, int i);

/* The first key of OBJECT that is not in the NULL-terminated ALLOWED list, as a heap string owned by the caller; NULL if there is none. */
char *json_unknown_key(jv object, const char *const *allowed);

/* Set or append; consumes its first and last argument and returns the new whole. A value that is invalid is a bug and aborts. */
jv json_set(jv object, const char *key, jv value);
jv json_set_str(jv object, const char *key, const char *text); /* NULL text: left out */
jv json_set_int(jv object, const char *key, int64_t number);
jv json_set_bool(jv object, const char *key, int truth);
jv json_append(jv array, jv value);
jv json_delete(jv object, const char *key); /* consumes OBJECT */

/* The one form that is written, hashed and sealed: keys in byte order, no white space, escapes of json_out.h, integers in decimal. -1 with
 * "json_number" when a number is no integer within LIMIT_INTEGER, "too_large". */
int json_write(jv value, struct buf *out, struct sbx_error *err);
/* SHA-256 of that form, as hex. */
int json_digest(jv value, char out[65], struct sbx_error *err);
/* 1 when both have the same form. */
int json_same(jv a, jv b);

#endif
