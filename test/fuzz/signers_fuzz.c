/* The readers of the trust file and of the revoked keys: never a crash; an error names a line; and
 * a key that is found is in the file, under a name that is exact. In the input, the first few bytes
 * that are no text stand for keys and options, so that whole lines are easy to come by. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "base64.h"
#include "signers.h"

enum { TEXT_MAX = 1 << 20 };

static const char mine[] =
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
static const char *const words[] = {
	NULL,
	mine,
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	"sk-ssh-ed25519@openssh.com "
	"AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	"AAA3dlYg==",
	"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAIH8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	"namespaces=\"sbx-approve@v1,git\"",
	"valid-after=\"20200101Z\"",
	"valid-before=\"20300101000000Z\"",
};
static const char name_space[] = "sbx-approve@v1";
static const int64_t now = 1796000000;

static void must(int good)
{
	if (!good)
		abort();
}

static void expand(const uint8_t *data, size_t size, struct buf *text)
{
	struct sbx_error err = SBX_ERROR_INIT;

	for (size_t i = 0; i < size; i++)
		if (data[i] > 0 && data[i] < ARRAY_LEN(words))
			buf_add_str(text, words[data[i]], &err);
		else
			buf_add(text, &data[i], 1, &err);
}

static int names_a_line(const struct sbx_error *err, const char *code, const char *file)
{
	char start[64];

	snprintf(start, sizeof start, " of the %s: ", file);
	return err->class == SBX_CONFIG && strcmp(err->code, code) == 0 &&
	       strncmp(err->message, "line ", 5) == 0 && strstr(err->message, start) != NULL;
}

static void check_found(const char *name, const char *line, const unsigned char *key, size_t len)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char again[SIGNER_SIZE];
	auto_free char *second = NULL;

	must(name[0] != '\0' && strlen(name) < SIGNER_SIZE && strpbrk(name, " \t,*?!\"#") == NULL);
	/* The line for the second opinion says the same, and for any time and purpose. */
	must(signers_find(line, strlen(line), key, len, "anything", 0, again, &second, &err) == 0);
	must(strcmp(name, again) == 0 && strcmp(line, second) == 0);
}

static void check_base64(const uint8_t *data, size_t size)
{
	unsigned char *out = NULL;
	size_t len;

	if (base64_read((const char *)data, size, &out, &len) < 0)
		return;
	must(size % 4 == 0 && len <= size / 4 * 3 && len + 3 > size / 4 * 3);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free unsigned char *key = NULL;
	auto_buf text = BUF_INIT(TEXT_MAX);
	auto_free char *line = NULL;
	struct sbx_error err = SBX_ERROR_INIT, revoked = SBX_ERROR_INIT;
	char name[SIGNER_SIZE] = "";
	size_t len;

	must(base64_read(strchr(mine, ' ') + 1, strlen(strchr(mine, ' ') + 1), &key, &len) == 0);
	expand(data, size, &text);
	const char *first = buf_str(&text);
	if (signers_find(first, text.len, key, len, name_space, now, name, &line, &err) == 0)
		check_found(name, line, key, len);
	else
		must(names_a_line(&err, "signers_invalid", "allowed signers") ||
		     strcmp(err.code, "signer_unknown") == 0 ||
		     strcmp(err.code, "signer_not_valid") == 0);
	must((line != NULL) == (err.class == SBX_OK));
	if (signers_check_revoked(first, text.len, key, len, &revoked) < 0)
		must(names_a_line(&revoked, "revoked_invalid", "revoked keys") ||
		     (strcmp(revoked.code, "signer_revoked") == 0 &&
		      strstr(first, strchr(mine, ' ') + 1) != NULL));
	/* No file is good as both when it holds a line: a trust file has a name in front of each
	 * key. */
	must(err.class == SBX_CONFIG || revoked.class == SBX_CONFIG ||
	     strcmp(err.code, "signer_unknown") == 0);
	check_base64(data, size);
	return 0;
}
