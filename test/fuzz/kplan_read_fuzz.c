/* The reader of changes to a cluster with the rules of the build: never a crash, always a refusal or a report that is
 * strict JSON and a text that any terminal is safe with; what is deleted is never less than destructive, and without
 * the rules nothing that changes is safe. */
#include <stdint.h>
#include <string.h>

#include "io.h"
#include "kplan_read.h"
#include "report.h"

static void check_report(const struct plan_report *report, const struct signal_table *table)
{
	static const struct plan_head head = {.format = "kubernetes", .version = KPLAN_VERSION};
	const uint64_t *counts = report->counts;
	const struct plan_findings *findings = report->findings;
	uint64_t gone = counts[COUNT_DELETE] + counts[COUNT_REPLACE],
		 changes = gone + counts[COUNT_CREATE] + counts[COUNT_UPDATE];

	if (findings[WEIGHT_DESTRUCTIVE].total + findings[WEIGHT_DATA].total < gone ||
	    (gone > 0 && plan_report_verdict(report) != PLAN_DESTRUCTIVE))
		abort();
	if (plan_report_total(report) + report->safe_total != changes || changes + counts[COUNT_NO_OP] == 0 ||
	    report->data_destroyed > gone || (table->block == NULL && report->safe_total > 0))
		abort();
	if (strlen(report->artefact) != 64 || strlen(report->effect) != 64)
		abort();
	check_json(report, &head);
	check_text(report, &head);
}

static void judge(const uint8_t *data, size_t size, const struct signal_table *table)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct plan_report report;
	auto_fd fd = io_sealed_memfd("fuzz", data, size, &err);

	plan_report_init(&report);
	if (kplan_read(fd, table, &report, &err) == 0)
		check_report(&report, table);
	else if (err.class != SBX_BAD_REQUEST || err.message[0] == '\0' || strcmp(err.code, "plan_changed") == 0)
		abort();
	plan_report_clear(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct signal_table nothing = {.block = NULL};

	judge(data, size, fuzz_rules());
	judge(data, size, &nothing);
	return 0;
}
