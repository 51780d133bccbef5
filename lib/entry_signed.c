/* Who signed, how many, what, until when. */
#include "entry_signed.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "env_name.h"
#include "entry_review.h"
#include "entry_trust.h"
#include "io.h"
#include "json_out.h"
#include "signed_text.h"
#include "spawn.h"

static const int64_t verify_ms = 10000;
/* Nodes' clocks are set, not equal: a text from the future by more than this is none. */
static const int64_t ahead_s = 300;
/* A line for each signature: "ok SIGNER" or "no CODE". */
enum { ANSWER_MAX = LIMIT_APPROVERS * 128 };

/* The section of INPUTS_FD that holds the signed text: 1 and its bytes, 0 without one. */
static int read_section(const struct steps *table, int inputs_fd, char **bytes, size_t *len, struct sbx_error *err)
{
	char sha256[DIGEST_HEX_SIZE];
	uint64_t at = 0;

	for (uint32_t i = 0; i < table->input_count; i++) {
		const struct input *in = &table->inputs[i];
		if (in->kind != INPUT_SIGNED) {
			at += in->size;
			continue;
		}
		*len = (size_t)in->size;
		*bytes = malloc(*len + 1);
		if (*bytes == NULL)
			return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		for (size_t done = 0; done < *len;) {
			ssize_t n = pread(inputs_fd, *bytes + done, *len - done, (off_t)(at + done));
			if (n <= 0)
				return sbx_fail(err, SBX_PROTOCOL, "input_changed", "the signed text is cut off");
			done += (size_t)n;
		}
		digest_sha256_hex(*bytes, *len, sha256);
		if (strcmp(sha256, in->sha256) != 0)
			return sbx_fail(err, SBX_DENIED, "input_changed",
					"the signed text has another digest than the one that was handed over");
		return 1;
	}
	return 0;
}

/* Where Terraform finds its settings and plugins: a policy may say that, but here the image does. */
static int is_the_images(const char *pair)
{
	static const char *const prefixes[] = {"TF_PLUGIN_", "TF_CLI_CONFIG_FILE=", "TERRAFORM_CONFIG="};

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strncmp(pair, prefixes[i], strlen(prefixes[i])) == 0)
			return strcmp(pair, SANDBOX_RC_PAIR) != 0;
	return 0;
}

static int check_environment(const struct steps *table, struct sbx_error *err)
{
	char quoted[SBX_QUOTE_SIZE];

	for (char **pair = table->env; *pair != NULL; pair++) {
		size_t name = strcspn(*pair, "=");
		if (env_name_is_forbidden(*pair, name) || is_the_images(*pair))
			return sbx_fail(err, SBX_DENIED, "environment_refused",
					"the steps have a variable %s, which this image does not take",
					sbx_quote(quoted, *pair, name));
	}
	return 0;
}

static void add_person(struct entry_signed *found, const char *person)
{
	for (size_t i = 0; i < found->count; i++)
		if (strcmp(found->people[i], person) == 0)
			return;
	if (found->count < ARRAY_LEN(found->people))
		snprintf(found->people[found->count++], SIGNER_SIZE, "%s", person);
}

/* ANSWER, line by line; WHY gets the code of the first signature that does not count. */
static void count_people(const struct entry_trust *trust, char *answer, struct entry_signed *found, const char **why)
{
	for (char *line = answer, *end; line != NULL && line[0] != '\0'; line = end) {
		end = strchr(line, '\n');
		if (end != NULL)
			*end++ = '\0';
		const char *person = strncmp(line, "ok ", 3) == 0 ? entry_trust_person(trust, line + 3) : NULL;
		if (person != NULL)
			add_person(found, person);
		else if (*why == NULL)
			*why = strncmp(line, "no ", 3) == 0 ? line + 3 : "signer_nobody";
	}
}

static int few(const struct entry_signed *found, uint64_t wanted, const char *why, struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "signed_text_few",
		 "%zu of the %llu people whom this image asks for signed so that it counts", found->count,
		 (unsigned long long)wanted);
	return why != NULL ? sbx_hint(err, "a signature does not count here: %s", why) : -1;
}

/* By a program of its own: it alone has the arithmetic of signatures, and every other image does without. */
static int verify(const struct entry_trust *trust, const struct entry_review *review, const char *bytes, size_t len,
		  struct entry_signed *found, struct sbx_error *err)
{
	static const char *const keys[] = {
		[TRUST_ANY_KEY] = "any", [TRUST_TOUCHED] = "touched", [TRUST_VERIFIED] = "verified"};
	const char *key = keys[review->verified ? TRUST_VERIFIED : trust->key];
	const char *const argv[] = {"sbx-signed", ENTRY_TRUST_SIGNERS, key, NULL};
	const struct spawn what = {.path = ENTRY_SIGNED_PROGRAM, .argv = argv};
	uint64_t wanted = review->people > trust->people ? review->people : trust->people;
	auto_buf answer = BUF_INIT(ANSWER_MAX);
	struct sbx_error failed = SBX_ERROR_INIT;
	const char *why = NULL;
	int status;

