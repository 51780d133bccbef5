/* Verdicts. Any delete or forget is destructive, whatever stands beside it: new combinations stay dangerous. The plan's
 * own reasons are explanations only. */
#include "plan_judge.h"

#include <stdio.h>
#include <string.h>

#include "limit.h"
#include "plan_config.h"
#include "plan_mask.h"

void plan_judge_init(struct plan_judge *judge)
{
	judge->scratch = (struct buf)BUF_INIT(LIMIT_PLAN_ADDRESS);
	plan_change_init(&judge->change);
	plan_finding_init(&judge->finding);
}

void plan_judge_clear(struct plan_judge *judge)
{
	buf_clear(&judge->scratch);
	plan_change_clear(&judge->change);
	plan_finding_clear(&judge->finding);
}

int plan_judge_add(struct plan_judge *judge, enum plan_verdict verdict, const char *code, const char *address,
		   size_t len, struct sbx_error *err)
{
	plan_finding_signal(&judge->finding, verdict, code);
	if (plan_finding_set(&judge->finding, address, len, NULL, err) < 0)
		return -1;
	return plan_report_add(judge->report, &judge->finding, err);
}

/* The finding is complete; give it to the report with the words of the change. */
static int add_finding(struct plan_judge *judge, struct sbx_error *err)
{
	const struct buf *address = &judge->change.address;

	if (plan_finding_set(&judge->finding, address->data, address->len, &judge->change, err) < 0)
		return -1;
	return plan_report_add(judge->report, &judge->finding, err);
}

/* What its values say is sensitive must not be shown anywhere. */
static int keep_secrets(struct plan_judge *judge, struct sbx_error *err)
{
	const struct plan_change *change = &judge->change;
	struct plan_secrets *secrets = &judge->report->secrets;

	if (plan_secrets_add_masked(secrets, &change->before, &change->before_mask, err) < 0)
		return -1;
	return plan_secrets_add_masked(secrets, &change->after, &change->after_mask, err);
}

int plan_judge_entry(struct plan_judge *judge, const char *code, struct sbx_error *err)
{
	if (keep_secrets(judge, err) < 0)
		return -1;
	plan_finding_signal(&judge->finding, PLAN_REVIEW, code);
	return add_finding(judge, err);
}

/* The resource type in an address: the last component but one, before the name ("module.a[\"x.y\"].aws_vpc.b[0]" is
 * "aws_vpc"). */
static void type_in_address(const struct buf *config, const char **type, size_t *len)
{
	const char *text = buf_str(config);
	size_t end = config->len;

	while (end > 0 && text[end - 1] != '.')
		end--;
	end -= end > 0;
	size_t from = end;
	while (from > 0 && text[from - 1] != '.')
		from--;
	*type = text + from;
	*len = end - from;
}

/* 1 when the object comes from an object of another type; -1 on failure. */
static int moved_across_types(struct plan_judge *judge, struct sbx_error *err)
{
	const struct plan_change *change = &judge->change;
	const char *type;
	size_t len;

	if (plan_config_hash(judge->seed, change->previous_address.data, change->previous_address.len, &judge->scratch,
			     err) == 0)
		return -1;
	type_in_address(&judge->scratch, &type, &len);
	return len != change->type.len || memcmp(type, buf_str(&change->type), len) != 0;
}

/* Provisioners run with a create and with a destroy, never with an update. */
static int runs_provisioner(const struct plan_judge *judge, uint64_t config)
{
	const struct plan_actions *actions = &judge->change.actions;

	return (PLAN_HAS(actions, ACTION_CREATE) || PLAN_HAS(actions, ACTION_DELETE)) &&
	       hash_set_has(&judge->survey->provisioned, config);
}

static int judge_oddities(struct plan_judge *judge, uint64_t config, struct sbx_error *err)
{
	const struct plan_change *change = &judge->change;
	struct plan_finding *finding = &judge->finding;
	int across = 0;

	if (change->previous_address.len > 0) {
		if ((across = moved_across_types(judge, err)) < 0)
			return -1;
		plan_finding_signal(finding, PLAN_REVIEW, across ? "move_across_types" : "move");
	}
	if (plan_change_imports(change))
		plan_finding_signal(finding, PLAN_REVIEW, "import");
	if (!PLAN_ONLY(&change->actions, ACTION_DELETE) && plan_mask_exposed(change))
		plan_finding_signal(finding, PLAN_REVIEW, "sensitivity_dropped");
	if (runs_provisioner(judge, config))
		plan_finding_signal(finding, PLAN_REVIEW, "provisioner");
	if (PLAN_ONLY(&change->actions, ACTION_UPDATE) &&
	    plan_mask_unknown_argument(change, judge->survey, judge->seed, config))
		plan_finding_signal(finding, PLAN_REVIEW, "unknown_after_apply");
	return 0;
}

