/* The second pass: verdicts from changes, drift, outputs, checks and actions. */
#include "plan_read.h"

#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "limit.h"
#include "plan_config.h"

/* One value: a generated document or an encoded archive may be large, and nothing longer than this is looked at in one
 * piece. */
static const uint64_t string_max = (uint64_t)64 << 20;
static const size_t address_max = 1 << 20;

#define HAS(change, action) (((change)->action_bits & PLAN_ACTION_BIT(action)) != 0)
#define ONLY(change, action) ((change)->action_bits == PLAN_ACTION_BIT(action))

struct second_pass {
	struct plan_scan s;
	const struct plan_survey *survey;
	struct plan_report *report;
	struct plan_change change;
	struct buf scratch;
};

static int add(struct second_pass *pass, enum plan_verdict verdict, const char *code, struct sbx_error *err)
{
	const struct plan_change *change = &pass->change;

	return plan_report_add(pass->report, verdict, code, buf_str(&change->address), change->address.len, change,
			       err);
}

/* What concerns the whole plan. */
static int add_whole(struct second_pass *pass, enum plan_verdict verdict, const char *code, struct sbx_error *err)
{
	return plan_report_add(pass->report, verdict, code, "*", 1, NULL, err);
}

/* The resource type in an address: the last component but one, before the name ("module.a[\"x.y\"].aws_vpc.b[0]" is
 * "aws_vpc"). */
static void type_in_address(const struct buf *config, const char **type, size_t *len)
{
	const char *text = buf_str(config);
	size_t end = config->len;

	while (end > 0 && text[end - 1] != '.')
		end--;
	end -= end > 0;
	size_t from = end;
	while (from > 0 && text[from - 1] != '.')
		from--;
	*type = text + from;
	*len = end - from;
}

/* 1 when the object comes from an object of another type; -1 on failure. */
static int moved_across_types(struct second_pass *pass, struct sbx_error *err)
{
	const struct plan_change *change = &pass->change;
	const char *type;
	size_t len;

	if (plan_config_hash(pass->s.seed, change->previous_address.data, change->previous_address.len, &pass->scratch,
			     err) == 0)
		return -1;
	type_in_address(&pass->scratch, &type, &len);
	return len != change->type.len || memcmp(type, buf_str(&change->type), len) != 0;
}

/* Provisioners run with a create and with a destroy, never with an update. */
static int runs_provisioner(const struct second_pass *pass, uint64_t config)
{
	return (HAS(&pass->change, ACTION_CREATE) || HAS(&pass->change, ACTION_DELETE)) &&
	       plan_set_has(&pass->survey->provisioned, config);
}

/* What is odd about a change, whatever its actions; *ODD counts. */
static int judge_oddities(struct second_pass *pass, unsigned *odd, struct sbx_error *err)
{
	const struct plan_change *change = &pass->change;
	const char *found[5];
	uint64_t config =
		plan_config_hash(pass->s.seed, buf_str(&change->address), change->address.len, &pass->scratch, err);
	int across = 0, exposed = 0;

	*odd = 0;
	if (config == 0)
		return -1;
	if (change->previous_address.len > 0 && (across = moved_across_types(pass, err)) < 0)
		return -1;
	if (!ONLY(change, ACTION_DELETE) && (exposed = plan_masks_exposed(&change->masks, err)) < 0)
		return -1;
	if (change->previous_address.len > 0)
		found[(*odd)++] = across ? "move_across_types" : "move";
	if (change->importing)
		found[(*odd)++] = "import";
	if (exposed)
		found[(*odd)++] = "sensitivity_dropped";
	if (runs_provisioner(pass, config))
		found[(*odd)++] = "provisioner";
	if (ONLY(change, ACTION_UPDATE) &&
	    plan_masks_unknown_argument(&change->masks, pass->survey, pass->s.seed, config))
		found[(*odd)++] = "unknown_after_apply";
	for (unsigned i = 0; i < *odd; i++)
		if (add(pass, PLAN_REVIEW, found[i], err) < 0)
			return -1;
	return 0;
}

