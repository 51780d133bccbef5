/* Every list of a namespace is read, by names and owners; then what belongs to what is deleted is found among them. */
#include "kchange_beside.h"

#include <string.h>

#include "io.h"
#include "kchange_found.h"
#include "kchange_list.h"

enum { PATH_SIZE = 1024 };

void kchange_beside_init(struct kchange_beside *b)
{
	*b = (struct kchange_beside){.is_whole = 1};
	io_random(&b->seed, sizeof b->seed);
}

static void found_clear(struct kchange_found *f)
{
	plan_list_clear(&f->owners);
	free(f->text);
	f->text = NULL;
}

void kchange_beside_clear(struct kchange_beside *b)
{
	for (size_t i = 0; i < b->count; i++)
		found_clear(&b->items[i]);
	free(b->items);
	hash_set_clear(&b->seen);
	hash_set_clear(&b->going);
}

uint64_t kchange_found_hash(const struct kchange_beside *b, const char *text, size_t len)
{
	return key_hash(&b->seed, 0, text, len);
}

uint64_t kchange_found_uid(const struct kchange_beside *b, const struct plan_tree *tree, const struct plan_node *node)
{
	return node != NULL && node->kind == PLAN_STRING && node->len > 0
		       ? kchange_found_hash(b, plan_tree_text(tree, node), node->len)
		       : 0;
}

static const struct plan_node *member(const struct plan_tree *tree, const struct plan_node *object, const char *name)
{
	return plan_tree_member(tree, object, name, strlen(name));
}

/* --- one object of a list --- */

struct gathering {
	struct kchange_server *server;
	struct kchange_beside *beside;
	const char *space;
	const struct kchange_served *kind; /* of the list at hand; NULL: volumes */
	unsigned left;
};

/* "NAME":value, where NODE has it; the last comma is the caller's to remove. */
static int add_member(struct buf *out, const struct plan_tree *tree, const struct plan_node *node, const char *name,
		      struct sbx_error *err)
{
	const struct plan_node *value = member(tree, node, name);

	if (value == NULL)
		return 0;
	return buf_addf(out, err, "\"%s\":", name) < 0 || plan_tree_write(out, tree, value, NULL, NULL, err) < 0
		       ? -1
		       : buf_add(out, ",", 1, err);
}

static int close_object(struct buf *out, struct sbx_error *err)
{
	if (out->len > 0 && out->data[out->len - 1] == ',')
		out->len--;
	return buf_add(out, "}", 1, err);
}

static int write_head(struct buf *out, const char *group, const char *version, const char *kind, struct sbx_error *err)
{
	return buf_addf(out, err, "{\"apiVersion\":\"%s%s%s\",\"kind\":\"%s\",\"metadata\":{", group,
			group[0] != '\0' ? "/" : "", version, kind);
}

static int write_metadata(struct buf *out, const struct plan_tree *tree, const struct plan_node *metadata,
			  struct sbx_error *err)
{
	return add_member(out, tree, metadata, "name", err) < 0 ||
			       add_member(out, tree, metadata, "namespace", err) < 0 ||
			       add_member(out, tree, metadata, "ownerReferences", err) < 0 ||
			       add_member(out, tree, metadata, "uid", err) < 0
		       ? -1
		       : close_object(out, err);
}

/* What decides about a volume. */
static int write_volume(struct buf *out, const struct plan_tree *tree, const struct plan_node *item,
			struct sbx_error *err)
{
	const struct plan_node *spec = member(tree, item, "spec"), *claim = member(tree, spec, "claimRef");

	if (write_head(out, "", "v1", "PersistentVolume", err) < 0 ||
	    write_metadata(out, tree, member(tree, item, "metadata"), err) < 0 ||
	    buf_add_str(out, ",\"spec\":{\"claimRef\":{", err) < 0 || add_member(out, tree, claim, "name", err) < 0 ||
	    add_member(out, tree, claim, "namespace", err) < 0 || add_member(out, tree, claim, "uid", err) < 0 ||
	    close_object(out, err) < 0 || buf_add(out, ",", 1, err) < 0 ||
	    add_member(out, tree, spec, "persistentVolumeReclaimPolicy", err) < 0 || close_object(out, err) < 0)
		return -1;
	return buf_add(out, "}", 1, err);
}

