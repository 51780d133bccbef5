/* A secret out of a JSON text in locked memory, before the rest of the text goes where secrets may not. */
#ifndef SBX_JSON_SECRET_H
#define SBX_JSON_SECRET_H

#include "secret.h"

/* Move the string {"OUTER":{"INNER":"…"}} of TEXT into an empty OUT, which is allocated, and overwrite it in TEXT with
 * as many 'x'. 1: done; 0: there is none; -1: "bad_secret" (76), it is no visible ASCII without quotes and backslashes.
 * That TEXT is JSON is for json_parse to say, afterwards. */
int json_take_secret(struct secret *text, const char *outer, const char *inner, struct secret *out,
		     struct sbx_error *err);

/* Append "NAME":"VALUE" to OUT, with a comma before it where one is due. VALUE is as above. */
int json_add_secret(struct secret *out, const char *name, const void *value, size_t len, struct sbx_error *err);

#endif
