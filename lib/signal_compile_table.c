/* A table in the making: sections that grow, and their block. */
#include <string.h>

#include "digest.h"
#include "signal_compile_impl.h"

void draft_init(struct signal_draft *draft)
{
	*draft = (struct signal_draft){
		.rules = BUF_INIT(SIGNAL_TABLE_MAX),
		.conditions = BUF_INIT(SIGNAL_TABLE_MAX),
		.steps = BUF_INIT(SIGNAL_TABLE_MAX),
		.values = BUF_INIT(SIGNAL_TABLE_MAX),
		.texts = BUF_INIT(SIGNAL_TABLE_MAX),
		.uses = BUF_INIT(SIGNAL_TABLE_MAX),
		.interned = jv_object(),
	};
}

void draft_clear(struct signal_draft *draft)
{
	buf_clear(&draft->rules);
	buf_clear(&draft->conditions);
	buf_clear(&draft->steps);
	buf_clear(&draft->values);
	buf_clear(&draft->texts);
	buf_clear(&draft->uses);
	jv_free(draft->interned);
	draft->interned = jv_invalid();
}

uint32_t draft_count(const struct buf *section, size_t size)
{
	return (uint32_t)(section->len / size);
}

int draft_add(struct buf *section, const void *entry, size_t size, uint32_t *index,
	      struct sbx_error *err)
{
	if (index != NULL)
		*index = draft_count(section, size);
	if (buf_add(section, entry, size, err) == 0)
		return 0;
	if (err->class == SBX_BAD_REQUEST)
		*err = (struct sbx_error)SBX_ERROR_INIT;
	return sbx_fail(err, SBX_CONFIG, "policy_invalid",
			"the signals of the policy are too many for one table");
}

int draft_text(struct signal_draft *draft, const char *text, size_t len, struct signal_text *out,
	       struct sbx_error *err)
{
	int64_t known;

	out->len = (uint32_t)len;
	if (json_int(draft->interned, text, &known) == 0) {
		out->at = (uint32_t)known;
		return 0;
	}
	out->at = (uint32_t)draft->texts.len;
	if (draft_add(&draft->texts, text, len, NULL, err) < 0 ||
	    draft_add(&draft->texts, "", 1, NULL, err) < 0)
		return -1;
	draft->interned = json_set_int(take_jv(&draft->interned), text, (int64_t)out->at);
	return 0;
}

int draft_value(struct signal_draft *draft, jv value, struct sbx_error *err)
{
	struct signal_value entry = {.kind = SIGNAL_WORD};
	auto_buf digits = BUF_INIT(64);
	const char *text = json_text(value);

	if (jv_get_kind(value) == JV_KIND_NUMBER) {
		entry.kind = SIGNAL_NUMBER;
		if (json_write(value, &digits, err) < 0)
			return -1;
		text = buf_str(&digits);
	} else if (text == NULL) {
		text = jv_get_kind(value) == JV_KIND_TRUE ? "true" : "false";
	}
	if (draft_text(draft, text, strlen(text), &entry.text, err) < 0)
		return -1;
	return draft_add(&draft->values, &entry, sizeof entry, NULL, err);
}

int draft_use(struct signal_draft *draft, const char *type, uint32_t rule, struct sbx_error *err)
{
	struct signal_use use = {.rule = rule};

	if (draft_text(draft, type, strlen(type), &use.type, err) < 0)
		return -1;
	return draft_add(&draft->uses, &use, sizeof use, NULL, err);
}

static int compare_uses(const void *a, const void *b, void *context)
{
	const struct signal_use *x = a, *y = b;
	const char *text = context;
	int order = strcmp(text + x->type.at, text + y->type.at);

	return order != 0 ? order : (x->rule > y->rule) - (x->rule < y->rule);
}

/* The entry of the type that the uses FIRST to END name. */
static int add_type(const struct signal_use *first, const struct signal_use *end, const char *text,
		    struct buf *types, struct buf *globs, struct buf *lists, struct sbx_error *err)
{
	struct signal_type type = {.name = first->type,
				   .rules.first = draft_count(lists, sizeof(uint32_t))};

