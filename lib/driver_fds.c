/* Numbers on a command line. */
#include "driver_fds.h"

#include <fcntl.h>
#include <stdint.h>

#include "base.h"
#include "io.h"
#include "process.h"

static int parse(const char *text, int *fd)
{
	uint64_t value;

	if (io_parse_u64(text, 3, INT32_MAX, &value) < 0 || fcntl((int)value, F_GETFD) < 0)
		return -1;
	*fd = (int)value;
	return 0;
}

int driver_fds_take(struct driver_fds *fds, int letter, const char *text)
{
	switch (letter) {
	case 'e':
		return parse(text, &fds->entry);
	case 'i':
		return parse(text, &fds->inputs);
	case 'c':
		return parse(text, &fds->credentials);
	case 'x':
		return parse(text, &fds->control);
	case 'l':
		return fds->lock_count < DRIVER_LOCKS_MAX ? parse(text, &fds->locks[fds->lock_count++]) : -1;
	default:
		return -1;
	}
}

int driver_fds_are_given(const struct driver_fds *fds)
{
	return fds->entry >= 0 && fds->inputs >= 0 && fds->control >= 0;
}

int driver_fds_clean(const struct driver_fds *fds, const char *name, struct sbx_error *err)
{
	const int named[] = {fds->entry, fds->inputs, fds->credentials, fds->control};
	int keep[ARRAY_LEN(named) + DRIVER_LOCKS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(named); i++)
		if (named[i] >= 0)
			keep[count++] = named[i];
	for (size_t i = 0; i < fds->lock_count; i++)
		keep[count++] = fds->locks[i];
	return process_clean(name, keep, count, err);
}
