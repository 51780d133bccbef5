/* Where the list stands and which it is. */
#include "tool_list.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_path.h"
#include "digest.h"
#include "io.h"
#include "limit.h"
#include "policy_files.h"
#include "yaml_walk.h"

static const size_t list_max = 1 << 20; /* 4,096 tools of 256 bytes */

/* The two settings that say where to look, as they are written. */
struct places {
	char policy[PATH_MAX], state[PATH_MAX];
};

static int take_place(void *context, const struct yaml_place *place, const struct yaml_item *item, struct sbx_error *err)
{
	struct places *p = context;
	const int is_policy = strcmp(place->path, "policy") == 0;

	if (!is_policy && strcmp(place->path, "state") != 0)
		return 0;
	if (item->token != YAML_STRING || place->index >= 0 || item->text[0] == '\0' || strlen(item->text) >= PATH_MAX)
		return sbx_fail(err, SBX_CONFIG, "bad_config", "%s must be a text", place->path);
	snprintf(is_policy ? p->policy : p->state, PATH_MAX, "%s", item->text);
	return 0;
}

enum { NAME_SIZE = 160 };

static void list_name(const char *config_sha256, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "list-" SBX_VERSION "-%s", config_sha256);
}

/* The policy and the state directory of the settings file CONFIG; 0 or -1. */
static int find_places(const char *config, struct places *places, char config_sha256[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	auto_free char *text = NULL, *dir = config_directory(config, err), *policy = NULL, *state = NULL;
	size_t len;

	if (dir == NULL || io_read_file(AT_FDCWD, config, LIMIT_YAML, IO_TRUSTED, &text, &len, err) < 0 ||
	    yaml_walk(text, len, config, take_place, places, err) < 0)
		return -1;
	digest_sha256_hex(text, len, config_sha256);
	policy = config_join(dir, places->policy, err);
	state = config_join(dir, places->state, err);
	if (policy == NULL || state == NULL || strlen(policy) >= PATH_MAX || strlen(state) >= PATH_MAX)
		return -1;
	snprintf(places->policy, PATH_MAX, "%s", policy);
	snprintf(places->state, PATH_MAX, "%s", state);
	return 0;
}

int tool_list_find(const char *config, struct buf *out)
{
	struct places places = {.policy = CONFIG_POLICY_DEFAULT, .state = CONFIG_STATE_DEFAULT};
	auto_policy_files files = {.count = 0};
	struct sbx_error ignored = SBX_ERROR_INIT;
	char config_sha256[DIGEST_HEX_SIZE], name[NAME_SIZE];
	auto_free char *list = NULL;
	size_t len;

	if (find_places(config, &places, config_sha256, &ignored) < 0 ||
	    policy_files_read(places.policy, POLICY_WITHOUT_SIGNALS, &files, &ignored) < 0)
		return 0;
	/* The digest does not say whether there are rules: who loads the tools does. */
	if (!files.has_signals)
		return 0;
	auto_fd state = open(places.state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state < 0 || io_check_trust(state, places.state, IO_PRIVATE, &ignored) < 0)
		return 0;
	auto_fd cache = io_open_dir(state, "cache", IO_MUST_EXIST, &ignored);
	auto_fd dir = cache < 0 ? -1 : io_open_dir(cache, files.tools_sha256, IO_MUST_EXIST, &ignored);
	list_name(config_sha256, name);
	return dir >= 0 && io_read_file(dir, name, list_max, IO_PRIVATE, &list, &len, &ignored) == 0 && buf_add(out, list, len, &ignored) == 0;
}

int tool_list_keep(const struct state *state, const char config_sha256[65], const char tools_sha256[65], const char *list, size_t len,
		   struct sbx_error *err)
{
	char name[NAME_SIZE];
	auto_fd cache = state_dir(state, "cache", err);
	auto_fd dir = cache < 0 ? -1 : io_open_dir(cache, tools_sha256, IO_CREATE, err);

	list_name(config_sha256, name);
	return dir < 0 ? -1 : io_replace_file(dir, name, list, len, err);
}
