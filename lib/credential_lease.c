/* The files of leases. */
#include "credential_lease.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "io.h"

enum { LEASE_FILE_MAX = 128 * 1024, FILE_NAME_SIZE = STATE_ID_SIZE + 16 };

static void file_name(jv record, char out[FILE_NAME_SIZE])
{
	int64_t index = 0;
	const char *call = json_str(record, "call");

	json_int(record, "index", &index);
	snprintf(out, FILE_NAME_SIZE, "%s-%d.json", call ? call : "", (int)index);
}

int lease_write(const struct state *state, struct lease *lease, const char *word, struct sbx_error *err)
{
	auto_fd dir = state_dir(state, "leases", err);
	auto_buf text = BUF_INIT(LEASE_FILE_MAX);
	char name[FILE_NAME_SIZE];
	int fresh = !json_has(lease->record, "state");

	lease->record = json_set_str(take_jv(&lease->record), "state", word);
	file_name(lease->record, name);
	if (dir < 0 || json_write(lease->record, &text, err) < 0 || buf_add(&text, "\n", 1, err) < 0)
		return -1;
	return fresh ? io_create_file(dir, name, text.data, text.len, err)
		     : io_replace_file(dir, name, text.data, text.len, err);
}

int lease_remove(const struct state *state, jv record, struct sbx_error *err)
{
	auto_fd dir = state_dir(state, "leases", err);
	char name[FILE_NAME_SIZE];

	file_name(record, name);
	return dir < 0 ? -1 : io_remove_tree(dir, name, err);
}

static int read_left(int dir, const char *call, int index, struct lease *lease, struct sbx_error *err)
{
	struct sbx_error inner = SBX_ERROR_INIT;
	char name[FILE_NAME_SIZE];
	auto_free char *text = NULL;
	auto_jv record = jv_invalid();
	int64_t said = -1;
	size_t len;

	snprintf(name, sizeof name, "%s-%d.json", call, index);
	if (io_read_file(dir, name, LEASE_FILE_MAX, IO_PRIVATE, &text, &len, &inner) < 0) {
		if (strcmp(inner.code, "missing_file") == 0)
			return 0;
		return sbx_fail(err, inner.class, inner.code, "the lease file %s: %.300s", name, inner.message);
	}
	if (json_parse(text, len, LEASE_FILE_MAX, &record, &inner) < 0 || json_int(record, "index", &said) < 0 ||
	    said != index || json_str(record, "call") == NULL || strcmp(json_str(record, "call"), call) != 0 ||
	    !state_is_id(json_str(record, "lease")) || json_str(record, "provider") == NULL)
		return sbx_fail(err, SBX_CONFIG, "bad_lease", "the lease file %s is damaged", name);
	lease->state = LEASE_REQUESTED;
	lease->record = take_jv(&record);
	return 1;
}

int lease_left(const struct state *state, const char *call, struct leases *leases, struct sbx_error *err)
{
	auto_fd dir = state_dir(state, "leases", err);

	if (dir < 0)
		return -1;
	for (int i = 0; i < LIMIT_CREDENTIALS; i++) {
		if (read_left(dir, call, i, &leases->lease[leases->count], err) == 1)
			leases->count++;
	}
	return err->class == SBX_OK ? 0 : -1;
}

int lease_is_running(const struct state *state, const char *call)
{
	struct sbx_error gone = SBX_ERROR_INIT;
	auto_fd dir = state_run_open(state, call, &gone);
	int64_t modified;

	return dir >= 0 && state_stage_look(dir, call_stage_name(CALL_CRED), &modified) == STAGE_LOCKED;
}

/* The call in the name of a lease's file, "CALL-INDEX.json": 1, and *INDEX. */
static int read_name(const char *name, char call[STATE_ID_SIZE], int *index)
{
	char again[FILE_NAME_SIZE];

	if (strlen(name) < STATE_ID_SIZE || name[STATE_ID_SIZE - 1] != '-')
		return 0;
	memcpy(call, name, STATE_ID_SIZE - 1);
	call[STATE_ID_SIZE - 1] = '\0';
	*index = name[STATE_ID_SIZE] - '0';
	if (!state_is_id(call) || *index < 0 || *index >= LIMIT_CREDENTIALS)
		return 0;
	snprintf(again, sizeof again, "%s-%d.json", call, *index);
	return strcmp(again, name) == 0;
}

int lease_each(const struct state *state, int (*see)(void *context, jv record, struct sbx_error *err), void *context,
	       struct sbx_error *err)
{
	auto_fd dir = state_dir(state, "leases", err);
	auto_fd own = dir < 0 ? -1 : fcntl(dir, F_DUPFD_CLOEXEC, 0);
	DIR *entries = own < 0 ? NULL : fdopendir(own);
	struct sbx_error damaged = SBX_ERROR_INIT;
	int result = 0;

	if (dir < 0)
		return -1;
	if (entries == NULL)
		return sbx_fail_errno(err, SBX_IO, "io_error", "the leases cannot be listed");
	take_fd(&own);
	for (struct dirent *entry; result == 0 && (entry = readdir(entries)) != NULL;) {
		struct lease lease = {.record = jv_invalid()};
		char call[STATE_ID_SIZE];
		int index;
		/* One that goes away meanwhile was given back. */
		if (read_name(entry->d_name, call, &index) && read_left(dir, call, index, &lease, &damaged) == 1)
			result = see(context, lease.record, err);
		jv_free(lease.record);
	}
	closedir(entries);
	if (result == 0 && damaged.class != SBX_OK) {
		*err = damaged;
		return -1;
	}
	return result;
}
