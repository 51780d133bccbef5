/* Every tool of a policy (the directory FUZZ_POLICY, or that of this tree) with parameters made of good values and of
 * what an injection is made of. Whatever is decided: the arguments of each step are those that its file names, one for
 * each, and a value stands in its own place alone. It adds no argument and no option, names no second object and no
 * file outside, brings no control character, and changes neither program nor environment. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limit.h"
#include "policy.h"

/* What a value may be made of. */
static const char *const fragments[] = {
	"-",
	"--",
	"-A",
	"--all",
	"--server=https://203.0.113.1:6443",
	"--kubeconfig=x",
	"-o=yaml",
	" -A",
	"\n-A",
	"\t",
	"\r\n",
	",",
	",secrets",
	"/",
	"secrets/db",
	"../",
	"/etc/shadow",
	"..",
	"./",
	"=",
	"\"",
	"'",
	"`id`",
	"$(id)",
	";id",
	"|id",
	"&",
	"*",
	"{",
	"}",
	"{target}",
	"{{",
	"\\",
	"\x1b[2J",
	"\xe2\x80\xae",
	"\xff",
	"%2f",
	"%00",
	"@",
	"#",
	"!",
	"(",
	")",
	" ",
	"x",
	"0",
	"-1",
	"99999999999999999999",
	"true",
	"secrets",
	"Secrets.v1.",
	"kube-system",
	"a.b-c.d0",
	"delete-me",
	"",
};
/* Values that parameters of patterns take. */
static const char *const samples[] = {
	"app=web",
	"app in (api,web),tier!=cache",
	"type=Warning",
	"status.phase!=Running,type=Normal",
	"1h",
	"30s",
	"sha256:abcd",
	"region=eu-west-1",
	"module.web.aws_instance.n[\"eu-west-1\"]",
	"terraform_data.a",
	"two words",
};

struct source {
	const uint8_t *data;
	size_t left;
};

static unsigned next(struct source *s)
{
	if (s->left == 0)
		return 0;
	s->left--;
	return *s->data++;
}

static const char *pick(struct source *s, const char *const *list, size_t count)
{
	return list[next(s) % count];
}

struct tools {
	struct policy policy;
	jv names, first; /* keys; by name, what the first decision said that no value may change */
	unsigned long calls, allowed;
};

static struct tools all;

static void at_end(void)
{
	/* Were nothing ever allowed, nothing would have been looked at. */
	if (all.calls > 2000 && all.allowed * 50 < all.calls) {
		fprintf(stderr, "of %lu calls %lu were allowed\n", all.calls, all.allowed);
		_exit(1);
	}
}

static void load(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	const char *dir = getenv("FUZZ_POLICY");

	if (policy_load(dir != NULL ? dir : FUZZ_POLICY, &all.policy, &err) < 0 ||
	    policy_load_tools(&all.policy, POLICY_FILES, &err) < 0) {
		fprintf(stderr, "%s: %s\n", err.code, err.message);
		abort();
	}
	all.names = jv_keys(jv_copy(all.policy.tools));
	all.first = jv_object();
	atexit(at_end);
}

/* A value that the declaration may well accept. */
static void put_good(struct source *s, jv declaration, struct buf *out)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv words = json_array(declaration, "enum"), spaces = json_array(all.policy.root, "namespaces");
	auto_jv word =
		json_length(words) > 0 ? json_at(words, (int)(next(s) % (unsigned)json_length(words))) : jv_invalid();
	auto_jv space = json_at(spaces, 0);
	const char *type = json_str(declaration, "type"), *good = "web-0";
	int64_t min = 1;

	json_int(declaration, "min", &min);
	if (jv_is_valid(word))
		good = json_text(word);
	else if (strcmp(type, "string") == 0)
		good = pick(s, samples, ARRAY_LEN(samples));
	else if (strcmp(type, "boolean") == 0)
		good = next(s) % 2 == 0 ? "true" : "false";
	else if (strcmp(type, "directory") == 0)
		good = "envs/staging";
	else if (strcmp(type, "file") == 0)
		good = "web/api.yaml";
	else if (strcmp(type, "target") == 0)
		good = "dev";
	else if (strcmp(type, "namespace") == 0)
		good = json_text(space);
	if (strcmp(type, "integer") == 0)
		buf_addf(out, &err, "%lld", (long long)min + next(s) % 3);
	else
		buf_add_str(out, good, &err);
}

