/* fault_at: runs a program and lets it die, or fail, at one of the places where it does something that lasts or that
 * others see.
 *
 *     fault_at [--log FILE] count -- COMMAND ARGS...           one line "N NAME OBJECT" for each of these places
 *     fault_at [--log FILE] before N -- COMMAND ARGS...        SIGKILL instead of the Nth
 *     fault_at [--log FILE] after N -- COMMAND ARGS...         SIGKILL right behind it
 *     fault_at [--log FILE] group-before N | group-after N -- COMMAND ARGS...
 *                                                              SIGKILL for the whole process group
 *     fault_at [--log FILE] fail N ERRNO -- COMMAND ARGS...    the Nth is not done and returns the error (a number)
 *     fault_at [--log FILE] meet N PROGRAM -- COMMAND ARGS...  right behind the Nth it stands still until PROGRAM,
 *                                                              without arguments, has run
 *
 * N counts all of them, or, as NAME/OBJECT/N, those with this name and object: other processes that hold a lock make a
 * program try again, so that the plain number is not the same each time.
 *
 * The command keeps the process id, the parent, the descriptors and the exit status: it is the tracer that is a child,
 * and an orphan at that. Only the command itself is followed, none of its children. --log FILE (appended to): the places
 * as they are met; with a fault only that one. What lasts: files made, renamed, linked, removed, written, synced, cut,
 * their modes and times, locks; what others see: bytes in pipes and sockets, new processes, signals, the end. Writes to
 * stderr are left out: they are for people. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum mode { COUNT, BEFORE, AFTER, FAIL, MEET };

struct plan {
	enum mode mode;
	int group;
	long at;	/* from 1 */
	const char *of; /* NAME/OBJECT of which at counts; NULL: all */
	int error;
	char *program; /* of MEET */
	const char *log;
};

/* What names the object of a call. */
enum object { OBJECT_NONE, OBJECT_FD, OBJECT_PATH, OBJECT_PATH_AT, OBJECT_NEW_AT };

struct kind {
	long number;
	const char *name;
	enum object object;
	/* For paths: which argument; for OBJECT_FD the first one. */
	int argument;
};

static const struct kind kinds[] = {
	{SYS_openat, "openat", OBJECT_PATH_AT, 1},
	{SYS_write, "write", OBJECT_FD, 0},
	{SYS_pwrite64, "pwrite", OBJECT_FD, 0},
	{SYS_writev, "writev", OBJECT_FD, 0},
	{SYS_pwritev, "pwritev", OBJECT_FD, 0},
	{SYS_copy_file_range, "copy_file_range", OBJECT_FD, 2},
	{SYS_sendfile, "sendfile", OBJECT_FD, 0},
	{SYS_sendmsg, "sendmsg", OBJECT_FD, 0},
	{SYS_sendto, "sendto", OBJECT_FD, 0},
	{SYS_fsync, "fsync", OBJECT_FD, 0},
	{SYS_fdatasync, "fdatasync", OBJECT_FD, 0},
	{SYS_ftruncate, "ftruncate", OBJECT_FD, 0},
	{SYS_fallocate, "fallocate", OBJECT_FD, 0},
	{SYS_fchmod, "fchmod", OBJECT_FD, 0},
	{SYS_fchown, "fchown", OBJECT_FD, 0},
	{SYS_flock, "flock", OBJECT_FD, 0},
	{SYS_fcntl, "fcntl", OBJECT_FD, 0},
	{SYS_mkdirat, "mkdirat", OBJECT_PATH_AT, 1},
	{SYS_unlinkat, "unlinkat", OBJECT_PATH_AT, 1},
	{SYS_renameat, "renameat", OBJECT_NEW_AT, 3},
	{SYS_renameat2, "renameat2", OBJECT_NEW_AT, 3},
	{SYS_linkat, "linkat", OBJECT_NEW_AT, 3},
	{SYS_symlinkat, "symlinkat", OBJECT_PATH_AT, 2},
	{SYS_fchmodat, "fchmodat", OBJECT_PATH_AT, 1},
	{SYS_utimensat, "utimensat", OBJECT_PATH_AT, 1},
#ifdef SYS_mkdir
	{SYS_open, "open", OBJECT_PATH, 0},
	{SYS_mkdir, "mkdir", OBJECT_PATH, 0},
	{SYS_rmdir, "rmdir", OBJECT_PATH, 0},
	{SYS_unlink, "unlink", OBJECT_PATH, 0},
	{SYS_rename, "rename", OBJECT_PATH, 1},
	{SYS_link, "link", OBJECT_PATH, 1},
	{SYS_symlink, "symlink", OBJECT_PATH, 1},
	{SYS_chmod, "chmod", OBJECT_PATH, 0},
	{SYS_vfork, "vfork", OBJECT_NONE, 0},
	{SYS_fork, "fork", OBJECT_NONE, 0},
#endif
	{SYS_clone, "clone", OBJECT_NONE, 0},
	{SYS_clone3, "clone3", OBJECT_NONE, 0},
	{SYS_kill, "kill", OBJECT_NONE, 0},
	{SYS_pidfd_send_signal, "pidfd_send_signal", OBJECT_NONE, 0},
	{SYS_exit_group, "exit_group", OBJECT_NONE, 0},
};

