/* A number and its unit. */
#include "duration.h"

#include <string.h>

#include "io.h"

int duration_parse_ms(const char *text, uint64_t max_ms, uint64_t *ms)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}};
	size_t digits = strspn(text, "0123456789");
	char number[24]; /* more than the digits of any uint64_t */
	uint64_t value;

	if (digits == 0 || digits >= sizeof number)
		return -1;
	memcpy(number, text, digits);
	number[digits] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(text + digits, units[i].name) == 0) {
			if (io_parse_u64(number, 0, max_ms / units[i].ms, &value) < 0)
				return -1;
			*ms = value * units[i].ms;
			return 0;
		}
	return -1;
}
