/* The words for findings. */
#include "finding.h"

#include <stdio.h>
#include <string.h>

#include "finding_words.h"

/* Attribute paths that are named for one change; a person reads no more, and the number of the
 * others is said. */
static const int because_max = 8;

enum verb_rank {
	VERB_OF_ACTIONS, /* the actions of the plan say it, or it is one signal among others */
	VERB_FIRST, /* not what an apply does to the object, whatever actions stand beside it */
};

static const struct verb {
	const char *signal, *name, *consequence;
	enum verb_rank rank;
} verbs[] = {
	{"replace", "REPLACE", "the present object is destroyed and another one is made",
	 VERB_OF_ACTIONS},
	{"delete", "DESTROY", "the object is destroyed", VERB_OF_ACTIONS},
	{"forget", "FORGET", "the object stays and is no longer managed", VERB_OF_ACTIONS},
	{"create", "CREATE", "a new object is made", VERB_OF_ACTIONS},
	{"update", "UPDATE", "the object is changed in place", VERB_OF_ACTIONS},
	{"read", "READ", "data is read during the apply", VERB_OF_ACTIONS},
	{"move", "MOVE", "the object gets another address", VERB_OF_ACTIONS},
	{"move_across_types", "MOVE", "the object becomes one of another type", VERB_OF_ACTIONS},
	{"import", "IMPORT", "an object that exists becomes managed", VERB_OF_ACTIONS},
	{"provisioner", "PROVISION", "programs of its configuration run", VERB_OF_ACTIONS},
	{"sensitivity_dropped", "REVEAL", "a value is no longer marked as sensitive",
	 VERB_OF_ACTIONS},
	{"drift", "DRIFT", "the object changed, or was deleted, outside Terraform", VERB_FIRST},
	{"deferred", "DEFERRED", "its change waits for a later plan", VERB_FIRST},
	{"action_invocation", "ACTION", "an action of a provider runs", VERB_FIRST},
	{"provider_program", "PROVIDER",
	 "a program that the configuration names runs, with the credentials of the apply", VERB_FIRST},
	{"hidden_program", "PROGRAM",
	 "the configuration may start a program of which the plan says nothing", VERB_FIRST},
	{"check_failed", "CHECK", "a check of the configuration failed", VERB_FIRST},
	{"output_delete", "OUTPUT", "an output goes away", VERB_FIRST},
	{"errored_plan", "PLAN", "planning failed; the plan is not whole", VERB_FIRST},
	{"incomplete_plan", "PLAN", "the plan does not hold everything that is to be done",
	 VERB_FIRST},
	{"unlisted_objects", "PLAN", "there are objects that the plan does not mention",
	 VERB_FIRST},
	{"state_changed", "STATE",
	 "a step changed the state that it was given for reading; the change was thrown away",
	 VERB_FIRST},
};
static const struct verb unusual = {"", "UNUSUAL", "not understood", VERB_OF_ACTIONS};
static const struct verb create_and_forget = {
	"forget", "FORGET",
	"the present object stays and is no longer managed; another one is made", VERB_OF_ACTIONS};

static const struct verb *find_verb(const char *signal)
{
	for (size_t i = 0; signal != NULL && i < ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i].signal, signal) == 0)
			return &verbs[i];
	return NULL;
}

static int holds(jv list, const char *word)
{
	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv element = json_at(list, i);
		const char *text = json_text(element);
		if (text != NULL && strcmp(text, word) == 0)
			return 1;
	}
	return 0;
}

/* What the actions come to; NULL when they do nothing, or nothing that is known. */
static const struct verb *verb_of_actions(jv actions)
{
	auto_jv first = json_at(actions, 0);

	if (holds(actions, "delete"))
		return find_verb(holds(actions, "create") ? "replace" : "delete");
	if (holds(actions, "forget"))
		return holds(actions, "create") ? &create_and_forget : find_verb("forget");
	const struct verb *verb = json_length(actions) == 1 ? find_verb(json_text(first)) : NULL;
	return verb != NULL && verb->rank == VERB_OF_ACTIONS ? verb : NULL;
}

static const struct verb *choose_verb(jv finding)
{
	auto_jv words = json_array(finding, "signals"), actions = json_array(finding, "actions"),
		first = json_at(words, 0);
	const struct verb *of_signal = find_verb(json_text(first)),
			  *of_actions = verb_of_actions(actions);

	if (of_signal != NULL && (of_signal->rank == VERB_FIRST || of_actions == NULL))
		return of_signal;
	return of_actions != NULL ? of_actions : &unusual;
}

static void say(const struct finding_sink *sink, const char *words)
{
	sink->say(sink->to, words);
}

static void say_number(const struct finding_sink *sink, int64_t number)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)number);
	say(sink, text);
}

/* A string in quotes; anything else is no datum of sbx-plan. */
static void quote_value(const struct finding_sink *sink, jv value, size_t max)
{
	if (jv_get_kind(value) == JV_KIND_STRING)
		sink->quote(sink->to, jv_string_value(value),
			    (size_t)jv_string_length_bytes(jv_copy(value)), max);
	else
		say(sink, "none");
}