struct meaning {
	enum plan_verdict verdict;
	const char *code; /* NULL: no finding */
	enum plan_count count;
};

/* What the actions mean. Any delete or forget is destructive, whatever stands beside it: new combinations stay
 * dangerous. */
static struct meaning meaning_of(const struct plan_change *change)
{
	if (HAS(change, ACTION_FORGET))
		return (struct meaning){PLAN_DESTRUCTIVE, "forget", COUNT_FORGET};
	if (HAS(change, ACTION_DELETE) && HAS(change, ACTION_CREATE))
		return (struct meaning){PLAN_DESTRUCTIVE, "replace", COUNT_REPLACE};
	if (HAS(change, ACTION_DELETE))
		return (struct meaning){PLAN_DESTRUCTIVE, "delete", COUNT_DELETE};
	if (ONLY(change, ACTION_CREATE))
		return (struct meaning){PLAN_SAFE, "create", COUNT_CREATE};
	if (ONLY(change, ACTION_UPDATE))
		return (struct meaning){PLAN_SAFE, "update", COUNT_UPDATE};
	if (ONLY(change, ACTION_READ))
		return (struct meaning){PLAN_REVIEW, "read", COUNT_READ};
	if (ONLY(change, ACTION_NO_OP))
		return (struct meaning){PLAN_SAFE, NULL, COUNT_NO_OP};
	return (struct meaning){PLAN_REVIEW, "unusual_actions",
				HAS(change, ACTION_CREATE) ? COUNT_CREATE : COUNT_UPDATE};
}

static int judge_change(struct second_pass *pass, struct sbx_error *err)
{
	unsigned odd = 0;

	if (plan_change_read(&pass->s, &pass->change, err) < 0)
		return -1;
	const struct meaning meaning = meaning_of(&pass->change);
	pass->report->counts[meaning.count]++;
	/* The strongest stands first for its address; what is safe gives way to what is odd. */
	if (meaning.verdict != PLAN_SAFE && add(pass, meaning.verdict, meaning.code, err) < 0)
		return -1;
	if (judge_oddities(pass, &odd, err) < 0)
		return -1;
	if (meaning.verdict == PLAN_SAFE && meaning.code != NULL && odd == 0)
		return add(pass, PLAN_SAFE, meaning.code, err);
	return 0;
}

/* What changed outside of Terraform has happened already: nothing that the plan does, but it was planned against it. */
static int judge_drift(struct second_pass *pass, struct sbx_error *err)
{
	if (plan_change_read(&pass->s, &pass->change, err) < 0)
		return -1;
	return add(pass, PLAN_REVIEW, "drift", err);
}

/* A wrapper {reason, MEMBER: {…}}; its { was read. JUDGE reads the inner object. */
static int unwrap(struct second_pass *pass, const char *member, int (*judge)(struct second_pass *, struct sbx_error *),
		  struct sbx_error *err)
{
	struct plan_scan *s = &pass->s;
	int key, found = 0;

	while ((key = plan_key(s, err)) == 1) {
		if (!plan_is(s, member)) {
			if (plan_skip(s, err) < 0)
				return -1;
			continue;
		}
		found = 1;
		if (plan_expect(s, JSON_OBJECT_OPEN, "a deferred change or action that is no object", err) < 0 ||
		    judge(pass, err) < 0)
			return -1;
	}
	if (key == 0 && !found)
		return plan_refuse(s, "plan_malformed", "a deferred entry that holds nothing", err);
	return key;
}

static int judge_deferred_inner(struct second_pass *pass, struct sbx_error *err)
{
	if (plan_change_read(&pass->s, &pass->change, err) < 0)
		return -1;
	return add(pass, PLAN_REVIEW, "deferred", err);
}

static int judge_deferred(struct second_pass *pass, struct sbx_error *err)
{
	return unwrap(pass, "resource_change", judge_deferred_inner, err);
}

