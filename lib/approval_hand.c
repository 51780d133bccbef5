/* What leaves the database with a call: the text and its signatures. */
#include "approval.h"
#include "io.h"
#include "signed_text.h"

int approval_hand_over(const struct approvals *approvals, const struct approval *row, const char *call,
		       struct sbx_error *err)
{
	struct signed_text handed = {.text = row->text, .len = row->text_len};
	auto_buf bytes = BUF_INIT(SIGNED_TEXT_MAX);

	for (size_t i = 0; i < row->signature_count; i++) {
		const struct approval_signature *signature = &row->signatures[i];
		if (signature->armor == NULL)
			continue;
		handed.signatures[handed.count].armor = signature->armor;
		handed.signatures[handed.count++].len = signature->armor_len;
	}
	auto_fd run_fd = state_run_open(approvals->state, call, err);
	if (run_fd < 0 || signed_text_encode(&handed, &bytes, err) < 0)
		return -1;
	return io_create_file(run_fd, SIGNED_TEXT_FILE, bytes.data, bytes.len, err);
}
