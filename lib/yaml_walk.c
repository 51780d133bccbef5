/* Recursion over the tokens of yaml_lex.h, to a fixed depth. */
#include "yaml_walk.h"

#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 16 };

struct walk {
	struct yaml_lex *lex;
	const char *what; /* for messages */
	yaml_visitor *visit;
	void *context;
	struct yaml_place place;
	int lists; /* that we are in */
};

static int walk_value(struct walk *w, const struct yaml_item *first, int depth, struct sbx_error *err);

static int too_deep(const struct walk *w, struct sbx_error *err)
{
	return sbx_fail(err, SBX_CONFIG, "yaml_depth", "%s is nested too deeply, or has a key that is too long",
			w->what);
}

static int walk_map(struct walk *w, int depth, struct sbx_error *err)
{
	size_t len = strlen(w->place.path);
	struct yaml_item item;

	for (;;) {
		if (yaml_lex_next(w->lex, &item, err) < 0)
			return -1;
		if (item.token == YAML_MAP_CLOSE)
			return 0;
		if (snprintf(w->place.path + len, sizeof w->place.path - len, "%s%s", len > 0 ? "." : "", item.text) >=
		    (int)(sizeof w->place.path - len))
			return too_deep(w, err);
		if (yaml_lex_next(w->lex, &item, err) < 0 || walk_value(w, &item, depth + 1, err) < 0)
			return -1;
		w->place.path[len] = '\0';
	}
}

static int walk_list(struct walk *w, int depth, struct sbx_error *err)
{
	struct yaml_item item;

	w->lists++;
	for (int i = 0;; i++) {
		if (w->lists == 1)
			w->place.index = i;
		if (yaml_lex_next(w->lex, &item, err) < 0)
			return -1;
		if (item.token == YAML_LIST_CLOSE)
			break;
		if (walk_value(w, &item, depth + 1, err) < 0)
			return -1;
	}
	if (--w->lists == 0)
		w->place.index = -1;
	return 0;
}

static int walk_value(struct walk *w, const struct yaml_item *first, int depth, struct sbx_error *err)
{
	if (depth > DEPTH_MAX)
		return too_deep(w, err);
	if (first->token == YAML_MAP_OPEN)
		return walk_map(w, depth, err);
	if (first->token == YAML_LIST_OPEN)
		return walk_list(w, depth, err);
	return first->token == YAML_NULL ? 0 : w->visit(w->context, &w->place, first, err);
}

static int walk(struct yaml_lex *lex, const char *what, yaml_visitor *visit, void *context, struct sbx_error *err)
{
	struct walk w = {.lex = lex, .what = what, .visit = visit, .context = context, .place = {.index = -1}};
	struct yaml_item item;

	if (yaml_lex_next(lex, &item, err) < 0)
		return -1;
	if (item.token != YAML_MAP_OPEN)
		return sbx_fail(err, SBX_CONFIG, "yaml_syntax", "%s is no mapping", what);
	if (walk_map(&w, 0, err) < 0)
		return -1;
	return yaml_lex_next(lex, &item, err);
}

int yaml_walk(const char *text, size_t len, const char *what, yaml_visitor *visit, void *context, struct sbx_error *err)
{
	auto_yaml_lex *lex = yaml_lex_new(text, len, what, err);

	return lex == NULL ? -1 : walk(lex, what, visit, context, err);
}

int yaml_walk_foreign(const char *text, size_t len, const char *what, yaml_visitor *visit, void *context,
		      struct sbx_error *err)
{
	auto_yaml_lex *lex = yaml_lex_new(text, len, what, err);

	if (lex == NULL)
		return -1;
	yaml_lex_allow_null(lex);
	return walk(lex, what, visit, context, err);
}
