/* The reader of plans gives the same answer to the same bytes, whatever the reads give: every plan
 * of the corpus, the hostile ones too, as it is, and behind and before a long member that moves it
 * across blocks. */
#include "plan_read.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "io.h"
#include "unit.h"

static struct sbx_error err;
static struct signal_table table;

/* What a read gives at most: PIECE bytes, or with PIECE 0 a number by chance. In place of the C
 * library's. */
static size_t piece = SIZE_MAX;
static unsigned chance = 1;

static unsigned by_chance(unsigned below)
{
	chance = chance * 1103515245u + 12345u;
	return (chance >> 8) % below;
}

/* The byte at this offset is another one when it is read for the second time. */
static off_t changed = -1;
static int passes;

ssize_t read(int fd, void *out, size_t size)
{
	size_t most = piece != 0 ? piece : 1 + by_chance(by_chance(3) == 0 ? 70000 : 300);
	off_t at = lseek(fd, 0, SEEK_CUR);
	ssize_t n = syscall(SYS_read, fd, out, size < most ? size : most);

	passes += at == 0;
	if (passes == 2 && changed >= at && changed < at + n)
		((char *)out)[changed - at] ^= 1;
	return n;
}

/* The report, or how it was refused, in place of what OUT holds; 1 for a report. */
static int judge(int fd, struct buf *out)
{
	struct plan_survey survey = {.errored = 0};
	struct plan_report report;
	int judged;

	buf_reset(out);
	plan_report_init(&report);
	judged = plan_read(fd, &table, &survey, &report, &err) == 0;
	const struct plan_head head = plan_read_head(&survey);
	judged = judged && plan_report_write(&report, &head, out, &err) == 0;
	if (!judged) {
		struct sbx_error late = SBX_ERROR_INIT;
		buf_reset(out);
		buf_addf(out, &late, "!%s %s %s", err.code, err.message, err.hint);
		sbx_error_clear(&err);
	}
	plan_report_clear(&report);
	plan_survey_clear(&survey);
	return judged;
}

static unsigned judged, refused, different;

static void try_all_pieces(const char *name, const struct buf *text)
{
	static const size_t pieces[] = {1, 2, 3, 7, 4095, 65535, 65537, 0, 0};
	auto_buf whole = BUF_INIT(1 << 20), cut = BUF_INIT(1 << 20);
	auto_fd fd = io_sealed_memfd("plan", text->data, text->len, &err);

	if (judge(fd, &whole))
		judged++;
	else
		refused++;
	/* Byte by byte a long one takes long, and small pieces cut it as often. */
	for (size_t i = text->len < 1 << 16 ? 0 : 4; i < ARRAY_LEN(pieces); i++) {
		piece = pieces[i];
		judge(fd, &cut);
		if (strcmp(buf_str(&whole), buf_str(&cut)) != 0) {
			different++;
			printf("# %s in pieces of %zu: %.300s\n# and not: %.300s\n", name, piece,
			       buf_str(&cut), buf_str(&whole));
		}
	}
	piece = SIZE_MAX;
}

/* "padding":[…] of some SIZE bytes: strings, keys and numbers in many places. */
static void add_padding(struct buf *out, size_t size)
{
	size_t end = out->len + size;

	buf_add_str(out, "\"padding\":[{\"a\":0}", &err);
	while (out->len < end) {
		buf_addf(out, &err, ",{\"%u\":\"%.*s\\n\xc3\xa4\\u20ac\",", by_chance(1000),
			 (int)by_chance(60),
			 "plain text plain text plain text plain text plain text plain text");
		buf_addf(out, &err, "\"k%u\":[%u,true,null,-1.5e3]}", by_chance(1000),
			 by_chance(1000000));
	}
	buf_add_str(out, "]", &err);
}

