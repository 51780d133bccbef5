/* One change: actions, replace_paths, and what explains them. */
#include "plan_change.h"

#include <string.h>

#include "limit.h"
#include "plan_report.h"

static const size_t text_max = 1 << 20; /* an address or a reason: a for_each key is the longest part of one */

static const char *const action_names[PLAN_ACTIONS] = {"no-op", "create", "read", "update", "delete", "forget"};

const char *plan_action_name(enum plan_action action)
{
	return action_names[action];
}

void plan_change_init(struct plan_change *change)
{
	const struct buf text = BUF_INIT(text_max);

	*change = (struct plan_change){.address = text,
				       .previous_address = text,
				       .deposed = text,
				       .type = text,
				       .provider = text,
				       .reason = text,
				       .because = text};
}

void plan_change_clear(struct plan_change *change)
{
	buf_clear(&change->address);
	buf_clear(&change->previous_address);
	buf_clear(&change->deposed);
	buf_clear(&change->type);
	buf_clear(&change->provider);
	buf_clear(&change->reason);
	buf_clear(&change->because);
	plan_masks_clear(&change->masks);
}

static void reset(struct plan_change *change)
{
	buf_reset(&change->address);
	buf_reset(&change->previous_address);
	buf_reset(&change->deposed);
	buf_reset(&change->type);
	buf_reset(&change->provider);
	buf_reset(&change->reason);
	buf_reset(&change->because);
	change->action_count = change->action_bits = change->because_count = 0;
	change->importing = 0;
	plan_masks_reset(&change->masks);
}

static int read_actions(struct plan_scan *s, struct plan_change *change, struct sbx_error *err)
{
	int element;

	if (plan_expect(s, JSON_ARRAY_OPEN, "actions that are no array", err) < 0)
		return -1;
	while ((element = plan_element(s, err)) == 1) {
		int action = s->token == JSON_STRING ? plan_name(s, action_names, ARRAY_LEN(action_names)) : -1;
		if (action < 0)
			return plan_refuse(s, "plan_action", "an action that is not known", err);
		if (change->action_count == PLAN_CHANGE_ACTIONS)
			return plan_refuse(s, "plan_action", "more actions than any change has", err);
		change->actions[change->action_count++] = (unsigned char)action;
		change->action_bits |= PLAN_ACTION_BIT((unsigned)action);
	}
	if (element == 0 && change->action_count == 0)
		return plan_refuse(s, "plan_action", "a change without an action", err);
	return element;
}

/* Paths that force the replacement: an array of arrays of names and indexes. */
static int read_replace_paths(struct plan_scan *s, struct plan_change *change, struct sbx_error *err)
{
	auto_buf path = BUF_INIT(text_max);
	int element, step = 0;

	if (plan_expect(s, JSON_ARRAY_OPEN, "replace_paths that are no array", err) < 0)
		return -1;
	while ((element = plan_element(s, err)) == 1) {
		if (s->token != JSON_ARRAY_OPEN)
			return plan_refuse(s, "plan_kind", "a path that is no array", err);
		buf_reset(&path);
		while ((step = plan_element(s, err)) == 1) {
			if (s->token != JSON_STRING && s->token != JSON_NUMBER)
				return plan_refuse(s, "plan_kind", "a step of a path that is neither name nor index",
						   err);
			if (plan_report_path_step(&path, s->text, s->len, s->token == JSON_NUMBER, err) < 0)
				return -1;
		}
		if (step < 0 ||
		    plan_report_path(&change->because, change->because_count++, buf_str(&path), path.len, err) < 0)
			return -1;
	}
	return element;
}

enum inner {
	INNER_ACTIONS,
	INNER_AFTER,
	INNER_UNKNOWN,
	INNER_BEFORE_MASK,
	INNER_AFTER_MASK,
	INNER_REPLACE_PATHS,
	INNER_IMPORTING
};
static const char *const inner_names[] = {"actions",	     "after",	      "after_unknown", "before_sensitive",
					  "after_sensitive", "replace_paths", "importing"};

static int read_inner_member(struct plan_scan *s, int member, struct plan_change *change, struct sbx_error *err)
{
	switch (member) {
	case INNER_ACTIONS:
		return read_actions(s, change, err);
	case INNER_AFTER:
		return plan_masks_read(s, PLAN_MASK_AFTER, &change->masks, err);
	case INNER_UNKNOWN:
		return plan_masks_read(s, PLAN_MASK_UNKNOWN, &change->masks, err);
	case INNER_BEFORE_MASK:
		return plan_masks_read(s, PLAN_MASK_BEFORE_SENSITIVE, &change->masks, err);
	case INNER_AFTER_MASK:
		return plan_masks_read(s, PLAN_MASK_AFTER_SENSITIVE, &change->masks, err);
	case INNER_REPLACE_PATHS:
		return read_replace_paths(s, change, err);
	case INNER_IMPORTING:
		if (plan_next(s, err) < 0)
			return -1;
		change->importing = s->token != JSON_NULL;
		return plan_skip_rest(s, err);
	default:
		return plan_skip(s, err);
	}
}

static int read_inner_object(struct plan_scan *s, struct plan_change *change, struct sbx_error *err)
{
	int key;

	while ((key = plan_key(s, err)) == 1)
		if (read_inner_member(s, plan_name(s, inner_names, ARRAY_LEN(inner_names)), change, err) < 0)
			return -1;
	if (key == 0 && change->action_count == 0)
		return plan_refuse(s, "plan_malformed", "a change without actions", err);
	return key;
}

int plan_change_read_inner(struct plan_scan *s, struct plan_change *change, struct sbx_error *err)
{
	reset(change);
	return read_inner_object(s, change, err);
}

static struct buf *text_member(struct plan_change *change, const struct plan_scan *s)
{
	static const char *const names[] = {"address", "previous_address", "deposed",
					    "type",    "provider_name",	   "action_reason"};
	struct buf *const places[] = {&change->address, &change->previous_address, &change->deposed,
				      &change->type,	&change->provider,	   &change->reason};
	int member = plan_name(s, names, ARRAY_LEN(names));

	return member < 0 ? NULL : places[member];
}

int plan_change_read(struct plan_scan *s, struct plan_change *change, struct sbx_error *err)
{
	int key, has_change = 0;

	reset(change);
	while ((key = plan_key(s, err)) == 1) {
		struct buf *text = text_member(change, s);
		int result;
		if (text != NULL) {
			result = plan_string(s, text, "a part of a change that is no string", err);
		} else if (plan_is(s, "change")) {
			has_change = 1;
			result = plan_expect(s, JSON_OBJECT_OPEN, "a change that is no object", err) < 0
					 ? -1
					 : read_inner_object(s, change, err);
		} else {
			result = plan_skip(s, err);
		}
		if (result < 0)
			return -1;
	}
	if (key == 0 && (!has_change || change->address.len == 0))
		return plan_refuse(s, "plan_malformed", "an entry without a change or an address", err);
	return key;
}
