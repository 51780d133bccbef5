/* One value of a plan, as much of it as people are shown. */
#ifndef SBX_PLAN_VALUE_H
#define SBX_PLAN_VALUE_H

#include "plan_secrets.h"

/* So many bytes are shown, and as many as a probe for secrets needs, each byte written as \u0000, are kept behind them.
 */
#define PLAN_VALUE_SHOWN 120
#define PLAN_VALUE_KEPT (PLAN_VALUE_SHOWN + 6 * PLAN_SECRET_PROBE)

enum plan_value_how {
	PLAN_VALUE_ABSENT,    /* nothing there, or null */
	PLAN_VALUE_PLAIN,     /* what BYTES say, unless a secret is in it */
	PLAN_VALUE_OPEN,      /* what BYTES say, though a secret may be the same */
	PLAN_VALUE_SENSITIVE, /* never shown */
	PLAN_VALUE_UNKNOWN,   /* known after apply only */
	PLAN_VALUE_FROM,      /* of a setting: BYTES say what it refers to */
	PLAN_VALUE_COMPUTED,  /* of a setting: a function makes it */
};

struct plan_value {
	enum plan_value_how how;
	int is_text;  /* a string: shown in quotes. Else JSON text. */
	int is_short; /* BYTES are the beginning only */
	size_t kept;
	char bytes[PLAN_VALUE_KEPT];
};

/* Take the value at NODE of TREE (NULL: absent). */
void plan_value_take(struct plan_value *value, const struct plan_tree *tree, const struct plan_node *node);

/* The same of a text, LEN bytes. */
void plan_value_take_text(struct plan_value *value, const char *text, size_t len);

/* 1 when people are shown (sensitive) for it. */
int plan_value_is_hidden(const struct plan_value *value, const struct plan_secrets *secrets);

/* What people see: "text" in quotes, JSON, (sensitive), (known after apply), (nothing),
 * from ["var.a"], (computed); printable ASCII alone, so that
 * no character can hide or turn another one. */
int plan_value_show(const struct plan_value *value, const struct plan_secrets *secrets, struct buf *out,
		    struct sbx_error *err);

/* LEN bytes of TEXT in quotes as printable ASCII: escapes of JSON, \u for what lies beyond it. */
int plan_value_quote(struct buf *out, const char *text, size_t len, struct sbx_error *err);

#endif
