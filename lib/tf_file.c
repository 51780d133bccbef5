/* Names of files of configuration. */
#include "tf_file.h"

#include <linux/limits.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "tree.h"

/* The length of NAME before one of ENDINGS. */
static size_t before(const char *name, const char *const *endings, size_t count)
{
	size_t len = strlen(name);

	for (size_t i = 0; name[0] != '.' && i < count; i++) {
		size_t end = strlen(endings[i]);
		if (len > end && strcmp(name + len - end, endings[i]) == 0)
			return len - end;
	}
	return 0;
}

size_t tf_file_base(const char *name)
{
	static const char *const endings[] = {".tf", ".tofu", ".tf.json", ".tofu.json"};

	return before(name, endings, ARRAY_LEN(endings));
}

int tf_file_is_test(const char *name)
{
	static const char *const endings[] = {".tftest.hcl", ".tftest.json", ".tofutest.hcl", ".tofutest.json"};

	return before(name, endings, ARRAY_LEN(endings)) > 0;
}

int tf_file_is(const char *name)
{
	return tf_file_base(name) > 0;
}

int tf_file_is_json(const char *name)
{
	return strcmp(strrchr(name, '.'), ".json") == 0;
}

int tf_file_follow(int tree_fd, uint64_t size, const char *dir, const char *name, char **bytes, size_t *len,
		   struct sbx_error *err)
{
	char path[PATH_MAX], real[PATH_MAX];
	struct sbx_error why = SBX_ERROR_INIT;

	*bytes = NULL;
	if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
		return 0;
	int found = tree_follow(tree_fd, size, path, real, &why);
	if (found == 1)
		found = tree_find(tree_fd, size, real, TF_FILE_MAX, bytes, len, &why);
	if (found >= 0 || why.class == SBX_BAD_REQUEST)
		return found > 0;
	*err = why;
	return -1;
}
