/* Lineage, serial and digest of a state that was printed. */
#include "entry_state.h"

#include <string.h>

#include "entry_seal.h"
#include "io.h"
#include "json_out.h"
#include "limit.h"

int entry_state_begin(struct entry_state *state, struct sbx_error *err)
{
	*state = (struct entry_state){.fd = io_memfd("sbx-state", err)};
	return state->fd < 0 ? -1 : 0;
}

int entry_state_add(struct entry_state *state, const void *bytes, size_t len, struct sbx_error *err)
{
	uint64_t room = LIMIT_STATE_FILE - state->file.size;

	if (len > room) {
		state->over = 1;
		len = (size_t)room;
	}
	state->file.size += len;
	return io_write_all(state->fd, bytes, len, err);
}

int entry_state_judge(struct entry_state *state, const struct steps *table, struct sbx_error *err)
{
	if (state->over)
		return sbx_fail(err, SBX_DENIED, "too_large", "the state is larger than %zu MB",
				(size_t)LIMIT_STATE_FILE / 1000000);
	if (ws_file_read(state->fd, WS_FILE_PRINTED, SBX_DENIED, &state->file, err) < 0)
		return -1;
	if (table->plan != STEPS_SEALED_PLAN || strcmp(state->file.sha256, table->sealed.state_sha256) == 0)
		return 0;
	return entry_name_state(table, state->fd, err);
}

int entry_state_json(const struct entry_state *state, struct buf *out, struct sbx_error *err)
{
	if (buf_add_str(out, "{", err) < 0 || json_out_member(out, "lineage", state->file.lineage, err) < 0 ||
	    json_out_member_int(out, "serial", state->file.serial, err) < 0 ||
	    json_out_member(out, "sha256", state->file.sha256, err) < 0)
		return -1;
	return buf_add_str(out, "}", err);
}

void entry_state_clear(struct entry_state *state)
{
	base_close_fd(&state->fd);
}
