/* Files of signal rules that are refused, and what is wrong with them; tables that are refused. */
#include "digest.h"
#include "signal.h"
#include "signal_compile.h"

static const struct {
	const char *members; /* of a rule */
	const char *message; /* part of it; NULL: fine */
} shapes[] = {
	{"when: {at: a, is: [1]}", NULL},
	{"when: {at: a}", "t:4: has no test"},
	{"when: {is: [1]}", "is no condition"},
	{"when: {at: a, is: [1], set: true}", "more than one test"},
	{"when: {at: a, was: a, is: [1]}", "more than one condition"},
	{"when: {at: a, equals: [1]}", "unknown key \"equals\""},
	{"when: {all: [{at: a, is: [1]}], at: b, is: [1]}", "more than one condition"},
	{"when: {all: [{at: a, is: [1]}], is: [1]}", "something beside all"},
	{"when: {all: []}", "1 to 256 conditions"},
	{"when: {all: {at: a}}", "must be a list"},
	{"when: [{at: a, is: [1]}]", "must be a mapping"},
	{"when: {at: a, is: []}", "must not be empty"},
	{"when: {at: a, is: x}", "must be a list"},
	{"when: {at: a, is: [[1]]}", "must be a text, an integer"},
	{"when: {at: a, like: [1]}", "must be a list of texts"},
	{"when: {at: a, like: []}", "must not be empty"},
	{"when: {at: a, set: 1}", "must be true or false"},
	{"when: {at: a, below: x}", "must be an integer"},
	{"when: {at: a, shrinks: false}", "must be true"},
	{"when: {was: a, changes: true}", "asks the new one"},
	{"when: {was: a, appears: true}", "asks the new one"},
	{"when: {at: 'a[*].@json.b', appears: true}", "a document in each of several"},
	{"when: {at: 'a[*].@json.b', changes: true}", NULL},
	{"when: {at: 'a.@json.b[*]', appears: true}", NULL},
	{"when: {at: a, prefix_below: 0}", "from 1 to 32"},
	{"when: {at: a, prefix_below: 33}", "from 1 to 32"},
	{"when: {at: a, prefix_below: 32}", NULL},
	{"when: {at: a, is: [1], known: false}", "says nothing here"},
	{"when: {was: a, is: [1], known: true}", "says nothing here"},
	{"when: {at: a..b, is: [1]}", "is no path"},
	{"when: {at: 'a[', is: [1]}", "is no path"},
	{"when: {at: 'a[x]', is: [1]}", "is no path"},
	{"when: {at: 'a[01]', is: [1]}", "is no path"},
	{"when: {at: 'a[-1]', is: [1]}", "is no path"},
	{"when: {at: 'a[9999999]', is: [1]}", "is no path"},
	{"when: {at: \"a[\\\"b\", is: [1]}", "is no path"},
	{"when: {at: \"a[\\\"b\\\"\", is: [1]}", "is no path"},
	{"when: {at: 'a b', is: [1]}", "is no path"},
	{"when: {at: 5a, is: [1]}", "is no path"},
	{"when: {at: a., is: [1]}", "is no path"},
	{"when: {at: a.@yaml, is: [1]}", "is no path"},
	{"when: {at: a.@json.b.@json.c, is: [1]}", NULL},
	{"when: {at: a.@json.b.@json.c.@json.d, is: [1]}", "more than 2 documents"},
	{"when: {at: a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a, is: [1]}", NULL},
	{"when: {at: a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a, is: [1]}", "more than 16 steps"},
	{"each: a.b, when: {at: c, is: [1]}", "names no several elements"},
	{"each: 'a[*].p.@json.S[*]', when: {at: c, is: [1]}", "a document in each of several"},
	{"each: 'p.@json.S[*]', when: {at: c, is: [1]}", NULL},
	{"each: 'p.@json.S[*]', when: {at: a.@json.b.@json.c, is: [1]}", "more than 2 documents"},
	{"each: 'a[*]', when: {at: a.a.a.a.a.a.a.a.a.a.a.a.a.a.a, is: [1]}", "with those of each"},
	{"each: 'a[*]', when: {at: a.a.a.a.a.a.a.a.a.a.a.a.a.a, is: [1]}", NULL},
	{"each: 'a[*]', when: {at: c, shrinks: true}", "needs key"},
	{"each: 'a[*]', key: [id], when: {at: c, shrinks: true}", NULL},
	{"each: 'a[*]', key: [id, id], when: {at: c, is: [1]}", "stands twice"},
	{"each: 'a[*]', key: [id.m], when: {at: c, is: [1]}", "no name of a member"},
	{"each: 'a[*]', key: [], when: {at: c, is: [1]}", "1 to 16 names"},
	{"key: [id], when: {at: c, is: [1]}", "is for the elements of each"},
	{"actions: [change], when: {at: c, is: [1]}", "is no action"},
	{"actions: [], when: {at: c, is: [1]}", "must hold 1 to 4"},
	{"actions: [create, create], when: {at: c, is: [1]}", "stands twice"},
	{"then: x", "unknown key \"then\""},
};

