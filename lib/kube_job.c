/* One object after the other, written as text. */
#include "kube_job.h"

#include <stdio.h>
#include <string.h>

#include "base64_secret.h"
#include "boot.h"
#include "json_out.h"
#include "steps.h"

/* nobody's number in most images; owns nothing there */
#define USER "65532"
/* A Job that ended is kept as long as somebody may still want to know why, when we could not ask. */
#define TTL_S 120
/* What sbx-entry, the step table and what gVisor counts for the sandbox take beside the steps. */
static const int64_t memory_beside = (int64_t)64 << 20;
/* What a node sets aside for it: most calls take no more. */
static const int64_t requested = (int64_t)128 << 20;
enum { META_MAX = 4096 };

void kube_job_name(const struct kube_job *job, char out[KUBE_NAME_SIZE])
{
	snprintf(out, KUBE_NAME_SIZE, "sbx-%.32s", job->call);
}

void kube_piece_name(const struct kube_job *job, unsigned piece, char out[KUBE_NAME_SIZE])
{
	snprintf(out, KUBE_NAME_SIZE, "sbx-%.32s-%.8s-%02u", job->call, job->run, piece % 100);
}

void kube_credentials_name(const struct kube_job *job, char out[KUBE_NAME_SIZE])
{
	snprintf(out, KUBE_NAME_SIZE, "sbx-%.32s-%.8s-cred", job->call, job->run);
}

static int put_labels(struct buf *b, const struct kube_job *job, struct sbx_error *err)
{
	char label[KUBE_NAME_SIZE + sizeof "sbx/egress-"];

	if (json_out_key(b, "labels", err) < 0 || buf_add_str(b, "{", err) < 0 ||
	    json_out_member(b, "app.kubernetes.io/managed-by", "sbx", err) < 0 ||
	    json_out_member(b, KUBE_LABEL_CALL, job->call, err) < 0 ||
	    json_out_member(b, KUBE_LABEL_RUN, job->run, err) < 0 || json_out_member(b, "sbx/tool", job->tool, err) < 0)
		return -1;
	for (size_t i = 0; i < job->egress_count; i++) {
		snprintf(label, sizeof label, "sbx/egress-%.*s", KUBE_NAME_SIZE - 16, job->egress[i]);
		if (json_out_member(b, label, "allowed", err) < 0)
			return -1;
	}
	return buf_add_str(b, "}", err);
}

/* "boot" holds the pieces and the credentials, as one directory of files that only the group of the pod reads: the
 * kubelet makes 0440 of 0400 for a user who is not root. */
static int put_boot_volume(struct buf *b, const struct kube_job *job, struct sbx_error *err)
{
	char name[KUBE_NAME_SIZE];

	if (buf_add_str(b, "{\"name\":\"boot\",\"projected\":{\"defaultMode\":256,\"sources\":[", err) < 0)
		return -1;
	for (unsigned i = 0; i < job->pieces; i++) {
		kube_piece_name(job, i, name);
		if (buf_addf(b, err, "%s{\"secret\":{\"name\":\"%s\"}}", i > 0 ? "," : "", name) < 0)
			return -1;
	}
	kube_credentials_name(job, name);
	if (job->credentials && buf_addf(b, err, ",{\"secret\":{\"name\":\"%s\"}}", name) < 0)
		return -1;
	return buf_add_str(b, "]}}", err);
}

static int put_volumes(struct buf *b, const struct kube_job *job, struct sbx_error *err)
{
	static const char memory[] = ",{\"name\":\"%s\",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"%lld\"}}";

	if (json_out_key(b, "volumes", err) < 0 || buf_add_str(b, "[", err) < 0 || put_boot_volume(b, job, err) < 0)
		return -1;
	/* In memory, so that nothing of a call reaches the node's disk. */
	const struct {
		const char *name;
		int64_t size;
	} dirs[] = {{"work", job->work}, {"tmp", job->work}, {"cred", (int64_t)1 << 20}};
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (buf_addf(b, err, memory, dirs[i].name, (long long)dirs[i].size) < 0)
			return -1;
	return buf_add_str(b, "]", err);
}

static int put_resources(struct buf *b, const struct kube_job *job, struct sbx_error *err)
{
	int64_t memory = job->memory + job->work + memory_beside;

	/* What stands in /work and /tmp counts as memory of the pod. Nothing is written to the node's disk but the log, which
	 * sbx-entry keeps small; a limit for that would keep the Pod off nodes that do not count their disk. */
	return buf_addf(b, err,
			",\"resources\":{\"limits\":{\"cpu\":\"%lld\",\"memory\":\"%lld\"},"
			"\"requests\":{\"cpu\":\"100m\",\"memory\":\"%lld\"}}",
			(long long)job->cpu, (long long)memory, (long long)(memory < requested ? memory : requested));
}

