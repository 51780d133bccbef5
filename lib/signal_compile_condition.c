/* The conditions of signal rules. */
#include "signal_compile_impl.h"

enum { BRANCHES_MAX = 256 /* of one condition: more is a mistake */ };

/* Members of a condition. */
static const struct field fields[] = {
	{"all", FIELD_LIST, FIELD_OPTIONAL},	    {"any", FIELD_LIST, FIELD_OPTIONAL},
	{"none", FIELD_LIST, FIELD_OPTIONAL},	    {"at", FIELD_TEXT, FIELD_OPTIONAL},
	{"was", FIELD_TEXT, FIELD_OPTIONAL},	    {"is", FIELD_LIST, FIELD_OPTIONAL},
	{"like", FIELD_TEXTS, FIELD_OPTIONAL},	    {"like_nocase", FIELD_TEXTS, FIELD_OPTIONAL},
	{"unlike", FIELD_TEXTS, FIELD_OPTIONAL},    {"unlike_nocase", FIELD_TEXTS, FIELD_OPTIONAL},
	{"set", FIELD_BOOLEAN, FIELD_OPTIONAL},	    {"below", FIELD_INTEGER, FIELD_OPTIONAL},
	{"above", FIELD_INTEGER, FIELD_OPTIONAL},   {"shrinks", FIELD_BOOLEAN, FIELD_OPTIONAL},
	{"grows", FIELD_BOOLEAN, FIELD_OPTIONAL},   {"changes", FIELD_BOOLEAN, FIELD_OPTIONAL},
	{"appears", FIELD_BOOLEAN, FIELD_OPTIONAL}, {"prefix_below", FIELD_INTEGER, FIELD_OPTIONAL},
	{"known", FIELD_BOOLEAN, FIELD_OPTIONAL},
};

static const char *const kinds[] = {"all", "any", "none", "at",
				    "was"}; /* enum signal_condition_kind */
static const char *const tests[SIGNAL_TESTS] = {
	[SIGNAL_IS] = "is",
	[SIGNAL_LIKE] = "like",
	[SIGNAL_LIKE_NOCASE] = "like_nocase",
	[SIGNAL_UNLIKE] = "unlike",
	[SIGNAL_UNLIKE_NOCASE] = "unlike_nocase",
	[SIGNAL_SET] = "set",
	[SIGNAL_BELOW] = "below",
	[SIGNAL_ABOVE] = "above",
	[SIGNAL_SHRINKS] = "shrinks",
	[SIGNAL_GROWS] = "grows",
	[SIGNAL_CHANGES] = "changes",
	[SIGNAL_APPEARS] = "appears",
	[SIGNAL_PREFIX_BELOW] = "prefix_below",
};

/* A condition under compilation. */
struct compiling {
	const struct schema *s;
	struct signal_draft *draft;
	struct condition_terms *terms;
	unsigned depth; /* of conditions around it */
};

static int compile(const struct compiling *c, const struct yaml_at *at, jv value);

/* The index of the one of NAMES that VALUE has as a member; -1 when there is none, -2 when there
 * are several. */
static int find_one(jv value, const char *const *names, size_t count)
{
	int found = -1;

	for (size_t i = 0; i < count; i++)
		if (json_has(value, names[i]))
			found = found == -1 ? (int)i : -2;
	return found;
}

static int check_value(const struct compiling *c, const struct yaml_at *at, jv value)
{
	jv_kind kind = jv_get_kind(value);

	if (kind == JV_KIND_TRUE || kind == JV_KIND_FALSE || kind == JV_KIND_NUMBER)
		return 0;
	if (json_text(value) != NULL)
		return 0;
	return schema_fail(c->s, at, NULL, "must be a text, an integer, true or false");
}

static int compile_values(const struct compiling *c, const struct yaml_at *up, jv test,
			  const char *key, struct signal_range *range)
{
	const struct yaml_at at = {.up = up, .key = key};
	auto_jv values = json_array(test, key);
	int count = json_length(values);

	range->first = draft_count(&c->draft->values, sizeof(struct signal_value));
	range->count = (uint32_t)count;
	if (count == 0)
		return schema_fail(c->s, &at, NULL, "must not be empty");
	for (int i = 0; i < count; i++) {
		const struct yaml_at here = {.up = &at, .index = i};
		auto_jv value = json_at(values, i);
		if (check_value(c, &here, value) < 0 || draft_value(c->draft, value, c->s->err) < 0)
			return -1;
	}
	return 0;
}

static int compile_number(const struct compiling *c, const struct yaml_at *up, jv test,
			  const char *key, struct signal_range *range)
{
	const struct yaml_at at = {.up = up, .key = key};
	auto_jv value = json_get(test, key);
	int64_t number;

	range->first = draft_count(&c->draft->values, sizeof(struct signal_value));
	range->count = 1;
	if (json_number(value, &number) < 0)
		return schema_fail(c->s, &at, NULL, "must be an integer");
	return draft_value(c->draft, value, c->s->err);
}

