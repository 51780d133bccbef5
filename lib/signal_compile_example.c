/* The examples of signal rules: each goes through the table and the matcher that a plan goes
 * through. */
#include <stdio.h>
#include <string.h>

#include "signal_compile_impl.h"

enum { EXAMPLES_MAX = 64 /* of one kind for one rule */ };

enum kind { KIND_MATCH, KIND_NO_MATCH, KIND_UNKNOWN, KINDS };
static const char *const kind_names[KINDS] = {"match", "no_match", "unknown"};

static const struct field kind_fields[] = {
	{"match", FIELD_LIST, FIELD_REQUIRED},
	{"no_match", FIELD_LIST, FIELD_OPTIONAL},
	{"unknown", FIELD_LIST, FIELD_OPTIONAL},
};
static const struct field example_fields[] = {
	{"type", FIELD_TEXT, FIELD_OPTIONAL},	    {"before", FIELD_ANY, FIELD_OPTIONAL},
	{"after", FIELD_ANY, FIELD_OPTIONAL},	    {"unknown", FIELD_ANY, FIELD_OPTIONAL},
	{"replace", FIELD_BOOLEAN, FIELD_OPTIONAL},
};

/* The first type of RULE that is no pattern; NULL when all are. */
static const char *default_type(jv types)
{
	for (int i = 0, n = json_length(types); i < n; i++) {
		auto_jv type = json_at(types, i);
		if (!type_is_pattern(json_text(type)))
			return json_text(type); /* the list keeps it */
	}
	return NULL;
}

static int check_type(const struct schema *s, const struct yaml_at *up, jv rule, jv example)
{
	const struct yaml_at at = {.up = up, .key = "type"};
	const char *type = json_str(example, "type");
	auto_jv types = json_array(rule, "types");

	if (type == NULL && default_type(types) == NULL)
		return schema_fail(
			s, up, "add type",
			"must say which type it is, because the rule names patterns alone");
	if (type != NULL && !types_include(types, type))
		return schema_fail(s, &at, NULL, "is none of the rule's types");
	return 0;
}

static int check_example(const struct schema *s, const struct yaml_at *at, jv rule, jv example)
{
	static const char *const objects[] = {"before", "after", "unknown"};

	if (schema_fields(s, at, example, example_fields, ARRAY_LEN(example_fields)) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
		const struct yaml_at here = {.up = at, .key = objects[i]};
		auto_jv object = json_get(example, objects[i]);
		if (jv_is_valid(object) && jv_get_kind(object) != JV_KIND_OBJECT &&
		    json_text(object) == NULL)
			return schema_fail(s, &here, "text is read as JSON",
					   "must be a mapping or a text");
	}
	if (!json_has(example, "before") && !json_has(example, "after"))
		return schema_fail(s, at, NULL, "needs before, after or both");
	if (!json_has(example, "after") && json_has(example, "unknown"))
		return schema_fail(s, at, NULL, "has nothing after that could be unknown");
	if (json_bool(example, "replace") == 1 &&
	    (!json_has(example, "before") || !json_has(example, "after")))
		return schema_fail(s, at, NULL, "is no replacement without before and after");
	return check_type(s, at, rule, example);
}

int check_examples(const struct schema *s, const struct yaml_at *up, jv rule)
{
	const struct yaml_at at = {.up = up, .key = "examples"};
	auto_jv examples = json_object(rule, "examples");

	if (schema_fields(s, &at, examples, kind_fields, ARRAY_LEN(kind_fields)) < 0)
		return -1;
	for (size_t kind = 0; kind < KINDS; kind++) {
		const struct yaml_at here = {.up = &at, .key = kind_names[kind]};
		auto_jv list = json_array(examples, kind_names[kind]);
		int count = json_length(list);
		if (count > EXAMPLES_MAX)
			return schema_fail(s, &here, NULL, "more than %d examples",
					   (int)EXAMPLES_MAX);
		if (count == 0 &&
		    (kind == KIND_MATCH || (kind == KIND_NO_MATCH && json_has(rule, "when"))))
			return schema_fail(s, &at, "examples: {match: [...], no_match: [...]}",
					   "there is no example under %s", kind_names[kind]);
		for (int i = 0; i < count; i++) {
			const struct yaml_at place = {.up = &here, .index = i};
			auto_jv example = json_at(list, i);
			if (check_example(s, &place, rule, example) < 0)
				return -1;
		}
	}
	return 0;
}

/* What one example gave for its rule. */
struct outcome {
	uint32_t rule;
	int is_hit, is_unknown;
};

static int note_hit(void *context, const struct signal_hit *hit, struct sbx_error *err)
{
	struct outcome *outcome = context;

	(void)err;
	if (hit->rule != outcome->rule)
		return 0;
	outcome->is_hit = 1;
	outcome->is_unknown = hit->unknown;
	return 0;
}

/* The member KEY of EXAMPLE as a tree; empty when there is none. 1: a text that is no JSON object.
 */
