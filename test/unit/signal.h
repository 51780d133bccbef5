/* For the tests of signal rules: one rule, asked of one change. The rule goes through the compiler,
 * the table and the matcher, as those of an installation. */
#ifndef SBX_UNIT_SIGNAL_H
#define SBX_UNIT_SIGNAL_H

#include "buf.h"
#include "json.h"
#include "signal_compile_impl.h"
#include "unit.h"
#include "yaml_jv.h"

static struct sbx_error err;

/* A block with what TEXT says, a file of signals; without running its examples. -1 with an error.
 */
static inline int make_block(const char *text, struct buf *block)
{
	struct signal_file file = {
		.schema = {.file = "t", .text = text, .len = strlen(text), .err = &err}};
	struct signal_draft draft;
	int result = -1;

	sbx_error_clear(&err);
	draft_init(&draft);
	file.root = jv_invalid();
	if (yaml_jv_parse(text, strlen(text), "t", &file.root, &err) == 0 &&
	    compile_file(&file, &draft) == 0)
		result = draft_finish(&draft, block, &err);
	draft_clear(&draft);
	jv_free(file.root);
	return result;
}

/* The same of one rule for the type t with the MEMBERS. */
static inline int make_rule(const char *members, struct buf *block)
{
	auto_buf text = BUF_INIT(1 << 20);

	buf_addf(&text, &err,
		 "signals:\n"
		 "- {signal: found, verdict: destructive, types: [t], text: does it,\n"
		 "   examples: {match: [{after: {}}], no_match: [{after: {}}]},\n"
		 "   %s}\n",
		 members);
	return make_block(buf_str(&text), block);
}

struct seen {
	struct buf text;
	int hits;
};

static inline void add_places(struct buf *out, const struct signal_hit *hit)
{
	for (unsigned i = 0; i < hit->place_count; i++) {
		const struct plan_place *place = &hit->places[i];
		if (place->name != NULL)
			buf_addf(out, &err, "%s%.*s", i > 0 ? "." : "", (int)place->len,
				 place->name);
		else
			buf_addf(out, &err, "[%u]", place->index);
	}
}

static inline int see(void *context, const struct signal_hit *hit, struct sbx_error *e)
{
	struct seen *seen = context;

	(void)e;
	buf_addf(&seen->text, &err, "%s%s", seen->hits++ > 0 ? ", " : "",
		 hit->unknown ? "unknown" : "yes");
	if (hit->place_count > 0)
		buf_addf(&seen->text, &err, " ");
	add_places(&seen->text, hit);
	if (hit->verdict != (hit->unknown ? PLAN_REVIEW : PLAN_DESTRUCTIVE))
		buf_addf(&seen->text, &err, " with a wrong verdict");
	return 0;
}

/* JSON with ' for a double quote, ` for one in a string, and ~ for one in a string in that. */
static inline void parse(struct plan_tree *tree, const char *text)
{
	auto_buf json = BUF_INIT((size_t)64 << 20);

	plan_tree_init(tree);
	if (text == NULL)
		return;
	for (; *text != '\0'; text++)
		buf_add_str(&json,
			    *text == '\''  ? "\""
			    : *text == '`' ? "\\\""
			    : *text == '~' ? "\\\\\\\""
					   : (char[]){*text, '\0'},
			    &err);
	if (plan_tree_parse(tree, json.data, json.len, &err) < 0)
		printf("# a test's text is no JSON: %s\n", json.data);
}

static enum signal_source (*source)(void *context, const struct plan_place *places, unsigned count);

static inline enum signal_source from_provider(void *context, const struct plan_place *places, unsigned count)
{
	(void)context;
	(void)places;
	(void)count;
	return SIGNAL_FROM_PROVIDER;
}

static inline enum signal_source from_anything(void *context, const struct plan_place *places, unsigned count)
{
	(void)context;
	(void)places;
	(void)count;
	return SIGNAL_FROM_ANYTHING;
}

static inline const char *match(struct signal_matcher *m, enum signal_action action,
				const char *before, const char *after, const char *unknown)
{
	static char answer[400];
	struct seen seen = {.text = BUF_INIT(4096)};
	struct plan_tree trees[3];

	parse(&trees[0], before);
	parse(&trees[1], after);
	parse(&trees[2], unknown);
	const struct signal_subject subject = {
		.type = "t",
		.type_len = 1,
		.action = action,
		.before = &trees[0],
		.after = &trees[1],
		.unknown = &trees[2],
		.source = source,
	};
	if (signal_match(m, &subject, see, &seen, &err) < 0)
		buf_addf(&seen.text, &err, "failed: %s", err.code);
	snprintf(answer, sizeof answer, "%s", seen.text.len == 0 ? "no" : buf_str(&seen.text));
	buf_clear(&seen.text);
	for (size_t i = 0; i < ARRAY_LEN(trees); i++)
		plan_tree_clear(&trees[i]);
	return answer;
}

/* What the rule with these members says: "no", "yes PLACE", "unknown PLACE". */
static inline const char *ask_as(const char *members, enum signal_action action, const char *before,
				 const char *after, const char *unknown)
{
	auto_buf block = BUF_INIT(SIGNAL_TABLE_MAX);
	struct signal_table table = {.block = NULL};
	const char *answer = "no table";

	if (make_rule(members, &block) < 0) {
		printf("# %s: %s\n", err.message, err.hint);
		return "no rule";
	}
	if (signal_table_use(block.data, block.len, &table, &err) == 0) {
		struct signal_matcher *m = signal_matcher_new(&table, &err);
		answer = match(m, action, before, after, unknown);
		signal_matcher_free(m);
	}
	return answer;
}

/* BEFORE, AFTER or UNKNOWN may be NULL. */
static inline const char *ask(const char *members, const char *before, const char *after,
			      const char *unknown)
{
	enum signal_action action = before == NULL  ? SIGNAL_ON_CREATE
				    : after == NULL ? SIGNAL_ON_DELETE
						    : SIGNAL_ON_UPDATE;

	return ask_as(members, action, before, after, unknown);
}

/* The answer for a new object. */
static inline const char *made(const char *members, const char *after)
{
	return ask(members, NULL, after, NULL);
}

#endif
