/* The lock file as terraform writes it, as an agent might, and the tokens that it is made of. */
#include "lock_file.h"

#include "hcl_lex.h"
#include "unit.h"

static const char written[] = "# This file is maintained automatically by \"terraform init\".\n"
			      "# Manual edits may be lost in future updates.\n"
			      "\n"
			      "provider \"registry.terraform.io/hashicorp/aws\" {\n"
			      "  version     = \"5.100.0\"\n"
			      "  constraints = \"~> 5.0, != 5.3.0\"\n"
			      "  hashes = [\n"
			      "    \"h1:6Z2/qo7+ohCc5eIVM9W8s9vSeqatTE2+VStBcZCuV78=\",\n"
			      "    \"zh:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\",\n"
			      "  ]\n"
			      "}\n"
			      "\n"
			      "provider \"example.com/a-b/c_d\" {\n"
			      "  version = \"1.0.0-rc.1+x\"\n"
			      "}\n";

static void test_written(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv locked = jv_invalid();

	CHECK(lock_file_read(written, strlen(written), &locked, &err) == 0 && json_length(locked) == 2);
	auto_jv first = json_at(locked, 0), second = json_at(locked, 1);
	auto_jv hashes = json_array(first, "hashes"), none = json_array(second, "hashes"), hash = json_at(hashes, 1);
	CHECK_STR(json_str(first, "source"), "registry.terraform.io/hashicorp/aws");
	CHECK_STR(json_str(first, "version"), "5.100.0");
	CHECK(json_length(hashes) == 2 && json_length(none) == 0);
	CHECK_STR(json_text(hash), "zh:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CHECK_STR(json_str(second, "source"), "example.com/a-b/c_d");
	CHECK_STR(json_str(second, "version"), "1.0.0-rc.1+x");
}

static int reads(const char *text, int count)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv locked = jv_invalid();

	if (lock_file_read(text, strlen(text), &locked, &err) < 0)
		return printf("# %s\n", err.message), 0;
	return json_length(locked) == count;
}

static void test_forms(void)
{
	CHECK(reads("", 0));
	CHECK(reads("\n\n# nothing\n", 0));
	CHECK(reads("/* a\n b */ provider \"a.b/c/d\" { // x\n version = \"1\"\n hashes = [] }", 1));
	CHECK(reads("provider \"a.b/c/d\" {\nversion=\"1\"\nhashes=[\"h1:x\" , \"h1:y\"]\n}\n", 1));
}

static void refused(const char *text, const char *line)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv locked = jv_invalid();
	char start[80];

	snprintf(start, sizeof start, "the lock file .terraform.lock.hcl, line %s: ", line);
	CHECK(lock_file_read(text, strlen(text), &locked, &err) < 0 && err.class == SBX_BAD_REQUEST);
	CHECK_STR(err.code, "lock_invalid");
	if (strncmp(err.message, start, strlen(start)) != 0)
		printf("# %s: %s\n", text, err.message);
	CHECK(strncmp(err.message, start, strlen(start)) == 0 && !jv_is_valid(locked));
}

