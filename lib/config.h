/* sbx.yaml (design section 9): read once, checked whole, paths made absolute against the file's directory. */
#ifndef SBX_CONFIG_H
#define SBX_CONFIG_H

#include "json.h"

enum same_account { SAME_ACCOUNT_TOUCH, SAME_ACCOUNT_REFUSE, SAME_ACCOUNT_FILE };

struct config {
	char *file;
	char sha256[65];       /* of its bytes, in hex */
	char *policy;	       /* directory */
	char *state;	       /* directory */
	char *allowed_signers; /* file */
	char *approvers;       /* file */
	int approvers_named;   /* 1: the settings say it, so it must be there */
	int64_t approval_pause_ms; /* after a deny; 0: none */
	enum same_account same_account;
	jv workspaces; /* object: name to absolute path; {"": path} when there is one root */
	char *driver;
	jv drivers; /* settings of each driver, by name */
	char *provider;
	jv providers;
	jv targets;
	jv desk;   /* array of strings; empty: sbx-approve --desk and the login name */
	jv notify; /* array of strings; empty: none */
	jv commands; /* array of absolute paths that sbx-cred may start instead of sbx-run */
	int demo;
};

/* Unknown key, wrong type, unsafe owner or mode, missing file: class 78, with FILE and the mending command in the hint. CONFIG must be
 * zeroed; it owns its fields afterwards. */
int config_load(const char *file, struct config *config, struct sbx_error *err);
void config_clear(struct config *config);
#define auto_config __attribute__((cleanup(config_clear))) struct config

/* Settings of driver or provider NAME: an object, possibly empty; the caller's. */
jv config_settings(jv all, const char *name);

#endif
