/* Names of files of configuration. */
#include "tf_file.h"

#include <string.h>

#include "base.h"

size_t tf_file_base(const char *name)
{
	static const char *const endings[] = {".tf", ".tofu", ".tf.json", ".tofu.json"};
	size_t len = strlen(name);

	for (size_t i = 0; name[0] != '.' && i < ARRAY_LEN(endings); i++) {
		size_t end = strlen(endings[i]);
		if (len > end && strcmp(name + len - end, endings[i]) == 0)
			return len - end;
	}
	return 0;
}

int tf_file_is(const char *name)
{
	return tf_file_base(name) > 0;
}

int tf_file_is_json(const char *name)
{
	return strcmp(strrchr(name, '.'), ".json") == 0;
}