static void test_refused(void)
{
	static const char *const sources[] = {
		"",	"a/b",	 "a/b/c/d",    "../b/c",     "a/../c",	"a/b/..", "a//c",     "/b/c",
		"a/b/", "A/b/c", "a.b/c/${d}", "a.b/c/d\\n", "a b/c/d", "-a/b/c", "a:80/b/c", "a/b/\xc3\xa9"};
	static const char *const versions[] = {"", "../1", "1/2", "1 2", "${v}", ".1", "1\\n"};
	char text[512];

	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		snprintf(text, sizeof text, "provider \"%s\" {\n  version = \"1\"\n}\n", sources[i]);
		refused(text, "1");
	}
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		snprintf(text, sizeof text, "provider \"a.b/c/d\" {\n  version = \"%s\"\n}\n", versions[i]);
		refused(text, "2");
	}
	refused("module \"x\" {\n}\n", "1");
	refused("provider a {\n}\n", "1");
	refused("provider \"a.b/c/d\"\n{ version = \"1\" }\n", "2");
	refused("provider \"a.b/c/d\" {\n}\n", "2");
	refused("provider \"a.b/c/d\" {\n version = \"1\"\n", "3");
	refused("provider \"a.b/c/d\" {\n version = \"1\"\n version = \"2\"\n}", "3");
	refused("provider \"a.b/c/d\" {\n version = 1\n}", "2");
	refused("provider \"a.b/c/d\" {\n version = <<X\n1\nX\n}", "4");
	refused("provider \"a.b/c/d\" {\n version = \"1\"\n source = \"e\"\n}", "3");
	refused("provider \"a.b/c/d\" {\n version = \"1\"\n hashes = \"h1:x\"\n}", "3");
	refused("provider \"a.b/c/d\" {\n version = \"1\"\n hashes = [ \"h1:x\" \"h1:y\" ]\n}", "3");
	refused("provider \"a.b/c/d\" {\n version = \"1\"\n hashes = [ \"h1:x y\" ]\n}", "3");
	refused("provider \"a.b/c/d\" {\n version = \"1\"\n hashes = [ \"h1:x\"\n", "4");
	refused("provider \"a.b/c/d\" {\n version = \"1\"\n}\nprovider \"a.b/c/d\" {\n version = \"2\"\n}\n", "4");
	refused("\xef\xbb\xbfprovider \"a.b/c/d\" {\n version = \"1\"\n}", "1");
	refused("provider \"a.b/c/d\" {\n version = \"1\n\"\n}", "2");
}

/* So many and not one more. */
static void test_count(void)
{
	auto_buf text = BUF_INIT(1 << 20);
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv locked = jv_invalid(), none = jv_invalid();

	for (int i = 0; i < LIMIT_PROVIDERS; i++)
		buf_addf(&text, &err, "provider \"a.b/c/d%d\" {\n version = \"1\"\n}\n", i);
	CHECK(lock_file_read(buf_str(&text), text.len, &locked, &err) == 0 && json_length(locked) == LIMIT_PROVIDERS);
	buf_addf(&text, &err, "provider \"a.b/c/e\" {\n version = \"1\"\n}\n");
	CHECK(lock_file_read(buf_str(&text), text.len, &none, &err) < 0);
	CHECK_STR(err.code, "lock_invalid");
}

/* The tokens of TEXT as letters: n name, s string, { }, . anything else, / a line; ! where it cannot be read. */
static const char *tokens(const char *text, char out[64])
{
	static const char letters[] = {[HCL_END] = '$',	 [HCL_NEWLINE] = '/', [HCL_NAME] = 'n', [HCL_STRING] = 's',
				       [HCL_OPEN] = '{', [HCL_CLOSE] = '}',   [HCL_OTHER] = '.'};
	struct hcl_lex lex;
	enum hcl_token token = HCL_OTHER;
	const char *at;
	size_t len, n = 0;

	hcl_begin(&lex, text, strlen(text));
	while (token != HCL_END && n < 62) {
		if (hcl_next(&lex, &token, &at, &len) < 0) {
			out[n++] = '!';
			break;
		}
		out[n++] = letters[token];
	}
	out[n] = '\0';
	return out;
}

