/* The files of signal rules: their shape. */
#include <string.h>

#include "signal_compile_impl.h"

enum {
	RULES_MAX = 4096, /* of one file */
	WORD_MAX = 40,	  /* of a signal: it stands in every finding */
	TEXT_MAX = 160,	  /* of what it means: a line of the review text */
	TYPE_MAX = 128,
	LIST_MAX = 1024, /* types of a rule, and types that hold data */
	KEY_MAX = 16,
};

static const struct field file_fields[] = {
	{"holds_data", FIELD_TEXTS, FIELD_OPTIONAL},
	{"signals", FIELD_LIST, FIELD_OPTIONAL},
};
static const struct field rule_fields[] = {
	{"signal", FIELD_TEXT, FIELD_REQUIRED},	 {"verdict", FIELD_TEXT, FIELD_REQUIRED},
	{"types", FIELD_TEXTS, FIELD_REQUIRED},	 {"actions", FIELD_TEXTS, FIELD_OPTIONAL},
	{"each", FIELD_TEXT, FIELD_OPTIONAL},	 {"key", FIELD_TEXTS, FIELD_OPTIONAL},
	{"when", FIELD_MAP, FIELD_OPTIONAL},	 {"text", FIELD_TEXT, FIELD_REQUIRED},
	{"examples", FIELD_MAP, FIELD_REQUIRED},
};

int type_is_pattern(const char *type)
{
	return strchr(type, '*') != NULL;
}

int types_include(jv types, const char *type)
{
	for (int i = 0, n = json_length(types); i < n; i++) {
		auto_jv name = json_at(types, i);
		const char *text = json_text(name);
		if (signal_glob(text, strlen(text), type, strlen(type), SIGNAL_EXACT_CASE))
			return 1;
	}
	return 0;
}

static int is_made_of(const char *text, const char *bytes, size_t max)
{
	size_t len = strlen(text);

	return len > 0 && len <= max && strspn(text, bytes) == len;
}

/* At most MAX texts, each once. */
static int check_list(const struct schema *s, const struct yaml_at *at, jv list, int max)
{
	auto_jv seen = jv_object();
	int count = json_length(list);

	if (count == 0 || count > max)
		return schema_fail(s, at, NULL, "must hold 1 to %d names", max);
	for (int i = 0; i < count; i++) {
		const struct yaml_at here = {.up = at, .index = i};
		auto_jv name = json_at(list, i);
		if (json_has(seen, json_text(name)))
			return schema_fail(s, &here, NULL, "stands twice in this list");
		seen = json_set_bool(take_jv(&seen), json_text(name), 1);
	}
	return 0;
}

