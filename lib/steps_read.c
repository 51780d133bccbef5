/* The step table as it is read. What is decoded has been checked: kinds, limits, names, and that every path stays where
 * it belongs. */
#include "steps.h"

#include <linux/limits.h>
#include <string.h>

#include "digest.h"
#include "limit.h"
#include "signed_text.h"
#include "state.h"
#include "wire.h"

enum {
	MAX_ENV = 256,	    /* what a tool's policy lists, many times over */
	MAX_INPUTS = 64,    /* a tree, a state, some artefacts */
	MAX_PROGRAMS = 128, /* and the files that they are shown */
	MAX_SOURCE = 512,
	MAX_PRODUCES = 16,
	MAX_NAME = 64, /* of an artefact or an isolation */
	ALL_FLAGS = STEP_ANALYSE | STEP_CREDENTIALS | STEP_SEALS_STATE | STEP_CHECK | STEP_KEEPS_MODULES | STEP_KEEPS_PROVIDERS,
};

static int bad(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_PROTOCOL, "bad_steps", "the step table is malformed (%s)", what);
}

/* Relative, normal, and never up: it names something below the directory that it is relative to. */
static int is_path_below(const char *path)
{
	if (path[0] == '\0' || strlen(path) >= PATH_MAX)
		return 0;
	for (const char *p = path; p != NULL; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL) {
		size_t len = strcspn(p, "/");
		if (len == 0 || (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
			return 0;
	}
	return 1;
}

static int is_name(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len < MAX_NAME &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == len;
}

static int get_sha256(struct wire *w, char out[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	auto_free char *text = NULL;
	unsigned char bytes[DIGEST_SIZE];

	if (wire_get_str(w, DIGEST_HEX_SIZE, &text, err) < 0)
		return -1;
	if (digest_from_hex(text, bytes, sizeof bytes) < 0)
		return bad(err, "digest");
	memcpy(out, text, DIGEST_HEX_SIZE);
	return 0;
}

/* An array of COUNT zeroed items; its count is set only when it is there, so that clearing is always right. */
static int get_array(struct wire *w, uint32_t max, size_t item, void **array, uint32_t *count, struct sbx_error *err)
{
	uint32_t n;

	if (wire_get_u32(w, max, &n, err) < 0)
		return -1;
	*array = calloc(n > 0 ? n : 1, item);
	if (*array == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	*count = n;
	return 0;
}

static int get_input(struct wire *w, struct input *in, struct sbx_error *err)
{
	uint32_t kind;

	if (wire_get_u32(w, INPUT_SIGNED, &kind, err) < 0 || wire_get_str(w, MAX_NAME, &in->name, err) < 0 ||
	    wire_get_str(w, PATH_MAX, &in->path, err) < 0 || get_sha256(w, in->sha256, err) < 0 ||
	    wire_get_u64(w, &in->size, err) < 0)
		return -1;
	in->kind = (enum input_kind)kind;
	switch (in->kind) {
	case INPUT_TREE:
		return 0;
	case INPUT_MODULES:
		return is_path_below(in->path) ? 0 : bad(err, "path of modules");
	case INPUT_ARTIFACT:
		return is_name(in->name) ? 0 : bad(err, "name of an input");
	case INPUT_STATE_READ:
		return is_path_below(in->path) ? 0 : bad(err, "path of a state");
	case INPUT_STATE_WRITE:
		return is_path_below(in->path) && in->size == 0 ? 0 : bad(err, "path or size of a mounted state");
	case INPUT_SIGNED:
		return in->size <= SIGNED_TEXT_MAX ? 0 : bad(err, "size of a signed text");
	}
	return bad(err, "input");
}

static int get_program(struct wire *w, struct program_digest *program, struct sbx_error *err)
{
	if (wire_get_str(w, PATH_MAX, &program->path, err) < 0 || get_sha256(w, program->sha256, err) < 0)
		return -1;
	return program->path[0] == '/' ? 0 : bad(err, "path of a program");
}

/* Text of at most SIZE - 1 bytes into a field of its own. */
static int get_field(struct wire *w, char *out, size_t size, struct sbx_error *err)
{
	auto_free char *text = NULL;

	if (wire_get_str(w, size - 1, &text, err) < 0)
		return -1;
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

static int get_package(struct wire *w, struct package_digest *package, struct sbx_error *err)
{
	if (wire_get_str(w, PATH_MAX, &package->path, err) < 0 ||
	    wire_get_str(w, MAX_SOURCE, &package->source, err) < 0 ||
	    get_field(w, package->hash, sizeof package->hash, err) < 0)
		return -1;
	return package->path[0] == '/' ? 0 : bad(err, "path of a provider");
}

static int get_sealed(struct wire *w, struct steps *s, struct sbx_error *err)
{
	struct sealed_parts *sealed = &s->sealed;
	unsigned char bytes[DIGEST_SIZE];
	uint32_t plan;
	uint64_t serial;

	if (wire_get_u32(w, STEPS_SEALED_PLAN, &plan, err) < 0)
		return -1;
	s->plan = (enum steps_plan)plan;
	if (s->plan == STEPS_NO_PLAN)
		return 0;
	if (wire_get_str(w, PATH_MAX, &sealed->lock_path, err) < 0 ||
	    get_field(w, sealed->lock_sha256, sizeof sealed->lock_sha256, err) < 0 ||
	    get_field(w, sealed->lineage, sizeof sealed->lineage, err) < 0 || wire_get_u64(w, &serial, err) < 0 ||
	    get_field(w, sealed->state_sha256, sizeof sealed->state_sha256, err) < 0 ||
	    get_array(w, LIMIT_PROVIDERS, sizeof *sealed->packages, (void **)&sealed->packages, &sealed->package_count,
		      err) < 0)
		return -1;
	if (!is_path_below(sealed->lock_path) ||
	    (sealed->lock_sha256[0] != '\0' && digest_from_hex(sealed->lock_sha256, bytes, sizeof bytes) < 0))
		return bad(err, "lock file");
	if (sealed->state_sha256[0] != '\0' && digest_from_hex(sealed->state_sha256, bytes, sizeof bytes) < 0)
		return bad(err, "state");
	if (serial > INT64_MAX && serial != UINT64_MAX)
		return bad(err, "serial");
	sealed->serial = serial == UINT64_MAX ? -1 : (int64_t)serial;
	for (uint32_t i = 0; i < sealed->package_count; i++)
		if (get_package(w, &sealed->packages[i], err) < 0)
			return -1;
	return 0;
}

static int get_dead(struct wire *w, struct steps *s, struct sbx_error *err)
{
	if (get_array(w, LIMIT_LEFT_LOCKS, sizeof *s->dead, (void **)&s->dead, &s->dead_count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->dead_count; i++) {
		if (get_field(w, s->dead[i].id, sizeof s->dead[i].id, err) < 0)
			return -1;
		if (!state_is_id(s->dead[i].id))
			return bad(err, "dead call");
	}
	return 0;
}

static int get_slot(struct wire *w, struct slot *slot, struct sbx_error *err)
{
	uint32_t kind;

	if (wire_get_u32(w, SLOT_LOCK, &kind, err) < 0 || wire_get_str(w, LIMIT_ARGUMENT, &slot->text, err) < 0)
		return -1;
	slot->kind = (enum slot_kind)kind;
	return 0;
}

static int get_produce(struct wire *w, struct produce *produce, struct sbx_error *err)
{
	if (wire_get_str(w, MAX_NAME, &produce->name, err) < 0 || wire_get_str(w, PATH_MAX, &produce->path, err) < 0)
		return -1;
	return is_name(produce->name) && is_path_below(produce->path) ? 0 : bad(err, "product");
}

static int get_step(struct wire *w, struct step *step, struct sbx_error *err)
{
	if (wire_get_str(w, PATH_MAX, &step->program, err) < 0 || wire_get_u32(w, ALL_FLAGS, &step->flags, err) < 0 ||
	    get_array(w, LIMIT_ARGV, sizeof *step->argv, (void **)&step->argv, &step->argc, err) < 0)
		return -1;
	if (step->program[0] != '/' || step->argc == 0)
		return bad(err, "program of a step");
	for (uint32_t i = 0; i < step->argc; i++)
		if (get_slot(w, &step->argv[i], err) < 0)
			return -1;
	if (get_array(w, MAX_PRODUCES, sizeof *step->produces, (void **)&step->produces, &step->produce_count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < step->produce_count; i++)
		if (get_produce(w, &step->produces[i], err) < 0)
			return -1;
	return 0;
}

static int get_env(struct wire *w, struct steps *s, struct sbx_error *err)
{
	uint32_t count;

	if (wire_get_u32(w, MAX_ENV, &count, err) < 0)
		return -1;
	s->env = calloc((size_t)count + 1, sizeof *s->env);
	if (s->env == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	for (uint32_t i = 0; i < count; i++) {
		if (wire_get_str(w, LIMIT_ARGUMENT, &s->env[i], err) < 0)
			return -1;
		const char *equals = strchr(s->env[i], '=');
		if (equals == NULL || equals == s->env[i])
			return bad(err, "environment");
	}
	return 0;
}

static int get_head(struct wire *w, struct steps *s, struct sbx_error *err)
{
	uint32_t version;

	if (wire_get_u32(w, UINT32_MAX, &version, err) < 0)
		return -1;
	if (version != STEPS_VERSION)
		return bad(err, "version");
	if (get_field(w, s->require, sizeof s->require, err) < 0)
		return -1;
	for (size_t i = 0; i < STEPS_NAMESPACES; i++)
		if (wire_get_u64(w, &s->host_namespaces[i], err) < 0)
			return -1;
	if (wire_get_str(w, PATH_MAX, &s->cwd, err) < 0)
		return -1;
	if (strcmp(s->cwd, ".") != 0 && !is_path_below(s->cwd))
		return bad(err, "working directory");
	if (get_env(w, s, err) < 0 || wire_get_u64(w, &s->output_max, err) < 0 ||
	    wire_get_u64(w, &s->artifact_max, err) < 0 || wire_get_u64(w, &s->grace_ms, err) < 0)
		return -1;
	return s->grace_ms <= INT32_MAX ? 0 : bad(err, "grace");
}

/* How often NAME is an input or a product of the steps before END. */
static unsigned makers_of(const struct steps *s, const char *name, uint32_t end)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->input_count; i++)
		n += s->inputs[i].kind == INPUT_ARTIFACT && strcmp(s->inputs[i].name, name) == 0;
	for (uint32_t i = 0; i < end; i++)
		for (uint32_t j = 0; j < s->steps[i].produce_count; j++)
			n += strcmp(s->steps[i].produces[j].name, name) == 0;
	return n;
}

/* Every artefact is made once, and before the step that uses it: what was judged is what is used. */
static int check_artifacts(const struct steps *s, struct sbx_error *err)
{
	for (uint32_t i = 0; i < s->input_count; i++)
		if (s->inputs[i].kind == INPUT_ARTIFACT && makers_of(s, s->inputs[i].name, s->step_count) != 1)
			return bad(err, "artefact given twice");
	for (uint32_t i = 0; i < s->step_count; i++) {
		const struct step *step = &s->steps[i];
		for (uint32_t j = 0; j < step->produce_count; j++)
			if (makers_of(s, step->produces[j].name, s->step_count) != 1)
				return bad(err, "artefact made twice");
		for (uint32_t j = 0; j < step->argc; j++)
			if (step->argv[j].kind == SLOT_ARTIFACT && makers_of(s, step->argv[j].text, i) != 1)
				return bad(err, "artefact that nothing makes");
	}
	return 0;
}

/* They come first, and something comes after them: a run whose last step is a check would be refused or nothing. */
static int check_order(const struct steps *s, struct sbx_error *err)
{
	for (uint32_t i = 0; i < s->step_count; i++) {
		const struct step *step = &s->steps[i];
		if (!(step->flags & STEP_CHECK))
			continue;
		if (step->flags & STEP_ANALYSE || step->produce_count > 0 || i + 1 == s->step_count ||
		    (i > 0 && !(step[-1].flags & STEP_CHECK)))
			return bad(err, "place of a check");
	}
	return 0;
}

static int is_word(const struct slot *slot, const char *word)
{
	return slot->kind == SLOT_TEXT && strcmp(slot->text, word) == 0;
}

/* Whatever else a lock's ID were given to, or more than one of them, is no command that compares it. */
static int check_locks(const struct steps *s, struct sbx_error *err)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->step_count; i++) {
		const struct step *step = &s->steps[i];
		for (uint32_t j = 0; j < step->argc; j++) {
			if (step->argv[j].kind != SLOT_LOCK)
				continue;
			if (++n > 1 || j != 3 || step->argc != 4 || step->flags & ~(STEP_CHECK | STEP_CREDENTIALS) ||
			    !(step->flags & STEP_CHECK) || step->argv[j].text[0] != '\0' ||
			    !is_word(&step->argv[1], "force-unlock") || !is_word(&step->argv[2], "-force"))
				return bad(err, "place of a lock");
		}
	}
	return s->dead_count == 0 || n == 1 ? 0 : bad(err, "dead calls without a step for their locks");
}

static int decode(struct wire *w, struct steps *s, struct sbx_error *err)
{
	if (get_head(w, s, err) < 0 ||
	    get_array(w, MAX_INPUTS, sizeof *s->inputs, (void **)&s->inputs, &s->input_count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->input_count; i++)
		if (get_input(w, &s->inputs[i], err) < 0)
			return -1;
	if (get_array(w, MAX_PROGRAMS, sizeof *s->programs, (void **)&s->programs, &s->program_count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->program_count; i++)
		if (get_program(w, &s->programs[i], err) < 0)
			return -1;
	if (get_sealed(w, s, err) < 0 || get_dead(w, s, err) < 0)
		return -1;
	if (get_array(w, LIMIT_STEPS, sizeof *s->steps, (void **)&s->steps, &s->step_count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->step_count; i++)
		if (get_step(w, &s->steps[i], err) < 0)
			return -1;
	if (w->left != 0)
		return bad(err, "bytes behind it");
	return check_order(s, err) < 0 || check_locks(s, err) < 0 ? -1 : check_artifacts(s, err);
}

int steps_decode(const void *bytes, size_t len, struct steps *steps, struct sbx_error *err)
{
	struct wire w = {.p = bytes, .left = len};

	*steps = (struct steps){.cwd = NULL};
	if (decode(&w, steps, err) == 0)
		return 0;
	steps_clear(steps);
	return -1;
}
