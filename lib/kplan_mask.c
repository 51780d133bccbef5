/* The mask is written as JSON beside a walk over the object, and parsed: depth is bounded by that of the text. */
#include "kplan_mask.h"

#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "json_out.h"
#include "kplan_words.h"
#include "limit.h"
#include "secret_words.h"

static const char last_applied[] = "kubectl.kubernetes.io/last-applied-configuration";

static int is_called(const struct plan_tree *tree, const struct plan_node *node, const char *name)
{
	size_t len = strlen(name);

	return node->key_len == len && memcmp(plan_tree_name(tree, node), name, len) == 0;
}

static int is_text(const struct plan_node *node)
{
	return node != NULL && node->kind == PLAN_STRING;
}

/* Whether a member is secret by itself. NAMED: its object has a name that says so of the value. */
static int hides_member(const struct plan_tree *tree, const struct plan_node *member, int named)
{
	if (member->kind != PLAN_STRING && member->kind != PLAN_NUMBER)
		return 0;
	if (is_called(tree, member, last_applied) || (named && is_called(tree, member, "value")))
		return 1;
	return member->kind == PLAN_STRING && (secret_words_in(plan_tree_name(tree, member), member->key_len) ||
					       kplan_words_value(plan_tree_text(tree, member), member->len));
}

/* An element of a list of texts. *NEXT: the one behind it is secret. */
static int hides_element(const struct plan_tree *tree, const struct plan_node *element, int *next)
{
	int hidden = *next;

	*next = 0;
	if (!is_text(element))
		return 0;
	const char *text = plan_tree_text(tree, element);
	enum kplan_argument argument = kplan_words_argument(text, element->len);
	*next = argument == ARGUMENT_BEFORE_SECRET;
	return hidden || argument == ARGUMENT_WITH_SECRET || kplan_words_value(text, element->len);
}

static int put(struct buf *out, const struct plan_tree *tree, const struct plan_node *node, int *any,
	       struct sbx_error *err);

static int put_members(struct buf *out, const struct plan_tree *tree, const struct plan_node *node, int *any,
		       struct sbx_error *err)
{
	const struct plan_node *name = plan_tree_member(tree, node, "name", 4);
	int named = is_text(name) && secret_words_in(plan_tree_text(tree, name), name->len);
	const struct plan_node *child = plan_tree_first(tree, node);

	for (; child != NULL; child = plan_tree_behind(tree, node, child)) {
		size_t before = out->len;
		int inner = 0;
		if (buf_add(out, *any ? "," : "{", 1, err) < 0 ||
		    json_out_string(out, plan_tree_name(tree, child), child->key_len, err) < 0 ||
		    buf_add(out, ":", 1, err) < 0)
			return -1;
		if (hides_member(tree, child, named)) {
			inner = 1;
			if (buf_add_str(out, "true", err) < 0)
				return -1;
		} else if (put(out, tree, child, &inner, err) < 0) {
			return -1;
		}
		*any |= inner;
		if (!inner)
			out->len = before;
	}
	return *any ? buf_add(out, "}", 1, err) : 0;
}

static int put_elements(struct buf *out, const struct plan_tree *tree, const struct plan_node *node, int *any,
			struct sbx_error *err)
{
	const struct plan_node *first = plan_tree_first(tree, node), *child = first;
	int next = 0;

	for (; child != NULL; child = plan_tree_behind(tree, node, child)) {
		int inner = 0, hidden = hides_element(tree, child, &next);
		if (buf_add(out, child == first ? "[" : ",", 1, err) < 0 ||
		    (hidden && buf_add_str(out, "true", err) < 0) ||
		    (!hidden && put(out, tree, child, &inner, err) < 0) ||
		    (!hidden && !inner && buf_add_str(out, "false", err) < 0))
			return -1;
		*any |= hidden | inner;
	}
	return *any ? buf_add(out, "]", 1, err) : 0;
}

/* The mask of NODE, and *ANY; nothing when nothing in it is secret. */
static int put(struct buf *out, const struct plan_tree *tree, const struct plan_node *node, int *any,
	       struct sbx_error *err)
{
	size_t before = out->len;
	int result = 0;

	if (node->kind == PLAN_OBJECT)
		result = put_members(out, tree, node, any, err);
	else if (node->kind == PLAN_ARRAY)
		result = put_elements(out, tree, node, any, err);
	if (result == 0 && !*any)
		out->len = before;
	return result;
}

static int is_secret(const struct buf *type)
{
	return kplan_text_is(type, "Secret");
}

int kplan_mask(struct plan_tree *mask, const struct plan_tree *tree, const struct buf *type, struct sbx_error *err)
{
	static const char of_secret[] = "{\"data\":true,\"stringData\":true,\"metadata\":{\"annotations\":true}}";
	const struct plan_node *root = plan_tree_root(tree);
	auto_buf text = BUF_INIT(LIMIT_PLAN_TREE);
	int any = 0;

	plan_tree_reset(mask);
	if (root == NULL)
		return 0;
	if (is_secret(type))
		return plan_tree_parse(mask, of_secret, sizeof of_secret - 1, err);
	if (put(&text, tree, root, &any, err) < 0)
		return -1;
	return any ? plan_tree_parse(mask, buf_str(&text), text.len, err) : 0;
}

/* The data of a Secret are base64. */
static int keep_decoded(struct plan_secrets *secrets, const struct plan_tree *tree, struct sbx_error *err)
{
	static const char *const data[] = {"data", NULL};
	const struct plan_node *node = kplan_at(tree, data), *child = plan_tree_first(tree, node);

	for (; child != NULL; child = plan_tree_behind(tree, node, child)) {
		auto_free unsigned char *bytes = NULL;
		size_t len = 0;
		if (is_text(child) && base64_read(plan_tree_text(tree, child), child->len, &bytes, &len) == 0 &&
		    plan_secrets_add(secrets, (const char *)bytes, len, err) < 0)
			return -1;
	}
	return 0;
}

/* The object as somebody applied it last; what cannot be read is hidden as a whole anyway. */
static int keep_last_applied(struct plan_secrets *secrets, const struct plan_tree *tree, const struct buf *type,
			     struct sbx_error *err)
{
	static const char *const names[] = {"metadata", "annotations", last_applied, NULL};
	const struct plan_node *node = kplan_at(tree, names);
	struct sbx_error unread = SBX_ERROR_INIT;
	struct plan_tree applied, mask;
	int result = 0;

	if (!is_text(node))
		return 0;
	plan_tree_init(&applied);
	plan_tree_init(&mask);
	if (plan_tree_parse(&applied, plan_tree_text(tree, node), node->len, &unread) == 0) {
		result = kplan_mask(&mask, &applied, type, err);
		if (result == 0)
			result = plan_secrets_add_masked(secrets, &applied, &mask, err);
		if (result == 0 && is_secret(type))
			result = keep_decoded(secrets, &applied, err);
	}
	plan_tree_clear(&applied);
	plan_tree_clear(&mask);
	return result;
}

int kplan_mask_keep(struct plan_secrets *secrets, const struct plan_tree *tree, const struct plan_tree *mask,
		    const struct buf *type, struct sbx_error *err)
{
	if (plan_secrets_add_masked(secrets, tree, mask, err) < 0 ||
	    (is_secret(type) && keep_decoded(secrets, tree, err) < 0))
		return -1;
	return keep_last_applied(secrets, tree, type, err);
}
