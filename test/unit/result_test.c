/* The result within its limits, whatever stands in it. */
#include "unit.h"

#include <string.h>

#include "call.h"
#include "json_out.h"
#include "result.h"

static const size_t big = (size_t)1 << 20;

static size_t written(jv value)
{
	auto_buf text = BUF_INIT(8 * LIMIT_CALL);
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(json_write(value, &text, &err) == 0);
	return text.len;
}

static size_t escaped(jv result, const char *key)
{
	const char *text = json_str(result, key);

	CHECK(text != NULL);
	return text != NULL ? json_out_string_size(text, strlen(text)) - 2 : 0;
}

static jv output_of(const char *out, size_t out_len, uint64_t dropped)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct result_output output = {.out = out, .out_len = out_len, .out_dropped = dropped, .err = "", .err_len = 0};
	jv result = jv_object();

	CHECK(result_set_output(&result, &output, &err) == 0);
	return result;
}

static void short_text_stands_as_it_is(void)
{
	auto_jv result = output_of("a\tb\n", 4, 0);

	CHECK(strcmp(json_str(result, "stdout"), "a\tb\n") == 0);
	CHECK(strcmp(json_str(result, "stderr"), "") == 0);
	CHECK(strcmp(json_str(result, "encoding"), "utf-8") == 0);
	CHECK(json_bool(result, "truncated") == 0);
}

static void text_that_just_fits_is_whole(void)
{
	size_t room = LIMIT_RESULT_STDOUT - 96;
	char *text = malloc(room + 1);

	memset(text, 'x', room + 1);
	auto_jv whole = output_of(text, room, 0), cut = output_of(text, room + 1, 0);
	CHECK(json_bool(whole, "truncated") == 0);
	CHECK(strlen(json_str(whole, "stdout")) == room);
	CHECK(json_bool(cut, "truncated") == 1);
	free(text);
}

static void long_text_keeps_head_and_tail(void)
{
	char *text = malloc(big);

	memset(text, '.', big);
	memcpy(text, "HEAD", 4);
	memcpy(text + big - 4, "TAIL", 4);
	auto_jv result = output_of(text, big, 0);
	const char *out = json_str(result, "stdout");
	CHECK(strncmp(out, "HEAD", 4) == 0);
	CHECK(strcmp(out + strlen(out) - 4, "TAIL") == 0);
	CHECK(strstr(out, "bytes left out]") != NULL);
	CHECK(escaped(result, "stdout") <= LIMIT_RESULT_STDOUT);
	CHECK(escaped(result, "stdout") > LIMIT_RESULT_STDOUT - 256);
	CHECK(json_bool(result, "truncated") == 1);
	free(text);
}

static void cut_never_splits_a_character(void)
{
	char *text = malloc(3 * big);

	for (size_t i = 0; i < big; i++)
		memcpy(text + 3 * i, "\xe2\x82\xac", 3);
	for (size_t shift = 0; shift < 4; shift++) {
		memset(text, 'x', shift);
		memcpy(text + shift, "\xe2\x82\xac", 3);
		auto_jv result = output_of(text, 3 * (big - 2), 0);
		const char *out = json_str(result, "stdout");
		CHECK(out != NULL && strstr(out, "\xef\xbf\xbd") == NULL);
		CHECK(escaped(result, "stdout") <= LIMIT_RESULT_STDOUT);
		for (size_t i = 0; i < big; i++)
			memcpy(text + 3 * i, "\xe2\x82\xac", 3);
	}
	free(text);
}

static void control_characters_count_as_escaped(void)
{
	char *text = malloc(big);

	memset(text, 0x1b, big);
	auto_jv result = output_of(text, big, 0);
	CHECK(escaped(result, "stdout") <= LIMIT_RESULT_STDOUT);
	CHECK(strcmp(json_str(result, "encoding"), "utf-8") == 0);
	CHECK(written(result) < LIMIT_RESULT_STDOUT + 1024);
	free(text);
}

static void bytes_that_are_no_text_are_shown(void)
{
	auto_jv result = output_of("a\xff\\\0b", 5, 0);

	CHECK(strcmp(json_str(result, "stdout"), "a\\xff\\\\\\x00b") == 0);
	CHECK(strcmp(json_str(result, "encoding"), "escaped") == 0);
	char *text = malloc(big);
	memset(text, 0, big);
	auto_jv zeros = output_of(text, big, 0);
	CHECK(escaped(zeros, "stdout") <= LIMIT_RESULT_STDOUT);
	free(text);
}

static void dropped_bytes_are_said(void)
{
	auto_jv result = output_of("x", 1, 77);

	CHECK(strstr(json_str(result, "stdout"), "77 more bytes") != NULL);
	CHECK(json_bool(result, "truncated") == 1);
}

