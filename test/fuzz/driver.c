/* A fuzz target as a program of its own, where there is no libFuzzer: by hand, under another
 * fuzzer, or in the tests.
 *
 *   NAME_fuzz [--mutate COUNT] [--seed NUMBER] FILE...
 *       hand every FILE to the target; then COUNT changed copies of them, the same ones for the
 * same NUMBER
 *
 * The target ends the process when it finds something, or takes too long; what it was handed then
 * is in the file crash-input. Otherwise a line says what was tried.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_MAX = 1 << 18, CHANGES_MAX = 4, SECONDS_MAX = 20 };

struct input {
	uint8_t *bytes;
	size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Pieces of plans that a change of single bytes hardly makes. */
static const char *const words[] = {
	"\"delete\"",
	"\"create\"",
	"\"forget\"",
	"\"no-op\"",
	"\"update\"",
	"\"read\"",
	"[",
	"]",
	"{",
	"}",
	",",
	":",
	"null",
	"true",
	"false",
	"\"\"",
	"0",
	"-1.5e308",
	"\\u0000",
	"\\ud83d",
	"\\\"",
	"\xc3\xa9",
	"\xff",
	" ",
	"\n",
	"\"after_unknown\":true",
	"\"after\":null",
	"\"before\":{}",
	"\"before_sensitive\":true",
	"\"after_sensitive\":{\"a\":true}",
	"\"previous_address\":\"a.b\"",
	"\"deposed\":\"x\"",
	"\"importing\":{}",
	"\"replace_paths\":[[\"a\",0]]",
	"\"references\":[\"a\"]",
	"\"provisioners\":[{}]",
	"\"errored\":true",
	"\"complete\":false",
	"\"0.0.0.0/0\"",
	"\"::/0\"",
	"\"cidr_blocks\":[\"0.0.0.0/0\"]",
	"\"from_port\":22",
	"\"type\":\"aws_security_group\"",
	"\"type\":\"aws_iam_policy\"",
	"\"policy\":\"{\\\"Statement\\\":[]}\"",
	"\"resource_changes\":[]",
	"\"resource_drift\":[{}]",
	"\"output_changes\":{\"a\":{\"actions\":[\"delete\"]}}",
	"\"live\":null",
	"\"planned\":null",
	"{\"beside\":null}\n",
	"\"ownerReferences\":[{\"uid\":\"u\"}]",
	"\"privileged\":true",
	"\"Secret\"",
};
enum { WORDS = sizeof words / sizeof *words };

static uint64_t state;

static size_t by_chance(size_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below == 0 ? 0 : (size_t)(state % below);
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static struct input read_file(const char *path)
{
	struct input input = {.bytes = malloc(INPUT_MAX)};
	FILE *f = fopen(path, "rb");

	if (f == NULL || input.bytes == NULL)
		die(path);
	input.size = fread(input.bytes, 1, INPUT_MAX, f);
	fclose(f);
	return input;
}

static const uint8_t *at_hand;
static size_t at_hand_size;

/* The process ends: keep what the target was handed. */
static void keep_input(void)
{
	int fd = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t written = write(fd, at_hand, at_hand_size);

	(void)written;
	close(fd);
}

static void killed(int signal_number)
{
	keep_input();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* Of the sanitizers, which end a process in their own way. */
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void keep_input_of_crashes(void)
{
	static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], killed);
	if (__sanitizer_set_death_callback != NULL)
		__sanitizer_set_death_callback(keep_input);
}

static void try(const uint8_t *bytes, size_t size)
{
	at_hand = bytes;
	at_hand_size = size;
	alarm(SECONDS_MAX);
	LLVMFuzzerTestOneInput(bytes, size);
	alarm(0);
}

/* Put LEN bytes at AT in place of GONE; nothing when there is no room. */
static void replace(struct input *input, size_t at, size_t gone, const void *bytes, size_t len)
{
	if (input->size - gone + len > INPUT_MAX)
		return;
	memmove(input->bytes + at + len, input->bytes + at + gone, input->size - at - gone);
	memcpy(input->bytes + at, bytes, len);
	input->size += len - gone;
}

static void change(struct input *input, const struct input *other)
{
	size_t at = by_chance(input->size + 1), left = input->size - at,
	       some = by_chance(left < 64 ? left + 1 : 64);
	uint8_t byte = (uint8_t)by_chance(256);
	const char *word = words[by_chance(WORDS)];

	switch (by_chance(7)) {
	case 0:
		replace(input, at, left > 0, &byte, 1);
		break;
	case 1:
		replace(input, at, some, "", 0);
		break;
	case 2:
		replace(input, at, some, word, strlen(word));
		break;
	case 3:
		replace(input, at, 0, word, strlen(word));
		break;
	case 4: /* once more: a key twice, an element twice */
		if (some > 0) {
			uint8_t copy[64];
			memcpy(copy, input->bytes + at, some);
			replace(input, at, 0, copy, some);
		}
		break;
	case 5: { /* a piece of another plan */
		size_t from = by_chance(other->size + 1), len = by_chance(other->size - from + 1);
		replace(input, at, some, other->bytes + from, len < 2048 ? len : 2048);
		break;
	}
	default: /* cut off, seldom: little is read of what is left */
		if (by_chance(8) == 0)
			input->size = at;
	}
}

static void try_changed(const struct input *files, size_t count, unsigned long rounds)
{
	struct input input = {.bytes = malloc(INPUT_MAX)};

	if (input.bytes == NULL)
		die("malloc");
	for (unsigned long i = 0; i < rounds; i++) {
		const struct input *file = &files[by_chance(count)];
		input.size = file->size;
		memcpy(input.bytes, file->bytes, file->size);
		for (size_t n = 1 + by_chance(CHANGES_MAX); n > 0; n--)
			change(&input, &files[by_chance(count)]);
		try(input.bytes, input.size);
	}
	free(input.bytes);
}

int main(int argc, char **argv)
{
	unsigned long rounds = 0, seed = 1;
	int first = 1;

	for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2) {
		if (strcmp(argv[first], "--mutate") == 0)
			rounds = strtoul(argv[first + 1], NULL, 10);
		else if (strcmp(argv[first], "--seed") == 0)
			seed = strtoul(argv[first + 1], NULL, 10);
		else
			return 64;
	}
	size_t count = (size_t)(argc - first);
	struct input *files = calloc(count + 1, sizeof *files);
	if (count == 0 || files == NULL)
		return 64;
	keep_input_of_crashes();
	state = 0x9e3779b97f4a7c15u * (seed + 1) | 1;
	for (size_t i = 0; i < count; i++) {
		files[i] = read_file(argv[(size_t)first + i]);
		try(files[i].bytes, files[i].size);
	}
	try_changed(files, count, rounds);
	printf("%zu files, %lu changed copies\n", count, rounds);
	for (size_t i = 0; i < count; i++)
		free(files[i].bytes);
	free(files);
	return 0;
}
