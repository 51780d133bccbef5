/* Values as trees: reading, finding, comparing, limits. */
#include "plan_tree.h"

#include "buf.h"
#include "limit.h"
#include "unit.h"

static struct sbx_error err;

static int parse(struct plan_tree *tree, const char *text)
{
	return plan_tree_parse(tree, text, strlen(text), &err);
}

static int refused(const char *code)
{
	int result = strcmp(err.code, code) == 0 && err.class == SBX_BAD_REQUEST;

	sbx_error_clear(&err);
	return result;
}

static const struct plan_node *member(const struct plan_tree *tree, const struct plan_node *object,
				      const char *name)
{
	return plan_tree_member(tree, object, name, strlen(name));
}

static int is(const struct plan_tree *tree, const struct plan_node *node, enum plan_kind kind,
	      const char *text)
{
	return node != NULL && node->kind == (uint32_t)kind && node->len == strlen(text) &&
	       memcmp(plan_tree_text(tree, node), text, node->len) == 0;
}

static void test_find(void)
{
	struct plan_tree tree;

	plan_tree_init(&tree);
	CHECK(plan_tree_root(&tree) == NULL);
	CHECK(parse(&tree, " {\"a\":[1,{\"b\":\"x\\u0000y\"},[],-2.50],\"\":true,\"c\":{\"d\":null,"
			   "\"e\":false}} ") == 0);
	const struct plan_node *root = plan_tree_root(&tree), *a = member(&tree, root, "a"),
			       *c = member(&tree, root, "c");
	CHECK(root != NULL && root->kind == PLAN_OBJECT && root->next == tree.count &&
	      root->key_len == 0);
	CHECK(a != NULL && a->kind == PLAN_ARRAY && a == plan_tree_first(&tree, root));
	CHECK(is(&tree, plan_tree_element(&tree, a, 0), PLAN_NUMBER, "1"));
	CHECK(is(&tree, plan_tree_element(&tree, a, 3), PLAN_NUMBER, "-2.50"));
	CHECK(plan_tree_element(&tree, a, 4) == NULL && plan_tree_element(&tree, root, 0) == NULL);
	const struct plan_node *b = member(&tree, plan_tree_element(&tree, a, 1), "b");
	CHECK(b != NULL && b->len == 3 && memcmp(plan_tree_text(&tree, b), "x\0y", 3) == 0);
	CHECK(plan_tree_first(&tree, plan_tree_element(&tree, a, 2)) == NULL);
	CHECK(is(&tree, member(&tree, root, ""), PLAN_TRUE, "") &&
	      is(&tree, member(&tree, c, "d"), PLAN_NULL, "") &&
	      is(&tree, member(&tree, c, "e"), PLAN_FALSE, ""));
	CHECK(member(&tree, root, "b") == NULL && member(&tree, root, "aa") == NULL &&
	      member(&tree, a, "a") == NULL);
	CHECK(plan_tree_behind(&tree, root, c) == NULL &&
	      plan_tree_behind(&tree, root, a) == member(&tree, root, ""));
	CHECK(plan_tree_first(&tree, b) == NULL);
	CHECK(c->key_len == 1 && plan_tree_name(&tree, c)[0] == 'c');
	plan_tree_reset(&tree);
	CHECK(plan_tree_root(&tree) == NULL && tree.cap > 0);
	CHECK(parse(&tree, "7") == 0 && is(&tree, plan_tree_root(&tree), PLAN_NUMBER, "7") &&
	      tree.count == 1);
	plan_tree_clear(&tree);
}

static void test_nothing_there(void)
{
	struct plan_tree tree;

	plan_tree_init(&tree);
	CHECK(plan_tree_root(NULL) == NULL && plan_tree_first(&tree, NULL) == NULL &&
	      plan_tree_behind(&tree, NULL, NULL) == NULL &&
	      plan_tree_element(&tree, NULL, 0) == NULL && member(&tree, NULL, "a") == NULL);
	CHECK_STR(plan_tree_text(&tree, NULL), "");
	CHECK_STR(plan_tree_name(&tree, NULL), "");
	CHECK(plan_tree_equal(&tree, NULL, &tree, NULL) == 0);
	plan_tree_clear(&tree);
}

