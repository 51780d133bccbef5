/* Kept plans: sealed, found, taken, dropped. */
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "digest.h"
#include "io.h"
#include "plan_kept.h"
#include "plan_part.h"
#include "plan_room.h"
#include "wire.h"

#define PLAN_FILE "plan.bin"
#define TREE_FILE "tree"
#define REPORT_FILE "findings.json"

static const size_t report_max = (size_t)16 << 20;
static const uint64_t tree_max = LIMIT_TREE_BYTES + ((uint64_t)96 << 20); /* and the names of LIMIT_TREE_FILES files */

static int invalid(const char *what, struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "plan_seal_invalid", "%s", what);
	return sbx_hint(err, "make a new plan");
}

/* The canonical bytes of SEAL, their digest, and the MAC over them. */
static int seal_of(const struct secret *key, const char *installation, jv seal, struct buf *canonical,
		   char sha256[DIGEST_HEX_SIZE], unsigned char mac[DIGEST_SIZE], struct sbx_error *err)
{
	auto_buf covered = BUF_INIT(2 * LIMIT_CALL);

	if (json_write(seal, canonical, err) < 0)
		return -1;
	if (wire_put_str(&covered, "sbx-plan/1", err) < 0 || wire_put_str(&covered, installation, err) < 0 ||
	    wire_put_bytes(&covered, buf_str(canonical), canonical->len, err) < 0)
		return -1;
	digest_hmac(key, covered.data, covered.len, mac);
	digest_sha256_hex(buf_str(canonical), canonical->len, sha256);
	return 0;
}

/* The seal as it is kept: the caller's members, ours, and times where there are none. */
static jv complete_seal(const struct state *state, jv seal, const char *id)
{
	char now[CLOCK_RFC3339_SIZE], later[CLOCK_RFC3339_SIZE];
	int64_t made_at = clock_seconds();

	clock_format(made_at, now);
	clock_format(made_at + PLAN_TTL_S, later);
	jv whole = json_set_str(json_set_str(jv_copy(seal), "id", id), "installation", state->installation);
	if (json_str(whole, "created_at") == NULL)
		whole = json_set_str(whole, "created_at", now);
	if (json_str(whole, "expires_at") == NULL)
		whole = json_set_str(whole, "expires_at", later);
	return whole;
}

