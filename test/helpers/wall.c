/* wall: a shared object for /etc/ld.so.preload, under which the wall clock stands still at the seconds that the file
 * /etc/sbx-test-wall names. (Variables do not reach the programs of the toolkit: they start again without LD_PRELOAD, and
 * hand none to their children.) The other clocks run. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t frozen;

__attribute__((constructor)) static void read_file(void)
{
	char text[32] = "";
	int fd = open("/etc/sbx-test-wall", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
		frozen = (time_t)strtoll(text, NULL, 10);
	if (fd >= 0)
		close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	int result = (int)syscall(SYS_clock_gettime, clock, out);

	if (result == 0 && clock == CLOCK_REALTIME && frozen != 0)
		*out = (struct timespec){.tv_sec = frozen};
	return result;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out != NULL)
		*out = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
	return 0;
}
