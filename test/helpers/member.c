/* member .a.b.c: the member at this path of the JSON object on stdin as `jq -r` prints it, null where there is none.
 * jq itself spends 40 ms on its library of filters at each start, and the suite asks two thousand times. The parser is
 * libjq's, not ours: a test does not judge our output with our code. */
#include <jv.h>
#include <stdio.h>
#include <string.h>

enum { document_max = 8 << 20 };

static jv member(jv value, const char *path)
{
	while (*path == '.' && path[1] != '\0') {
		size_t len = strcspn(path + 1, ".");

		if (jv_get_kind(value) == JV_KIND_NULL)
			return value;
		if (jv_get_kind(value) != JV_KIND_OBJECT) {
			jv_free(value);
			return jv_invalid();
		}
		value = jv_object_get(value, jv_string_sized(path + 1, (int)len));
		if (!jv_is_valid(value)) {
			jv_free(value);
			value = jv_null();
		}
		path += 1 + len;
	}
	return value;
}

int main(int argc, char **argv)
{
	static char document[document_max];
	size_t len = fread(document, 1, sizeof(document), stdin);
	jv value;

	if (argc != 2 || len == 0 || len == sizeof(document))
		return 64;
	value = jv_parse_sized(document, (int)len);
	if (jv_get_kind(value) == JV_KIND_OBJECT)
		value = member(value, argv[1]);
	else
		jv_free(value), value = jv_invalid();
	if (!jv_is_valid(value)) {
		fprintf(stderr, "member: no JSON, or no object on the way to %s\n", argv[1]);
		jv_free(value);
		return 5;
	}
	if (jv_get_kind(value) == JV_KIND_STRING)
		printf("%s\n", jv_string_value(value));
	else
		jv_dumpf(jv_copy(value), stdout, 0), putchar('\n');
	jv_free(value);
	return fflush(stdout) == 0 ? 0 : 1;
}