/* The types in the member KEY of PARENT, as those of RULE. */
static int compile_types(const struct schema *s, const struct yaml_at *up, jv parent,
			 const char *key, uint32_t rule, struct signal_draft *draft)
{
	static const char bytes[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.*";
	const struct yaml_at at = {.up = up, .key = key};
	auto_jv types = json_array(parent, key);

	if (check_list(s, &at, types, LIST_MAX) < 0)
		return -1;
	for (int i = 0, n = json_length(types); i < n; i++) {
		const struct yaml_at here = {.up = &at, .index = i};
		auto_jv type = json_at(types, i);
		if (!is_made_of(json_text(type), bytes, TYPE_MAX))
			return schema_fail(s, &here, "such as aws_instance, google_sql_* or Deployment.apps",
					   "is no type");
		if (draft_use(draft, json_text(type), rule, s->err) < 0)
			return -1;
	}
	return 0;
}

static int compile_actions(const struct schema *s, const struct yaml_at *up, jv rule, uint32_t *on)
{
	static const struct {
		const char *name;
		enum signal_action action;
	} actions[] = {
		{"create", SIGNAL_ON_CREATE},
		{"update", SIGNAL_ON_UPDATE},
		{"replace", SIGNAL_ON_REPLACE},
		{"delete", SIGNAL_ON_DELETE},
	};
	const struct yaml_at at = {.up = up, .key = "actions"};
	auto_jv list = json_array(rule, "actions");

	*on = SIGNAL_ON_CREATE | SIGNAL_ON_UPDATE | SIGNAL_ON_REPLACE;
	if (!jv_is_valid(list))
		return 0;
	if (check_list(s, &at, list, ARRAY_LEN(actions)) < 0)
		return -1;
	*on = 0;
	for (int i = 0, n = json_length(list); i < n; i++) {
		const struct yaml_at here = {.up = &at, .index = i};
		auto_jv name = json_at(list, i);
		size_t k = 0;
		while (k < ARRAY_LEN(actions) && strcmp(actions[k].name, json_text(name)) != 0)
			k++;
		if (k == ARRAY_LEN(actions))
			return schema_fail(s, &here, "create, update, replace or delete",
					   "is no action");
		*on |= (uint32_t)actions[k].action;
	}
	return 0;
}

static int compile_key(const struct schema *s, const struct yaml_at *up, jv rule,
		       struct signal_draft *draft, struct signal_range *range)
{
	const struct yaml_at at = {.up = up, .key = "key"};
	auto_jv key = json_array(rule, "key");
	int count = json_length(key);

	range->first = draft_count(&draft->values, sizeof(struct signal_value));
	range->count = (uint32_t)count;
	if (!jv_is_valid(key))
		return 0;
	if (!json_has(rule, "each"))
		return schema_fail(s, &at, "add each, or remove key",
				   "is for the elements of each");
	if (check_list(s, &at, key, KEY_MAX) < 0)
		return -1;
	for (int i = 0; i < count; i++) {
		const struct yaml_at here = {.up = &at, .index = i};
		auto_jv name = json_at(key, i);
		if (!path_is_name(json_text(name)))
			return schema_fail(s, &here, NULL, "is no name of a member");
		if (draft_value(draft, name, s->err) < 0)
			return -1;
	}
	return 0;
}

static int compile_each(const struct schema *s, const struct yaml_at *up, jv rule,
			struct signal_draft *draft, struct signal_rule *entry,
			struct condition_terms *terms)
{
	const struct yaml_at at = {.up = up, .key = "each"};

	if (!json_has(rule, "each"))
		return 0;
	if (compile_path(s, up, rule, "each", draft, &entry->each) < 0)
		return -1;
	const struct path_facts facts = path_facts(draft, entry->each);
	/* Elements are held while others are looked at. */
	if (facts.is_many_documents)
		return schema_fail(s, &at, "name one document",
				   "enters a document in each of several values");
	if (!facts.is_many)
		return schema_fail(s, &at, "such as ingress[*]", "names no several elements");
	if (facts.documents > SIGNAL_DOCUMENTS)
		return schema_fail(s, &at, NULL, "enters more than %d documents",
				   (int)SIGNAL_DOCUMENTS);
	terms->documents = facts.documents;
	terms->steps = entry->each.count;
	return 0;
}

/* What sbx-plan itself finds is called so; a rule of the same name would pass for it. */
static int is_taken(const char *signal)
{
	static const char *const own[] = {
		"delete", "replace", "forget", "create", "update", "errored_plan", "move", "move_across_types",
		"import", "read", "drift", "deferred", "action_invocation", "provisioner", "provider_program", "hidden_program", "sensitivity_dropped",
		"unknown_after_apply", "unusual_actions", "check_failed", "output_delete", "incomplete_plan",
		"unlisted_objects", "state_changed", "not_readable",
		"cascade", "cascade_unknown", "unknown_kind", "not_previewed", "versions_differ", "finalizers_changed", "owners_changed",
		"container_added", "container_removed", "data_elsewhere",
	};
	static const char *const reasons[] = {"replace_b", "delete_because_", "read_because_", "forgot_because_"};

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (strcmp(own[i], signal) == 0)
			return 1;
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (strncmp(reasons[i], signal, strlen(reasons[i])) == 0)
			return 1;
	return 0;
}

static int compile_words(const struct schema *s, const struct yaml_at *up, jv rule,
			 struct signal_draft *draft, struct signal_rule *entry)
{
	const char *signal = json_str(rule, "signal"), *verdict = json_str(rule, "verdict"),
		   *text = json_str(rule, "text");
	const struct yaml_at at_signal = {.up = up, .key = "signal"},
			     at_verdict = {.up = up, .key = "verdict"},
			     at_text = {.up = up, .key = "text"};
	enum plan_verdict parsed;

	if (!is_made_of(signal, "abcdefghijklmnopqrstuvwxyz_", WORD_MAX))
		return schema_fail(s, &at_signal, "lower-case letters and _",
				   "must be a word of at most %d letters", (int)WORD_MAX);
	if (is_taken(signal))
		return schema_fail(s, &at_signal, "another word", "is the name of something that sbx-plan finds itself");
	if (plan_verdict_parse(verdict, &parsed) < 0 || parsed == PLAN_SAFE)
		return schema_fail(s, &at_verdict, "review or destructive",
				   "is no verdict of a signal");
	size_t len = strlen(text);
	for (size_t i = 0; i < len; i++)
		if (len > TEXT_MAX || text[i] < ' ' || text[i] > '~')
			return schema_fail(s, &at_text, "what it means, as in \"it ...\"",
					   "must be at most %d printable ASCII characters",
					   (int)TEXT_MAX);
	entry->verdict = parsed;
	if (draft_text(draft, signal, strlen(signal), &entry->signal, s->err) < 0)
		return -1;
	return draft_text(draft, text, len, &entry->text, s->err);
}

static int compile_when(const struct schema *s, const struct yaml_at *up, jv rule,
			struct signal_draft *draft, struct signal_rule *entry,
			struct condition_terms *terms)
{
	const struct yaml_at at = {.up = up, .key = "when"};
	auto_jv when = json_object(rule, "when");

	entry->when = SIGNAL_ALWAYS;
	if (!jv_is_valid(when))
		return 0;
	entry->when = draft_count(&draft->conditions, sizeof(struct signal_condition));
	if (compile_condition(s, &at, when, draft, terms) < 0)
		return -1;
	entry->relative = (uint32_t)terms->is_relative;
	if (terms->is_relative && entry->each.count > 0 && entry->key.count == 0)
		return schema_fail(s, up,
				   "add the members that tell which old element an element was",
				   "compares elements with older ones, and so needs key");
	return 0;
}

static int compile_rule(const struct schema *s, const struct yaml_at *at, jv rule,
			struct signal_draft *draft)
{
	struct signal_rule entry = {.when = SIGNAL_ALWAYS};
	struct condition_terms terms = {.steps = 0};
	uint32_t index = draft_count(&draft->rules, sizeof entry);

	if (schema_fields(s, at, rule, rule_fields, ARRAY_LEN(rule_fields)) < 0 ||
	    compile_words(s, at, rule, draft, &entry) < 0 ||
	    compile_types(s, at, rule, "types", index, draft) < 0 ||
	    compile_actions(s, at, rule, &entry.on) < 0 ||
	    compile_each(s, at, rule, draft, &entry, &terms) < 0 ||
	    compile_key(s, at, rule, draft, &entry.key) < 0 ||
	    compile_when(s, at, rule, draft, &entry, &terms) < 0 || check_examples(s, at, rule) < 0)
		return -1;
	return draft_add(&draft->rules, &entry, sizeof entry, NULL, s->err);
}

int compile_file(const struct signal_file *file, struct signal_draft *draft)
{
	const struct schema *s = &file->schema;
	const struct yaml_at at = {.key = "signals"};
	auto_jv rules = jv_invalid();

	if (schema_fields(s, NULL, file->root, file_fields, ARRAY_LEN(file_fields)) < 0)
		return -1;
	if (json_has(file->root, "holds_data") &&
	    compile_types(s, NULL, file->root, "holds_data", SIGNAL_HOLDS_DATA, draft) < 0)
		return -1;
	rules = json_array(file->root, "signals");
	if (json_length(rules) > RULES_MAX)
		return schema_fail(s, &at, NULL, "more than %d rules", (int)RULES_MAX);
	for (int i = 0, n = json_length(rules); i < n; i++) {
		const struct yaml_at here = {.up = &at, .index = i};
		auto_jv rule = json_at(rules, i);
		if (compile_rule(s, &here, rule, draft) < 0)
			return -1;
	}
	return 0;
}
