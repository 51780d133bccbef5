/* A YAML file as a JSON value, from the safe subset alone: one document; mappings with scalar keys, each once; no
 * anchors, aliases, tags, directives or merge keys. Plain true/false are booleans, plain decimal integers (0 or without
 * a leading zero, optional -) are numbers, and a plain scalar that some YAML reader would take for anything but text
 * (no, on, ~, null, 0777, 1e3, 1.5, .inf, 12:30, dates, empty) is refused with "quote it". Quoted and block scalars are
 * strings. */
#ifndef SBX_YAML_JV_H
#define SBX_YAML_JV_H

#include "json.h"

/* NAME stands in messages, with line:column. Errors are class 78, codes "yaml_*". */
int yaml_jv_parse(const char *bytes, size_t len, const char *name, jv *out, struct sbx_error *err);

/* The same for a trusted file (io.h, IO_TRUSTED) below DIRFD. *BYTES, when not NULL, gets the text, owned by the
 * caller. */
int yaml_jv_file(int dirfd, const char *name, jv *out, char **bytes, size_t *len, struct sbx_error *err);

#endif
