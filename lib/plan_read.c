/* The two passes: what the parts of a plan say about each other, then the verdicts from changes, drift, outputs, checks
 * and actions. */
#include "plan_read.h"

#include "io.h"
#include "limit.h"
#include "plan_drift.h"
#include "plan_effect.h"
#include "plan_entries.h"
#include "plan_input.h"
#include "plan_judge.h"
#include "plan_provider.h"

/* One value: a generated document or an encoded archive may be large, and nothing longer than this is looked at in one
 * piece. */
static const uint64_t string_max = (uint64_t)64 << 20;

struct second_pass {
	struct plan_scan s;
	struct plan_judge judge;
	struct plan_effect effect;
	struct plan_tree value; /* of a variable, or the settings of a provider */
	size_t quiet;		/* of plan_entries_skip */
};

typedef int read_fn(struct second_pass *pass, struct sbx_error *err);

static int read_change(struct second_pass *pass, struct sbx_error *err)
{
	int skipped = plan_entries_skip(&pass->s, pass->judge.survey, &pass->quiet, err);

	if (skipped != 0)
		return skipped < 0 ? -1 : 0;
	if (plan_change_read(&pass->s, &pass->judge.change, err) < 0)
		return -1;
	plan_effect_add(&pass->effect, &pass->judge.change);
	return plan_judge_change(&pass->judge, err);
}

/* What changed outside of Terraform has happened already: nothing that the plan does, but it was planned against it. */
static int read_drift(struct second_pass *pass, struct sbx_error *err)
{
	if (plan_change_read_drift(&pass->s, &pass->judge.change, err) < 0)
		return -1;
	if (!plan_drift_says_something(pass->judge.seed, &pass->judge.change))
		return 0;
	return plan_judge_entry(&pass->judge, "drift", err);
}

/* A wrapper {reason, MEMBER: {…}}; its { was read. READ reads the inner object. */
static int unwrap(struct second_pass *pass, const char *member, read_fn *read, struct sbx_error *err)
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
		    read(pass, err) < 0)
			return -1;
	}
	if (key == 0 && !found)
		return plan_refuse(s, "plan_malformed", "a deferred entry that holds nothing", err);
	return key;
}

static int read_deferred_inner(struct second_pass *pass, struct sbx_error *err)
{
	if (plan_change_read(&pass->s, &pass->judge.change, err) < 0)
		return -1;
	return plan_judge_entry(&pass->judge, "deferred", err);
}