static int read_owners(const struct kchange_beside *b, struct kchange_found *f, const struct plan_tree *tree,
		       const struct plan_node *metadata, struct sbx_error *err)
{
	const struct plan_node *list = member(tree, metadata, "ownerReferences"), *owner = plan_tree_first(tree, list);

	for (; owner != NULL; owner = plan_tree_behind(tree, list, owner)) {
		const struct plan_node *controls = member(tree, owner, "controller");
		uint64_t uid = kchange_found_uid(b, tree, member(tree, owner, "uid"));
		if (controls != NULL && controls->kind == PLAN_TRUE)
			f->origin = MADE;
		if (uid != 0 && plan_list_add(&f->owners, uid, err) < 0)
			return -1;
	}
	return 0;
}

/* A slot for one more, empty; NULL. */
static struct kchange_found *add_slot(struct kchange_beside *b, struct sbx_error *err)
{
	if (b->count == b->cap) {
		size_t cap = b->cap > 0 ? 2 * b->cap : 64;
		struct kchange_found *grown = reallocarray(b->items, cap, sizeof *grown);
		if (grown == NULL) {
			sbx_fail(err, SBX_OS, "no_memory", "out of memory");
			return NULL;
		}
		b->items = grown;
		b->cap = cap;
	}
	b->items[b->count] = (struct kchange_found){.origin = LOOSE};
	return &b->items[b->count++];
}

static int keep_text(struct kchange_found *f, struct buf *text, struct sbx_error *err)
{
	f->len = text->len;
	f->text = buf_take(text);
	return f->text != NULL ? 0 : sbx_fail(err, SBX_OS, "no_memory", "out of memory");
}

/* The same object may be served as of two kinds or versions. What has no uid is no object that is kept. */
static int take_object(void *context, const struct plan_tree *tree, const struct plan_node *item, struct sbx_error *err)
{
	const struct gathering *g = context;
	const struct plan_node *metadata = member(tree, item, "metadata");
	uint64_t uid = kchange_found_uid(g->beside, tree, member(tree, metadata, "uid"));
	auto_buf text = BUF_INIT(KCHANGE_FOUND_TEXT);

	if (uid == 0 || hash_set_has(&g->beside->seen, uid))
		return 0;
	struct kchange_found *f = add_slot(g->beside, err);
	if (f == NULL || hash_set_add(&g->beside->seen, uid, err) < 0 ||
	    read_owners(g->beside, f, tree, metadata, err) < 0 ||
	    write_head(&text, g->kind->group, g->kind->version, g->kind->kind, err) < 0 ||
	    write_metadata(&text, tree, metadata, err) < 0 || buf_add(&text, "}", 1, err) < 0)
		return -1;
	f->uid = uid;
	f->is_claim = strcmp(g->kind->kind, "PersistentVolumeClaim") == 0 && g->kind->group[0] == '\0';
	if (f->is_claim)
		f->origin = LOOSE;
	return keep_text(f, &text, err);
}

static int take_volume(void *context, const struct plan_tree *tree, const struct plan_node *item, struct sbx_error *err)
{
	const struct gathering *g = context;
	const struct plan_node *claim = member(tree, member(tree, item, "spec"), "claimRef");
	uint64_t uid = kchange_found_uid(g->beside, tree, member(tree, claim, "uid"));
	auto_buf text = BUF_INIT(KCHANGE_FOUND_TEXT);

	if (uid == 0 || !hash_set_has(&g->beside->going, uid))
		return 0;
	struct kchange_found *f = add_slot(g->beside, err);
	if (f == NULL || write_volume(&text, tree, item, err) < 0)
		return -1;
	f->uid = kchange_found_uid(g->beside, tree, member(tree, member(tree, item, "metadata"), "uid"));
	return hash_set_add(&g->beside->going, f->uid, err) < 0 ? -1 : keep_text(f, &text, err);
}

