/* A list of texts. */
#include "audiences.h"

#include <string.h>

#include "ascii.h"

enum { AUDIENCES_MAX = 8, AUDIENCE_MAX_LEN = 256 };

int audiences_read(jv settings, jv *out)
{
	*out = json_array(settings, "audiences");
	int count = json_length(*out);
	if (!json_has(settings, "audiences"))
		return 0;
	if (count == 0 || count > AUDIENCES_MAX)
		return -1;
	for (int i = 0; i < count; i++) {
		auto_jv one = json_at(*out, i);
		const char *text = json_text(one);
		if (text == NULL || strlen(text) > AUDIENCE_MAX_LEN || !ascii_is_visible(text, strlen(text)))
			return -1;
	}
	return 0;
}
