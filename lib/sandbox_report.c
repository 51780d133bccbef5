/* From outcome to result. */
#include "sandbox_report.h"

#include <string.h>

#include "left_lock.h"
#include "log.h"
#include "plan_verdict.h"
#include "result.h"
#include "tf_lock.h"
#include "tf_run.h"

static const size_t lock_hint_max = 8192; /* the path of a directory, and words of tf_lock.h */

int sandbox_own_findings(const struct sandbox_outcome *outcome)
{
	return (outcome->state_changed != 0) + (json_length(outcome->unshown) > 0);
}

static jv own_finding(const char *address, const char *signal, const char *text)
{
	jv finding = json_set_str(jv_object(), "address", address);

	finding = json_set_str(finding, "verdict", plan_verdict_name(PLAN_REVIEW));
	finding = json_set(finding, "signals", json_append(jv_array(), jv_string(signal)));
	return json_set_str(finding, "text", text);
}

jv sandbox_findings(const struct sandbox_outcome *outcome)
{
	jv findings = json_array(outcome->analysis, "findings");

	if (!jv_is_valid(findings))
		findings = jv_array();
	if (outcome->state_changed)
		findings = result_insert_finding(
			findings, own_finding("terraform.tfstate", "state_changed",
					      "a step changed the state that it was given for reading; the change was "
					      "thrown away"));
	if (json_length(outcome->unshown) == 0)
		return findings;
	jv finding = own_finding("*", "hidden_program",
				 "the configuration may start a program, with the credentials of the apply, of which "
				 "the plan says nothing; the places are files of the workspace");
	return result_insert_finding(findings, json_set(finding, "because", jv_copy(outcome->unshown)));
}

const char *sandbox_verdict(const struct sandbox_outcome *outcome)
{
	const char *name = json_str(outcome->analysis, "verdict");
	enum plan_verdict verdict;

	if (name == NULL)
		return NULL;
	/* A word that we do not know is not a safe one. */
	if (plan_verdict_parse(name, &verdict) < 0)
		return plan_verdict_name(PLAN_DESTRUCTIVE);
	if (sandbox_own_findings(outcome) > 0 && verdict < PLAN_REVIEW)
		verdict = PLAN_REVIEW;
	return plan_verdict_name(verdict);
}

/* Whether terraform init failed for something that it could not get; its other failures explain themselves. The words
 * are those of Terraform 1.5 to 1.14 and of OpenTofu. */
static int is_unfetched(const struct buf *errors)
{
	static const char *const signs[] = {"Failed to query available provider",
					    "Failed to install provider",
					    "Could not retrieve",
					    "Could not download module",
					    "Failed to download module",
					    "Failed to resolve provider",
					    "provider registry",
					    "dependency lock file",
					    "lock file is read-only",
					    "Module not installed"};

	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (strstr(buf_str(errors), signs[i]) != NULL)
			return 1;
	return 0;
}

static int add_said(struct buf *text, const char *front, const char *word, struct sbx_error *err)
{
	return word[0] == '\0' ? 0 : buf_addf(text, err, "%s%s", front, word);
}

/* What to do about it. Of a call of this installation the next run takes it away by itself, when the call is over. */
static int add_way(struct buf *text, const struct state *state, jv run, const struct tf_lock *lock, struct sbx_error *err)
{
	auto_jv workspace = json_object(run, "workspace");
	const char *name = json_str(workspace, "name"), *dir = json_str(workspace, "cwd");
	enum left_lock left_by = tf_run_may_unlock(run) ? left_lock_by(state, lock->call) : LEFT_BY_OTHERS;

	if (left_by == LEFT_BY_RUNNING)
		return buf_add_str(text, "; it is still at work: call again when it has ended", err);
	if (left_by == LEFT_BY_UNMENDED)
		return buf_add_str(text, "; it died, and was not mended yet: sbx-audit --mend, then call again, which takes the lock away",
				   err);
	return buf_addf(text, err,
			"; once it has ended for good: terraform_force_unlock {dir: \"%s%s%s\", lock_id: \"%s\"}, which a "
			"person signs",
			name != NULL ? name : "", name != NULL && name[0] != '\0' ? ":" : "", dir != NULL ? dir : ".", lock->id);
}

/* That another run holds the state's lock, or died with it, and how it is taken away ("state_locked"). Invalid: it is
 * not that. */
static jv lock_hint(const struct state *state, jv run, const struct sandbox_outcome *outcome)
{
	const struct buf *errors = &outcome->err.bytes;
	size_t from = outcome->err_before < errors->len ? outcome->err_before : errors->len;
	auto_buf text = BUF_INIT(lock_hint_max);
	struct sbx_error err = SBX_ERROR_INIT;
	struct tf_lock lock;

	if (!tf_run_step_is(run, outcome->step, NULL) ||
	    !tf_lock_find(buf_str(errors) + from, errors->len - from, &lock))
		return jv_invalid();
	if (buf_addf(&text, &err, "the state has the lock %s", lock.id) < 0 ||
	    add_said(&text, ", for ", lock.operation, &err) < 0 || add_said(&text, ", by ", lock.who, &err) < 0 ||
	    add_said(&text, ", since ", lock.created, &err) < 0 ||
	    add_said(&text, "; what became of that run: sbx-audit show --request-id ", lock.call, &err) < 0 ||
	    add_way(&text, state, run, &lock, &err) < 0) {
		log_error(&err);
		return jv_invalid();
	}
	return jv_string(buf_str(&text));
}

