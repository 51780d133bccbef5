/* store: what may be opened, what is refused, and what a commit means. */
#include "store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "io.h"
#include "unit.h"

static const struct store_schema schema = {
	.application_id = 0x74657374,
	.version = 3,
	.sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE, c BLOB) STRICT;",
};
static const char name[] = "x.db";
static int dir;

static int opens(const char *code)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_store *store = store_open(dir, name, &schema, &err);

	if (store == NULL && code != NULL && strcmp(err.code, code) != 0)
		printf("# got: %s: %s\n", err.code, err.message);
	return code == NULL ? store != NULL : store == NULL && strcmp(err.code, code) == 0;
}

static void remove_all(void)
{
	unlinkat(dir, name, 0);
	unlinkat(dir, "other", 0);
}

static void raw(const char *path, const char *sql)
{
	sqlite3 *db;

	sqlite3_open(path, &db);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_close(db);
}

static int take(const struct store_row *row, void *context, struct sbx_error *err)
{
	size_t len;
	const void *bytes = store_row_bytes(row, 2, &len);

	(void)err;
	*(int64_t *)context += store_row_number(row, 0);
	CHECK_STR(store_row_text(row, 1), "x");
	CHECK(bytes != NULL && len == 3 && memcmp(bytes, "\0\1\2", 3) == 0);
	/* Another type is nothing, not a conversion. */
	CHECK(store_row_text(row, 0) == NULL && store_row_number(row, 1) == 0);
	return 0;
}

static int ignore(const struct store_row *row, void *context, struct sbx_error *err)
{
	(void)row;
	(void)err;
	*(int *)context += 1;
	return 0;
}

static int count(struct store *store)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int rows = 0;

	return store_query(store, "SELECT a FROM t", NULL, 0, ignore, &rows, &err) < 0 ? -1 : rows;
}

static void test_opening(const char *path)
{
	struct stat st;

	CHECK(opens(NULL));
	CHECK(fstatat(dir, name, &st, 0) == 0 && (st.st_mode & 07777) == 0600);
	CHECK(opens(NULL));
	CHECK(fchmodat(dir, name, 0640, 0) == 0 && opens("unsafe_store"));
	CHECK(fchmodat(dir, name, 0400, 0) == 0 && opens("unsafe_store"));
	CHECK(fchmodat(dir, name, 0600, 0) == 0 && opens(NULL));
	CHECK(linkat(dir, name, dir, "other", 0) == 0 && opens("unsafe_store"));
	CHECK(unlinkat(dir, "other", 0) == 0 && opens(NULL));
	CHECK(renameat(dir, name, dir, "other") == 0 && symlinkat("other", dir, name) == 0 && opens("unsafe_store"));
	remove_all();
	CHECK(mkdirat(dir, name, 0700) == 0 && opens("unsafe_store"));
	unlinkat(dir, name, AT_REMOVEDIR);
	CHECK(mkfifoat(dir, name, 0600) == 0 && opens("unsafe_store"));
	remove_all();
	if (geteuid() == 0) {
		CHECK(opens(NULL) && fchownat(dir, name, 65534, (gid_t)-1, 0) == 0 && opens("unsafe_store"));
		remove_all();
	}
	struct sbx_error err = SBX_ERROR_INIT;
	CHECK(io_replace_file(
		      dir, name,
		      "no database at all, but longer than a header of one hundred bytes would be, so that it is read",
		      94, &err) == 0);
	CHECK(opens("store_damaged"));
	remove_all();
	CHECK(opens(NULL));
	raw(path, "PRAGMA user_version=4");
	CHECK(opens("store_unknown"));
	raw(path, "PRAGMA user_version=3; PRAGMA application_id=1");
	CHECK(opens("store_unknown"));
	raw(path, "PRAGMA application_id=0x74657374; PRAGMA journal_mode=WAL");
	CHECK(opens(NULL));
	CHECK(faccessat(dir, "x.db-wal", F_OK, 0) < 0);
	remove_all();
}