static void test_shapes(void)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		auto_buf block = BUF_INIT(SIGNAL_TABLE_MAX);
		int refused = make_rule(shapes[i].members, &block) < 0;
		int fits = shapes[i].message == NULL
				   ? !refused
				   : refused && strstr(err.message, shapes[i].message) != NULL &&
					     strcmp(err.code, "policy_invalid") == 0 &&
					     err.class == SBX_CONFIG;
		CHECK(fits);
		if (!fits)
			printf("# %s: %s\n", shapes[i].members, err.message);
	}
}

/* As deep as they may be, and one more. */
static void test_depth(void)
{
	for (int depth = SIGNAL_DEPTH - 1; depth <= SIGNAL_DEPTH + 1; depth++) {
		auto_buf members = BUF_INIT(4096), block = BUF_INIT(SIGNAL_TABLE_MAX);
		buf_addf(&members, &err, "when: {");
		for (int i = 0; i < depth; i++)
			buf_addf(&members, &err, "all: [{");
		buf_addf(&members, &err, "at: a, is: [1]");
		for (int i = 0; i < depth; i++)
			buf_addf(&members, &err, "}]");
		buf_addf(&members, &err, "}");
		CHECK((make_rule(buf_str(&members), &block) == 0) == (depth <= SIGNAL_DEPTH));
	}
}

#define RULE(more)                                                                                 \
	"signals:\n- {signal: s, verdict: review, types: [t], text: x, when: {at: a, is: [1]}, "   \
	"examples: {" more "}}\n"
#define GOOD "match: [{after: {a: 1}}], no_match: [{after: {a: 2}}]"