/* The text member NAME of an object whose { was read, into OUT; the rest is passed over. */
static int find_text(struct plan_scan *s, const char *name, struct buf *out, struct sbx_error *err)
{
	int key;

	while ((key = plan_key(s, err)) == 1)
		if ((plan_is(s, name) ? plan_string(s, out, "an address that is no string", err) : plan_skip(s, err)) <
		    0)
			return -1;
	return key;
}

static int judge_action(struct second_pass *pass, struct sbx_error *err)
{
	auto_buf address = BUF_INIT(address_max);

	if (find_text(&pass->s, "address", &address, err) < 0)
		return -1;
	if (address.len == 0)
		return plan_refuse(&pass->s, "plan_malformed", "an action without an address", err);
	return plan_report_add(pass->report, PLAN_REVIEW, "action_invocation", address.data, address.len, NULL, err);
}

static int judge_deferred_action(struct second_pass *pass, struct sbx_error *err)
{
	return unwrap(pass, "action_invocation", judge_action, err);
}

/* One check; its { was read. "fail" and "error" do not stop an apply. In an errored plan they are the error itself. */
static int judge_check(struct second_pass *pass, struct sbx_error *err)
{
	auto_buf address = BUF_INIT(address_max);
	struct plan_scan *s = &pass->s;
	int key, failed = 0, result;

	while ((key = plan_key(s, err)) == 1) {
		if (plan_is(s, "address")) {
			result = plan_expect(s, JSON_OBJECT_OPEN, "the address of a check that is no object", err) < 0
					 ? -1
					 : find_text(s, "to_display", &address, err);
		} else if (plan_is(s, "status")) {
			result = plan_expect(s, JSON_STRING, "the status of a check that is no string", err);
			failed = plan_is(s, "fail") || plan_is(s, "error");
		} else {
			result = plan_skip(s, err);
		}
		if (result < 0)
			return -1;
	}
	if (key < 0 || !failed || pass->survey->errored)
		return key;
	if (address.len == 0)
		return plan_refuse(s, "plan_malformed", "a check without an address", err);
	return plan_report_add(pass->report, PLAN_REVIEW, "check_failed", address.data, address.len, NULL, err);
}

/* Outputs; right behind the key. A plan says of an output only whether it was or is sensitive; whether it is declared
 * so says the configuration. */
static int judge_outputs(struct second_pass *pass, struct sbx_error *err)
{
	auto_buf address = BUF_INIT(address_max);
	struct plan_scan *s = &pass->s;
	struct plan_change *change = &pass->change;
	int key;

	if (plan_expect(s, JSON_OBJECT_OPEN, "output changes that are no object", err) < 0)
		return -1;
	while ((key = plan_key(s, err)) == 1) {
		const char *code = NULL;
		uint64_t name = plan_hash(s, PLAN_HASH_OUTPUT);
		buf_reset(&address);
		if (buf_add_str(&address, "output.", err) < 0 || buf_add(&address, s->text, s->len, err) < 0 ||
		    plan_expect(s, JSON_OBJECT_OPEN, "an output change that is no object", err) < 0 ||
		    plan_change_read_inner(s, change, err) < 0)
			return -1;
		int masked = change->masks.before.count > 0 || change->masks.after_mask.count > 0;
		if (HAS(change, ACTION_DELETE) || HAS(change, ACTION_FORGET))
			code = "output_delete";
		else if (masked && !ONLY(change, ACTION_NO_OP) && !plan_set_has(&pass->survey->sensitive_outputs, name))
			code = "sensitivity_dropped";
		if (code != NULL &&
		    plan_report_add(pass->report, PLAN_REVIEW, code, address.data, address.len, change, err) < 0)
			return -1;
	}
	return key;
}

typedef int judge_fn(struct second_pass *pass, struct sbx_error *err);

static int each_element(struct second_pass *pass, judge_fn *judge, struct sbx_error *err)
{
	struct plan_scan *s = &pass->s;
	int element;

	if (plan_expect(s, JSON_ARRAY_OPEN, "a list that is no array", err) < 0)
		return -1;
	while ((element = plan_element(s, err)) == 1) {
		if (s->token != JSON_OBJECT_OPEN)
			return plan_refuse(s, "plan_kind", "an entry that is no object", err);
		if (judge(pass, err) < 0)
			return -1;
	}
	return element;
}

