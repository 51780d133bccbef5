/* The program that a kubeconfig file names for a credential (client.authentication.k8s.io, v1 and v1beta1). It is
 * started only where the settings allow the name that the file gives it, and say which file that is: a kubeconfig is
 * passed around, and what it names would run with our rights. */
#ifndef SBX_KUBE_EXEC_H
#define SBX_KUBE_EXEC_H

#include "buf.h"
#include "secret.h"

enum { KUBE_EXEC_ARGS = 32, KUBE_EXEC_ENV = 32 };

struct kube_exec {
	char *command; /* NULL: none */
	char *version;
	char *args[KUBE_EXEC_ARGS + 1]; /* without the command itself */
	size_t arg_count;
	char *env[KUBE_EXEC_ENV]; /* NAME=VALUE; NAME alone until its value was read */
	size_t env_count;
};

/* A member of the file's exec: block, in the order of the file: "command", "apiVersion", "args", "env.name",
 * "env.value". -1 and no error: it is another one. "kubeconfig" (78) for what is too much, or a name of the environment
 * that would change what runs (PATH, LD_*). */
int kube_exec_member(struct kube_exec *exec, const char *member, const char *text, struct sbx_error *err);

/* What it gave: a token, or a certificate with its key; cleared before. */
struct kube_exec_given {
	struct secret *token, *key;
	struct buf *cert;
};

/* Start PROGRAM, a whole path of a file that root or we own and nobody else can write, with the arguments of EXEC, and
 * an environment of what EXEC names and what every child of ours gets. "credential_program" (69): it failed, said
 * nothing before DEADLINE (clock_mono_ms), or not what it should; nothing that it printed is in the error. */
int kube_exec_run(const struct kube_exec *exec, const char *program, int64_t deadline,
		  const struct kube_exec_given *given, struct sbx_error *err);

void kube_exec_clear(struct kube_exec *exec);

#endif
