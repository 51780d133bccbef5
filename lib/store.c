/* SQLite, with everything off that an edited file could use. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct store {
	sqlite3 *db;
};

struct store_row {
	sqlite3_stmt *statement;
};

/* Another process commits in a millisecond; this long only a stuck one takes. */
static const int busy_ms = 5000;
/* The longest text or blob: a review text with room to spare. */
static const int value_max = 1 << 20;

static int fail_sqlite(int code, const char *act, struct sbx_error *err)
{
	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return sbx_fail(err, SBX_UNAVAILABLE, "store_busy", "%s: another process holds the database", act);
	case SQLITE_CONSTRAINT:
		return sbx_fail(err, SBX_BUG, "store_conflict", "%s: a rule of the database forbids it", act);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		sbx_fail(err, SBX_CONFIG, "store_damaged", "%s: the database is damaged", act);
		return sbx_hint(err,
				"restore it from a copy, or move it away: open approvals are then asked for again");
	case SQLITE_NOMEM:
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_FULL:
	case SQLITE_IOERR:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		sbx_fail(err, SBX_IO, "store_unavailable", "%s: %s", act, sqlite3_errstr(code & 0xff));
		return sbx_hint(err, "the state directory must be on a writable disk with free space");
	default:
		return sbx_fail(err, SBX_BUG, "bug", "%s: %s", act, sqlite3_errstr(code));
	}
}

struct identity {
	dev_t device;
	ino_t inode;
};

static int unsafe(struct sbx_error *err, const char *name, const char *why)
{
	return sbx_fail(err, SBX_CONFIG, "unsafe_store", "%s %s", name, why);
}

/* Look at the file (making it) before SQLite does. The descriptor is closed before SQLite opens its own: closing any
 * descriptor of the file later would drop SQLite's locks. */
static int check_file(int dirfd, const char *name, struct identity *identity, struct sbx_error *err)
{
	struct stat st;
	auto_fd fd = openat(dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);

	if (fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO)) {
		unsafe(err, name, "is not a regular file");
		return sbx_hint(err, "remove it; it is made anew");
	}
	if (fd < 0 && errno == EACCES) {
		unsafe(err, name, "may not be written by us");
		return sbx_hint(err, "chmod 600 %s in the state directory", name);
	}
	if (fd < 0)
		return sbx_fail_errno(err, SBX_IO, "store_unavailable", "cannot open %s", name);
	if (fstat(fd, &st) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot look at %s", name);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1) {
		unsafe(err, name, "is not a regular file with one name");
		return sbx_hint(err, "remove the other name; a second one could be read or changed elsewhere");
	}
	if (st.st_uid != geteuid()) {
		unsafe(err, name, "belongs to another user");
		return sbx_hint(err, "run sbx as that user, or chown it to the account that runs sbx");
	}
	if ((st.st_mode & 0777) != 0600) {
		sbx_fail(err, SBX_CONFIG, "unsafe_store", "%s has mode %04o", name, st.st_mode & 07777);
		return sbx_hint(err, "chmod 600 %s in the state directory", name);
	}
	*identity = (struct identity){st.st_dev, st.st_ino};
	return 0;
}

