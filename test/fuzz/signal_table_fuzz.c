/* Tables of signals: never a crash, neither when one is opened nor when it is asked of a change,
 * whatever its bytes. The digest is made right, or nothing behind it would be reached. */
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "signal_format.h"
#include "signal_match.h"

/* With names that the rules of this tree ask for, so that a table made of them leads somewhere. */
static const char before[] = "{\"ingress\":[{\"from_port\":1,\"cidr_blocks\":[\"0.0.0.0/"
			     "0\"]},{\"from_port\":2,\"cidr_blocks\":null}],"
			     "\"policy\":\"{\\\"Statement\\\":[{\\\"Effect\\\":\\\"Deny\\\"}]}\","
			     "\"replicas\":\"5\",\"spec\":[{\"replicas\":3}]}";
static const char after[] =
	"{\"ingress\":[{\"from_port\":1,\"cidr_blocks\":[\"::/0\"]},{\"cidr_blocks\":[null]},{}],"
	"\"policy\":\"{\\\"Statement\\\":{\\\"Effect\\\":\\\"Allow\\\",\\\"Action\\\":[\\\"*\\\"],"
	"\\\"Resource\\\":\\\"*\\\"}}\","
	"\"replicas\":\"4\",\"spec\":[{\"replicas\":0}]}";
static const char unknown[] =
	"{\"ingress\":[{},{\"from_port\":true,\"cidr_blocks\":[true]}],\"name\":true}";

static int look(void *context, const struct signal_hit *hit, struct sbx_error *err)
{
	size_t *total = context;

	(void)err;
	*total += strlen(hit->signal) + strlen(hit->text) + hit->place_count;
	if (hit->place_count > PLAN_PLACES)
		abort();
	return 0;
}

static void parse(struct plan_tree *tree, const char *text)
{
	struct sbx_error err = SBX_ERROR_INIT;

	plan_tree_init(tree);
	if (plan_tree_parse(tree, text, strlen(text), &err) < 0)
		abort();
}

static void ask(struct signal_matcher *matcher, const char *type, size_t len,
		enum signal_action action)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct plan_tree trees[3];
	size_t total = 0;

	parse(&trees[0], before);
	parse(&trees[1], after);
	parse(&trees[2], unknown);
	const struct signal_subject subject = {
		.type = type,
		.type_len = len,
		.action = action,
		.before = action == SIGNAL_ON_CREATE ? NULL : &trees[0],
		.after = action == SIGNAL_ON_DELETE ? NULL : &trees[1],
		.unknown = &trees[2],
	};
	if (signal_match(matcher, &subject, look, &total, &err) < 0)
		abort();
	for (size_t i = 0; i < ARRAY_LEN(trees); i++)
		plan_tree_clear(&trees[i]);
}

/* Objects of a few of the types that the table itself names. */
static void ask_types(struct signal_matcher *matcher, const struct signal_view *view,
		      const struct signal_type *types, uint32_t count)
{
	static const uint32_t types_max = 4;

	for (uint32_t i = 0; i < count && i < types_max; i++) {
		const char *name = view->text + types[i].name.at;
		ask(matcher, name, types[i].name.len, SIGNAL_ON_CREATE);
		ask(matcher, name, types[i].name.len, SIGNAL_ON_UPDATE);
		ask(matcher, name, types[i].name.len, SIGNAL_ON_DELETE);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t hashed = offsetof(struct signal_head, sections);
	struct sbx_error err = SBX_ERROR_INIT;
	struct signal_table table = {.block = NULL};
	auto_free unsigned char *block = malloc(size + 1);

	memcpy(block, data, size);
	if (size >= sizeof(struct signal_head)) {
		struct signal_head *head = (void *)block;
		memcpy(head->magic, SIGNAL_MAGIC, sizeof head->magic);
		head->order = SIGNAL_ORDER;
		head->version = SIGNAL_VERSION;
		head->size = (uint32_t)size;
		digest_sha256(block + hashed, size - hashed, head->sha256);
	}
	if (signal_table_use(block, size, &table, &err) < 0) {
		if (strcmp(err.code, "signals_invalid") != 0)
			abort();
		return 0;
	}
	const struct signal_view view = signal_view(&table);
	struct signal_matcher *matcher = signal_matcher_new(&table, &err);
	signal_matcher_holds_data(matcher, "t", 1, &err);
	ask_types(matcher, &view, view.types, view.type_count);
	ask_types(matcher, &view, view.globs, view.glob_count);
	signal_matcher_free(matcher);
	return 0;
}
