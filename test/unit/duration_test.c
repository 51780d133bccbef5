/* duration: what is a time, and what only looks like one. */
#include "duration.h"

#include "base.h"
#include "unit.h"

#define UNTOUCHED 7777

static uint64_t parse(const char *text, uint64_t max_ms)
{
	uint64_t ms = UNTOUCHED;

	if (duration_parse_ms(text, max_ms, &ms) < 0 && ms != UNTOUCHED)
		printf("# %s changed the result\n", text);
	return ms;
}

static void test_good(void)
{
	static const uint64_t day = 24 * 60 * 60 * 1000;

	CHECK(parse("0s", day) == 0 && parse("0ms", 0) == 0);
	CHECK(parse("250ms", day) == 250);
	CHECK(parse("20s", day) == 20 * 1000);
	CHECK(parse("30m", day) == 30 * 60 * 1000);
	CHECK(parse("24h", day) == day && parse("86400s", day) == day);
	CHECK(parse("18446744073709551615ms", UINT64_MAX) == UINT64_MAX);
}

static void test_bad(void)
{
	static const char *const bad[] = {"",
					  "s",
					  "ms",
					  "5",
					  "-1s",
					  "+1s",
					  " 1s",
					  "1 s",
					  "1s ",
					  "1.5s",
					  "01s",
					  "1S",
					  "1sec",
					  "1d",
					  "1hm",
					  "0x1s",
					  "1s1ms",
					  "18446744073709551616ms",
					  "99999999999999999999999999999999s"};
	int accepted = 0;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (parse(bad[i], UINT64_MAX) != UNTOUCHED) {
			printf("# accepted: \"%s\"\n", bad[i]);
			accepted++;
		}
	CHECK(accepted == 0);
}

static void test_maximum(void)
{
	CHECK(parse("30m", DURATION_WAIT_MAX_MS) == DURATION_WAIT_MAX_MS);
	CHECK(parse("1800s", DURATION_WAIT_MAX_MS) == DURATION_WAIT_MAX_MS);
	CHECK(parse("1800001ms", DURATION_WAIT_MAX_MS) == UNTOUCHED);
	CHECK(parse("31m", DURATION_WAIT_MAX_MS) == UNTOUCHED);
	CHECK(parse("1h", DURATION_WAIT_MAX_MS) == UNTOUCHED);
	/* Multiplied first, these would be small again. */
	CHECK(parse("5124095576031h", DURATION_WAIT_MAX_MS) == UNTOUCHED);
	CHECK(parse("5124095576031h", UINT64_MAX) == UNTOUCHED);
}

int main(void)
{
	test_good();
	test_bad();
	test_maximum();
	return unit_done();
}
