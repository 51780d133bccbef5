/* Times: RFC 3339 in UTC for people and records, milliseconds on the monotonic clock for deadlines. */
#ifndef SBX_CLOCK_H
#define SBX_CLOCK_H

#include <stdint.h>

#define CLOCK_RFC3339_SIZE 32

/* The wall clock as "2026-11-29T21:50:04.123456Z" (clock_now) or for given seconds, without a fraction. */
void clock_now(char out[CLOCK_RFC3339_SIZE]);
void clock_format(int64_t seconds, char out[CLOCK_RFC3339_SIZE]);

/* Parse what the two above write; -1 for anything else. The fraction is dropped. */
int clock_parse(const char *text, int64_t *seconds);

/* Seconds since the epoch. */
int64_t clock_seconds(void);

/* Milliseconds that never go back (CLOCK_MONOTONIC); and what is left until a point of that clock, for poll(2): 0 when it
 * has passed, at most INT_MAX. */
int64_t clock_mono_ms(void);
int clock_left_ms(int64_t deadline_mono_ms);

#endif
