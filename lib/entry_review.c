/* Lines are rendered from the table, as review_means.h does from the decision, and looked for. */
#include "entry_review.h"

#include <string.h>

#include "clock.h"
#include "entry_trust.h"
#include "io.h"
#include "review_quote.h"
#include "review_words.h"
#include "setting.h"

static int differs(const char *what, struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "signed_text_differs",
		 "the text that was signed is not about what is to run here: %s differs", what);
	return sbx_hint(err, "nothing was started; if the machine that started this is sound, make the call again");
}

/* The rest of the one line that begins with HEADING, LEN bytes; NULL: there is none, or more. */
static const char *only_line(const char *text, const char *heading, size_t *len)
{
	const char *found = NULL;

	for (const char *line = text; line != NULL; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (strncmp(line, heading, strlen(heading)) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = line + strlen(heading);
	}
	if (found != NULL)
		*len = strcspn(found, "\n");
	return found;
}

static int has_line(const char *text, const char *heading)
{
	for (const char *line = text; line != NULL; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (strncmp(line, heading, strlen(heading)) == 0)
			return 1;
	return 0;
}

/* The LEN bytes at AT up to STOP (which must be there), into OUT. */
static int take_until(const char *at, size_t len, const char *stop, char *out, size_t size)
{
	const char *end = memmem(at, len, stop, strlen(stop));

	if (end == NULL || (size_t)(end - at) >= size)
		return -1;
	memcpy(out, at, (size_t)(end - at));
	out[end - at] = '\0';
	return 0;
}

static int read_times(const char *text, struct entry_review *review)
{
	char asked[CLOCK_RFC3339_SIZE], until[CLOCK_RFC3339_SIZE];
	size_t len, before;
	const char *line = only_line(text, REVIEW_ASKED, &len);

	if (line == NULL || take_until(line, len, REVIEW_UNTIL, asked, sizeof asked) < 0)
		return -1;
	before = strlen(asked) + strlen(REVIEW_UNTIL);
	return take_until(line + before, len - before + 1, "\n", until, sizeof until) < 0 ||
			       clock_parse(asked, &review->asked) < 0 || clock_parse(until, &review->until) < 0
		       ? -1
		       : 0;
}

static int read_needs(const char *text, struct entry_review *review)
{
	char number[8];
	size_t len;
	const char *line = only_line(text, REVIEW_NEEDS, &len);

	if (line == NULL || take_until(line, len, " ", number, sizeof number) < 0 ||
	    io_parse_u64(number, 1, LIMIT_APPROVERS, &review->people) < 0)
		return -1;
	review->verified = memmem(line, len, REVIEW_VERIFIED, strlen(REVIEW_VERIFIED)) != NULL;
	return 0;
}

int entry_review_read(const char *text, struct entry_review *review, struct sbx_error *err)
{
	size_t len;
	const char *line = only_line(text, REVIEW_INSTALLATION, &len);

	if (line == NULL || take_until(line, len, ",", review->installation, sizeof review->installation) < 0)
		return differs("the line of the installation", err);
	if (read_times(text, review) < 0)
		return differs("the line of the times", err);
	return read_needs(text, review) < 0 ? differs("the line of the people", err) : 0;
}

static int put_quoted(struct buf *out, const char *text, struct sbx_error *err)
{
	return review_quote(out, text, strlen(text), err);
}

static int put_argument(struct buf *out, const struct slot *slot, struct sbx_error *err)
{
	if (slot->kind == SLOT_LOCK)
		return buf_add_str(out, REVIEW_STEP_LOCK, err);
	return buf_add_str(out, slot->kind == SLOT_ARTIFACT ? REVIEW_STEP_ARTIFACT : " ", err) < 0 ? -1
												     : put_quoted(out, slot->text, err);
}

static int put_step(struct buf *out, const struct step *step, uint32_t number, struct sbx_error *err)
{
	size_t len = 0;
	const char *name = entry_program_name(step, &len);

	if (name == NULL)
		return differs("the place of a program", err);
	if (buf_addf(out, err, REVIEW_STEP "%u" REVIEW_STEP_PROGRAM, number) < 0 ||
	    review_quote(out, name, len, err) < 0 ||
	    buf_add_str(out, step->flags & STEP_CREDENTIALS ? REVIEW_STEP_WITH : REVIEW_STEP_WITHOUT, err) < 0)
		return -1;
	for (uint32_t i = 0; i < step->argc; i++)
		if (put_argument(out, &step->argv[i], err) < 0)
			return -1;
	if (step->flags & STEP_CHECK && buf_add_str(out, steps_unlocks(step) ? REVIEW_STEP_UNLOCKS : REVIEW_STEP_CHECKS, err) < 0)
		return -1;
	return buf_add_str(out, step->flags & STEP_SEALS_STATE ? REVIEW_STEP_SEALS "\n" : "\n", err);
}

/* The whole list, between its heading and a line of another kind; and no second list. */
static int compare_steps(const char *text, const struct steps *table, struct sbx_error *err)
{
	auto_buf wanted = BUF_INIT(LIMIT_REVIEW_TEXT);
	struct sbx_error why = SBX_ERROR_INIT;
	const char *list = strstr(text, REVIEW_STEPS);

	for (uint32_t i = 0; i < table->step_count; i++)
		if (put_step(&wanted, &table->steps[i], i + 1, &why) < 0) {
			/* More than a text can hold is not in this one. */
			if (strcmp(why.code, "too_large") == 0)
				return differs("the list of steps", err);
			*err = why;
			return -1;
		}
	if (list == NULL || strstr(list + 1, REVIEW_STEPS) != NULL)
		return differs("the list of steps", err);
	list += strlen(REVIEW_STEPS);
	return strncmp(list, buf_str(&wanted), wanted.len) == 0 &&
			       strncmp(list + wanted.len, REVIEW_STEP, strlen(REVIEW_STEP)) != 0
		       ? 0
		       : differs("the list of steps", err);
}

/* Something of a workspace is handed over; a plan, and the text itself, are not. */
static int has_workspace(const struct steps *table)
{
	for (uint32_t i = 0; i < table->input_count; i++)
		if (table->inputs[i].kind != INPUT_ARTIFACT && table->inputs[i].kind != INPUT_SIGNED)
			return 1;
	return 0;
}

static int compare_directory(const char *text, const struct steps *table, struct sbx_error *err)
{
	auto_buf wanted = BUF_INIT(LIMIT_REVIEW_TEXT);
	size_t len;
	const char *line = only_line(text, REVIEW_NETWORK, &len);

	if (buf_add_str(&wanted, REVIEW_DIRECTORY, err) < 0 || put_quoted(&wanted, table->cwd, err) < 0 ||
	    buf_add_str(&wanted, REVIEW_STATE, err) < 0)
		return -1;
	if (line != NULL && memmem(line, len, buf_str(&wanted), wanted.len) != NULL)
		return 0;
	static const char none[] = REVIEW_WORKSPACE "none" REVIEW_STATE;
	int has_none = line != NULL && memmem(line, len, none, sizeof none - 1) != NULL && !has_workspace(table);
	return has_none && strcmp(table->cwd, ".") == 0 ? 0 : differs("the directory", err);
}

/* Where Terraform's settings and the credentials stand is sbx-run's own, and no datum of the policy. */
static int is_shown(const char *pair)
{
	const char *value = strchr(pair, '=') + 1;

	return strcmp(pair, SANDBOX_RC_PAIR) != 0 && !setting_is_ours(value, strlen(value));
}

static int by_name(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t x_len = strcspn(x, "="), y_len = strcspn(y, "=");
	int order = memcmp(x, y, x_len < y_len ? x_len : y_len);

	return order != 0 ? order : x_len < y_len ? -1 : x_len > y_len;
}

/* The pairs in the order of their names, as the text has them. */
static int put_environment(struct buf *out, char **env, size_t count, struct sbx_error *err)
{
	auto_free char **sorted = calloc(count + 1, sizeof *sorted);
	size_t shown = 0;

	if (sorted == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	for (size_t i = 0; i < count; i++)
		if (is_shown(env[i]))
			sorted[shown++] = env[i];
	qsort(sorted, shown, sizeof *sorted, by_name);
	for (size_t i = 0; i < shown; i++) {
		size_t name = strcspn(sorted[i], "=");
		if (buf_add_str(out, i > 0 ? ", " : "", err) < 0 || review_quote(out, sorted[i], name, err) < 0 ||
		    buf_add_str(out, REVIEW_IS, err) < 0 || put_quoted(out, sorted[i] + name + 1, err) < 0)
			return -1;
	}
	return 0;
}

static int compare_environment(const char *text, const struct steps *table, struct sbx_error *err)
{
	auto_buf wanted = BUF_INIT(LIMIT_REVIEW_TEXT);
	size_t count = 0, len = 0;

	while (table->env[count] != NULL)
		count++;
	if (put_environment(&wanted, table->env, count, err) < 0)
		return -1;
	const char *line = only_line(text, REVIEW_ENVIRONMENT, &len);
	if (line == NULL && has_line(text, REVIEW_ENVIRONMENT))
		return differs("the environment", err);
	return len == wanted.len && (line == NULL || memcmp(line, buf_str(&wanted), len) == 0)
		       ? 0
		       : differs("the environment", err);
}

/* SHA256 is the one behind HEADING; "" where there must be no such line. */
static int compare_digest(const char *text, const char *heading, const char *sha256, const char *what,
			  struct sbx_error *err)
{
	size_t len = 0;
	const char *line = only_line(text, heading, &len);
	size_t digits = strlen(sha256);

	if (digits == 0)
		return has_line(text, heading) ? differs(what, err) : 0;
	return line != NULL && len == digits + 3 && strncmp(line, " \"", 2) == 0 &&
			       memcmp(line + 2, sha256, digits) == 0 && line[digits + 2] == '"'
		       ? 0
		       : differs(what, err);
}

/* The digest of the one input of KIND; "" when there is none, NULL when there are several. */
static const char *input_digest(const struct steps *table, enum input_kind kind)
{
	const char *found = "";

	for (uint32_t i = 0; i < table->input_count; i++) {
		if (table->inputs[i].kind != kind)
			continue;
		if (found[0] != '\0')
			return NULL;
		found = table->inputs[i].sha256;
	}
	return found;
}

/* The text has the digest of one of the programs that are compared with their files before the first step. */
static int compare_program(const char *text, const struct steps *table, struct sbx_error *err)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	for (uint32_t i = 0; i < table->program_count; i++)
		if (compare_digest(text, REVIEW_PROGRAM, table->programs[i].sha256, "the program", &ignored) == 0)
			return 0;
	return differs("the program", err);
}

static int compare_plan(const char *text, const struct steps *table, struct sbx_error *err)
{
	const char *plan = input_digest(table, INPUT_ARTIFACT), *tree = input_digest(table, INPUT_TREE);
	const char *modules = input_digest(table, INPUT_MODULES);

	if (plan == NULL || tree == NULL || modules == NULL)
		return differs("the number of inputs", err);
	if (table->plan == STEPS_NO_PLAN)
		return strstr(text, REVIEW_PLAN_HEADING) == NULL && plan[0] == '\0' ? 0 : differs("the plan", err);
	if (strstr(text, REVIEW_PLAN_HEADING) == NULL || plan[0] == '\0')
		return differs("the plan", err);
	return compare_digest(text, REVIEW_PLAN_FILE, plan, "the plan file", err) < 0 ||
			       compare_digest(text, REVIEW_TREE, tree, "the workspace", err) < 0 ||
			       compare_digest(text, REVIEW_LOCK, table->sealed.lock_sha256, "the lock file", err) < 0 ||
			       compare_digest(text, REVIEW_MODULES, modules, "what was fetched of modules", err) < 0
		       ? -1
		       : compare_program(text, table, err);
}

int entry_review_compare(const char *text, const struct steps *table, struct sbx_error *err)
{
	return compare_steps(text, table, err) < 0 || compare_directory(text, table, err) < 0 ||
			       compare_environment(text, table, err) < 0
		       ? -1
		       : compare_plan(text, table, err);
}
