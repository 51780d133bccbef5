/* Sentences about a finding. */
#include "plan_say.h"

#include <string.h>

/* What a word of ours means; a sentence of its own. */
static const struct {
	const char *signal, *verb, *sentence;
} words[] = {
	{"move", "MOVE", "The object gets another address."},
	{"move_across_types", "MOVE", "The object becomes one of another type."},
	{"import", "IMPORT", "An existing object becomes managed."},
	{"cascade_unknown", NULL, "What goes with it was not given."},
	{"unknown_kind", NULL, "No rule knows this kind of object."},
	{"not_previewed", NULL, "It has no uid of the server's, so that it may be no preview of what will be."},
	{"versions_differ", NULL, "The two are of different versions of the API, so that not all of them can be compared."},
	{"data_elsewhere", NULL, "Its data stay, or are counted with another object."},
	{"drift", "DRIFT", NULL}, /* has its own */
	{"deferred", "DEFERRED", "What happens to it is decided by a later plan."},
	{"read", "READ", "It is read during the apply only, so what depends on it is not known yet."},
	{"action_invocation", "ACTION", "An action of the provider runs; what it does is not in the plan."},
	{"provisioner", NULL, "A provisioner runs: commands of the configuration that the plan does not show in full."},
	{"sensitivity_dropped", NULL, "A value that was sensitive will be shown."},
	{"unusual_actions", NULL, "No release of Terraform or OpenTofu plans these actions together."},
	{"provider_program", "PROVIDER", "What a provider starts runs with the credentials of the apply."},
	{"check_failed", "CHECK", "A check of the configuration fails."},
	{"output_delete", "OUTPUT", "The output goes; who reads it gets nothing."},
	{"errored_plan", "PLAN", "Planning failed: the plan is not whole and can never be applied."},
	{"incomplete_plan", "PLAN", "The plan leaves something out (-target, or changes that are put off)."},
	{"unlisted_objects", "PLAN", "Objects of the state are not in the plan (-target or -refresh-only)."},
};

/* Why, in the plan's own word. */
static const struct {
	const char *reason, *because;
} reasons[] = {
	{"replace_because_cannot_update", "it cannot be changed in place"},
	{"replace_because_tainted", "it is marked as tainted: making it failed half-way, or somebody said so"},
	{"replace_by_request", "somebody asked for it (-replace)"},
	{"replace_by_triggers", "an object that it names in replace_triggered_by changes"},
	{"delete_because_no_resource_config", "it is not in the configuration any more"},
	{"delete_because_wrong_repetition", "count or for_each came or went"},
	{"delete_because_count_index", "count is smaller now"},
	{"delete_because_each_key", "for_each has its key no more"},
	{"delete_because_no_module", "its module is not in the configuration any more"},
	{"delete_because_no_move_target", "it was to move to an address that is not in the configuration"},
	{"delete_because_enabled_false", "it is switched off (enabled = false)"},
	{"read_because_config_unknown", "its arguments are known after apply only"},
	{"read_because_dependency_pending", "something that it depends on changes first"},
	{"read_because_check_nested", "it belongs to a check"},
	{"forgot_because_lifecycle_destroy_in_state", "the state says that it must not be destroyed"},
	{"forgot_because_lifecycle_destroy_in_config", "the configuration says that it must not be destroyed"},
};

const char *plan_say_verb(const struct plan_finding *f)
{
	const struct plan_actions *actions = &f->actions;

	for (size_t i = 0; f->signal_count > 0 && i < ARRAY_LEN(words); i++)
		if (words[i].verb != NULL && strcmp(f->signals[0], words[i].signal) == 0)
			return words[i].verb;
	if (PLAN_HAS(actions, ACTION_FORGET))
		return "FORGET";
	if (PLAN_HAS(actions, ACTION_DELETE))
		return PLAN_HAS(actions, ACTION_CREATE) ? "REPLACE" : "DESTROY";
	if (PLAN_HAS(actions, ACTION_CREATE))
		return "CREATE";
	if (PLAN_HAS(actions, ACTION_UPDATE))
		return "UPDATE";
	return PLAN_HAS(actions, ACTION_READ) ? "READ" : "KEEP";
}

/* BEFORE -> AFTER; a setting has only one value. */
static int say_values(const struct plan_cause *cause, int is_change, const struct plan_secrets *secrets,
		      struct buf *out, struct sbx_error *err)
{
	if (is_change && (plan_value_show(&cause->before, secrets, out, err) < 0 || buf_add_str(out, " -> ", err) < 0))
		return -1;
	return plan_value_show(&cause->after, secrets, out, err);
}

static int say_cause(const struct plan_finding *f, unsigned i, const struct plan_secrets *secrets, struct buf *out,
		     struct sbx_error *err)
{
	const struct plan_cause *cause = &f->causes[i];

	if (plan_value_quote(out, buf_str(&cause->path), cause->path.len, err) < 0 ||
	    buf_add_str(out, " (", err) < 0 || say_values(cause, f->actions.count > 0, secrets, out, err) < 0)
		return -1;
	return buf_add_str(out, ")", err);
}