/* The words of the C library for ENOSPC, and those of Go: what the failed step could write to is full. */
static int is_full(const struct sandbox_outcome *outcome)
{
	const struct buf *errors = &outcome->err.bytes;
	size_t from = outcome->err_before < errors->len ? outcome->err_before : errors->len;

	return strcasestr(buf_str(errors) + from, "no space left on device") != NULL;
}

static jv full_hint(jv run)
{
	auto_jv limits = json_object(run, "limits");
	int64_t bytes;

	if (json_int(limits, "workdir", &bytes) < 0)
		return jv_string("it wrote more bytes or files than the sandbox has room for");
	return jv_string_fmt("it wrote more bytes or files than the sandbox has room for: %lld MiB is what the tool has (limits: "
			     "workdir)",
			     (long long)(bytes >> 20));
}

/* What to do where terraform init did not find a provider or a module. */
static jv fetch_hint(jv run)
{
	auto_jv fetch = json_object(run, "fetch"), workspace = json_object(run, "workspace");
	const char *mirror = json_str(run, "mirror"), *name = json_str(workspace, "name"), *dir = json_str(workspace, "cwd");

	if (tf_run_keeps(run, NULL) > 0)
		return jv_string("its words say what it wanted: a host must be a destination of this tool (egress:), and a "
				 "provider stand in .terraform.lock.hcl, as terraform providers lock writes it where the network is");
	/* All that the lock file names was there, or nothing would have been started. */
	if (jv_is_valid(fetch))
		return jv_string_fmt("its words name what .terraform.lock.hcl does not: required_providers has it, then terraform "
				     "providers lock, where the network is (what the state alone still uses, too), then "
				     "terraform_fetch {dir: \"%s%s%s\"}",
				     name != NULL ? name : "", name != NULL && name[0] != '\0' ? ":" : "", dir != NULL ? dir : ".");
	if (mirror == NULL)
		return jv_string("a sandbox has no network: name a directory as mirror: in policy.yaml, and fill it with "
				 "`terraform providers mirror DIRECTORY` where the network is");
	return jv_string_fmt("terraform providers mirror %s (in this directory, where the network is; then terraform "
			     "providers lock -fs-mirror=%s)",
			     mirror, mirror);
}

/* Why it failed, as far as there is something to be done about it. */
static jv add_reason(jv result, const struct state *state, jv run, const struct sandbox_outcome *outcome)
{
	const struct sbx_error *trouble = &outcome->trouble;

	if (trouble->class != SBX_OK) {
		result = json_set_str(result, "code", trouble->code);
		return json_set_str(result, "hint", trouble->hint[0] != '\0' ? trouble->hint : trouble->message);
	}
	if (outcome->state != SANDBOX_FAILED)
		return result;
	auto_jv locked = lock_hint(state, run, outcome);
	if (jv_is_valid(locked))
		return json_set(json_set_str(result, "code", "state_locked"), "hint", take_jv(&locked));
	if (is_full(outcome))
		return json_set(json_set_str(result, "code", "sandbox_full"), "hint", full_hint(run));
	if (!tf_run_step_is(run, outcome->step, "init") || !is_unfetched(&outcome->err.bytes))
		return result;
	return json_set(json_set_str(result, "code", "not_fetched"), "hint", fetch_hint(run));
}

static int add_output(jv *result, jv run, const struct sandbox_outcome *outcome, struct sbx_error *err)
{
	const struct buf *out = &outcome->out.bytes, *errors = &outcome->err.bytes;
	struct result_output shown = {.out = buf_str(out),
				      .out_len = out->len,
				      .out_dropped = outcome->out.dropped,
				      .err = buf_str(errors),
				      .err_len = errors->len,
				      .err_dropped = outcome->err.dropped};

	if (json_bool(run, "analyse") == 1) {
		/* What a plan can read, its author can print: its own words stay here. */
		shown = (struct result_output){.out = "", .err = ""};
		if (outcome->state == SANDBOX_FAILED) {
			shown.err_len = errors->len < LIMIT_ANALYSED_STDERR ? errors->len : LIMIT_ANALYSED_STDERR;
			shown.err = buf_str(errors) + errors->len - shown.err_len;
			/* The cut may have split a character; the rest of one would make all of it "escaped". */
			while (shown.err_len > 0 && shown.err_len < errors->len &&
			       ((unsigned char)*shown.err & 0xc0) == 0x80) {
				shown.err++;
				shown.err_len--;
			}
		}
	}
	return result_set_output(result, &shown, err);
}

int sandbox_report(const struct state *state, jv run, const struct sandbox_outcome *outcome, jv findings, const char *verdict, jv *result,
		   struct sbx_error *err)
{
	jv made = json_set_str(jv_object(), "state", sandbox_state_name(outcome->state));

	if (outcome->signal > 0)
		made = json_set_int(made, "signal", outcome->signal);
	else if (outcome->exit_code >= 0)
		made = json_set_int(made, "exit", outcome->exit_code);
	made = json_set_int(made, "took_ms", outcome->took_ms);
	made = json_set(made, "artifacts", jv_copy(outcome->artifacts));
	/* Never beside findings, for which a call would have no room then: a tool that analyses cannot show files. */
	if (json_length(outcome->shown) > 0)
		made = json_set(made, "shown", jv_copy(outcome->shown));
	if (jv_is_valid(outcome->isolation))
		made = result_set_isolation(made, outcome->isolation);
	int64_t total = 0; /* sbx-plan lists the strongest, and says how many there are */
	json_int(outcome->analysis, "total", &total);
	made = result_set_findings(made, findings, total + sandbox_own_findings(outcome));
	made = json_set_str(result_set_plan(made, outcome->analysis), "verdict", verdict);
	*result = add_reason(made, state, run, outcome);
	return add_output(result, run, outcome, err);
}
