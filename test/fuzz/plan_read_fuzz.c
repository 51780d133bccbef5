/* The plan reader with the rules of the build: never a crash, always a refusal or a report that is
 * strict JSON and a text that any terminal is safe with; and the word delete or forget among the
 * actions of a change is never read as less than destructive. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "json_lex.h"
#include "plan_read.h"

static void check_json(const struct plan_report *report, const struct plan_survey *survey)
{
	static const struct json_lex_limits limits = {
		.bytes = LIMIT_CALL, .depth = 8, .string = 1 << 16, .integers = JSON_INTEGERS_ONLY};
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf text = BUF_INIT(LIMIT_CALL);

	if (plan_report_write(report, survey, &text, &err) < 0 ||
	    json_lex_check(text.data, text.len, &limits, &err) < 0)
		abort();
}

static void check_text(const struct plan_report *report, const struct plan_survey *survey)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf text = BUF_INIT(LIMIT_CALL);

	if (plan_report_text(report, survey, &text, &err) < 0)
		abort();
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] != '\n' && (text.data[i] < ' ' || text.data[i] > '~'))
			abort();
}

static void check_report(const struct plan_report *report, const struct plan_survey *survey)
{
	const uint64_t *counts = report->counts;
	const struct plan_findings *findings = report->findings;
	uint64_t gone = counts[COUNT_DELETE] + counts[COUNT_REPLACE] + counts[COUNT_FORGET],
		 worst = gone + (survey->errored != 0);

	if (findings[WEIGHT_DESTRUCTIVE].total + findings[WEIGHT_DATA].total < worst ||
	    (worst > 0 && plan_report_verdict(report) != PLAN_DESTRUCTIVE))
		abort();
	if (strlen(report->artefact) != 64 || strlen(report->effect) != 64)
		abort();
	check_json(report, survey);
	check_text(report, survey);
}

/* The rules, which are there: without them half of the reader is not tried. */
static const struct signal_table *rules(void)
{
	static struct signal_table table;
	struct sbx_error err = SBX_ERROR_INIT;

	if (table.block == NULL) {
		auto_fd fd = open(FUZZ_SIGNALS, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || signal_table_map(fd, &table, &err) < 0) {
			fprintf(stderr, "plan_read_fuzz: cannot read %s\n", FUZZ_SIGNALS);
			abort();
		}
	}
	return &table;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct plan_survey survey = {.errored = 0};
	struct plan_report report;
	auto_fd fd = io_sealed_memfd("fuzz", data, size, &err);

	plan_report_init(&report);
	if (plan_read(fd, rules(), &survey, &report, &err) == 0)
		check_report(&report, &survey);
	else if (err.class != SBX_BAD_REQUEST || err.message[0] == '\0' ||
		 strcmp(err.code, "plan_changed") == 0)
		abort();
	plan_report_clear(&report);
	plan_survey_clear(&survey);
	return 0;
}
