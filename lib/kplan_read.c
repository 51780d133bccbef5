/* The two passes: what goes with what, then the verdicts. */
#include "kplan_read.h"

#include <string.h>

#include "kplan_judge.h"
#include "plan_effect.h"

struct passes {
	struct kplan_lines lines;
	struct kplan_entry entry;
	struct kplan_cascade cascade;
	struct kplan_judge judge;
	struct plan_effect effect;
};

typedef int each_fn(struct passes *p, struct sbx_error *err);

/* EACH for every entry; HEX gets the digest of all that was read. */
static int pass(struct passes *p, int fd, each_fn *each, char hex[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	unsigned char bytes[DIGEST_SIZE];
	int more = -1;

	if (kplan_lines_init(&p->lines, fd, err) == 0)
		while ((more = kplan_entry_read(&p->entry, &p->lines, err)) == 1)
			if (each(p, err) < 0) {
				more = sbx_wrap(err, "line %llu", (unsigned long long)p->lines.number);
				break;
			}
	if (more == 0) {
		digest_finish(&p->lines.digest, bytes);
		digest_to_hex(bytes, sizeof bytes, hex);
	}
	kplan_lines_clear(&p->lines);
	return more;
}

static int note(struct passes *p, struct sbx_error *err)
{
	return kplan_cascade_note(&p->cascade, &p->entry, err);
}

/* The uid of what was there: another object of the same name is another change. */
static void add_effect(struct passes *p)
{
	const struct buf *uid = &p->entry.live.uid;
	uint64_t len = uid->len;

	if (PLAN_ONLY(&p->entry.change.actions, ACTION_NO_OP))
		return;
	digest_add(&p->effect.changes, &len, sizeof len);
	digest_add(&p->effect.changes, buf_str(uid), uid->len);
	plan_effect_add(&p->effect, &p->entry.change);
}

static int judge(struct passes *p, struct sbx_error *err)
{
	struct kplan_way way;
	int result = 0;

	if (p->entry.kind == KPLAN_BESIDE_END)
		return 0;
	if (p->entry.kind == KPLAN_CHANGE) {
		result = kplan_judge_change(&p->judge, &p->entry, err);
	} else {
		int takes = kplan_cascade_takes(&p->cascade, &p->entry, &way, err);
		if (takes <= 0)
			return takes;
		result = kplan_judge_cascade(&p->judge, &p->entry, &way, err);
	}
	if (result == 0)
		add_effect(p);
	return result;
}

static int both(struct passes *p, int fd, char first[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	char second[DIGEST_HEX_SIZE];

	if (pass(p, fd, note, first, err) < 0)
		return -1;
	if (p->cascade.changes == 0)
		return sbx_fail(err, SBX_BAD_REQUEST, "json_empty", "there is no change");
	if (kplan_cascade_settle(&p->cascade, err) < 0 || pass(p, fd, judge, second, err) < 0)
		return -1;
	if (strcmp(first, second) != 0)
		return sbx_fail(err, SBX_BAD_REQUEST, "plan_changed", "the changes changed while they were read");
	return 0;
}

int kplan_read(int fd, const struct signal_table *table, struct plan_report *report, struct sbx_error *err)
{
	struct signal_matcher *matcher = signal_matcher_new(table, err);
	struct passes p = {.judge = {.matcher = matcher, .report = report}};

	if (matcher == NULL)
		return -1;
	p.judge.cascade = &p.cascade;
	kplan_entry_init(&p.entry);
	kplan_cascade_init(&p.cascade);
	kplan_judge_init(&p.judge);
	plan_effect_init(&p.effect);
	int result = both(&p, fd, report->artefact, err);
	if (result == 0)
		plan_effect_finish(&p.effect, report->effect);
	plan_effect_clear(&p.effect);
	kplan_judge_clear(&p.judge);
	kplan_cascade_clear(&p.cascade);
	kplan_entry_clear(&p.entry);
	signal_matcher_free(matcher);
	return result;
}