static void die(const char *what)
{
	perror(what);
	_exit(125);
}

static const struct kind *kind_of(const struct __ptrace_syscall_info *info)
{
	const uint64_t *args = info->entry.args;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if ((uint64_t)kinds[i].number != info->entry.nr)
			continue;
		int flags = info->entry.nr == SYS_openat ? (int)args[2] : 0, command = (int)args[1];
#ifdef SYS_open
		if (info->entry.nr == SYS_open)
			flags = (int)args[1];
#endif
		if (kinds[i].name[0] == 'o' && !(flags & (O_CREAT | O_TRUNC)))
			return NULL;
		if (info->entry.nr == SYS_fcntl && command != F_SETLK && command != F_SETLKW && command != F_OFD_SETLK &&
		    command != F_OFD_SETLKW)
			return NULL;
		if ((info->entry.nr == SYS_write || info->entry.nr == SYS_writev) && args[0] == STDERR_FILENO)
			return NULL;
		return &kinds[i];
	}
	return NULL;
}

static void read_text(pid_t pid, uint64_t address, char *out, size_t size)
{
	/* Not over the end of the page: the next one need not be there. */
	for (size_t done = 0; done + 1 < size;) {
		size_t want = 4096 - ((size_t)address + done) % 4096;
		struct iovec mine = {out + done, want < size - 1 - done ? want : size - 1 - done};
		struct iovec theirs = {(void *)(uintptr_t)(address + done), mine.iov_len};
		ssize_t n = process_vm_readv(pid, &mine, 1, &theirs, 1, 0);
		if (n <= 0) {
			out[done] = '\0';
			return;
		}
		done += (size_t)n;
		out[done] = '\0';
		if (memchr(out + done - n, '\0', (size_t)n) != NULL)
			return;
	}
}

static void read_fd(pid_t pid, uint64_t fd, char *out, size_t size)
{
	char link[64];

	snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, (int)fd);
	ssize_t n = readlink(link, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
}

/* The last part of a path, its numbers and ids left out, so that two runs say the same. */
static void add_name(char *out, const char *path)
{
	size_t len = strlen(path);

	out += strlen(out);

	while (len > 1 && path[len - 1] == '/')
		len--;
	const char *deleted = strstr(path, " (deleted)");
	if (deleted != NULL)
		len = (size_t)(deleted - path);
	const char *start = memrchr(path, '/', len);
	for (const char *p = start != NULL && start + 1 < path + len ? start + 1 : path; p < path + len;) {
		size_t digits = strspn(p, "0123456789"), hex = strspn(p, "0123456789abcdef");
		if (hex >= 8 || digits > 0) {
			*out++ = '#';
			p += hex >= 8 ? hex : digits;
		} else {
			*out++ = *p == '\n' || *p == ' ' ? '_' : *p;
			p++;
		}
	}
	*out = '\0';
}

enum { PATH_SIZE = 4096, POINT_SIZE = PATH_SIZE + 64 };

