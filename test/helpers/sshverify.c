/* What one verification of a signature takes, for make bench.
 *
 *     sshverify NAME ROUNDS LIMIT SIGNERS SIGNATURE <text
 *
 * Verifies ROUNDS times in this process, runs ssh-keygen -Y verify between, and prints the median
 * of each in milliseconds and the ratio; then the first one of the process, with what libcrypto
 * needs to start. Status 1 when the median is above LIMIT milliseconds.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io.h"
#include "clock.h"
#include "spawn.h"
#include "sshsig_check.h"

enum { ROUNDS_MAX = 10000, OURS_FOR_ONE_OF_THEIRS = 10 };

struct job {
	const char *signers, *signature;
	char *armor, *text;
	size_t armor_len, text_len;
	char signer[SIGNER_SIZE];
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *what)
{
	fprintf(stderr, "sshverify: %s\n", what);
	exit(2);
}

static double ours(struct job *job)
{
	struct sbx_error err = SBX_ERROR_INIT;
	double start = now_ms();
	auto_sshsig sig = {0};

	if (sshsig_verify(job->signers, job->armor, job->armor_len, job->text, job->text_len,
			  clock_seconds(), SSHSIG_USER_PRESENT, sshsig_check, &sig, &err) < 0)
		die(err.message);
	double took = now_ms() - start;
	memcpy(job->signer, sig.signer, sizeof job->signer);
	return took;
}

static double theirs(const struct job *job)
{
	const char *const argv[] = {"/usr/bin/ssh-keygen", "-Y", "verify",	 "-f",
				    job->signers,	   "-I", job->signer,	 "-n",
				    SSHSIG_NAMESPACE,	   "-s", job->signature, NULL};
	const struct spawn what = {.path = argv[0], .argv = argv};
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf said = BUF_INIT(4096);
	int status = -1;
	double start = now_ms();

	if (spawn_capture(&what, job->text, job->text_len, &said, clock_mono_ms() + 10000, &status,
			  &err) < 0 ||
	    status != 0)
		die("ssh-keygen does not take the signature");
	return now_ms() - start;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof *values, by_value);
	return values[n / 2];
}

int main(int argc, char **argv)
{
	static double a[ROUNDS_MAX], b[ROUNDS_MAX];
	struct sbx_error err = SBX_ERROR_INIT;
	int rounds = argc == 6 ? (int)strtol(argv[2], NULL, 10) : 0, runs = 0;

	if (rounds < OURS_FOR_ONE_OF_THEIRS || rounds > ROUNDS_MAX)
		die("usage: sshverify NAME ROUNDS LIMIT SIGNERS SIGNATURE");
	struct job job = {.signers = argv[4], .signature = argv[5]};
	double limit = strtod(argv[3], NULL);
	if (io_read_file(AT_FDCWD, job.signature, SSHSIG_MAX, 0, &job.armor, &job.armor_len, &err) <
		    0 ||
	    io_read_all(STDIN_FILENO, 1 << 20, &job.text, &job.text_len, &err) < 0)
		die(err.message);
	double first = ours(&job);
	for (int i = 0; i < rounds; i++) {
		a[i] = ours(&job);
		if (i % OURS_FOR_ONE_OF_THEIRS == 0)
			b[runs++] = theirs(&job);
	}
	double mine = median(a, rounds), baseline = median(b, runs);
	printf("%-46s %8.2f ms  baseline %8.2f ms  ratio %5.2f  (at most %.2f ms)%s\n", argv[1],
	       mine, baseline, mine / baseline, limit, mine <= limit ? "" : "  ABOVE");
	printf("%-46s %8.2f ms the first of a process\n", "", first);
	free(job.armor);
	free(job.text);
	return mine <= limit ? 0 : 1;
}
