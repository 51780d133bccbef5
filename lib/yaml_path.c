/* A second walk over the text, following one path. */
#include "yaml_path.h"

#include "limit.h"
#include "yaml_lex.h"

struct walk {
	struct yaml_lex *lex;
	const struct yaml_at *path[LIMIT_YAML_DEPTH]; /* from the root down */
	size_t depth;
	size_t line;
};

static int next(struct walk *w, struct yaml_item *item)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	return yaml_lex_next(w->lex, item, &ignored);
}

/* Read past the value that FIRST began. */
static int skip(struct walk *w, const struct yaml_item *first)
{
	struct yaml_item item = *first;
	size_t open = 0;

	for (;;) {
		open += item.token == YAML_MAP_OPEN || item.token == YAML_LIST_OPEN;
		open -= item.token == YAML_MAP_CLOSE || item.token == YAML_LIST_CLOSE;
		if (open == 0)
			return 0;
		if (next(w, &item) < 0 || item.token == YAML_END)
			return -1;
	}
}

/* From behind an opening bracket to the first token of the member that STEP names: 1 when it is there. */
static int enter(struct walk *w, const struct yaml_at *step, struct yaml_item *item)
{
	for (int i = 0;; i++) {
		if (next(w, item) < 0 || item->token == YAML_MAP_CLOSE || item->token == YAML_LIST_CLOSE ||
		    item->token == YAML_END)
			return 0;
		size_t line = item->line;
		int found = step->key == NULL && i == step->index;
		if (item->token == YAML_KEY) {
			found = step->key != NULL && strcmp(item->text, step->key) == 0;
			if (next(w, item) < 0)
				return 0;
		}
		if (found) {
			w->line = line;
			return 1;
		}
		if (skip(w, item) < 0)
			return 0;
	}
}

size_t yaml_line(const char *bytes, size_t len, const struct yaml_at *at)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_yaml_lex *lex = yaml_lex_new(bytes, len, "", &ignored);
	struct walk w = {.lex = lex, .line = 1};
	struct yaml_item item;
	size_t depth = 0;

	for (const struct yaml_at *a = at; a != NULL && depth < LIMIT_YAML_DEPTH; a = a->up)
		depth++;
	w.depth = depth;
	for (const struct yaml_at *a = at; depth > 0; a = a->up)
		w.path[--depth] = a;
	if (lex == NULL || next(&w, &item) < 0)
		return 1;
	w.line = item.line;
	for (size_t i = 0; i < w.depth; i++) {
		if ((item.token != YAML_MAP_OPEN && item.token != YAML_LIST_OPEN) || !enter(&w, w.path[i], &item))
			break;
	}
	return w.line;
}