/* "NAME/OBJECT" */
static void describe(pid_t pid, const struct kind *kind, const uint64_t *args, char point[POINT_SIZE])
{
	char path[PATH_SIZE] = "-";

	if (kind->object == OBJECT_FD)
		read_fd(pid, args[kind->argument], path, sizeof path);
	else if (kind->object == OBJECT_PATH || (kind->object != OBJECT_NONE && args[kind->argument] != 0))
		read_text(pid, args[kind->argument], path, sizeof path);
	else if (kind->object == OBJECT_PATH_AT) /* futimens: no path, the descriptor alone */
		read_fd(pid, args[0], path, sizeof path);
	snprintf(point, POINT_SIZE, "%s/", kind->name);
	add_name(point, path);
}

static void print_point(const struct plan *plan, long number, const char *point)
{
	FILE *out = fopen(plan->log, "ae");
	const char *object = strchr(point, '/');

	if (out == NULL)
		die(plan->log);
	fprintf(out, "%ld %.*s %s\n", number, (int)(object - point), point, object + 1);
	fclose(out);
}

/* The call at whose entry PID stands is not made. */
static void skip_call(pid_t pid)
{
#if defined __x86_64__
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0)
		die("PTRACE_GETREGS");
	regs.orig_rax = (unsigned long long)-1;
	if (ptrace(PTRACE_SETREGS, pid, NULL, &regs) < 0)
		die("PTRACE_SETREGS");
#elif defined __aarch64__
	int none = -1;
	struct iovec number = {&none, sizeof none};
	if (ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &number) < 0)
		die("PTRACE_SETREGSET");
#else
#error "how a system call is skipped on this architecture is not known"
#endif
}

static void set_result(pid_t pid, int error)
{
	struct user_regs_struct regs;
	struct iovec whole = {&regs, sizeof regs};

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &whole) < 0)
		die("PTRACE_GETREGSET");
#if defined __x86_64__
	regs.rax = (unsigned long long)-error;
#else
	regs.regs[0] = (unsigned long long)-error;
#endif
	if (ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &whole) < 0)
		die("PTRACE_SETREGSET");
}

struct trace {
	pid_t pid;
	long met;
	int inside;  /* the wanted call has been entered */
	int is_over; /* and is behind us */
};

static void strike(const struct plan *plan, pid_t pid)
{
	kill(plan->group ? -getpgid(pid) : pid, SIGKILL);
}

