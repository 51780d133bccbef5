/* Fields in a fixed order. */
#include "boot.h"

#include <string.h>

#include "limit.h"
#include "wire.h"

enum { ADDRESS_MAX = 128, LIMITS_MAX = 4096 };

static int put_addresses(struct buf *out, const struct boot_addresses *addresses, struct sbx_error *err)
{
	if (wire_put_u32(out, addresses->count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < addresses->count; i++)
		if (wire_put_str(out, addresses->list[i], err) < 0)
			return -1;
	return 0;
}

static int encode(const struct boot *boot, struct buf *out, struct sbx_error *err)
{
	const uint64_t numbers[] = {boot->artifact_max, boot->pids, boot->files, boot->probe_ms};

	if (wire_put_u32(out, BOOT_VERSION, err) < 0 || wire_put_str(out, boot->limits, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (wire_put_u64(out, numbers[i], err) < 0)
			return -1;
	if (wire_put_u32(out, boot->credentials, err) < 0 || put_addresses(out, &boot->allowed, err) < 0 ||
	    put_addresses(out, &boot->forbidden, err) < 0)
		return -1;
	return wire_put_bytes(out, boot->table, boot->table_len, err) < 0
		       ? -1
		       : wire_put_bytes(out, boot->inputs, boot->inputs_len, err);
}

int boot_too_large(struct sbx_error *err)
{
	sbx_fail(err, SBX_BAD_REQUEST, "inputs_too_large",
		 "what the call needs is larger than the %zu MB that go to a cluster", BOOT_MAX / 1000000);
	return sbx_hint(err,
			"keep large files out of the workspace's tree, or run this tool with a driver of this machine");
}

int boot_encode(const struct boot *boot, struct buf *out, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	if (encode(boot, out, &why) == 0 && out->len <= BOOT_MAX)
		return 0;
	if (why.class != SBX_OK && strcmp(why.code, "too_large") != 0) {
		*err = why;
		return -1;
	}
	return boot_too_large(err);
}

static int get_addresses(struct wire *w, struct boot_addresses *addresses, struct sbx_error *err)
{
	uint32_t count;

	if (wire_get_u32(w, BOOT_ADDRESSES, &count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		if (wire_get_str(w, ADDRESS_MAX, &addresses->list[i], err) < 0)
			return -1;
		addresses->count++;
	}
	return 0;
}

int boot_decode(const void *bytes, size_t len, struct boot *boot, struct sbx_error *err)
{
	struct wire w = {.p = bytes, .left = len};
	uint64_t *const numbers[] = {&boot->artifact_max, &boot->pids, &boot->files, &boot->probe_ms};
	uint32_t version;

	if (wire_get_u32(&w, UINT32_MAX, &version, err) < 0)
		return -1;
	if (version != BOOT_VERSION)
		return sbx_fail(err, SBX_PROTOCOL, "wire_malformed", "the boot text is of another version of sbx");
	if (wire_get_str(&w, LIMITS_MAX, &boot->limits, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (wire_get_u64(&w, numbers[i], err) < 0)
			return -1;
	if (wire_get_u32(&w, 1, &boot->credentials, err) < 0 || get_addresses(&w, &boot->allowed, err) < 0 ||
	    get_addresses(&w, &boot->forbidden, err) < 0 ||
	    wire_get_bytes(&w, BOOT_MAX, &boot->table, &boot->table_len, err) < 0 ||
	    wire_get_bytes(&w, BOOT_MAX, &boot->inputs, &boot->inputs_len, err) < 0)
		return -1;
	return w.left == 0
		       ? 0
		       : sbx_fail(err, SBX_PROTOCOL, "wire_malformed", "the boot text has something behind its end");
}

static void addresses_clear(struct boot_addresses *addresses)
{
	for (uint32_t i = 0; i < BOOT_ADDRESSES; i++)
		free(addresses->list[i]);
}

void boot_clear(struct boot *boot)
{
	free(boot->limits);
	addresses_clear(&boot->allowed);
	addresses_clear(&boot->forbidden);
	*boot = (struct boot){.limits = NULL};
}
