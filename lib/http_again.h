/* How long to wait before a request is sent again of which it is sure that nothing was done by it. */
#ifndef SBX_HTTP_AGAIN_H
#define SBX_HTTP_AGAIN_H

#include <stdint.h>

struct http_again {
	int tries;	 /* that were made */
	int64_t wait_ms; /* after the last of them */
};
#define HTTP_AGAIN_INIT                                                                                                \
	{                                                                                                              \
		.tries = 0                                                                                             \
	}

/* Wait as long as the server asks for (RETRY_MS), where that is 0 twice as long as the last time, less a random part,
 * so that callers do not come in step. 0: send it again; -1, at once: that was the last try, or too little would be
 * left until DEADLINE (clock_mono_ms). */
int http_again_wait(struct http_again *again, int64_t retry_ms, int64_t deadline);

#endif
