/* Looking at a lock, and taking it away. */
#include "entry_lock.h"

#include <stdio.h>
#include <string.h>

#include "io.h"
#include "json_out.h"
#include "tf_lock.h"

/* The message about a lock has some 400 bytes; there may be warnings around it. */
static const size_t heard_max = 65536;
enum { JSON_MAX = 512, NOBODYS_SIZE = 37 };

/* A UUID, as the IDs of locks are: one that no lock has, and that nobody can have given to one before. */
static void make_nobodys(char id[NOBODYS_SIZE])
{
	char hex[33];

	io_random_hex(hex, 16);
	snprintf(id, NOBODYS_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

/* What it said is in HEARD, its status, or that it did not start or was stopped, in *IS_WELL. */
static int unlock(struct entry_run *run, unsigned number, const struct step *step, const char *lock, struct buf *heard,
		  int *is_well, struct sbx_error *err)
{
	struct running r = RUNNING_INIT(run, number);

	r.heard = heard;
	r.lock = lock;
	int result = entry_program_run(&r, step, err);
	*is_well = result == 0 && r.failed == NULL && r.status == 0 && !run->stopped;
	entry_program_clear(&r);
	return result;
}

static int is_dead(const struct steps *table, const char *call)
{
	for (uint32_t i = 0; i < table->dead_count; i++)
		if (strcmp(table->dead[i].id, call) == 0)
			return 1;
	return 0;
}

static int say(const struct entry_run *run, unsigned number, const struct tf_lock *lock, struct sbx_error *err)
{
	auto_buf json = BUF_INIT(JSON_MAX);

	if (buf_add_str(&json, "{", err) < 0 || json_out_member(&json, "call", lock->call, err) < 0 ||
	    json_out_member(&json, "lock", lock->id, err) < 0 || buf_add_str(&json, "}", err) < 0)
		return -1;
	return frame_write(run->frames_fd, run->nonce, FRAME_UNLOCKED, number, json.data, json.len, err);
}

int entry_lock(struct entry_run *run, unsigned number, const struct step *step, struct sbx_error *err)
{
	auto_buf heard = BUF_INIT(heard_max);
	char nobodys[NOBODYS_SIZE];
	struct tf_lock lock;
	int is_well;

	if (run->table->dead_count == 0)
		return 0;
	make_nobodys(nobodys);
	if (unlock(run, number, step, nobodys, &heard, &is_well, err) < 0)
		return -1;
	if (run->stopped || is_well || !tf_lock_find_other(buf_str(&heard), heard.len, nobodys, &lock) ||
	    !is_dead(run->table, lock.call) || entry_stop_wanted(run))
		return 0;
	buf_reset(&heard);
	if (unlock(run, number, step, lock.id, &heard, &is_well, err) < 0)
		return -1;
	return is_well ? say(run, number, &lock, err) : 0;
}
