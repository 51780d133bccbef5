/* Settings of providers that start programs, by their names. */
#include "plan_provider.h"

#include <string.h>

#include "limit.h"
#include "secret_words.h"
#include "setting.h"

/* The settings of one provider. */
struct look {
	const struct plan_tree *tree;
	struct plan_finding *finding;
	struct plan_place places[PLAN_PLACES];
	unsigned count;
	int programs; /* this round takes what names a program; the next one what stands beside it and the rest */
	unsigned left_out;
};

static const struct plan_node *member(const struct plan_tree *tree, const struct plan_node *object, const char *name)
{
	return object->kind == PLAN_OBJECT ? plan_tree_member(tree, object, name, strlen(name)) : NULL;
}

/* A constant that can start nothing. */
static int is_harmless(const struct plan_tree *tree, const struct plan_node *node, enum setting setting)
{
	const struct plan_node *child;

	if (node->kind == PLAN_STRING)
		return node->len == 0 || (setting == SETTING_FILE && setting_is_ours(plan_tree_text(tree, node), node->len));
	if (node->kind != PLAN_ARRAY && node->kind != PLAN_OBJECT)
		return 1;
	for (child = plan_tree_first(tree, node); child != NULL; child = plan_tree_behind(tree, node, child))
		if (!is_harmless(tree, child, setting))
			return 0;
	return 1;
}

/* A way to a program in an address ("qemu+ext:///?command=..."). */
static int names_command(const struct plan_tree *tree, const struct plan_node *node)
{
	static const char word[] = "command=";

	if (node->kind != PLAN_STRING)
		return 0;
	const char *text = plan_tree_text(tree, node), *at = memmem(text, node->len, word, sizeof word - 1);
	return at != NULL && at > text && (at[-1] == '?' || at[-1] == '&' || at[-1] == ';');
}

/* A text whose name says so: not a whole command for a word in it. */
static int is_secret(const struct look *look, const struct plan_node *value)
{
	const struct plan_place *place = look->count > 0 ? &look->places[look->count - 1] : NULL;

	return place != NULL && place->name != NULL && value->kind == PLAN_STRING &&
	       secret_words_in(place->name, place->len);
}

/* The setting at the places, with its value, and what it is as the end of a sentence. */
static int add(struct look *look, const char *note, const struct plan_node *value, enum plan_value_how how,
	       struct sbx_error *err)
{
	struct plan_value shown;

	plan_value_take(&shown, look->tree, value);
	if (how != PLAN_VALUE_PLAIN)
		shown.how = how;
	else if (is_secret(look, value))
		shown.how = PLAN_VALUE_SENSITIVE;
	int cause = plan_finding_value(look->finding, look->places, look->count, &shown, err);
	if (cause == -2)
		return -1;
	look->left_out += cause == -1;
	plan_finding_signal(look->finding, PLAN_REVIEW, "provider_program");
	if (cause >= 0)
		plan_finding_note(look->finding, note, cause);
	return 0;
}

static const char *note_of(enum setting setting, int at_program)
{
	if (setting == SETTING_FILE)
		return "reads a file that may name a program to start";
	if (setting == SETTING_SETTINGS)
		return "takes settings that are no constant and may name a program to start";
	return at_program ? "names a program to start" : "gives that program";
}

static int take(struct look *look, const struct plan_node *node, enum setting setting, int at_program,
		struct sbx_error *err);

/* Every member or element of NODE. AT_PROGRAM holds for the elements of a list. */
static int take_each(struct look *look, const struct plan_node *node, enum setting setting, int at_program,
		     struct sbx_error *err)
{
	const struct plan_node *child = plan_tree_first(look->tree, node);

	for (uint32_t i = 0; child != NULL; child = plan_tree_behind(look->tree, node, child), i++) {
		const char *name = node->kind == PLAN_OBJECT ? plan_tree_name(look->tree, child) : NULL;
		int program = name == NULL ? at_program : setting_of(name, child->key_len) == SETTING_PROGRAM;
		if (look->count == PLAN_PLACES)
			return 0;
		look->places[look->count++] = (struct plan_place){.name = name, .len = child->key_len, .index = i};
		int result = take(look, child, setting, program, err);
		look->count--;
		if (result < 0)
			return -1;
	}
	return 0;
}

static int has_objects(const struct plan_tree *tree, const struct plan_node *array)
{
	const struct plan_node *first = plan_tree_first(tree, array);

	return first != NULL && first->kind == PLAN_OBJECT;
}

/* What stands under a name that starts programs: an expression, a block, a list of blocks, or a constant in one. What
 * names the program is taken in one round, the rest in another, so that it stands first. */
static int take(struct look *look, const struct plan_node *node, enum setting setting, int at_program,
		struct sbx_error *err)
{
	const struct plan_node *constant = member(look->tree, node, "constant_value"),
			       *references = member(look->tree, node, "references"), *value = node;
	enum plan_value_how how = PLAN_VALUE_PLAIN;

