/* The rules of a type. A plan has many objects of a few types, and a type is compared with every
 * pattern: what was found is kept. */
#include <stdlib.h>
#include <string.h>

#include "key_hash.h"
#include "signal_match_impl.h"

/* Whose types meet in one slot makes them slow, and nothing else: the seed need not be secret. */
static const struct key_seed seed = {{0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu}};

static size_t mark_bytes(const struct signal_matcher *m)
{
	return m->view.rule_count / 8 + 1;
}

static void mark_rules(struct signal_matcher *m, struct type_rules *of,
		       const struct signal_type *type)
{
	of->holds_data |= type->holds_data != 0;
	for (uint32_t i = 0; i < type->rules.count; i++) {
		uint32_t rule = m->view.lists[type->rules.first + i];
		m->marks[rule / 8] |= (unsigned char)(1u << rule % 8);
	}
}

static void mark_rules_of(struct signal_matcher *m, struct type_rules *of, const char *type,
			  size_t len)
{
	const struct signal_type *exact = signal_find_type(&m->view, type, len);

	of->holds_data = 0;
	if (exact != NULL)
		mark_rules(m, of, exact);
	for (uint32_t i = 0; i < m->view.glob_count; i++) {
		const struct signal_type *glob = &m->view.globs[i];
		const char first = m->view.text[glob->name.at];
		/* Most are of another provider. */
		if (first != '*' && first != '\\' && (len == 0 || first != type[0]))
			continue;
		if (signal_glob(m->view.text + glob->name.at, glob->name.len, type, len,
				SIGNAL_EXACT_CASE))
			mark_rules(m, of, glob);
	}
}

/* The marks as a list in the order of the table. */
static int list_marked(struct signal_matcher *m, struct type_rules *of)
{
	uint32_t count = 0;

	for (size_t i = 0; i < mark_bytes(m); i++)
		count += (uint32_t)__builtin_popcount(m->marks[i]);
	uint32_t *rules = reallocarray(of->rules, count + 1, sizeof *rules);
	if (rules == NULL) {
		m->failed = 1;
		return sbx_fail(m->err, SBX_OS, "no_memory", "out of memory");
	}
	of->rules = rules;
	of->count = 0;
	for (uint32_t i = 0; i < m->view.rule_count; i++)
		if ((m->marks[i / 8] >> i % 8 & 1) != 0)
			rules[of->count++] = i;
	return 0;
}

const struct type_rules *type_rules_of(struct signal_matcher *m, const char *type, size_t len)
{
	struct type_rules *of = &m->types[key_hash(&seed, 0, type, len) % TYPE_SLOTS];

	if (of->type_len == len && len > 0 && memcmp(of->type, type, len) == 0)
		return of;
	of->type_len = 0;
	memset(m->marks, 0, mark_bytes(m));
	mark_rules_of(m, of, type, len);
	if (list_marked(m, of) < 0)
		return NULL;
	if (len <= sizeof of->type) {
		memcpy(of->type, type, len);
		of->type_len = len;
	}
	return of;
}

int type_rules_init(struct signal_matcher *m)
{
	m->marks = calloc(mark_bytes(m), 1);
	return m->marks == NULL ? -1 : 0;
}

void type_rules_clear(struct signal_matcher *m)
{
	free(m->marks);
	for (size_t i = 0; i < TYPE_SLOTS; i++)
		free(m->types[i].rules);
}
