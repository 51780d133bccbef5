/* Files to descriptors. */
#include "entry_boot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "io.h"
#include "limit.h"
#include "secret.h"

static int missing(struct sbx_error *err)
{
	return sbx_fail(err, SBX_PROTOCOL, "boot_missing", "the cluster has not mounted what this sandbox needs");
}

/* The pieces, one after the other. */
static int read_pieces(int dir, struct buf *all, struct sbx_error *err)
{
	char name[sizeof BOOT_FILE + 8];

	for (unsigned i = 0; i < BOOT_PIECES; i++) {
		auto_free char *bytes = NULL;
		size_t len;
		snprintf(name, sizeof name, BOOT_FILE, i);
		auto_fd fd = openat(dir, name, O_RDONLY | O_CLOEXEC); /* a link, as kubelets make them */
		if (fd < 0 && i > 0 && errno == ENOENT)
			return 0;
		if (fd < 0)
			return missing(err);
		if (io_read_all(fd, BOOT_PIECE, &bytes, &len, err) < 0 || buf_add(all, bytes, len, err) < 0)
			return -1;
	}
	return 0;
}

static int take_credentials(int dir, int *to, struct sbx_error *err)
{
	auto_fd fd = openat(dir, BOOT_CREDENTIALS, O_RDONLY | O_CLOEXEC);
	auto_secret bytes = SECRET_INIT;

	if (fd < 0)
		return missing(err);
	if (secret_read_fd(&bytes, fd, LIMIT_CREDENTIAL_FILES, err) < 0)
		return -1;
	*to = secret_memfd(&bytes, "sbx-credentials", err);
	return *to < 0 ? -1 : 0;
}

static int take_stop(int *to, struct sbx_error *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*to = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *to >= 0 ? 0 : sbx_fail_errno(err, SBX_OS, "os_error", "cannot wait for signals");
}

int entry_boot_read(const char *directory, struct entry_boot *boot, struct sbx_error *err)
{
	auto_buf all = BUF_INIT(BOOT_MAX);
	auto_fd dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (take_stop(&boot->control_fd, err) < 0)
		return -1;
	if (dir < 0)
		return missing(err);
	if (read_pieces(dir, &all, err) < 0)
		return -1;
	size_t len = all.len;
	boot->bytes = buf_take(&all);
	if (boot->bytes == NULL)
		return missing(err);
	if (boot_decode(boot->bytes, len, &boot->boot, err) < 0)
		return -1;
	boot->entry_fd = io_sealed_memfd("sbx-steps", boot->boot.table, boot->boot.table_len, err);
	boot->inputs_fd =
		boot->entry_fd < 0 ? -1 : io_sealed_memfd("sbx-inputs", boot->boot.inputs, boot->boot.inputs_len, err);
	if (boot->inputs_fd < 0)
		return -1;
	return boot->boot.credentials ? take_credentials(dir, &boot->credentials_fd, err) : 0;
}

static int set_limit(int resource, uint64_t value)
{
	struct rlimit limit = {.rlim_cur = value, .rlim_max = value}, now;

	/* A lower one that stands already stays. */
	if (getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_max < value)
		limit = (struct rlimit){.rlim_cur = now.rlim_max, .rlim_max = now.rlim_max};
	return setrlimit((__rlimit_resource_t)resource, &limit);
}

int entry_boot_limits(const struct entry_boot *boot, struct sbx_error *err)
{
	/* +1: this process. */
	if (set_limit(RLIMIT_NPROC, boot->boot.pids + 1) < 0 || set_limit(RLIMIT_NOFILE, boot->boot.files) < 0 ||
	    set_limit(RLIMIT_CORE, 0) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot set the limits of the steps");
	return 0;
}

/* "HOST:PORT", with brackets where HOST is an IPv6 address; "" when one of them is not known. */
static void join_address(const char *host, const char *port, char *out, size_t size)
{
	int v6 = host != NULL && strchr(host, ':') != NULL;

	out[0] = '\0';
	if (host != NULL && port != NULL)
		snprintf(out, size, "%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

int entry_boot_probe(struct entry_boot *boot, struct sbx_error *why)
{
	char api_server[128], kubelet[128], port[8];

	snprintf(port, sizeof port, "%d", PROBE_KUBELET_PORT);
	join_address(getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"), api_server,
		     sizeof api_server);
	join_address(getenv("SBX_NODE"), port, kubelet, sizeof kubelet);
	return entry_probe(&boot->boot, api_server, kubelet, &boot->probe, why);
}

void entry_boot_clear(struct entry_boot *boot)
{
	boot_clear(&boot->boot);
	free(boot->bytes);
	base_close_fd(&boot->entry_fd);
	base_close_fd(&boot->inputs_fd);
	base_close_fd(&boot->credentials_fd);
	base_close_fd(&boot->control_fd);
	probe_clear(&boot->probe);
}
