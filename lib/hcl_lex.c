/* One token at a time; templates nest, so they recurse, to a depth. */
#include "hcl_lex.h"

#include <string.h>

void hcl_begin(struct hcl_lex *lex, const char *text, size_t len)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t skip = len >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;

	*lex = (struct hcl_lex){.at = text + skip, .end = text + len, .line = 1};
}

int hcl_is(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(text, word, len) == 0;
}

static int at(const struct hcl_lex *lex, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(lex->end - lex->at) >= len && memcmp(lex->at, word, len) == 0;
}

static int is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_name_part(char c)
{
	return is_name_start(c) || is_digit(c) || c == '-';
}

/* To the end of the line, or of the text. */
static void skip_line(struct hcl_lex *lex)
{
	while (lex->at < lex->end && *lex->at != '\n')
		lex->at++;
}

static int skip_comment(struct hcl_lex *lex)
{
	for (lex->at += 2; !at(lex, "*/"); lex->at++) {
		if (lex->at >= lex->end)
			return -1;
		lex->line += *lex->at == '\n';
	}
	lex->at += 2;
	return 0;
}

static int skip_blanks(struct hcl_lex *lex)
{
	while (lex->at < lex->end) {
		if (*lex->at == ' ' || *lex->at == '\t' || *lex->at == '\r')
			lex->at++;
		else if (*lex->at == '#' || at(lex, "//"))
			skip_line(lex);
		else if (!at(lex, "/*"))
			return 0;
		else if (skip_comment(lex) < 0)
			return -1;
	}
	return 0;
}

/* Behind the opening of a template: everything to the brace that closes it. */
static int skip_template(struct hcl_lex *lex)
{
	enum hcl_token token;
	const char *text;
	size_t len;
	unsigned open = 1;

	if (++lex->depth > HCL_DEPTH)
		return -1;
	while (open > 0) {
		if (hcl_next(lex, &token, &text, &len) < 0 || token == HCL_END)
			return -1;
		open += token == HCL_OPEN;
		open -= token == HCL_CLOSE;
	}
	lex->depth--;
	return 0;
}

/* One step inside a quoted string or a heredoc: past a template, past the mark that makes one plain text, or past one
 * byte. */
static int skip_literal(struct hcl_lex *lex)
{
	if (at(lex, "$${") || at(lex, "%%{")) {
		lex->at += 3;
		return 0;
	}
	if (at(lex, "${") || at(lex, "%{")) {
		lex->at += 2;
		return skip_template(lex);
	}
	if (*lex->at == '\0')
		return -1;
	lex->at++;
	return 0;
}

static int skip_string(struct hcl_lex *lex)
{
	lex->at++;
	for (;;) {
		if (lex->at >= lex->end || *lex->at == '\n')
			return -1;
		if (*lex->at == '"')
			break;
		if (*lex->at == '\\' && lex->end - lex->at > 1 && lex->at[1] != '\n')
			lex->at += 2;
		else if (skip_literal(lex) < 0)
			return -1;
	}
	lex->at++;
	return 0;
}

/* Whether C may be a part of white space in somebody's Unicode: no character of ASCII that is seen. */
static int may_be_blank(char c)
{
	return (unsigned char)c <= 0x20 || (unsigned char)c >= 0x7f;
}

/* Whether MARK stands from FROM to TO with nothing around it but what may be blank. One search, however long the line: a
 * mark may itself be of bytes that may be blank. */
static int may_be_mark(const char *from, const char *to, const char *mark, size_t len)
{
	const char *first = from, *last = to;

	while (first < to && may_be_blank(*first))
		first++;
	while (last > from && may_be_blank(last[-1]))
		last--;
	if (last > from && (size_t)(last - from) > len)
		from = last - len;
	if ((size_t)(to - first) > len)
		to = first + len;
	return from < to && memmem(from, (size_t)(to - from), mark, len) != NULL;
}

/* 1 when the line at hand is MARK and white space; -1 when it may be for a reader that knows more white space than blank,
 * tab and carriage return. Terraform is one, and which of it ends a heredoc is its Unicode library's to say: a guess here
 * would hide a block from us that it reads. */
static int is_mark(const struct hcl_lex *lex, const char *mark, size_t len)
{
	const char *from = lex->at, *to = memchr(from, '\n', (size_t)(lex->end - from));

	if (to == NULL)
		to = lex->end;
	while (from < to && (*from == ' ' || *from == '\t'))
		from++;
	while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
		to--;
	if ((size_t)(to - from) == len && memcmp(from, mark, len) == 0)
		return 1;
	return may_be_mark(from, to, mark, len) ? -1 : 0;
}

/* "<<MARK" or "<<-MARK": its text, to the end of the line that closes it. 0 when it is none. */
static int take_heredoc(struct hcl_lex *lex)
{
	const char *mark = lex->at + 2, *p;

	if (mark < lex->end && *mark == '-')
		mark++;
	for (p = mark; p < lex->end && is_name_part(*p); p++)
		;
	size_t len = (size_t)(p - mark);
	if (len == 0 || !is_name_start(*mark))
		return 0;
	if (p < lex->end && *p == '\r')
		p++;
	if (p >= lex->end || *p != '\n')
		return 0;
	for (lex->at = p;;) {
		if (lex->at >= lex->end)
			return -1;
		if (*lex->at != '\n') {
			if (skip_literal(lex) < 0)
				return -1;
			continue;
		}
		lex->at++;
		lex->line++;
		int ends = is_mark(lex, mark, len);
		if (ends < 0)
			return -1;
		if (ends > 0)
			break;
	}
	skip_line(lex);
	return 1;
}

static int take_name(struct hcl_lex *lex)
{
	if (!is_name_start(*lex->at))
		return 0;
	while (lex->at < lex->end && is_name_part(*lex->at))
		lex->at++;
	return 1;
}

static int take_number(struct hcl_lex *lex)
{
	if (!is_digit(*lex->at))
		return 0;
	while (lex->at < lex->end && (is_digit(*lex->at) || *lex->at == '.'))
		lex->at++;
	return 1;
}

int hcl_next(struct hcl_lex *lex, enum hcl_token *token, const char **text, size_t *len)
{
	if (skip_blanks(lex) < 0)
		return -1;
	const char *begin = lex->at;
	*token = HCL_OTHER;
	*text = begin;
	*len = 0;
	if (begin >= lex->end) {
		*token = HCL_END;
		return 0;
	}
	if (*begin == '"') {
		if (skip_string(lex) < 0)
			return -1;
		*token = HCL_STRING;
		*text = begin + 1;
		*len = (size_t)(lex->at - begin) - 2;
		return 0;
	}
	int heredoc = at(lex, "<<") ? take_heredoc(lex) : 0;
	if (heredoc < 0 || *begin == '\0')
		return -1;
	if (heredoc == 0 && take_name(lex))
		*token = HCL_NAME;
	else if (heredoc == 0 && !take_number(lex)) {
		*token = *begin == '\n'	 ? HCL_NEWLINE
			 : *begin == '{' ? HCL_OPEN
			 : *begin == '}' ? HCL_CLOSE
					 : HCL_OTHER;
		lex->line += *begin == '\n';
		lex->at++;
	}
	*len = (size_t)(lex->at - begin);
	return 0;
}