/* "Because …, " and 1; or nothing and 0: the sentence has yet to begin. */
static int say_because(const struct plan_finding *f, const struct plan_secrets *secrets, struct buf *out,
		       struct sbx_error *err)
{
	for (unsigned i = 0; i < f->replace_count; i++)
		if (buf_add_str(out, i == 0 ? "Because " : i + 1 == f->replace_count ? " and " : ", ", err) < 0 ||
		    say_cause(f, i, secrets, out, err) < 0)
			return -1;
	if (f->replace_count > 0)
		return buf_add_str(out, f->replace_count == 1 ? " changes, " : " change, ", err) < 0 ? -1 : 1;
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (strcmp(buf_str(&f->reason), reasons[i].reason) == 0)
			return buf_addf(out, err, "Because %s, ", reasons[i].because) < 0 ? -1 : 1;
	return 0;
}

/* What the actions do to the object, as the end of a sentence; NULL: nothing that needs words. */
static const char *consequence(const struct plan_actions *actions)
{
	int makes = PLAN_HAS(actions, ACTION_CREATE);

	if (PLAN_HAS(actions, ACTION_FORGET))
		return makes ? "the present object is left behind unmanaged and another one is made"
			     : "the object stays and is no longer managed";
	if (!PLAN_HAS(actions, ACTION_DELETE))
		return NULL;
	if (!makes)
		return "the object is destroyed";
	return actions->list[0] == ACTION_CREATE ? "another object is made, then the present one is destroyed"
						 : "the object is destroyed, then another one is made";
}

/* One more sentence. */
static int say(struct buf *out, const char *sentence, struct sbx_error *err)
{
	if (out->len > 0 && buf_add(out, " ", 1, err) < 0)
		return -1;
	return buf_add_str(out, sentence, err);
}

static int say_actions(const struct plan_finding *f, const struct plan_secrets *secrets, struct buf *out,
		       struct sbx_error *err)
{
	const char *what = consequence(&f->actions);
	int begun;

	if (f->signal_count > 0 && strcmp(f->signals[0], "drift") == 0)
		return buf_add_str(out,
				   PLAN_HAS(&f->actions, ACTION_DELETE) ? "The object was deleted outside of Terraform."
									: "The object changed outside of Terraform.",
				   err);
	if (what == NULL)
		return 0;
	if ((begun = say_because(f, secrets, out, err)) < 0)
		return -1;
	/* Every consequence begins with a letter of ASCII. */
	char first = begun ? what[0] : (char)(what[0] - 'a' + 'A');
	if (buf_add(out, &first, 1, err) < 0 || buf_add_str(out, what + 1, err) < 0 || buf_add(out, ".", 1, err) < 0)
		return -1;
	if (f->deposed.len > 0 && say(out, "It is what a replacement left behind.", err) < 0)
		return -1;
	if (f->holds_data && PLAN_HAS(&f->actions, ACTION_DELETE))
		return say(out, "It holds data, which is lost with it.", err);
	return 0;
}

static int say_unknown(const struct plan_finding *f, struct buf *out, struct sbx_error *err)
{
	for (unsigned i = 0; i < f->note_count; i++)
		if (f->notes[i].cause >= 0 && f->causes[f->notes[i].cause].after.how == PLAN_VALUE_UNKNOWN)
			return 0; /* the note says it */
	return say(out, "An argument of it is known after apply only.", err);
}

static int say_signals(const struct plan_finding *f, struct buf *out, struct sbx_error *err)
{
	for (unsigned s = 0; s < f->signal_count; s++) {
		if (strcmp(f->signals[s], "unknown_after_apply") == 0 && say_unknown(f, out, err) < 0)
			return -1;
		for (size_t i = 0; i < ARRAY_LEN(words); i++)
			if (words[i].sentence != NULL && strcmp(f->signals[s], words[i].signal) == 0 &&
			    say(out, words[i].sentence, err) < 0)
				return -1;
	}
	if (f->previous_address.len == 0)
		return 0;
	if (say(out, "It was ", err) < 0 ||
	    plan_value_quote(out, buf_str(&f->previous_address), f->previous_address.len, err) < 0)
		return -1;
	return buf_add(out, ".", 1, err);
}

/* What the rules say; a value that was shown is not shown again. */
static int say_notes(const struct plan_finding *f, const struct plan_secrets *secrets, struct buf *out,
		     struct sbx_error *err)
{
	unsigned shown = (1u << f->replace_count) - 1;

	for (unsigned i = 0; i < f->note_count; i++) {
		const struct plan_note *note = &f->notes[i];
		unsigned bit = note->cause >= 0 ? 1u << note->cause : 0;
		if (say(out, "It ", err) < 0 || buf_add_str(out, note->text, err) < 0)
			return -1;
		if ((bit & ~shown) != 0 && (buf_add_str(out, ": ", err) < 0 ||
					    say_cause(f, (unsigned)note->cause, secrets, out, err) < 0))
			return -1;
		if (buf_add(out, ".", 1, err) < 0)
			return -1;
		shown |= bit;
	}
	return 0;
}

int plan_say(const struct plan_finding *f, const struct plan_secrets *secrets, struct buf *out, struct sbx_error *err)
{
	return say_actions(f, secrets, out, err) < 0 || say_notes(f, secrets, out, err) < 0 ||
			       say_signals(f, out, err) < 0
		       ? -1
		       : 0;
}
