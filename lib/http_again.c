/* A doubling wait. */
#include "http_again.h"

#include <poll.h>

#include "clock.h"
#include "io.h"

enum {
	TRIES = 5,
	FIRST_WAIT_MS = 200,
	KEEP_MS = 1000, /* a try that begins has at least this */
};

/* Half of the time and a random part of the other half. */
static int64_t spread(int64_t ms)
{
	uint16_t part;

	io_random(&part, sizeof part);
	return ms / 2 + ms / 2 * part / 65536;
}

int http_again_wait(struct http_again *again, int64_t retry_ms, int64_t deadline)
{
	again->wait_ms = again->tries == 0 ? FIRST_WAIT_MS : 2 * again->wait_ms;
	again->tries++;
	int64_t wait_ms = retry_ms > 0 ? retry_ms : spread(again->wait_ms);
	if (again->tries == TRIES || clock_left_ms(deadline) < wait_ms + KEEP_MS)
		return -1;
	poll(NULL, 0, (int)wait_ms);
	return 0;
}