	for (const struct signal_use *use = first; use < end; use++) {
		if (use->rule == SIGNAL_HOLDS_DATA)
			type.holds_data = 1;
		else if (draft_add(lists, &use->rule, sizeof use->rule, NULL, err) < 0)
			return -1;
	}
	type.rules.count = draft_count(lists, sizeof(uint32_t)) - type.rules.first;
	struct buf *section = type_is_pattern(text + type.name.at) ? globs : types;
	return draft_add(section, &type, sizeof type, NULL, err);
}

static int add_types(struct signal_draft *draft, struct buf *types, struct buf *globs,
		     struct buf *lists, struct sbx_error *err)
{
	uint32_t count = draft_count(&draft->uses, sizeof(struct signal_use)), end;
	struct signal_use *uses = (void *)draft->uses.data;
	char *text = draft->texts.data;

	if (count > 0)
		qsort_r(uses, count, sizeof *uses, compare_uses, text);
	for (uint32_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && uses[end].type.at == uses[i].type.at;)
			end++;
		if (add_type(uses + i, uses + end, text, types, globs, lists, err) < 0)
			return -1;
	}
	return 0;
}

static int add_sections(const struct buf *const sections[SIGNAL_SECTIONS], struct buf *block,
			struct sbx_error *err)
{
	static const size_t sizes[SIGNAL_SECTIONS] = {
		[SIGNAL_TYPES] = sizeof(struct signal_type),
		[SIGNAL_GLOBS] = sizeof(struct signal_type),
		[SIGNAL_LISTS] = sizeof(uint32_t),
		[SIGNAL_RULES] = sizeof(struct signal_rule),
		[SIGNAL_CONDITIONS] = sizeof(struct signal_condition),
		[SIGNAL_PATHS] = sizeof(struct signal_step),
		[SIGNAL_VALUES] = sizeof(struct signal_value),
		[SIGNAL_TEXTS] = 1,
	};
	struct signal_head head = {.magic = SIGNAL_MAGIC,
				   .order = SIGNAL_ORDER,
				   .version = SIGNAL_VERSION,
				   .size = sizeof head};
	const size_t hashed = offsetof(struct signal_head, sections);

	for (size_t i = 0; i < SIGNAL_SECTIONS; i++) {
		head.sections[i].at = head.size;
		head.sections[i].count = draft_count(sections[i], sizes[i]);
		head.size += (uint32_t)sections[i]->len;
	}
	if (draft_add(block, &head, sizeof head, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < SIGNAL_SECTIONS; i++)
		if (draft_add(block, buf_str(sections[i]), sections[i]->len, NULL, err) < 0)
			return -1;
	digest_sha256(block->data + hashed, block->len - hashed,
		      (unsigned char *)block->data + offsetof(struct signal_head, sha256));
	return 0;
}

int draft_finish(struct signal_draft *draft, struct buf *out, struct sbx_error *err)
{
	auto_buf types = BUF_INIT(SIGNAL_TABLE_MAX), globs = BUF_INIT(SIGNAL_TABLE_MAX),
		 lists = BUF_INIT(SIGNAL_TABLE_MAX), block = BUF_INIT(SIGNAL_TABLE_MAX);

	if (add_types(draft, &types, &globs, &lists, err) < 0)
		return -1;
	const struct buf *const sections[SIGNAL_SECTIONS] = {
		[SIGNAL_TYPES] = &types,
		[SIGNAL_GLOBS] = &globs,
		[SIGNAL_LISTS] = &lists,
		[SIGNAL_RULES] = &draft->rules,
		[SIGNAL_CONDITIONS] = &draft->conditions,
		[SIGNAL_PATHS] = &draft->steps,
		[SIGNAL_VALUES] = &draft->values,
		[SIGNAL_TEXTS] = &draft->texts,
	};
	if (add_sections(sections, &block, err) < 0)
		return -1;
	return buf_add(out, block.data, block.len, err);
}
