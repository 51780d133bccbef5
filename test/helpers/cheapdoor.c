/* cheapdoor: a door that costs one process and nothing else, for runs of so many calls that a real one would take
 * hours. Reads one line; answers "tools" with a list of one tool, anything else with a finished call whose output is
 * what stood behind "params": in the request. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	static char line[1 << 16], answer[1 << 17];
	size_t len = 0;
	ssize_t n;

	while (len < sizeof line - 1 && memchr(line, '\n', len) == NULL &&
	       (n = read(0, line + len, sizeof line - 1 - len)) > 0)
		len += (size_t)n;
	if (strncmp(line, "tools", 5) == 0) {
		snprintf(answer, sizeof answer,
			 "{\"tools\":[{\"name\":\"hello\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"}}]"
			 "}\n");
	} else {
		const char *params = strstr(line, "\"params\":");
		int width = params != NULL ? (int)strcspn(params + 9, "}") : 0;
		char quoted[1024] = "";
		size_t used = 0;
		for (int i = 0; i < width && used < sizeof quoted - 2; i++) {
			if (params[9 + i] == '"')
				quoted[used++] = '\\';
			quoted[used++] = params[9 + i];
		}
		snprintf(answer, sizeof answer,
			 "{\"sbx\":1,\"call\":{\"id\":\"0123456789abcdef0123456789abcdef\",\"tool\":\"hello\"},"
			 "\"result\":{\"state\":\"completed\",\"exit\":0,"
			 "\"stdout\":\"%s\",\"took_ms\":1}}\n",
			 quoted);
	}
	return write(1, answer, strlen(answer)) == (ssize_t)strlen(answer) ? 0 : 74;
}
