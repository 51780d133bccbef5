/* Words. */
#include "plan_format.h"

#include <string.h>

static const char *const names[] = {
	[PLAN_FORMAT_NONE] = "", [PLAN_FORMAT_TERRAFORM] = "terraform", [PLAN_FORMAT_KUBERNETES] = "kubernetes"};

enum plan_format plan_format_parse(const char *word)
{
	for (size_t i = PLAN_FORMAT_TERRAFORM; word != NULL && i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], word) == 0)
			return (enum plan_format)i;
	return PLAN_FORMAT_NONE;
}

const char *plan_format_name(enum plan_format format)
{
	return names[format];
}

enum plan_format plan_format_of(jv seal)
{
	const char *word = json_str(seal, "format");

	if (jv_get_kind(seal) != JV_KIND_OBJECT)
		return PLAN_FORMAT_NONE;
	return word == NULL ? PLAN_FORMAT_TERRAFORM : plan_format_parse(word);
}

enum plan_format plan_format_of_run(jv run)
{
	auto_jv steps = json_array(run, "steps");

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i);
		const char *word = json_str(step, "analyse");
		if (word != NULL)
			return plan_format_parse(word);
	}
	return PLAN_FORMAT_NONE;
}
