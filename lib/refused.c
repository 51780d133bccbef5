/* The file that gives an approval back. */
#include "refused.h"

#include "digest.h"
#include "io.h"
#include "json.h"
#include "json_out.h"
#include "wire.h"

static const size_t refused_max = 4096; /* two ids and a MAC */

static int compute_mac(const struct state *state, const struct secret *key, const char *call, const char *approval,
		       unsigned char mac[DIGEST_SIZE], struct sbx_error *err)
{
	auto_buf covered = BUF_INIT(refused_max);

	if (wire_put_str(&covered, "sbx-refused/1", err) < 0 || wire_put_str(&covered, state->installation, err) < 0 ||
	    wire_put_str(&covered, call, err) < 0 || wire_put_str(&covered, approval, err) < 0)
		return -1;
	digest_hmac(key, covered.data, covered.len, mac);
	return 0;
}

int refused_write(const struct state *state, const struct secret *key, int run_fd, const char *call,
		  const char *approval, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(refused_max);
	unsigned char mac[DIGEST_SIZE];
	char hex[DIGEST_HEX_SIZE];

	if (!state_is_id(call) || !state_is_id(approval))
		return sbx_fail(err, SBX_BUG, "bug", "a refusal needs the ids of a call and of an approval");
	if (refused_verify(state, key, run_fd, call, approval))
		return 0;
	if (compute_mac(state, key, call, approval, mac, err) < 0)
		return -1;
	digest_to_hex(mac, sizeof mac, hex);
	if (buf_add_str(&text, "{", err) < 0 || json_out_member(&text, "approval", approval, err) < 0 ||
	    json_out_member(&text, "call", call, err) < 0 || json_out_member(&text, "mac", hex, err) < 0 ||
	    buf_add_str(&text, "}\n", err) < 0)
		return -1;
	return io_create_file(run_fd, "refused", text.data, text.len, err);
}

int refused_verify(const struct state *state, const struct secret *key, int run_fd, const char *call,
		   const char *approval)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	unsigned char want[DIGEST_SIZE], got[DIGEST_SIZE];
	auto_free char *text = NULL;
	auto_jv file = jv_invalid();
	size_t len = 0;

	if (call == NULL || approval == NULL ||
	    io_read_file(run_fd, "refused", refused_max, IO_PRIVATE, &text, &len, &ignored) < 0 ||
	    json_parse(text, len, refused_max, &file, &ignored) < 0)
		return 0;
	const char *mac = json_str(file, "mac");
	if (mac == NULL || digest_from_hex(mac, got, sizeof got) < 0 ||
	    compute_mac(state, key, call, approval, want, &ignored) < 0)
		return 0;
	return digest_equal(want, got, sizeof want);
}
