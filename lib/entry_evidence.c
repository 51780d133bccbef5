/* Evidence from /proc of the process itself: nothing that a driver says is believed but its limits and its relay. */
#include "entry_evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "io.h"
#include "isolation.h"
#include "json_out.h"

static const char *const namespace_names[STEPS_NAMESPACES] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};
static const char *const capability_names[5] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
static const char *const capability_keys[5] = {"cap_inh", "cap_prm", "cap_eff", "cap_bnd", "cap_amb"};
static const char no_capability[] = "0000000000000000";
enum { PROC_MAX = 256 * 1024, WRITABLE_MAX = 64 * 1024 };

static int read_proc(const char *path, char **text, struct sbx_error *err)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len;

	if (fd < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot read %s", path);
	return io_read_all(fd, PROC_MAX, text, &len, err);
}

/* The word behind "KEY:" in /proc/self/status; "" when there is none. */
static void status_word(const char *status, const char *key, char *out, size_t size)
{
	size_t len = strlen(key);

	out[0] = '\0';
	for (const char *line = status; line != NULL; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (strncmp(line, key, len) != 0 || line[len] != ':')
			continue;
		const char *word = line + len + 1 + strspn(line + len + 1, " \t");
		size_t word_len = strcspn(word, " \t\n");
		if (word_len < size) {
			memcpy(out, word, word_len);
			out[word_len] = '\0';
		}
		return;
	}
}

static int status_number(const char *status, const char *key)
{
	char word[24];
	uint64_t value;

	status_word(status, key, word, sizeof word);
	return io_parse_u64(word, 0, INT32_MAX, &value) == 0 ? (int)value : -1;
}

static int gather_status(struct evidence *e, struct sbx_error *err)
{
	auto_free char *status = NULL;

	if (read_proc("/proc/self/status", &status, err) < 0)
		return -1;
	e->seccomp = status_number(status, "Seccomp");
	e->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	e->uid = (unsigned)getuid();
	for (size_t i = 0; i < ARRAY_LEN(capability_names); i++)
		status_word(status, capability_names[i], e->capabilities[i], sizeof e->capabilities[i]);
	return 0;
}

/* "user:[4026531837]" of /proc/self/ns/user as its number; 0 when it cannot be read. */
static uint64_t namespace_id(int ns_dir, const char *name)
{
	char link[64];
	uint64_t id;
	ssize_t len = readlinkat(ns_dir, name, link, sizeof link - 1);
	size_t name_len = strlen(name);

	if (len <= (ssize_t)name_len + 3 || link[len - 1] != ']')
		return 0;
	link[len - 1] = '\0';
	return io_parse_u64(link + name_len + 2, 1, UINT64_MAX, &id) == 0 ? id : 0;
}

static void gather_namespaces(const struct steps *table, struct evidence *e)
{
	auto_fd ns_dir = open("/proc/self/ns", O_PATH | O_DIRECTORY | O_CLOEXEC);

	e->new_namespaces = table != NULL;
	for (size_t i = 0; i < STEPS_NAMESPACES; i++) {
		e->namespaces[i] = namespace_id(ns_dir, namespace_names[i]);
		/* An id that the table leaves out proves nothing. */
		if (table == NULL || e->namespaces[i] == 0 || table->host_namespaces[i] == 0 ||
		    e->namespaces[i] == table->host_namespaces[i])
			e->new_namespaces = 0;
	}
}

/* One line of mountinfo, cut up: the mount point and whether it can be written to. Layout: proc_pid_mountinfo(5). */
static int gather_mount(char *line, struct evidence *e, struct sbx_error *err)
{
	char *fields[6];

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		fields[i] = line;
		line += strcspn(line, " ");
		if (*line == '\0')
			return sbx_fail(err, SBX_OS, "os_error", "cannot understand the list of mounts");
		*line++ = '\0';
	}
	const char *point = fields[4], *options = fields[5];
	int read_only = strncmp(options, "ro", 2) == 0 && (options[2] == ',' || options[2] == '\0');
	e->mounts++;
	/* The last one on "/" is the one that is seen. */
	if (strcmp(point, "/") == 0)
		e->root_read_only = read_only;
	if (read_only)
		return 0;
	if (e->writable.len > 0 && buf_add_str(&e->writable, ",", err) < 0)
		return -1;
	return json_out_string(&e->writable, point, strlen(point), err);
}