static jv make_value(struct source *s, jv declaration)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf value = BUF_INIT(1 << 16);

	switch (next(s) % 8) {
	case 0:
		for (unsigned n = next(s) % 4; n > 0; n--)
			buf_add_str(&value, pick(s, fragments, ARRAY_LEN(fragments)), &err);
		break;
	case 1:
		put_good(s, declaration, &value);
		buf_add_str(&value, pick(s, fragments, ARRAY_LEN(fragments)), &err);
		break;
	case 2:
		buf_add_str(&value, pick(s, fragments, ARRAY_LEN(fragments)), &err);
		put_good(s, declaration, &value);
		break;
	case 3: { /* any bytes, with NUL too */
		size_t len = next(s);
		len = len < s->left ? len : s->left;
		buf_add(&value, s->data, len, &err);
		s->data += len;
		s->left -= len;
		break;
	}
	default:
		put_good(s, declaration, &value);
	}
	return jv_string_sized(buf_str(&value), (int)value.len);
}

static jv make_params(struct source *s, jv declarations)
{
	auto_jv names = jv_keys(jv_copy(declarations));
	jv params = jv_object();

	for (int i = 0, n = json_length(names); i < n; i++) {
		auto_jv name = json_at(names, i), declaration = json_get(declarations, json_text(name));
		if (next(s) % 8 != 0 && (json_bool(declaration, "optional") != 1 || next(s) % 2 == 0))
			params = json_set(params, json_text(name), make_value(s, declaration));
	}
	return params;
}

static int any_path(void *context, const char *workspace, const char *tree, const char *path, enum policy_path kind,
		    struct sbx_error *err)
{
	(void)context, (void)workspace, (void)tree, (void)path, (void)kind, (void)err;
	return 1;
}

static int no_plan(void *context, const char *id, jv *seal, char seal_sha256[65], struct sbx_error *err)
{
	(void)context, (void)id, (void)seal, (void)seal_sha256;
	return sbx_fail(err, SBX_DENIED, "plan_unknown", "there is no plan of this id");
}

static int no_taint(void *context, const char *principal, jv *last, struct sbx_error *err)
{
	(void)context, (void)principal, (void)err;
	*last = jv_null();
	return 0;
}

/* The text of a value as it stands in an argument. */
static void put_value(jv value, struct buf *out)
{
	struct sbx_error err = SBX_ERROR_INIT;

	if (jv_get_kind(value) == JV_KIND_STRING)
		buf_add(out, jv_string_value(value), (size_t)jv_string_length_bytes(jv_copy(value)), &err);
	else if (jv_get_kind(value) == JV_KIND_NUMBER)
		buf_addf(out, &err, "%.0f", jv_number_value(value));
	else
		buf_add_str(out, jv_get_kind(value) == JV_KIND_TRUE ? "true" : "false", &err);
}

/* TEMPLATE with the parameters put in: once more, by other code than the policy's. *ALONE: it is one parameter and
 * nothing else. */
static void render(const char *template, jv params, struct buf *out, int *alone)
{
	struct sbx_error err = SBX_ERROR_INIT;
	const char *p = template;

	*alone = 0;
	while (*p != '\0') {
		if ((*p == '{' || *p == '}') && p[1] == *p) {
			buf_add(out, p, 1, &err);
			p += 2;
		} else if (*p == '{') {
			size_t len = strcspn(p + 1, "}");
			auto_free char *name = strndup(p + 1, len);
			auto_jv value = json_get(params, name);
			put_value(value, out);
			*alone = p == template && p[len + 2] == '\0';
			p += len + 2;
		} else {
			buf_add(out, p++, 1, &err);
		}
	}
}

/* Whether a value that is an argument by itself names what it should: no option, whatever program; for kubectl one
 * object of the kind that the file says; for any other no file elsewhere. */
static int is_one_name(const char *program, const char *text)
{
	if (text[0] == '-' || text[0] == '/' || text[0] == '.')
		return 0;
	return strcmp(program, "kubectl") != 0 || strpbrk(text, "/,= \"'`$;|&*\\") == NULL;
}

static void check_argument(jv argument, const char *program, const char *template, jv params)
{
	auto_buf expected = BUF_INIT(LIMIT_ARGUMENT);
	const char *text = jv_get_kind(argument) == JV_KIND_STRING ? jv_string_value(argument) : NULL;
	size_t len = text == NULL ? 0 : (size_t)jv_string_length_bytes(jv_copy(argument));
	int alone;

	render(template, params, &expected, &alone);
	if (text == NULL || len == 0 || len != expected.len || memcmp(text, buf_str(&expected), len) != 0)
		abort();
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			abort();
	if (alone && !is_one_name(program, text))
		abort();
	/* What the file begins an argument with, it begins with: an option stays this option. */
	if (template[0] != '{' && text[0] != template[0])
		abort();
}

static int is_given(jv params, const char *name)
{
	auto_jv value = json_get(params, name);

	return jv_is_valid(value) && jv_get_kind(value) != JV_KIND_FALSE;
}

