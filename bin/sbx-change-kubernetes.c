/* sbx-change-kubernetes: a change to a cluster as a plan: previewed by the API server, shown, checked, and sent as it
 * was shown. Runs in a sandbox; its credential is the file that $KUBECONFIG names. See sbx-change-kubernetes(8).
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "io.h"
#include "kchange_check.h"
#include "kchange_preview.h"
#include "kchange_send.h"
#include "limit.h"
#include "log.h"
#include "start.h"

static const char name[] = "sbx-change-kubernetes";

static const char usage_text[] =
	"usage: sbx-change-kubernetes preview --change=CHANGE --out=FILE [--namespace=NAMESPACE] [--kind=KIND]\n"
	"                                     [--name=NAME] [--replicas=N] [--manifest=FILE]\n"
	"       sbx-change-kubernetes show FILE\n"
	"       sbx-change-kubernetes check FILE\n"
	"       sbx-change-kubernetes send FILE\n"
	"\n"
	"CHANGE is scale, restart, apply, delete, cordon, uncordon or drain. $KUBECONFIG names the cluster and the "
	"credential.\n";

enum verb { PREVIEW, SHOW, CHECK, SEND, VERBS };
static const char *const verbs[VERBS] = {"preview", "show", "check", "send"};

enum { MORE_REPLICAS = 1000000 /* than any cluster runs */ };
static const size_t manifest_max = (size_t)1 << 20; /* an object has at most 1.5 MiB in etcd */

struct options {
	enum verb verb;
	struct kchange_wish wish;
	const char *out;
	int input;	  /* the plan, or the manifest; -1: none */
	char *kubeconfig; /* NULL: none was named */
};

static int usage(void)
{
	fputs(usage_text, stderr);
	return SBX_USAGE;
}

/* Before start closes what it does not know: the file may be /proc/self/fd/N. */
static int open_input(const char *path, int *fd)
{
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (*fd >= 0)
		return 0;
	fprintf(stderr, "%s: cannot open the file: %m\n", name);
	return 1 + SBX_NO_INPUT;
}

/* Which options a change takes. */
static int fits(const struct options *o, const char *change, const char *manifest, const char *replicas)
{
	const struct kchange_wish *w = &o->wish;
	int verb = change != NULL ? kchange_verb_of(change) : -1, is_apply = verb == KCHANGE_APPLY,
	    of_node = verb == KCHANGE_CORDON || verb == KCHANGE_UNCORDON || verb == KCHANGE_DRAIN;

	if (verb < 0 || o->out == NULL || is_apply != (manifest != NULL) || is_apply == (w->name != NULL) ||
	    (verb == KCHANGE_SCALE) != (replicas != NULL))
		return 0;
	return of_node ? w->kind == NULL && w->space == NULL : is_apply == (w->kind == NULL);
}

/* 0: go on; else 1 + the exit status. */
static int read_preview(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {
		{"change", required_argument, NULL, 'c'},    {"out", required_argument, NULL, 'o'},
		{"namespace", required_argument, NULL, 'n'}, {"kind", required_argument, NULL, 'k'},
		{"name", required_argument, NULL, 'N'},	     {"replicas", required_argument, NULL, 'r'},
		{"manifest", required_argument, NULL, 'm'},  {NULL, 0, NULL, 0}};
	const char *change = NULL, *replicas = NULL, *manifest = NULL;
	uint64_t number = 0;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		const char **to = option == 'c'	  ? &change
				  : option == 'o' ? &o->out
				  : option == 'n' ? &o->wish.space
				  : option == 'k' ? &o->wish.kind
				  : option == 'N' ? &o->wish.name
				  : option == 'r' ? &replicas
				  : option == 'm' ? &manifest
						  : NULL;
		if (to == NULL || *to != NULL)
			return 1 + usage();
		*to = optarg;
	}
	if (optind != argc || !fits(o, change, manifest, replicas) ||
	    (replicas != NULL && io_parse_u64(replicas, 0, MORE_REPLICAS, &number) < 0))
		return 1 + usage();
	o->wish.verb = (enum kchange_verb)kchange_verb_of(change);
	o->wish.replicas = (int64_t)number;
	if (o->wish.kind == NULL && o->wish.name != NULL)
		o->wish.kind = "Node";
	return manifest != NULL ? open_input(manifest, &o->input) : 0;
}

