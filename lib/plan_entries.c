/* Quiet entries are told by their form: what is not as Terraform writes it is left to the second pass, which refuses it
 * or judges it. */
#include "plan_entries.h"

#include "limit.h"
#include "plan_change.h"

/* An entry that is no longer than one of its texts may be is within every limit of the second pass. */
static const uint64_t quiet_max = LIMIT_PLAN_ADDRESS;

struct entry {
	int names;   /* it has an address */
	int changes; /* it has a change */
	int loud;    /* it is not quiet */
};

/* A mask; right behind the key. KINDS of tokens make the entry loud, beside what is no truth value. */
static int read_mask(struct plan_scan *s, struct entry *entry, unsigned kinds, struct sbx_error *err)
{
	unsigned found;

	if (json_lex_skip_kinds(s->lex, &found, err) < 0)
		return -1;
	entry->loud |= (found & (kinds | JSON_KIND(JSON_STRING) | JSON_KIND(JSON_NUMBER))) != 0;
	return 0;
}

/* Right behind the key: one action, which is none. */
static int read_actions(struct plan_scan *s, struct entry *entry, struct sbx_error *err)
{
	if (plan_next(s, err) < 0)
		return -1;
	if (s->token != JSON_ARRAY_OPEN) {
		entry->loud = 1;
		return plan_skip_rest(s, err);
	}
	unsigned depth = json_lex_depth(s->lex) - 1;
	if (plan_next(s, err) < 0)
		return -1;
	entry->loud |= s->token != JSON_STRING || !plan_is(s, plan_action_name(ACTION_NO_OP));
	if (json_lex_depth(s->lex) > depth && plan_next(s, err) < 0)
		return -1;
	entry->loud |= json_lex_depth(s->lex) > depth;
	return json_lex_skip_to(s->lex, depth, err);
}

static int read_inner_member(struct plan_scan *s, struct entry *entry, unsigned *seen, struct sbx_error *err)
{
	if (entry->loud)
		return plan_skip(s, err);
	if (plan_is(s, "actions")) {
		*seen = 1;
		return read_actions(s, entry, err);
	}
	if (plan_is(s, "before_sensitive") || plan_is(s, "after_sensitive"))
		return read_mask(s, entry, JSON_KIND(JSON_TRUE), err);
	/* What is known later only is no matter where nothing is done. */
	if (plan_is(s, "after_unknown"))
		return read_mask(s, entry, 0, err);
	entry->loud |= plan_is(s, "replace_paths") || plan_is(s, "importing");
	return plan_skip(s, err);
}

/* Right behind the key "change". */
static int read_inner(struct plan_scan *s, struct entry *entry, struct sbx_error *err)
{
	unsigned has_actions = 0;
	int key;

	if (plan_next(s, err) < 0)
		return -1;
	if (s->token != JSON_OBJECT_OPEN) {
		entry->loud = 1;
		return plan_skip_rest(s, err);
	}
	while ((key = plan_key(s, err)) == 1)
		if (read_inner_member(s, entry, &has_actions, err) < 0)
			return -1;
	entry->loud |= !has_actions;
	return key;
}

/* The address, or the one before a move. */
static int read_address(struct plan_scan *s, struct plan_survey *survey, struct entry *entry, struct sbx_error *err)
{
	int is_address = plan_is(s, "address");

	if (plan_expect(s, JSON_STRING, "an address that is no string", err) < 0 ||
	    hash_set_add(&survey->listed, plan_hash(s, PLAN_HASH_ADDRESS), err) < 0)
		return -1;
	entry->names |= is_address;
	entry->loud |= is_address ? s->len == 0 : s->len > 0;
	return 0;
}

