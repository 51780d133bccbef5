/* drivers.kubernetes of sbx.yaml, checked: which cluster, in which namespace, with which image. */
#ifndef SBX_KUBE_SETTINGS_H
#define SBX_KUBE_SETTINGS_H

#include "boot.h"
#include "json.h"
#include "kube_login.h"

struct kube_settings {
	jv all; /* owned; the texts below are in it */
	struct kube_login login;
	const char *namespace, *image, *image_pull_policy, *runtime_class, *service_account;
	int64_t probe_ms;
	struct boot_addresses forbidden; /* owned */
};

/* "cluster_settings" (78) with the member that is wrong. SETTINGS is borrowed. */
int kube_settings_read(jv settings, struct kube_settings *out, struct sbx_error *err);
void kube_settings_clear(struct kube_settings *settings);

/* The addresses of the destinations EGRESS (an array of names) by egress: of the settings; a name that is not there is
 * "egress_unsupported" (78). ADDRESSES is owned by the caller, NAMES borrowed from EGRESS. */
int kube_settings_egress(const struct kube_settings *settings, jv egress, struct boot_addresses *addresses,
			 const char **names, size_t max, size_t *count, struct sbx_error *err);

#endif
