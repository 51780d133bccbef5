/* Sealing what the sandbox and the scrubber get. */
#include "credential_seal.h"

#include "credential_render.h"

static int add_u32(struct secret *out, size_t value, struct sbx_error *err)
{
	const unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
					(unsigned char)(value >> 8), (unsigned char)value};

	return secret_append(out, bytes, sizeof bytes, err);
}

static int seal_files(const struct secret *files, size_t count, struct sbx_error *err)
{
	auto_secret all = SECRET_INIT;
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += files[i].len + 8;
	if (secret_alloc(&all, size, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (add_u32(&all, i, err) < 0 || add_u32(&all, files[i].len, err) < 0 ||
		    secret_append(&all, files[i].data, files[i].len, err) < 0)
			return -1;
	return secret_memfd(&all, "sbx-credentials", err);
}

static int seal_fields(const struct leases *leases, struct sbx_error *err)
{
	auto_secret all = SECRET_INIT;
	struct credential_field field;
	size_t size = 0;

	/* A field's header in its block is at least as long as the four bytes here. */
	for (size_t i = 0; i < leases->count; i++)
		size += leases->lease[i].fields.len;
	if (secret_alloc(&all, size, err) < 0)
		return -1;
	for (size_t i = 0; i < leases->count; i++)
		for (size_t at = 0; credential_next_field(&leases->lease[i].fields, &at, &field) == 1;)
			if (add_u32(&all, field.len, err) < 0 || secret_append(&all, field.bytes, field.len, err) < 0)
				return -1;
	return secret_memfd(&all, "sbx-secrets", err);
}

int credential_seal(const struct leases *leases, int *credentials_fd, int *secrets_fd, struct sbx_error *err)
{
	struct secret files[LIMIT_CREDENTIALS] = {SECRET_INIT};
	auto_fd credentials = -1;
	int result = 0;

	for (size_t i = 0; result == 0 && i < leases->count; i++) {
		const struct lease *lease = &leases->lease[i];
		auto_jv target = json_get(lease->record, "target");
		result = credential_render(credential_form(json_str(lease->record, "as")), &lease->fields, target,
					   &files[i], err);
	}
	if (result == 0)
		credentials = seal_files(files, leases->count, err);
	for (size_t i = 0; i < leases->count; i++)
		secret_clear(&files[i]);
	int secrets = credentials < 0 ? -1 : seal_fields(leases, err);
	if (secrets < 0)
		return -1;
	*credentials_fd = take_fd(&credentials);
	*secrets_fd = secrets;
	return 0;
}
