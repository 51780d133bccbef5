/* Names of objects, as strictly as the API itself. */
#include "kplan_object.h"

#include <string.h>

enum {
	KIND_MAX = 63,
	GROUP_MAX = 253,
	VERSION_MAX = 63,
	SPACE_MAX = 63,
	NAME_MAX_BYTES = 253,
	UID_MAX = 128,
	ADDRESS_MAX = SPACE_MAX + KIND_MAX + GROUP_MAX + NAME_MAX_BYTES + 3,
};

static const char digits[] = "0123456789";
static const char lower[] = "abcdefghijklmnopqrstuvwxyz0123456789";
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

void kplan_object_init(struct kplan_object *o)
{
	*o = (struct kplan_object){
		.type = BUF_INIT(KIND_MAX + 1 + GROUP_MAX),
		.version = BUF_INIT(VERSION_MAX),
		.space = BUF_INIT(SPACE_MAX),
		.name = BUF_INIT(NAME_MAX_BYTES),
		.uid = BUF_INIT(UID_MAX),
		.address = BUF_INIT(ADDRESS_MAX),
	};
}

void kplan_object_clear(struct kplan_object *o)
{
	buf_clear(&o->type);
	buf_clear(&o->version);
	buf_clear(&o->space);
	buf_clear(&o->name);
	buf_clear(&o->uid);
	buf_clear(&o->address);
}

void kplan_object_reset(struct kplan_object *o)
{
	o->there = 0;
	buf_reset(&o->type);
	buf_reset(&o->version);
	buf_reset(&o->space);
	buf_reset(&o->name);
	buf_reset(&o->uid);
	buf_reset(&o->address);
}

const struct plan_node *kplan_at(const struct plan_tree *tree, const char *const *names)
{
	const struct plan_node *node = plan_tree_root(tree);

	for (; node != NULL && *names != NULL; names++)
		node = plan_tree_member(tree, node, *names, strlen(*names));
	return node;
}

static int malformed(const char *what, struct sbx_error *err)
{
	return sbx_fail(err, SBX_BAD_REQUEST, "plan_malformed", "%s", what);
}

/* 1 when LEN bytes of TEXT are of BYTES. */
static int made_of(const char *text, size_t len, const char *bytes)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0' || strchr(bytes, text[i]) == NULL)
			return 0;
	return len > 0;
}

/* Labels of lower-case letters, digits and '-', with dots between them. */
static int is_domain(const char *text, size_t len)
{
	int begins = 1;

	for (size_t i = 0; i < len; i++) {
		int plain = made_of(text + i, 1, lower);
		if (!plain && (begins || (text[i] != '-' && text[i] != '.')))
			return 0;
		begins = text[i] == '.';
	}
	return len > 0 && made_of(text + len - 1, 1, lower);
}

/* Anything that can be one part of a path: names of roles have colons and blanks. */
static int is_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '/' || text[i] == '%' || (unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return 0;
	return len > 0 && !(text[0] == '.' && (len == 1 || (len == 2 && text[1] == '.')));
}

/* Group and version out of apiVersion, and the kind; the type is made of them. */
static int read_type(struct kplan_object *o, const struct plan_tree *tree, struct sbx_error *err)
{
	static const char *const api_version[] = {"apiVersion", NULL}, *const kind_name[] = {"kind", NULL};
	const struct plan_node *version = kplan_at(tree, api_version), *kind = kplan_at(tree, kind_name);

	if (version == NULL || version->kind != PLAN_STRING || kind == NULL || kind->kind != PLAN_STRING)
		return malformed("an object without apiVersion and kind", err);
	const char *text = plan_tree_text(tree, version), *slash = memchr(text, '/', version->len);
	size_t group = slash == NULL ? 0 : (size_t)(slash - text), from = slash == NULL ? 0 : group + 1;
	size_t rest = version->len - from;
	if ((slash != NULL && (!is_domain(text, group) || group > GROUP_MAX)) || rest > VERSION_MAX ||
	    !made_of(text + from, rest, lower))
		return malformed("an apiVersion that is none", err);
	const char *word = plan_tree_text(tree, kind);
	if (kind->len > KIND_MAX || !made_of(word, kind->len, letters) || strchr(digits, word[0]) != NULL)
		return malformed("a kind that is none", err);
	if (buf_add(&o->version, text + from, rest, err) < 0 || buf_add(&o->type, word, kind->len, err) < 0)
		return -1;
	if (group > 0 && (buf_add(&o->type, ".", 1, err) < 0 || buf_add(&o->type, text, group, err) < 0))
		return -1;
	return 0;
}

