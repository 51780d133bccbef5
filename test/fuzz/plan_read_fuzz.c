/* The plan reader with the rules of the build: never a crash, always a refusal or a report that is
 * strict JSON and a text that any terminal is safe with; and the word delete or forget among the
 * actions of a change is never read as less than destructive. */
#include <stdint.h>
#include <string.h>

#include "io.h"
#include "plan_read.h"
#include "report.h"

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
	const struct plan_head head = plan_read_head(survey);
	check_json(report, &head);
	check_text(report, &head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct plan_survey survey = {.errored = 0};
	struct plan_report report;
	auto_fd fd = io_sealed_memfd("fuzz", data, size, &err);

	plan_report_init(&report);
	if (plan_read(fd, fuzz_rules(), &survey, &report, &err) == 0)
		check_report(&report, &survey);
	else if (err.class != SBX_BAD_REQUEST || err.message[0] == '\0' ||
		 strcmp(err.code, "plan_changed") == 0)
		abort();
	plan_report_clear(&report);
	plan_survey_clear(&survey);
	return 0;
}