static void quote_member(const struct finding_sink *sink, jv object, const char *key)
{
	auto_jv value = json_get(object, key);

	quote_value(sink, value, FINDING_DATUM_MAX);
}

/* A number, a truth, or one of the marks that sbx-plan puts for a value: a string that reads
 * the same comes with quotes of its own. */
static int is_plain(const char *shown)
{
	static const char *const plain[] = {"(sensitive)", "(known after apply)", "(computed)",
					    "true",	   "false",		  "null"};

	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (strcmp(plain[i], shown) == 0)
			return 1;
	return shown[0] != '\0' && strlen(shown) <= 40 &&
	       shown[strspn(shown, "0123456789+-.eE")] == '\0';
}

/* The string that TEXT, up to LEN bytes, is the JSON form of; invalid when it is none. */
static jv read_string(const char *text, size_t len)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_free char *copy = strndup(text, len);
	jv content = jv_invalid();

	if (copy == NULL || copy[0] != '"' ||
	    json_parse(copy, len, LIMIT_CALL, &content, &ignored) < 0)
		return jv_invalid();
	return content;
}

/* A value as sbx-plan displays it: JSON, with dots behind it when it was cut. */
static void say_value(const struct finding_sink *sink, jv shown)
{
	static const char cut[] = "...", from[] = "from [";
	const char *text = json_text(shown);

	if (text == NULL) {
		say(sink, "none");
		return;
	}
	size_t len = strlen(text), tail = sizeof cut - 1;
	int is_cut = len > tail && strcmp(text + len - tail, cut) == 0;
	auto_jv content = read_string(text, is_cut ? len - tail : len);
	if (is_plain(text)) {
		say(sink, text);
	} else if (jv_is_valid(content)) {
		quote_value(sink, content, FINDING_VALUE_MAX);
		say(sink, is_cut ? cut : "");
	} else if (strncmp(text, from, sizeof from - 1) == 0) {
		quote_value(sink, shown, FINDING_VALUE_MAX); /* no value: what it refers to */
	} else {
		say(sink, "json ");
		quote_value(sink, shown, FINDING_VALUE_MAX);
	}
}

/* What is shown of a value: ("1" -> "2"), ("2") where nothing is changed, ("1") where it is not this that changes. */
enum shown { SHOWN_BOTH, SHOWN_AFTER, SHOWN_BEFORE };

/* The value at PATH, when the finding has it. */
static void say_change(const struct finding_sink *sink, jv values, const char *path, enum shown shown)
{
	for (int i = 0, n = json_length(values); i < n; i++) {
		auto_jv value = json_at(values, i), before = json_get(value, "before"),
			after = json_get(value, "after");
		const char *of = json_str(value, "path");
		if (path == NULL || of == NULL || strcmp(of, path) != 0)
			continue;
		say(sink, " (");
		if (shown != SHOWN_AFTER)
			say_value(sink, before);
		say(sink, shown == SHOWN_BOTH ? " -> " : "");
		if (shown != SHOWN_BEFORE)
			say_value(sink, after);
		say(sink, ")");
		return;
	}
}

static void say_cause(const struct finding_sink *sink, jv finding)
{
	auto_jv because = json_array(finding, "because"), values = json_array(finding, "values");
	auto_jv words = json_array(finding, "signals");
	int count = json_length(because), is_change = json_has(finding, "actions") && !holds(words, "cascade");
	enum shown shown = is_change ? SHOWN_BOTH : json_has(finding, "actions") ? SHOWN_BEFORE : SHOWN_AFTER;
	const char *reason = json_str(finding, "reason");
	const char *means = finding_reason_means(reason);

	for (int i = 0; i < count && i < because_max; i++) {
		auto_jv path = json_at(because, i);
		say(sink, i == 0 ? " because " : ", ");
		quote_value(sink, path, FINDING_DATUM_MAX);
		say_change(sink, values, json_text(path), shown);
	}
	if (count > because_max) {
		say(sink, " and ");
		say_number(sink, count - because_max);
		say(sink, " more");
	}
	say(sink, count == 0 || !is_change ? "" : count == 1 ? " changes" : " change");
	if (reason == NULL)
		return;
	say(sink, count > 0 ? "; " : " because ");
	if (means != NULL) {
		say(sink, means);
	} else {
		say(sink, "reason ");
		quote_member(sink, finding, "reason");
	}
}

/* What the verb has not said already. */
static void say_signals(const struct finding_sink *sink, jv finding, const struct verb *verb)
{
	auto_jv words = json_array(finding, "signals"), actions = json_array(finding, "actions");

	for (int i = 0, n = json_length(words); i < n; i++) {
		auto_jv word = json_at(words, i);
		const char *text = json_text(word),
			   *means = finding_signal_means(text);
		const struct verb *other = find_verb(text);
		if (text == NULL || strcmp(text, verb->signal) == 0 ||
		    finding_reason_means(text) != NULL)
			continue;
		say(sink, "; ");
		if (means != NULL || other != NULL) {
			say(sink, means != NULL ? means : other->consequence);
		} else {
			say(sink, "signal ");
			quote_value(sink, word, FINDING_DATUM_MAX);
		}
	}
	if (json_bool(finding, "holds_data") == 1 && holds(actions, "delete"))
		say(sink, "; the data in it is lost");
}

