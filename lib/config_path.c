/* From a setting to a path. */
#include "config_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *config_directory(const char *file, struct sbx_error *err)
{
	char *path = realpath(file, NULL);

	if (path == NULL) {
		sbx_fail(err, SBX_CONFIG, "missing_config", "cannot find the directory of the settings file");
		return NULL;
	}
	char *slash = strrchr(path, '/');
	slash[slash == path] = '\0';
	return path;
}

char *config_join(const char *dir, const char *path, struct sbx_error *err)
{
	char *joined = NULL;

	if (path[0] == '/')
		joined = strdup(path);
	else if (strcmp(path, ".") == 0)
		joined = strdup(dir);
	else if (asprintf(&joined, "%s/%s", dir, path) < 0)
		joined = NULL;
	if (joined == NULL)
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	return joined;
}
