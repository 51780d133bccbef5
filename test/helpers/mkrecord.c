/* mkrecord: a record as long as one likes. mkrecord STATE BYTES writes as many valid events as make up BYTES to the file
 * audit.jsonl, which must not be there, in the state directory STATE; without a sync for each. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit_line.h"
#include "io.h"

int main(int argc, char **argv)
{
	static const char call[] = "0123456789abcdef0123456789abcdef";
	struct sbx_error err = SBX_ERROR_INIT;
	char head[DIGEST_HEX_SIZE] = AUDIT_FIRST_PREV, path[4096];
	long long bytes = argc == 3 ? strtoll(argv[2], NULL, 10) : 0;

	if (bytes <= 0)
		return 64;
	snprintf(path, sizeof path, "%s/audit.jsonl", argv[1]);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	auto_jv details = json_set_str(json_set_str(jv_object(), "tool", "terraform_plan"), "principal", "agent");
	auto_buf lines = BUF_INIT((size_t)4 << 20);
	for (int64_t seq = 1; fd >= 0 && bytes > 0; seq++) {
		size_t start = lines.len;
		if (audit_line_write(&lines, seq, head, "tool.request", call, details, &err) < 0)
			break;
		digest_sha256_hex(lines.data + start, lines.len - start - 1, head);
		bytes -= (long long)(lines.len - start);
		if (lines.len > (size_t)1 << 20 || bytes <= 0) {
			if (io_write_all(fd, lines.data, lines.len, &err) < 0)
				break;
			buf_reset(&lines);
		}
	}
	if (fd < 0 || bytes > 0)
		perror(path);
	return fd < 0 || bytes > 0;
}