static const struct {
	const char *file;
	const char *message;
} files[] = {
	{RULE(GOOD), NULL},
	{"{}", NULL},
	{"holds_data: [a, 'b_*']\n", NULL},
	{"holds_data: [a, a]\n", "t:1: stands twice"},
	{"holds_data: []\n", "1 to 1024"},
	{"holds_data: ['a b']\n", "is no type"},
	{"holds: [a]\n", "unknown key \"holds\""},
	{"signals: {}\n", "must be a list"},
	{"- a\n", "must be a mapping"},
	{"signals:\n- {signal: s}\n", "is missing"},
	{RULE("match: [{after: {a: 2}}], no_match: [{after: {a: 2}}]"),
	 "t:2: s is not met with this example"},
	{RULE("match: [{after: {a: 1}}], no_match: [{after: {a: 1}}]"),
	 "t:2: s is met with this example"},
	{RULE("match: [{after: {}, unknown: {a: true}}], no_match: [{after: {a: 2}}]"),
	 "s is unknown with"},
	{RULE("match: [{after: {a: 1}}], no_match: [{after: {}, unknown: {a: true}}]"),
	 "s is unknown with"},
	{RULE(GOOD ", unknown: [{after: {}, unknown: {a: true}}]"), NULL},
	{RULE(GOOD ", unknown: [{after: {a: 1}}]"), "s is met with"},
	{RULE(GOOD ", unknown: [{after: {a: 2}}]"), "s is not met with"},
	{RULE("match: [{after: {a: 1}}]"), "no example under no_match"},
	{RULE("no_match: [{after: {a: 2}}]"), "\"match\" is missing"},
	{RULE("match: [], no_match: [{after: {a: 2}}]"), "no example under match"},
	{RULE(GOOD ", other: []"), "unknown key \"other\""},
	{RULE("match: [{a: 1}], no_match: [{after: {a: 2}}]"), "unknown key \"a\""},
	{RULE("match: [{}], no_match: [{after: {a: 2}}]"), "needs before, after"},
	{RULE("match: [{before: {a: 1}, unknown: {}}], no_match: [{after: {a: 2}}]"),
	 "nothing after that could"},
	{RULE("match: [{after: {a: 1}, replace: true}], no_match: [{after: {a: 2}}]"),
	 "no replacement without"},
	{RULE("match: [{before: {}, after: {a: 1}, replace: true}], no_match: [{after: {a: 2}}]"),
	 NULL},
	{RULE("match: [{after: 5}], no_match: [{after: {a: 2}}]"), "must be a mapping or a text"},
	{RULE("match: [{after: '{\"a\": 1.0}'}], no_match: [{after: '{\"a\": null}'}]"), NULL},
	{RULE("match: [{after: '{\"a\": 1'}], no_match: [{after: {a: 2}}]"), "no JSON object"},
	{RULE("match: [{after: '[1]'}], no_match: [{after: {a: 2}}]"), "no JSON object"},
	{RULE("match: [{type: t, after: {a: 1}}], no_match: [{after: {a: 2}}]"), NULL},
	{RULE("match: [{type: u, after: {a: 1}}], no_match: [{after: {a: 2}}]"),
	 "none of the rule's types"},
	{"signals:\n- {signal: s, verdict: review, types: ['t*'], text: x, examples: {match: "
	 "[{after: {a: 1}}]}}\n",
	 "must say which type"},
	{"signals:\n- {signal: s, verdict: review, types: ['t*'], text: x, examples: {match: "
	 "[{type: tx, after: {a: 1}}]}}\n",
	 NULL},
	{"signals:\n- {signal: s, verdict: review, types: ['t*'], text: x, examples: {match: "
	 "[{type: xt, after: {a: 1}}]}}\n",
	 "none of the rule's types"},
	{"signals:\n- {signal: s, verdict: safe, types: [t], text: x, examples: {match: [{after: "
	 "{}}]}}\n",
	 "t:2: is no verdict"},
	{"signals:\n- {signal: s-t, verdict: review, types: [t], text: x, examples: {match: "
	 "[{after: {}}]}}\n",
	 "must be a word"},
	{"signals:\n- {signal: s, verdict: review, types: [t], text: \"x\\ty\", examples: {match: "
	 "[{after: {}}]}}\n",
	 "printable ASCII"},
	{"signals:\n- {signal: s, verdict: review, types: [t, t], text: x, examples: {match: "
	 "[{after: {}}]}}\n",
	 "stands twice"},
	{"signals:\n- {signal: replace, verdict: review, types: [t], text: x, examples: {match: [{after: {}}]}}\n",
	 "sbx-plan finds itself"},
	{"signals:\n- {signal: replaced, verdict: review, types: [t], text: x, examples: {match: [{after: {}}]}}\n",
	 NULL},
	{"signals:\n- {signal: s, verdict: review, types: [], text: x, examples: {match: [{after: "
	 "{}}]}}\n",
	 "1 to 1024"},
	{"signals:\n- {signal: s, verdict: review, types: [t], text: x,\n   examples: {match: "
	 "[{after: {a: 1}}]},\n   "
	 "when: {at: a,\n     unlike: true}}\n",
	 "t:5: must be a list"},
};

/* A policy with the one file TEXT. */
static void test_files(void)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct policy_file file = {.name = (char *)(uintptr_t) "signals/t",
					   .path = (char *)(uintptr_t) "signals/t",
					   .text = (char *)(uintptr_t)files[i].file,
					   .len = strlen(files[i].file)};
		const struct policy_files policy = {.file = &file, .count = 1};
		auto_buf block = BUF_INIT(SIGNAL_TABLE_MAX);
		sbx_error_clear(&err);
		int refused = signal_compile(&policy, &block, &err) < 0;
		int fits = files[i].message == NULL
				   ? !refused && block.len > 0
				   : refused && strstr(err.message, files[i].message) != NULL &&
					     block.len == 0;
		CHECK(fits);
		if (!fits)
			printf("# %s# %s\n", files[i].file, err.message);
	}
}

static const char table_file[] =
	"holds_data: [db, 'sql_*']\n"
	"signals:\n"
	"- {signal: first, verdict: destructive, types: [t, 'u*'], text: a, when: {any: [{at: a, "
	"is: [1, x]},\n"
	"   {all: [{at: 'b[*].@json.c[0].*', like: ['q*']}, {none: [{was: d, below: 5}]}]}]},\n"
	"   examples: {match: [{after: {a: 1}}], no_match: [{after: {a: 2}}]}}\n"
	"- {signal: second, verdict: review, types: ['*'], text: b, each: 'in[*]', key: [id],\n"
	"   when: {at: m, prefix_below: 8}, examples: {match: [{type: t, after: {in: [{m: "
	"'::/0'}]}}],\n"
	"   no_match: [{type: t, after: {}}]}}\n";

static const char *open_code(const void *block, size_t size)
{
	struct signal_table table = {.block = NULL};

	sbx_error_clear(&err);
	return signal_table_use(block, size, &table, &err) < 0 ? err.code : "fine";
}