/* The text of the member NAME of metadata into OUT; nothing where it is not there, null or empty. */
static int read_text(const struct plan_tree *tree, const char *name, struct buf *out, struct sbx_error *err)
{
	const char *const names[] = {"metadata", name, NULL};
	const struct plan_node *node = kplan_at(tree, names);

	if (node == NULL || node->kind == PLAN_NULL)
		return 0;
	if (node->kind != PLAN_STRING || node->len > out->max)
		return malformed("a name in metadata that is none", err);
	return buf_add(out, plan_tree_text(tree, node), node->len, err);
}

static int read_names(struct kplan_object *o, const struct plan_tree *tree, struct sbx_error *err)
{
	if (read_text(tree, "namespace", &o->space, err) < 0 || read_text(tree, "name", &o->name, err) < 0 ||
	    read_text(tree, "uid", &o->uid, err) < 0)
		return -1;
	if (!is_name(buf_str(&o->name), o->name.len))
		return malformed("an object without a name", err);
	if (o->space.len > 0 &&
	    (!is_domain(o->space.data, o->space.len) || memchr(o->space.data, '.', o->space.len) != NULL))
		return malformed("a namespace that is none", err);
	if (o->uid.len > 0 && !is_name(o->uid.data, o->uid.len))
		return malformed("a uid that is none", err);
	return 0;
}

/* The rules call parts of an object so. */
static int is_reserved(const struct buf *type)
{
	return kplan_text_is(type, "PodSpec") || kplan_text_is(type, "Container") || kplan_text_is(type, "List");
}

int kplan_object_read(struct kplan_object *o, const struct plan_tree *tree, struct sbx_error *err)
{
	static const char *const items[] = {"items", NULL}, *const metadata[] = {"metadata", NULL};
	const struct plan_node *root = plan_tree_root(tree), *meta = kplan_at(tree, metadata);

	kplan_object_reset(o);
	if (root == NULL || root->kind != PLAN_OBJECT)
		return malformed("an object of the cluster that is no JSON object", err);
	if (read_type(o, tree, err) < 0)
		return -1;
	if (is_reserved(&o->type) || kplan_at(tree, items) != NULL)
		return malformed("a list where one object is due", err);
	if (meta == NULL || meta->kind != PLAN_OBJECT)
		return malformed("an object without metadata", err);
	if (read_names(o, tree, err) < 0)
		return -1;
	if (o->space.len > 0 &&
	    (buf_add(&o->address, o->space.data, o->space.len, err) < 0 || buf_add(&o->address, "/", 1, err) < 0))
		return -1;
	if (buf_add(&o->address, o->type.data, o->type.len, err) < 0 || buf_add(&o->address, "/", 1, err) < 0 ||
	    buf_add(&o->address, o->name.data, o->name.len, err) < 0)
		return -1;
	o->there = 1;
	return 0;
}

int kplan_text_same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && memcmp(buf_str(a), buf_str(b), a->len) == 0;
}

int kplan_object_same(const struct kplan_object *a, const struct kplan_object *b)
{
	return kplan_text_same(&a->address, &b->address);
}

int kplan_text_is(const struct buf *text, const char *word)
{
	size_t len = strlen(word);

	return text->len == len && memcmp(buf_str(text), word, len) == 0;
}
