/* The report as JSON. */
#include "plan_report.h"

#include <stdlib.h>
#include <string.h>

#include "hidden.h"
#include "json_out.h"
#include "plan_say.h"

enum {
	FINDINGS_BYTES = 384 << 10, /* all of them, so that they fit a call (LIMIT_CALL) beside the rest */
	FINDING_BYTES = 64 << 10,
	SAFE_BYTES = 64 << 10,
	DIFFERENCES_BYTES = 96 << 10,
	SAFE_ADDRESS = 512, /* a longer one is left out of this list: it is counted */
};

static const char *const count_names[PLAN_COUNTS] = {"create", "update", "replace", "delete",
						     "forget", "read",	 "noop"};

void plan_report_init(struct plan_report *report)
{
	*report = (struct plan_report){.safe = BUF_INIT(SAFE_BYTES)};
	plan_differences_init(&report->differences, LIMIT_DIFFERENCES);
	plan_secrets_init(&report->secrets);
}

void plan_report_clear(struct plan_report *report)
{
	for (size_t w = 0; w < PLAN_WEIGHTS; w++) {
		struct plan_findings *findings = &report->findings[w];
		for (unsigned i = 0; i < findings->kept; i++)
			plan_finding_clear(&findings->list[i]);
		free(findings->list);
		findings->list = NULL;
		findings->kept = 0;
	}
	buf_clear(&report->safe);
	plan_differences_clear(&report->differences);
	plan_secrets_clear(&report->secrets);
}

static enum plan_weight weight_of(const struct plan_finding *f)
{
	if (f->verdict == PLAN_DESTRUCTIVE)
		return f->holds_data && PLAN_HAS(&f->actions, ACTION_DELETE) ? WEIGHT_DATA : WEIGHT_DESTRUCTIVE;
	return f->signal_count > 0 && strcmp(f->signals[0], "drift") == 0 ? WEIGHT_DRIFT : WEIGHT_REVIEW;
}

int plan_report_add(struct plan_report *report, struct plan_finding *finding, struct sbx_error *err)
{
	struct plan_findings *findings = &report->findings[weight_of(finding)];
	unsigned room = findings->kept; /* grows by doubling at 8, 16, 32, … */

	findings->total++;
	if (findings->kept == LIMIT_FINDINGS) {
		plan_finding_clear(finding);
		plan_finding_init(finding);
		return 0;
	}
	if (room == 0 || (room >= 8 && (room & (room - 1)) == 0)) {
		size_t cap = room == 0 ? 8 : (size_t)room * 2;
		struct plan_finding *grown = realloc(findings->list, cap * sizeof *grown);
		if (grown == NULL)
			return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		findings->list = grown;
	}
	findings->list[findings->kept++] = *finding;
	plan_finding_init(finding);
	return 0;
}

/* Escaped, which leaves the value the same. */
static int put_escaped(struct buf *out, uint32_t c, struct sbx_error *err)
{
	if (c < 0x10000)
		return buf_addf(out, err, "\\u%04x", (unsigned)c);
	c -= 0x10000;
	return buf_addf(out, err, "\\u%04x\\u%04x", (unsigned)(0xd800 + (c >> 10)), (unsigned)(0xdc00 + (c & 0x3ff)));
}

/* A quoted string. */
static int put_string(struct buf *out, const char *text, size_t len, struct sbx_error *err)
{
	auto_buf quoted = BUF_INIT(FINDING_BYTES);
	size_t put = 0; /* so much of it */
	uint32_t c = 0;

	if (json_out_string(&quoted, text, len, err) < 0)
		return -1;
	for (size_t i = 0, n; i < quoted.len; i += n) {
		n = (unsigned char)quoted.data[i] < 0x80 ? 1 : json_out_utf8(quoted.data + i, quoted.len - i, &c);
		if (n == 1 || !hidden_character(c))
			continue;
		if (buf_add(out, quoted.data + put, i - put, err) < 0 || put_escaped(out, c, err) < 0)
			return -1;
		put = i + n;
	}
	return buf_add(out, quoted.data + put, quoted.len - put, err);
}

static int put_actions(struct buf *out, const struct plan_actions *actions, struct sbx_error *err)
{
	if (json_out_key(out, "actions", err) < 0)
		return -1;
	for (unsigned i = 0; i < actions->count; i++)
		if (buf_addf(out, err, "%s\"%s\"", i ? "," : "[",
			     plan_action_name((enum plan_action)actions->list[i])) < 0)
			return -1;
	return buf_add_str(out, actions->count > 0 ? "]" : "[]", err);
}