static void test_holds_data(void)
{
	auto_buf block = BUF_INIT(SIGNAL_TABLE_MAX);
	struct signal_table table = {.block = NULL}, none = {.block = NULL};
	static const struct {
		const char *type;
		int holds;
	} cases[] = {{"db", 1}, {"sql_x", 1}, {"sql_", 1}, {"sql", 0}, {"d", 0}, {"t", 0}, {"", 0}};

	CHECK(make_block(table_file, &block) == 0);
	CHECK(signal_table_use(block.data, block.len, &table, &err) == 0);
	struct signal_matcher *m = signal_matcher_new(&table, &err), *nothing = signal_matcher_new(&none, &err);
	/* The second time the answer is one that was kept. */
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++)
			CHECK(signal_matcher_holds_data(m, cases[i].type, strlen(cases[i].type), &err) == cases[i].holds);
	CHECK(signal_matcher_holds_data(nothing, "db", 2, &err) == 0);
	signal_matcher_free(m);
	signal_matcher_free(nothing);
}

static void test_tables(void)
{
	auto_buf block = BUF_INIT(SIGNAL_TABLE_MAX), empty = BUF_INIT(SIGNAL_TABLE_MAX);
	struct signal_table table = {.block = NULL}, none = {.block = NULL};

	CHECK(make_block(table_file, &block) == 0);
	CHECK_STR(open_code(block.data, block.len), "fine");
	CHECK(signal_table_use(block.data, block.len, &table, &err) == 0);
	struct signal_matcher *m = signal_matcher_new(&table, &err);
	CHECK_STR(match(m, SIGNAL_ON_CREATE, NULL, "{'a':1}", NULL), "yes a");
	CHECK_STR(match(m, SIGNAL_ON_CREATE, NULL, "{'in':[{'m':'::/0'}],'a':'x'}", NULL),
		  "yes a, yes in[0].m with a wrong verdict"); /* the second is only for review */
	signal_matcher_free(m);
	CHECK(make_block("{}", &empty) == 0);
	CHECK_STR(open_code(empty.data, empty.len), "fine");
	m = signal_matcher_new(&none, &err);
	CHECK_STR(match(m, SIGNAL_ON_CREATE, NULL, "{'a':1}", NULL), "no");
	signal_matcher_free(m);
	signal_table_close(&none);
	signal_table_close(&table);
}

/* Every bit that is turned, and every shorter block, is refused; and with a right digest either
 * refused or harmless. */
static void test_hostile(void)
{
	auto_buf block = BUF_INIT(SIGNAL_TABLE_MAX);
	int refused = 1, used = 0, bad = 0;

	CHECK(make_block(table_file, &block) == 0);
	unsigned char *bytes = (unsigned char *)block.data;
	for (size_t i = 0; i < block.len; i++) {
		bytes[i] ^= (unsigned char)(1u << i % 8);
		refused &= strcmp(open_code(bytes, block.len), "signals_invalid") == 0;
		bytes[i] ^= (unsigned char)(1u << i % 8);
	}
	CHECK(refused);
	for (size_t len = 0; len < block.len; len++)
		refused &= strcmp(open_code(bytes, len), "signals_invalid") == 0;
	CHECK(refused);
	for (size_t i = offsetof(struct signal_head, sections); i < block.len; i++)
		for (int flip = 1; flip < 256; flip += flip < 3 ? 1 : 36) {
			struct signal_table table = {.block = NULL};
			bytes[i] ^= (unsigned char)flip;
			const size_t hashed = offsetof(struct signal_head, sections);
			digest_sha256(bytes + hashed, block.len - hashed,
				      ((struct signal_head *)(void *)bytes)->sha256);
			sbx_error_clear(&err);
			if (signal_table_use(bytes, block.len, &table, &err) == 0) {
				struct signal_matcher *m = signal_matcher_new(&table, &err);
				bad += strncmp(match(m, SIGNAL_ON_UPDATE,
						     "{'a':2,'in':[{'id':1}],'b':['{}']}",
						     "{'a':1,'in':[{'m':'::/"
						     "0'}],'b':['{`c`:[{`d`:"
						     "`q`}]}']}",
						     "{'in':[{'id':true}]}"),
					       "failed", 6) == 0;
				signal_matcher_free(m);
				used++;
			} else {
				bad += strcmp(err.code, "signals_invalid") != 0;
			}
			bytes[i] ^= (unsigned char)flip;
		}
	CHECK(used > 0 && bad == 0);
}

int main(void)
{
	test_shapes();
	test_depth();
	test_files();
	test_tables();
	test_holds_data();
	test_hostile();
	return unit_done();
}
