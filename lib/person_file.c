/* Exported approvals. */
#include "person_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "approval.h"
#include "base64.h"
#include "clock.h"
#include "desk_export.h"
#include "digest.h"
#include "io.h"
#include "sshsig_apart.h"

int person_unpack(const char *dir, const char *bytes, size_t len, struct sbx_error *err)
{
	char name[DESK_EXPORT_NAME_SIZE];
	const char *content;
	size_t content_len;
	int more;

	if (mkdir(dir, 0700) < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create",
				      "cannot make the directory %s", dir);
	auto_fd fd = io_open_dir(AT_FDCWD, dir, IO_MUST_EXIST, err);
	if (fd < 0)
		return -1;
	while ((more = desk_export_next(&bytes, &len, name, &content, &content_len, err)) == 1)
		if (io_create_file(fd, name, content, content_len, err) < 0)
			return -1;
	return more;
}

/* What the text itself asks for; lines that begin like these are ours alone. */
static void read_terms(const char *text, struct approval_terms *terms)
{
	static const char needs[] = "\nNeeds the signatures of ";
	const char *line = strstr(text, needs);
	unsigned people = 0;
	char rest[80] = "";

	*terms = (struct approval_terms){.threshold = 1};
	if (line == NULL || sscanf(line + sizeof needs - 1, "%2u %79[^\n]", &people, rest) != 2)
		return;
	terms->threshold = people;
	if (strstr(rest, "checks who touches it") != NULL)
		terms->user = SSHSIG_USER_VERIFIED;
}

struct verifying {
	char *text; /* owned */
	size_t len;
	struct approval_terms terms;
	const char *signers; /* path */
	char seen[APPROVAL_PEOPLE_MAX][SIGNER_SIZE];
	size_t count; /* of different signers */
};

static void see(struct verifying *v, const char *signer)
{
	for (size_t i = 0; i < v->count; i++)
		if (strcmp(v->seen[i], signer) == 0)
			return;
	if (v->count < ARRAY_LEN(v->seen))
		snprintf(v->seen[v->count++], SIGNER_SIZE, "%s", signer);
}

/* As ssh-keygen -l prints it: base64 without padding. */
static int print_fingerprint(const char *key_sha256, struct sbx_error *err)
{
	unsigned char digest[DIGEST_SIZE];
	auto_buf text = BUF_INIT(64);

	digest_from_hex(key_sha256, digest, sizeof digest);
	if (base64_add(&text, digest, sizeof digest, err) < 0)
		return -1;
	printf("SHA256:%.43s\n", buf_str(&text));
	return 0;
}

static int verify_one(struct verifying *v, int dirfd, const char *name, struct sbx_error *err)
{
	auto_free char *armor = NULL;
	auto_sshsig sig = {0};
	size_t len;

	if (io_read_file(dirfd, name, SSHSIG_MAX, 0, &armor, &len, err) < 0 ||
	    sshsig_verify(v->signers, armor, len, v->text, v->len, clock_seconds(), v->terms.user,
			  sshsig_check_apart, &sig, err) < 0)
		return -1;
	see(v, sig.signer);
	printf("signed by %s with %s, key ", sig.signer,
	       !sig.security_key   ? "a key file"
	       : sig.user_verified ? "a security key that was touched and checked who did"
				   : "a security key that was touched");
	return print_fingerprint(sig.key_sha256, err);
}

static int begin(struct verifying *v, int dirfd, const char *name, struct sbx_error *err)
{
	char digest[DIGEST_HEX_SIZE];

	if (io_read_file(dirfd, name, LIMIT_REVIEW_TEXT, 0, &v->text, &v->len, err) < 0)
		return -1;
	read_terms(v->text, &v->terms);
	digest_sha256_hex(v->text, v->len, digest);
	printf("text SHA-256 %s\n", digest);
	return 0;
}

static int finish(const struct verifying *v, struct sbx_error *err)
{
	if ((int64_t)v->count < v->terms.threshold)
		return sbx_fail(err, SBX_DENIED, "approval_incomplete",
				"%zu of the %lld people that the text asks for have signed it",
				v->count, (long long)v->terms.threshold);
	printf("%zu of the %lld people that the text asks for have signed it\n", v->count,
	       (long long)v->terms.threshold);
	return fflush(stdout) == 0
		       ? 0
		       : sbx_fail(err, SBX_IO, "io_error", "cannot write to standard output");
}

static int verify_directory(struct verifying *v, int dirfd, const char *path, struct sbx_error *err)
{
	auto_free char *signers = NULL;
	char name[DESK_EXPORT_NAME_SIZE];

	if (asprintf(&signers, "%s/allowed_signers", path) < 0)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	v->signers = signers;
	if (begin(v, dirfd, "text", err) < 0)
		return -1;
	for (unsigned i = 1; i <= APPROVAL_PEOPLE_MAX; i++) {
		snprintf(name, sizeof name, "%u.sig", i);
		if (i > 1 && faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			break;
		if (verify_one(v, dirfd, name, err) < 0)
			return -1;
	}
	return finish(v, err);
}

static int verify_text(struct verifying *v, const char *path, const char *config_file,
		       struct sbx_error *err)
{
	auto_config config = {0};
	auto_free char *armor = NULL;

	if (config_load(config_file, &config, err) < 0)
		return -1;
	v->signers = config.allowed_signers;
	if (asprintf(&armor, "%s.sig", path) < 0)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	return begin(v, AT_FDCWD, path, err) < 0 || verify_one(v, AT_FDCWD, armor, err) < 0
		       ? -1
		       : finish(v, err);
}

int person_verify(const char *path, const char *config_file, struct sbx_error *err)
{
	auto_fd dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct verifying v = {.text = NULL};
	int done = dirfd >= 0 ? verify_directory(&v, dirfd, path, err)
			      : verify_text(&v, path, config_file, err);

	free(v.text);
	return done;
}
