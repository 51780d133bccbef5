#include "env_name.h"

#include <string.h>

#include "base.h"

int env_name_is_forbidden(const char *name, size_t len)
{
	static const char *const names[] = {
		"PATH",
		"HOME",
		"IFS",
		"ENV",
		"BASH_ENV",
		"SHELLOPTS",
		"BASHOPTS",
		"PS4",
		"TMPDIR",
		"GCONV_PATH",
		"LOCPATH",
		"NLSPATH",
		"GLIBC_TUNABLES",
		"TF_REATTACH_PROVIDERS",
		"TF_LOG",
		"TF_LOG_PATH",
		"PYTHONPATH",
		"PYTHONSTARTUP",
		"PYTHONHOME",
		"NODE_OPTIONS",
		"NODE_PATH",
		"PERL5LIB",
		"PERL5OPT",
		"RUBYOPT",
		"RUBYLIB",
		"JAVA_TOOL_OPTIONS",
		"KUBECTL_EXTERNAL_DIFF",
	};
	static const char *const prefixes[] = {"TF_CLI_ARGS", "TF_LOG_", "LD_",	      "DYLD_",
					       "MALLOC_",     "GIT_",	 "BASH_FUNC_"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
			return 1;
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strlen(prefixes[i]) <= len && memcmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return 1;
	return 0;
}