static void test_statements(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_store *store = store_open(dir, name, &schema, &err);
	const struct store_value row[] = {store_number(7), store_text("x"), store_bytes("\0\1\2", 3)};
	const struct store_value again[] = {store_number(8), store_text("x"), store_text(NULL)};
	int64_t changed = 0, sum = 0;

	CHECK(store_run(store, "INSERT INTO t VALUES (?1, ?2, ?3)", row, 3, &changed, &err) == 0 && changed == 1);
	CHECK(store_query(store, "SELECT a, b, c FROM t", NULL, 0, take, &sum, &err) == 1 && sum == 7);
	changed = -5;
	CHECK(store_run(store, "INSERT INTO t VALUES (?1, ?2, ?3)", again, 3, &changed, &err) == -1 && changed == -5);
	CHECK_STR(err.code, "store_conflict");
	sbx_error_clear(&err);
	CHECK(store_run(store, "UPDATE t SET b = 'y' WHERE a = 99", NULL, 0, &changed, &err) == 0 && changed == 0);

	CHECK(store_query_number(store, "SELECT a FROM t WHERE b = ?1", &row[1], 1, &sum, &err) == 0 && sum == 7);
	/* No row, and no such table: what the caller had stands. A NULL is a row. */
	sum = -5;
	CHECK(store_query_number(store, "SELECT a FROM t WHERE a = 99", NULL, 0, &sum, &err) == 0 && sum == -5);
	CHECK(store_query_number(store, "SELECT a FROM u", NULL, 0, &sum, &err) == -1 && sum == -5);
	sbx_error_clear(&err);
	CHECK(store_query_number(store, "SELECT max(a) FROM t WHERE a = 99", NULL, 0, &sum, &err) == 0 && sum == 0);

	CHECK(store_begin(store, &err) == 0);
	CHECK(store_run(store, "DELETE FROM t", NULL, 0, NULL, &err) == 0 && count(store) == 0);
	store_rollback(store);
	CHECK(count(store) == 1);
	CHECK(store_begin(store, &err) == 0 && store_run(store, "DELETE FROM t", NULL, 0, NULL, &err) == 0);
	store_close(take_ptr(&store));
	store = store_open(dir, name, &schema, &err);
	CHECK(store != NULL && count(store) == 1);
	/* A value is never SQL. */
	const struct store_value hostile[] = {store_text("'); DROP TABLE t; --")};
	CHECK(store_run(store, "UPDATE t SET b = ?1", hostile, 1, &changed, &err) == 0 && changed == 1 &&
	      count(store) == 1);
	remove_all();
}

/* A trigger or view that an editor of the file left is not run. */
static void test_hostile_schema(const char *path)
{
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(opens(NULL));
	raw(path,
	    "CREATE TRIGGER evil AFTER UPDATE ON t BEGIN DELETE FROM t; END; INSERT INTO t VALUES (1, 'a', NULL)");
	auto_store *store = store_open(dir, name, &schema, &err);
	CHECK(store_run(store, "UPDATE t SET b = 'b'", NULL, 0, NULL, &err) == 0);
	CHECK(count(store) == 1);
	remove_all();
}

/* A process that is killed in a transaction leaves nothing of it. */
static void test_killed_writer(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int status;

	CHECK(opens(NULL));
	pid_t pid = fork();
	if (pid == 0) {
		struct store *store = store_open(dir, name, &schema, &err);
		store_begin(store, &err);
		store_run(store, "INSERT INTO t VALUES (1, 'a', NULL)", NULL, 0, NULL, &err);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	auto_store *store = store_open(dir, name, &schema, &err);
	CHECK(store != NULL && count(store) == 0);
	remove_all();
}

static void test_busy(const char *path)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_store *store = store_open(dir, name, &schema, &err);
	sqlite3 *other;

	sqlite3_open(path, &other);
	CHECK(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK);
	CHECK(store_begin(store, &err) == -1);
	CHECK_STR(err.code, "store_busy");
	sqlite3_close(other);
	sbx_error_clear(&err);
	CHECK(store_begin(store, &err) == 0 && store_commit(store, &err) == 0);
	remove_all();
}

int main(void)
{
	char path[] = "/tmp/sbx-store-XXXXXX", file[64];
	struct sbx_error err = SBX_ERROR_INIT;

	umask(077);
	if (mkdtemp(path) == NULL)
		return 1;
	snprintf(file, sizeof file, "%s/%s", path, name);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_opening(file);
	test_statements();
	test_hostile_schema(file);
	test_killed_writer();
	test_busy(file);
	close(dir);
	io_remove_tree(AT_FDCWD, path, &err);
	return unit_done();
}
