/* JSON text without libjq: one member after the other into a buffer, escaped so that any terminal and any line splitter is safe
 * with it. Also the one form that is hashed and sealed: shortest escapes, decimal integers; the caller orders the keys. */
#ifndef SBX_JSON_OUT_H
#define SBX_JSON_OUT_H

#include <stdint.h>

#include "buf.h"

/* A quoted string. Control characters, DEL, C1 controls, U+2028 and U+2029 are escaped; bytes that are not UTF-8 become U+FFFD
 * (one each). */
int json_out_string(struct buf *b, const char *text, size_t len, struct sbx_error *err);

/* ,"key": (no comma right behind an opening bracket); then the value is the caller's. */
int json_out_key(struct buf *b, const char *key, struct sbx_error *err);

/* "key":"text", "key":number and "key":true|false, with the comma where one is due. TEXT may be NULL: nothing is written. */
int json_out_member(struct buf *b, const char *key, const char *text, struct sbx_error *err);
int json_out_member_int(struct buf *b, const char *key, int64_t number, struct sbx_error *err);

/* How many bytes json_out_string writes for these, with its quotes. */
size_t json_out_string_size(const char *text, size_t len);

/* Length of the UTF-8 sequence at P (at most LEFT bytes; RFC 3629, no surrogates, no overlong form); 0 when it is none.
 * *CODE_POINT may be NULL. */
size_t json_out_utf8(const char *p, size_t left, uint32_t *code_point);

#endif
