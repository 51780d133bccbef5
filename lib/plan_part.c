/* The words for a difference. */
#include "plan_part.h"

struct words {
	const char *code, *sentence, *hint;
};

static const char again[] = "make a new plan and use that";
static const char restore[] = "put it back as it was, or make a new plan and use that";

static const struct words parts[] = {
	[PLAN_PART_FILE] = {"plan_file_changed", "the saved plan is not the one that was sealed", again},
	[PLAN_PART_TREE] = {"plan_tree_changed", "the directory changed since the plan was made", restore},
	[PLAN_PART_LOCK] = {"plan_lock_changed", "the provider lock file changed since the plan was made", restore},
	[PLAN_PART_LINEAGE] = {"plan_lineage_changed",
			       "the state has another lineage than the one that was planned against", again},
	[PLAN_PART_SERIAL] = {"plan_serial_changed", "the state moved on since the plan was made", again},
	[PLAN_PART_STATE] = {"plan_state_changed",
			     "the state's content changed under the same serial since the plan was made", again},
	[PLAN_PART_PROGRAM] = {"plan_program_changed", "a program is not the one that made the plan", again},
	[PLAN_PART_PROVIDER] = {"plan_provider_changed", "a provider is not the one that made the plan", again},
	[PLAN_PART_MODULE] = {"plan_module_changed", "the fetched modules are not those that the plan was made with", again},
	[PLAN_PART_BACKEND] = {"plan_backend_changed",
			       "the backend of the configuration is not the one that was planned with", restore},
	[PLAN_PART_WORKSPACE] = {"plan_workspace_changed", "the workspace is not the one that was planned", again},
	[PLAN_PART_DRIVER] = {"plan_driver_changed", "the sandbox driver changed since the plan was made", again},
	[PLAN_PART_IMAGE] = {"plan_image_changed", "the sandbox image changed since the plan was made", again},
	[PLAN_PART_TARGET] = {"plan_target_changed", "the target is not the one that was planned for", again},
};

int plan_part_differs(enum plan_part part, const char *which, struct sbx_error *err)
{
	const struct words *words = &parts[part];

	if (which != NULL)
		sbx_fail(err, SBX_DENIED, words->code, "%s: %.200s", words->sentence, which);
	else
		sbx_fail(err, SBX_DENIED, words->code, "%s", words->sentence);
	return sbx_hint(err, "%s", words->hint);
}