static jv finding(const char *verdict, size_t address_len, int byte)
{
	char *address = malloc(address_len + 1);

	memset(address, byte, address_len);
	address[address_len] = '\0';
	jv made = json_set_str(json_set_str(jv_object(), "address", address), "verdict", verdict);
	free(address);
	return made;
}

static void findings_are_counted_and_capped(void)
{
	auto_jv findings = jv_array(), result = jv_invalid();
	int64_t total;

	for (int i = 0; i < 300; i++)
		findings = json_append(take_jv(&findings), finding(i < 250 ? "destructive" : "review", 20, 'a'));
	result = result_set_findings(jv_object(), findings, 0);
	auto_jv kept = json_array(result, "findings"), last = json_at(kept, LIMIT_FINDINGS - 1);
	CHECK(json_length(kept) == LIMIT_FINDINGS);
	CHECK(json_int(result, "findings_total", &total) == 0 && total == 300);
	CHECK(strcmp(json_str(last, "verdict"), "destructive") == 0);
}

static void long_strings_of_findings_are_cut_with_a_digest(void)
{
	auto_jv findings = json_append(jv_array(), finding("review", 100000, 'a'));
	auto_jv result = result_set_findings(jv_object(), findings, 0), kept = json_array(result, "findings");
	auto_jv first = json_at(kept, 0);
	const char *address = json_str(first, "address");

	CHECK(address != NULL && strlen(address) <= 512 && strstr(address, "[sha256 ") != NULL);
	CHECK(strcmp(json_str(first, "verdict"), "review") == 0);
}

static void a_finding_goes_behind_its_equals(void)
{
	auto_jv findings = jv_array();

	findings = result_insert_finding(take_jv(&findings), finding("safe", 1, 's'));
	findings = result_insert_finding(take_jv(&findings), finding("destructive", 1, 'd'));
	findings = result_insert_finding(take_jv(&findings), finding("review", 1, 'r'));
	findings = result_insert_finding(take_jv(&findings), finding("review", 1, 'q'));
	char order[5] = "";
	for (int i = 0; i < json_length(findings) && i < 4; i++) {
		auto_jv one = json_at(findings, i);
		order[i] = json_str(one, "address")[0];
	}
	CHECK(strcmp(order, "drqs") == 0);
}

