/* Read, compared with the sealed call, sealed again. */
#include "sandbox_signed.h"

#include <string.h>

#include "call.h"
#include "io.h"
#include "signed_text.h"

int sandbox_has_image(const char *driver)
{
	return driver != NULL && strcmp(driver, "local") != 0;
}

static int check(jv call, const char *bytes, size_t len, struct sbx_error *err)
{
	auto_jv approval = json_object(call, "approval");
	const char *named = json_str(approval, "text_sha256");
	struct signed_text handed;
	char sha256[DIGEST_HEX_SIZE];

	if (signed_text_decode(bytes, len, &handed, err) < 0)
		return -1;
	digest_sha256_hex(handed.text, handed.len, sha256);
	if (named != NULL && strcmp(named, sha256) == 0)
		return 0;
	return sbx_fail(err, SBX_DENIED, "approval_mismatch",
			"the signed text beside the call is not the one that its approval names");
}

int sandbox_signed(jv call, const char *driver, int run_fd, struct sandbox_file *file, struct sbx_error *err)
{
	const char *state = call_approval_state(call);
	struct sbx_error why = SBX_ERROR_INIT;
	auto_free char *bytes = NULL;
	size_t len;

	if (state == NULL || strcmp(state, "claimed") != 0 || !sandbox_has_image(driver))
		return 0;
	if (io_read_file(run_fd, SIGNED_TEXT_FILE, SIGNED_TEXT_MAX, IO_PRIVATE, &bytes, &len, &why) < 0) {
		if (strcmp(why.code, "missing_file") == 0)
			return 0; /* an image that wants it refuses */
		*err = why;
		return -1;
	}
	if (check(call, bytes, len, err) < 0)
		return -1;
	file->fd = io_sealed_memfd("sbx-signed", bytes, len, err);
	file->size = len;
	digest_sha256_hex(bytes, len, file->sha256);
	return file->fd < 0 ? -1 : 0;
}
