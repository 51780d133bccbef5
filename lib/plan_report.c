/* Findings and counts as JSON. */
#include "plan_report.h"

#include <string.h>

#include "digest.h"
#include "json_out.h"
#include "limit.h"

enum {
	TEXT_MAX = 512, /* bytes of an address or reason that are shown; the longest real addresses have some 300 */
	TEXT_CUT = 384, /* what is left of a longer one, before its digest */
	PATHS_MAX = 8,	/* attribute paths that are shown: one is enough to force a replacement */
	FINDINGS_BYTES = 384 << 10, /* all of them, so that they fit a call (LIMIT_CALL) beside the rest */
	REPORT_BYTES = FINDINGS_BYTES + (64 << 10),
};

static const char *const count_names[PLAN_COUNTS] = {"create", "update", "delete", "replace",
						     "forget", "read",	 "no_op"};

void plan_report_init(struct plan_report *report)
{
	*report = (struct plan_report){.kept = {0}};
	for (size_t i = 0; i < PLAN_VERDICTS; i++)
		report->findings[i] = (struct buf)BUF_INIT(FINDINGS_BYTES);
}

void plan_report_clear(struct plan_report *report)
{
	for (size_t i = 0; i < PLAN_VERDICTS; i++)
		buf_clear(&report->findings[i]);
}

/* A quoted string; one that is too long is cut and its digest put behind it, so that two of them never look the same.
 */
static int put_text(struct buf *out, const char *text, size_t len, struct sbx_error *err)
{
	char digest[DIGEST_HEX_SIZE];
	size_t keep = 0;

	if (len <= TEXT_MAX)
		return json_out_string(out, text, len, err);
	for (size_t step; keep < TEXT_CUT; keep += step) {
		step = json_out_utf8(text + keep, len - keep, NULL);
		step += step == 0;
	}
	digest_sha256_hex(text, len, digest);
	auto_buf cut = BUF_INIT(2 * TEXT_MAX);
	if (buf_add(&cut, text, keep, err) < 0 || buf_addf(&cut, err, "\xe2\x80\xa6 (cut, sha256:%s)", digest) < 0)
		return -1;
	return json_out_string(out, cut.data, cut.len, err);
}

static int put_member(struct buf *out, const char *key, const struct buf *text, struct sbx_error *err)
{
	if (text->len == 0)
		return 0;
	if (json_out_key(out, key, err) < 0)
		return -1;
	return put_text(out, text->data, text->len, err);
}

static int put_change(struct buf *out, const struct plan_change *change, struct sbx_error *err)
{
	if (put_member(out, "deposed", &change->deposed, err) < 0 || json_out_key(out, "actions", err) < 0)
		return -1;
	for (unsigned i = 0; i < change->action_count; i++)
		if (buf_addf(out, err, "%s\"%s\"", i ? "," : "[",
			     plan_action_name((enum plan_action)change->actions[i])) < 0)
			return -1;
	if (buf_add_str(out, change->action_count ? "]" : "[]", err) < 0)
		return -1;
	if (change->because.len > 0 &&
	    (json_out_key(out, "because", err) < 0 || buf_addf(out, err, "[%s]", buf_str(&change->because)) < 0))
		return -1;
	if (put_member(out, "reason", &change->reason, err) < 0 ||
	    put_member(out, "previous_address", &change->previous_address, err) < 0 ||
	    put_member(out, "type", &change->type, err) < 0)
		return -1;
	return put_member(out, "provider", &change->provider, err);
}

static int put_finding(struct buf *out, enum plan_verdict verdict, const char *code, const char *address, size_t len,
		       const struct plan_change *change, struct sbx_error *err)
{
	if (buf_add_str(out, "{\"address\":", err) < 0 || put_text(out, address, len, err) < 0 ||
	    json_out_member(out, "verdict", plan_verdict_name(verdict), err) < 0 ||
	    json_out_member(out, "code", code, err) < 0)
		return -1;
	if (change != NULL && put_change(out, change, err) < 0)
		return -1;
	return buf_add(out, "}", 1, err);
}