/* A value inside of a document, the next one in place of it; what follows is not read. */
static void test_read(void)
{
	static const char document[] = "{\"a\":{\"b\":[1]},\"c\":[\"d\"],\"e\":2}";
	static const struct json_lex_limits limits = {.bytes = 1 << 16, .depth = 8, .string = 64};
	auto_json_lex *lex = json_lex_memory(document, sizeof document - 1, &limits, &err);
	struct plan_scan s = {.lex = lex};
	struct plan_tree tree;

	plan_tree_init(&tree);
	CHECK(plan_next(&s, &err) == 0 && plan_key(&s, &err) == 1 &&
	      plan_tree_read(&s, &tree, &err) == 0);
	const struct plan_node *b = member(&tree, plan_tree_root(&tree), "b");
	CHECK(tree.count == 3 && is(&tree, plan_tree_element(&tree, b, 0), PLAN_NUMBER, "1"));
	CHECK(plan_key(&s, &err) == 1 && plan_is(&s, "c") && plan_next(&s, &err) == 0 &&
	      plan_tree_read_rest(&s, &tree, &err) == 0);
	CHECK(tree.count == 2 &&
	      is(&tree, plan_tree_element(&tree, plan_tree_root(&tree), 0), PLAN_STRING, "d"));
	CHECK(plan_key(&s, &err) == 1 && plan_next(&s, &err) == 0 &&
	      plan_tree_read_rest(&s, &tree, &err) == 0);
	CHECK(is(&tree, plan_tree_root(&tree), PLAN_NUMBER, "2"));
	CHECK(plan_key(&s, &err) == 0 && plan_expect(&s, JSON_END, "more", &err) == 0);
	plan_tree_clear(&tree);
}

static void test_refused(void)
{
	static const char *const cases[][2] = {
		{"", "json_empty"},
		{"{\"a\":1,\"a\":2}", "json_duplicate_key"},
		{"[1", "json_truncated"},
		{"[1] 2", "json_trailing"},
		{"{\"a\":tru}", "json_syntax"},
		{"\"\\ud800\"", "json_surrogate"},
	};
	struct plan_tree tree;

	plan_tree_init(&tree);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CHECK(parse(&tree, "[\"before\"]") == 0 && tree.count == 2);
		CHECK(parse(&tree, cases[i][0]) < 0 && refused(cases[i][1]));
		CHECK(plan_tree_root(&tree) == NULL);
	}
	plan_tree_clear(&tree);
}

static void test_depth(void)
{
	auto_buf text = BUF_INIT(1 << 16);
	struct plan_tree tree, again;

	plan_tree_init(&tree);
	plan_tree_init(&again);
	for (int i = 0; i < LIMIT_PLAN_DEPTH; i++)
		buf_add_str(&text, "[", &err);
	for (int i = 0; i < LIMIT_PLAN_DEPTH; i++)
		buf_add_str(&text, "]", &err);
	CHECK(parse(&tree, text.data) == 0 && parse(&again, text.data) == 0 &&
	      tree.count == LIMIT_PLAN_DEPTH);
	CHECK(plan_tree_equal(&tree, plan_tree_root(&tree), &again, plan_tree_root(&again)) == 1);
	text.data[0] = ' ';
	text.data[text.len - 1] = ' ';
	CHECK(parse(&again, text.data) == 0);
	CHECK(plan_tree_equal(&tree, plan_tree_root(&tree), &again, plan_tree_root(&again)) == 0);
	buf_reset(&text);
	for (int i = 0; i <= LIMIT_PLAN_DEPTH; i++)
		buf_add_str(&text, "[", &err);
	CHECK(parse(&tree, text.data) < 0 && refused("json_depth"));
	plan_tree_clear(&tree);
	plan_tree_clear(&again);
}