static void try_file(const char *directory, const char *name)
{
	auto_buf path = BUF_INIT(4096), text = BUF_INIT(1 << 22), padded = BUF_INIT(1 << 22);
	char block[4096];
	ssize_t n;

	buf_addf(&path, &err, "%s/%s", directory, name);
	auto_fd fd = open(path.data, O_RDONLY | O_CLOEXEC);
	while ((n = read(fd, block, sizeof block)) > 0)
		buf_add(&text, block, (size_t)n, &err);
	if (text.len == 0)
		buf_add_str(&text, "", &err);
	try_all_pieces(name, &text);
	if (text.len < 2 || text.data[0] != '{' || text.data[1] == '}')
		return;
	buf_add_str(&padded, "{", &err);
	add_padding(&padded, (1 << 16) - by_chance((unsigned)text.len));
	buf_add_str(&padded, ",", &err);
	buf_add(&padded, text.data + 1, text.len - 1, &err);
	try_all_pieces(name, &padded);
	/* So long that the second pass jumps over it: of some, because it takes time. */
	if (text.len % 8 != 0)
		return;
	buf_reset(&padded);
	buf_add_str(&padded, "{", &err);
	add_padding(&padded, (1 << 20) + by_chance(1 << 16));
	buf_add_str(&padded, ",", &err);
	buf_add(&padded, text.data + 1, text.len - 1, &err);
	try_all_pieces(name, &padded);
}

static void try_directory(const char *name)
{
	DIR *directory = opendir(name);

	if (directory == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
		if (strstr(entry->d_name, ".json") != NULL &&
		    strcmp(entry->d_name, "manifest.json") != 0)
			try_file(name, entry->d_name);
	closedir(directory);
}

/* A plan that is another one when it is read again is refused, wherever it differs: in what the
 * second pass reads, and in what it passes over. */
static void test_changed(void)
{
	static const char quiet[] =
		"{\"address\":\"t.q%u\",\"mode\":\"managed\",\"type\":\"t\",\"change\":{"
		"\"actions\":["
		"\"no-op\"],\"before\":{\"a\":\"%u\"},\"after\":{\"a\":\"%u\"}}},";
	auto_buf plan = BUF_INIT(4 << 20), out = BUF_INIT(1 << 20);
	unsigned refusals = 0, rounds = 0;

	buf_add_str(&plan, "{\"format_version\":\"1.2\",\"planned_values\":{\"root_module\":{}},",
		    &err);
	add_padding(&plan, (1 << 20) + 1000);
	buf_add_str(&plan, ",\"resource_changes\":[", &err);
	for (unsigned i = 0; i < 1000; i++)
		buf_addf(&plan, &err, quiet, i, i, i);
	buf_add_str(&plan,
		    "{\"address\":\"t.x\",\"change\":{\"actions\":[\"delete\"]}}],"
		    "\"configuration\":{\"root_module\":{}}}",
		    &err);
	auto_fd fd = io_sealed_memfd("plan", plan.data, plan.len, &err);
	passes = 0;
	CHECK(judge(fd, &out));
	for (size_t at = 0; at < plan.len; at += 1 + by_chance(20000)) {
		changed = (off_t)at;
		passes = 0;
		rounds++;
		refusals += !judge(fd, &out);
	}
	changed = (off_t)plan.len - 1;
	passes = 0;
	CHECK(!judge(fd, &out));
	changed = -1;
	CHECK(rounds > 50 && refusals == rounds);
	/* Unharmed, so that every other byte is: the word says why. */
	changed = (off_t)(strstr(plan.data, "\"a\":\"500\"") - plan.data) + 5;
	passes = 0;
	CHECK(!judge(fd, &out) && strncmp(buf_str(&out), "!plan_changed ", 14) == 0);
	changed = -1;
}

/* The rules that were built beside this program. */
static void map_table(const char *program)
{
	auto_buf path = BUF_INIT(4096);

	buf_addf(&path, &err, "%.*s/../share/sbx/signals.table",
		 (int)(strrchr(program, '/') - program), program);
	auto_fd fd = open(path.data, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && signal_table_map(fd, &table, &err) == 0);
}

int main(int argc, char **argv)
{
	map_table(argc > 0 && strchr(argv[0], '/') != NULL ? argv[0] : "./");
	try_directory("test/corpus/plans");
	try_directory("test/corpus/plans/hostile");
	test_changed();
	CHECK(different == 0);
	CHECK(judged > 100 && refused > 20);
	signal_table_close(&table);
	return unit_done();
}
