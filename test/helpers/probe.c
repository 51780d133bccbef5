/* A step of the sandbox tests: tries one thing, or many, and says what happened. Static, needs nothing of the sandbox.
 *
 *     probe escape             one line "NAME RESULT" for each attempt to get out; RESULT is the errno's name, or what
 * was seen probe print TEXT         stdout            probe complain TEXT   stderr probe exit N             probe raise
 * N     probe cat FILE        probe write FILE TEXT      probe append FILE TEXT probe link TARGET FILE   probe fifo
 * FILE   probe mkdir DIR       probe size FILE N (a hole) probe flood              writes until it is killed probe
 * stubborn           ignores every signal and sleeps        probe polite FILE  on INT writes FILE and exits 0 probe
 * daemon FILE TEXT   leaves a process that rewrites FILE with TEXT and shouts on stdout, for ever probe hold leaves a
 * process that keeps stdout open probe orphans N          makes N grandchildren that outlive their parent probe bomb
 * forks until it may not; prints how often probe fill DIR           writes until the disk is full; prints the megabytes
 *     probe grow N             allocates N megabytes; prints "got" or "refused"
 *     probe eat N              the same, and writes to all of it
 *     probe i386 | x32         makes a system call of another architecture
 *     probe environ            every variable, one a line                probe fds  the open descriptors
 *     probe listen NAME        waits on an abstract socket                probe connect NAME
 *     probe tcp ADDRESS PORT   connects, for at most two seconds
 *     probe forge NONCE        tries to write a frame to every descriptor it can find
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void say(const char *name, long result)
{
	printf("%s %s\n", name, result >= 0 ? "ok" : strerrorname_np(errno));
	fflush(stdout);
}

#define TRY(name, expression) (errno = 0, say(name, (long)(expression)))

static long connect_abstract(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0)
		return -1;
	memcpy(address.sun_path + 1, name, strlen(name));
	return connect(fd, (struct sockaddr *)&address, (socklen_t)(sizeof(sa_family_t) + 1 + strlen(name)));
}

static int listen_abstract(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(address.sun_path + 1, name, strlen(name));
	if (bind(fd, (struct sockaddr *)&address, (socklen_t)(sizeof(sa_family_t) + 1 + strlen(name))) < 0 ||
	    listen(fd, 8) < 0)
		return 1;
	printf("listening\n");
	fflush(stdout);
	alarm(60);
	for (;;)
		pause();
}

static long connect_tcp(uint32_t host, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(host)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, sizeof address);
}

static long clone_with(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

static long clone3_with(uint64_t flags)
{
	struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof args);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

static void status_line(const char *key)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
			printf("%s %s", key, line + strlen(key) + 2);
	if (f != NULL)
		fclose(f);
}

static void mount_flags(const char *name, const char *path)
{
	struct statvfs st;

	if (statvfs(path, &st) < 0)
		printf("%s %s\n", name, strerrorname_np(errno));
	else
		printf("%s ro=%d nosuid=%d nodev=%d\n", name, !!(st.f_flag & ST_RDONLY), !!(st.f_flag & ST_NOSUID),
		       !!(st.f_flag & ST_NODEV));
}

static void try_terminal(void)
{
	TRY("tiocsti", ioctl(0, TIOCSTI, "x"));
	TRY("tiocsti-high", syscall(SYS_ioctl, 0, 0x100000000UL | TIOCSTI, "x"));
	TRY("tioclinux", ioctl(0, 0x541c, "x"));
	TRY("tioclinux-high", syscall(SYS_ioctl, 0, 0x700000000UL | 0x541c, "x"));
	TRY("dev-tty", open("/dev/tty", O_RDWR));
}

static void try_files(void)
{
	TRY("create-root", open("/x", O_CREAT | O_WRONLY, 0600));
	TRY("create-program", open("/app/x", O_CREAT | O_WRONLY, 0600));
	TRY("create-dev", open("/dev/x", O_CREAT | O_WRONLY, 0600));
	TRY("write-program", open("/app/probe", O_WRONLY));
	TRY("write-random", open("/dev/random", O_WRONLY));
	TRY("write-null", open("/dev/null", O_WRONLY));
	TRY("remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	TRY("umount-proc", umount2("/proc", MNT_DETACH));
	TRY("mount", mount("t", "/tmp", "tmpfs", 0, NULL));
	TRY("open-tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1u));
	TRY("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	TRY("chroot", chroot("/tmp"));
	TRY("pivot-root", syscall(SYS_pivot_root, "/", "/tmp"));
	TRY("mknod-block", mknod("/work/blk", S_IFBLK | 0600, 0x800));
	TRY("handle", syscall(SYS_open_by_handle_at, AT_FDCWD, environ, 0));
	TRY("proc-1-fd", open("/proc/1/fd", O_RDONLY));
	TRY("proc-1-mem", open("/proc/1/mem", O_RDONLY));
	TRY("proc-1-environ", open("/proc/1/environ", O_RDONLY));
	TRY("proc-1-cmdline", open("/proc/1/cmdline", O_RDONLY));
	TRY("proc-1-root", open("/proc/1/root/", O_RDONLY));
	TRY("proc-sys", open("/proc/sys/kernel/hostname", O_RDONLY));
	TRY("proc-cmdline", open("/proc/cmdline", O_RDONLY));
	TRY("proc-keys", open("/proc/keys", O_RDONLY));
	TRY("host-passwd", open("/etc/passwd", O_RDONLY));
	TRY("dotdot", open("/../etc/passwd", O_RDONLY));
	mount_flags("mount-root", "/");
	mount_flags("mount-app", "/app/probe");
	mount_flags("mount-work", "/work");
	mount_flags("mount-tmp", "/tmp");
	mount_flags("mount-proc", "/proc");
}

static void try_kernel(void)
{
	char room[256] = "";

	TRY("unshare-user", unshare(CLONE_NEWUSER));
	TRY("clone-user", clone_with(CLONE_NEWUSER));
	TRY("clone-net", clone_with(CLONE_NEWNET));
	TRY("clone3-user", clone3_with(CLONE_NEWUSER));
	TRY("clone3", clone3_with(0));
	TRY("setns", setns(0, 0));
	TRY("ptrace", ptrace(PTRACE_TRACEME, 0, 0, 0));
	TRY("vm-readv", syscall(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0));
	TRY("kcmp", syscall(SYS_kcmp, 1, getpid(), 0, 0, 0));
	TRY("pidfd-getfd", syscall(SYS_pidfd_getfd, 0, 1, 0));
	TRY("prlimit-init", prlimit(1, RLIMIT_NOFILE, &(struct rlimit){3, 3}, NULL));
	TRY("prlimit-self", prlimit(0, RLIMIT_NOFILE, NULL, &(struct rlimit){0, 0}));
	TRY("io-uring", syscall(425, 4, room));
	TRY("keyctl", syscall(SYS_keyctl, 0, -3, 1));
	TRY("add-key", syscall(SYS_add_key, "user", "k", "v", 1, -3));
	TRY("request-key", syscall(SYS_request_key, "user", "k", "v", -3));
	TRY("bpf", syscall(SYS_bpf, 0, room, sizeof room));
	TRY("perf", syscall(SYS_perf_event_open, room, 0, -1, -1, 0));
	TRY("userfaultfd", syscall(SYS_userfaultfd, 1));
	TRY("kexec", syscall(SYS_kexec_load, 0, 0, 0, 0));
	TRY("reboot", syscall(SYS_reboot, 0, 0, 0, 0));
	TRY("shmget", syscall(SYS_shmget, 0, 4096, 0600));
	TRY("unknown", syscall(999));
	TRY("newer", syscall(452, -1, "", 0, 0));
	TRY("memfd", memfd_create("m", 0));
	TRY("hostname", sethostname("evil", 4));
}

static void try_network(void)
{
	TRY("socket-unix", socket(AF_UNIX, SOCK_STREAM, 0));
	TRY("socket-inet", socket(AF_INET, SOCK_STREAM, 0));
	TRY("socket-vsock", socket(40, SOCK_STREAM, 0));
	TRY("socket-vsock-high", syscall(SYS_socket, 0x100000000UL | 40, SOCK_STREAM, 0));
	TRY("socket-packet", socket(AF_PACKET, SOCK_RAW, 0));
	TRY("socket-alg", socket(38, SOCK_SEQPACKET, 0));
	TRY("socket-netlink", socket(AF_NETLINK, SOCK_RAW, 0));
	TRY("socketpair-inet", socketpair(AF_INET, SOCK_STREAM, 0, (int[2]){0}));
	TRY("tcp-loopback", connect_tcp(0x7f000001, 22));
	TRY("tcp-outside", connect_tcp(0x01010101, 443));
}

static void try_privileges(void)
{
	TRY("setuid-0", setresuid(0, 0, 0));
	TRY("kill-init", kill(1, 0));
	TRY("kill-host", kill(99999, 0));
	status_line("NoNewPrivs");
	status_line("Seccomp");
	status_line("CapEff");
	status_line("CapPrm");
	status_line("CapBnd");
	status_line("CapAmb");
	status_line("Groups");
	status_line("Uid");
}

static int list_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	printf("fds");
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(dir))
			printf(" %s", entry->d_name);
	printf("\n");
	return 0;
}

static int escape(void)
{
	list_fds();
	try_terminal();
	try_privileges();
	try_files();
	try_kernel();
	try_network();
	return 0;
}

static int put(const char *file, int flags, const char *text)
{
	int fd = open(file, O_WRONLY | flags, 0644);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0 ? 0
												   : (perror(file), 1);
}

static int cat(const char *file)
{
	char block[65536];
	int fd = open(file, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return perror(file), 1;
	while ((n = read(fd, block, sizeof block)) > 0)
		if (write(1, block, (size_t)n) != n)
			return 1;
	return 0;
}

static void ignore_all(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_IGN);
}

/* A process in a session of its own, with another name, that nobody waits for. */
static int become_orphan(void)
{
	if (fork() != 0)
		_exit(0);
	setsid();
	if (fork() != 0)
		_exit(0);
	ignore_all();
	prctl(PR_SET_NAME, "probe-orphan");
	return 0;
}

