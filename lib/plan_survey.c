/* The first pass: version, members, kinds; and the sets that the second pass asks. */
#include "plan_survey.h"

#include <stdlib.h>
#include <string.h>

#include "plan_config.h"
#include "plan_entries.h"

/* A managed object of planned_values or prior_state, until the whole of resource_changes is known. */
struct object {
	uint64_t address;
	unsigned line, column;
};

struct objects {
	struct object *items; /* owned */
	size_t count, cap;
};

struct first_pass {
	struct plan_scan *s;
	struct plan_survey *survey;
	struct objects planned, prior;
	unsigned seen; /* bits of enum top */
};

enum top {
	TOP_FORMAT_VERSION,
	TOP_TERRAFORM_VERSION,
	TOP_ERRORED,
	TOP_COMPLETE,
	TOP_APPLYABLE,
	TOP_PLANNED_VALUES,
	TOP_PRIOR_STATE,
	TOP_RESOURCE_CHANGES,
	TOP_DEFERRED_CHANGES,
	TOP_CONFIGURATION,
	TOP_VALUES,
};
static const char *const top_names[] = {
	"format_version", "terraform_version", "errored",	   "complete",	    "applyable", "planned_values",
	"prior_state",	  "resource_changes",  "deferred_changes", "configuration", "values",
};

static int add_object(struct objects *objects, const struct plan_scan *s, uint64_t address, struct sbx_error *err)
{
	if (objects->count == objects->cap) {
		size_t cap = objects->cap ? objects->cap * 2 : 64;
		struct object *grown = realloc(objects->items, cap * sizeof *grown);
		if (grown == NULL)
			return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		objects->items = grown;
		objects->cap = cap;
	}
	struct object *object = &objects->items[objects->count++];
	object->address = address;
	json_lex_place(s->lex, &object->line, &object->column);
	return 0;
}

/* The address and the mode of a resource, wherever they stand; what follows both is passed over at once. */
static int read_names(struct plan_scan *s, uint64_t *address, int *data, struct sbx_error *err)
{
	unsigned depth = json_lex_depth(s->lex) - 1;
	int key, has_mode = 0;

	while ((key = plan_key(s, err)) == 1) {
		int is_address = plan_is(s, "address"), is_mode = plan_is(s, "mode");
		if (!is_address && !is_mode) {
			if (plan_skip(s, err) < 0)
				return -1;
			continue;
		}
		if (plan_expect(s, JSON_STRING, "an address or mode that is no string", err) < 0)
			return -1;
		if (is_address)
			*address = plan_hash(s, PLAN_HASH_ADDRESS);
		else
			*data = plan_is(s, "data");
		has_mode |= is_mode;
		if (has_mode && *address != 0)
			return json_lex_skip_to(s->lex, depth, err);
	}
	return key;
}

/* One resource of a state or of planned values; its { was read. What is no data source counts as managed. */
static int read_object(struct first_pass *pass, struct objects *objects, struct sbx_error *err)
{
	uint64_t address = 0;
	int data = 0;

	if (read_names(pass->s, &address, &data, err) < 0)
		return -1;
	if (data)
		return 0;
	if (address == 0)
		return plan_refuse(pass->s, "plan_malformed", "an object without an address", err);
	return add_object(objects, pass->s, address, err);
}

/* A module of a state or of planned values; its { was read. Recursion is bounded by the depth of the text. */
static int read_module(struct first_pass *pass, struct objects *objects, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	int key, element = 0;

	while ((key = plan_key(s, err)) == 1) {
		int resources = plan_is(s, "resources");
		if (!resources && !plan_is(s, "child_modules")) {
			if (plan_skip(s, err) < 0)
				return -1;
			continue;
		}
		if (plan_expect(s, JSON_ARRAY_OPEN, "resources or modules that are no array", err) < 0)
			return -1;
		while ((element = plan_element(s, err)) == 1) {
			if (s->token != JSON_OBJECT_OPEN)
				return plan_refuse(s, "plan_kind", "a resource or module that is no object", err);
			if ((resources ? read_object(pass, objects, err) : read_module(pass, objects, err)) < 0)
				return -1;
		}
		if (element < 0)
			return -1;
	}
	return key;
}

/* Values: an object with root_module, in planned_values itself and in prior_state.values. */
static int read_values(struct first_pass *pass, struct objects *objects, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	int key;

	if (plan_expect(s, JSON_OBJECT_OPEN, "values that are no object", err) < 0)
		return -1;
	while ((key = plan_key(s, err)) == 1) {
		if (!plan_is(s, "root_module")) {
			if (plan_skip(s, err) < 0)
				return -1;
			continue;
		}
		if (plan_expect(s, JSON_OBJECT_OPEN, "a root module that is no object", err) < 0 ||
		    read_module(pass, objects, err) < 0)
			return -1;
	}
	return key;
}

static int read_prior_state(struct first_pass *pass, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	int key;

	if (plan_expect(s, JSON_OBJECT_OPEN, "a prior_state that is no object", err) < 0)
		return -1;
	while ((key = plan_key(s, err)) == 1)
		if ((plan_is(s, "values") ? read_values(pass, &pass->prior, err) : plan_skip(s, err)) < 0)
			return -1;
	return key;
}

/* "0.1", "0.2" and "1." with a number: a new minor version only adds members (Terraform's own rule); a new major one
 * may mean anything. */
