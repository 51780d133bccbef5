/* jq [-rcjnS] [--arg NAME TEXT] [--argjson NAME JSON] FILTER [FILE...]: what jq prints, for the part of its language
 * that the tests use most.
 *
 * jq 1.6 compiles its library of filters at each start. That takes 40 ms, and the suite starts it a thousand times. So
 * filters of members, indices, constants, [...], "|", ",", "//", "and", "or", "==", "!=", "+" of strings and the functions of
 * jq_filter.h are evaluated here. Whatever this program does not know for certain (another option or filter, a value of the wrong kind,
 * a text that is no JSON) it hands to jq itself, before it has printed anything. The values are libjq's, not ours: a
 * test does not judge our output with our code. test/tool/quick-jq.bats holds it against jq.
 *
 * JQ_QUICK=only in the environment: status 70 instead of the hand-over. */
#include <jv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jq_filter.h"

enum { INPUT_MAX = 64 << 20, NODES_MAX = 256, VARIABLES_MAX = 8 };

static char **arguments; /* argv, for jq */
static char *from_stdin; /* what was read of it, for jq; NULL: nothing */
static size_t from_stdin_len;

static _Noreturn void hand_over(const char *why)
{
	const char *quick = getenv("JQ_QUICK");

	if (quick != NULL && strcmp(quick, "only") == 0) {
		fprintf(stderr, "jq: handed over: %s\n", why);
		exit(70);
	}
	if (from_stdin != NULL) {
		int fd = memfd_create("stdin", MFD_CLOEXEC);
		if (fd < 0 || write(fd, from_stdin, from_stdin_len) != (ssize_t)from_stdin_len ||
		    lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, STDIN_FILENO) < 0) {
			perror("jq: stdin");
			exit(2);
		}
	}
	execvp("jq", arguments);
	perror("jq");
	exit(2);
}

/* --- reading the filter --- */

static const char name_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
static const char digits[] = "0123456789";
static const char *at; /* the rest of the filter */
static struct {
	const char *name;
	jv value;
} variables[VARIABLES_MAX];
static size_t variable_count;

static const struct node *new_node(jv (*how)(const struct node *, jv), const struct node *a, const struct node *b,
				   jv value)
{
	static struct node nodes[NODES_MAX];
	static size_t count;

	if (count == NODES_MAX)
		hand_over("a long filter");
	nodes[count] = (struct node){how, a, b, value};
	return &nodes[count++];
}

static int next_is(const char *token)
{
	at += strspn(at, " \t\n");
	return strncmp(at, token, strlen(token)) == 0;
}

static int take(const char *token)
{
	if (!next_is(token))
		return 0;
	at += strlen(token);
	return 1;
}

static void need(const char *token)
{
	if (!take(token))
		hand_over("unknown syntax");
}

/* Of the name at AT; 0 when there is none. */
static size_t name_length(void)
{
	return strspn(at, digits) > 0 ? 0 : strspn(at, name_characters);
}

static int take_word(const char *word)
{
	at += strspn(at, " \t\n");
	return name_length() == strlen(word) && take(word);
}

static int at_literal(void)
{
	at += strspn(at, " \t\n");
	return *at == '"' || strspn(at, digits) > 0;
}

/* The string or integer at AT. */
static jv read_literal(void)
{
	const char *start = at;

	if (*at != '"') {
		at += strspn(at, digits);
		if (*at == '.' || *at == 'e' || *at == 'E')
			hand_over("a fraction");
	} else {
		for (at++; *at != '"'; at++)
			if (*at == '\0' || (*at == '\\' && (*++at == '\0' || *at == '(')))
				hand_over("a string that is code");
		at++;
	}
	return sure(jv_parse_sized(start, (int)(at - start)));
}

static const struct node *read_pipe(void);

static const struct node *read_name(void)
{
	if (take_word("true"))
		return new_node(give_value, NULL, NULL, jv_true());
	if (take_word("false"))
		return new_node(give_value, NULL, NULL, jv_false());
	if (take_word("null"))
		return new_node(give_value, NULL, NULL, jv_null());
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		const struct node *argument = NULL;
		if (!take_word(functions[i].name))
			continue;
		if (functions[i].has_argument) {
			need("(");
			argument = read_pipe();
			need(")");
		}
		return new_node(functions[i].give, NULL, argument, jv_null());
	}
	hand_over("an unknown word");
}

static const struct node *read_variable(void)
{
	for (size_t i = 0; i < variable_count; i++)
		if (take_word(variables[i].name))
			return new_node(give_value, NULL, NULL, variables[i].value);
	hand_over("an unknown variable");
}

/* The name or the string behind a dot: that member of what A gives. */
static const struct node *read_member(const struct node *a)
{
	size_t len = name_length();

	if (len == 0 && *at != '"')
		hand_over("unknown syntax");
	jv name = len > 0 ? jv_string_sized(at, (int)len) : read_literal();
	at += len;
	return new_node(give_item, a, NULL, name);
}

static const struct node *read_first(void)
{
	const struct node *inside;

	if (take(".")) {
		inside = new_node(give_this, NULL, NULL, jv_null());
		return *at == '.' || *at == '"' || name_length() > 0 ? read_member(inside) : inside;
	}
	if (at_literal())
		return new_node(give_value, NULL, NULL, read_literal());
	if (take("$"))
		return read_variable();
	if (take("(")) {
		inside = read_pipe();
		need(")");
		return inside;
	}
	if (take("[")) {
		inside = next_is("]") ? NULL : read_pipe();
		need("]");
		return new_node(give_array, inside, NULL, jv_null());
	}
	return read_name();
}

