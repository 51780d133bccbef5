/* sbx-signed is asked. */
#include "sshsig_apart.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "process.h"
#include "signed_text.h"
#include "spawn.h"

static const char program[] = "sbx-signed";
static const int answer_ms = 10 * 1000;
static const size_t answer_max = 256; /* one line */

static int is(const struct buf *answer, const char *text)
{
	return answer->len == strlen(text) && memcmp(answer->data, text, answer->len) == 0;
}

int sshsig_check_apart(const struct sshsig *sig, const void *text, size_t len, struct sbx_error *err)
{
	const struct signed_text asked = {
		.text = text, .len = len, .signatures = {{sig->armor, sig->armor_len}}, .count = 1};
	auto_buf input = BUF_INIT(SIGNED_TEXT_MAX), answer = BUF_INIT(answer_max);
	auto_free char *path = process_helper(program, err);
	const char *const argv[] = {program, NULL};
	/* A signal that ends the call reaches this process: it says so itself, once it has the answer. */
	const struct spawn what = {.path = path, .argv = argv, .flags = SPAWN_HOLD_STOP | SPAWN_NO_TERMINAL};
	char good[sizeof "ok \n" + DIGEST_HEX_SIZE];
	int status;

	if (path == NULL || signed_text_encode(&asked, &input, err) < 0 ||
	    spawn_capture(&what, input.data, input.len, &answer, clock_mono_ms() + answer_ms, &status, err) < 0)
		return -1;
	/* The key that it judged by is the one that was looked up here. */
	snprintf(good, sizeof good, "ok %s\n", sig->key_sha256);
	if (status == 0 && is(&answer, good))
		return 0;
	if (status == 0 && is(&answer, "no signature_invalid\n"))
		return sshsig_fail_invalid(err);
	return sbx_fail(err, SBX_OS, "crypto_failed", "the program that verifies signatures cannot work");
}