/* What says only that something happened; and is made all the time. */
static int is_noise(const struct kchange_served *kind)
{
	return strcmp(kind->kind, "Event") == 0 &&
	       (kind->group[0] == '\0' || strcmp(kind->group, "events.k8s.io") == 0);
}

static int take_kind(void *context, const struct kchange_served *kind, struct sbx_error *err)
{
	struct gathering *g = context;
	auto_buf path = BUF_INIT(PATH_SIZE);

	if (is_noise(kind))
		return 0;
	if (buf_addf(&path, err, "/api%s%s/%s/namespaces/%s/%s", kind->group[0] != '\0' ? "s/" : "", kind->group,
		     kind->version, g->space, kind->plural) < 0)
		return -1;
	g->kind = kind;
	int got = kchange_list(g->server, buf_str(&path), "", KCHANGE_METADATA, &g->left, take_object, g, err);
	g->beside->is_whole &= got != 0;
	return got < 0 ? -1 : 0;
}

/* --- which of them go --- */

static int is_owned(const struct kchange_beside *b, const struct kchange_found *f)
{
	for (size_t i = 0; i < f->owners.count; i++)
		if (hash_set_has(&b->going, f->owners.items[i]))
			return 1;
	return 0;
}

/* EVERYTHING goes, or what is owned by what goes, again until there is nothing more: chains of owners are short. */
enum reach { EVERYTHING, WHAT_IS_OWNED };
static int find_going(struct kchange_beside *b, enum reach reach, struct sbx_error *err)
{
	for (int more = 1; more;) {
		more = 0;
		for (size_t i = 0; i < b->count; i++) {
			const struct kchange_found *f = &b->items[i];
			if (hash_set_has(&b->going, f->uid) || (reach == WHAT_IS_OWNED && !is_owned(b, f)))
				continue;
			if (hash_set_add(&b->going, f->uid, err) < 0)
				return -1;
			more = 1;
		}
	}
	return 0;
}

/* Forget what stays; 1 when a claim goes. */
static int drop_rest(struct kchange_beside *b, uint64_t itself)
{
	size_t kept = 0;
	int claims = 0;

	for (size_t i = 0; i < b->count; i++) {
		if (!hash_set_has(&b->going, b->items[i].uid) || b->items[i].uid == itself) {
			found_clear(&b->items[i]);
			continue;
		}
		claims |= b->items[i].is_claim;
		b->items[kept++] = b->items[i];
	}
	b->count = kept;
	return claims;
}

static int by_text(const void *x, const void *y)
{
	const struct kchange_found *a = x, *b = y;

	return strcmp(a->text, b->text);
}

static int gather_volumes(struct gathering *g, struct sbx_error *err)
{
	int got =
		kchange_list(g->server, "/api/v1/persistentvolumes", "", KCHANGE_WHOLE, &g->left, take_volume, g, err);

	g->beside->is_whole &= got != 0;
	return got;
}

int kchange_beside_gather(struct kchange_server *server, const struct kchange_name *name,
			  const struct kchange_object *live, struct kchange_beside *b, struct sbx_error *err)
{
	int is_space = strcmp(name->kind->kind, "Namespace") == 0;
	uint64_t itself = kchange_found_hash(b, buf_str(&live->names.uid), live->names.uid.len);
	struct gathering g = {.server = server,
			      .beside = b,
			      .space = is_space ? name->name : name->space,
			      .left = KCHANGE_LISTED_MAX};

	if (g.space[0] == '\0')
		return 0; /* a volume holds nothing else */
	int whole = kchange_kinds(server, take_kind, &g, err);
	if (whole < 0 || hash_set_add(&b->going, itself, err) < 0 ||
	    find_going(b, is_space ? EVERYTHING : WHAT_IS_OWNED, err) < 0)
		return -1;
	b->is_whole &= whole;
	int claims = drop_rest(b, itself) || strcmp(name->kind->kind, "PersistentVolumeClaim") == 0;
	if (claims && gather_volumes(&g, err) < 0)
		return -1;
	if (b->count > 0)
		qsort(b->items, b->count, sizeof *b->items, by_text);
	return 0;
}
