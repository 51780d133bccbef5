/* process_set_stop: what becomes of INT, TERM and HUP, over process_clean too. */
#include "process.h"

#include <signal.h>
#include <sys/wait.h>

#include "unit.h"

static const int stops[] = {SIGINT, SIGTERM, SIGHUP};

static int waits(int sig)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, sig) == 1;
}

/* The wait status of a process that takes HOW and gets SIG before and behind process_clean. It exits with 1 when the
 * signal waits in the end, else with 0. */
static int live(enum process_stop how, int sig)
{
	int status = -1;

	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		struct sbx_error err = SBX_ERROR_INIT;
		process_set_stop(how);
		if (how != PROCESS_STOP_ENDS)
			raise(sig);
		if (process_clean("process_test", NULL, 0, &err) < 0)
			_exit(2);
		int waited = waits(sig);
		raise(sig);
		_exit(how == PROCESS_STOP_HELD && !waited ? 3 : waits(sig));
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* The wait status of a process that process_clean left with SIG; OBEYS: and that then takes what a terminal sends. It is
 * not left stopped. */
static int at_terminal(int sig, int obeys)
{
	int status = -1;

	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		struct sbx_error err = SBX_ERROR_INIT;
		setpgid(0, 0); /* the kernel stops no orphaned group: this one's parent is of another */
		if (process_clean("process_test", NULL, 0, &err) < 0)
			_exit(2);
		if (obeys)
			process_obey_terminal();
		raise(sig);
		_exit(0);
	}
	pid_t got = waitpid(pid, &status, WUNTRACED);
	if (got == pid && WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return got == pid ? status : -1;
}

static void test_terminal(void)
{
	static const int signals[] = {SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};

	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		int ignored = at_terminal(signals[i], 0), obeyed = at_terminal(signals[i], 1);
		CHECK(WIFEXITED(ignored) && WEXITSTATUS(ignored) == 0);
		CHECK(signals[i] == SIGQUIT ? WIFSIGNALED(obeyed) && WTERMSIG(obeyed) == SIGQUIT
					    : WIFSTOPPED(obeyed) && WSTOPSIG(obeyed) == signals[i]);
	}
}

int main(void)
{
	test_terminal();
	for (size_t i = 0; i < ARRAY_LEN(stops); i++) {
		int ends = live(PROCESS_STOP_ENDS, stops[i]), ignored = live(PROCESS_STOP_IGNORED, stops[i]),
		    held = live(PROCESS_STOP_HELD, stops[i]);
		CHECK(WIFSIGNALED(ends) && WTERMSIG(ends) == stops[i]);
		CHECK(WIFEXITED(ignored) && WEXITSTATUS(ignored) == 0);
		CHECK(WIFEXITED(held) && WEXITSTATUS(held) == 1);
	}
	/* Nothing else is ignored or held with them. */
	int other = live(PROCESS_STOP_IGNORED, SIGUSR1);
	CHECK(WIFSIGNALED(other) && WTERMSIG(other) == SIGUSR1);
	other = live(PROCESS_STOP_HELD, SIGUSR1);
	CHECK(WIFSIGNALED(other) && WTERMSIG(other) == SIGUSR1);
	return unit_done();
}
