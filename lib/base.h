/* Small helpers that every file may use: cleanup attributes, transfer of ownership, array length. */
#ifndef SBX_BASE_H
#define SBX_BASE_H

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define SBX_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof *(a))

static inline void base_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void base_free(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

/* auto_fd owns a descriptor (-1: none), auto_free a heap block; both are released at the end of the scope. */
#define auto_fd __attribute__((cleanup(base_close_fd))) int
#define auto_free __attribute__((cleanup(base_free)))

/* Take the value out of its owner, which is left empty. */
static inline int take_fd(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(*(p)) taken_ = *(p);                                                    \
		*(p) = NULL;                                                                       \
		taken_;                                                                            \
	})

#endif