/* One member of an entry; the last token is its key. */
static int read_member(struct plan_scan *s, struct plan_survey *survey, struct entry *entry, struct sbx_error *err)
{
	if (plan_is(s, "address") || plan_is(s, "previous_address"))
		return read_address(s, survey, entry, err);
	if (plan_is(s, "change")) {
		entry->changes = 1;
		return read_inner(s, entry, err);
	}
	if (entry->loud || !plan_change_is_text(s))
		return plan_skip(s, err);
	if (plan_next(s, err) < 0)
		return -1;
	entry->loud |= s->token != JSON_STRING;
	return plan_skip_rest(s, err);
}

/* One entry; its { was read. */
static int read_entry(struct plan_scan *s, struct plan_survey *survey, struct entry *entry, struct sbx_error *err)
{
	uint64_t begin = json_lex_offset(s->lex);
	int key;

	while ((key = plan_key(s, err)) == 1)
		if (read_member(s, survey, entry, err) < 0)
			return -1;
	if (key == 0 && !entry->names)
		return plan_refuse(s, "plan_malformed", "a change without an address", err);
	entry->loud |= !entry->changes || json_lex_offset(s->lex) - begin > quiet_max;
	return key;
}

/* A quiet entry ends here, and began at BEGIN; JOINS the one before it. */
static int note_quiet(const struct plan_scan *s, struct plan_survey *survey, uint64_t begin, int joins,
		      struct sbx_error *err)
{
	struct plan_list *quiet = &survey->quiet;
	uint64_t end = json_lex_offset(s->lex);

	survey->quiet_count++;
	if (joins) {
		quiet->items[quiet->count - 1] = end;
		return 0;
	}
	return plan_list_add(quiet, begin, err) < 0 ? -1 : plan_list_add(quiet, end, err);
}

int plan_entries_read(struct plan_scan *s, struct plan_survey *survey, struct sbx_error *err)
{
	int element, joins = 0;

	if (plan_expect(s, JSON_ARRAY_OPEN, "changes that are no array", err) < 0)
		return -1;
	while ((element = plan_element(s, err)) == 1) {
		struct entry entry = {.loud = 0};
		uint64_t begin = json_lex_offset(s->lex);
		if (s->token != JSON_OBJECT_OPEN)
			return plan_refuse(s, "plan_kind", "a change that is no object", err);
		if (read_entry(s, survey, &entry, err) < 0 ||
		    (!entry.loud && note_quiet(s, survey, begin, joins, err) < 0))
			return -1;
		joins = !entry.loud;
	}
	return element;
}

/* A deferred change wraps one; its { was read. */
static int read_wrapper(struct plan_scan *s, struct plan_survey *survey, struct sbx_error *err)
{
	struct entry entry = {.loud = 1};
	int key;

	while ((key = plan_key(s, err)) == 1) {
		if (!plan_is(s, "resource_change")) {
			if (plan_skip(s, err) < 0)
				return -1;
			continue;
		}
		if (plan_expect(s, JSON_OBJECT_OPEN, "a change that is no object", err) < 0 ||
		    read_entry(s, survey, &entry, err) < 0)
			return -1;
	}
	return key;
}

int plan_entries_read_deferred(struct plan_scan *s, struct plan_survey *survey, struct sbx_error *err)
{
	int element;

	if (plan_expect(s, JSON_ARRAY_OPEN, "changes that are no array", err) < 0)
		return -1;
	while ((element = plan_element(s, err)) == 1) {
		if (s->token != JSON_OBJECT_OPEN)
			return plan_refuse(s, "plan_kind", "a change that is no object", err);
		if (read_wrapper(s, survey, err) < 0)
			return -1;
	}
	return element;
}

int plan_entries_skip(struct plan_scan *s, const struct plan_survey *survey, size_t *cursor, struct sbx_error *err)
{
	const struct plan_list *quiet = &survey->quiet;
	uint64_t begin = json_lex_offset(s->lex);

	while (*cursor < quiet->count && quiet->items[*cursor] < begin)
		*cursor += 2;
	if (*cursor >= quiet->count || quiet->items[*cursor] != begin)
		return 0;
	return json_lex_jump(s->lex, quiet->items[*cursor + 1], json_lex_depth(s->lex) - 1, err) < 0 ? -1 : 1;
}
