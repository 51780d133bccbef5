/* The report for people. */
#include "plan_report.h"
#include "plan_say.h"

enum {
	TEXT_BYTES = 768 << 10, /* of findings: what a person can be asked to read, and more */
	DIFFERENCES_BYTES = 128 << 10,
};

static int put_counts(struct buf *out, const struct plan_report *report, struct sbx_error *err)
{
	static const struct {
		enum plan_count count;
		const char *words;
	} counts[] = {
		{COUNT_CREATE, "to create"},   {COUNT_UPDATE, "to update"}, {COUNT_REPLACE, "to replace"},
		{COUNT_DELETE, "to destroy"},  {COUNT_FORGET, "to forget"}, {COUNT_READ, "to read"},
		{COUNT_NO_OP, "left as it is"},
	};

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (buf_addf(out, err, "%s%llu %s", i ? ", " : "",
			     (unsigned long long)report->counts[counts[i].count], counts[i].words) < 0)
			return -1;
	return buf_add_str(out, "\n", err);
}

static int put_finding(struct buf *out, const struct plan_finding *f, const struct plan_secrets *secrets,
		       struct sbx_error *err)
{
	auto_buf words = BUF_INIT(TEXT_BYTES);

	if (plan_say(f, secrets, &words, err) < 0 || buf_addf(out, err, "\n%s ", plan_say_verb(f)) < 0 ||
	    plan_value_quote(out, buf_str(&f->address), f->address.len, err) < 0)
		return -1;
	if (f->deposed.len > 0 && (buf_add_str(out, " deposed object ", err) < 0 ||
				   plan_value_quote(out, buf_str(&f->deposed), f->deposed.len, err) < 0))
		return -1;
	if (buf_addf(out, err, "  [%s]\n    %s\n    signals:", plan_verdict_name(f->verdict), buf_str(&words)) < 0)
		return -1;
	for (unsigned i = 0; i < f->signal_count; i++)
		if (buf_addf(out, err, " %s", f->signals[i]) < 0)
			return -1;
	return buf_add_str(out, "\n", err);
}

/* The strongest that fit. */
static int put_findings(struct buf *out, const struct plan_report *report, struct sbx_error *err)
{
	uint64_t total = plan_report_total(report), put = 0;
	size_t room = TEXT_BYTES;

	for (int weight = PLAN_WEIGHTS - 1; weight >= 0; weight--) {
		const struct plan_findings *findings = &report->findings[weight];
		for (unsigned i = 0; i < findings->kept && put < LIMIT_FINDINGS; i++, put++) {
			auto_buf finding = BUF_INIT(TEXT_BYTES);
			if (put_finding(&finding, &findings->list[i], &report->secrets, err) < 0)
				return -1;
			if (finding.len > room)
				break;
			room -= finding.len;
			if (buf_add(out, finding.data, finding.len, err) < 0)
				return -1;
		}
	}
	if (total == put)
		return 0;
	return buf_addf(out, err, "\nand %llu more findings that are not shown\n", (unsigned long long)(total - put));
}

static int put_difference(struct buf *out, const struct plan_difference *d, const struct plan_secrets *secrets,
			  struct sbx_error *err)
{
	if (buf_add_str(out, "  ", err) < 0 || plan_difference_say(d, secrets, out, err) < 0 ||
	    buf_add_str(out, " in ", err) < 0 || plan_value_quote(out, buf_str(&d->address), d->address.len, err) < 0)
		return -1;
	return buf_add(out, "\n", 1, err);
}

/* The first that fit. */
static int put_differences(struct buf *out, const struct plan_report *report, struct sbx_error *err)
{
	const struct plan_differences *differences = &report->differences;
	unsigned put = 0;

	if (differences->total > 0 && buf_add_str(out, "\nvalues that become others:\n", err) < 0)
		return -1;
	for (size_t room = DIFFERENCES_BYTES; put < differences->kept; put++) {
		auto_buf one = BUF_INIT(DIFFERENCES_BYTES);
		if (put_difference(&one, &differences->list[put], &report->secrets, err) < 0)
			return -1;
		if (one.len > room)
			break;
		room -= one.len;
		if (buf_add(out, one.data, one.len, err) < 0)
			return -1;
	}
	return differences->total == put ? 0
					 : buf_addf(out, err, "  and %llu more that are not shown\n",
						    (unsigned long long)(differences->total - put));
}

int plan_report_text(const struct plan_report *report, const struct plan_head *head, struct buf *out,
		     struct sbx_error *err)
{
	unsigned long long data = report->data_destroyed, safe = report->safe_total;

	if (buf_addf(out, err, "verdict: %s\n", plan_verdict_name(plan_report_verdict(report))) < 0 ||
	    (head->errored && buf_add_str(out, "the plan is not whole: planning failed\n", err) < 0) ||
	    put_counts(out, report, err) < 0)
		return -1;
	if (data > 0 && buf_addf(out, err, "%llu object%s that hold%s data %s destroyed\n", data, data == 1 ? "" : "s",
				 data == 1 ? "s" : "", data == 1 ? "is" : "are") < 0)
		return -1;
	if (put_findings(out, report, err) < 0)
		return -1;
	if (safe > 0 && buf_addf(out, err, "\n%llu creation%s or update%s without a finding\n", safe,
				 safe == 1 ? "" : "s", safe == 1 ? "" : "s") < 0)
		return -1;
	if (put_differences(out, report, err) < 0)
		return -1;
	return buf_addf(out, err, "\nplan   sha256:%s\neffect sha256:%s\n", report->artefact, report->effect);
}
