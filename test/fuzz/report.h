/* What the fuzz targets of sbx-plan share: the rules of the build, and that a report is strict JSON and a text that any
 * terminal is safe with. */
#ifndef FUZZ_REPORT_H
#define FUZZ_REPORT_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "json_lex.h"
#include "limit.h"
#include "plan_report.h"
#include "signal_table.h"

static void check_json(const struct plan_report *report, const struct plan_head *head)
{
	static const struct json_lex_limits limits = {
		.bytes = LIMIT_CALL, .depth = 8, .string = 1 << 16, .integers = JSON_INTEGERS_ONLY};
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf text = BUF_INIT(LIMIT_CALL);

	if (plan_report_write(report, head, &text, &err) < 0 || json_lex_check(text.data, text.len, &limits, &err) < 0)
		abort();
}

static void check_text(const struct plan_report *report, const struct plan_head *head)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf text = BUF_INIT(LIMIT_CALL);

	if (plan_report_text(report, head, &text, &err) < 0)
		abort();
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] != '\n' && (text.data[i] < ' ' || text.data[i] > '~'))
			abort();
}

/* The rules, which are there: without them half of the reader is not tried. */
static const struct signal_table *fuzz_rules(void)
{
	static struct signal_table table;
	struct sbx_error err = SBX_ERROR_INIT;

	if (table.block == NULL) {
		auto_fd fd = open(FUZZ_SIGNALS, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || signal_table_map(fd, &table, &err) < 0) {
			fprintf(stderr, "cannot read %s\n", FUZZ_SIGNALS);
			abort();
		}
	}
	return &table;
}

#endif