static const struct node *read_term(void)
{
	const struct node *n = read_first();

	for (;;) {
		if (take("[")) {
			if (next_is("]"))
				n = new_node(give_items, n, NULL, jv_null());
			else if (at_literal())
				n = new_node(give_item, n, NULL, read_literal());
			need("]");
		} else if (take(".")) {
			n = read_member(n);
		} else {
			return n;
		}
	}
}

/* The operators, from those that bind least; neighbours of one depth stand side by side. */
static const struct operator
{
	const char *token;
	size_t depth;
	jv (*give)(const struct node *n, jv input);
}
operators[] = {
	{"|", 0, give_behind}, {",", 1, give_both},  {"//", 2, give_else},  {"or", 3, give_or},
	{"and", 4, give_and},  {"==", 5, give_same}, {"!=", 5, give_other}, {"+", 6, give_sum},
};
enum { COMPARISON = 5, DEPTHS = 7 };

static const struct operator* take_operator(size_t depth)
{
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
		const struct operator* o = & operators[i];
		if (o->depth != depth ||
		    !(strspn(o->token, name_characters) > 0 ? take_word(o->token) : take(o->token)))
			continue;
		if (*at == '=')
			hand_over("an assignment");
		return o;
	}
	return NULL;
}

/* They group from the left; for "|" and "//", which jq groups from the right, that gives the same. Comparisons do not
 * group. */
static const struct node *read_operation(size_t depth)
{
	if (depth == DEPTHS)
		return read_term();
	const struct node *n = read_operation(depth + 1);
	for (const struct operator* o; (o = take_operator(depth)) != NULL;) {
		n = new_node(o->give, n, read_operation(depth + 1), jv_null());
		if (depth == COMPARISON)
			break;
	}
	return n;
}

static const struct node *read_pipe(void)
{
	return read_operation(0);
}

static const struct node *read_filter(const char *text)
{
	at = text;
	const struct node *n = read_pipe();
	if (!next_is("") || *at != '\0')
		hand_over("unknown syntax");
	return n;
}

/* --- options, input, output --- */

struct options {
	int raw, joined, no_input, flags;
};

/* The words before the filter; returns where that is. */
static char **read_options(char **word, struct options *out)
{
	*out = (struct options){.flags = JV_PRINT_INDENT_FLAGS(2)};
	for (; *word != NULL && **word == '-'; word++) {
		int is_json = strcmp(*word, "--argjson") == 0;
		if (is_json || strcmp(*word, "--arg") == 0) {
			if (word[1] == NULL || word[2] == NULL || variable_count == VARIABLES_MAX)
				hand_over("too few words, or too many");
			variables[variable_count].name = word[1];
			variables[variable_count++].value = is_json ? sure(jv_parse(word[2])) : jv_string(word[2]);
			word += 2;
			continue;
		}
		if (strspn(*word + 1, "rcjnS") != strlen(*word + 1))
			hand_over("an unknown option");
		out->joined |= strchr(*word, 'j') != NULL;
		out->raw |= out->joined || strchr(*word, 'r') != NULL;
		out->no_input |= strchr(*word, 'n') != NULL;
		if (strchr(*word, 'c') != NULL)
			out->flags &= JV_PRINT_SORTED;
		if (strchr(*word, 'S') != NULL)
			out->flags |= JV_PRINT_SORTED;
	}
	return word;
}

static char *read_whole(FILE *file, size_t *len)
{
	char *text = malloc(INPUT_MAX);

	*len = text == NULL ? 0 : fread(text, 1, INPUT_MAX, file);
	if (text == NULL || *len == INPUT_MAX || ferror(file)) {
		fprintf(stderr, "jq: an input that cannot be read whole\n");
		exit(2);
	}
	return text;
}

/* VALUES and those in TEXT. */
static jv parse_all(jv values, const char *text, size_t len)
{
	struct jv_parser *parser = jv_parser_new(0);
	jv value;

	jv_parser_set_buf(parser, text, (int)len, 0);
	while (jv_is_valid(value = jv_parser_next(parser)))
		values = jv_array_append(values, value);
	if (jv_invalid_has_msg(value))
		hand_over("a text that is no JSON");
	jv_parser_free(parser);
	return values;
}

static jv read_input(char **files)
{
	jv values = jv_array();
	size_t len;

	if (*files == NULL) {
		from_stdin = read_whole(stdin, &from_stdin_len);
		return parse_all(values, from_stdin, from_stdin_len);
	}
	for (; *files != NULL; files++) {
		FILE *file = **files == '-' ? NULL : fopen(*files, "re");
		if (file == NULL)
			hand_over("an option at the end, or a file that is not there");
		char *text = read_whole(file, &len);
		values = parse_all(values, text, len);
		free(text);
		fclose(file);
	}
	return values;
}

static void print(jv value, const struct options *o)
{
	if (o->raw && jv_get_kind(value) == JV_KIND_STRING) {
		fwrite(jv_string_value(value), 1, (size_t)jv_string_length_bytes(jv_copy(value)), stdout);
		jv_free(value);
	} else {
		jv_dumpf(value, stdout, o->flags);
	}
	if (!o->joined)
		putchar('\n');
}

int main(int argc, char **argv)
{
	struct options o;
	jv out = jv_array();

	arguments = argv;
	char **rest = read_options(argv + (argc > 0), &o);
	if (*rest == NULL)
		hand_over("no filter");
	const struct node *filter = read_filter(*rest);
	jv input = o.no_input ? JV_ARRAY(jv_null()) : read_input(rest + 1);
	/* Everything is known before anything is printed. */
	jv_array_foreach(input, i, value) out = jv_array_concat(out, give(filter, value));
	jv_array_foreach(out, k, value) print(value, &o);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 2;
}
