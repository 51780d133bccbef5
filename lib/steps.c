/* The step table as it is written, and given back. */
#include "steps.h"

#include <string.h>

#include "wire.h"

int steps_is_reserved(const char *path)
{
	static const char *const trees[] = {"/proc", "/dev", SANDBOX_CREDENTIALS, SANDBOX_ENTRY};
	static const char *const places[] = {SANDBOX_WORK, "/tmp", "/run", "/run/sbx"};

	for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
		size_t len = strlen(trees[i]);
		if (strncmp(path, trees[i], len) == 0 && (path[len] == '\0' || path[len] == '/'))
			return 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (strcmp(path, places[i]) == 0)
			return 1;
	return 0;
}

int steps_unlocks(const struct step *step)
{
	return step->argc > 0 && step->argv[step->argc - 1].kind == SLOT_LOCK;
}

static int put_inputs(const struct steps *s, struct buf *out, struct sbx_error *err)
{
	if (wire_put_u32(out, s->input_count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->input_count; i++) {
		const struct input *in = &s->inputs[i];
		if (wire_put_u32(out, (uint32_t)in->kind, err) < 0 || wire_put_str(out, in->name, err) < 0 ||
		    wire_put_str(out, in->path, err) < 0 || wire_put_str(out, in->sha256, err) < 0 ||
		    wire_put_u64(out, in->size, err) < 0)
			return -1;
	}
	return 0;
}

static int put_programs(const struct steps *s, struct buf *out, struct sbx_error *err)
{
	if (wire_put_u32(out, s->program_count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->program_count; i++)
		if (wire_put_str(out, s->programs[i].path, err) < 0 ||
		    wire_put_str(out, s->programs[i].sha256, err) < 0)
			return -1;
	return 0;
}

/* The serial of no state is -1. */
static int put_sealed(const struct steps *s, struct buf *out, struct sbx_error *err)
{
	const struct sealed_parts *sealed = &s->sealed;

	if (wire_put_u32(out, (uint32_t)s->plan, err) < 0)
		return -1;
	if (s->plan == STEPS_NO_PLAN)
		return 0;
	if (wire_put_str(out, sealed->lock_path, err) < 0 || wire_put_str(out, sealed->lock_sha256, err) < 0 ||
	    wire_put_str(out, sealed->lineage, err) < 0 || wire_put_u64(out, (uint64_t)sealed->serial, err) < 0 ||
	    wire_put_str(out, sealed->state_sha256, err) < 0 || wire_put_u32(out, sealed->package_count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < sealed->package_count; i++)
		if (wire_put_str(out, sealed->packages[i].path, err) < 0 ||
		    wire_put_str(out, sealed->packages[i].source, err) < 0 ||
		    wire_put_str(out, sealed->packages[i].hash, err) < 0)
			return -1;
	return 0;
}

static int put_dead(const struct steps *s, struct buf *out, struct sbx_error *err)
{
	if (wire_put_u32(out, s->dead_count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->dead_count; i++)
		if (wire_put_str(out, s->dead[i].id, err) < 0)
			return -1;
	return 0;
}

static int put_step(const struct step *step, struct buf *out, struct sbx_error *err)
{
	if (wire_put_str(out, step->program, err) < 0 || wire_put_u32(out, step->flags, err) < 0 ||
	    wire_put_u32(out, step->argc, err) < 0)
		return -1;
	for (uint32_t i = 0; i < step->argc; i++)
		if (wire_put_u32(out, (uint32_t)step->argv[i].kind, err) < 0 ||
		    wire_put_str(out, step->argv[i].text, err) < 0)
			return -1;
	if (wire_put_u32(out, step->produce_count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < step->produce_count; i++)
		if (wire_put_str(out, step->produces[i].name, err) < 0 ||
		    wire_put_str(out, step->produces[i].path, err) < 0)
			return -1;
	return 0;
}

static int put_env(const struct steps *s, struct buf *out, struct sbx_error *err)
{
	uint32_t count = 0;

	while (s->env != NULL && s->env[count] != NULL)
		count++;
	if (wire_put_u32(out, count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < count; i++)
		if (wire_put_str(out, s->env[i], err) < 0)
			return -1;
	return 0;
}

int steps_encode(const struct steps *steps, struct buf *out, struct sbx_error *err)
{
	if (wire_put_u32(out, STEPS_VERSION, err) < 0 || wire_put_str(out, steps->require, err) < 0)
		return -1;
	for (size_t i = 0; i < STEPS_NAMESPACES; i++)
		if (wire_put_u64(out, steps->host_namespaces[i], err) < 0)
			return -1;
	if (wire_put_str(out, steps->cwd, err) < 0 || put_env(steps, out, err) < 0 ||
	    wire_put_u64(out, steps->output_max, err) < 0 || wire_put_u64(out, steps->artifact_max, err) < 0 ||
	    wire_put_u64(out, steps->grace_ms, err) < 0 || put_inputs(steps, out, err) < 0 ||
	    put_programs(steps, out, err) < 0 || put_sealed(steps, out, err) < 0 || put_dead(steps, out, err) < 0 ||
	    wire_put_u32(out, steps->step_count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < steps->step_count; i++)
		if (put_step(&steps->steps[i], out, err) < 0)
			return -1;
	return 0;
}

static void clear_step(struct step *step)
{
	free(step->program);
	for (uint32_t i = 0; i < step->argc; i++)
		free(step->argv[i].text);
	free(step->argv);
	for (uint32_t i = 0; i < step->produce_count; i++) {
		free(step->produces[i].name);
		free(step->produces[i].path);
	}
	free(step->produces);
}

void steps_clear(struct steps *steps)
{
	free(steps->cwd);
	for (char **e = steps->env; e != NULL && *e != NULL; e++)
		free(*e);
	free(steps->env);
	for (uint32_t i = 0; i < steps->input_count; i++) {
		free(steps->inputs[i].name);
		free(steps->inputs[i].path);
	}
	free(steps->inputs);
	for (uint32_t i = 0; i < steps->program_count; i++)
		free(steps->programs[i].path);
	free(steps->programs);
	for (uint32_t i = 0; i < steps->sealed.package_count; i++) {
		free(steps->sealed.packages[i].path);
		free(steps->sealed.packages[i].source);
	}
	free(steps->sealed.packages);
	free(steps->sealed.lock_path);
	free(steps->dead);
	for (uint32_t i = 0; i < steps->step_count; i++)
		clear_step(&steps->steps[i]);
	free(steps->steps);
	*steps = (struct steps){.cwd = NULL};
}
