/* The signal rules, asked about an object of a cluster: under its type (Kind.group), and what it runs under the types
 * PodSpec and Container, each beside what it was before. */
#ifndef SBX_KPLAN_RULES_H
#define SBX_KPLAN_RULES_H

#include "kplan_judge.h"

/* JUDGE->finding gets what the rules say of ENTRY, whose actions and masks are filled, and these words of ours
 * (review): container_added and container_removed in an object that stays, not_readable where there are more containers
 * than are looked at. */
int kplan_rules_ask(struct kplan_judge *judge, const struct kplan_entry *entry, struct sbx_error *err);

#endif