static int put_seal(int dir_fd, const struct secret *key, const struct state *state, jv whole,
		    char seal_sha256[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	auto_buf canonical = BUF_INIT(LIMIT_CALL);
	auto_buf text = BUF_INIT(LIMIT_CALL);
	unsigned char mac[DIGEST_SIZE];
	char hex[DIGEST_HEX_SIZE];

	if (seal_of(key, state->installation, whole, &canonical, seal_sha256, mac, err) < 0)
		return -1;
	digest_to_hex(mac, sizeof mac, hex);
	auto_jv file = json_set_str(json_set(jv_object(), "seal", jv_copy(whole)), "mac", hex);
	if (json_write(file, &text, err) < 0)
		return -1;
	return io_create_file(dir_fd, PLAN_SEAL_FILE, buf_str(&text), text.len, err);
}

/* Copy what FROM holds to NAME, and see that the copy is what the seal says. */
static int put_copy(int dir_fd, const char *name, int from, uint64_t max, const char *sha256, struct sbx_error *err)
{
	char found[DIGEST_HEX_SIZE];
	auto_fd to = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (to < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot create %s", name);
	if (lseek(from, 0, SEEK_SET) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read %s", name);
	if (io_copy(from, to, max, NULL, err) < 0 || digest_fd_hex(to, max, found, NULL, err) < 0)
		return -1;
	if (fsync(to) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot sync %s", name);
	if (sha256 == NULL || strcmp(found, sha256) != 0)
		return sbx_fail(err, SBX_BUG, "plan_mismatch", "%s is not what was to be sealed", name);
	return 0;
}

static int put_report(int dir_fd, jv report, const char *sha256, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(report_max);
	char found[DIGEST_HEX_SIZE];

	if (json_write(report, &text, err) < 0)
		return -1;
	digest_sha256_hex(buf_str(&text), text.len, found);
	if (sha256 == NULL || strcmp(found, sha256) != 0)
		return sbx_fail(err, SBX_BUG, "plan_mismatch", "the findings are not those that were to be sealed");
	return io_create_file(dir_fd, REPORT_FILE, buf_str(&text), text.len, err);
}

/* A change to a cluster may be made without a workspace. */
static int has_tree(jv seal)
{
	const char *sha256 = json_str(seal, "tree_sha256");

	return sha256 == NULL || sha256[0] != '\0';
}

static int fill_directory(int plans, const char *name, const struct secret *key, const struct state *state, jv whole,
			  int plan_fd, int tree_fd, jv report, char seal_sha256[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	auto_fd dir = io_open_dir(plans, name, IO_CREATE, err);

	if (dir < 0 || put_copy(dir, PLAN_FILE, plan_fd, LIMIT_ARTIFACT, json_str(whole, "plan_sha256"), err) < 0 ||
	    (has_tree(whole) &&
	     put_copy(dir, TREE_FILE, tree_fd, tree_max, json_str(whole, "tree_sha256"), err) < 0) ||
	    put_report(dir, report, json_str(whole, "findings_sha256"), err) < 0)
		return -1;
	return put_seal(dir, key, state, whole, seal_sha256, err);
}

static uint64_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

int plan_keep(const struct state *state, const struct secret *key, jv seal, int plan_fd, int tree_fd, jv report,
	      char id[STATE_ID_SIZE], char seal_sha256[65], struct sbx_error *err)
{
	auto_fd plans = state_dir(state, "plans", err);
	char half_made[sizeof PLAN_HALF_MADE + STATE_ID_SIZE];
	struct sbx_error ignored = SBX_ERROR_INIT;
	const char *principal = json_str(seal, "principal");

	if (plans < 0 ||
	    plan_make_room(state, principal != NULL ? principal : "", size_of(plan_fd) + size_of(tree_fd), err) < 0)
		return -1;
	io_random_hex(id, (STATE_ID_SIZE - 1) / 2);
	snprintf(half_made, sizeof half_made, PLAN_HALF_MADE "%s", id);
	auto_jv whole = complete_seal(state, seal, id);
	int result = fill_directory(plans, half_made, key, state, whole, plan_fd, tree_fd, report, seal_sha256, err);
	if (result == 0 && renameat(plans, half_made, plans, id) < 0)
		result = sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot keep the plan");
	if (result == 0 && fsync(plans) < 0)
		result = sbx_fail_errno(err, SBX_IO, "io_error", "cannot sync the directory of kept plans");
	if (result < 0)
		io_remove_tree(plans, half_made, &ignored);
	return result;
}

static int unknown(struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "plan_unknown", "there is no plan of this id");
	return sbx_hint(err, "a plan is gone when a call has applied it or is doing so, and when it was denied or has "
			     "expired: make a new one");
}

/* The directory of plan ID; "plan_unknown" when there is none. */
static int plan_dir(const struct state *state, const char *id, struct sbx_error *err)
{
	auto_fd plans = state_dir(state, "plans", err);

	if (plans < 0)
		return -1;
	int fd = state_is_id(id) ? openat(plans, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
	return fd < 0 ? unknown(err) : fd;
}

/* The seal in FILE, if it is whole and ours. */
static int check_seal(const struct state *state, const struct secret *key, const char *id, jv file,
		      char seal_sha256[65], struct sbx_error *err)
{
	static const char damaged[] = "the seal of this plan does not verify";
	unsigned char expected[DIGEST_SIZE], found[DIGEST_SIZE];
	auto_buf canonical = BUF_INIT(LIMIT_CALL);
	auto_jv seal = json_object(file, "seal");
	const char *mac = json_str(file, "mac");

	if (!jv_is_valid(seal) || mac == NULL || digest_from_hex(mac, found, sizeof found) < 0)
		return invalid(damaged, err);
	if (seal_of(key, state->installation, seal, &canonical, seal_sha256, expected, err) < 0)
		return -1;
	if (!digest_equal(expected, found, sizeof found))
		return invalid(damaged, err);
	const char *sealed_id = json_str(seal, "id"), *installation = json_str(seal, "installation");
	/* A good seal under another name is another plan's. */
	if (sealed_id == NULL || strcmp(sealed_id, id) != 0 || installation == NULL ||
	    strcmp(installation, state->installation) != 0)
		return invalid("the seal of this plan belongs to another plan", err);
	return 0;
}

static int check_expiry(jv seal, struct sbx_error *err)
{
	const char *text = json_str(seal, "expires_at");
	int64_t expires_at;

	if (text == NULL || clock_parse(text, &expires_at) < 0)
		return invalid("the seal of this plan names no end", err);
	if (clock_seconds() < expires_at)
		return 0;
	sbx_fail(err, SBX_DENIED, "plan_expired", "this plan has expired");
	return sbx_hint(err, "make a new plan");
}

int plan_find(const struct state *state, const struct secret *key, const char *id, jv *seal, char seal_sha256[65],
	      struct sbx_error *err)
{
	struct sbx_error unread = SBX_ERROR_INIT;
	auto_fd dir = plan_dir(state, id, err);
	auto_free char *text = NULL;
	auto_jv file = jv_invalid();
	size_t len;

	if (dir < 0)
		return -1;
	if (io_read_file(dir, PLAN_SEAL_FILE, LIMIT_CALL, IO_PRIVATE, &text, &len, &unread) < 0 ||
	    json_parse(text, len, LIMIT_CALL, &file, &unread) < 0) {
		if (unread.class == SBX_IO || unread.class == SBX_OS)
			return *err = unread, -1;
		return invalid("the seal of this plan cannot be read", err);
	}
	if (check_seal(state, key, id, file, seal_sha256, err) < 0)
		return -1;
	auto_jv found = json_object(file, "seal");
	if (check_expiry(found, err) < 0)
		return -1;
	*seal = take_jv(&found);
	return 0;
}

/* The file NAME of the plan as a sealed memfd, whose digest is FOUND. */
static int open_copy(const struct state *state, jv seal, const char *name, uint64_t max, char found[DIGEST_HEX_SIZE],
		     uint64_t *size, struct sbx_error *err)
{
	auto_fd dir = plan_dir(state, json_str(seal, "id"), err);

	if (dir < 0)
		return -1;
	auto_fd from = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (from < 0)
		return errno == ENOENT ? invalid("a file of this plan is missing", err)
				       : sbx_fail_errno(err, SBX_IO, "io_error", "cannot open %s of a plan", name);
	auto_fd copy = io_memfd("sbx-plan", err);
	if (copy < 0 || io_copy(from, copy, max, NULL, err) < 0 || io_seal(copy, err) < 0 ||
	    digest_fd_hex(copy, max, found, size, err) < 0)
		return -1;
	return take_fd(&copy);
}

static int is_sealed(jv seal, const char *member, const char *found)
{
	const char *sha256 = json_str(seal, member);

	return sha256 != NULL && strcmp(found, sha256) == 0;
}

int plan_open_file(const struct state *state, jv seal, int *plan_fd, uint64_t *size, struct sbx_error *err)
{
	char found[DIGEST_HEX_SIZE];
	auto_fd copy = open_copy(state, seal, PLAN_FILE, LIMIT_ARTIFACT, found, size, err);

	if (copy < 0)
		return -1;
	if (!is_sealed(seal, "plan_sha256", found))
		return plan_part_differs(PLAN_PART_FILE, NULL, err);
	*plan_fd = take_fd(&copy);
	return 0;
}

int plan_open_tree(const struct state *state, jv seal, int *tree_fd, uint64_t *size, struct sbx_error *err)
{
	char found[DIGEST_HEX_SIZE];

	*tree_fd = -1;
	*size = 0;
	if (!has_tree(seal))
		return 0;
	auto_fd copy = open_copy(state, seal, TREE_FILE, tree_max, found, size, err);

	if (copy < 0)
		return -1;
	if (!is_sealed(seal, "tree_sha256", found))
		return plan_part_differs(PLAN_PART_TREE, "the kept copy", err);
	*tree_fd = take_fd(&copy);
	return 0;
}

int plan_open_report(const struct state *state, jv seal, jv *report, struct sbx_error *err)
{
	char sha256[DIGEST_HEX_SIZE];
	auto_fd copy = open_copy(state, seal, REPORT_FILE, report_max, sha256, NULL, err);
	auto_free char *text = NULL;
	auto_jv found = jv_invalid();
	size_t len;

	if (copy < 0)
		return -1;
	if (!is_sealed(seal, "findings_sha256", sha256))
		return invalid("the findings of this plan are not those that were sealed", err);
	if (io_read_all(copy, report_max, &text, &len, err) < 0 || json_parse(text, len, report_max, &found, err) < 0)
		return -1;
	if (jv_get_kind(found) != JV_KIND_OBJECT)
		return invalid("the findings of this plan cannot be read", err);
	*report = take_jv(&found);
	return 0;
}

static void taken_name(const char *id, char name[sizeof PLAN_TAKEN + STATE_ID_SIZE])
{
	snprintf(name, sizeof PLAN_TAKEN + STATE_ID_SIZE, PLAN_TAKEN "%s", id);
}

/* The directory of kept plans, and how plan ID is called in it once it is taken; -1. */
static int open_plans(const struct state *state, const char *id, char taken[sizeof PLAN_TAKEN + STATE_ID_SIZE],
		      struct sbx_error *err)
{
	if (!state_is_id(id))
		return unknown(err);
	taken_name(id, taken);
	return state_dir(state, "plans", err);
}

/* A rename succeeds once, whoever else tries it; synced, so that no crash brings the plan back. */
int plan_take(const struct state *state, const char *id, struct sbx_error *err)
{
	char taken[sizeof PLAN_TAKEN + STATE_ID_SIZE];
	auto_fd plans = open_plans(state, id, taken, err);

	if (plans < 0)
		return -1;
	if (renameat(plans, id, plans, taken) < 0)
		return errno == ENOENT ? unknown(err) : sbx_fail_errno(err, SBX_IO, "io_error", "cannot take the plan");
	/* Its age counts from now: whoever tidies up must not take it from a run that has just begun. */
	utimensat(plans, taken, NULL, AT_SYMLINK_NOFOLLOW);
	if (fsync(plans) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot sync the directory of kept plans");
	return 0;
}

int plan_put_back(const struct state *state, const char *id, struct sbx_error *err)
{
	char taken[sizeof PLAN_TAKEN + STATE_ID_SIZE];
	auto_fd plans = open_plans(state, id, taken, err);

	if (plans < 0)
		return -1;
	if (renameat(plans, taken, plans, id) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot put the plan back");
	return 0;
}

int plan_drop(const struct state *state, const char *id, struct sbx_error *err)
{
	auto_fd plans = state_dir(state, "plans", err);
	char taken[sizeof PLAN_TAKEN + STATE_ID_SIZE];

	if (plans < 0)
		return -1;
	if (!state_is_id(id))
		return 0;
	taken_name(id, taken);
	if (io_remove_tree(plans, taken, err) < 0)
		return -1;
	return io_remove_tree(plans, id, err);
}