static int gather_mounts(struct evidence *e, struct sbx_error *err)
{
	auto_free char *text = NULL;

	if (read_proc("/proc/self/mountinfo", &text, err) < 0)
		return -1;
	for (char *line = text; *line != '\0';) {
		char *end = line + strcspn(line, "\n");
		char *next = *end == '\0' ? end : end + 1;
		*end = '\0';
		if (gather_mount(line, e, err) < 0)
			return -1;
		line = next;
	}
	return 0;
}

static int gather_network(struct evidence *e, struct sbx_error *err)
{
	auto_free char *text = NULL;
	int others = 0;

	if (read_proc("/proc/self/net/dev", &text, err) < 0)
		return -1;
	for (const char *line = text; line != NULL && *line != '\0';
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *name = line + strspn(line, " ");
		size_t len = strcspn(name, ":\n");
		if (name[len] == ':' && !(len == 2 && strncmp(name, "lo", 2) == 0))
			others = 1;
	}
	e->only_loopback = !others;
	return 0;
}

/* The kernel does not say whether a ruleset is in force. The driver's allows writing to /dev/null, not to /dev/random,
 * whose mode would. */
static void gather_landlock(struct evidence *e)
{
	auto_fd fd = open("/dev/random", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 || errno != EACCES)
		return;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	e->landlock = abi > 0 ? (int)abi : 0;
}

/* gVisor names itself in its release, and older ones in their log, which they show to everybody. A Linux kernel that was
 * built to lie here is none that a RuntimeClass runs by mistake. */
static void gather_kernel(struct evidence *e)
{
	enum { READ_ALL = 3 };
	struct utsname name;
	char log[4096];

	if (uname(&name) == 0)
		snprintf(e->kernel, sizeof e->kernel, "%s", name.release);
	int n = e->probe != NULL ? klogctl(READ_ALL, log, sizeof log - 1) : 0;
	log[n > 0 ? n : 0] = '\0';
	e->gvisor = strstr(e->kernel, "gvisor") != NULL || strstr(log, "gVisor") != NULL;
	e->token = access("/var/run/secrets/kubernetes.io/serviceaccount", F_OK) == 0;
}

int evidence_gather(const struct steps *table, const struct probe *probe, struct evidence *e, struct sbx_error *err)
{
	*e = (struct evidence){.writable = BUF_INIT(WRITABLE_MAX), .probe = probe};
	gather_kernel(e);
	gather_namespaces(table, e);
	gather_landlock(e);
	if (gather_status(e, err) < 0 || gather_mounts(e, err) < 0)
		return -1;
	return gather_network(e, err);
}

void evidence_clear(struct evidence *e)
{
	buf_clear(&e->writable);
}

static int has_capability(const struct evidence *e)
{
	for (size_t i = 0; i < ARRAY_LEN(e->capabilities); i++)
		if (strcmp(e->capabilities[i], no_capability) != 0)
			return 1;
	return 0;
}

/* What keeps this place from being "local"; NULL when nothing does. */
static const char *weakness(const struct evidence *e)
{
	if (getpid() != 1)
		return "sbx-entry is not the first process";
	if (!e->new_namespaces)
		return "a namespace is the host's";
	if (e->seccomp != 2)
		return "there is no seccomp filter";
	if (e->no_new_privs != 1)
		return "no_new_privs is not set";
	if (has_capability(e))
		return "a capability is left";
	if (!e->root_read_only)
		return "the root is writable";
	if (!e->only_loopback)
		return "there is a network";
	return NULL;
}

/* What keeps it from being a gVisor sandbox of a cluster. Its namespaces are the runtime's matter: the kernel around us is a
 * program of its own. */
static const char *cluster_weakness(const struct evidence *e)
{
	if (getpid() != 1)
		return "sbx-entry is not the first process";
	if (!e->gvisor)
		return "the kernel is not gVisor's";
	if (e->no_new_privs != 1)
		return "no_new_privs is not set";
	if (e->uid == 0)
		return "the user is root";
	if (has_capability(e))
		return "a capability is left";
	if (!e->root_read_only)
		return "the root is writable";
	if (e->token)
		return "a service account's token is mounted";
	return NULL;
}