	if (constant != NULL)
		return take(look, constant, setting, at_program, err);
	if (references != NULL) {
		value = references;
		how = PLAN_VALUE_FROM;
	} else if (node->kind == PLAN_OBJECT && plan_tree_first(look->tree, node) == NULL) {
		how = PLAN_VALUE_COMPUTED;
	} else if (node->kind == PLAN_OBJECT || (node->kind == PLAN_ARRAY && has_objects(look->tree, node))) {
		return take_each(look, node, setting, at_program, err);
	} else if (is_harmless(look->tree, node, setting)) {
		return 0;
	}
	if (setting == SETTING_PROGRAM && at_program != look->programs)
		return 0;
	return add(look, note_of(setting, at_program), value, how, err);
}

static int look_at(struct look *look, const struct plan_node *node, struct sbx_error *err);

/* One setting, or a block of them. */
static int look_at_member(struct look *look, const struct plan_node *node, struct sbx_error *err)
{
	const char *name = plan_tree_name(look->tree, node);
	enum setting setting = setting_of(name, node->key_len);

	if (setting_is_data(name, node->key_len))
		return 0;
	if (setting == SETTING_PROGRAM)
		return take(look, node, setting, 1, err);
	if (setting == SETTING_FILE)
		return look->programs ? 0 : take(look, node, setting, 0, err);
	int opaque = member(look->tree, node, "references") != NULL ||
		     (node->kind == PLAN_OBJECT && plan_tree_first(look->tree, node) == NULL);
	if (setting == SETTING_SETTINGS && opaque)
		return look->programs ? 0 : take(look, node, setting, 0, err);
	return look_at(look, node, err);
}

/* Blocks, expressions, and constants that hold settings of their own. Depth is bounded by that of the text. */
static int look_at(struct look *look, const struct plan_node *node, struct sbx_error *err)
{
	const struct plan_tree *tree = look->tree;
	const struct plan_node *child = plan_tree_first(tree, node), *constant = member(tree, node, "constant_value");
	int result = 0;

	if (constant != NULL)
		return look_at(look, constant, err);
	if (node->kind == PLAN_STRING && look->programs && names_command(tree, node))
		return add(look, note_of(SETTING_PROGRAM, 1), node, PLAN_VALUE_PLAIN, err);
	if (member(tree, node, "references") != NULL)
		return 0;
	for (uint32_t i = 0; child != NULL && result == 0; child = plan_tree_behind(tree, node, child), i++) {
		const char *name = node->kind == PLAN_OBJECT ? plan_tree_name(tree, child) : NULL;
		if (look->count == PLAN_PLACES)
			return 0;
		look->places[look->count++] = (struct plan_place){.name = name, .len = child->key_len, .index = i};
		result = name != NULL ? look_at_member(look, child, err) : look_at(look, child, err);
		look->count--;
	}
	return result;
}

/* "aws.west" is provider.aws.west, "module.a:aws" module.a.provider.aws. */
static int put_address(struct buf *address, const char *key, size_t len, struct sbx_error *err)
{
	const char *colon = memrchr(key, ':', len);
	size_t module = colon == NULL ? 0 : (size_t)(colon - key) + 1;

	buf_reset(address);
	if (module > 0 && (buf_add(address, key, module - 1, err) < 0 || buf_add(address, ".", 1, err) < 0))
		return -1;
	if (buf_add_str(address, "provider.", err) < 0)
		return -1;
	return buf_add(address, key + module, len - module, err);
}

static int judge(struct plan_report *report, const struct buf *address, const struct buf *source,
		 const struct plan_tree *settings, struct sbx_error *err)
{
	struct plan_finding finding;
	struct look look = {.tree = settings, .finding = &finding, .programs = 1};
	int result = 0;

	plan_finding_init(&finding);
	if (plan_tree_root(settings) != NULL) {
		result = look_at(&look, plan_tree_root(settings), err);
		look.programs = 0;
		if (result == 0)
			result = look_at(&look, plan_tree_root(settings), err);
	}
	if (result == 0 && finding.verdict > PLAN_SAFE) {
		if (look.left_out > 0)
			plan_finding_note(&finding, "has more such settings, which are not shown", -1);
		result = plan_finding_set(&finding, address->data, address->len, NULL, err);
		if (result == 0)
			result = plan_finding_provider(&finding, buf_str(source), source->len, err);
		if (result == 0)
			result = plan_report_add(report, &finding, err);
	}
	plan_finding_clear(&finding);
	return result;
}

int plan_provider_read(struct plan_scan *s, struct plan_report *report, struct plan_tree *tree, struct sbx_error *err)
{
	auto_buf address = BUF_INIT(LIMIT_PLAN_ADDRESS), source = BUF_INIT(LIMIT_PLAN_ADDRESS);
	int entry, key = 0, result;

	if (plan_expect(s, JSON_OBJECT_OPEN, "settings of providers that are no object", err) < 0)
		return -1;
	while ((entry = plan_key(s, err)) == 1) {
		plan_tree_reset(tree);
		buf_reset(&source);
		if (put_address(&address, s->text, s->len, err) < 0 ||
		    plan_expect(s, JSON_OBJECT_OPEN, "a provider that is no object", err) < 0)
			return -1;
		while ((key = plan_key(s, err)) == 1) {
			if (plan_is(s, "expressions"))
				result = plan_tree_read(s, tree, err);
			else if (plan_is(s, "full_name"))
				result = plan_string(s, &source, "a provider's name that is no string", err);
			else
				result = plan_skip(s, err);
			if (result < 0)
				return -1;
		}
		if (key < 0 || judge(report, &address, &source, tree, err) < 0)
			return -1;
	}
	return entry;
}