/* SQLite takes paths, and refuses symlinks in every part: give it the directory's real path. */
static int real_path(int dirfd, const char *name, char path[PATH_MAX], struct sbx_error *err)
{
	char link[64], dir[PATH_MAX];

	snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd);
	ssize_t len = readlink(link, dir, sizeof dir - 1);
	if (len <= 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot find the path of the state directory");
	dir[len] = '\0';
	if (snprintf(path, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX)
		return sbx_fail(err, SBX_CONFIG, "unsafe_store", "the path of the state directory is too long");
	return 0;
}

static int ignore_row(const struct store_row *row, void *context, struct sbx_error *err)
{
	(void)row;
	(void)context;
	(void)err;
	return 0;
}

static int pragma(struct store *store, const char *sql, struct sbx_error *err)
{
	return store_query(store, sql, NULL, 0, ignore_row, NULL, err) < 0 ? -1 : 0;
}

/* The file's author may be an attacker: nothing in it is code for us. */
static int harden(struct store *store, struct sbx_error *err)
{
	static const struct {
		int option, value;
	} settings[] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},	     {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
		{SQLITE_DBCONFIG_ENABLE_FKEY, 1},    {SQLITE_DBCONFIG_DQS_DDL, 0},
		{SQLITE_DBCONFIG_DQS_DML, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (sqlite3_db_config(store->db, settings[i].option, settings[i].value, NULL) != SQLITE_OK)
			return sbx_fail(err, SBX_BUG, "bug", "SQLite does not know a safety setting");
	sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, value_max);
	sqlite3_busy_timeout(store->db, busy_ms);
	sqlite3_extended_result_codes(store->db, 1);
	return 0;
}

/* One file, and the directory is synced with it: a commit that was answered survives a power cut. */
static int set_durability(struct store *store, struct sbx_error *err)
{
	return pragma(store, "PRAGMA journal_mode=DELETE", err) < 0 ||
			       pragma(store, "PRAGMA synchronous=EXTRA", err) < 0 ||
			       pragma(store, "PRAGMA temp_store=MEMORY", err) < 0 ||
			       pragma(store, "PRAGMA cell_size_check=ON", err) < 0
		       ? -1
		       : 0;
}

static int create_schema(struct store *store, const struct store_schema *schema, struct sbx_error *err)
{
	char header[128];

	snprintf(header, sizeof header, "PRAGMA application_id=%d; PRAGMA user_version=%d;", schema->application_id,
		 schema->version);
	int code = sqlite3_exec(store->db, schema->sql, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(store->db, header, NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : fail_sqlite(code, "cannot make the database", err);
}

static int check_schema(struct store *store, const struct store_schema *schema, int64_t *version, struct sbx_error *err)
{
	int64_t application = -1;

	*version = -1;
	if (store_query_number(store, "PRAGMA application_id", NULL, 0, &application, err) < 0 ||
	    store_query_number(store, "PRAGMA user_version", NULL, 0, version, err) < 0)
		return -1;
	if (application == 0 && *version == 0)
		return 0;
	if (application != schema->application_id || *version != schema->version) {
		sbx_fail(err, SBX_CONFIG, "store_unknown", "the database is not one of this version of sbx");
		return sbx_hint(err, "move it away: open approvals are then asked for again");
	}
	return 0;
}

static int prepare_schema(struct store *store, const struct store_schema *schema, struct sbx_error *err)
{
	int64_t version;

	if (check_schema(store, schema, &version, err) < 0)
		return -1;
	if (version != 0)
		return 0;
	/* Two processes may make it at once: look again behind the lock. */
	if (store_begin(store, err) < 0 || check_schema(store, schema, &version, err) < 0)
		return -1;
	if (version == 0 && create_schema(store, schema, err) < 0)
		return -1;
	return store_commit(store, err);
}

static int check_identity(int dirfd, const char *name, const struct identity *identity, struct sbx_error *err)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != identity->device ||
	    st.st_ino != identity->inode)
		return unsafe(err, name, "was replaced while it was opened");
	return 0;
}

struct store *store_open(int dirfd, const char *name, const struct store_schema *schema, struct sbx_error *err)
{
	auto_store *store = calloc(1, sizeof *store);
	struct identity identity = {0};
	char path[PATH_MAX];

	if (store == NULL) {
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	if (check_file(dirfd, name, &identity, err) < 0 || real_path(dirfd, name, path, err) < 0)
		return NULL;
	int code = sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
				   NULL);
	if (code != SQLITE_OK) {
		fail_sqlite(code, "cannot open the database", err);
		return NULL;
	}
	if (check_identity(dirfd, name, &identity, err) < 0 || harden(store, err) < 0 ||
	    set_durability(store, err) < 0 || prepare_schema(store, schema, err) < 0)
		return NULL;
	return take_ptr(&store);
}

void store_close(struct store *store)
{
	if (store == NULL)
		return;
	if (store->db != NULL) {
		store_rollback(store);
		sqlite3_close(store->db);
	}
	free(store);
}

int store_begin(struct store *store, struct sbx_error *err)
{
	return store_run(store, "BEGIN IMMEDIATE", NULL, 0, NULL, err);
}

int store_commit(struct store *store, struct sbx_error *err)
{
	if (store_run(store, "COMMIT", NULL, 0, NULL, err) == 0)
		return 0;
	store_rollback(store);
	return -1;
}

void store_rollback(struct store *store)
{
	if (!sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

struct store_value store_number(int64_t number)
{
	return (struct store_value){.kind = STORE_NUMBER, .number = number};
}

struct store_value store_text(const char *text)
{
	if (text == NULL)
		return (struct store_value){.kind = STORE_NULL};
	return (struct store_value){.kind = STORE_TEXT, .bytes = text, .len = strlen(text)};
}

struct store_value store_bytes(const void *bytes, size_t len)
{
	return (struct store_value){.kind = STORE_BYTES, .bytes = bytes, .len = len};
}

static int bind(sqlite3_stmt *statement, int index, const struct store_value *value)
{
	switch (value->kind) {
	case STORE_NUMBER:
		return sqlite3_bind_int64(statement, index, value->number);
	case STORE_TEXT:
		return sqlite3_bind_text64(statement, index, value->bytes, value->len, SQLITE_STATIC, SQLITE_UTF8);
	case STORE_BYTES:
		return sqlite3_bind_blob64(statement, index, value->bytes, value->len, SQLITE_STATIC);
	case STORE_NULL:
		break;
	}
	return sqlite3_bind_null(statement, index);
}

static sqlite3_stmt *prepare(struct store *store, const char *sql, const struct store_value *values, size_t count,
			     struct sbx_error *err)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);

	for (size_t i = 0; code == SQLITE_OK && i < count; i++)
		code = bind(statement, (int)i + 1, &values[i]);
	if (code == SQLITE_OK)
		return statement;
	sqlite3_finalize(statement);
	fail_sqlite(code, "cannot ask the database", err);
	return NULL;
}

int store_run(struct store *store, const char *sql, const struct store_value *values, size_t count, int64_t *changed,
	      struct sbx_error *err)
{
	sqlite3_stmt *statement = prepare(store, sql, values, count, err);

	if (statement == NULL)
		return -1;
	/* The result first: after a failed statement sqlite3_changes still has the number of the one before. */
	int code = sqlite3_step(statement);
	if (code == SQLITE_DONE && changed != NULL)
		*changed = sqlite3_changes(store->db);
	sqlite3_finalize(statement);
	return code == SQLITE_DONE ? 0 : fail_sqlite(code, "cannot write to the database", err);
}

int store_query(struct store *store, const char *sql, const struct store_value *values, size_t count,
		store_each_fn *each, void *context, struct sbx_error *err)
{
	struct store_row row = {prepare(store, sql, values, count, err)};
	int rows = 0, code, told = 0;

	if (row.statement == NULL)
		return -1;
	while (told == 0 && (code = sqlite3_step(row.statement)) != SQLITE_DONE) {
		if (code != SQLITE_ROW) {
			told = fail_sqlite(code, "cannot read the database", err);
			break;
		}
		told = each(&row, context, err);
		rows++;
	}
	sqlite3_finalize(row.statement);
	return told < 0 ? -1 : rows;
}

static int take_number(const struct store_row *row, void *context, struct sbx_error *err)
{
	(void)err;
	*(int64_t *)context = store_row_number(row, 0);
	return 1;
}

int store_query_number(struct store *store, const char *sql, const struct store_value *values, size_t count,
		       int64_t *value, struct sbx_error *err)
{
	return store_query(store, sql, values, count, take_number, value, err) < 0 ? -1 : 0;
}

int64_t store_row_number(const struct store_row *row, int column)
{
	return sqlite3_column_type(row->statement, column) == SQLITE_INTEGER
		       ? sqlite3_column_int64(row->statement, column)
		       : 0;
}

const char *store_row_text(const struct store_row *row, int column)
{
	if (sqlite3_column_type(row->statement, column) != SQLITE_TEXT)
		return NULL;
	return (const char *)sqlite3_column_text(row->statement, column);
}

const void *store_row_bytes(const struct store_row *row, int column, size_t *len)
{
	*len = 0;
	if (sqlite3_column_type(row->statement, column) != SQLITE_BLOB)
		return NULL;
	*len = (size_t)sqlite3_column_bytes(row->statement, column);
	return sqlite3_column_blob(row->statement, column);
}
