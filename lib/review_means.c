/* Steps and means, a line each. */
#include "review_means.h"

#include "review_words.h"
#include "tf_run.h"

static void put_argv(struct writer *w, jv argv)
{
	for (int i = 0; i < json_length(argv); i++) {
		auto_jv slot = json_at(argv, i);
		if (jv_get_kind(slot) == JV_KIND_OBJECT && json_has(slot, "artifact")) {
			writer_put(w, REVIEW_STEP_ARTIFACT);
			writer_member(w, slot, "artifact");
		} else if (json_has(slot, "lock")) {
			writer_put(w, REVIEW_STEP_LOCK);
		} else {
			writer_put(w, " ");
			writer_value(w, slot);
		}
	}
}

static void put_steps(struct writer *w, jv run)
{
	auto_jv steps = json_array(run, "steps");

	writer_put(w, REVIEW_STEPS);
	for (int i = 0; i < json_length(steps); i++) {
		auto_jv step = json_at(steps, i);
		auto_jv argv = json_array(step, "argv");
		writer_put(w, REVIEW_STEP);
		writer_number(w, i + 1);
		writer_put(w, REVIEW_STEP_PROGRAM);
		writer_member(w, step, "program");
		writer_put(w, json_bool(step, "credentials") == 1 ? REVIEW_STEP_WITH : REVIEW_STEP_WITHOUT);
		put_argv(w, argv);
		if (json_bool(step, "check") == 1)
			writer_put(w, tf_run_unlocks(step) ? REVIEW_STEP_UNLOCKS : REVIEW_STEP_CHECKS);
		writer_put(w, json_has(step, "seals") ? REVIEW_STEP_SEALS "\n" : "\n");
	}
	if (json_length(steps) == 0)
		writer_put(w, "  no step\n");
}

static void put_permissions(struct writer *w, jv credential)
{
	auto_jv permissions = json_get(credential, "permissions");

	if (!jv_is_valid(permissions))
		return;
	writer_put(w, ", may ");
	writer_list(w, permissions, LIMIT_ARGV);
}

static void put_credentials(struct writer *w, jv policy)
{
	auto_jv credentials = json_array(policy, "credentials");

	for (int i = 0; i < json_length(credentials); i++) {
		auto_jv one = json_at(credentials, i);
		auto_jv settings = json_get(one, "settings");
		writer_put(w, "  credential: scope ");
		writer_member(w, one, "scope");
		writer_put(w, " of provider ");
		writer_member(w, one, "provider");
		writer_put(w, " as ");
		writer_member(w, one, "as");
		writer_put(w, ", target ");
		writer_member(w, one, "target");
		if (json_has(one, "namespace")) {
			writer_put(w, ", namespace ");
			writer_member(w, one, "namespace");
		}
		writer_put(w, ", seconds ");
		writer_member(w, one, "lifetime_s");
		put_permissions(w, one);
		writer_put(w, ", settings ");
		writer_value(w, settings);
		writer_put(w, "\n");
	}
	if (json_length(credentials) == 0)
		writer_put(w, "  credential: none\n");
}

/* Where each program stands on the host, and what else it sees of it. */
static void put_programs(struct writer *w, jv run)
{
	auto_jv programs = json_object(run, "programs");
	auto_jv names = jv_is_valid(programs) ? jv_keys(jv_copy(programs)) : jv_array();

	for (int i = 0; i < json_length(names); i++) {
		auto_jv name = json_at(names, i);
		auto_jv program = jv_object_get(jv_copy(programs), jv_copy(name));
		auto_jv mounts = json_array(program, "mounts");
		writer_put(w, "  program ");
		writer_value(w, name);
		writer_put(w, " is ");
		writer_member(w, program, "path");
		writer_put(w, json_length(mounts) > 0 ? ", and sees " : "");
		writer_list(w, mounts, LIMIT_ARGV);
		writer_put(w, "\n");
	}
}

/* HEADING "KEY" is VALUE, … on one line; nothing for an empty OBJECT. */
static void put_pairs(struct writer *w, const char *heading, jv object)
{
	auto_jv keys = json_length(object) > 0 ? jv_keys(jv_copy(object)) : jv_array();

	for (int i = 0, n = json_length(keys); i < n; i++) {
		auto_jv key = json_at(keys, i);
		auto_jv value = json_get(object, json_text(key));
		writer_put(w, i == 0 ? heading : ", ");
		writer_value(w, key);
		writer_put(w, REVIEW_IS);
		writer_value(w, value);
		writer_put(w, i == n - 1 ? "\n" : "");
	}
}

static void put_workspace(struct writer *w, jv workspace)
{
	auto_jv state = json_object(workspace, "state");

	writer_put(w, REVIEW_WORKSPACE);
	if (jv_is_valid(workspace)) {
		writer_put(w, "root ");
		writer_member(w, workspace, "name");
		writer_put(w, ", tree ");
		writer_member(w, workspace, "tree");
		writer_put(w, REVIEW_DIRECTORY);
		writer_member(w, workspace, "cwd");
	} else {
		writer_put(w, "none");
	}
	writer_put(w, REVIEW_STATE);
	if (jv_is_valid(state)) {
		writer_member(w, state, "access");
		writer_put(w, " at ");
		writer_member(w, state, "path");
	} else {
		writer_put(w, "none");
	}
	writer_put(w, "\n");
}

/* Names of destinations, with where they lead as far as the policy says it. */
static jv egress_words(jv run)
{
	auto_jv names = json_array(run, "egress"), known = json_object(run, "destinations");
	jv words = jv_array();

	for (int i = 0, n = json_length(names); i < n; i++) {
		auto_jv name = json_at(names, i);
		const char *text = json_text(name);
		auto_jv place = json_object(known, text != NULL ? text : "");
		const char *to = json_str(place, "to");
		words = json_append(words, text != NULL && to != NULL ? jv_string_fmt("%s (%s)", text, to) : jv_copy(name));
	}
	return words;
}

void review_put_means(struct writer *w, jv policy)
{
	auto_jv run = json_object(policy, "run"), egress = egress_words(run),
		workspace = json_object(run, "workspace"), environment = json_object(run, "env"),
		limits = json_object(run, "limits");

	put_steps(w, run);
	put_credentials(w, policy);
	writer_put(w, REVIEW_NETWORK);
	writer_put(w, json_length(egress) == 0 ? "none" : "");
	writer_list(w, egress, LIMIT_ARGV);
	put_workspace(w, workspace);
	put_programs(w, run);
	put_pairs(w, REVIEW_ENVIRONMENT, environment);
	put_pairs(w, "  limits: ", limits);
}
