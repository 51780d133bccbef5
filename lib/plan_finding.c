/* Building a finding. */
#include "plan_finding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_mask.h"
#include "plan_path.h"
#include "secret_mask.h"

void plan_finding_init(struct plan_finding *f)
{
	const struct buf text = BUF_INIT(PLAN_TEXT_MAX);

	*f = (struct plan_finding){.address = text,
				   .deposed = text,
				   .type = text,
				   .provider = text,
				   .previous_address = text,
				   .reason = text};
}

void plan_finding_clear(struct plan_finding *f)
{
	buf_clear(&f->address);
	buf_clear(&f->deposed);
	buf_clear(&f->type);
	buf_clear(&f->provider);
	buf_clear(&f->previous_address);
	buf_clear(&f->reason);
	for (unsigned i = 0; i < f->cause_count; i++)
		buf_clear(&f->causes[i].path);
	free(f->causes);
	f->causes = NULL;
	f->cause_count = 0;
}

int plan_finding_set(struct plan_finding *f, const char *address, size_t len, const struct plan_change *change,
		     struct sbx_error *err)
{
	if (plan_path_cut(&f->address, address, len, err) < 0)
		return -1;
	if (change == NULL)
		return 0;
	f->actions = change->actions;
	const struct {
		struct buf *to;
		const struct buf *from;
	} texts[] = {
		{&f->deposed, &change->deposed},   {&f->type, &change->type},
		{&f->provider, &change->provider}, {&f->previous_address, &change->previous_address},
		{&f->reason, &change->reason},
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (plan_path_cut(texts[i].to, buf_str(texts[i].from), texts[i].from->len, err) < 0)
			return -1;
	return 0;
}

void plan_finding_signal(struct plan_finding *f, enum plan_verdict verdict, const char *word)
{
	if (verdict > f->verdict)
		f->verdict = verdict;
	for (unsigned i = 0; i < f->signal_count; i++)
		if (strcmp(f->signals[i], word) == 0)
			return;
	if (f->signal_count < PLAN_SIGNALS)
		snprintf(f->signals[f->signal_count++], PLAN_SIGNAL_SIZE, "%s", word);
}

void plan_finding_note(struct plan_finding *f, const char *text, int cause)
{
	for (unsigned i = 0; i < f->note_count; i++)
		if (f->notes[i].cause == cause && strncmp(f->notes[i].text, text, PLAN_NOTE_SIZE - 1) == 0)
			return;
	if (f->note_count == PLAN_NOTES)
		return;
	struct plan_note *note = &f->notes[f->note_count++];
	snprintf(note->text, sizeof note->text, "%s", text);
	note->cause = cause;
}

/* What no provider marks, a chart's values or a setting, may show by itself what it is. */
static void hide(struct plan_value *value, const struct plan_tree *tree, const struct plan_tree *mask,
		 const struct plan_place *places, unsigned count)
{
	if (plan_mask_touches(mask, places, count) ||
	    (value->how == PLAN_VALUE_PLAIN && secret_mask_hides(tree, places, count)))
		value->how = PLAN_VALUE_SENSITIVE;
}

static void take_values(struct plan_cause *cause, const struct plan_change *change, const struct plan_place *places,
			unsigned count)
{
	plan_value_take(&cause->before, &change->before, plan_place_find(&change->before, places, count));
	plan_value_take(&cause->after, &change->after, plan_place_find(&change->after, places, count));
	hide(&cause->before, &change->before, &change->before_mask, places, count);
	hide(&cause->after, &change->after, &change->after_mask, places, count);
	if (plan_mask_covers(&change->unknown, places, count))
		cause->after.how = PLAN_VALUE_UNKNOWN;
}

/* The cause with this path: its index, *IS_NEW when it was made; -1 when no more are kept, -2 on failure. */
static int find_cause(struct plan_finding *f, const struct plan_place *places, unsigned count, int *is_new,
		      struct sbx_error *err)
{
	auto_buf whole = BUF_INIT(PLAN_PATH_MAX), path = BUF_INIT(PLAN_TEXT_MAX);

	*is_new = 0;
	for (unsigned i = 0; i < count; i++)
		if (plan_path_add(&whole, &places[i], err) < 0)
			return -2;
	if (plan_path_cut(&path, buf_str(&whole), whole.len, err) < 0)
		return -2;
	for (unsigned i = 0; i < f->cause_count; i++)
		if (f->causes[i].path.len == path.len &&
		    memcmp(buf_str(&f->causes[i].path), buf_str(&path), path.len) == 0)
			return (int)i;
	if (f->cause_count == PLAN_CAUSES)
		return -1;
	if (f->causes == NULL && (f->causes = calloc(PLAN_CAUSES, sizeof *f->causes)) == NULL) {
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return -2;
	}
	f->causes[f->cause_count++].path = path;
	path = (struct buf)BUF_INIT(PLAN_TEXT_MAX);
	*is_new = 1;
	return (int)(f->cause_count - 1);
}

int plan_finding_cause(struct plan_finding *f, const struct plan_change *change, const struct plan_place *places,
		       unsigned count, struct sbx_error *err)
{
	int is_new, cause = find_cause(f, places, count, &is_new, err);

	if (is_new)
		take_values(&f->causes[cause], change, places, count);
	return cause;
}

int plan_finding_value(struct plan_finding *f, const struct plan_place *places, unsigned count,
		       const struct plan_value *value, struct sbx_error *err)
{
	int is_new, cause = find_cause(f, places, count, &is_new, err);

	if (is_new)
		f->causes[cause].after = *value;
	return cause;
}

int plan_finding_values(struct plan_finding *f, const struct plan_place *places, unsigned count,
			const struct plan_value *before, const struct plan_value *after, struct sbx_error *err)
{
	int is_new, cause = find_cause(f, places, count, &is_new, err);

	if (is_new) {
		f->causes[cause].before = *before;
		f->causes[cause].after = *after;
	}
	return cause;
}

int plan_finding_provider(struct plan_finding *f, const char *name, size_t len, struct sbx_error *err)
{
	return plan_path_cut(&f->provider, name, len, err);
}