static int read_options(int argc, char **argv, struct options *o)
{
	const char *kubeconfig = getenv("KUBECONFIG");
	int verb = 0;

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("%s %s\n", name, SBX_VERSION);
		return 1 + (fflush(stdout) == 0 ? SBX_OK : SBX_IO);
	}
	while (verb < VERBS && (argc < 2 || strcmp(argv[1], verbs[verb]) != 0))
		verb++;
	if (verb == VERBS)
		return 1 + usage();
	o->verb = (enum verb)verb;
	o->kubeconfig = kubeconfig != NULL && kubeconfig[0] != '\0' ? strdup(kubeconfig) : NULL;
	if (verb == PREVIEW)
		return read_preview(argc - 1, argv + 1, o);
	return argc == 3 ? open_input(argv[2], &o->input) : 1 + usage();
}

static int open_server(const struct options *o, struct kchange_server *server, struct sbx_error *err)
{
	if (o->kubeconfig == NULL)
		return sbx_fail(err, SBX_CONFIG, "kubeconfig", "KUBECONFIG names no file");
	return kchange_server_open(server, o->kubeconfig, err);
}

/* Each line of LINES to stderr. */
static void tell(struct buf *lines)
{
	char *rest = lines->data;

	for (char *line; rest != NULL && (line = strsep(&rest, "\n"))[0] != '\0';)
		log_line("%s", line);
}

static int do_preview(struct options *o, int reply, struct sbx_error *err)
{
	struct kchange_server server = KCHANGE_SERVER_INIT;
	auto_buf out = BUF_INIT(LIMIT_CHANGE), said = BUF_INIT(LIMIT_CHANGE);
	auto_free char *manifest = NULL;
	struct kchange_draft draft;
	int result = -1;

	kchange_draft_init(&draft);
	if (o->input >= 0 && io_read_all(o->input, manifest_max, &manifest, &o->wish.manifest_len, err) < 0)
		goto out;
	o->wish.manifest = manifest;
	if (open_server(o, &server, err) == 0 && kchange_preview(&server, &o->wish, &draft, &said, err) == 0 &&
	    kchange_draft_finish(&draft, o->wish.verb, &server, &out, err) == 0 &&
	    io_create_file(AT_FDCWD, o->out, out.data, out.len, err) == 0)
		result = io_write_all(reply, buf_str(&said), said.len, err);
out:
	kchange_draft_clear(&draft);
	kchange_server_close(&server);
	return result;
}

static int do_show(const struct kchange_plan *plan, int reply, struct sbx_error *err)
{
	const struct plan_node *entry = plan_tree_first(&plan->tree, plan->objects);
	auto_buf line = BUF_INIT(LIMIT_PLAN_LINE);
	int result = 0;

	for (; result == 0 && entry != NULL; entry = plan_tree_behind(&plan->tree, plan->objects, entry)) {
		buf_reset(&line);
		result = kchange_plan_line(&line, plan, entry, err);
		if (result == 0)
			result = io_write_all(reply, line.data, line.len, err);
	}
	return result;
}

static int say(void *context, const char *line, struct sbx_error *err)
{
	const int *reply = context;

	return io_write_all(*reply, line, strlen(line), err) < 0 ? -1 : io_write_all(*reply, "\n", 1, err);
}

static int do_plan(const struct options *o, int reply, struct sbx_error *err)
{
	struct kchange_server server = KCHANGE_SERVER_INIT;
	auto_buf lines = BUF_INIT(LIMIT_CHANGE);
	struct kchange_plan plan;
	int result;

	kchange_plan_init(&plan);
	result = kchange_plan_read(&plan, o->input, err);
	if (result == 0 && o->verb != SHOW)
		result = open_server(o, &server, err);
	if (result == 0 && o->verb == SHOW)
		result = do_show(&plan, reply, err);
	else if (result == 0 && o->verb == CHECK)
		result = kchange_check(&server, &plan, &lines, err);
	else if (result == 0)
		result = kchange_send(&server, &plan, say, &reply, &lines, err);
	tell(&lines);
	kchange_plan_clear(&plan);
	kchange_server_close(&server);
	return result;
}

int main(int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct options options = {.input = -1};
	struct started started;
	int status = read_options(argc, argv, &options);

	if (status != 0)
		return status - 1;
	if (start(name, NULL, &options.input, options.input >= 0, START_REPLY, &started, &err) == 0)
		(void)(options.verb == PREVIEW ? do_preview(&options, started.reply_fd, &err)
					       : do_plan(&options, started.reply_fd, &err));
	if (err.class != SBX_OK)
		log_error(&err);
	return (int)err.class;
}