/* The argument of the test KEY in its place in ENTRY. */
static int compile_argument(const struct compiling *c, const struct yaml_at *up, jv test,
			    const char *key, struct signal_condition *entry)
{
	const struct yaml_at at = {.up = up, .key = key};
	int64_t number = 0;

	switch ((enum signal_test)entry->test) {
	case SIGNAL_IS:
	case SIGNAL_LIKE:
	case SIGNAL_LIKE_NOCASE:
	case SIGNAL_UNLIKE:
	case SIGNAL_UNLIKE_NOCASE:
		return compile_values(c, up, test, key, &entry->values);
	case SIGNAL_BELOW:
	case SIGNAL_ABOVE:
		return compile_number(c, up, test, key, &entry->values);
	case SIGNAL_SET:
		entry->number = json_bool(test, key) == 1;
		return 0;
	case SIGNAL_PREFIX_BELOW:
		if (json_int(test, key, &number) < 0 || number < 1 || number > 32)
			return schema_fail(c->s, &at, NULL, "must be an integer from 1 to 32");
		entry->number = (uint32_t)number;
		return 0;
	case SIGNAL_SHRINKS:
	case SIGNAL_GROWS:
	case SIGNAL_CHANGES:
	case SIGNAL_APPEARS:
	case SIGNAL_TESTS:
		break;
	}
	if (json_bool(test, key) != 1)
		return schema_fail(c->s, &at, "none: [...] says the opposite", "must be true");
	if (entry->kind == SIGNAL_WAS)
		return schema_fail(c->s, &at, "write at: instead",
				   "compares with the old value, so it asks the new one");
	return 0;
}

static int check_path(const struct compiling *c, const struct yaml_at *up, const char *key,
		      const struct signal_condition *entry)
{
	const struct yaml_at at = {.up = up, .key = key};
	const struct path_facts facts = path_facts(c->draft, entry->path);

	if (entry->path.count + c->terms->steps > SIGNAL_STEPS)
		return schema_fail(c->s, &at, NULL, "has more than %d steps, with those of each",
				   (int)SIGNAL_STEPS);
	if (facts.documents + c->terms->documents > SIGNAL_DOCUMENTS)
		return schema_fail(c->s, &at, NULL, "enters more than %d documents",
				   (int)SIGNAL_DOCUMENTS);
	if (entry->test == SIGNAL_APPEARS && facts.is_many_documents)
		return schema_fail(c->s, &at, "name one document",
				   "enters a document in each of several values");
	return 0;
}

/* `known: true` beside a test of the new value. */
static int compile_known(const struct compiling *c, const struct yaml_at *up, jv test,
			 struct signal_condition *entry)
{
	const struct yaml_at at = {.up = up, .key = "known"};

	if (!json_has(test, "known"))
		return 0;
	if (json_bool(test, "known") != 1 || entry->kind != SIGNAL_AT)
		return schema_fail(c->s, &at, "known: true stands beside at:", "says nothing here");
	entry->known = 1;
	return 0;
}

static int compile_test(const struct compiling *c, const struct yaml_at *at, jv value, int kind)
{
	int test = find_one(value, tests, SIGNAL_TESTS);
	struct signal_condition entry = {.kind = (uint32_t)kind, .test = (uint32_t)test};

	if (test < 0)
		return schema_fail(c->s, at,
				   "one of is, like, unlike, like_nocase, unlike_nocase, set, "
				   "below, above, shrinks, grows, "
				   "changes, appears, prefix_below",
				   test == -1 ? "has no test" : "has more than one test");
	if (compile_path(c->s, at, value, kinds[kind], c->draft, &entry.path) < 0 ||
	    check_path(c, at, kinds[kind], &entry) < 0 ||
	    compile_argument(c, at, value, tests[test], &entry) < 0 ||
	    compile_known(c, at, value, &entry) < 0)
		return -1;
	c->terms->is_relative |= kind == SIGNAL_WAS || test == SIGNAL_SHRINKS ||
				 test == SIGNAL_GROWS || test == SIGNAL_CHANGES ||
				 test == SIGNAL_APPEARS;
	entry.end = draft_count(&c->draft->conditions, sizeof entry) + 1;
	return draft_add(&c->draft->conditions, &entry, sizeof entry, NULL, c->s->err);
}

static int compile_branches(const struct compiling *c, const struct yaml_at *up, jv value, int kind)
{
	const struct yaml_at at = {.up = up, .key = kinds[kind]};
	struct compiling inner = *c;
	struct signal_condition entry = {.kind = (uint32_t)kind};
	auto_jv branches = json_array(value, kinds[kind]);
	int count = json_length(branches);
	uint32_t index;

	if (json_length(value) != 1)
		return schema_fail(c->s, up, NULL, "has something beside %s", kinds[kind]);
	if (count == 0 || count > BRANCHES_MAX)
		return schema_fail(c->s, &at, NULL, "must hold 1 to %d conditions",
				   (int)BRANCHES_MAX);
	if (++inner.depth > SIGNAL_DEPTH)
		return schema_fail(c->s, &at, NULL, "is nested too deeply");
	if (draft_add(&c->draft->conditions, &entry, sizeof entry, &index, c->s->err) < 0)
		return -1;
	for (int i = 0; i < count; i++) {
		const struct yaml_at here = {.up = &at, .index = i};
		auto_jv branch = json_at(branches, i);
		if (compile(&inner, &here, branch) < 0)
			return -1;
	}
	struct signal_condition *added = (void *)(c->draft->conditions.data + index * sizeof entry);
	added->end = draft_count(&c->draft->conditions, sizeof entry);
	return 0;
}

static int compile(const struct compiling *c, const struct yaml_at *at, jv value)
{
	if (schema_fields(c->s, at, value, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	int kind = find_one(value, kinds, ARRAY_LEN(kinds));
	if (kind < 0)
		return schema_fail(c->s, at, "all, any, none, at or was",
				   kind == -1 ? "is no condition" : "is more than one condition");
	return kind < SIGNAL_AT ? compile_branches(c, at, value, kind)
				: compile_test(c, at, value, kind);
}

int compile_condition(const struct schema *s, const struct yaml_at *at, jv value,
		      struct signal_draft *draft, struct condition_terms *terms)
{
	const struct compiling c = {.s = s, .draft = draft, .terms = terms};

	return compile(&c, at, value);
}
