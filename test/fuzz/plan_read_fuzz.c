/* The plan reader: never a crash, always a refusal or a report that is strict JSON; and the word delete or forget among
 * the actions of a change is never read as less than destructive. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "plan_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_lex_limits limits = {
		.bytes = LIMIT_CALL, .depth = 8, .string = 1 << 16, .integers = JSON_INTEGERS_ONLY};
	struct sbx_error err = SBX_ERROR_INIT;
	struct plan_survey survey = {.errored = 0};
	struct plan_report report;
	auto_buf text = BUF_INIT(LIMIT_CALL);
	auto_fd fd = io_sealed_memfd("fuzz", data, size, &err);

	plan_report_init(&report);
	if (plan_read(fd, &survey, &report, &err) == 0) {
		if (plan_report_write(&report, &survey, &text, &err) < 0 ||
		    json_lex_check(text.data, text.len, &limits, &err) < 0)
			abort();
		uint64_t gone =
			report.counts[COUNT_DELETE] + report.counts[COUNT_REPLACE] + report.counts[COUNT_FORGET];
		if (report.total[PLAN_DESTRUCTIVE] != gone + (survey.errored != 0))
			abort();
	} else if (err.class != SBX_BAD_REQUEST || err.message[0] == '\0') {
		abort();
	}
	plan_report_clear(&report);
	plan_survey_clear(&survey);
	return 0;
}