static int judge_document(struct second_pass *pass, struct sbx_error *err)
{
	static const struct {
		const char *name;
		judge_fn *judge;
	} lists[] = {
		{"resource_changes", judge_change},
		{"resource_drift", judge_drift},
		{"deferred_changes", judge_deferred},
		{"action_invocations", judge_action},
		{"checks", judge_check},
		{"deferred_action_invocations", judge_deferred_action},
	};
	struct plan_scan *s = &pass->s;
	int key;

	if (plan_expect(s, JSON_OBJECT_OPEN, "a plan that is no object", err) < 0)
		return -1;
	while ((key = plan_key(s, err)) == 1) {
		judge_fn *judge = NULL;
		for (size_t i = 0; i < ARRAY_LEN(lists); i++)
			if (plan_is(s, lists[i].name))
				judge = lists[i].judge;
		int result = judge != NULL		    ? each_element(pass, judge, err)
			     : plan_is(s, "output_changes") ? judge_outputs(pass, err)
							    : plan_skip(s, err);
		if (result < 0)
			return -1;
	}
	return key < 0 ? -1 : plan_expect(s, JSON_END, "more than one value", err);
}

static int judge_whole(struct second_pass *pass, struct sbx_error *err)
{
	const struct plan_survey *survey = pass->survey;

	if (survey->errored && add_whole(pass, PLAN_DESTRUCTIVE, "errored_plan", err) < 0)
		return -1;
	if (!survey->complete && add_whole(pass, PLAN_REVIEW, "incomplete_plan", err) < 0)
		return -1;
	return survey->unlisted > 0 ? add_whole(pass, PLAN_REVIEW, "unlisted_objects", err) : 0;
}

static struct json_lex *lex_from_start(int fd, struct sbx_error *err)
{
	static const struct json_lex_limits limits = {
		.bytes = LIMIT_PLAN_JSON, .depth = LIMIT_PLAN_DEPTH, .string = string_max, .integers = JSON_ANY_NUMBER};

	if (lseek(fd, 0, SEEK_SET) < 0) {
		sbx_fail_errno(err, SBX_IO, "io_error", "cannot read the plan twice");
		return NULL;
	}
	return json_lex_fd(fd, &limits, err);
}

static int first_pass(int fd, const struct key_seed *seed, struct plan_survey *survey, struct sbx_error *err)
{
	auto_json_lex *lex = lex_from_start(fd, err);
	struct plan_scan s = {.lex = lex, .seed = seed};

	return lex == NULL ? -1 : plan_survey_read(&s, survey, err);
}

static int second_pass(int fd, const struct key_seed *seed, const struct plan_survey *survey,
		       struct plan_report *report, struct sbx_error *err)
{
	auto_json_lex *lex = lex_from_start(fd, err);
	struct second_pass pass = {
		.s = {.lex = lex, .seed = seed}, .survey = survey, .report = report, .scratch = BUF_INIT(address_max)};

	if (lex == NULL)
		return -1;
	plan_change_init(&pass.change);
	int result = judge_whole(&pass, err) < 0 ? -1 : judge_document(&pass, err);
	plan_change_clear(&pass.change);
	buf_clear(&pass.scratch);
	return result;
}

int plan_read(int fd, struct plan_survey *survey, struct plan_report *report, struct sbx_error *err)
{
	struct key_seed seed;
	struct stat before, after;

	io_random(&seed, sizeof seed);
	if (fstat(fd, &before) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot look at the plan");
	if (first_pass(fd, &seed, survey, err) < 0 || second_pass(fd, &seed, survey, report, err) < 0)
		return -1;
	if (fstat(fd, &after) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot look at the plan");
	if (before.st_size != after.st_size || before.st_mtim.tv_sec != after.st_mtim.tv_sec ||
	    before.st_mtim.tv_nsec != after.st_mtim.tv_nsec)
		return sbx_fail(err, SBX_BAD_REQUEST, "plan_changed", "the plan changed while it was read");
	return 0;
}