/* The slots of a step as the file has them, flat: those whose guard does not hold are left out. */
static jv flatten(jv argv, jv params)
{
	jv flat = jv_array();

	for (int i = 0, n = json_length(argv); i < n; i++) {
		auto_jv slot = json_at(argv, i), then = json_get(slot, "then");
		const char *guard = json_str(slot, "if");
		if (guard == NULL)
			flat = jv_array_append(flat, jv_copy(slot));
		else if (is_given(params, guard) && jv_get_kind(then) == JV_KIND_ARRAY)
			flat = jv_array_concat(flat, jv_copy(then));
		else if (is_given(params, guard))
			flat = jv_array_append(flat, jv_copy(then));
	}
	return flat;
}

static void check_step(jv declared, jv resolved, jv params)
{
	auto_jv template = jv_get_kind(declared) == JV_KIND_ARRAY ? jv_copy(declared) : json_array(declared, "argv");
	auto_jv flat = flatten(template, params), argv = json_array(resolved, "argv"), first = json_at(flat, 0);

	if (json_length(argv) != json_length(flat) || json_length(argv) < 1)
		abort();
	if (json_str(resolved, "program") == NULL || strcmp(json_str(resolved, "program"), json_text(first)) != 0)
		abort();
	for (int i = 0, n = json_length(argv); i < n; i++) {
		auto_jv argument = json_at(argv, i), slot = json_at(flat, i);
		if (json_text(slot) != NULL)
			check_argument(argument, json_text(first), json_text(slot), params);
		else if (!json_has(slot, "artifact") && !json_has(slot, "lock"))
			abort();
	}
}

/* 1 when a path is absolute, or a part of it is a step up. */
static int leaves_tree(const char *path)
{
	if (path[0] == '/')
		return 1;
	for (const char *part = path; part != NULL; part = strchr(part, '/')) {
		part += part[0] == '/';
		if (strcspn(part, "/") == 2 && strncmp(part, "..", 2) == 0)
			return 1;
	}
	return 0;
}

/* Values of the types directory and file lie in the workspace. */
static void check_paths(jv declarations, jv params)
{
	auto_jv names = jv_keys(jv_copy(params));

	for (int i = 0, n = json_length(names); i < n; i++) {
		auto_jv name = json_at(names, i), declaration = json_get(declarations, json_text(name)),
			value = json_get(params, json_text(name));
		if (strcmp(json_str(declaration, "type"), "directory") != 0 && strcmp(json_str(declaration, "type"), "file") != 0)
			continue;
		const char *path = json_text(value);
		if (path == NULL || path[0] == '-' || leaves_tree(path))
			abort();
	}
}

/* Programs, environment, limits and credentials are the tool's and no value's. */
static void check_constant(const char *tool, jv answer)
{
	static const char *const members[] = {"programs", "env", "limits", "egress", "driver"};
	auto_jv run = json_object(answer, "run"), before = json_get(all.first, tool);
	auto_jv now = json_set(jv_object(), "credentials", json_get(answer, "credentials"));

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		now = json_set(take_jv(&now), members[i], json_get(run, members[i]));
	if (!jv_is_valid(before))
		all.first = json_set(all.first, tool, jv_copy(now));
	else if (!jv_equal(jv_copy(before), jv_copy(now)))
		abort();
}

static void check_answer(const char *name, jv tool, jv declarations, const struct policy_answer *answer)
{
	auto_jv declared = json_array(tool, "steps"), run = json_object(answer->policy, "run"),
		steps = json_array(run, "steps");

	if (json_length(declared) != json_length(steps))
		abort();
	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(declared, i), resolved = json_at(steps, i);
		check_step(step, resolved, answer->params);
	}
	check_paths(declarations, answer->params);
	check_constant(name, answer->policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source s = {.data = data, .left = size};

	if (all.policy.files.file == NULL)
		load();
	while (s.left > 0) {
		struct sbx_error err = SBX_ERROR_INIT;
		auto_jv name = json_at(all.names, (int)(next(&s) % (unsigned)json_length(all.names)));
		auto_jv tool = json_get(all.policy.tools, json_text(name)), declarations = json_object(tool, "params");
		auto_jv params = make_params(&s, jv_is_valid(declarations) ? declarations : tool);
		auto_jv targets = json_set(jv_object(), "dev", jv_object()),
			spaces = json_set(jv_object(), "", jv_object());
		auto_answer answer = {.denial = SBX_ERROR_INIT};
		const struct policy_world world = {.path = any_path,
						   .plan = no_plan,
						   .taint = no_taint,
						   .workspaces = spaces,
						   .targets = targets,
						   .driver = "local",
						   .provider = "jwt",
						   .installation = "i"};
		const struct policy_question question = {
			.tool = json_text(name), .params = params, .typing = POLICY_WORDS, .principal = "agent"};
		all.calls++;
		if (policy_decide(&all.policy, &world, &question, &answer, &err) < 0)
			abort();
		if (answer.denial.class == SBX_OK) {
			all.allowed++;
			check_answer(json_text(name), tool, declarations, &answer);
		}
	}
	return 0;
}