/* The most nodes, and one more; the memory is used again afterwards. */
static void test_too_large(void)
{
	auto_buf text = BUF_INIT((size_t)LIMIT_PLAN_TREE_NODES * 2 + 16);
	struct plan_tree tree;

	plan_tree_init(&tree);
	buf_add_str(&text, "[0", &err);
	for (uint32_t i = 2; i < LIMIT_PLAN_TREE_NODES; i++)
		buf_add_str(&text, ",0", &err);
	buf_add_str(&text, "]", &err);
	CHECK(plan_tree_parse(&tree, text.data, text.len, &err) == 0 &&
	      tree.count == LIMIT_PLAN_TREE_NODES);
	text.len--;
	buf_add_str(&text, ",0]", &err);
	CHECK(plan_tree_parse(&tree, text.data, text.len, &err) < 0 && refused("too_large"));
	CHECK(plan_tree_root(&tree) == NULL && parse(&tree, "[1]") == 0);
	plan_tree_clear(&tree);
}

static void test_equal(void)
{
	static const struct {
		const char *a, *b;
		int equal;
	} cases[] = {
		{"null", "null", 1},
		{"null", "false", 0},
		{"true", "true", 1},
		{"1", "1", 1},
		{"1", "1.0", 0},
		{"1", "\"1\"", 0},
		{"\"a\\u0000b\"", "\"a\\u0000b\"", 1},
		{"\"a\\u0000b\"", "\"a\\u0000c\"", 0},
		{"\"a\"", "\"ab\"", 0},
		{"\"\\u00e9\"", "\"\xc3\xa9\"", 1},
		{"[]", "{}", 0},
		{"[]", "[]", 1},
		{"[1,2]", "[2,1]", 0},
		{"[1,2]", "[1,2]", 1},
		{"[1,2]", "[1]", 0},
		{"[[1],2]", "[[1,2]]", 0},
		{"{\"a\":1,\"b\":2}", "{ \"b\" : 2, \"a\" : 1 }", 1},
		{"{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", 0},
		{"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", 0},
		{"{\"a\":1}", "{\"a\":1,\"b\":2}", 0},
		{"{\"a\":1,\"b\":[{\"x\":1,\"y\":2},3],\"c\":0}",
		 "{\"a\":1,\"c\":0,\"b\":[{\"y\":2,\"x\":1},3]}", 1},
		{"{\"a\":1,\"b\":[{\"x\":1,\"y\":2},3],\"c\":0}",
		 "{\"a\":1,\"c\":0,\"b\":[{\"y\":2,\"x\":3},3]}", 0},
		{"{\"a\\u0000b\":1,\"a\\u0000c\":2}", "{\"a\\u0000c\":2,\"a\\u0000b\":1}", 1},
		{"{\"aa\":1,\"b\":2}", "{\"b\":2,\"a\":1}", 0},
	};
	struct plan_tree a, b;

	plan_tree_init(&a);
	plan_tree_init(&b);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CHECK(parse(&a, cases[i].a) == 0 && parse(&b, cases[i].b) == 0);
		CHECK(plan_tree_equal(&a, plan_tree_root(&a), &b, plan_tree_root(&b)) ==
		      cases[i].equal);
		CHECK(plan_tree_equal(&b, plan_tree_root(&b), &a, plan_tree_root(&a)) ==
		      cases[i].equal);
	}
	/* Parts of one tree. */
	CHECK(parse(&a, "[{\"a\":1,\"b\":2},0,{\"b\":2,\"a\":1}]") == 0);
	const struct plan_node *root = plan_tree_root(&a);
	CHECK(plan_tree_equal(&a, plan_tree_element(&a, root, 0), &a,
			      plan_tree_element(&a, root, 2)) == 1);
	CHECK(plan_tree_equal(&a, plan_tree_element(&a, root, 0), &a,
			      plan_tree_element(&a, root, 1)) == 0);
	plan_tree_clear(&a);
	plan_tree_clear(&b);
}

/* A hundred thousand members in the opposite order, which take minutes when each is searched for.
 */
