/* One small file for each lease. */
#include "vault_journal.h"

#include <string.h>

#include "io.h"

static const size_t file_max = 8192;

static int put(struct vault_journal *journal, int is_new, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(file_max);

	if (json_write(journal->record, &text, err) < 0 || buf_add(&text, "\n", 1, err) < 0)
		return -1;
	return is_new ? io_create_file(journal->dir, journal->lease, text.data, text.len, err)
		      : io_replace_file(journal->dir, journal->lease, text.data, text.len, err);
}

int vault_journal_begin(struct vault_journal *journal, jv members, struct sbx_error *err)
{
	jv_free(take_jv(&journal->record));
	journal->record = members;
	return put(journal, 1, err);
}

int vault_journal_add(struct vault_journal *journal, jv members, struct sbx_error *err)
{
	journal->record = jv_object_merge(take_jv(&journal->record), members);
	return put(journal, 0, err);
}

int vault_journal_read(struct vault_journal *journal, struct sbx_error *err)
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

int vault_journal_end(struct vault_journal *journal, struct sbx_error *err)
{
	return io_remove_tree(journal->dir, journal->lease, err);
}

void vault_journal_clear(struct vault_journal *journal)
{
	jv_free(take_jv(&journal->record));
}