static void test_tokens(void)
{
	char out[64];

	CHECK_STR(tokens("a \"b\" { c = 1.5e3 }", out), "ns{n..n}$");
	CHECK_STR(tokens("a = \"x\\\"y\" # \"\n\"b\"", out), "n.s/s$");
	CHECK_STR(tokens("a = \"${f(\"}\")}\" b", out), "n.sn$");
	CHECK_STR(tokens("a = \"%{ if x }${y}%{ endif }\"", out), "n.s$");
	CHECK_STR(tokens("a = \"$${\" b", out), "n.sn$");
	CHECK_STR(tokens("a = <<-EOT\n  } \"\n  EOT\nb", out), "n../n$");
	CHECK_STR(tokens("a = <<EOT\n${x}\nEOTX\n EOT \nb", out), "n../n$");
	CHECK_STR(tokens("a = <<EOT\n${\nEOT\n}\nEOT\nb", out), "n../n$");
	CHECK_STR(tokens("a << b", out), "n..n$");
	CHECK_STR(tokens("\xef\xbb\xbf" "a b", out), "nn$");
	CHECK_STR(tokens("a \xef\xbb\xbf" "b", out), "nn$");
	CHECK_STR(tokens("/* } */ a // }\n}", out), "n/}$");
	CHECK_STR(tokens("\"a", out), "!");
	CHECK_STR(tokens("\"a\nb\"", out), "!");
	CHECK_STR(tokens("\"${a\"", out), "!");
	CHECK_STR(tokens("/* a", out), "!");
	CHECK_STR(tokens("a = <<X\n", out), "n.!");
	CHECK_STR(tokens("\"${\"${\"${\"${1}\"}\"}\"}\"", out), "s$");
}

/* A line of a heredoc that is its mark only when more is white space than we trim is not read at all. */
static void test_marks(void)
{
	static const char *const doubtful[] = {"EOT\xc2\xa0", "EOT\xc2\x85", "\xe3\x80\x80" "EOT", " \vEOT", "EOT\f ",
					       "EOT\xe2\x80\xa8\r", "\xff" "EOT", "EOT\x7f"};
	static const char *const texts[] = {"\xc2\xa0", "EOTX", "x EOT", "EOT x\xc2\xa0", "EOT.", "-EOT", "\xc2\xa0" "EO"};
	char text[64], out[64];

	for (size_t i = 0; i < ARRAY_LEN(doubtful); i++) {
		snprintf(text, sizeof text, "a = <<EOT\n%s\nEOT\nb", doubtful[i]);
		CHECK_STR(tokens(text, out), "n.!");
	}
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		snprintf(text, sizeof text, "a = <<EOT\n%s\nEOT\nb", texts[i]);
		CHECK_STR(tokens(text, out), "n../n$");
	}
	CHECK_STR(tokens("a = <<\xc3\xa9\n\xc3\xa9\xc3\xa9x\n\xc2\xa0\n\xc3\xa9\nb", out), "n../n$");
	CHECK_STR(tokens("a = <<\xc3\xa9\n\xc3\xa9\xc2\xa0\n\xc3\xa9\nb", out), "n.!");
}

/* A line as long as a file may be, of bytes that may be blank and may be the mark, is looked through once: once for each
 * of its bytes would be minutes. */
static void test_long_line(void)
{
	static const char begin[] = "a = <<\xc3\xa9\n", end[] = "x\n\xc3\xa9\nb";
	static char text[1 << 20];
	char out[64];
	size_t len = sizeof begin - 1;

	memcpy(text, begin, len);
	for (; len + 2 + sizeof end <= sizeof text; len += 2)
		memcpy(text + len, "\xc3\xa9", 2);
	memcpy(text + len, end, sizeof end);
	CHECK_STR(tokens(text, out), "n../n$");
}

/* Templates nest as deep as the limit, and no deeper: the reader recurses. */
static void test_depth(void)
{
	auto_buf text = BUF_INIT(1 << 16);
	struct sbx_error err = SBX_ERROR_INIT;
	char out[64];

	for (int depth = HCL_DEPTH; depth <= HCL_DEPTH + 1; depth++) {
		buf_reset(&text);
		for (int i = 0; i < depth; i++)
			buf_add_str(&text, "\"${", &err);
		for (int i = 0; i < depth; i++)
			buf_add_str(&text, "}\"", &err);
		CHECK_STR(tokens(buf_str(&text), out), depth <= HCL_DEPTH ? "s$" : "!");
	}
}

int main(void)
{
	test_written();
	test_forms();
	test_refused();
	test_count();
	test_tokens();
	test_marks();
	test_long_line();
	test_depth();
	return unit_done();
}