static void test_equal_large(void)
{
	enum { MEMBERS = 100000 };
	auto_buf up = BUF_INIT(1 << 22), down = BUF_INIT(1 << 22);
	struct plan_tree a, b;

	plan_tree_init(&a);
	plan_tree_init(&b);
	for (int i = 0; i < MEMBERS; i++) {
		buf_addf(&up, &err, "%s\"name-%d\":%d", i == 0 ? "{" : ",", i, i);
		buf_addf(&down, &err, "%s\"name-%d\":%d", i == 0 ? "{" : ",", MEMBERS - 1 - i,
			 MEMBERS - 1 - i);
	}
	buf_add_str(&up, "}", &err);
	buf_add_str(&down, "}", &err);
	CHECK(parse(&a, buf_str(&up)) == 0 && parse(&b, buf_str(&down)) == 0);
	CHECK(plan_tree_equal(&a, plan_tree_root(&a), &b, plan_tree_root(&b)) == 1);
	down.data[down.len - 2] = '1'; /* the value of name-0 */
	CHECK(parse(&b, buf_str(&down)) == 0);
	CHECK(plan_tree_equal(&a, plan_tree_root(&a), &b, plan_tree_root(&b)) == 0);
	plan_tree_clear(&a);
	plan_tree_clear(&b);
}

/* Leaves out "gone", and puts a word in the place of every 1. */
static enum plan_edit edit(void *context, const struct plan_node *node, struct buf *out, struct sbx_error *e)
{
	const struct plan_tree *tree = context;

	if (node->key_len == 4 && memcmp(plan_tree_name(tree, node), "gone", 4) == 0)
		return PLAN_LEFT_OUT;
	if (node->kind != PLAN_NUMBER || node->len != 1 || *plan_tree_text(tree, node) != '1')
		return PLAN_AS_IT_IS;
	return buf_add_str(out, "\"one\"", e) < 0 ? PLAN_EDIT_FAILED : PLAN_INSTEAD;
}

static void test_write(void)
{
	static const char text[] = "{ \"b\" : [1, 1.50, -0, 1e400, {}], \"ab\": {\"gone\": [2], \"z\": null}, \"a\": "
				   "\"\\u0000\\\"\\u00e9\\n\", \"\": true, \"gone\": 1}";
	struct plan_tree tree;
	auto_buf out = BUF_INIT(1 << 12), small = BUF_INIT(8);

	plan_tree_init(&tree);
	CHECK(parse(&tree, text) == 0);
	CHECK(plan_tree_write(&out, &tree, plan_tree_root(&tree), NULL, NULL, &err) == 0);
	CHECK_STR(buf_str(&out),
		  "{\"\":true,\"a\":\"\\u0000\\\"\xc3\xa9\\n\",\"ab\":{\"gone\":[2],\"z\":null},\"b\":[1,1."
		  "50,-0,1e400,{}],\"gone\":1}");
	/* Read and written again, it is the same. */
	auto_buf again = BUF_INIT(1 << 12);
	CHECK(parse(&tree, buf_str(&out)) == 0);
	CHECK(plan_tree_write(&again, &tree, plan_tree_root(&tree), NULL, NULL, &err) == 0);
	CHECK_STR(buf_str(&again), buf_str(&out));
	buf_reset(&out);
	CHECK(plan_tree_write(&out, &tree, plan_tree_root(&tree), edit, &tree, &err) == 0);
	CHECK_STR(buf_str(&out),
		  "{\"\":true,\"a\":\"\\u0000\\\"\xc3\xa9\\n\",\"ab\":{\"z\":null},\"b\":[\"one\",1.50,-0,1e400,"
		  "{}]}");
	CHECK(plan_tree_write(&small, &tree, plan_tree_root(&tree), NULL, NULL, &err) == -1);
	CHECK_STR(err.code, "too_large");
	sbx_error_clear(&err);
	plan_tree_clear(&tree);
}

int main(void)
{
	test_find();
	test_nothing_there();
	test_read();
	test_refused();
	test_depth();
	test_too_large();
	test_equal();
	test_equal_large();
	test_write();
	return unit_done();
}