	if (spawn_capture(&what, bytes, len, &answer, clock_mono_ms() + verify_ms, &status, &failed) < 0)
		return sbx_fail(err, SBX_CONFIG, "trust_invalid",
				"this image has a trust file, and its program for signatures did not answer: %s",
				failed.message);
	if (spawn_exit_code(status) != 0)
		return sbx_fail(err, SBX_CONFIG, "trust_invalid",
				"this image's program for signatures ended with %d", spawn_exit_code(status));
	if (buf_add(&answer, "", 1, err) < 0)
		return -1;
	count_people(trust, answer.data, found, &why);
	return found->count >= wanted ? 0 : few(found, wanted, why, err);
}

static int check_review(const struct entry_trust *trust, const struct entry_review *review, struct sbx_error *err)
{
	int64_t now = clock_seconds();

	if (trust->installation != NULL && strcmp(trust->installation, review->installation) != 0)
		return sbx_fail(err, SBX_DENIED, "signed_text_differs",
				"the text that was signed is one of another installation");
	if (now < review->until && review->asked <= now + ahead_s && review->until - review->asked <= LIMIT_APPROVAL_S)
		return 0;
	return sbx_fail(err, SBX_DENIED, "signed_text_expired",
			"by this node's clock the time of the text that was signed is not now");
}

static int check_text(const struct entry_trust *trust, const struct steps *table, const char *bytes, size_t len,
		      struct entry_signed *found, struct sbx_error *err)
{
	struct signed_text handed;
	struct entry_review review = {.people = 0};

	if (signed_text_decode(bytes, len, &handed, err) < 0)
		return -1;
	auto_free char *text = strndup(handed.text, handed.len);
	if (text == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	digest_sha256_hex(handed.text, handed.len, found->text_sha256);
	if (entry_review_read(text, &review, err) < 0 || verify(trust, &review, bytes, len, found, err) < 0 ||
	    check_review(trust, &review, err) < 0 || entry_review_compare(text, table, err) < 0)
		return -1;
	found->state = SIGNED_VERIFIED;
	return 0;
}

int entry_signed_check(const struct steps *table, int inputs_fd, struct entry_signed *found, struct sbx_error *err)
{
	auto_trust trust = {.text = NULL};
	auto_free char *bytes = NULL;
	size_t len = 0;

	int there = entry_trust_is_there(err);
	if (there <= 0) {
		found->state = there == 0 ? SIGNED_NO_TRUST : SIGNED_NOT_LOOKED;
		return there;
	}
	if (entry_trust_load(&trust, err) < 0 || check_environment(table, err) < 0)
		return -1;
	int handed = read_section(table, inputs_fd, &bytes, &len, err);
	if (handed != 0)
		return handed < 0 ? -1 : check_text(&trust, table, bytes, len, found, err);
	if (entry_trust_frees(&trust, table)) {
		found->state = SIGNED_NOT_NEEDED;
		return 0;
	}
	sbx_fail(err, SBX_DENIED, "signed_text_missing",
		 "this image has a trust file, and what is to run needs a signed text, which was not handed over");
	return sbx_hint(err, "let the policy ask for an approval (tier: high), or name these steps as free in the "
			     "image's trust file");
}

int entry_signed_json(const struct entry_signed *found, struct buf *out, struct sbx_error *err)
{
	static const char *const words[] = {[SIGNED_NOT_LOOKED] = "not verified in the image",
					    [SIGNED_NO_TRUST] = "not verified in the image: it has no trust file",
					    [SIGNED_NOT_NEEDED] = "not needed: the image's trust file names these steps as free",
					    [SIGNED_VERIFIED] = "verified in the image"};

	if (buf_add_str(out, "{", err) < 0 || json_out_member(out, "signatures", words[found->state], err) < 0)
		return -1;
	if (found->state != SIGNED_VERIFIED)
		return buf_add_str(out, "}", err);
	if (json_out_member(out, "text_sha256", found->text_sha256, err) < 0 || json_out_key(out, "people", err) < 0 ||
	    buf_add_str(out, "[", err) < 0)
		return -1;
	for (size_t i = 0; i < found->count; i++)
		if (buf_add_str(out, i > 0 ? "," : "", err) < 0 ||
		    json_out_string(out, found->people[i], strlen(found->people[i]), err) < 0)
			return -1;
	return buf_add_str(out, "]}", err);
}