static int read_deferred(struct second_pass *pass, struct sbx_error *err)
{
	return unwrap(pass, "resource_change", read_deferred_inner, err);
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

static int read_action(struct second_pass *pass, struct sbx_error *err)
{
	auto_buf address = BUF_INIT(LIMIT_PLAN_ADDRESS);

	if (find_text(&pass->s, "address", &address, err) < 0)
		return -1;
	if (address.len == 0)
		return plan_refuse(&pass->s, "plan_malformed", "an action without an address", err);
	return plan_judge_add(&pass->judge, PLAN_REVIEW, "action_invocation", address.data, address.len, err);
}

static int read_deferred_action(struct second_pass *pass, struct sbx_error *err)
{
	return unwrap(pass, "action_invocation", read_action, err);
}

/* One check; its { was read. "fail" and "error" do not stop an apply. In an errored plan they are the error itself. */
static int read_check(struct second_pass *pass, struct sbx_error *err)
{
	auto_buf address = BUF_INIT(LIMIT_PLAN_ADDRESS);
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
	if (key < 0 || !failed || pass->judge.survey->errored)
		return key;
	if (address.len == 0)
		return plan_refuse(s, "plan_malformed", "a check without an address", err);
	return plan_judge_add(&pass->judge, PLAN_REVIEW, "check_failed", address.data, address.len, err);
}

/* Right behind the key. */
static int read_outputs(struct second_pass *pass, struct sbx_error *err)
{
	auto_buf name = BUF_INIT(LIMIT_PLAN_ADDRESS);
	struct plan_scan *s = &pass->s;
	int key;

	if (plan_expect(s, JSON_OBJECT_OPEN, "output changes that are no object", err) < 0)
		return -1;
	while ((key = plan_key(s, err)) == 1) {
		buf_reset(&name);
		if (buf_add(&name, s->text, s->len, err) < 0 ||
		    plan_expect(s, JSON_OBJECT_OPEN, "an output change that is no object", err) < 0 ||
		    plan_change_read_inner(s, &pass->judge.change, err) < 0 ||
		    plan_judge_output(&pass->judge, name.data, name.len, err) < 0)
			return -1;
	}
	return key;
}

/* What the configuration declares sensitive must not be shown where it turns up in a value. Right behind the key. */
static int read_variables(struct second_pass *pass, struct sbx_error *err)
{
	struct plan_scan *s = &pass->s;
	int variable, key = 0;

	if (plan_expect(s, JSON_OBJECT_OPEN, "variables that are no object", err) < 0)
		return -1;
	while ((variable = plan_key(s, err)) == 1) {
		int sensitive =
			hash_set_has(&pass->judge.survey->sensitive_inputs, plan_hash(s, PLAN_HASH_INPUT));
		if (plan_expect(s, JSON_OBJECT_OPEN, "a variable that is no object", err) < 0)
			return -1;
		while ((key = plan_key(s, err)) == 1) {
			int is_value = sensitive && plan_is(s, "value");
			if ((is_value ? plan_tree_read(s, &pass->value, err) : plan_skip(s, err)) < 0 ||
			    (is_value && plan_secrets_add_all(&pass->judge.report->secrets, &pass->value, err) < 0))
				return -1;
		}
		if (key < 0)
			return -1;
	}
	return variable;
}

/* Right behind the key. */
static int read_configuration(struct second_pass *pass, struct sbx_error *err)
{
	struct plan_scan *s = &pass->s;
	int key, result = 0;

	if (plan_expect(s, JSON_OBJECT_OPEN, "a configuration that is no object", err) < 0)
		return -1;
	while (result == 0 && (key = plan_key(s, err)) == 1)
		result = plan_is(s, "provider_config")
				 ? plan_provider_read(s, pass->judge.report, &pass->value, err)
				 : plan_skip(s, err);
	return result < 0 ? -1 : key;
}

static int each_element(struct second_pass *pass, read_fn *read, struct sbx_error *err)
{
	struct plan_scan *s = &pass->s;
	int element;

	if (plan_expect(s, JSON_ARRAY_OPEN, "a list that is no array", err) < 0)
		return -1;
	while ((element = plan_element(s, err)) == 1) {
		if (s->token != JSON_OBJECT_OPEN)
			return plan_refuse(s, "plan_kind", "an entry that is no object", err);
		if (read(pass, err) < 0)
			return -1;
	}
	return element;
}

/* One member of the document; the last token is its key. */
static int read_member(struct second_pass *pass, struct sbx_error *err)
{
	static const struct {
		const char *name;
		read_fn *read;
	} lists[] = {
		{"resource_changes", read_change},
		{"resource_drift", read_drift},
		{"deferred_changes", read_deferred},
		{"action_invocations", read_action},
		{"checks", read_check},
		{"deferred_action_invocations", read_deferred_action},
	};
	struct plan_scan *s = &pass->s;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (plan_is(s, lists[i].name))
			return each_element(pass, lists[i].read, err);
	if (plan_is(s, "output_changes"))
		return read_outputs(pass, err);
	if (plan_is(s, "configuration"))
		return read_configuration(pass, err);
	if (plan_is(s, "variables"))
		return read_variables(pass, err);
	return plan_skip_known(s, &pass->judge.survey->spans, err);
}

static int read_document(struct second_pass *pass, struct sbx_error *err)
{
	struct plan_scan *s = &pass->s;
	int key;

	if (plan_expect(s, JSON_OBJECT_OPEN, "a plan that is no object", err) < 0)
		return -1;
	while ((key = plan_key(s, err)) == 1) {
		s->effect = plan_effect_part(&pass->effect, s);
		int result = read_member(pass, err);
		s->effect = NULL;
		if (result < 0)
			return -1;
	}
	return key < 0 ? -1 : plan_expect(s, JSON_END, "more than one value", err);
}

static int judge_whole(struct plan_judge *judge, struct sbx_error *err)
{
	const struct plan_survey *survey = judge->survey;

	if (survey->errored && plan_judge_add(judge, PLAN_DESTRUCTIVE, "errored_plan", "*", 1, err) < 0)
		return -1;
	if (!survey->complete && plan_judge_add(judge, PLAN_REVIEW, "incomplete_plan", "*", 1, err) < 0)
		return -1;
	return survey->unlisted > 0 ? plan_judge_add(judge, PLAN_REVIEW, "unlisted_objects", "*", 1, err) : 0;
}

static struct json_lex *lex_from_start(int fd, struct plan_input *input, struct sbx_error *err)
{
	static const struct json_lex_limits limits = {
		.bytes = LIMIT_PLAN_JSON, .depth = LIMIT_PLAN_DEPTH, .string = string_max, .integers = JSON_ANY_NUMBER};

	if (lseek(fd, 0, SEEK_SET) < 0) {
		sbx_fail_errno(err, SBX_IO, "io_error", "cannot read the plan twice");
		return NULL;
	}
	struct json_lex *lex = json_lex_fd(fd, &limits, err);
	if (lex != NULL)
		plan_input_watch(input, lex);
	return lex;
}

static int first_pass(int fd, struct plan_input *input, struct plan_survey *survey, struct sbx_error *err)
{
	auto_json_lex *lex = lex_from_start(fd, input, err);
	struct plan_scan s = {.lex = lex, .seed = input->seed};

	return lex == NULL ? -1 : plan_survey_read(&s, survey, err);
}

static int second_pass(int fd, struct plan_input *input, struct second_pass *pass, struct sbx_error *err)
{
	auto_json_lex *lex = lex_from_start(fd, input, err);

	if (lex == NULL)
		return -1;
	json_lex_trust_keys(lex);
	pass->s = (struct plan_scan){.lex = lex, .seed = pass->judge.seed};
	plan_judge_init(&pass->judge);
	plan_effect_init(&pass->effect);
	plan_tree_init(&pass->value);
	pass->judge.report->counts[COUNT_NO_OP] += pass->judge.survey->quiet_count;
	int result = judge_whole(&pass->judge, err) < 0 ? -1 : read_document(pass, err);
	if (result == 0)
		plan_effect_finish(&pass->effect, pass->judge.report->effect);
	plan_tree_clear(&pass->value);
	plan_effect_clear(&pass->effect);
	plan_judge_clear(&pass->judge);
	return result;
}

struct plan_head plan_read_head(const struct plan_survey *survey)
{
	return (struct plan_head){.format = "terraform",
				  .version = survey->format_version,
				  .terraform_version = survey->terraform_version,
				  .errored = survey->errored};
}

static void finish(struct digest *digest, char hex[DIGEST_HEX_SIZE])
{
	unsigned char bytes[DIGEST_SIZE];

	digest_finish(digest, bytes);
	digest_to_hex(bytes, sizeof bytes, hex);
}

int plan_read(int fd, const struct signal_table *table, struct plan_survey *survey, struct plan_report *report,
	      struct sbx_error *err)
{
	struct key_seed seed;
	struct digest digest;
	struct plan_input first = {.seed = &seed, .digest = &digest}, second = {.seed = &seed};
	struct signal_matcher *matcher = signal_matcher_new(table, err);
	struct second_pass pass = {.judge = {.survey = survey,
					     .seed = &seed,
					     .matcher = matcher,
					     .report = report}};

	if (matcher == NULL)
		return -1;
	io_random(&seed, sizeof seed);
	digest_init(&digest);
	int result = first_pass(fd, &first, survey, err);
	if (result == 0)
		result = second_pass(fd, &second, &pass, err);
	signal_matcher_free(matcher);
	finish(&digest, report->artefact);
	if (result == 0 && !plan_input_same(&first, &second))
		return sbx_fail(err, SBX_BAD_REQUEST, "plan_changed", "the plan changed while it was read");
	return result;
}