struct meaning {
	enum plan_verdict verdict;
	const char *code; /* NULL: nothing happens */
	enum plan_count count;
};

static struct meaning meaning_of(const struct plan_actions *actions)
{
	if (PLAN_HAS(actions, ACTION_FORGET))
		return (struct meaning){PLAN_DESTRUCTIVE, "forget", COUNT_FORGET};
	if (PLAN_HAS(actions, ACTION_DELETE) && PLAN_HAS(actions, ACTION_CREATE))
		return (struct meaning){PLAN_DESTRUCTIVE, "replace", COUNT_REPLACE};
	if (PLAN_HAS(actions, ACTION_DELETE))
		return (struct meaning){PLAN_DESTRUCTIVE, "delete", COUNT_DELETE};
	if (PLAN_ONLY(actions, ACTION_CREATE))
		return (struct meaning){PLAN_SAFE, "create", COUNT_CREATE};
	if (PLAN_ONLY(actions, ACTION_UPDATE))
		return (struct meaning){PLAN_SAFE, "update", COUNT_UPDATE};
	if (PLAN_ONLY(actions, ACTION_READ))
		return (struct meaning){PLAN_REVIEW, "read", COUNT_READ};
	if (PLAN_ONLY(actions, ACTION_NO_OP))
		return (struct meaning){PLAN_SAFE, NULL, COUNT_NO_OP};
	return (struct meaning){PLAN_REVIEW, "unusual_actions",
				PLAN_HAS(actions, ACTION_CREATE) ? COUNT_CREATE : COUNT_UPDATE};
}

/* A reason of the plan's own as one more word, when it looks like one and explains what is a finding already. */
static void add_reason(struct plan_finding *finding, const struct buf *reason)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";

	if (finding->verdict > PLAN_SAFE && reason->len > 0 && reason->len < PLAN_SIGNAL_SIZE &&
	    strspn(reason->data, letters) == reason->len)
		plan_finding_signal(finding, PLAN_SAFE, reason->data);
}

/* A step of a path: a name, or an index (its digits are followed by the next text, not by an end). */
static struct plan_place place_of(const struct plan_tree *paths, const struct plan_node *step)
{
	const char *text = plan_tree_text(paths, step);
	uint32_t index = 0;

	if (step->kind == PLAN_STRING)
		return (struct plan_place){.name = text, .len = step->len};
	for (uint32_t i = 0; i < step->len; i++) {
		if (text[i] < '0' || text[i] > '9' || index > UINT32_MAX / 10 - 1)
			return (struct plan_place){.index = UINT32_MAX};
		index = index * 10 + (uint32_t)(text[i] - '0');
	}
	return (struct plan_place){.index = index};
}

/* The paths that force a replacement; their kinds were checked when they were read. */
static int add_replace_paths(struct plan_judge *judge, struct sbx_error *err)
{
	const struct plan_tree *paths = &judge->change.replace_paths;
	const struct plan_node *all = plan_tree_root(paths), *path = plan_tree_first(paths, all);

	for (; path != NULL; path = plan_tree_behind(paths, all, path)) {
		struct plan_place places[PLAN_PLACES];
		unsigned count = 0;
		const struct plan_node *step = plan_tree_first(paths, path);
		for (; step != NULL && count < PLAN_PLACES; step = plan_tree_behind(paths, path, step))
			places[count++] = place_of(paths, step);
		/* No step: the object as a whole, which explains nothing. */
		if (count > 0 && plan_finding_cause(&judge->finding, &judge->change, places, count, err) == -2)
			return -1;
	}
	judge->finding.replace_count = judge->finding.cause_count;
	return 0;
}

static int action_for_rules(const struct plan_change *change, enum signal_action *action)
{
	const struct plan_actions *actions = &change->actions;
	int gone = PLAN_HAS(actions, ACTION_DELETE) || PLAN_HAS(actions, ACTION_FORGET);

	if (gone)
		*action = PLAN_HAS(actions, ACTION_CREATE) ? SIGNAL_ON_REPLACE : SIGNAL_ON_DELETE;
	else if (PLAN_HAS(actions, ACTION_CREATE))
		*action = SIGNAL_ON_CREATE;
	else if (PLAN_HAS(actions, ACTION_UPDATE))
		*action = SIGNAL_ON_UPDATE;
	else
		return 0;
	return strcmp(buf_str(&change->mode), "data") != 0;
}

/* Whose arguments source_of asks about. */
struct asked {
	const struct plan_judge *judge;
	uint64_t config;
};

static enum signal_source source_of(void *context, const struct plan_place *places, unsigned count)
{
	const struct asked *asked = context;
	const struct plan_judge *judge = asked->judge;

