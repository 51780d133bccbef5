/* Names of settings. */
#include "setting.h"

#include <string.h>

static int is_word(const char *text, size_t len, const char *const *words)
{
	for (; *words != NULL; words++)
		if (strlen(*words) == len && memcmp(*words, text, len) == 0)
			return 1;
	return 0;
}

/* One of the words that a name is made of. */
static int has_word(const char *name, size_t len, const char *const *words)
{
	for (size_t from = 0, i = 0; i <= len; i++) {
		if (i < len && name[i] != '_' && name[i] != '-')
			continue;
		if (is_word(name + from, i - from, words))
			return 1;
		from = i + 1;
	}
	return 0;
}

enum setting setting_of(const char *name, size_t len)
{
	static const char *const program_words[] = {
		"exec",	      "execute", "executable", "executables", "command",     "commands", "cmd",
		"program",    "programs", "plugin",	"plugins",     "interpreter", "shell",	  "script",
		"scripts",    "helper",	  "helpers",	"binary",      "binaries",    NULL};
	/* ssh reads ProxyCommand and its like out of its options. */
	static const char *const programs[] = {"credential_process", "credentials_process", "ssh_opts", "ssh_options",
					       NULL};
	static const char *const files[] = {
		"config_path",		 "config_paths",	    "config_file",	  "config_file_path",
		"config_file_content",	 "config_raw",		    "shared_config_file", "shared_config_files",
		"shared_credentials_file", "shared_credentials_files", "registry_config_path", "config_content", NULL};
	static const char *const file_words[] = {"kubeconfig", NULL};
	static const char *const settings[] = {"kubernetes", NULL};

	if (is_word(name, len, programs) || has_word(name, len, program_words))
		return SETTING_PROGRAM;
	if (is_word(name, len, files) || has_word(name, len, file_words))
		return SETTING_FILE;
	return is_word(name, len, settings) ? SETTING_SETTINGS : SETTING_PLAIN;
}

int setting_is_data(const char *name, size_t len)
{
	static const char *const data[] = {"tags",    "labels",	 "default_labels", "annotations",
					   "headers", "env_vars", NULL};

	return is_word(name, len, data);
}

int setting_is_ours(const char *text, size_t len)
{
	static const char place[] = "/run/sbx/cred/";
	size_t at = sizeof place - 1;

	if (len <= at || memcmp(text, place, at) != 0)
		return 0;
	while (at < len && text[at] >= '0' && text[at] <= '9')
		at++;
	return at == len;
}
