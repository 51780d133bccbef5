/* Opening a signal table: everything that the matcher relies on is checked here, once. */
#include "signal_table.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "digest.h"
#include "plan_verdict.h"
#include "signal_format.h"
#include "signal_match.h"

static const size_t entry_sizes[SIGNAL_SECTIONS] = {
	sizeof(struct signal_type),
	sizeof(struct signal_type),
	sizeof(uint32_t),
	sizeof(struct signal_rule),
	sizeof(struct signal_condition),
	sizeof(struct signal_step),
	sizeof(struct signal_value),
	1,
};

_Static_assert((int)SIGNAL_STEPS == (int)PLAN_PLACES,
	       "a path has as many steps as a hit has places");

/* A table under check. */
struct check {
	const struct signal_head *head;
	struct signal_view view;
	struct sbx_error *err;
};

static int invalid(struct sbx_error *err, const char *what)
{
	sbx_fail(err, SBX_CONFIG, "signals_invalid", "the table of signals cannot be used: %s",
		 what);
	return sbx_hint(err, "sbx-policy signals of the same version makes one; in a state directory remove cache/, and the next "
			     "call makes it again");
}

static const void *section(const struct signal_head *head, enum signal_section which)
{
	return (const char *)head + head->sections[which].at;
}

static struct signal_view view_of(const struct signal_head *head)
{
	return (struct signal_view){
		.types = section(head, SIGNAL_TYPES),
		.globs = section(head, SIGNAL_GLOBS),
		.lists = section(head, SIGNAL_LISTS),
		.rules = section(head, SIGNAL_RULES),
		.conditions = section(head, SIGNAL_CONDITIONS),
		.steps = section(head, SIGNAL_PATHS),
		.values = section(head, SIGNAL_VALUES),
		.text = section(head, SIGNAL_TEXTS),
		.type_count = head->sections[SIGNAL_TYPES].count,
		.glob_count = head->sections[SIGNAL_GLOBS].count,
		.rule_count = head->sections[SIGNAL_RULES].count,
	};
}

struct signal_view signal_view(const struct signal_table *table)
{
	return table->block == NULL ? (struct signal_view){.types = NULL} : view_of(table->block);
}

static int check_head(const void *block, size_t size, struct sbx_error *err)
{
	const struct signal_head *head = block;
	unsigned char sum[DIGEST_SIZE];
	const size_t hashed = offsetof(struct signal_head, sections);

	if (size < sizeof *head || size > SIGNAL_TABLE_MAX ||
	    (uintptr_t)block % _Alignof(struct signal_head) != 0)
		return invalid(err, "it has no possible size");
	if (memcmp(head->magic, SIGNAL_MAGIC, sizeof head->magic) != 0)
		return invalid(err, "it is no such table");
	if (head->order != SIGNAL_ORDER)
		return invalid(err, "it was made on a machine of another byte order");
	if (head->version != SIGNAL_VERSION)
		return invalid(err, "it has another version");
	if (head->size != size)
		return invalid(err, "it is not complete");
	digest_sha256((const char *)block + hashed, size - hashed, sum);
	if (memcmp(sum, head->sha256, sizeof sum) != 0)
		return invalid(err, "its digest is wrong");
	return 0;
}

/* One behind the other, from the head to the end. */
static int check_sections(const struct signal_head *head, struct sbx_error *err)
{
	uint64_t at = sizeof *head;

	for (size_t i = 0; i < SIGNAL_SECTIONS; i++) {
		if (head->sections[i].at != at)
			return invalid(err, "a section is not in its place");
		at += (uint64_t)head->sections[i].count * entry_sizes[i];
		if (at > head->size)
			return invalid(err, "a section is too long");
	}
	return at == head->size ? 0 : invalid(err, "there is something behind its end");
}

static int has_range(const struct check *c, struct signal_range range, enum signal_section which)
{
	uint32_t count = c->head->sections[which].count;

	return range.first <= count && range.count <= count - range.first;
}

static int has_text(const struct check *c, struct signal_text text)
{
	uint32_t size = c->head->sections[SIGNAL_TEXTS].count;

	return text.at < size && text.len < size - text.at &&
	       c->view.text[text.at + text.len] == '\0';
}

/* A text that is handed out as a C string. */
static int has_string(const struct check *c, struct signal_text text)
{
	return has_text(c, text) && memchr(c->view.text + text.at, '\0', text.len) == NULL;
}

static int compare_names(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static int check_types(const struct check *c, const struct signal_type *types, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct signal_type *type = &types[i], *last = &types[i == 0 ? 0 : i - 1];
		if (!has_text(c, type->name) || !has_range(c, type->rules, SIGNAL_LISTS) ||
		    type->holds_data > 1)
			return invalid(c->err, "a type");
		if (i > 0 && compare_names(c->view.text + last->name.at, last->name.len,
					   c->view.text + type->name.at, type->name.len) >= 0)
			return invalid(c->err, "types are not in order");
	}
	return 0;
}

static int check_entries(const struct check *c)
{
	for (uint32_t i = 0; i < c->head->sections[SIGNAL_LISTS].count; i++)
		if (c->view.lists[i] >= c->view.rule_count)
			return invalid(c->err, "a rule that is not there");
	for (uint32_t i = 0; i < c->head->sections[SIGNAL_PATHS].count; i++)
		if (c->view.steps[i].kind > SIGNAL_JSON || !has_text(c, c->view.steps[i].name))
			return invalid(c->err, "a step of a path");
	for (uint32_t i = 0; i < c->head->sections[SIGNAL_VALUES].count; i++)
		if (c->view.values[i].kind > SIGNAL_NUMBER || !has_text(c, c->view.values[i].text))
			return invalid(c->err, "a value");
	return 0;
}