static void run_beside(char *program)
{
	pid_t pid = fork();

	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

static void at_entry(const struct plan *plan, struct trace *t, const struct __ptrace_syscall_info *info)
{
	const struct kind *kind = kind_of(info);
	char point[POINT_SIZE];

	if (kind == NULL)
		return;
	describe(t->pid, kind, info->entry.args, point);
	t->met += plan->of == NULL || strcmp(plan->of, point) == 0;
	t->inside = plan->mode != COUNT && !t->is_over && t->met == plan->at;
	t->is_over |= t->inside;
	if (plan->log != NULL && (plan->mode == COUNT || t->inside))
		print_point(plan, t->met, point);
	/* Nothing comes behind the end. */
	if (t->inside && (plan->mode == BEFORE || (plan->mode == AFTER && info->entry.nr == SYS_exit_group)))
		strike(plan, t->pid);
	else if (t->inside && plan->mode == FAIL)
		skip_call(t->pid);
	else if (t->inside && plan->mode == MEET && info->entry.nr == SYS_exit_group)
		run_beside(plan->program);
}

static void at_exit(const struct plan *plan, struct trace *t)
{
	if (!t->inside)
		return;
	t->inside = 0;
	if (plan->mode == AFTER)
		strike(plan, t->pid);
	else if (plan->mode == FAIL)
		set_result(t->pid, plan->error);
	else if (plan->mode == MEET)
		run_beside(plan->program);
}

static void follow(const struct plan *plan, struct trace *t, int told)
{
	int status, started = 0;

	for (;;) {
		if (waitpid(t->pid, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (!WIFSTOPPED(status))
			return;
		int signal = WSTOPSIG(status), event = status >> 16;
		if (signal == (SIGTRAP | 0x80)) {
			struct __ptrace_syscall_info info;
			signal = 0;
			if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof info, &info) < 0)
				die("PTRACE_GET_SYSCALL_INFO");
			if (info.op == PTRACE_SYSCALL_INFO_ENTRY && started)
				at_entry(plan, t, &info);
			else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
				at_exit(plan, t);
		} else if (event == PTRACE_EVENT_EXEC) {
			started = 1; /* what was called before was our own */
			signal = 0;
		} else if (event == PTRACE_EVENT_STOP) {
			signal = 0;
			if (told >= 0) {
				(void)!write(told, "", 1);
				close(told);
				told = -1;
			}
		}
		if (ptrace(PTRACE_SYSCALL, t->pid, NULL, (void *)(intptr_t)signal) < 0 && errno != ESRCH)
			die("PTRACE_SYSCALL");
	}
}

/* The tracer, a child of nobody, holding nothing that the command holds: whoever reads its pipes waits for its end. */
static void trace(const struct plan *plan, pid_t pid, int told)
{
	struct trace t = {.pid = pid};
	int keep = 9;

	if (told != keep && dup2(told, keep) < 0)
		die("dup2");
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close_range(3, (unsigned)keep - 1, 0);
	close_range((unsigned)keep + 1, ~0u, 0);
	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
		_exit(125);
	follow(plan, &t, keep);
	_exit(0);
}

static int start_tracer(const struct plan *plan)
{
	pid_t me = getpid(), between;
	int told[2];
	char byte;
	sigset_t all, before;

	if (pipe(told) < 0)
		die("pipe");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	between = fork();
	if (between < 0)
		die("fork");
	if (between == 0) {
		setsid(); /* a signal for the group is not for the tracer */
		if (fork() == 0)
			trace(plan, me, told[1]);
		_exit(0);
	}
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	waitpid(between, NULL, 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(told[1]);
	ssize_t n;
	do
		n = read(told[0], &byte, 1);
	while (n < 0 && errno == EINTR);
	close(told[0]);
	return n == 1 ? 0 : -1;
}

static void parse_point(char *word, struct plan *plan)
{
	char *last = strrchr(word, '/');

	plan->at = strtol(last != NULL ? last + 1 : word, NULL, 10);
	if (last == NULL)
		return;
	*last = '\0';
	plan->of = word;
}

static int parse(int argc, char **argv, struct plan *plan)
{
	static const struct {
		const char *name;
		enum mode mode;
		int group;
	} modes[] = {{"count", COUNT, 0},	   {"before", BEFORE, 0},     {"after", AFTER, 0},
		     {"group-before", BEFORE, 1}, {"group-after", AFTER, 1}, {"fail", FAIL, 0},
		     {"meet", MEET, 0}};
	int i = 1;

	if (argc > i + 1 && strcmp(argv[i], "--log") == 0) {
		plan->log = argv[i + 1];
		i += 2;
	}
	for (size_t m = 0; i < argc && m < sizeof modes / sizeof *modes; m++)
		if (strcmp(argv[i], modes[m].name) == 0) {
			plan->mode = modes[m].mode;
			plan->group = modes[m].group;
			i++;
			if (plan->mode != COUNT && i < argc)
				parse_point(argv[i++], plan);
			if (plan->mode == FAIL && i < argc)
				plan->error = (int)strtol(argv[i++], NULL, 10);
			if (plan->mode == MEET && i < argc)
				plan->program = argv[i++];
			break;
		}
	int good = i + 1 < argc && strcmp(argv[i], "--") == 0 && (plan->mode == COUNT || plan->at > 0) &&
		   (plan->mode != FAIL || plan->error > 0) && (plan->mode != MEET || plan->program != NULL);
	return good ? i + 1 : -1;
}

int main(int argc, char **argv)
{
	struct plan plan = {.mode = COUNT};
	int command = parse(argc, argv, &plan);

	if (command < 0) {
		fputs("usage: fault_at [--log FILE] count | before N | after N | group-before N | group-after N | "
		      "fail N ERRNO | meet N PROGRAM -- COMMAND ARGS...\n",
		      stderr);
		return 64;
	}
	if (start_tracer(&plan) < 0) {
		fputs("fault_at: cannot trace\n", stderr);
		return 125;
	}
	execvp(argv[command], argv + command);
	die(argv[command]);
}