static enum isolation measured(const struct evidence *e)
{
	if (e->probe != NULL)
		return cluster_weakness(e) == NULL ? ISOLATION_CLUSTER_GVISOR : ISOLATION_NONE;
	return weakness(e) == NULL ? ISOLATION_LOCAL : ISOLATION_NONE;
}

int evidence_check(const struct evidence *e, const char *require, struct sbx_error *err)
{
	enum isolation found = measured(e), wanted = isolation_parse(require);

	if (found == ISOLATION_NONE)
		return sbx_fail(err, SBX_DENIED, "isolation_too_weak", "the sandbox is not isolated: %s",
				e->probe != NULL ? cluster_weakness(e) : weakness(e));
	/* What we do not know may be more than there is. */
	if (wanted == ISOLATION_NONE || found < wanted)
		return sbx_fail(err, SBX_DENIED, "isolation_too_weak",
				"the tool requires more isolation than \"%s\"", isolation_name(found));
	return 0;
}

static int put_object(struct buf *out, const char *key, const char *json, struct sbx_error *err)
{
	return json == NULL ? 0 : json_out_key(out, key, err) < 0 ? -1 : buf_add_str(out, json, err);
}

/* Where there is nothing but a loopback interface: what answers there is the driver's. */
static int put_loopback(const struct evidence *e, const char *egress, struct buf *out, struct sbx_error *err)
{
	const char *network = !e->only_loopback ? "present" : egress != NULL ? "relay" : "none";

	if (json_out_member(out, "network", network, err) < 0)
		return -1;
	return put_object(out, "egress", egress, err);
}

static int put_egress(const struct evidence *e, struct buf *out, struct sbx_error *err)
{
	const struct probe *probe = e->probe;

	/* A probe that found no good round has proved nothing. */
	if (json_out_member(out, "network", probe->closed.len > 0 ? "policy" : "present", err) < 0 ||
	    json_out_key(out, "egress", err) < 0)
		return -1;
	return buf_addf(out, err, "{\"closed\":[%s],\"answered\":[%s],\"rounds\":%u,\"took_ms\":%lld}", buf_str(&probe->closed),
			buf_str(&probe->answered), probe->rounds, (long long)probe->took_ms);
}

static int put_namespaces(const struct evidence *e, struct buf *out, struct sbx_error *err)
{
	if (json_out_key(out, "namespaces", err) < 0 || buf_add_str(out, "{", err) < 0)
		return -1;
	for (size_t i = 0; i < STEPS_NAMESPACES; i++)
		if (json_out_member_int(out, namespace_names[i], (int64_t)e->namespaces[i], err) < 0)
			return -1;
	return buf_add_str(out, "}", err);
}

static int put_bool(struct buf *out, const char *key, int value, struct sbx_error *err)
{
	if (json_out_key(out, key, err) < 0)
		return -1;
	return buf_add_str(out, value ? "true" : "false", err);
}

int evidence_json(const struct evidence *e, const struct evidence_told *told, struct buf *out, struct sbx_error *err)
{
	if (buf_add_str(out, "{", err) < 0 ||
	    json_out_member(out, "isolation", isolation_name(measured(e)), err) < 0 ||
	    json_out_member(out, "kernel", e->kernel, err) < 0 ||
	    put_namespaces(e, out, err) < 0 || put_bool(out, "new_namespaces", e->new_namespaces, err) < 0 ||
	    json_out_member_int(out, "seccomp", e->seccomp, err) < 0 ||
	    json_out_member_int(out, "no_new_privs", e->no_new_privs, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(e->capabilities); i++)
		if (json_out_member(out, capability_keys[i], e->capabilities[i], err) < 0)
			return -1;
	if (json_out_member_int(out, "uid", e->uid, err) < 0 ||
	    json_out_member(out, "root", e->root_read_only ? "read-only" : "writable", err) < 0 ||
	    json_out_member_int(out, "mounts", e->mounts, err) < 0 || json_out_key(out, "writable", err) < 0 ||
	    buf_addf(out, err, "[%s]", buf_str(&e->writable)) < 0 ||
	    (e->probe != NULL ? put_egress(e, out, err) : put_loopback(e, told->egress, out, err)) < 0 ||
	    json_out_member_int(out, "landlock", e->landlock, err) < 0)
		return -1;
	if (put_object(out, "approval", told->approval, err) < 0 || put_object(out, "limits", told->limits, err) < 0)
		return -1;
	return buf_add_str(out, "}", err);
}
