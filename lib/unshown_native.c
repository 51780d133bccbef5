/* Blocks in the native syntax. Every name that begins a line or stands behind a brace or comma is looked at, at whatever
 * depth. */
#include <string.h>

#include "hcl_lex.h"
#include "setting.h"
#include "unshown_impl.h"

enum block { BLOCK_OTHER, BLOCK_REMOVED, BLOCK_PROVIDER, BLOCK_TERRAFORM, BLOCK_MODULE };
enum { NESTED_MAX = 64 };

/* Where the reader is within a block at the top. */
struct inside {
	enum block block;
	unsigned depth;	     /* braces that are open */
	unsigned dynamic_at; /* depth of the dynamic block of a provider; 0: in none */
	unsigned pass_at;    /* of required_providers */
	int has_source;
};

static enum block block_of(const char *name, size_t len)
{
	static const struct {
		const char *name;
		enum block block;
	} blocks[] = {{"removed", BLOCK_REMOVED},
		      {"provider", BLOCK_PROVIDER},
		      {"terraform", BLOCK_TERRAFORM},
		      {"module", BLOCK_MODULE}};

	for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
		if (hcl_is(name, len, blocks[i].name))
			return blocks[i].block;
	return BLOCK_OTHER;
}

/* A string that is what it looks like: without escapes and templates. */
static int is_plain(const char *text, size_t len)
{
	return memchr(text, '\\', len) == NULL && memmem(text, len, "${", 2) == NULL && memmem(text, len, "%{", 2) == NULL;
}

/* Whether a name, or the label of a dynamic block, may start a program; VALUE is the plain string that is assigned to
 * it, or NULL. */
static int starts_program(const char *name, size_t len, const char *value, size_t value_len)
{
	enum setting setting = is_plain(name, len) ? setting_of(name, len) : SETTING_PROGRAM;

	return setting == SETTING_PROGRAM ||
	       (setting == SETTING_FILE && !(value != NULL && setting_is_ours(value, value_len)));
}

/* The string right behind NAME and "=" that ends its line, without moving LEX; NULL for anything else. */
static const char *assigned(struct hcl_lex lex, size_t *len)
{
	enum hcl_token token;
	const char *text, *value, *end;
	size_t text_len;

	if (hcl_next(&lex, &token, &text, &text_len) < 0 || token != HCL_OTHER || !hcl_is(text, text_len, "=") ||
	    hcl_next(&lex, &token, &value, len) < 0 || token != HCL_STRING || !is_plain(value, *len) ||
	    hcl_next(&lex, &token, &end, &text_len) < 0 ||
	    (token != HCL_NEWLINE && token != HCL_CLOSE && token != HCL_END))
		return NULL;
	return value;
}

/* The label right behind the word `dynamic`. */
static int makes_program(struct hcl_lex lex)
{
	enum hcl_token token;
	const char *text;
	size_t len;

	return hcl_next(&lex, &token, &text, &len) < 0 || (token != HCL_STRING && token != HCL_NAME) ||
	       starts_program(text, len, NULL, 0);
}

/* A name at the beginning of something in a block. */
static void take_name(struct unshown *u, struct inside *in, const struct hcl_lex *lex, const char *name, size_t len)
{
	size_t value_len = 0;
	const char *value = assigned(*lex, &value_len);

	switch (in->block) {
	case BLOCK_REMOVED:
		if (hcl_is(name, len, "provisioner"))
			unshown_add(u, UNSHOWN_REMOVED);
		return;
	case BLOCK_PROVIDER:
		if (in->dynamic_at == 0 && hcl_is(name, len, "dynamic")) {
			in->dynamic_at = in->depth;
			if (makes_program(*lex))
				unshown_add(u, UNSHOWN_PROVIDER);
		} else if (in->dynamic_at > 0 && starts_program(name, len, value, value_len)) {
			unshown_add(u, UNSHOWN_PROVIDER);
		}
		return;
	case BLOCK_TERRAFORM:
		if (in->pass_at == 0 && in->depth == 1 && hcl_is(name, len, "required_providers"))
			in->pass_at = in->depth;
		else if (in->pass_at == 0 && starts_program(name, len, value, value_len))
			unshown_add(u, UNSHOWN_TERRAFORM);
		return;
	case BLOCK_MODULE:
		if (in->depth != 1 || !hcl_is(name, len, "source"))
			return;
		in->has_source = 1;
		unshown_module(u, value, value_len);
		return;
	case BLOCK_OTHER:
		return;
	}
}

static void end_block(struct unshown *u, struct inside *in)
{
	in->depth--;
	if (in->dynamic_at == in->depth)
		in->dynamic_at = 0;
	if (in->pass_at == in->depth)
		in->pass_at = 0;
	if (in->depth == 0 && in->block == BLOCK_MODULE && !in->has_source)
		unshown_add(u, UNSHOWN_MODULE);
}

int unshown_native(struct unshown *u, const char *text, size_t len)
{
	struct inside in = {.block = BLOCK_OTHER};
	struct hcl_lex lex;
	enum hcl_token token;
	const char *word;
	size_t word_len;
	int at_start = 1;

	hcl_begin(&lex, text, len);
	for (;;) {
		if (hcl_next(&lex, &token, &word, &word_len) < 0 || in.depth > NESTED_MAX)
			return -1;
		if (token == HCL_END)
			return in.depth == 0 ? 0 : -1;
		if (token == HCL_OPEN) {
			in.depth++;
		} else if (token == HCL_CLOSE && in.depth == 0) {
			return -1;
		} else if (token == HCL_CLOSE) {
			end_block(u, &in);
		} else if (at_start && (token == HCL_NAME || token == HCL_STRING)) {
			if (in.depth > 0)
				take_name(u, &in, &lex, word, word_len);
			else
				in = (struct inside){.block = block_of(word, word_len)};
		}
		at_start = token == HCL_NEWLINE || token == HCL_OPEN || (token == HCL_OTHER && hcl_is(word, word_len, ","));
	}
}
