/* One program, one answer. */
#include "kube_exec.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "io.h"
#include "limit.h"
#include "spawn.h"
#include "yaml_walk.h"

static const size_t answer_max = (size_t)256 << 10;
static const char *const versions[] = {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"};
enum { ALWAYS = 5, INFO_SIZE = 256 };

static int no_memory(struct sbx_error *err)
{
	return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
}

static int bad(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_CONFIG, "kubeconfig", "the kubeconfig file %s", what);
}

static int failed(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_UNAVAILABLE, "credential_program",
			"the program that gives the credential of the kubeconfig file %s", what);
}

static int set(char **to, const char *text, struct sbx_error *err)
{
	free(*to);
	*to = strdup(text);
	return *to != NULL ? 0 : no_memory(err);
}

static int is_safe_name(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

	return name[0] != '\0' && strspn(name, letters) == strlen(name) && strncmp(name, "LD_", 3) != 0 &&
	       strcmp(name, "PATH") != 0 && strcmp(name, "KUBERNETES_EXEC_INFO") != 0;
}

static int add_name(struct kube_exec *exec, const char *name, struct sbx_error *err)
{
	if (exec->env_count == KUBE_EXEC_ENV)
		return bad(err, "gives its program too large an environment");
	if (!is_safe_name(name))
		return bad(err, "gives its program a name in the environment that would change what runs");
	return set(&exec->env[exec->env_count++], name, err);
}

static int add_value(struct kube_exec *exec, const char *value, struct sbx_error *err)
{
	char **entry = exec->env_count > 0 ? &exec->env[exec->env_count - 1] : NULL, *whole = NULL;

	if (entry == NULL || strchr(*entry, '=') != NULL)
		return bad(err, "has a value in its program's environment before the name");
	if (asprintf(&whole, "%s=%s", *entry, value) < 0)
		return no_memory(err);
	free(*entry);
	*entry = whole;
	return 0;
}

int kube_exec_member(struct kube_exec *exec, const char *member, const char *text, struct sbx_error *err)
{
	if (strcmp(member, "command") == 0)
		return set(&exec->command, text, err);
	if (strcmp(member, "apiVersion") == 0)
		return set(&exec->version, text, err);
	if (strcmp(member, "env.name") == 0)
		return add_name(exec, text, err);
	if (strcmp(member, "env.value") == 0)
		return add_value(exec, text, err);
	if (strcmp(member, "args") != 0)
		return -1;
	if (exec->arg_count == KUBE_EXEC_ARGS)
		return bad(err, "gives its program too many arguments");
	return set(&exec->args[exec->arg_count++], text, err);
}

/* --- the answer --- */

struct answer {
	const struct kube_exec_given *given;
	const char *version; /* that was asked for */
	int is_kind, is_version;
};

static int take_pem(struct buf *out, const char *text, struct sbx_error *err)
{
	buf_reset(out);
	return buf_add(out, text, strlen(text), err);
}

static int take_secret(struct secret *out, const char *text, struct sbx_error *err)
{
	size_t len = strlen(text);

	secret_clear(out);
	return len == 0 ? 0 : secret_alloc(out, len, err) < 0 ? -1 : secret_append(out, text, len, err);
}

static int visit(void *context, const struct yaml_place *place, const struct yaml_item *item, struct sbx_error *err)
{
	struct answer *a = context;

	if (item->token != YAML_STRING || place->index >= 0)
		return 0;
	if (strcmp(place->path, "kind") == 0)
		a->is_kind = strcmp(item->text, "ExecCredential") == 0;
	else if (strcmp(place->path, "apiVersion") == 0)
		a->is_version = strcmp(item->text, a->version) == 0;
	else if (strcmp(place->path, "status.token") == 0)
		return take_secret(a->given->token, item->text, err);
	else if (strcmp(place->path, "status.clientCertificateData") == 0)
		return take_pem(a->given->cert, item->text, err);
	else if (strcmp(place->path, "status.clientKeyData") == 0)
		return take_secret(a->given->key, item->text, err);
	return 0;
}

/* The words of the reader may hold some of what was read. */
static int read_answer(const struct kube_exec *exec, const struct secret *out, const struct kube_exec_given *given,
		       struct sbx_error *err)
{
	struct answer answer = {.given = given, .version = exec->version};
	struct sbx_error unread = SBX_ERROR_INIT;

	if (yaml_walk_foreign((const char *)out->data, out->len, "its answer", visit, &answer, &unread) < 0)
		return unread.class == SBX_OS ? (*err = unread, -1) : failed(err, "gave an answer that cannot be read");
	if (!answer.is_kind || !answer.is_version)
		return failed(err, "gave something else than an ExecCredential of the version that was asked for");
	if ((given->cert->len > 0) != (given->key->len > 0) || (given->cert->len == 0 && given->token->len == 0))
		return failed(err, "gave neither a token nor a certificate with its key");
	return 0;
}

/* --- the start --- */

static int start(const struct kube_exec *exec, const char *program, int64_t deadline, struct secret *out,
		 struct sbx_error *err)
{
	static const char *const always[ALWAYS - 1] = {"HOME=/nonexistent", "LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin"};
	const char *argv[KUBE_EXEC_ARGS + 2] = {exec->command}, *envp[ALWAYS + KUBE_EXEC_ENV + 1];
	char info[INFO_SIZE];
	struct sbx_error why = SBX_ERROR_INIT;
	size_t n = 0;
	int status;

	memcpy(argv + 1, exec->args, exec->arg_count * sizeof *argv);
	/* The file's own first: the first of a name is what a program finds. */
	for (size_t i = 0; i < exec->env_count; i++)
		envp[n++] = exec->env[i];
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		envp[n++] = always[i];
	snprintf(info, sizeof info,
		 "KUBERNETES_EXEC_INFO={\"kind\":\"ExecCredential\",\"apiVersion\":\"%s\",\"spec\":{\"interactive\":"
		 "false}}",
		 exec->version);
	envp[n++] = info;
	envp[n] = NULL;
	struct spawn what = {.path = program, .argv = argv, .envp = envp, .flags = SPAWN_GROUP};
	if (spawn_capture_secret(&what, out, deadline, &status, &why) < 0)
		return failed(err, strcmp(why.code, "timeout") == 0 ? "did not answer in time"
								    : "cannot be started or read");
	return spawn_exit_code(status) == 0 ? 0 : failed(err, "failed");
}

static int is_known(const char *version)
{
	for (size_t i = 0; version != NULL && i < ARRAY_LEN(versions); i++)
		if (strcmp(version, versions[i]) == 0)
			return 1;
	return 0;
}

int kube_exec_run(const struct kube_exec *exec, const char *program, int64_t deadline,
		  const struct kube_exec_given *given, struct sbx_error *err)
{
	auto_secret out = SECRET_INIT;
	auto_fd fd = io_open_file(AT_FDCWD, program, IO_TRUSTED, err);

	if (fd < 0)
		return -1;
	if (!is_known(exec->version))
		return bad(err, "wants an unknown version of its program's answer");
	if (secret_alloc(&out, answer_max, err) < 0 || start(exec, program, deadline, &out, err) < 0)
		return -1;
	return read_answer(exec, &out, given, err);
}

void kube_exec_clear(struct kube_exec *exec)
{
	free(exec->command);
	free(exec->version);
	for (size_t i = 0; i < exec->arg_count; i++)
		free(exec->args[i]);
	for (size_t i = 0; i < exec->env_count; i++)
		free(exec->env[i]);
	*exec = (struct kube_exec){.command = NULL};
}