static uint32_t count_documents(const struct check *c, struct signal_range path)
{
	uint32_t documents = 0;

	for (uint32_t i = 0; i < path.count; i++)
		documents += c->view.steps[path.first + i].kind == SIGNAL_JSON;
	return documents;
}

/* Values that are held while others are looked at must stand in one document at most. */
static int names_one_document(const struct check *c, struct signal_range path)
{
	uint32_t many = 0;

	for (uint32_t i = 0; i < path.count; i++) {
		uint32_t kind = c->view.steps[path.first + i].kind;
		many |= kind == SIGNAL_ELEMENTS || kind == SIGNAL_MEMBERS;
		if (kind == SIGNAL_JSON && many)
			return 0;
	}
	return 1;
}

static int check_each(const struct check *c, const struct signal_rule *rule)
{
	return has_range(c, rule->each, SIGNAL_PATHS) && rule->each.count <= SIGNAL_STEPS &&
			       has_range(c, rule->key, SIGNAL_VALUES) &&
			       names_one_document(c, rule->each) &&
			       count_documents(c, rule->each) <= SIGNAL_DOCUMENTS
		       ? 0
		       : -1;
}

static int check_test(const struct check *c, const struct signal_rule *rule,
		      const struct signal_condition *test)
{
	if (test->test >= SIGNAL_TESTS || !has_range(c, test->path, SIGNAL_PATHS) ||
	    !has_range(c, test->values, SIGNAL_VALUES) ||
	    test->path.count > SIGNAL_STEPS - rule->each.count)
		return -1;
	if (count_documents(c, rule->each) + count_documents(c, test->path) > SIGNAL_DOCUMENTS)
		return -1;
	if (test->test == SIGNAL_APPEARS && !names_one_document(c, test->path))
		return -1;
	return (test->test == SIGNAL_BELOW || test->test == SIGNAL_ABOVE) && test->values.count != 1
		       ? -1
		       : 0;
}

/* The condition of RULE, which begins at FIRST; *END gets the index behind it. */
static int check_condition(const struct check *c, const struct signal_rule *rule, uint32_t first,
			   uint32_t *end)
{
	const struct signal_condition *all = c->view.conditions;
	uint32_t count = c->head->sections[SIGNAL_CONDITIONS].count, open[SIGNAL_DEPTH], depth = 0;

	if (rule->when != first || first >= count || all[first].end > count)
		return -1;
	*end = all[first].end;
	for (uint32_t i = first; i < *end; i++) {
		while (depth > 0 && open[depth - 1] == i)
			depth--;
		uint32_t limit = depth > 0 ? open[depth - 1] : *end;
		if (all[i].kind > SIGNAL_WAS || all[i].end <= i || all[i].end > limit)
			return -1;
		if (all[i].kind < SIGNAL_AT && depth == SIGNAL_DEPTH)
			return -1;
		if (all[i].kind < SIGNAL_AT)
			open[depth++] = all[i].end;
		else if (all[i].end != i + 1 || check_test(c, rule, &all[i]) < 0)
			return -1;
	}
	return *end > first ? 0 : -1;
}

static int check_rules(const struct check *c)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < c->view.rule_count; i++) {
		const struct signal_rule *rule = &c->view.rules[i];
		if (!has_string(c, rule->signal) || !has_string(c, rule->text) ||
		    rule->relative > 1 ||
		    (rule->verdict != PLAN_REVIEW && rule->verdict != PLAN_DESTRUCTIVE) ||
		    check_each(c, rule) < 0)
			return invalid(c->err, "a rule");
		if (rule->when != SIGNAL_ALWAYS && check_condition(c, rule, next, &next) < 0)
			return invalid(c->err, "a condition");
	}
	return next == c->head->sections[SIGNAL_CONDITIONS].count
		       ? 0
		       : invalid(c->err, "a condition of no rule");
}

int signal_table_use(const void *block, size_t size, struct signal_table *table,
		     struct sbx_error *err)
{
	if (check_head(block, size, err) < 0 || check_sections(block, err) < 0)
		return -1;
	const struct check c = {.head = block, .view = view_of(block), .err = err};
	if (check_types(&c, c.view.types, c.view.type_count) < 0 ||
	    check_types(&c, c.view.globs, c.view.glob_count) < 0 || check_entries(&c) < 0 ||
	    check_rules(&c) < 0)
		return -1;
	*table = (struct signal_table){.block = block, .size = size};
	return 0;
}

static int read_block(int fd, char *block, size_t size, struct sbx_error *err)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pread(fd, block + done, size - done, (off_t)done);
		if (n < 0 && errno != EINTR)
			return sbx_fail_errno(err, SBX_OS, "os_error",
					      "cannot read the table of signals");
		if (n == 0)
			return invalid(err, "it is not complete");
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int signal_table_map(int fd, struct signal_table *table, struct sbx_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error",
				      "cannot look at the table of signals");
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct signal_head) ||
	    st.st_size > (off_t)SIGNAL_TABLE_MAX)
		return invalid(err, "it has no possible size");
	auto_free char *block = malloc((size_t)st.st_size);
	if (block == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (read_block(fd, block, (size_t)st.st_size, err) < 0 ||
	    signal_table_use(block, (size_t)st.st_size, table, err) < 0)
		return -1;
	table->owned = take_ptr(&block);
	return 0;
}

void signal_table_close(struct signal_table *table)
{
	free(table->owned);
	*table = (struct signal_table){.block = NULL};
}

const struct signal_type *signal_find_type(const struct signal_view *view, const char *type,
					   size_t len)
{
	uint32_t from = 0, to = view->type_count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		const struct signal_type *found = &view->types[middle];
		int order = compare_names(view->text + found->name.at, found->name.len, type, len);
		if (order == 0)
			return found;
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}