static int put_container(struct buf *b, const struct kube_job *job, struct sbx_error *err)
{
	static const char fixed[] =
		",\"command\":[\"" SANDBOX_ENTRY "\",\"--boot\",\"" KUBE_BOOT_DIR "\"]"
		/* For the probe: the one listener that is up wherever a pod runs. */
		",\"env\":[{\"name\":\"SBX_NODE\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"status.hostIP\"}}}]"
		",\"securityContext\":{\"allowPrivilegeEscalation\":false,\"readOnlyRootFilesystem\":true,"
		"\"capabilities\":{\"drop\":[\"ALL\"]}}"
		",\"volumeMounts\":[{\"name\":\"boot\",\"mountPath\":\"" KUBE_BOOT_DIR "\",\"readOnly\":true},"
		"{\"name\":\"work\",\"mountPath\":\"" SANDBOX_WORK "\"},{\"name\":\"tmp\",\"mountPath\":\"/tmp\"},"
		"{\"name\":\"cred\",\"mountPath\":\"" SANDBOX_CREDENTIALS "\"}]";

	if (json_out_key(b, "containers", err) < 0 || buf_add_str(b, "[{", err) < 0 ||
	    json_out_member(b, "name", KUBE_CONTAINER, err) < 0 || json_out_member(b, "image", job->image, err) < 0 ||
	    json_out_member(b, "imagePullPolicy", job->pull_policy, err) < 0 || buf_add_str(b, fixed, err) < 0 ||
	    put_resources(b, job, err) < 0)
		return -1;
	return buf_add_str(b, "}]", err);
}

static int put_pod(struct buf *b, const struct kube_job *job, struct sbx_error *err)
{
	static const char fixed[] =
		",\"automountServiceAccountToken\":false,\"enableServiceLinks\":false"
		",\"securityContext\":{\"runAsNonRoot\":true,\"runAsUser\":" USER ",\"runAsGroup\":" USER
		",\"fsGroup\":" USER ",\"seccompProfile\":{\"type\":\"RuntimeDefault\"}}";

	if (buf_add_str(b, ",\"spec\":{", err) < 0 || json_out_member(b, "restartPolicy", "Never", err) < 0 ||
	    json_out_member(b, "runtimeClassName", job->runtime_class, err) < 0 ||
	    json_out_member(b, "serviceAccountName", job->service_account, err) < 0 ||
	    json_out_member_int(b, "terminationGracePeriodSeconds", job->grace_s, err) < 0 ||
	    buf_add_str(b, fixed, err) < 0 || put_container(b, job, err) < 0 || put_volumes(b, job, err) < 0)
		return -1;
	return buf_add_str(b, "}", err);
}

int kube_job_text(const struct kube_job *job, struct buf *b, struct sbx_error *err)
{
	char name[KUBE_NAME_SIZE];

	kube_job_name(job, name);
	if (buf_add_str(b, "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{", err) < 0 ||
	    json_out_member(b, "name", name, err) < 0 || put_labels(b, job, err) < 0 ||
	    buf_add_str(b, "},\"spec\":{\"backoffLimit\":0,\"completions\":1,\"parallelism\":1", err) < 0 ||
	    json_out_member_int(b, "activeDeadlineSeconds", job->deadline_s, err) < 0 ||
	    json_out_member_int(b, "ttlSecondsAfterFinished", TTL_S, err) < 0 ||
	    buf_add_str(b, ",\"template\":{\"metadata\":{", err) < 0 || put_labels(b, job, err) < 0 ||
	    buf_add_str(b, "}", err) < 0 || put_pod(b, job, err) < 0)
		return -1;
	return buf_add_str(b, "}}}", err);
}

/* All but the value. */
static int put_secret_head(struct buf *b, const struct kube_job *job, const char *uid, const char *name,
			   const char *file, struct sbx_error *err)
{
	char owner[KUBE_NAME_SIZE];

	kube_job_name(job, owner);
	if (buf_add_str(
		    b,
		    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"Opaque\",\"immutable\":true,\"metadata\":{",
		    err) < 0 ||
	    json_out_member(b, "name", name, err) < 0 || put_labels(b, job, err) < 0 ||
	    buf_add_str(b, ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\"", err) < 0 ||
	    json_out_member(b, "name", owner, err) < 0 || json_out_member(b, "uid", uid, err) < 0 ||
	    buf_add_str(b, "}]},\"data\":{", err) < 0 || json_out_key(b, file, err) < 0)
		return -1;
	return buf_add_str(b, "\"", err);
}

int kube_secret_text(const struct kube_job *job, const char *uid, const char *name, const char *file, const void *bytes,
		     size_t len, struct secret *out, struct sbx_error *err)
{
	static const char tail[] = "\"}}";
	auto_buf head = BUF_INIT(META_MAX);

	if (put_secret_head(&head, job, uid, name, file, err) < 0 ||
	    secret_alloc(out, head.len + base64_size(len) + sizeof tail, err) < 0 ||
	    secret_append(out, head.data, head.len, err) < 0 || base64_add_secret(out, bytes, len, err) < 0)
		return -1;
	return secret_append(out, tail, sizeof tail - 1, err);
}
