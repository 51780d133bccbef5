/* Packing an approval, and taking the package apart. */
#include "desk_export.h"

#include <stdio.h>
#include <string.h>

#include "base64.h"
#include "digest.h"
#include "io.h"

static int put_file(struct buf *out, const char *name, const char *bytes, size_t len,
		    struct sbx_error *err)
{
	if (buf_addf(out, err, "%s %zu\n", name, len) < 0)
		return -1;
	return buf_add(out, bytes, len, err);
}

/* The key as the signature itself holds it. */
static int add_key(struct buf *lines, const struct approval_signature *signature,
		   struct sbx_error *err)
{
	auto_sshsig sig = {0};

	if (sshsig_parse(signature->armor != NULL ? signature->armor : "", signature->armor_len,
			 &sig, err) < 0)
		return -1;
	if (buf_addf(lines, err, "%s namespaces=\"" SSHSIG_NAMESPACE "\" %s ", signature->signer,
		     sig.key.type) < 0 ||
	    base64_add(lines, sig.key_blob, sig.key_len, err) < 0)
		return -1;
	return buf_add_str(lines, "\n", err);
}

static int write_readme(const struct approval *row, const struct state *state, struct buf *readme,
			struct sbx_error *err)
{
	char digest[DIGEST_HEX_SIZE];

	digest_sha256_hex(row->text != NULL ? row->text : "", row->text_len, digest);
	if (buf_addf(readme, err,
		     "Request %s of installation %s, and who signed it.\n\n"
		     "  text             what was read and signed\n"
		     "  1.sig, ...       a signature each\n"
		     "  allowed_signers  the keys that signed: compare them with those that you "
		     "trust\n\n"
		     "Two commands check it, in this directory. The first must say\n  %s,\n"
		     "which also stands in the record and in the result of the call "
		     "(approval.text_sha256):\n\n"
		     "  sha256sum text\n\n",
		     row->id, state->installation, digest) < 0)
		return -1;
	for (size_t i = 0; i < row->signature_count; i++)
		if (buf_addf(readme, err,
			     "  ssh-keygen -Y verify -f allowed_signers -I %s -n " SSHSIG_NAMESPACE
			     " -s %zu.sig <text\n",
			     row->signatures[i].signer, i + 1) < 0)
			return -1;
	return buf_add_str(readme,
			   "\nsbx-approve verify on this directory does both, and looks also at "
			   "what ssh-keygen does\nnot: whether a security key was touched, and "
			   "whether enough people have signed.\n",
			   err);
}

int desk_export(const struct approval *row, const struct state *state, struct buf *out,
		struct sbx_error *err)
{
	auto_buf keys = BUF_INIT(APPROVAL_PEOPLE_MAX * SSHSIG_MAX), readme = BUF_INIT(8192);
	char name[DESK_EXPORT_NAME_SIZE];

	if (row->signature_count == 0) {
		sbx_fail(err, SBX_NO_INPUT, "nothing_signed", "nobody has signed this request");
		return sbx_hint(err, "sbx-approve show prints its text");
	}
	if (put_file(out, "text", row->text != NULL ? row->text : "", row->text_len, err) < 0)
		return -1;
	for (size_t i = 0; i < row->signature_count; i++) {
		const struct approval_signature *one = &row->signatures[i];
		snprintf(name, sizeof name, "%zu.sig", i + 1);
		if (add_key(&keys, one, err) < 0 ||
		    put_file(out, name, one->armor, one->armor_len, err) < 0)
			return -1;
	}
	if (write_readme(row, state, &readme, err) < 0 ||
	    put_file(out, "allowed_signers", buf_str(&keys), keys.len, err) < 0)
		return -1;
	return put_file(out, "README", buf_str(&readme), readme.len, err);
}

/* The desk may be another machine's: no name of its choice becomes a path. */
static int is_export_name(const char *name)
{
	return strcmp(name, "text") == 0 || strcmp(name, "allowed_signers") == 0 ||
	       strcmp(name, "README") == 0 ||
	       (name[0] >= '1' && name[0] <= '9' && strcmp(name + 1, ".sig") == 0);
}

int desk_export_next(const char **bytes, size_t *len, char name[DESK_EXPORT_NAME_SIZE],
		     const char **content, size_t *content_len, struct sbx_error *err)
{
	const char *feed = *len > 0 ? memchr(*bytes, '\n', *len) : NULL;
	char line[64], digits[12];
	uint64_t size;
	int end = 0;

	if (*len == 0)
		return 0;
	size_t line_len = feed != NULL ? (size_t)(feed - *bytes) : sizeof line;
	if (line_len < sizeof line) {
		memcpy(line, *bytes, line_len);
		line[line_len] = '\0';
		size_t left = *len - line_len - 1;
		if (sscanf(line, "%31s %11[0-9]%n", name, digits, &end) == 2 &&
		    end == (int)line_len && is_export_name(name) &&
		    io_parse_u64(digits, 0, left, &size) == 0) {
			*content = feed + 1;
			*content_len = (size_t)size;
			*bytes = feed + 1 + size;
			*len = left - (size_t)size;
			return 1;
		}
	}
	return sbx_fail(err, SBX_PROTOCOL, "bad_export", "the desk's export is not whole");
}
