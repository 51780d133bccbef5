/* Checks of a policy file's shape: known keys of the right kind, and messages that name file, line and mending. Used by
 * the policy_*.c alone. */
#ifndef SBX_POLICY_SCHEMA_H
#define SBX_POLICY_SCHEMA_H

#include "json.h"
#include "schema_name.h"
#include "yaml_path.h"

/* The file under check. */
struct schema {
	const char *file;
	const char *text;
	size_t len;
	struct sbx_error *err;
};

enum field_kind {
	FIELD_TEXT, /* a string that is not empty */
	FIELD_INTEGER,
	FIELD_BOOLEAN,
	FIELD_MAP,
	FIELD_LIST,
	FIELD_TEXTS,	/* a list of strings, none of them empty */
	FIELD_DURATION, /* "500ms", "30s", "5m", "1h" */
	FIELD_SIZE,	/* bytes, or "256Ki", "512Mi", "2Gi" */
	FIELD_ANY,
};

struct field {
	const char *key;
	enum field_kind kind;
	enum { FIELD_OPTIONAL, FIELD_REQUIRED } presence;
};

/* -1 with "policy_invalid" (78): "FILE:LINE: …". HINT may be NULL. */
int schema_fail(const struct schema *s, const struct yaml_at *at, const char *hint, const char *format, ...)
	SBX_PRINTF(4, 5);

/* VALUE is a mapping with these fields and no other. */
int schema_fields(const struct schema *s, const struct yaml_at *at, jv value, const struct field *fields, size_t count);

/* VALUE itself is of KIND. */
int schema_kind(const struct schema *s, const struct yaml_at *at, jv value, enum field_kind kind);

/* Milliseconds and bytes of what FIELD_DURATION and FIELD_SIZE accept; -1 for anything else. */
int schema_duration(jv value, int64_t *ms);
int schema_size(jv value, int64_t *bytes);

/* 1 when PATH is relative and canonical: no empty, "." or ".." part, no leading '-', no control character; or just ".".
 */
int schema_is_path(const char *path);
/* 1 when TEXT (LEN bytes) is UTF-8 without control characters, line separators and direction overrides. */
int schema_is_printable(const char *text, size_t len);

#endif