/* What is too large keeps what it is, without attribute paths. */
static void a_large_finding_keeps_its_essence(void)
{
	jv one = json_set_str(finding("destructive", 20, 'a'), "text", "words"), paths = jv_array(), values = jv_array();
	char path[600];

	memset(path, 'p', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	for (int i = 0; i < 8; i++) {
		paths = json_append(paths, jv_string(path));
		values = json_append(values, json_set_str(json_set_str(jv_object(), "path", path), "before", path));
	}
	one = json_set(one, "signals", json_append(jv_array(), jv_string("replace")));
	one = json_set(one, "actions", json_append(json_append(jv_array(), jv_string("delete")), jv_string("create")));
	one = json_set_bool(json_set(json_set(one, "because", paths), "values", values), "holds_data", 1);
	auto_jv findings = json_append(jv_array(), one), result = result_set_findings(jv_object(), findings, 1);
	auto_jv kept = json_array(result, "findings"), first = json_at(kept, 0), signals = json_array(first, "signals"),
		actions = json_array(first, "actions"), signal = json_at(signals, 0);
	CHECK(!json_has(first, "because") && !json_has(first, "values"));
	CHECK_STR(json_text(signal), "replace");
	CHECK_STR(json_str(first, "text"), "words");
	CHECK(json_length(actions) == 2 && json_bool(first, "holds_data") == 1);
}

static void what_was_said_of_the_plan(void)
{
	auto_jv none = result_set_plan(jv_object(), jv_invalid()), answer = jv_object(), list = jv_array();
	int64_t number;

	CHECK(json_length(none) == 0);
	for (int i = 0; i < 60; i++) {
		jv change = json_set_str(jv_object(), "address", "a.b");
		list = json_append(take_jv(&list), json_set(change, "actions", json_append(jv_array(), jv_string("create"))));
	}
	answer = json_set(take_jv(&answer), "safe", jv_copy(list));
	answer = json_set_int(json_set_int(take_jv(&answer), "safe_total", 70), "data_destroyed", 2);
	answer = json_set(take_jv(&answer), "counts", json_set_int(json_set_int(jv_object(), "create", 70), "odd", 1));
	CHECK(!json_has(answer, "differences"));
	auto_jv without = result_set_plan(jv_object(), answer);
	CHECK(!json_has(without, "differences") && !json_has(without, "differences_total"));
	for (int i = 0; i < 60; i++)
		list = json_append(take_jv(&list), json_set_str(jv_object(), "path", "a.b"));
	answer = json_set_int(json_set(take_jv(&answer), "differences", jv_copy(list)), "differences_total", 500);
	answer = json_set(take_jv(&answer), "digest", json_set_str(json_set_str(jv_object(), "artefact", "aa"), "effect", "ee"));
	auto_jv result = result_set_plan(jv_object(), answer), safe = json_array(result, "safe"),
		counts = json_object(result, "counts"), digest = json_object(result, "digest");
	CHECK(json_length(safe) == 50 && json_int(result, "safe_total", &number) == 0 && number == 70);
	auto_jv differences = json_array(result, "differences");
	CHECK(json_length(differences) == 100 && json_int(result, "differences_total", &number) == 0 && number == 500);
	CHECK(json_int(result, "data_destroyed", &number) == 0 && number == 2);
	CHECK(json_int(counts, "create", &number) == 0 && number == 70 && !json_has(counts, "odd"));
	CHECK_STR(json_str(digest, "effect"), "ee");
	CHECK_STR(json_str(digest, "artefact"), "aa");
}

static jv nasty(int depth)
{
	jv value = jv_object();

	for (int i = 0; i < 40; i++) {
		char key[300];
		memset(key, 1 + i % 31, sizeof key - 3);
		key[sizeof key - 3] = (char)('a' + i % 26);
		key[sizeof key - 2] = (char)('a' + i / 26);
		key[sizeof key - 1] = '\0';
		value = json_set(value, key, depth > 0 ? nasty(depth - 1) : jv_string("\x01\x02\x03"));
	}
	return value;
}

/* Control characters in every member at once: the whole call is still a legal object. */
static void the_worst_result_still_fits(void)
{
	char *text = malloc(big);
	auto_jv findings = jv_array(), evidence = nasty(1), inner = jv_object(), call = jv_invalid(), answer = jv_object();
	struct sbx_error err = SBX_ERROR_INIT;

	memset(text, 1, big);
	for (int i = 0; i < 300; i++) {
		jv one = finding("destructive", 5000, 1);
		one = json_set(one, "because", jv_array());
		one = json_set(one, "signals", jv_copy(evidence));
		findings = json_append(take_jv(&findings), json_set(one, "more", jv_copy(evidence)));
	}
	answer = json_set(json_set(take_jv(&answer), "safe", jv_copy(findings)), "counts", nasty(1));
	answer = json_set(take_jv(&answer), "digest", nasty(1));
	/* As large as a call may come in. */
	size_t fill = LIMIT_CALL - RESULT_ROOM - 200;
	char *params = malloc(fill + 1);
	memset(params, 'p', fill);
	params[fill] = '\0';
	inner = json_set_str(take_jv(&inner), "params", params);
	call = json_set(json_set_int(jv_object(), "sbx", 1), "call", take_jv(&inner));
	CHECK(result_fits(call, &err) == 0);

	jv result = json_set_str(jv_object(), "state", "completed");
	struct result_output output = {.out = text,
				       .out_len = big,
				       .out_dropped = UINT64_MAX,
				       .err = text,
				       .err_len = big,
				       .err_dropped = UINT64_MAX};
	CHECK(result_set_output(&result, &output, &err) == 0);
	result = result_set_findings(result, findings, 0);
	result = result_set_plan(result, answer);
	result = result_set_isolation(result, evidence);
	CHECK(written(result) <= ((size_t)64 + 16 + 256 + 16 + 16 + 4) << 10);
	call = json_set(take_jv(&call), "result", result);
	CHECK(written(call) <= LIMIT_CALL - ((size_t)64 << 10));
	free(params);
	free(text);
}

static void a_call_without_room_is_refused(void)
{
	char *text = malloc(LIMIT_CALL);
	struct sbx_error err = SBX_ERROR_INIT;

	memset(text, 'x', LIMIT_CALL - 1);
	text[LIMIT_CALL - 1] = '\0';
	auto_jv call = json_set_str(jv_object(), "call", text);
	CHECK(result_fits(call, &err) < 0);
	CHECK(strcmp(err.code, "too_large") == 0);
	free(text);
}

int main(void)
{
	short_text_stands_as_it_is();
	text_that_just_fits_is_whole();
	long_text_keeps_head_and_tail();
	cut_never_splits_a_character();
	control_characters_count_as_escaped();
	bytes_that_are_no_text_are_shown();
	dropped_bytes_are_said();
	findings_are_counted_and_capped();
	long_strings_of_findings_are_cut_with_a_digest();
	a_finding_goes_behind_its_equals();
	a_large_finding_keeps_its_essence();
	what_was_said_of_the_plan();
	the_worst_result_still_fits();
	a_call_without_room_is_refused();
	return unit_done();
}
