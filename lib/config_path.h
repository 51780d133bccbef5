/* Paths in sbx.yaml are relative to the directory of the file. */
#ifndef SBX_CONFIG_PATH_H
#define SBX_CONFIG_PATH_H

#include "error.h"

#define CONFIG_POLICY_DEFAULT "policy"
#define CONFIG_STATE_DEFAULT "var"

/* The directory in which the settings file FILE really stands, absolute; the caller's. NULL with "missing_config" (78). */
char *config_directory(const char *file, struct sbx_error *err);

/* PATH as seen from DIR, or as it is when it is absolute; the caller's. NULL with "no_memory" (71). */
char *config_join(const char *dir, const char *path, struct sbx_error *err);

#endif
