/* canned: the floor for any server that answers lines: reads one line, writes one fixed line, until stdin ends. */
#include <string.h>
#include <unistd.h>

int main(void)
{
	static const char answer[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}\n";
	char c;

	while (read(0, &c, 1) == 1)
		if (c == '\n' && write(1, answer, strlen(answer)) < 0)
			return 1;
	return 0;
}
