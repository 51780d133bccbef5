/* sbx-plan: reads a machine plan on stdin, names every dangerous change on stdout. Plans are written by whoever writes
 * the configuration, so the process gives up everything but reading, writing and memory before it reads the first byte.
 */
#include <fcntl.h>
#include <getopt.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "io.h"
#include "json_out.h"
#include "kplan_read.h"
#include "limit.h"
#include "log.h"
#include "plan_read.h"
#include "start.h"

static const char name[] = "sbx-plan";

/* A plan of 512 MiB is read in some ten seconds; what takes longer is built to take longer. */
enum { CPU_MAX_S = 120 };
/* Private memory: the reader needs a few MiB beside the one largest value, which it holds once or twice. */
#define DATA_MAX ((rlim_t)512 << 20)
/* stdin, the reply, stderr and the spool are open; nothing can be opened any more. */
enum { FILES_MAX = 8 };

/* Beside the directory of the program: the rules that were compiled with it. */
static const char own_table[] = "../share/sbx/signals.table";

static const char usage_text[] =
	"usage: sbx-plan [--format terraform | kubernetes] [--text] [--signals FILE | --no-signals] < plan.json\n"
	"\n"
	"Reads what `terraform show -json PLANFILE` prints, or objects of a cluster as they are and as the server says that\n"
	"they would become, and writes one JSON object: a verdict and its findings.\n"
	"\n"
	"  -f, --format NAME   format of the plan: terraform (the default, also for OpenTofu) or kubernetes\n"
	"  -t, --text          write text for people instead\n"
	"  -s, --signals FILE  compiled signal rules (default: those that came with this program)\n"
	"  -n, --no-signals    judge the structure of the changes alone, not what their values mean\n"
	"  -h, --help          this text\n"
	"  -V, --version       the version\n";

enum format { FORMAT_TERRAFORM, FORMAT_KUBERNETES };
static const char *const formats[] = {[FORMAT_TERRAFORM] = "terraform", [FORMAT_KUBERNETES] = "kubernetes"};

struct options {
	enum format format;
	int text;
	int no_signals;
	const char *signals; /* NULL: the program's own */
};

static int usage(FILE *out, int status)
{
	fputs(usage_text, out);
	return status;
}

/* The exit status when what was asked for is text on stdout. */
static int told(void)
{
	return fflush(stdout) == 0 ? SBX_OK : SBX_IO;
}

static int read_format(const char *word, enum format *format)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (strcmp(word, formats[i]) == 0) {
			*format = (enum format)i;
			return 0;
		}
	fprintf(stderr, "%s: the formats are terraform and kubernetes\n", name);
	return -1;
}

/* 0: go on; else 1 + the exit status. */
static int read_options(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {{"format", required_argument, NULL, 'f'},
						{"text", no_argument, NULL, 't'},
						{"signals", required_argument, NULL, 's'},
						{"no-signals", no_argument, NULL, 'n'},
						{"help", no_argument, NULL, 'h'},
						{"version", no_argument, NULL, 'V'},
						{NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "f:ts:nhV", options, NULL)) >= 0) {
		switch (option) {
		case 'f':
			if (read_format(optarg, &o->format) < 0)
				return 1 + SBX_USAGE;
			break;
		case 't':
			o->text = 1;
			break;
		case 's':
			o->signals = optarg;
			break;
		case 'n':
			o->no_signals = 1;
			break;
		case 'V':
			printf("%s %s\n", name, SBX_VERSION);
			return 1 + told();
		case 'h':
			usage(stdout, SBX_OK);
			return 1 + told();
		default:
			return 1 + usage(stderr, SBX_USAGE);
		}
	}
	if (o->no_signals && o->signals != NULL)
		return 1 + usage(stderr, SBX_USAGE);
	return optind == argc ? 0 : 1 + usage(stderr, SBX_USAGE);
}

/* Without its rules the program would judge too mildly, so it does not judge. */
static int open_table(const struct options *o, struct signal_table *table, struct sbx_error *err)
{
	auto_free char *dir = NULL, *beside = NULL;
	const char *path = o->signals;

	if (o->no_signals)
		return 0;
	if (path == NULL) {
		if ((dir = process_dir(err)) == NULL)
			return -1;
		if (asprintf(&beside, "%s/%s", dir, own_table) < 0) {
			beside = NULL;
			return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		}
		path = beside;
	}
	auto_fd fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		sbx_fail(err, SBX_CONFIG, "signals_missing", "there is no readable table of signal rules");
		return sbx_hint(err, "sbx-policy signals makes one; --no-signals does without");
	}
	return signal_table_map(fd, table, err);
}

/* Sanitizers need more calls and memory than this program may have. */
#if defined(__SANITIZE_ADDRESS__)
static int confine(struct sbx_error *err)
{
	(void)err;
	return 0;
}
#else
#include "plan_filter.inc" /* made by gen/filter.c of plan_calls.c */