static int leave_daemon(const char *file, const char *text)
{
	pid_t pid = fork();

	if (pid == 0) {
		become_orphan();
		for (;;) {
			put(file, O_CREAT | O_TRUNC, text);
			if (write(1, "shout\n", 6) < 0)
				usleep(1000);
		}
	}
	waitpid(pid, NULL, 0);
	while (access(file, F_OK) < 0) /* it is at work when we leave */
		usleep(1000);
	return 0;
}

static int leave_holder(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		become_orphan();
		sleep(1000);
	}
	waitpid(pid, NULL, 0);
	return 0;
}

static int orphans(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return printf("fork %d %s\n", i, strerrorname_np(errno)), 1;
		if (pid == 0) {
			if (fork() == 0)
				usleep(100);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	printf("orphans %d\n", count);
	return 0;
}

static int bomb(void)
{
	int count = 0;

	while (count < 3000) {
		pid_t pid = fork();
		if (pid < 0)
			break;
		if (pid == 0)
			pause();
		count++;
	}
	printf("bomb %d %s\n", count, count < 3000 ? strerrorname_np(errno) : "NO LIMIT");
	return 0;
}

static int fill(const char *dir)
{
	static char block[1 << 20];
	char file[4096];
	long megabytes = 0;

	snprintf(file, sizeof file, "%s/fill", dir);
	int fd = open(file, O_WRONLY | O_CREAT, 0600);
	signal(SIGXFSZ, SIG_IGN);
	while (megabytes < 4096 && write(fd, block, sizeof block) == (ssize_t)sizeof block)
		megabytes++;
	printf("fill %ld %s\n", megabytes, strerrorname_np(errno));
	return 0;
}

static int grow(size_t megabytes)
{
	char *p = mmap(NULL, megabytes << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	printf("%s\n", p == MAP_FAILED ? "refused" : "got");
	return 0;
}

/* The same, written to. */
static int eat(size_t megabytes)
{
	char *p = mmap(NULL, megabytes << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		memset(p, 1, megabytes << 20);
	return grow(1);
}

static volatile sig_atomic_t interrupted;
static void on_interrupt(int sig)
{
	interrupted = sig;
}

static int polite(const char *file)
{
	signal(SIGINT, on_interrupt);
	printf("waiting\n");
	fflush(stdout);
	while (!interrupted)
		pause();
	return put(file, O_CREAT, "tidy") == 0 ? (printf("tidied\n"), 0) : 1;
}

static int other_architecture(const char *which)
{
#ifdef __x86_64__
	if (strcmp(which, "i386") == 0) {
		long result;
		__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory"); /* getpid */
		printf("i386 %ld\n", result);
	} else {
		printf("x32 %ld\n", syscall(0x40000000L + 39));
	}
#else
	printf("%s unknown\n", which);
#endif
	return 0;
}

static int forge(const char *nonce)
{
	char frame[256], path[64];
	int len = snprintf(frame, sizeof frame, "sbx-frame %s exit 1 10\n{\"exit\":0}\n", nonce);

	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			(void)!write(fd, frame, (size_t)len);
	for (int fd = 0; fd < 16; fd++) {
		snprintf(path, sizeof path, "/proc/1/fd/%d", fd);
		int other = open(path, O_WRONLY);
		if (other >= 0)
			(void)!write(other, frame, (size_t)len);
	}
	return 7;
}

/* A non-blocking connect: what became of it after two seconds. */
static int try_tcp(const char *address, const char *port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), error = 0;
	socklen_t len = sizeof error;
	struct pollfd ready = {.fd = fd, .events = POLLOUT};

	if (fd < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1)
		return 1;
	if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)
		error = errno;
	else if (poll(&ready, 1, 2000) == 0)
		error = ETIMEDOUT;
	else
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	printf("tcp %s\n", error == 0 ? "connected" : strerrorname_np(error));
	return 0;
}

static int with_two(const char *what, char **argv)
{
	if (strcmp(what, "write") == 0)
		return put(argv[2], O_CREAT | O_TRUNC, argv[3]);
	if (strcmp(what, "append") == 0)
		return put(argv[2], O_APPEND, argv[3]);
	if (strcmp(what, "link") == 0)
		return symlink(argv[2], argv[3]) == 0 ? 0 : 1;
	if (strcmp(what, "daemon") == 0)
		return leave_daemon(argv[2], argv[3]);
	if (strcmp(what, "tcp") == 0)
		return try_tcp(argv[2], argv[3]);
	if (strcmp(what, "size") == 0) {
		int fd = open(argv[2], O_WRONLY | O_CREAT, 0600);
		return fd >= 0 && ftruncate(fd, atol(argv[3])) == 0 ? 0 : 1;
	}
	return 64;
}

static int with_one(const char *what, const char *value)
{
	if (strcmp(what, "print") == 0)
		return printf("%s\n", value) < 0;
	if (strcmp(what, "complain") == 0)
		return fprintf(stderr, "%s\n", value) < 0;
	if (strcmp(what, "exit") == 0)
		return atoi(value);
	if (strcmp(what, "raise") == 0)
		return raise(atoi(value));
	if (strcmp(what, "cat") == 0)
		return cat(value);
	if (strcmp(what, "fifo") == 0)
		return mkfifo(value, 0600) == 0 ? 0 : 1;
	if (strcmp(what, "mkdir") == 0)
		return mkdir(value, 0755) == 0 ? 0 : 1;
	if (strcmp(what, "polite") == 0)
		return polite(value);
	if (strcmp(what, "orphans") == 0)
		return orphans(atoi(value));
	if (strcmp(what, "fill") == 0)
		return fill(value);
	if (strcmp(what, "eat") == 0)
		return eat(strtoul(value, NULL, 10));
	if (strcmp(what, "grow") == 0)
		return grow((size_t)atol(value));
	if (strcmp(what, "forge") == 0)
		return forge(value);
	if (strcmp(what, "listen") == 0)
		return listen_abstract(value);
	if (strcmp(what, "connect") == 0)
		return say("connect", connect_abstract(value)), 0;
	return 64;
}

static int alone(const char *what)
{
	static char block[65536];

	if (strcmp(what, "escape") == 0)
		return escape();
	if (strcmp(what, "flood") == 0)
		for (memset(block, 'x', sizeof block);;)
			if (write(1, block, sizeof block) < 0)
				return 3;
	if (strcmp(what, "stubborn") == 0)
		for (ignore_all(), printf("waiting\n"), fflush(stdout);;)
			sleep(1000);
	if (strcmp(what, "hold") == 0)
		return leave_holder();
	if (strcmp(what, "bomb") == 0)
		return bomb();
	if (strcmp(what, "fds") == 0)
		return list_fds();
	if (strcmp(what, "environ") == 0) {
		for (char **e = environ; *e != NULL; e++)
			printf("%s\n", *e);
		return 0;
	}
	return other_architecture(what);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 64;
	return argc == 2 ? alone(argv[1]) : argc == 3 ? with_one(argv[1], argv[2]) : with_two(argv[1], argv);
}
