/* OpenTofu's internal/configs/parser_config_dir.go: the name of the one file is that of the other with "tofu" for "tf". */
#include "tf_reader.h"

#include <linux/limits.h>
#include <stdio.h>
#include <string.h>

#include "tf_file.h"
#include "tree.h"

static const struct {
	const char *terraform, *tofu;
} endings[] = {
	{".tf", ".tofu"},
	{".tf.json", ".tofu.json"},
	{".tftest.hcl", ".tofutest.hcl"},
	{".tftest.json", ".tofutest.json"},
};

/* The length of NAME without ENDING, 0 when it has another one. */
static size_t before(const char *name, const char *ending)
{
	size_t len = strlen(name), end = strlen(ending);

	return len > end && strcmp(name + len - end, ending) == 0 ? len - end : 0;
}

static int is_tofu(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (before(name, endings[i].tofu) > 0)
			return name[0] != '.';
	return 0;
}

static int take_name(void *context, const char *name, const char *bytes, size_t len, struct sbx_error *err)
{
	jv *names = context;

	(void)bytes;
	(void)len;
	(void)err;
	*names = json_append(take_jv(names), jv_string(name));
	return 0;
}

int tf_reader_names(int tree_fd, uint64_t size, const char *dir, jv *names, struct sbx_error *err)
{
	auto_jv found = jv_array();
	const struct tree_taker taker = {.wanted = is_tofu, .take = take_name, .context = &found, .max = 0};

	if (tree_each(tree_fd, size, dir, &taker, err) < 0)
		return -1;
	*names = take_jv(&found);
	return 0;
}

enum tf_reader tf_reader_of(const char *name, jv names)
{
	char instead[NAME_MAX + 8];

	if (is_tofu(name))
		return TF_READ_BY_TOFU;
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		size_t base = before(name, endings[i].terraform);
		if (base == 0 || snprintf(instead, sizeof instead, "%.*s%s", (int)base, name, endings[i].tofu) >= (int)sizeof instead)
			continue;
		for (int k = 0, n = json_length(names); k < n; k++) {
			auto_jv other = json_at(names, k);
			if (strcmp(json_text(other), instead) == 0)
				return TF_READ_BY_TERRAFORM;
		}
	}
	return TF_READ_BY_BOTH;
}

enum tf_reader tf_reader_both(enum tf_reader one, enum tf_reader other)
{
	if (one == TF_READ_BY_BOTH || one == other)
		return other;
	return other == TF_READ_BY_BOTH ? one : TF_READ_BY_NONE;
}
