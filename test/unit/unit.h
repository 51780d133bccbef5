/* The smallest test frame: each check prints a TAP line, and a failed one makes the program exit 1. */
#ifndef SBX_UNIT_H
#define SBX_UNIT_H

#include <stdio.h>
#include <string.h>
#include <time.h>

static int unit_count, unit_failures;

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		int passed_ = !!(condition);                                                                           \
		unit_failures += !passed_;                                                                             \
		printf("%s %d - %s:%d %s\n", passed_ ? "ok" : "not ok", ++unit_count, __FILE__, __LINE__, #condition); \
	} while (0)

#define CHECK_STR(actual, expected)                                                                                    \
	do {                                                                                                           \
		const char *a_ = (actual), *e_ = (expected);                                                           \
		int passed_ = a_ != NULL && strcmp(a_, e_) == 0;                                                       \
		unit_failures += !passed_;                                                                             \
		printf("%s %d - %s:%d %s is %s\n", passed_ ? "ok" : "not ok", ++unit_count, __FILE__, __LINE__,        \
		       #actual, #expected);                                                                            \
		if (!passed_)                                                                                          \
			printf("# got: %s\n", a_ ? a_ : "(null)");                                                     \
	} while (0)

/* The processor's time of this process: what a busy machine does not make longer, where a test holds it against a limit. */
static inline double unit_cpu_ms(void)
{
	return (double)clock() * 1000 / CLOCKS_PER_SEC;
}

/* Last line of main. */
static inline int unit_done(void)
{
	printf("1..%d\n", unit_count);
	return unit_failures > 0 || unit_count == 0;
}

#endif
