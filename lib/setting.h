/* Settings of Terraform's providers and backends, told by their names, whatever provider it is: what one does with a
 * setting is not known here, so a name that may start a program is taken for one that does. */
#ifndef SBX_SETTING_H
#define SBX_SETTING_H

#include <stddef.h>

enum setting {
	SETTING_PLAIN,
	SETTING_PROGRAM,  /* exec, command, credential_process, plugins_path, ssh_opts and their like */
	SETTING_FILE,	  /* of a file that may name a program (a kubeconfig, AWS's shared files, docker's) */
	SETTING_SETTINGS, /* an argument that may hold such settings when it is no constant: kubernetes */
};
enum setting setting_of(const char *name, size_t len);

/* 1 when what stands under this name is data whose names mean nothing (tags). */
int setting_is_data(const char *name, size_t len);

/* 1 for the path of a credential that the toolkit itself hands over (SANDBOX_CREDENTIALS of steps.h): it names no
 * program of the configuration's. */
int setting_is_ours(const char *path, size_t len);

#endif