int plan_report_add_safe(struct plan_report *report, const struct plan_change *change, struct sbx_error *err)
{
	auto_buf entry = BUF_INIT(SAFE_BYTES);

	report->safe_total++;
	if (report->safe_kept == LIMIT_FINDINGS || change->address.len > SAFE_ADDRESS)
		return 0;
	if (buf_add_str(&entry, report->safe_kept > 0 ? ",{\"address\":" : "{\"address\":", err) < 0 ||
	    put_string(&entry, change->address.data, change->address.len, err) < 0 ||
	    put_actions(&entry, &change->actions, err) < 0 || buf_add(&entry, "}", 1, err) < 0)
		return -1;
	if (report->safe.len + entry.len > report->safe.max)
		return 0;
	report->safe_kept++;
	return buf_add(&report->safe, entry.data, entry.len, err);
}

enum plan_verdict plan_report_verdict(const struct plan_report *report)
{
	static const enum plan_verdict verdicts[PLAN_WEIGHTS] = {PLAN_REVIEW, PLAN_REVIEW, PLAN_DESTRUCTIVE,
								  PLAN_DESTRUCTIVE};

	for (int weight = PLAN_WEIGHTS - 1; weight >= 0; weight--)
		if (report->findings[weight].total > 0)
			return verdicts[weight];
	return PLAN_SAFE;
}

uint64_t plan_report_total(const struct plan_report *report)
{
	uint64_t total = 0;

	for (size_t i = 0; i < PLAN_WEIGHTS; i++)
		total += report->findings[i].total;
	return total;
}

static int put_text(struct buf *out, const char *key, const struct buf *text, struct sbx_error *err)
{
	if (text->len == 0)
		return 0;
	if (json_out_key(out, key, err) < 0)
		return -1;
	return put_string(out, text->data, text->len, err);
}

static int put_signals(struct buf *out, const struct plan_finding *f, struct sbx_error *err)
{
	if (json_out_key(out, "signals", err) < 0)
		return -1;
	for (unsigned i = 0; i < f->signal_count; i++)
		if (buf_add(out, i ? "," : "[", 1, err) < 0 ||
		    json_out_string(out, f->signals[i], strlen(f->signals[i]), err) < 0)
			return -1;
	return buf_add_str(out, f->signal_count > 0 ? "]" : "[]", err);
}

static int put_value(struct buf *out, const char *key, const struct plan_value *value,
		     const struct plan_secrets *secrets, struct sbx_error *err)
{
	auto_buf shown = BUF_INIT(FINDING_BYTES);

	if (value->how == PLAN_VALUE_ABSENT)
		return 0;
	if (plan_value_show(value, secrets, &shown, err) < 0)
		return -1;
	return put_text(out, key, &shown, err);
}

static int put_causes(struct buf *out, const struct plan_finding *f, const struct plan_secrets *secrets,
		      struct sbx_error *err)
{
	if (f->cause_count == 0)
		return 0;
	if (json_out_key(out, "because", err) < 0)
		return -1;
	for (unsigned i = 0; i < f->cause_count; i++)
		if (buf_add(out, i ? "," : "[", 1, err) < 0 ||
		    put_string(out, buf_str(&f->causes[i].path), f->causes[i].path.len, err) < 0)
			return -1;
	if (buf_add(out, "]", 1, err) < 0 || json_out_key(out, "values", err) < 0)
		return -1;
	for (unsigned i = 0; i < f->cause_count; i++)
		if (buf_add_str(out, i ? ",{" : "[{", err) < 0 || json_out_key(out, "path", err) < 0 ||
		    put_string(out, buf_str(&f->causes[i].path), f->causes[i].path.len, err) < 0 ||
		    put_value(out, "before", &f->causes[i].before, secrets, err) < 0 ||
		    put_value(out, "after", &f->causes[i].after, secrets, err) < 0 || buf_add(out, "}", 1, err) < 0)
			return -1;
	return buf_add(out, "]", 1, err);
}

static int put_finding(struct buf *out, const struct plan_finding *f, const struct plan_secrets *secrets,
		       struct sbx_error *err)
{
	auto_buf text = BUF_INIT(FINDING_BYTES);

	if (buf_add_str(out, "{\"address\":", err) < 0 ||
	    put_string(out, buf_str(&f->address), f->address.len, err) < 0 ||
	    put_text(out, "deposed", &f->deposed, err) < 0 ||
	    json_out_member(out, "verdict", plan_verdict_name(f->verdict), err) < 0 || put_signals(out, f, err) < 0)
		return -1;
	if ((f->actions.count > 0 && put_actions(out, &f->actions, err) < 0) || put_causes(out, f, secrets, err) < 0 ||
	    put_text(out, "reason", &f->reason, err) < 0 ||
	    put_text(out, "previous_address", &f->previous_address, err) < 0 ||
	    put_text(out, "type", &f->type, err) < 0 || put_text(out, "provider", &f->provider, err) < 0)
		return -1;
	if (f->holds_data && (json_out_key(out, "holds_data", err) < 0 || buf_add_str(out, "true", err) < 0))
		return -1;
	if (plan_say(f, secrets, &text, err) < 0 || put_text(out, "text", &text, err) < 0)
		return -1;
	return buf_add(out, "}", 1, err);
}

