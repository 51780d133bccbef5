/* unlocker force-unlock -force ID: Terraform's command with a backend that compares, which the working directory is. The file `lock` has the lock that is
 * there ("ID WHO"); with ID it is removed, with another one it is told of, and then what `next` has is the lock (somebody was faster). The file `words`, where
 * there is one, is said instead, with ID for each %; what `forged` has is said by a child that looks for its parent's stderr; `hangs` lets it wait for the end.
 * Each ID is added to `asked`. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int line_of(const char *name, char *out, int size)
{
	FILE *file = fopen(name, "r");
	int got = file != NULL && fgets(out, size, file) != NULL;

	if (file != NULL)
		fclose(file);
	if (got)
		out[strcspn(out, "\n")] = '\0';
	return got;
}

static int say_words(FILE *words, const char *id, FILE *out)
{
	for (int c; (c = getc(words)) != EOF;) {
		if (c == '%')
			fputs(id, out);
		else
			putc(c, out);
	}
	return fflush(out) == 0;
}

/* A child that was given another stderr, as a provider is. */
static int forge(FILE *words, const char *id)
{
	char path[sizeof "/proc/4294967295/fd/2"];
	pid_t child = fork();

	if (child == 0) {
		snprintf(path, sizeof path, "/proc/%u/fd/2", (unsigned)getppid());
		FILE *out = fopen(path, "a");
		_exit(out == NULL || !say_words(words, id, out));
	}
	return child < 0 || waitpid(child, NULL, 0) < 0 ? 64 : 1;
}

int main(int argc, char **argv)
{
	char lock[512], *who;
	FILE *asked = fopen("asked", "a"), *words = fopen("words", "r"), *forged = fopen("forged", "r");

	if (argc != 4 || strcmp(argv[1], "force-unlock") != 0 || strcmp(argv[2], "-force") != 0 || asked == NULL)
		return 64;
	fprintf(asked, "%s\n", argv[3]);
	fclose(asked);
	if (access("hangs", F_OK) == 0)
		pause();
	if (words != NULL)
		return say_words(words, argv[3], stderr);
	if (forged != NULL)
		return forge(forged, argv[3]);
	if (!line_of("lock", lock, sizeof lock) || (who = strchr(lock, ' ')) == NULL) {
		fputs("Failed to unlock state: state is already unlocked\n", stderr);
		return 1;
	}
	*who++ = '\0';
	if (strcmp(lock, argv[3]) == 0) {
		puts("Terraform state has been successfully unlocked!");
		return unlink("lock") < 0;
	}
	fprintf(stderr,
		"\x1b[31mFailed to unlock state: lock id \"%s\" does not match existing lock\nLock Info:\n  ID:        %s\n"
		"  Path:      a\n  Operation: OperationTypeApply\n  Who:       %s\n  Version:   1.11.4\n"
		"  Created:   2026-01-01 00:00:00 +0000 UTC\n  Info:      \n\x1b[0m\x1b[0m\n",
		argv[3], lock, who);
	rename("next", "lock");
	return 1;
}
