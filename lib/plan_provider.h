/* The settings of providers: those that start a program of the configuration's choosing, which then runs in the apply
 * with its credentials, whatever the plan changes. Terraform prints the settings as expressions (jsonconfig), all of a
 * plan's modules in one member. */
#ifndef SBX_PLAN_PROVIDER_H
#define SBX_PLAN_PROVIDER_H

#include "plan_report.h"

/* Right behind the key "provider_config": REPORT gets a finding "provider_program" (review) for each provider that has
 * such a setting, at "provider.NAME", with the alias and the module where there are any. A setting is one by its name,
 * whatever provider it is of: what it does there is not known here. These are: a name with the word exec, command,
 * program, plugin, helper or the like in it; a file that may hold such a setting (a kubeconfig, AWS's shared files),
 * unless it is a credential of this toolkit; and an argument "kubernetes" that is no constant, which may hold an "exec".
 * A truth value, a number and nothing start no program. TREE is overwritten. "plan_kind", or as plan_tree_read. */
int plan_provider_read(struct plan_scan *s, struct plan_report *report, struct plan_tree *tree, struct sbx_error *err);

#endif
