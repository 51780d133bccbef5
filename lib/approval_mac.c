/* What of a row stands neither in its text nor in the record: a MAC says that it is as it was written. */
#include "approval.h"

#include "approval_row.h"
#include "digest.h"
#include "wire.h"

static const size_t covered_max = 4096; /* the columns below at their longest */

int approval_mac(const struct approvals *approvals, const struct approval *row, char hex[65], struct sbx_error *err)
{
	const char *const texts[] = {"sbx-approval/1", approvals->state->installation,
				     row->id,	       row->asked_by,
				     row->tool,	       row->tier,
				     row->boot,	       row->why,
				     row->lost};
	const int64_t numbers[] = {row->booted, row->terms.threshold, row->terms.user == SSHSIG_USER_VERIFIED};
	auto_buf covered = BUF_INIT(covered_max);
	unsigned char mac[DIGEST_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (wire_put_str(&covered, texts[i], err) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (wire_put_u64(&covered, (uint64_t)numbers[i], err) < 0)
			return -1;
	digest_hmac(approvals->key, covered.data, covered.len, mac);
	digest_to_hex(mac, sizeof mac, hex);
	return 0;
}

int approval_is_genuine(const struct approvals *approvals, const struct approval *row, const char *mac)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	unsigned char want[DIGEST_SIZE], got[DIGEST_SIZE];
	char hex[65];

	return mac != NULL && digest_from_hex(mac, got, sizeof got) == 0 &&
	       approval_mac(approvals, row, hex, &ignored) == 0 && digest_from_hex(hex, want, sizeof want) == 0 &&
	       digest_equal(want, got, sizeof want);
}

int approval_fail_edited(const struct approval *row, struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "approval_edited", "somebody changed what the database says of this request");
	return sbx_hint(err, "close it with sbx-approve deny %s; after the pause make the call again", row->id);
}
