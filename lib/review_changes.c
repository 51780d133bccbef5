/* Findings and changes, in words. */
#include "review_changes.h"

#include <string.h>

/* With these the text of an ordinary plan fits one screen. */
enum { FIRST_FINDINGS = 5, FIRST_SAFE = 5, FIRST_DIFFERENCES = 8 };

static void put_finding(struct writer *w, jv finding)
{
	struct finding_sink sink = writer_sink(w);
	const char *rule = finding_rule_text(finding);

	writer_put(w, "  ");
	finding_say(&sink, finding);
	if (rule != NULL) {
		writer_put(w, "\n    in words: ");
		sink.quote(sink.to, rule, strlen(rule), FINDING_SENTENCE_MAX);
	}
	writer_put(w, "\n");
}

static void put_safe(struct writer *w, jv change)
{
	struct finding_sink sink = writer_sink(w);

	writer_put(w, "  ");
	finding_say_safe(&sink, change);
	writer_put(w, "\n");
}

static void put_difference(struct writer *w, jv difference)
{
	struct finding_sink sink = writer_sink(w);

	writer_put(w, "  ");
	finding_say_difference(&sink, difference);
	writer_put(w, "\n");
}

static void put_elements(struct writer *w, jv list, int from, int until, void (*put)(struct writer *, jv))
{
	for (int i = from; i < until; i++) {
		auto_jv element = json_at(list, i);
		put(w, element);
	}
}

static int at_most(int count, int max)
{
	return count < max ? count : max;
}

/* HEADING and how many there are, the first of LIST, and where the others stand. */
static void put_first(struct writer *w, const char *heading, int64_t total, jv list, int max,
		      void (*put)(struct writer *, jv))
{
	int listed = json_length(list), shown = at_most(listed, max);

	writer_put(w, heading);
	writer_number(w, total);
	writer_put(w, "\n");
	put_elements(w, list, 0, shown, put);
	if (listed > shown) {
		writer_put(w, "  and ");
		writer_number(w, listed - shown);
		writer_put(w, " more, listed below\n");
	}
	if (total > listed) {
		writer_put(w, "  and ");
		writer_number(w, total - listed);
		writer_put(w, listed > shown ? " that are not listed\n" : " more that are not listed\n");
	}
}

static int64_t total_of(jv report, const char *key)
{
	int64_t total = 0;

	json_int(report, key, &total);
	return total;
}

/* What is lost first, then why. */
void review_put_changes(struct writer *w, jv report)
{
	auto_jv counts = json_object(report, "counts"), findings = json_array(report, "findings"),
		safe = json_array(report, "safe"), differences = json_array(report, "differences");
	struct finding_sink sink = writer_sink(w);
	int64_t destroyed = total_of(report, "data_destroyed");

	if (destroyed > 0) {
		writer_put(w, "\nData is lost: ");
		finding_say_data(&sink, destroyed);
	}
	writer_put(w, "\nThe plan's changes: ");
	finding_say_counts(&sink, counts);
	writer_put(w, "\n");
	put_first(w, "Findings: ", total_of(report, "findings_total"), findings, FIRST_FINDINGS, put_finding);
	put_first(w, "Changes without a finding: ", total_of(report, "safe_total"), safe, FIRST_SAFE, put_safe);
	if (total_of(report, "differences_total") > 0)
		put_first(w, "Values that become others: ", total_of(report, "differences_total"), differences,
			  FIRST_DIFFERENCES, put_difference);
}

static int has_signal(jv finding, const char *const *signals)
{
	auto_jv words = json_array(finding, "signals");

	for (int i = 0, n = json_length(words); i < n; i++) {
		auto_jv word = json_at(words, i);
		for (const char *const *signal = signals; *signal != NULL; signal++)
			if (json_text(word) != NULL && strcmp(json_text(word), *signal) == 0)
				return 1;
	}
	return 0;
}

static void put_number_of(struct writer *w, const char *words, int64_t number)
{
	if (number == 0)
		return;
	writer_put(w, words);
	writer_number(w, number);
	writer_put(w, "\n");
}

void review_put_uninspected(struct writer *w, jv report)
{
	static const char *const hidden[] = {"unknown_after_apply", "not_readable", NULL};
	static const char *const partial[] = {"errored_plan", "incomplete_plan", "unlisted_objects", "deferred",
						"hidden_program", NULL};
	auto_jv findings = json_array(report, "findings"), differences = json_array(report, "differences");
	int64_t total = total_of(report, "findings_total"), values = total_of(report, "differences_total");
	int listed = json_length(findings), unseen = 0, missing = 0;

	for (int i = 0; i < listed; i++) {
		auto_jv finding = json_at(findings, i);
		unseen += has_signal(finding, hidden);
		missing += has_signal(finding, partial);
	}
	put_number_of(w, "  findings that stand nowhere in this text: ", total > listed ? total - listed : 0);
	put_number_of(w, "  values that become others and stand nowhere in this text: ",
		      values > json_length(differences) ? values - json_length(differences) : 0);
	put_number_of(w, "  findings about values that are hidden, or known after the apply: ", unseen);
	put_number_of(w, "  findings that say that the plan is not all that will be done: ", missing);
}

void review_put_more(struct writer *w, jv report)
{
	auto_jv findings = json_array(report, "findings"), safe = json_array(report, "safe"),
		differences = json_array(report, "differences");
	int count = json_length(findings), changes = json_length(safe), values = json_length(differences);

	if (count > FIRST_FINDINGS) {
		writer_put(w, "\nMore findings\n");
		put_elements(w, findings, FIRST_FINDINGS, count, put_finding);
	}
	if (changes > FIRST_SAFE) {
		writer_put(w, "\nMore changes without a finding\n");
		put_elements(w, safe, FIRST_SAFE, changes, put_safe);
	}
	if (values > FIRST_DIFFERENCES) {
		writer_put(w, "\nMore values that become others\n");
		put_elements(w, differences, FIRST_DIFFERENCES, values, put_difference);
	}
}