static int limit_resources(struct sbx_error *err)
{
	const struct rlimit cpu = {CPU_MAX_S, CPU_MAX_S}, data = {DATA_MAX, DATA_MAX}, files = {FILES_MAX, FILES_MAX};

	if (setrlimit(RLIMIT_CPU, &cpu) < 0 || setrlimit(RLIMIT_DATA, &data) < 0 ||
	    setrlimit(RLIMIT_NOFILE, &files) < 0)
		return sbx_fail_errno(err, SBX_OS, "cannot_confine", "cannot set a resource limit");
	return 0;
}

/* From here on: no open, no exec, no socket, no new process. A call that is not on the list ends the process. */
static int confine(struct sbx_error *err)
{
	const struct sock_fprog program = {.len = ARRAY_LEN(compiled), .filter = (struct sock_filter *)compiled};

	if (limit_resources(err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sbx_fail_errno(err, SBX_OS, "cannot_confine", "cannot give up new privileges");
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &program) == 0)
		return 0;
	sbx_fail(err, SBX_OS, "cannot_confine", "cannot restrict the system calls of this process");
	return sbx_hint(err, "the kernel must have seccomp filters (CONFIG_SECCOMP_FILTER)");
}
#endif

/* Where the plan can be read twice: stdin itself when it is a file, else a memory file that is to be filled from it.
 * The plan holds secrets, so it is not written to a disk. */
static int prepare_input(int *spool, struct sbx_error *err)
{
	struct stat st;

	*spool = -1;
	if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
		return 0;
	*spool = io_memfd("sbx-plan", err);
	return *spool < 0 ? -1 : 0;
}

static int write_report(const struct options *o, const struct plan_report *report, const struct plan_head *head,
			struct buf *reply, struct sbx_error *err)
{
	return o->text ? plan_report_text(report, head, reply, err) : plan_report_write(report, head, reply, err);
}

static int judge_terraform(const struct options *o, const struct signal_table *table, int fd,
			   struct plan_report *report, struct buf *reply, struct sbx_error *err)
{
	struct plan_survey survey = {.errored = 0};
	int result = plan_read(fd, table, &survey, report, err);
	const struct plan_head head = plan_read_head(&survey);

	if (result == 0)
		result = write_report(o, report, &head, reply, err);
	plan_survey_clear(&survey);
	return result;
}

static int judge_kubernetes(const struct options *o, const struct signal_table *table, int fd,
			    struct plan_report *report, struct buf *reply, struct sbx_error *err)
{
	const struct plan_head head = {.format = formats[FORMAT_KUBERNETES], .version = KPLAN_VERSION};

	return kplan_read(fd, table, report, err) < 0 ? -1 : write_report(o, report, &head, reply, err);
}

static int judge(const struct options *o, const struct signal_table *table, int spool, struct buf *reply,
		 struct sbx_error *err)
{
	int fd = spool < 0 ? STDIN_FILENO : spool, result = -1;
	struct plan_report report;

	plan_report_init(&report);
	if (spool < 0 || io_copy(STDIN_FILENO, spool, LIMIT_PLAN_JSON, NULL, err) == 0)
		result = (o->format == FORMAT_KUBERNETES ? judge_kubernetes : judge_terraform)(o, table, fd, &report,
											       reply, err);
	plan_report_clear(&report);
	return result;
}

/* The refusal as an object, so that a program needs not read stderr. With --text stderr is enough. */
static int put_error(struct buf *reply, const struct sbx_error *refused, struct sbx_error *err)
{
	if (buf_addf(reply, err, "{\"sbx_plan\":1,\"error\":{\"class\":%d", (int)refused->class) < 0 ||
	    json_out_member(reply, "code", refused->code, err) < 0 ||
	    json_out_member(reply, "message", refused->message, err) < 0 ||
	    json_out_member(reply, "hint", refused->hint[0] != '\0' ? refused->hint : NULL, err) < 0)
		return -1;
	return buf_add_str(reply, "}}\n", err);
}

int main(int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT, late = SBX_ERROR_INIT;
	auto_buf reply = BUF_INIT(LIMIT_CALL);
	struct options options = {.text = 0};
	struct signal_table table = {.block = NULL};
	struct started started;
	auto_fd spool = -1;
	int status = read_options(argc, argv, &options);

	if (status != 0)
		return status - 1;
	if (start(name, NULL, NULL, 0, START_REPLY, &started, &err) < 0 || open_table(&options, &table, &err) < 0 ||
	    prepare_input(&spool, &err) < 0 || confine(&err) < 0) {
		log_error(&err);
		return (int)err.class;
	}
	if (judge(&options, &table, spool, &reply, &err) < 0) {
		log_error(&err);
		buf_reset(&reply);
		if (!options.text)
			put_error(&reply, &err, &late);
	}
	signal_table_close(&table);
	if (io_write_all(started.reply_fd, buf_str(&reply), reply.len, &late) < 0) {
		log_error(&late);
		return SBX_IO;
	}
	return (int)err.class;
}
