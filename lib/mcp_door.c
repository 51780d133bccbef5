/* A door process and its pipes. */
#include "mcp_door.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "limit.h"

/* Read in one go from a door that never stops talking, before the others have their turn. */
static const int blocks_at_once = 16;
/* What else may hold the door's stdout after its end is none of ours. */
static const int64_t linger_ms = 1000;

static int open_pipes(int in[2], int out[2], int log[2], struct sbx_error *err)
{
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(log, O_CLOEXEC) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a pipe");
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(log[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static int write_request(struct mcp_door *door, const char *word, const struct buf *json, struct sbx_error *err)
{
	door->request = (struct buf)BUF_INIT(2 * LIMIT_CALL);
	door->answer = (struct buf)BUF_INIT(LIMIT_CALL + 1); /* and its newline */
	if (buf_add_str(&door->request, word, err) < 0)
		return -1;
	if (json != NULL &&
	    (buf_add(&door->request, " ", 1, err) < 0 || buf_add(&door->request, buf_str(json), json->len, err) < 0))
		return -1;
	return buf_add(&door->request, "\n", 1, err);
}

int mcp_door_start(struct mcp_door *door, const struct mcp_door_command *command, const char *word,
		   const struct buf *json, struct sbx_error *err)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, log[2] = {-1, -1};
	int result = -1;

	if (write_request(door, word, json, err) < 0 || open_pipes(in, out, log, err) < 0)
		goto out;
	const struct spawn_fd fds[] = {{STDIN_FILENO, in[0]}, {STDOUT_FILENO, out[1]}, {STDERR_FILENO, log[1]}};
	const struct spawn what = {
		.path = command->path,
		.argv = command->argv,
		.envp = command->envp,
		.fds = fds,
		.fd_count = ARRAY_LEN(fds),
		.flags = SPAWN_SESSION,
	};
	result = spawn_start(&what, &door->child, err);
out:
	if (result == 0) {
		door->in = take_fd(&in[1]);
		door->out = take_fd(&out[0]);
		door->log = take_fd(&log[0]);
	} else {
		mcp_door_clear(door);
	}
	for (int i = 0; i < 2; i++) {
		base_close_fd(&in[i]);
		base_close_fd(&out[i]);
		base_close_fd(&log[i]);
	}
	return result;
}

void mcp_door_cancel(struct mcp_door *door)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	buf_add_str(&door->request, "cancel\n", &ignored);
}

static int has_request(const struct mcp_door *door)
{
	return door->in >= 0 && door->sent < door->request.len;
}

void mcp_door_poll(const struct mcp_door *door, enum mcp_door_reading reading, struct pollfd fds[MCP_DOOR_FDS])
{
	fds[0] = (struct pollfd){.fd = has_request(door) ? door->in : -1, .events = POLLOUT};
	fds[1] = (struct pollfd){.fd = reading == MCP_DOOR_READ ? door->out : -1, .events = POLLIN};
	fds[2] = (struct pollfd){.fd = door->log, .events = POLLIN};
	fds[3] = (struct pollfd){.fd = door->child.pidfd, .events = POLLIN};
}

static void send_request(struct mcp_door *door)
{
	ssize_t n = write(door->in, door->request.data + door->sent, door->request.len - door->sent);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		base_close_fd(&door->in); /* it has ended, or reads no more: its answer says what it made of that */
	if (n <= 0)
		return;
	door->sent += (size_t)n;
	if (door->sent == door->request.len) {
		buf_clear(&door->request);
		door->sent = 0;
	}
}

static int is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* A line "… call 0123456789abcdef0123456789abcdef …" names the call while it runs, for a result that is fetched later.
 */
static void find_call_id(struct mcp_door *door)
{
	static const char mark[] = "call ";

	for (const char *p = door->last_line; door->call_id[0] == '\0' && (p = strstr(p, mark)) != NULL;) {
		p += sizeof mark - 1;
		size_t n = 0;
		while (n <= MCP_DOOR_CALL_ID && is_hex(p[n]))
			n++;
		if (n == MCP_DOOR_CALL_ID)
			memcpy(door->call_id, p, n);
	}
}

static void end_line(struct mcp_door *door)
{
	while (door->line_len > 0 && door->line[door->line_len - 1] == '\r')
		door->line_len--;
	if (door->line_len > 0) {
		memcpy(door->last_line, door->line, door->line_len);
		door->last_line[door->line_len] = '\0';
		door->lines++;
		find_call_id(door);
	}
	door->line_len = 0;
}

static void take_log(struct mcp_door *door, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n')
			end_line(door);
		else if (door->line_len < sizeof door->line - 1)
			door->line[door->line_len++] = bytes[i] != '\0' ? bytes[i] : '?';
	}
}

static void take_answer(struct mcp_door *door, const char *bytes, size_t n)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	if (door->overflow || buf_add(&door->answer, bytes, n, &ignored) == 0)
		return;
	door->overflow = 1;
	buf_clear(&door->answer);
}

/* Read what is there; closes *FD at its end. */
static void drain(struct mcp_door *door, int *fd, void (*take)(struct mcp_door *, const char *, size_t))
{
	char block[16384];

	for (int i = 0; i < blocks_at_once && *fd >= 0; i++) {
		ssize_t n = read(*fd, block, sizeof block);
		if (n > 0)
			take(door, block, (size_t)n);
		else if (n < 0 && errno == EAGAIN)
			return;
		else if (n == 0 || errno != EINTR)
			base_close_fd(fd);
	}
}

void mcp_door_work(struct mcp_door *door, const struct pollfd fds[MCP_DOOR_FDS], int64_t now)
{
	if (fds[0].revents != 0)
		send_request(door);
	if (fds[1].revents != 0)
		drain(door, &door->out, take_answer);
	if (fds[2].revents != 0)
		drain(door, &door->log, take_log);
	if (fds[3].revents != 0) {
		int status;
		if (spawn_wait(&door->child, now, &status) == 1) {
			door->status = spawn_exit_code(status);
			door->ended_at = now;
			base_close_fd(&door->in);
		}
	}
}

int mcp_door_there(const struct mcp_door *door)
{
	return door->child.pid != 0 || door->ended_at >= 0;
}

int mcp_door_done(struct mcp_door *door, int64_t now)
{
	if (door->ended_at < 0)
		return 0;
	drain(door, &door->out, take_answer);
	if (door->out >= 0 && now < door->ended_at + linger_ms)
		return 0;
	drain(door, &door->log, take_log);
	end_line(door);
	return 1;
}

int64_t mcp_door_wakes(const struct mcp_door *door)
{
	return door->ended_at >= 0 && door->out >= 0 ? door->ended_at + linger_ms : -1;
}

void mcp_door_clear(struct mcp_door *door)
{
	base_close_fd(&door->in);
	base_close_fd(&door->out);
	base_close_fd(&door->log);
	base_close_fd(&door->child.pidfd);
	buf_clear(&door->request);
	buf_clear(&door->answer);
	*door = (struct mcp_door)MCP_DOOR_NONE;
}

void mcp_door_kill(struct mcp_door *door)
{
	spawn_kill(&door->child);
	mcp_door_clear(door);
}