static void say_actions(const struct finding_sink *sink, jv finding)
{
	auto_jv actions = json_array(finding, "actions");

	for (int i = 0, n = json_length(actions); i < n && i < because_max; i++) {
		auto_jv action = json_at(actions, i);
		say(sink, i == 0 ? "; actions " : ", ");
		quote_value(sink, action, FINDING_DATUM_MAX);
	}
}

static void say_address(const struct finding_sink *sink, jv finding)
{
	const char *address = json_str(finding, "address");

	if (address != NULL && strcmp(address, "*") == 0)
		say(sink, "the whole plan");
	else
		quote_member(sink, finding, "address");
	if (json_has(finding, "deposed")) {
		say(sink, " (deposed object ");
		quote_member(sink, finding, "deposed");
		say(sink, ")");
	}
	if (json_has(finding, "previous_address")) {
		say(sink, " (until now ");
		quote_member(sink, finding, "previous_address");
		say(sink, ")");
	}
}

void finding_say(const struct finding_sink *sink, jv finding)
{
	const struct verb *verb = choose_verb(finding);
	const char *verdict = json_str(finding, "verdict");

	say(sink, verb->name);
	say(sink, " ");
	say_address(sink, finding);
	say_cause(sink, finding);
	say(sink, ": ");
	say(sink, verb->consequence);
	say_signals(sink, finding, verb);
	if (verb == &unusual)
		say_actions(sink, finding);
	say(sink,
	    verdict != NULL && strcmp(verdict, "review") == 0 ? " [review]" : " [destructive]");
}

const char *finding_rule_text(jv finding)
{
	auto_jv words = json_array(finding, "signals");

	for (int i = 0, n = json_length(words); i < n; i++) {
		auto_jv word = json_at(words, i);
		const char *text = json_text(word);
		if (find_verb(text) == NULL &&
		    finding_reason_means(text) == NULL)
			return json_str(finding, "text");
	}
	return NULL;
}

void finding_say_safe(const struct finding_sink *sink, jv change)
{
	auto_jv actions = json_array(change, "actions");
	const struct verb *verb = verb_of_actions(actions);

	say(sink, verb != NULL ? verb->name : unusual.name);
	say(sink, " ");
	quote_member(sink, change, "address");
}

/* In front of NUMBER, if there is one. */
static void say_numbered(const struct finding_sink *sink, jv object, const char *key, const char *words)
{
	int64_t number;

	if (json_int(object, key, &number) < 0)
		return;
	say(sink, words);
	say_number(sink, number);
}

/* The value, and the digest of what it was cut from. */
static void say_side(const struct finding_sink *sink, jv difference, const char *value, const char *digest)
{
	auto_jv shown = json_get(difference, value);

	say_value(sink, shown);
	if (!json_has(difference, digest))
		return;
	say(sink, " (sha256 ");
	quote_member(sink, difference, digest);
	say(sink, ")");
}

void finding_say_difference(const struct finding_sink *sink, jv difference)
{
	static const char hidden[] = "(sensitive)";
	const char *before = json_str(difference, "before"), *after = json_str(difference, "after");
	int are_hidden = before != NULL && after != NULL && strcmp(before, hidden) == 0 && strcmp(after, hidden) == 0;

	say(sink, "value ");
	quote_member(sink, difference, "path");
	say(sink, " in ");
	quote_member(sink, difference, "address");
	say_numbered(sink, difference, "line", ", line ");
	say_numbered(sink, difference, "from", ", from byte ");
	say(sink, " (");
	say_side(sink, difference, "before", "before_sha256");
	say(sink, are_hidden ? " -> another " : " -> ");
	say_side(sink, difference, "after", "after_sha256");
	say(sink, ")");
}

void finding_say_data(const struct finding_sink *sink, int64_t objects)
{
	say_number(sink, objects);
	say(sink, objects == 1 ? " object that holds data is destroyed"
			       : " objects that hold data are destroyed");
}

void finding_say_counts(const struct finding_sink *sink, jv counts)
{
	static const struct {
		const char *word, *means;
	} words[] = {
		{"create", "created"},	 {"update", "updated"},	  {"replace", "replaced"},
		{"delete", "destroyed"}, {"forget", "forgotten"}, {"read", "read"},
	};
	int said = 0;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		int64_t number;
		if (json_int(counts, words[i].word, &number) < 0 || number <= 0)
			continue;
		say(sink, said++ > 0 ? ", " : "");
		say_number(sink, number);
		say(sink, " ");
		say(sink, words[i].means);
	}
	say(sink, said == 0 ? "none" : "");
}