/* The strongest that fit. */
static int put_findings(struct buf *out, const struct plan_report *report, struct sbx_error *err)
{
	unsigned put = 0;
	size_t room = FINDINGS_BYTES;

	for (int weight = PLAN_WEIGHTS - 1; weight >= 0; weight--) {
		const struct plan_findings *findings = &report->findings[weight];
		for (unsigned i = 0; i < findings->kept && put < LIMIT_FINDINGS; i++, put++) {
			auto_buf finding = BUF_INIT(4 * FINDING_BYTES);
			if (put_finding(&finding, &findings->list[i], &report->secrets, err) < 0)
				return -1;
			if (finding.len + 1 > room)
				return 0;
			room -= finding.len + 1;
			if ((put > 0 && buf_add(out, ",", 1, err) < 0) ||
			    buf_add(out, finding.data, finding.len, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* The first that fit. */
static int put_differences(struct buf *out, const struct plan_report *report, struct sbx_error *err)
{
	const struct plan_differences *differences = &report->differences;
	size_t room = DIFFERENCES_BYTES;

	if (differences->total == 0)
		return 0;
	if (json_out_key(out, "differences", err) < 0 || buf_add(out, "[", 1, err) < 0)
		return -1;
	for (unsigned i = 0; i < differences->kept; i++) {
		auto_buf one = BUF_INIT(FINDING_BYTES);
		if (plan_difference_write(&differences->list[i], &report->secrets, &one, err) < 0)
			return -1;
		if (one.len + 1 > room)
			break;
		room -= one.len + 1;
		if ((i > 0 && buf_add(out, ",", 1, err) < 0) || buf_add(out, one.data, one.len, err) < 0)
			return -1;
	}
	if (buf_add(out, "]", 1, err) < 0)
		return -1;
	return json_out_member_int(out, "differences_total", (int64_t)differences->total, err);
}

static int put_head(struct buf *out, const struct plan_report *report, const struct plan_head *head,
		    struct sbx_error *err)
{
	if (buf_add_str(out, "{\"sbx_plan\":1", err) < 0 || json_out_member(out, "format", head->format, err) < 0 ||
	    json_out_member(out, "version", head->version, err) < 0 ||
	    json_out_member(out, "terraform_version", head->terraform_version, err) < 0 ||
	    json_out_member(out, "verdict", plan_verdict_name(plan_report_verdict(report)), err) < 0 ||
	    json_out_key(out, "errored", err) < 0 || buf_add_str(out, head->errored ? "true" : "false", err) < 0 ||
	    json_out_key(out, "counts", err) < 0 || buf_add(out, "{", 1, err) < 0)
		return -1;
	for (size_t i = 0; i < PLAN_COUNTS; i++)
		if (json_out_member_int(out, count_names[i], (int64_t)report->counts[i], err) < 0)
			return -1;
	return buf_add(out, "}", 1, err);
}

int plan_report_write(const struct plan_report *report, const struct plan_head *head, struct buf *out,
		      struct sbx_error *err)
{
	if (put_head(out, report, head, err) < 0 ||
	    json_out_member_int(out, "data_destroyed", (int64_t)report->data_destroyed, err) < 0 ||
	    json_out_member_int(out, "total", (int64_t)plan_report_total(report), err) < 0 ||
	    json_out_key(out, "findings", err) < 0 || buf_add(out, "[", 1, err) < 0 ||
	    put_findings(out, report, err) < 0 || buf_add(out, "]", 1, err) < 0)
		return -1;
	if (json_out_key(out, "safe", err) < 0 ||
	    buf_addf(out, err, "[%s]", buf_str(&report->safe)) < 0 ||
	    json_out_member_int(out, "safe_total", (int64_t)report->safe_total, err) < 0 ||
	    put_differences(out, report, err) < 0 ||
	    json_out_key(out, "digest", err) < 0 || buf_add(out, "{", 1, err) < 0 ||
	    json_out_member(out, "artefact", report->artefact, err) < 0 ||
	    json_out_member(out, "effect", report->effect, err) < 0)
		return -1;
	return buf_add_str(out, "}}\n", err);
}