	return plan_mask_source(&judge->change, judge->survey, judge->seed, asked->config, places, count);
}

static int add_hit(void *context, const struct signal_hit *hit, struct sbx_error *err)
{
	struct plan_judge *judge = context;
	char may_be[PLAN_NOTE_SIZE];
	int cause = -1;

	if (hit->place_count > 0)
		cause = plan_finding_cause(&judge->finding, &judge->change, hit->places, hit->place_count, err);
	if (cause == -2)
		return -1;
	if (!hit->unknown) {
		plan_finding_signal(&judge->finding, hit->verdict, hit->signal);
		plan_finding_note(&judge->finding, hit->text, cause);
		return 0;
	}
	plan_finding_signal(&judge->finding, PLAN_REVIEW, hit->unread ? "not_readable" : "unknown_after_apply");
	snprintf(may_be, sizeof may_be, "may be %s: %s", hit->signal, hit->doubt);
	plan_finding_note(&judge->finding, may_be, cause);
	return 0;
}

static int match_rules(struct plan_judge *judge, uint64_t config, struct sbx_error *err)
{
	const struct plan_change *change = &judge->change;
	struct asked asked = {.judge = judge, .config = config};
	struct signal_subject subject = {
		.type = buf_str(&change->type),
		.type_len = change->type.len,
		.before = &change->before,
		.after = &change->after,
		.unknown = &change->unknown,
		.source = source_of,
		.context = &asked,
	};

	if (!action_for_rules(change, &subject.action))
		return 0;
	return signal_match(judge->matcher, &subject, add_hit, judge, err);
}

static int judge_data(struct plan_judge *judge, struct sbx_error *err)
{
	const struct plan_change *change = &judge->change;
	int holds = signal_matcher_holds_data(judge->matcher, buf_str(&change->type), change->type.len, err);

	if (holds < 0)
		return -1;
	judge->finding.holds_data = holds && strcmp(buf_str(&change->mode), "data") != 0;
	if (judge->finding.holds_data && PLAN_HAS(&change->actions, ACTION_DELETE))
		judge->report->data_destroyed++;
	return 0;
}

int plan_judge_change(struct plan_judge *judge, struct sbx_error *err)
{
	const struct plan_change *change = &judge->change;
	const struct meaning meaning = meaning_of(&change->actions);
	uint64_t config =
		plan_config_hash(judge->seed, buf_str(&change->address), change->address.len, &judge->scratch, err);

	if (config == 0 || keep_secrets(judge, err) < 0)
		return -1;
	judge->report->counts[meaning.count]++;
	if (meaning.verdict > PLAN_SAFE)
		plan_finding_signal(&judge->finding, meaning.verdict, meaning.code);
	if (add_replace_paths(judge, err) < 0 || match_rules(judge, config, err) < 0 ||
	    judge_oddities(judge, config, err) < 0)
		return -1;
	add_reason(&judge->finding, &change->reason);
	if (judge_data(judge, err) < 0)
		return -1;
	if (judge->finding.verdict > PLAN_SAFE)
		return add_finding(judge, err);
	plan_finding_clear(&judge->finding);
	plan_finding_init(&judge->finding);
	return meaning.code != NULL ? plan_report_add_safe(judge->report, change, err) : 0;
}

/* A plan says of an output only whether it was or is sensitive; whether it is declared so says the configuration. */
int plan_judge_output(struct plan_judge *judge, const char *name, size_t len, struct sbx_error *err)
{
	const struct plan_change *change = &judge->change;
	const struct plan_actions *actions = &change->actions;
	uint64_t hash = key_hash(judge->seed, PLAN_HASH_OUTPUT, name, len);
	int masked = plan_mask_any(&change->before_mask) || plan_mask_any(&change->after_mask);
	const char *code = NULL;
	auto_buf address = BUF_INIT(LIMIT_PLAN_ADDRESS);

	if (keep_secrets(judge, err) < 0)
		return -1;
	if (PLAN_HAS(actions, ACTION_DELETE) || PLAN_HAS(actions, ACTION_FORGET))
		code = "output_delete";
	else if (masked && !PLAN_ONLY(actions, ACTION_NO_OP) && !hash_set_has(&judge->survey->sensitive_outputs, hash))
		code = "sensitivity_dropped";
	if (code == NULL)
		return 0;
	plan_finding_signal(&judge->finding, PLAN_REVIEW, code);
	if (buf_add_str(&address, "output.", err) < 0 || buf_add(&address, name, len, err) < 0 ||
	    plan_finding_set(&judge->finding, address.data, address.len, change, err) < 0)
		return -1;
	return plan_report_add(judge->report, &judge->finding, err);
}
