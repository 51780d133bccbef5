/* Members of a line. */
#include "kplan_entry.h"

#include "kplan_view.h"
#include "limit.h"

enum { HAS_LIVE = 1, HAS_PLANNED = 2, HAS_BESIDE = 4 };

void kplan_entry_init(struct kplan_entry *entry)
{
	entry->kind = KPLAN_CHANGE;
	kplan_object_init(&entry->live);
	kplan_object_init(&entry->planned);
	plan_change_init(&entry->change);
	plan_tree_init(&entry->scratch);
}

void kplan_entry_clear(struct kplan_entry *entry)
{
	kplan_object_clear(&entry->live);
	kplan_object_clear(&entry->planned);
	plan_change_clear(&entry->change);
	plan_tree_clear(&entry->scratch);
}

int kplan_entry_is_another(const struct kplan_entry *entry)
{
	const struct buf *was = &entry->live.uid, *is = &entry->planned.uid;

	return was->len > 0 && is->len > 0 && !kplan_text_same(was, is);
}

/* A kind that a cluster may have been taught keeps its status: whether that is one, its definition says. */
static enum kplan_status status_of(const struct buf *type)
{
	const char *text = buf_str(type);
	size_t len = type->len;
	static const char own[] = ".k8s.io";
	const char *dot = memchr(text, '.', len);

	if (dot == NULL || memchr(dot + 1, '.', len - (size_t)(dot + 1 - text)) == NULL)
		return STATUS_GOES; /* the core, apps, batch: no definition can be of a group without a dot */
	return len > sizeof own - 1 && memcmp(text + len - (sizeof own - 1), own, sizeof own - 1) == 0 ? STATUS_GOES
												       : STATUS_STAYS;
}

/* An object that began with the last token. */
static int read_object(struct plan_scan *s, struct kplan_entry *entry, struct kplan_object *object,
		       struct plan_tree *tree, struct sbx_error *err)
{
	if (s->token != JSON_OBJECT_OPEN)
		return plan_refuse(s, "plan_kind", "an object of the cluster that is no JSON object", err);
	if (plan_tree_read_rest(s, &entry->scratch, err) < 0 || kplan_object_read(object, &entry->scratch, err) < 0)
		return -1;
	return kplan_prune(tree, &entry->scratch, status_of(&object->type), err);
}

/* The items of a list that was asked for one object by its name: none, or one. */
static int read_items(struct plan_scan *s, struct kplan_entry *entry, struct kplan_object *object,
		      struct plan_tree *tree, struct sbx_error *err)
{
	int element = plan_element(s, err);

	if (element != 1)
		return element;
	if (read_object(s, entry, object, tree, err) < 0 || (element = plan_element(s, err)) < 0)
		return -1;
	return element == 0 ? 0 : plan_refuse(s, "plan_malformed", "more than one object", err);
}

enum form { ONE_OBJECT, MAYBE_IN_A_LIST };

/* Null is no object. */
static int read_value(struct plan_scan *s, struct kplan_entry *entry, struct kplan_object *object, enum form form,
		      struct sbx_error *err)
{
	struct plan_change *change = &entry->change;
	struct plan_tree *tree = object == &entry->live ? &change->before : &change->after;

	if (plan_next(s, err) < 0)
		return -1;
	if (s->token == JSON_NULL)
		return 0;
	if (s->token == JSON_ARRAY_OPEN && form == MAYBE_IN_A_LIST)
		return read_items(s, entry, object, tree, err);
	return read_object(s, entry, object, tree, err);
}

/* One line; *SEEN gets what was in it. */
static int read_line(struct kplan_entry *entry, struct kplan_lines *lines, unsigned *seen, struct sbx_error *err)
{
	static const struct json_lex_limits limits = {.bytes = LIMIT_PLAN_LINE,
						      .depth = LIMIT_PLAN_DEPTH,
						      .string = LIMIT_PLAN_LINE,
						      .integers = JSON_ANY_NUMBER};
	auto_json_lex *lex = json_lex_memory(buf_str(&lines->line), lines->line.len, &limits, err);
	struct plan_scan s = {.lex = lex};
	int key, result = 0;

	if (lex == NULL || plan_expect(&s, JSON_OBJECT_OPEN, "an entry that is no object", err) < 0)
		return -1;
	while (result == 0 && (key = plan_key(&s, err)) == 1) {
		if (plan_is(&s, "live")) {
			*seen |= HAS_LIVE;
			result = read_value(&s, entry, &entry->live, MAYBE_IN_A_LIST, err);
		} else if (plan_is(&s, "planned")) {
			*seen |= HAS_PLANNED;
			result = read_value(&s, entry, &entry->planned, ONE_OBJECT, err);
		} else if (plan_is(&s, "beside")) {
			*seen |= HAS_BESIDE;
			result = read_value(&s, entry, &entry->live, ONE_OBJECT, err);
		} else {
			result = plan_refuse(&s, "plan_member", "a member that is not known", err);
		}
	}
	return result < 0 || key < 0 ? -1 : plan_expect(&s, JSON_END, "more than one value", err);
}

static int malformed(const char *code, const char *what, struct sbx_error *err)
{
	return sbx_fail(err, SBX_BAD_REQUEST, code, "%s", what);
}

/* The two halves of a change may stand in lines of their own, one right behind the other: two commands print them. */
static int read_other_half(struct kplan_entry *entry, struct kplan_lines *lines, struct sbx_error *err)
{
	unsigned seen = 0;
	int more = kplan_lines_next(lines, err);

	if (more < 0 || (more == 1 && read_line(entry, lines, &seen, err) < 0))
		return -1;
	if (seen == HAS_PLANNED)
		return 0;
	return malformed("plan_member", "what is live is not followed by what is planned", err);
}

static int settle(struct kplan_entry *entry, unsigned seen, struct sbx_error *err)
{
	const struct kplan_object *is = entry->planned.there ? &entry->planned : &entry->live;

	if (seen == HAS_BESIDE) {
		entry->kind = entry->live.there ? KPLAN_BESIDE : KPLAN_BESIDE_END;
	} else {
		entry->kind = KPLAN_CHANGE;
		if (seen != (HAS_LIVE | HAS_PLANNED))
			return malformed("plan_member", "an entry is live and planned, or beside", err);
		if (!is->there)
			return malformed("plan_malformed", "a change of nothing", err);
	}
	if (entry->live.there && entry->planned.there && !kplan_object_same(&entry->live, &entry->planned))
		return malformed("plan_malformed", "live and planned are two objects", err);
	if (buf_add(&entry->change.address, buf_str(&is->address), is->address.len, err) < 0)
		return -1;
	return buf_add(&entry->change.type, buf_str(&is->type), is->type.len, err);
}

int kplan_entry_read(struct kplan_entry *entry, struct kplan_lines *lines, struct sbx_error *err)
{
	unsigned seen = 0;
	int more = kplan_lines_next(lines, err);

	if (more != 1)
		return more;
	plan_change_reset(&entry->change);
	kplan_object_reset(&entry->live);
	kplan_object_reset(&entry->planned);
	if (read_line(entry, lines, &seen, err) == 0 && (seen != HAS_LIVE || read_other_half(entry, lines, err) == 0)) {
		if (seen == HAS_LIVE)
			seen |= HAS_PLANNED;
		if (settle(entry, seen, err) == 0)
			return 1;
	}
	return sbx_wrap(err, "line %llu", (unsigned long long)lines->number);
}
