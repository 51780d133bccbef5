/* The mask is written as JSON beside a walk over the object, and parsed: depth is bounded by that of the text. */
#include "secret_mask.h"

#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "json_out.h"
#include "limit.h"
#include "plan_mask.h"
#include "secret_text.h"
#include "secret_words.h"

/* Annotations in which tools repeat the object as it was applied. */
static const char *const applied_names[] = {
	"kubectl.kubernetes.io/last-applied-configuration",
	"kapp.k14s.io/original",
	"kopf.zalando.org/last-handled-configuration",
	"banzaicloud.com/last-applied",
	"objectset.rio.cattle.io/applied",
};

static int is_called(const struct plan_tree *tree, const struct plan_node *node, const char *name)
{
	size_t len = strlen(name);

	return node->key_len == len && memcmp(plan_tree_name(tree, node), name, len) == 0;
}

static int is_text(const struct plan_node *node)
{
	return node != NULL && node->kind == PLAN_STRING;
}

static int is_applied(const struct plan_tree *tree, const struct plan_node *node)
{
	for (size_t i = 0; i < ARRAY_LEN(applied_names); i++)
		if (is_called(tree, node, applied_names[i]))
			return 1;
	return 0;
}

/* Is NODE a Secret, by what it says of itself? Others hold those as their parts: a list, a template, a manifest. */
static int is_secret_object(const struct plan_tree *tree, const struct plan_node *node)
{
	const struct plan_node *kind = node->kind == PLAN_OBJECT ? plan_tree_member(tree, node, "kind", 4) : NULL;

	return is_text(kind) && kind->len == 6 && memcmp(plan_tree_text(tree, kind), "Secret", 6) == 0;
}

