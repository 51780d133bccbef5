/* Wall clock as RFC 3339 text, monotonic clock for deadlines. */
#include "clock.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const int64_t latest_year_end = 253402300799; /* 9999-12-31T23:59:59Z */

static void format_tm(int64_t seconds, struct tm *tm)
{
	time_t t = (time_t)(seconds < 0 ? 0 : seconds > latest_year_end ? latest_year_end : seconds);
	gmtime_r(&t, tm);
}

void clock_now(char out[CLOCK_RFC3339_SIZE])
{
	struct timespec now;
	struct tm tm;
	char date[24];

	clock_gettime(CLOCK_REALTIME, &now);
	format_tm(now.tv_sec, &tm);
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, CLOCK_RFC3339_SIZE, "%s.%06uZ", date, (unsigned)(now.tv_nsec / 1000) % 1000000u);
}

void clock_format(int64_t seconds, char out[CLOCK_RFC3339_SIZE])
{
	struct tm tm;

	format_tm(seconds, &tm);
	strftime(out, CLOCK_RFC3339_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

int clock_parse(const char *text, int64_t *seconds)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

	if (rest == NULL)
		return -1;
	if (*rest == '.') {
		size_t digits = strspn(rest + 1, "0123456789");
		if (digits == 0)
			return -1;
		rest += 1 + digits;
	}
	if (strcmp(rest, "Z") != 0)
		return -1;
	*seconds = (int64_t)timegm(&tm);
	return 0;
}

int64_t clock_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec;
}

int64_t clock_mono_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int clock_left_ms(int64_t deadline_mono_ms)
{
	int64_t left = deadline_mono_ms - clock_mono_ms();

	return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}
