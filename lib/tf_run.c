/* Looking at policy.run. */
#include "tf_run.h"

#include <string.h>

#include "plan_format.h"

static int is_called(jv program, const char *name)
{
	const char *path = json_str(program, "path"), *slash = path ? strrchr(path, '/') : NULL;

	return slash != NULL && strcmp(slash + 1, name) == 0;
}

/* A program of RUN whose file has this name. */
static int has_program(jv run, const char *name)
{
	auto_jv programs = json_object(run, "programs");

	if (!jv_is_valid(programs))
		return 0;
	for (int i = jv_object_iter(programs); jv_object_iter_valid(programs, i); i = jv_object_iter_next(programs, i)) {
		auto_jv program = jv_object_iter_value(programs, i);
		if (is_called(program, name))
			return 1;
	}
	return 0;
}

int tf_run_is(jv run, jv seal)
{
	auto_jv env = json_object(run, "env");

	return json_has(env, "TF_CLI_CONFIG_FILE") || plan_format_of_run(run) == PLAN_FORMAT_TERRAFORM ||
	       plan_format_of(seal) == PLAN_FORMAT_TERRAFORM || has_program(run, "terraform") || has_program(run, "tofu");
}

int tf_run_step_is(jv run, unsigned step, const char *word)
{
	auto_jv steps = json_array(run, "steps"), entry = step > 0 ? json_at(steps, (int)step - 1) : jv_invalid(), argv = json_array(entry, "argv");
	auto_jv first = json_at(argv, 1), programs = json_object(run, "programs");
	const char *name = json_str(entry, "program"), *text = json_text(first);

	if (name == NULL || (word != NULL && (text == NULL || strcmp(text, word) != 0)))
		return 0;
	auto_jv program = json_object(programs, name);
	return strcmp(name, "terraform") == 0 || strcmp(name, "tofu") == 0 || is_called(program, "terraform") ||
	       is_called(program, "tofu");
}

int tf_run_is_tofu(jv run)
{
	return has_program(run, "tofu") && !has_program(run, "terraform");
}

int tf_run_is_local(jv run)
{
	const char *driver = json_str(run, "driver");

	return driver != NULL && strcmp(driver, "local") == 0;
}

int tf_run_keeps(jv run, const char *what)
{
	auto_jv steps = json_array(run, "steps");
	int count = 0;

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i);
		const char *keeps = json_str(step, "keeps");
		count += keeps != NULL && (what == NULL || strcmp(keeps, what) == 0);
	}
	return count;
}

int tf_run_unlocks(jv step)
{
	auto_jv argv = json_array(step, "argv"), last = json_at(argv, json_length(argv) - 1);

	return json_str(last, "lock") != NULL;
}

int tf_run_may_unlock(jv run)
{
	auto_jv steps = json_array(run, "steps");

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i);
		if (tf_run_unlocks(step))
			return 1;
	}
	return 0;
}

int tf_run_compares_locks(const char *type)
{
	return type != NULL && (strcmp(type, "kubernetes") == 0 || strcmp(type, "s3") == 0);
}

enum tf_state_place tf_run_state_place(const char *type)
{
	if (type == NULL)
		return TF_STATE_ELSEWHERE;
	if (strcmp(type, "unknown") == 0)
		return TF_STATE_UNKNOWN;
	/* A file beside the configuration; the memory of the process, which Terraform has for its own tests. */
	return strcmp(type, "local") == 0 || strcmp(type, "inmem") == 0 ? TF_STATE_INSIDE : TF_STATE_ELSEWHERE;
}
