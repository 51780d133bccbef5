/* The lexer itself, the blocks that it reads, and places in them. */
#include "json_lex_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The fuzzers are built with a small one. */
#ifndef JSON_LEX_BLOCK
#define JSON_LEX_BLOCK 65536
#endif

static const size_t first_levels = 16;

static struct json_lex *new_lex(const struct json_lex_limits *limits, struct sbx_error *err)
{
	struct json_lex *lex = calloc(1, sizeof *lex);
	size_t levels = limits->depth < first_levels ? limits->depth + 1 : first_levels;

	if (lex != NULL)
		lex->levels = calloc(levels, sizeof *lex->levels);
	if (lex == NULL || lex->levels == NULL) {
		free(lex);
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	lex->level = lex->levels;
	lex->levels_end = lex->levels + levels;
	lex->limits = *limits;
	lex->fd = -1;
	lex->token.line = lex->counted.line = 1;
	lex->buffer = (struct buf)BUF_INIT(limits->string);
	lex->expect = EXPECT_VALUE;
	json_keys_init(&lex->keys);
	return lex;
}

void json_lex_again(struct json_lex *lex, const void *bytes, size_t len)
{
	lex->p = bytes;
	lex->end = lex->p + len;
	lex->looked = NULL;
	lex->expect = EXPECT_VALUE;
	lex->state = len > lex->limits.bytes ? JSON_OVERSIZE : JSON_READING;
	lex->text = "";
	lex->len = 0;
	lex->level = lex->levels;
	json_keys_reset(&lex->keys);
	lex->keys_trusted = 0;
	buf_reset(&lex->buffer);
	lex->counted = (struct json_place){.at = lex->p, .line = 1};
	lex->token = (struct json_place){.line = 1};
	lex->taken = len;
}

struct json_lex *json_lex_memory(const void *bytes, size_t len,
				 const struct json_lex_limits *limits, struct sbx_error *err)
{
	struct json_lex *lex = new_lex(limits, err);

	if (lex != NULL)
		json_lex_again(lex, bytes, len);
	return lex;
}

struct json_lex *json_lex_fd(int fd, const struct json_lex_limits *limits, struct sbx_error *err)
{
	struct json_lex *lex = new_lex(limits, err);

	if (lex == NULL)
		return NULL;
	lex->fd = fd;
	lex->block = malloc(JSON_LEX_BLOCK);
	if (lex->block == NULL) {
		json_lex_free(lex);
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	lex->p = lex->end = lex->counted.at = lex->block;
	return lex;
}

void json_lex_tee(struct json_lex *lex, void (*tee)(void *context, const void *bytes, size_t len),
		  void *context)
{
	lex->tee = tee;
	lex->tee_context = context;
}

void json_lex_trust_keys(struct json_lex *lex)
{
	lex->keys_trusted = 1;
}

void json_lex_free(struct json_lex *lex)
{
	if (lex == NULL)
		return;
	free(lex->block);
	free(lex->levels);
	json_keys_clear(&lex->keys);
	buf_clear(&lex->buffer);
	free(lex);
}

/* Bring the counted place to P, which is not before it. */
static void count_to(struct json_lex *lex, const unsigned char *p)
{
	struct json_place *counted = &lex->counted;
	const unsigned char *line_end;

	if (counted->at == p)
		return;
	while ((line_end = memchr(counted->at, '\n', (size_t)(p - counted->at))) != NULL) {
		counted->line++;
		counted->column = 0;
		counted->at = line_end + 1;
	}
	counted->column += (unsigned)(p - counted->at);
	counted->at = p;
}

static void locate_token(struct json_lex *lex)
{
	if (lex->token.at == NULL)
		return;
	count_to(lex, lex->token.at);
	lex->token = lex->counted;
	lex->token.at = NULL;
}

void json_lex_place(struct json_lex *lex, unsigned *line, unsigned *column)
{
	locate_token(lex);
	*line = lex->token.line;
	*column = lex->token.column;
}

int json_lex_bad(struct json_lex *lex, const char *code, const char *what, struct sbx_error *err)
{
	locate_token(lex);
	count_to(lex, lex->p);
	return sbx_fail(err, SBX_BAD_REQUEST, code, "%s at %u:%u", what, lex->counted.line,
			lex->counted.column);
}

int json_lex_too_large(const struct json_lex *lex, struct sbx_error *err)
{
	return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "more than %llu bytes",
			(unsigned long long)lex->limits.bytes);
}

int json_lex_fill(struct json_lex *lex, struct sbx_error *err)
{
	ssize_t n;

	if (lex->fd < 0)
		return 0;
	locate_token(lex);
	count_to(lex, lex->end);
	do
		n = read(lex->fd, lex->block, JSON_LEX_BLOCK);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read the JSON text");
	lex->p = lex->counted.at = lex->block;
	lex->looked = NULL;
	lex->end = lex->block + n;
	lex->taken += (uint64_t)n;
	if (lex->taken > lex->limits.bytes)
		return json_lex_too_large(lex, err);
	if (lex->tee != NULL && n > 0)
		lex->tee(lex->tee_context, lex->block, (size_t)n);
	return n > 0;
}

uint64_t json_lex_offset(const struct json_lex *lex)
{
	return lex->taken - (uint64_t)(lex->end - lex->p);
}
