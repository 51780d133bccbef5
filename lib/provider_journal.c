/* One small file for each lease. */
#include "provider_journal.h"

#include <poll.h>
#include <string.h>

#include "clock.h"
#include "io.h"

static const size_t file_max = 8192;
enum { SETTLE_S = 3, LOOK_MS = 100 };

static int put(struct provider_journal *journal, int is_new, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(file_max);

	if (json_write(journal->record, &text, err) < 0 || buf_add(&text, "\n", 1, err) < 0)
		return -1;
	return is_new ? io_create_file(journal->dir, journal->lease, text.data, text.len, err)
		      : io_replace_file(journal->dir, journal->lease, text.data, text.len, err);
}

int provider_journal_begin(struct provider_journal *journal, jv members, struct sbx_error *err)
{
	jv_free(take_jv(&journal->record));
	journal->record = members;
	return put(journal, 1, err);
}

int provider_journal_add(struct provider_journal *journal, jv members, struct sbx_error *err)
{
	journal->record = jv_object_merge(take_jv(&journal->record), members);
	return put(journal, 0, err);
}

int provider_journal_read(struct provider_journal *journal, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	size_t len;

	if (io_read_file(journal->dir, journal->lease, file_max, IO_PRIVATE, &text, &len, &why) < 0) {
		if (strcmp(why.code, "missing_file") == 0)
			return 0;
		*err = why;
		return sbx_wrap(err, "the provider's file of this lease");
	}
	if (json_parse(text, len, file_max, &journal->record, &why) < 0 ||
	    jv_get_kind(journal->record) != JV_KIND_OBJECT)
		return sbx_fail(err, SBX_CONFIG, "bad_journal", "the provider's file of this lease is damaged");
	return 1;
}

void provider_journal_settle(const struct provider_journal *journal)
{
	int64_t made_at = 0;

	json_int(journal->record, "made_at", &made_at);
	/* Counted, too: the clock of the wall may be set back. */
	for (int i = 0; i < SETTLE_S * 1000 / LOOK_MS && clock_seconds() < made_at + SETTLE_S; i++)
		poll(NULL, 0, LOOK_MS);
}

int64_t provider_journal_end_time(const struct provider_journal *journal)
{
	int64_t end = 0;

	json_int(journal->record, "expires_at", &end);
	return end;
}

int provider_journal_end(struct provider_journal *journal, struct sbx_error *err)
{
	return io_remove_tree(journal->dir, journal->lease, err);
}

void provider_journal_clear(struct provider_journal *journal)
{
	jv_free(take_jv(&journal->record));
}