static int make_tree(jv example, const char *key, struct plan_tree *tree, struct sbx_error *err)
{
	auto_jv value = json_get(example, key);
	auto_buf written = BUF_INIT(LIMIT_YAML * 2);
	struct sbx_error refused = SBX_ERROR_INIT;
	const char *text = json_text(value);

	if (!jv_is_valid(value))
		return 0;
	if (text == NULL) {
		if (json_write(value, &written, err) < 0)
			return -1;
		text = buf_str(&written);
	}
	if (plan_tree_parse(tree, text, strlen(text), &refused) < 0) {
		if (refused.class != SBX_OS)
			return 1;
		*err = refused;
		return -1;
	}
	return plan_tree_root(tree)->kind == PLAN_OBJECT ? 0 : 1;
}

static enum signal_action action_of(jv example)
{
	if (!json_has(example, "after"))
		return SIGNAL_ON_DELETE;
	if (!json_has(example, "before"))
		return SIGNAL_ON_CREATE;
	return json_bool(example, "replace") == 1 ? SIGNAL_ON_REPLACE : SIGNAL_ON_UPDATE;
}

/* 0 and OUTCOME; 1: an object of it is no JSON. */
static int run_example(jv rule, jv example, struct signal_matcher *matcher, struct outcome *outcome,
		       struct sbx_error *err)
{
	struct plan_tree before, after, unknown;
	auto_jv types = json_array(rule, "types");
	const char *type = json_str(example, "type");
	int made, result;

	if (type == NULL)
		type = default_type(types);
	plan_tree_init(&before);
	plan_tree_init(&after);
	plan_tree_init(&unknown);
	if ((made = make_tree(example, "before", &before, err)) == 0 &&
	    (made = make_tree(example, "after", &after, err)) == 0)
		made = make_tree(example, "unknown", &unknown, err);
	const struct signal_subject subject = {
		.type = type,
		.type_len = strlen(type),
		.action = action_of(example),
		.before = &before,
		.after = &after,
		.unknown = &unknown,
	};
	result = made != 0 ? made : signal_match(matcher, &subject, note_hit, outcome, err);
	plan_tree_clear(&before);
	plan_tree_clear(&after);
	plan_tree_clear(&unknown);
	return result;
}

/* Why an example of KIND does not hold; NULL when it does. */
static const char *judge(enum kind kind, int is_broken, const struct outcome *outcome)
{
	static const char *const wanted[KINDS] = {"is not met", "is met", "is not met"};

	if (is_broken)
		return "holds a text that is no JSON object";
	if (kind == KIND_NO_MATCH
		    ? !outcome->is_hit
		    : outcome->is_hit && outcome->is_unknown == (kind == KIND_UNKNOWN))
		return NULL;
	if (!outcome->is_hit)
		return wanted[kind];
	return outcome->is_unknown ? "is unknown" : "is met";
}

static int report(const struct schema *s, const struct yaml_at *at, const char *signal, int number,
		  enum kind kind, const char *problem, struct signal_reporter *reporter)
{
	static const char *const hints[KINDS] = {
		"a rule is met when its condition holds and did not hold before",
		"its condition holds, and did not hold before",
		"a rule is unknown when what decides is known after apply only",
	};
	char name[256], why[256];

	reporter->failed += problem != NULL;
	if (reporter->each == NULL && problem != NULL)
		return schema_fail(s, at, hints[kind], "%s %s with this example", signal, problem);
	if (reporter->each == NULL)
		return 0;
	snprintf(name, sizeof name, "%s %s %s", reporter->file, signal, kind_names[kind]);
	if (problem != NULL)
		snprintf(why, sizeof why, "%s:%zu: it %s", reporter->file, yaml_line(s->text, s->len, at),
			 problem);
	reporter->each(reporter->context, name, number, problem == NULL ? NULL : why);
	return 0;
}

static int run_kind(const struct schema *s, const struct yaml_at *up, jv rule, enum kind kind,
		    struct signal_matcher *matcher, uint32_t number,
		    struct signal_reporter *reporter)
{
	const struct yaml_at at = {.up = up, .key = kind_names[kind]};
	auto_jv examples = json_object(rule, "examples"),
		list = json_array(examples, kind_names[kind]);

	for (int i = 0, n = json_length(list); i < n; i++) {
		const struct yaml_at here = {.up = &at, .index = i};
		auto_jv example = json_at(list, i);
		struct outcome outcome = {.rule = number};
		int broken = run_example(rule, example, matcher, &outcome, s->err);
		if (broken < 0 || report(s, &here, json_str(rule, "signal"), i + 1, kind,
					 judge(kind, broken, &outcome), reporter) < 0)
			return -1;
	}
	return 0;
}

int run_examples(const struct schema *s, const struct yaml_at *at, jv rule,
		 struct signal_matcher *matcher, uint32_t number, struct signal_reporter *reporter)
{
	const struct yaml_at examples = {.up = at, .key = "examples"};

	for (int kind = 0; kind < KINDS; kind++)
		if (run_kind(s, &examples, rule, (enum kind)kind, matcher, number, reporter) < 0)
			return -1;
	return 0;
}
