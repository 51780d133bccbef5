/* Test tool: writes a step table and its inputs, as sbx-run would, and reads frames.
 *
 *     mksteps frames [DIR] <FRAMES   one JSON object a line: {"type","step","text"}, or "json" for a payload that is;
 * artefacts are written to DIR/NAME. Exits 1 on a malformed stream, 2 when it ends inside a frame. mksteps TABLE INPUTS
 * [WORD...] words, in order: require=R  cwd=D  env=NAME=V  output=N  artifact_max=N  grace=MS  foreign (host namespaces
 * are left out)  sealed (it runs a sealed plan)  serial=N  lineage=L  state=SHA256  lock=PATH:FILE  no-lock=PATH
 * package=PATH:PLACE:SOURCE (a directory or file of the host)  tree=DIR  artifact=NAME:FILE  read=PATH:FILE
 * write=PATH:FILE  signed=TEXT:SIGNATURE[:SIGNATURE]...  program=PATH:FILE  bad-digest (spoils the last of these) step [credentials] [seals]
 * [check] [analyse] PROGRAM ARG...
 * (@NAME: an artefact's slot; %lock: that of a lock)  produce NAME PATH  end; dead=CALL, one whose lock may be taken away
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "frame.h"
#include "io.h"
#include "json_out.h"
#include "limit.h"
#include "signed_text.h"
#include "steps.h"
#include "tree.h"

enum { MOST = 64 };
static struct input inputs[MOST];
static struct program_digest programs[MOST];
static struct package_digest packages[MOST];
static struct step steps[LIMIT_STEPS];
static struct slot slots[LIMIT_STEPS][LIMIT_ARGV];
static struct produce produces[LIMIT_STEPS][MOST];
static char *env[MOST], empty[1];
static struct dead_call dead[LIMIT_LEFT_LOCKS];
static char *last_digest;
static struct sbx_error err;

static int fail(const char *what)
{
	fprintf(stderr, "mksteps: %s: %s\n", what, err.message);
	return 1;
}

static char *value_of(char *word, const char *key)
{
	size_t len = strlen(key);

	return strncmp(word, key, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

static char *cut(char *text)
{
	char *colon = strchr(text, ':');

	if (colon != NULL)
		*colon = '\0';
	return colon != NULL ? colon + 1 : NULL;
}

static int add_file(struct steps *s, enum input_kind kind, char *name, const char *file, int out)
{
	struct input *in = &inputs[s->input_count++];
	auto_fd fd = open(file, O_RDONLY | O_CLOEXEC);

	*in = (struct input){.kind = kind, .name = name, .path = name};
	if (fd < 0 || digest_fd_hex(fd, LIMIT_ARTIFACT, in->sha256, &in->size, &err) < 0)
		return -1;
	last_digest = in->sha256;
	if (kind == INPUT_STATE_WRITE) {
		in->size = 0;
		return 0;
	}
	return io_copy(fd, out, LIMIT_ARTIFACT, NULL, &err);
}

static int add_tree(struct steps *s, const char *dir, int out)
{
	struct input *in = &inputs[s->input_count++];
	auto_fd fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	last_digest = in->sha256;
	return fd < 0 ? -1 : tree_pack(fd, out, in->sha256, &in->size, &err);
}

static int add_signed(struct steps *s, char *text, int out)
{
	struct input *in = &inputs[s->input_count++];
	struct signed_text handed = {.count = 0};
	auto_buf bytes = BUF_INIT(2 * SIGNED_TEXT_MAX);
	char *next = cut(text), *file;

	if (io_read_file(AT_FDCWD, text, SIGNED_TEXT_MAX, 0, &file, &handed.len, &err) < 0)
		return -1;
	handed.text = file;
	for (char *name = next; name != NULL; name = next) {
		next = cut(name);
		if (io_read_file(AT_FDCWD, name, SIGNED_TEXT_MAX, 0, &file, &handed.signatures[handed.count].len, &err) < 0)
			return -1;
		handed.signatures[handed.count++].armor = file;
	}
	if (signed_text_encode(&handed, &bytes, &err) < 0)
		return -1;
	*in = (struct input){.kind = INPUT_SIGNED, .name = (char *)"", .path = (char *)"", .size = bytes.len};
	digest_sha256_hex(bytes.data, bytes.len, in->sha256);
	last_digest = in->sha256;
	return io_write_all(out, bytes.data, bytes.len, &err);
}

static int add_program(struct steps *s, char *path, const char *file)
{
	auto_fd fd = open(file, O_RDONLY | O_CLOEXEC);
	struct program_digest *program = &programs[s->program_count++];

	program->path = path;
	last_digest = program->sha256;
	return fd < 0 ? -1 : digest_fd_hex(fd, (uint64_t)1 << 31, program->sha256, NULL, &err);
}

static int add_lock(struct steps *s, char *path, const char *file)
{
	auto_fd fd = open(file, O_RDONLY | O_CLOEXEC);

	s->sealed.lock_path = path;
	last_digest = s->sealed.lock_sha256;
	return fd < 0 ? -1 : digest_fd_hex(fd, LIMIT_LOCK_FILE, s->sealed.lock_sha256, NULL, &err);
}

static int add_package(struct steps *s, char *path, char *place)
{
	struct package_digest *package = &packages[s->sealed.package_count++];
	char *source = cut(place);
	auto_fd fd = open(place, O_RDONLY | O_CLOEXEC);

	*package = (struct package_digest){.path = path, .source = source};
	last_digest = package->hash + 3;
	return fd < 0 || source == NULL ? -1 : package_hash(fd, place, NULL, package->hash, &err);
}

static int add_dead(struct steps *s, const char *call)
{
	if (s->dead_count >= LIMIT_LEFT_LOCKS)
		return -1;
	s->dead = dead;
	snprintf(dead[s->dead_count++].id, sizeof dead[0].id, "%s", call);
	return 0;
}

static int take_serial(struct steps *s, const char *text)
{
	uint64_t serial;

	if (io_parse_u64(text, 0, LIMIT_INTEGER, &serial) < 0)
		return -1;
	s->sealed.serial = (int64_t)serial;
	return 0;
}

static char **add_step(struct steps *s, char **word)
{
	uint32_t n = s->step_count++;
	struct step *step = &steps[n];

	step->argv = slots[n];
	step->produces = produces[n];
	if (*word != NULL && strcmp(*word, "credentials") == 0) {
		step->flags |= STEP_CREDENTIALS;
		word++;
	}
	if (*word != NULL && strcmp(*word, "seals") == 0) {
		step->flags |= STEP_SEALS_STATE;
		word++;
	}
	if (*word != NULL && strcmp(*word, "check") == 0) {
		step->flags |= STEP_CHECK;
		word++;
	}
	if (*word != NULL && strcmp(*word, "analyse") == 0) {
		step->flags |= STEP_ANALYSE;
		word++;
	}
	step->program = *word;
	for (; *word != NULL && strcmp(*word, "end") != 0; word++) {
		if (strcmp(*word, "produce") == 0 && word[1] != NULL && word[2] != NULL) {
			produces[n][step->produce_count++] = (struct produce){word[1], word[2]};
			word += 2;
		} else if (step->argc < LIMIT_ARGV) {
			slots[n][step->argc++] = (*word)[0] == '@'		    ? (struct slot){SLOT_ARTIFACT, *word + 1}
						 : strcmp(*word, "%lock") == 0 ? (struct slot){SLOT_LOCK, empty}
									    : (struct slot){SLOT_TEXT, *word};
		}
	}
	return *word == NULL ? word - 1 : word;
}

static int take_word(struct steps *s, char *word, int out)
{
	char *v;
	static size_t env_count;

	if ((v = value_of(word, "require")) != NULL)
		snprintf(s->require, sizeof s->require, "%s", v);
	else if ((v = value_of(word, "cwd")) != NULL)
		s->cwd = v;
	else if ((v = value_of(word, "env")) != NULL)
		env[env_count++] = v;
	else if ((v = value_of(word, "output")) != NULL)
		return io_parse_u64(v, 0, UINT64_MAX, &s->output_max);
	else if ((v = value_of(word, "artifact_max")) != NULL)
		return io_parse_u64(v, 0, UINT64_MAX, &s->artifact_max);
	else if ((v = value_of(word, "grace")) != NULL)
		return io_parse_u64(v, 0, UINT64_MAX, &s->grace_ms);
	else if ((v = value_of(word, "dead")) != NULL)
		return add_dead(s, v);
	else if (strcmp(word, "foreign") == 0)
		memset(s->host_namespaces, 0, sizeof s->host_namespaces);
	else if (strcmp(word, "sealed") == 0)
		s->plan = STEPS_SEALED_PLAN;
	else if ((v = value_of(word, "serial")) != NULL)
		return take_serial(s, v);
	else if ((v = value_of(word, "lineage")) != NULL)
		snprintf(s->sealed.lineage, sizeof s->sealed.lineage, "%s", v);
	else if ((v = value_of(word, "state")) != NULL)
		snprintf(s->sealed.state_sha256, sizeof s->sealed.state_sha256, "%s", v);
	else if ((v = value_of(word, "lock")) != NULL)
		return add_lock(s, v, cut(v));
	else if ((v = value_of(word, "no-lock")) != NULL)
		s->sealed.lock_path = v;
	else if ((v = value_of(word, "package")) != NULL)
		return add_package(s, v, cut(v));
	else if (strcmp(word, "bad-digest") == 0)
		last_digest[0] = last_digest[0] == '0' ? '1' : '0';
	else if ((v = value_of(word, "tree")) != NULL)
		return add_tree(s, v, out);
	else if ((v = value_of(word, "artifact")) != NULL)
		return add_file(s, INPUT_ARTIFACT, v, cut(v), out);
	else if ((v = value_of(word, "read")) != NULL)
		return add_file(s, INPUT_STATE_READ, v, cut(v), out);
	else if ((v = value_of(word, "write")) != NULL)
		return add_file(s, INPUT_STATE_WRITE, v, cut(v), out);
	else if ((v = value_of(word, "signed")) != NULL)
		return add_signed(s, v, out);
	else if ((v = value_of(word, "program")) != NULL)
		return add_program(s, v, cut(v));
	else
		return -1;
	return 0;
}

static const char *const frame_names[] = {"hello",    "refused", "step", "out", "err",
					  "artifact", "data",	 "exit", "end", "unlocked", "event"};

static int print_frame(const struct frame *f, struct sbx_error *failed)
{
	auto_buf line = BUF_INIT(8 * FRAME_MAX);

	if (buf_addf(&line, failed, "{\"type\":\"%s\",\"step\":%u,", frame_names[f->type], f->step) < 0)
		return -1;
	if (f->len > 0 && f->payload[0] == '{' && f->type != FRAME_OUT && f->type != FRAME_ERR &&
	    f->type != FRAME_DATA) {
		if (buf_addf(&line, failed, "\"json\":%s}", f->payload) < 0)
			return -1;
	} else if (buf_addf(&line, failed, "\"bytes\":%zu,\"text\":", f->len) < 0 ||
		   json_out_string(&line, f->payload, f->len, failed) < 0 || buf_add_str(&line, "}", failed) < 0) {
		return -1;
	}
	return puts(line.data) < 0 ? -1 : 0;
}

static int keep_frame(const char *dir, const struct frame *f)
{
	static char path[4096];
	static int file = -1;

	if (f->type == FRAME_ARTIFACT) {
		char name[64] = "";
		sscanf(f->payload, "{\"name\":\"%63[A-Za-z0-9_-]", name);
		snprintf(path, sizeof path, "%s/%s", dir, name);
		base_close_fd(&file);
		file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		return file < 0 ? -1 : 0;
	}
	return f->type == FRAME_DATA && write(file, f->payload, f->len) != (ssize_t)f->len ? -1 : 0;
}

static int read_frames(const char *dir)
{
	auto_frame_reader reader;
	struct frame frame;
	static char block[FRAME_MAX];
	ssize_t n;

	frame_reader_init(&reader);
	while (err.class == SBX_OK && (n = read(STDIN_FILENO, block, sizeof block)) > 0) {
		if (frame_feed(&reader, block, (size_t)n, &err) < 0)
			break;
		while (frame_next(&reader, &frame, &err) > 0)
			if (print_frame(&frame, &err) < 0 || (dir != NULL && keep_frame(dir, &frame) < 0))
				return fail("frames");
	}
	if (err.class != SBX_OK)
		return fail("frames");
	return frame_pending(&reader) > 0 ? 2 : 0;
}

int main(int argc, char **argv)
{
	static const char *const names[STEPS_NAMESPACES] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};
	struct steps s = {.require = "local",
			  .cwd = (char *)".",
			  .output_max = 262144,
			  .artifact_max = LIMIT_ARTIFACT,
			  .grace_ms = 300,
			  .inputs = inputs,
			  .programs = programs,
			  .sealed = {.lock_path = (char *)".terraform.lock.hcl", .serial = -1, .packages = packages},
			  .steps = steps,
			  .env = env};
	auto_buf table = BUF_INIT((size_t)8 << 20);
	char path[64];
	struct stat st;

	if (argc >= 2 && strcmp(argv[1], "frames") == 0)
		return read_frames(argv[2]);
	if (argc < 3)
		return fail("usage: mksteps TABLE INPUTS WORD...");
	auto_fd out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	auto_fd to = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (size_t i = 0; i < STEPS_NAMESPACES; i++) {
		snprintf(path, sizeof path, "/proc/self/ns/%s", names[i]);
		s.host_namespaces[i] = stat(path, &st) == 0 ? st.st_ino : 0;
	}
	for (char **word = argv + 3; *word != NULL; word++) {
		if (strcmp(*word, "step") == 0)
			word = add_step(&s, word + 1);
		else if (take_word(&s, *word, out) < 0)
			return fail(*word);
	}
	if (steps_encode(&s, &table, &err) < 0 || io_write_all(to, table.data, table.len, &err) < 0)
		return fail("table");
	return 0;
}