/* An image as the API takes it, whose tag may be made to look like a token; a URL is none. */
static int is_image(const struct plan_tree *tree, const struct plan_node *node)
{
	static const char inside[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:/@";
	const char *text = plan_tree_text(tree, node);

	if (!is_called(tree, node, "image") || memmem(text, node->len, "://", 3) != NULL)
		return 0;
	for (size_t i = 0; i < node->len; i++)
		if (text[i] == '\0' || strchr(inside, text[i]) == NULL)
			return 0;
	return 1;
}

/* Has the object a name that says of the value beside it that it is secret? */
static int has_secret_name(const struct plan_tree *tree, const struct plan_node *object)
{
	const struct plan_node *name = plan_tree_member(tree, object, "name", 4);

	return is_text(name) && secret_words_in(plan_tree_text(tree, name), name->len);
}

/* Whether a member is secret by itself. NAMED: its object has a name that says so of the value. */
static int hides_member(const struct plan_tree *tree, const struct plan_node *member, int named)
{
	if (is_called(tree, member, "stringData") || is_called(tree, member, "binaryData"))
		return 1;
	if (member->kind != PLAN_STRING && member->kind != PLAN_NUMBER)
		return 0;
	if (is_applied(tree, member) || (named && is_called(tree, member, "value")))
		return 1;
	if (member->kind != PLAN_STRING || is_image(tree, member))
		return 0;
	return secret_words_in(plan_tree_name(tree, member), member->key_len) ||
	       secret_text_is(plan_tree_text(tree, member), member->len);
}

/* An element of a list of texts. *BEFORE: what the one in front of it is, and then this one. */
static int hides_element(const struct plan_tree *tree, const struct plan_node *element, enum secret_argument *before)
{
	enum secret_argument last = *before;

	*before = ARGUMENT_PLAIN;
	if (!is_text(element))
		return 0;
	const char *text = plan_tree_text(tree, element);
	*before = secret_text_argument(text, element->len);
	return last == ARGUMENT_BEFORE_SECRET ||
	       (last == ARGUMENT_BEFORE_ACCOUNT && secret_text_account(text, element->len)) ||
	       *before == ARGUMENT_WITH_SECRET || secret_text_is(text, element->len);
}

static int put(struct buf *out, const struct plan_tree *tree, const struct plan_node *node, int *any,
	       struct sbx_error *err);

/* 1 when CHILD of a Secret is hidden whatever stands in it, by the text PUT. */
static int put_of_secret(struct buf *out, const struct plan_tree *tree, const struct plan_node *child,
			 struct sbx_error *err)
{
	const char *mask = is_called(tree, child, "data")	? "true"
			   : is_called(tree, child, "metadata") ? "{\"annotations\":true}"
								: NULL;

	return mask == NULL ? 0 : buf_add_str(out, mask, err) < 0 ? -1 : 1;
}

static int put_members(struct buf *out, const struct plan_tree *tree, const struct plan_node *node, int *any,
		       struct sbx_error *err)
{
	int named = has_secret_name(tree, node), of_secret = is_secret_object(tree, node);
	const struct plan_node *child = plan_tree_first(tree, node);

	for (; child != NULL; child = plan_tree_behind(tree, node, child)) {
		size_t before = out->len;
		int inner = 0;
		if (buf_add(out, *any ? "," : "{", 1, err) < 0 ||
		    json_out_string(out, plan_tree_name(tree, child), child->key_len, err) < 0 ||
		    buf_add(out, ":", 1, err) < 0)
			return -1;
		int hidden = of_secret ? put_of_secret(out, tree, child, err) : 0;
		if (hidden < 0)
			return -1;
		if (hidden) {
			inner = 1;
		} else if (hides_member(tree, child, named)) {
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
	enum secret_argument before = ARGUMENT_PLAIN;

	for (; child != NULL; child = plan_tree_behind(tree, node, child)) {
		int inner = 0, hidden = hides_element(tree, child, &before);
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

/* Whether CHILD is secret by what it is in PARENT. */
static int hides_child(const struct plan_tree *tree, const struct plan_node *parent, const struct plan_node *child,
		       const struct plan_place *place)
{
	enum secret_argument before = ARGUMENT_PLAIN;

	if (parent->kind == PLAN_OBJECT)
		return (is_secret_object(tree, parent) && is_called(tree, child, "data")) ||
		       hides_member(tree, child, has_secret_name(tree, parent));
	if (place->index > 0)
		hides_element(tree, plan_tree_element(tree, parent, place->index - 1), &before);
	return hides_element(tree, child, &before);
}

int secret_mask_hides(const struct plan_tree *tree, const struct plan_place *places, unsigned count)
{
	const struct plan_node *node = plan_tree_root(tree);
	const struct plan_place *named = NULL;
	auto_buf text = BUF_INIT(LIMIT_PLAN_TREE);
	struct sbx_error unread = SBX_ERROR_INIT;
	int of_secret = 0, any = 0;

	for (unsigned i = 0; i < count && node != NULL; i++) {
		const struct plan_node *child = plan_place_in(tree, node, &places[i]);
		if (child == NULL)
			return 0;
		if ((of_secret && is_called(tree, child, "annotations")) || hides_child(tree, node, child, &places[i]))
			return 1;
		of_secret = is_secret_object(tree, node) && is_called(tree, child, "metadata");
		if (places[i].name != NULL)
			named = &places[i];
		node = child;
	}
	if (node == NULL)
		return 0;
	/* Also of the texts in a list that has such a name. */
	if (is_text(node))
		return named != NULL && secret_words_in(named->name, named->len);
	return put(&text, tree, node, &any, &unread) < 0 || any;
}

static int is_secret(const struct buf *type)
{
	return kplan_text_is(type, "Secret");
}

int secret_mask(struct plan_tree *mask, const struct plan_tree *tree, const struct buf *type, struct sbx_error *err)
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

/* Members in which people write what they like. */
static int is_free(const char *name, size_t len)
{
	static const char *const free_names[] = {
		"annotations", "args",	  "binaryData", "command",    "data",  "env",	 "httpHeaders",	    "labels",
		"message",     "options", "parameters", "stringData", "value", "values", "volumeAttributes"};

	for (size_t i = 0; i < ARRAY_LEN(free_names); i++)
		if (strlen(free_names[i]) == len && memcmp(free_names[i], name, len) == 0)
			return 1;
	return 0;
}

/* Neither is VALUE within one of those, nor one of them in it. */
static int is_open(const struct plan_tree *tree, const struct plan_node *value, const struct plan_place *way,
		   unsigned count)
{
	const struct plan_node *end = tree->nodes + value->next;

	for (unsigned i = 0; i < count; i++)
		if (way[i].name != NULL && is_free(way[i].name, way[i].len))
			return 0;
	for (const struct plan_node *inner = value + 1; inner < end; inner++)
		if (is_free(plan_tree_name(tree, inner), inner->key_len))
			return 0;
	return 1;
}

struct plan_value secret_mask_value(const struct plan_tree *tree, const struct plan_node *node,
				   const struct plan_tree *mask, const struct plan_place *way, unsigned count)
{
	struct plan_value value;

	plan_value_take(&value, tree, node);
	if (value.how == PLAN_VALUE_PLAIN && plan_mask_touches(mask, way, count))
		value.how = PLAN_VALUE_SENSITIVE;
	else if (value.how == PLAN_VALUE_PLAIN && is_open(tree, node, way, count))
		value.how = PLAN_VALUE_OPEN;
	return value;
}

/* The data of a Secret are base64. */
static int keep_decoded(struct plan_secrets *secrets, const struct plan_tree *tree, const struct plan_node *secret,
			struct sbx_error *err)
{
	const struct plan_node *node = plan_tree_member(tree, secret, "data", 4), *child = plan_tree_first(tree, node);

	for (; child != NULL; child = plan_tree_behind(tree, node, child)) {
		auto_free unsigned char *bytes = NULL;
		size_t len = 0;
		if (is_text(child) && base64_read(plan_tree_text(tree, child), child->len, &bytes, &len) == 0 &&
		    plan_secrets_add(secrets, (const char *)bytes, len, err) < 0)
			return -1;
	}
	return 0;
}

static int keep_all_decoded(struct plan_secrets *secrets, const struct plan_tree *tree, const struct buf *type,
			    struct sbx_error *err)
{
	if (is_secret(type))
		return keep_decoded(secrets, tree, plan_tree_root(tree), err);
	for (uint32_t i = 0; i < tree->count; i++)
		if (is_secret_object(tree, &tree->nodes[i]) && keep_decoded(secrets, tree, &tree->nodes[i], err) < 0)
			return -1;
	return 0;
}

/* The object as somebody applied it last, at NODE; what cannot be read is hidden as a whole anyway. */
static int keep_applied(struct plan_secrets *secrets, const struct plan_tree *tree, const struct plan_node *node,
			const struct buf *type, struct sbx_error *err)
{
	struct sbx_error unread = SBX_ERROR_INIT;
	struct plan_tree applied, mask;
	int result = 0;

	if (!is_text(node))
		return 0;
	plan_tree_init(&applied);
	plan_tree_init(&mask);
	if (plan_tree_parse(&applied, plan_tree_text(tree, node), node->len, &unread) == 0) {
		result = secret_mask(&mask, &applied, type, err);
		if (result == 0)
			result = plan_secrets_add_masked(secrets, &applied, &mask, err);
		if (result == 0)
			result = keep_all_decoded(secrets, &applied, type, err);
	}
	plan_tree_clear(&applied);
	plan_tree_clear(&mask);
	return result;
}

int secret_mask_keep(struct plan_secrets *secrets, const struct plan_tree *tree, const struct plan_tree *mask,
		    const struct buf *type, struct sbx_error *err)
{
	static const char *const at[] = {"metadata", "annotations", NULL};
	const struct plan_node *annotations = kplan_at(tree, at), *child = plan_tree_first(tree, annotations);

	if (plan_secrets_add_masked(secrets, tree, mask, err) < 0 || keep_all_decoded(secrets, tree, type, err) < 0)
		return -1;
	for (; child != NULL; child = plan_tree_behind(tree, annotations, child))
		if (is_applied(tree, child) && keep_applied(secrets, tree, child, type, err) < 0)
			return -1;
	return 0;
}
