/* A YAML text (or one of JSON, which is YAML too) as its scalars, one after the other, without building anything: what
 * is secret among them goes from the lexer straight to where it belongs. */
#ifndef SBX_YAML_WALK_H
#define SBX_YAML_WALK_H

#include <stddef.h>

#include "yaml_lex.h"

enum { YAML_PLACE_SIZE = 256 };

/* Where a scalar stands: its keys joined by dots ("users.user.token"; lists add nothing), and which element of the
 * outermost list it is in (-1: none). */
struct yaml_place {
	char path[YAML_PLACE_SIZE];
	int index;
};

/* -1 with ERR ends the walk. */
typedef int yaml_visitor(void *context, const struct yaml_place *place, const struct yaml_item *item,
			 struct sbx_error *err);

typedef int yaml_walker(const char *text, size_t len, const char *what, yaml_visitor *visit, void *context,
			struct sbx_error *err);

/* Visit all scalars of the LEN bytes at TEXT, a mapping. WHAT names it in messages. The errors of yaml_lex.h and of
 * VISIT; "yaml_syntax" for what is no mapping, "yaml_depth" for what is nested too deeply or has a key that is too
 * long.
 */
yaml_walker yaml_walk;

/* The same for a text that a program of others wrote: what is null there is not visited, as if it were left out. */
yaml_walker yaml_walk_foreign;

#endif