int plan_report_add(struct plan_report *report, enum plan_verdict verdict, const char *code, const char *address,
		    size_t len, const struct plan_change *change, struct sbx_error *err)
{
	auto_buf finding = BUF_INIT(FINDINGS_BYTES);
	struct buf *list = &report->findings[verdict];

	report->total[verdict]++;
	if (report->kept[verdict] == LIMIT_FINDINGS || report->kept[verdict] < report->total[verdict] - 1)
		return 0;
	if (put_finding(&finding, verdict, code, address, len, change, err) < 0)
		return -1;
	if (list->len + finding.len > list->max)
		return 0;
	if (buf_add(list, finding.data, finding.len, err) < 0)
		return -1;
	report->ends[verdict][report->kept[verdict]++] = list->len;
	return 0;
}

/* The strongest that fit. */
static int put_findings(struct buf *out, const struct plan_report *report, struct sbx_error *err)
{
	unsigned put = 0;
	size_t room = FINDINGS_BYTES;

	for (int verdict = PLAN_VERDICTS - 1; verdict >= 0; verdict--) {
		size_t from = 0;
		for (unsigned i = 0; i < report->kept[verdict] && put < LIMIT_FINDINGS; i++, put++) {
			size_t len = report->ends[verdict][i] - from;
			if (len + 1 > room)
				return 0;
			room -= len + 1;
			if ((put > 0 && buf_add(out, ",", 1, err) < 0) ||
			    buf_add(out, report->findings[verdict].data + from, len, err) < 0)
				return -1;
			from += len;
		}
	}
	return 0;
}

static enum plan_verdict overall(const struct plan_report *report)
{
	for (int verdict = PLAN_VERDICTS - 1; verdict > 0; verdict--)
		if (report->total[verdict] > 0)
			return (enum plan_verdict)verdict;
	return PLAN_SAFE;
}

int plan_report_write(const struct plan_report *report, const struct plan_survey *survey, struct buf *out,
		      struct sbx_error *err)
{
	uint64_t total = 0;

	for (size_t i = 0; i < PLAN_VERDICTS; i++)
		total += report->total[i];
	if (buf_add_str(out, "{\"sbx_plan\":1", err) < 0 ||
	    json_out_member(out, "format_version", survey->format_version, err) < 0 ||
	    json_out_member(out, "terraform_version", survey->terraform_version, err) < 0 ||
	    json_out_member(out, "verdict", plan_verdict_name(overall(report)), err) < 0 ||
	    json_out_key(out, "errored", err) < 0 || buf_addf(out, err, "%s", survey->errored ? "true" : "false") < 0 ||
	    json_out_key(out, "findings", err) < 0 || buf_add(out, "[", 1, err) < 0 ||
	    put_findings(out, report, err) < 0 || buf_add(out, "]", 1, err) < 0 ||
	    json_out_member_int(out, "total", (int64_t)total, err) < 0 || json_out_key(out, "counts", err) < 0 ||
	    buf_add(out, "{", 1, err) < 0)
		return -1;
	for (size_t i = 0; i < PLAN_COUNTS; i++)
		if (json_out_member_int(out, count_names[i], (int64_t)report->counts[i], err) < 0)
			return -1;
	return buf_add_str(out, "}}\n", err);
}

static int is_identifier(const char *text, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0' || strchr(letters, text[i]) == NULL)
			return 0;
	return len > 0 && !(text[0] >= '0' && text[0] <= '9') && text[0] != '-';
}

int plan_report_path_step(struct buf *path, const char *text, size_t len, int index, struct sbx_error *err)
{
	if (index)
		return buf_addf(path, err, "[%s]", text);
	if (is_identifier(text, len))
		return buf_addf(path, err, "%s%s", path->len ? "." : "", text);
	if (buf_add(path, "[", 1, err) < 0 || json_out_string(path, text, len, err) < 0)
		return -1;
	return buf_add(path, "]", 1, err);
}

int plan_report_path(struct buf *because, unsigned count, const char *path, size_t len, struct sbx_error *err)
{
	if (count >= PATHS_MAX)
		return 0;
	if (count > 0 && buf_add(because, ",", 1, err) < 0)
		return -1;
	return put_text(because, path, len, err);
}