static int known_version(const char *text, size_t len)
{
	if (len >= PLAN_VERSION_SIZE || strlen(text) != len)
		return 0;
	if (strcmp(text, "0.1") == 0 || strcmp(text, "0.2") == 0)
		return 1;
	return len > 2 && memcmp(text, "1.", 2) == 0 && strspn(text + 2, "0123456789") == len - 2;
}

static int read_versions(struct first_pass *pass, enum top top, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;

	if (plan_expect(s, JSON_STRING, "a version that is no string", err) < 0)
		return -1;
	if (top == TOP_FORMAT_VERSION) {
		if (!known_version(s->text, s->len)) {
			plan_refuse(s, "plan_version", "a plan format of an unknown version", err);
			return sbx_hint(err, "known are 0.1, 0.2 and 1.*");
		}
		memcpy(pass->survey->format_version, s->text, s->len + 1);
	} else if (s->len < PLAN_TOOL_VERSION_SIZE && strlen(s->text) == s->len) {
		memcpy(pass->survey->terraform_version, s->text, s->len + 1);
	} else {
		return plan_refuse(s, "plan_malformed", "a terraform_version that is too long", err);
	}
	return 0;
}

static int read_top(struct first_pass *pass, int top, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	int ignored;

	switch (top) {
	case TOP_FORMAT_VERSION:
	case TOP_TERRAFORM_VERSION:
		return read_versions(pass, (enum top)top, err);
	case TOP_ERRORED:
		return plan_bool(s, &pass->survey->errored, "an errored that is no truth value", err);
	case TOP_COMPLETE:
		return plan_bool(s, &pass->survey->complete, "a complete that is no truth value", err);
	case TOP_APPLYABLE:
		return plan_bool(s, &ignored, "an applyable that is no truth value", err);
	case TOP_PLANNED_VALUES:
		return read_values(pass, &pass->planned, err);
	case TOP_PRIOR_STATE:
		return read_prior_state(pass, err);
	case TOP_RESOURCE_CHANGES:
		return plan_entries_read(s, pass->survey, err);
	case TOP_DEFERRED_CHANGES:
		return plan_entries_read_deferred(s, pass->survey, err);
	case TOP_CONFIGURATION:
		return plan_config_read(s, pass->survey, err);
	default:
		return plan_skip(s, err);
	}
}

static int has(const struct first_pass *pass, enum top top)
{
	return (pass->seen >> top & 1) != 0;
}

/* The document is read; what it must have, and what its parts must say of each other. */
static int check_whole(struct first_pass *pass, struct sbx_error *err)
{
	struct plan_survey *survey = pass->survey;

	if (!has(pass, TOP_FORMAT_VERSION))
		return sbx_fail(err, SBX_BAD_REQUEST, "plan_version", "the document names no plan format version");
	if (has(pass, TOP_VALUES)) {
		sbx_fail(err, SBX_BAD_REQUEST, "plan_is_state", "this is a state, not a plan");
		return sbx_hint(err, "terraform show -json needs the name of a plan file");
	}
	if (!has(pass, TOP_PLANNED_VALUES) || !has(pass, TOP_CONFIGURATION))
		return sbx_fail(err, SBX_BAD_REQUEST, "plan_member",
				"the document has no planned_values or no configuration");
	for (size_t i = 0; i < pass->planned.count; i++) {
		const struct object *object = &pass->planned.items[i];
		if (!hash_set_has(&survey->listed, object->address))
			return sbx_fail(err, SBX_BAD_REQUEST, "plan_unlisted",
					"a planned object that no change names at %u:%u", object->line, object->column);
	}
	for (size_t i = 0; i < pass->prior.count; i++)
		survey->unlisted += !hash_set_has(&survey->listed, pass->prior.items[i].address);
	return 0;
}

static int read_document(struct first_pass *pass, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	int key;

	if (plan_expect(s, JSON_OBJECT_OPEN, "a plan that is no object", err) < 0)
		return -1;
	while ((key = plan_key(s, err)) == 1) {
		int top = plan_name(s, top_names, ARRAY_LEN(top_names));
		if (top >= 0)
			pass->seen |= 1u << top;
		uint64_t begin = json_lex_offset(s->lex);
		if (read_top(pass, top, err) < 0 || plan_note_span(s, &pass->survey->spans, begin, err) < 0)
			return -1;
	}
	if (key < 0 || plan_expect(s, JSON_END, "more than one value", err) < 0)
		return -1;
	return check_whole(pass, err);
}

int plan_survey_read(struct plan_scan *s, struct plan_survey *survey, struct sbx_error *err)
{
	struct first_pass pass = {.s = s, .survey = survey};

	survey->complete = 1;
	int result = read_document(&pass, err);
	free(pass.planned.items);
	free(pass.prior.items);
	return result;
}

void plan_survey_clear(struct plan_survey *survey)
{
	plan_list_clear(&survey->spans);
	plan_list_clear(&survey->quiet);
	hash_set_clear(&survey->listed);
	hash_set_clear(&survey->configured);
	hash_set_clear(&survey->provisioned);
	hash_set_clear(&survey->named);
	hash_set_clear(&survey->blocks);
	hash_set_clear(&survey->referring);
	hash_set_clear(&survey->opaque);
	hash_set_clear(&survey->above_referring);
	hash_set_clear(&survey->sensitive_outputs);
	hash_set_clear(&survey->sensitive_inputs);
}
