/* Reasons and signals. */
#include "finding_words.h"

#include <string.h>

#include "base.h"

struct meaning {
	const char *word, *means;
};

/* Why an object is changed as it is: the words of Terraform and OpenTofu. They end a "because". */
static const struct meaning reasons[] = {
	{"replace_because_cannot_update", "it cannot be changed in place"},
	{"replace_because_tainted", "it is marked as tainted"},
	{"replace_by_request", "somebody asked for it"},
	{"replace_by_triggers", "an object that it names in replace_triggered_by changes"},
	{"delete_because_no_resource_config", "it is not in the configuration any more"},
	{"delete_because_no_module", "its module is not in the configuration any more"},
	{"delete_because_wrong_repetition", "count or for_each came or went"},
	{"delete_because_count_index", "count is smaller now"},
	{"delete_because_each_key", "for_each has its key no more"},
	{"delete_because_no_move_target", "it was to move to an address without configuration"},
	{"delete_because_enabled_false", "it is switched off"},
	{"read_because_config_unknown", "its arguments are known after apply only"},
	{"read_because_dependency_pending", "something that it depends on changes first"},
	{"read_because_check_nested", "it belongs to a check"},
	{"forgot_because_lifecycle_destroy_in_state", "the state says not to destroy it"},
	{"forgot_because_lifecycle_destroy_in_config", "the configuration says not to destroy it"},
};

/* What a signal says beside the verb. Those of a rule that is not listed here stand as they are. */
static const struct meaning signals[] = {
	{"unusual_actions", "no such combination of actions is known"},
	{"unknown_after_apply", "a value that decides is known after apply only"},
	{"not_readable", "a value that decides cannot be read"},
	{"cascade", "it goes with another object"},
	{"cascade_unknown", "what goes with it is not known"},
	{"unknown_kind", "no rule knows this kind of object"},
	{"not_previewed", "it may be no preview of what will be"},
	{"versions_differ", "not all of it can be compared"},
	{"data_elsewhere", "its data stay, or are counted with another object"},
	{"network_exposed", "the network can reach more of it"},
	{"public_access", "it is opened to everyone"},
	{"iam_widened", "somebody may do more than before"},
	{"iam_authoritative", "permissions that others gave are taken away"},
	{"protection_removed", "a protection against loss goes away"},
	{"data_expiry", "data or backups are kept for a shorter time"},
	{"capacity_shrink", "less capacity is left"},
	{"restart", "it restarts"},
	{"credential_issued", "a credential is made"},
	{"key_deletion", "a key is deleted"},
	{"image_changed", "its containers run another image"},
	{"command_changed", "its containers run another command"},
	{"container_added", "a container is added"},
	{"container_removed", "a container goes away"},
	{"scaled_to_zero", "nothing of it runs any more"},
	{"probe_removed", "nobody sees any more whether it works"},
	{"limits_removed", "it may use all of its node"},
	{"immutable_changed", "what changes cannot be changed in place"},
	{"selector_changed", "it is about other objects than before"},
	{"host_access", "it reaches into the machine that it runs on"},
	{"data_loss", "data can be lost"},
	{"secret_changed", "a secret gets another value"},
	{"secret_used", "it is given a secret that it had not"},
	{"cluster_part", "the cluster itself needs it"},
	{"finalizers_changed", "what must be done before it goes away changes"},
	{"owners_changed", "it goes with other objects than before"},
	{"foreign_change", "an object that others manage is changed"},
};

static const char *find_meaning(const struct meaning *list, size_t count, const char *word)
{
	for (size_t i = 0; word != NULL && i < count; i++)
		if (strcmp(list[i].word, word) == 0)
			return list[i].means;
	return NULL;
}

const char *finding_reason_means(const char *reason)
{
	return find_meaning(reasons, ARRAY_LEN(reasons), reason);
}

const char *finding_signal_means(const char *signal)
{
	return find_meaning(signals, ARRAY_LEN(signals), signal);
}
