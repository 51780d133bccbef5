/* echo: its arguments, one on a line, so that a test sees where each begins and ends. */
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		puts(argv[i]);
	return fflush(stdout) == 0 ? 0 : 1;
}
