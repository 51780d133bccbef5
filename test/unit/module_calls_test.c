/* Which modules from elsewhere a directory calls, and what may be fetched: every form, and what could pass for one. */
#include "module_calls.h"

#include "fetch_list.h"
#include "limit.h"
#include "files.h"

/* "KEY SOURCE VERSION [ONLY]" of each call of a/b, or the code of the refusal. */
static const char *calls(void)
{
	static char all[4096];
	auto_jv found = jv_invalid();
	uint64_t size;
	size_t used = 0;

	sbx_error_clear(&err);
	auto_fd packed = packed_files(&size);
	if (module_calls(packed, size, "a/b", &found, &err) < 0)
		return err.code;
	all[0] = '\0';
	for (int i = 0; i < json_length(found); i++) {
		auto_jv call = json_at(found, i);
		const char *version = json_str(call, "version");
		const char *only = json_str(call, "only");
		used += (size_t)snprintf(all + used, sizeof all - used, "%s %s %s%s%s\n", json_str(call, "key"), json_str(call, "source"),
					 version != NULL ? version : "-", only != NULL ? " " : "", only != NULL ? only : "");
	}
	return all;
}

static void test_forms(void)
{
	static const struct {
		const char *file, *text, *calls;
	} cases[] = {
		{"a/b/m.tf", "module \"net\" {\n  source = \"x/y/z\"\n  version = \"~> 1.0\"\n}\n", "net x/y/z ~> 1.0\n"},
		{"a/b/m.tf", "module net {\n version=\"1\"\n source=\"x/y/z\" # why\n other = { source = \"no\" }\n}\n", "net x/y/z 1\n"},
		{"a/b/m.tf", "module \"net\" { source = \"x/y/z\" }\n", "net x/y/z -\n"},
		{"a/b/m.tf", "module \"b\" {\n source = \"x/y/b\"\n}\nmodule \"a\" {\n source = \"x/y/a\"\n}\n", "a x/y/a -\nb x/y/b -\n"},
		{"a/b/m.tf", "module \"net\" {\n providers = {\n  source = x.y\n }\n source = \"x/y/z\"\n}\n", "net x/y/z -\n"},
		{"a/b/m.tf", "module \"net\" {\n x = <<E\nsource = \"no\"\nE\n source = \"x/y/z\"\n}\n", "net x/y/z -\n"},
		{"a/b/m.tf", "# module \"net\" {\n/* module \"x\" { source = \"no\" } */\nlocals {\n module = { source = \"no\" }\n}\n", ""},
		{"a/b/m.tf", "module \"net\" {\n source = var.x\n}\n", "module_unreadable"},
		{"a/b/m.tf", "module \"net\" {\n source = \"x/${var.y}/z\"\n}\n", "module_unreadable"},
		{"a/b/m.tf", "module \"net\" {\n source = \"x/y\\u002fz\"\n}\n", "module_unreadable"},
		{"a/b/m.tf", "module \"net\" {\n source = \"x/y/z\" == \"\" ? \"a\" : \"b\"\n}\n", "module_unreadable"},
		{"a/b/m.tf", "module \"net\" {\n source = \"../../../x\"\n}\n", "module_unreadable"},
		{"a/b/m.tf", "module \"n\\u0065t\" {\n source = \"x/y/z\"\n}\n", "module_unreadable"},
		{"a/b/m.tf", "module \"net\" {\n source = \"x/y/z\"\n", "module_unreadable"},
		{"a/b/m.tf.json", "{\"module\":{\"net\":{\"source\":\"x/y/z\",\"version\":\"1\"}}}", "net x/y/z 1\n"},
		{"a/b/m.tf.json", "[{\"module\":[{\"net\":[{\"source\":\"x/y/z\"}]}]},{\"output\":{}}]", "net x/y/z -\n"},
		{"a/b/m.tf.json", "{\"module\":{\"net\":{\"source\":\"x/${y}/z\"}}}", "module_unreadable"},
		{"a/b/m.tf.json", "{\"module\":{\"net\":{\"source\":[\"x/y/z\"]}}}", "module_unreadable"},
		{"a/b/m.tf.json", "{\"module\":{\"net\":{\"source\":\"x/y/z\"},\"net\":{\"source\":\"a/b/c\"}}}", "module_unreadable"},
		{"a/b/m.tf.json", "{\"module\":\"net\"}", "module_unreadable"},
		{"a/b/m.tf.json", "1", "module_unreadable"},
		{"a/b/m_override.tf", "module \"net\" {\n source = \"x/y/z\"\n}\n", "net x/y/z -\n"},
		{"a/b/m.tofu", "module \"net\" {\n source = \"x/y/z\"\n}\n", "net x/y/z - tofu\n"},
		{"a/b/m.tofu.json", "[{\"module\":{\"net\":{\"source\":\"x/y/z\"}}}]", "net x/y/z - tofu\n"},
		{"a/b/.m.tf", "module \"net\" {\n source = \"x/y/z\"\n}\n", ""},
		{"a/m.tf", "module \"net\" {\n source = \"x/y/z\"\n}\n", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		printf("# %s\n", cases[i].text);
		put(cases[i].file, cases[i].text);
		CHECK_STR(calls(), cases[i].calls);
		gone(cases[i].file);
	}
}

static void test_local(void)
{
	put("a/b/m.tf", "module \"one\" {\n source = \"../c\"\n}\nmodule \"two\" {\n source = \"./../c/.\"\n}\n");
	put("a/c/m.tf", "module \"far\" {\n source = \"x/y/z\"\n}\n");
	CHECK_STR(calls(), "one.far x/y/z -\ntwo.far x/y/z -\n");
	/* Without an end. */
	put("a/c/m.tf", "module \"again\" {\n source = \"../c\"\n}\n");
	CHECK_STR(calls(), "module_unreadable");
	gone("a/c/m.tf");
	CHECK_STR(calls(), "");
	gone("a/b/m.tf");
}

static void test_sources(void)
{
	static const struct {
		const char *source;
		enum module_kind kind;
		const char *place;
	} cases[] = {
		{"./x", MODULE_LOCAL, ""},
		{"../x", MODULE_LOCAL, ""},
		{"ns/name/aws", MODULE_REGISTRY, "ns/name/aws"},
		{"ns/name/aws//sub/dir", MODULE_REGISTRY, "ns/name/aws"},
		{"reg.example/ns/name/aws", MODULE_REGISTRY, "reg.example/ns/name/aws"},
		{"git::https://git.example/a/b.git?ref=v1", MODULE_GIT, "git::https://git.example/a/b.git"},
		{"git::https://git.example/a/b.git//sub?ref=v1&depth=1", MODULE_GIT, "git::https://git.example/a/b.git"},
		{"github.com/a/b", MODULE_GIT, "git::https://github.com/a/b.git"},
		{"github.com/a/b.git//sub?ref=v1", MODULE_GIT, "git::https://github.com/a/b.git"},
		{"https://files.example/a.zip?checksum=md5:00", MODULE_ARCHIVE, "https://files.example/a.zip"},
		{"https://files.example/a.zip//sub?archive=zip", MODULE_ARCHIVE, "https://files.example/a.zip"},
		{"git::https://git.example/a/../b.git", MODULE_OTHER, ""},
		{"git::https://git.example/a/%2e%2e/b.git", MODULE_OTHER, ""},
		{"git::https://git.example/a/./b.git", MODULE_OTHER, ""},
		{"git::https://user@git.example/a", MODULE_OTHER, ""},
		{"git::https://git.example@evil.example/a", MODULE_OTHER, ""},
		{"git::https://git.example:8443/a", MODULE_OTHER, ""},
		{"git::https://git.example", MODULE_OTHER, ""},
		{"git::https://git.example/a?sshkey=AAAA", MODULE_OTHER, ""},
		{"git::https://git.example/a?ref=--upload-pack", MODULE_OTHER, ""},
		{"git::https://git.example/a?ref=v1&", MODULE_OTHER, ""},
		{"git::https://git.example/a#x", MODULE_OTHER, ""},
		{"git::https://git.example/a\\b", MODULE_OTHER, ""},
		{"git::ssh://git@git.example/a", MODULE_OTHER, ""},
		{"git::http://git.example/a", MODULE_OTHER, ""},
		{"git::file:///a", MODULE_OTHER, ""},
		{"git::ext::sh -c id", MODULE_OTHER, ""},
		{"GIT::https://git.example/a", MODULE_OTHER, ""},
		{"git@github.com:a/b.git", MODULE_OTHER, ""},
		{"http://files.example/a.zip", MODULE_OTHER, ""},
		{"s3::https://s3.amazonaws.com/a/b.zip", MODULE_OTHER, ""},
		{"/work/x", MODULE_OTHER, ""},
		{"x", MODULE_OTHER, ""},
		{"", MODULE_OTHER, ""},
	};
	char at[MODULE_PLACE_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		printf("# %s\n", cases[i].source);
		CHECK(module_source(cases[i].source, at) == cases[i].kind);
		CHECK_STR(at, cases[i].place);
	}
}

static void test_same(void)
{
	CHECK(module_source_is_same("ns/vpc/aws", "registry.terraform.io/ns/vpc/aws"));
	CHECK(module_source_is_same("registry.opentofu.org/ns/vpc/aws", "ns/vpc/aws"));
	CHECK(module_source_is_same("github.com/a/b?ref=v1", "git::https://github.com/a/b.git?ref=v1"));
	CHECK(module_source_is_same("git::https://a.b/c.git?ref=v1", "git::https://a.b/c.git?ref=v1"));
	CHECK(!module_source_is_same("git::https://a.b/c.git?ref=v1", "git::https://a.b/c.git?ref=v2"));
	CHECK(!module_source_is_same("git::https://a.b/c.git?ref=v1", "git::https://a.b/c.git"));
	CHECK(!module_source_is_same("git::https://a.b/c.git", "git::https://a.b/d.git"));
	CHECK(!module_source_is_same("git::https://a.b/c.git", "https://a.b/c.git"));
	CHECK(!module_source_is_same("reg.example/ns/vpc/aws", "ns/vpc/aws"));
	CHECK(!module_source_is_same("ns/vpc/aws", "../vpc"));
}

/* Terraform follows symlinks to files and to directories, and goes on from where they lead. */
static void test_symlinks(void)
{
	static const char call[] = "module \"net\" {\n source = \"x/y/z\"\n}\n";

	put("a/c/shared.tf", call);
	make_link("a/b/m.tf", "../c/shared.tf");
	CHECK_STR(calls(), "net x/y/z -\n");
	gone("a/c/shared.tf");
	CHECK_STR(calls(), "module_unreadable");
	gone("a/b/m.tf");

	make_dir("a/c/deep");
	make_dir("a/beside");
	make_link("a/b/mods", "../c");
	put("a/b/m.tf", "module \"m\" {\n source = \"./mods/deep\"\n}\n");
	put("a/c/deep/m.tf", "module \"n\" {\n source = \"../../beside\"\n}\n");
	put("a/beside/m.tf", call);
	CHECK_STR(calls(), "m.n.net x/y/z -\n");
	gone("a/beside/m.tf");
	gone("a/c/deep/m.tf");
	CHECK_STR(calls(), "");
	gone("a/b/mods");
	gone("a/b/m.tf");
}

/* Terraform's names for them: test.tests.FILE.RUN. */
static void test_tests(void)
{
	make_dir("a/b/tests");
	make_dir("a/b/setup");
	put("a/b/tests/one.tftest.hcl", "variables {\n  module = \"no\"\n}\nrun \"plain\" {\n  command = plan\n  assert {\n    condition = true\n  }\n}\n"
					"run \"far\" {\n  module {\n    source  = \"x/y/z\"\n    version = \"1\"\n  }\n  variables { module = { source = \"no\" } }\n}\n");
	put("a/b/two.tftest.hcl", "run near {\n  module { source = \"./setup\" }\n}\nmodule \"no\" {\n  source = \"x/y/no\"\n}\n");
	put("a/b/setup/m.tf", "module \"net\" {\n  source = \"x/y/net\"\n}\n");
	put("a/b/tests/m.tf", "module \"no\" {\n  source = \"x/y/no\"\n}\n");
	CHECK_STR(calls(), "test.two.near.net x/y/net -\ntest.tests.one.far x/y/z 1\n");
	put("a/b/tests/one.tftest.hcl", "run \"far\" {\n  module {\n    source = var.x\n  }\n}\n");
	CHECK_STR(calls(), "module_unreadable");
	gone("a/b/tests/one.tftest.hcl");
	gone("a/b/two.tftest.hcl");
	CHECK_STR(calls(), "");
	put("a/b/j.tftest.json", "{\"run\":{\"far\":{\"module\":{\"source\":\"x/y/z\"}},\"plain\":{}},\"module\":{\"no\":{\"source\":\"x/y/no\"}}}");
	CHECK_STR(calls(), "test.j.tftest.json.far x/y/z -\n");
	put("a/b/j.tftest.json", "{\"run\":{\"far\":1}}");
	CHECK_STR(calls(), "module_unreadable");
	gone("a/b/j.tftest.json");
	gone("a/b/tests/m.tf");
	gone("a/b/setup/m.tf");
}

/* OpenTofu reads its own files, in place of Terraform's of the same name: what is called by either is seen, with who. */
static void test_tofu(void)
{
	put("a/b/m.tf", "module \"net\" {\n source = \"x/y/one\"\n}\nmodule \"near\" {\n source = \"../c\"\n}\n");
	put("a/c/n.tf", "module \"far\" {\n source = \"x/y/far\"\n}\n");
	CHECK_STR(calls(), "near.far x/y/far -\nnet x/y/one -\n");
	put("a/b/m.tofu", "module \"net\" {\n source = \"x/y/two\"\n}\n");
	CHECK_STR(calls(), "near.far x/y/far - terraform\nnet x/y/one - terraform\nnet x/y/two - tofu\n");
	/* Of what only Terraform comes to, OpenTofu's files are nobody's. */
	put("a/c/n.tofu", "module \"far\" {\n source = \"x/y/no\"\n}\n");
	CHECK_STR(calls(), "near.far x/y/far - terraform\nnet x/y/one - terraform\nnet x/y/two - tofu\n");
	/* Another name, another syntax: not in its place. */
	gone("a/b/m.tofu");
	gone("a/c/n.tofu");
	put("a/b/m.tofu.json", "{}");
	put("a/b/other.tofu", "");
	CHECK_STR(calls(), "near.far x/y/far -\nnet x/y/one -\n");
	gone("a/b/m.tofu.json");
	gone("a/b/other.tofu");
	gone("a/c/n.tf");
	gone("a/b/m.tf");
	/* Tests: the ending stays in OpenTofu's name for them. */
	put("a/b/one.tofutest.hcl", "run \"far\" {\n  module {\n    source = \"x/y/z\"\n  }\n}\n");
	put("a/b/tests/two.tofutest.json", "{\"run\":{\"far\":{\"module\":{\"source\":\"x/y/z\"}}}}");
	CHECK_STR(calls(), "test.one.tofutest.hcl.far x/y/z - tofu\ntest.tests.two.tofutest.json.far x/y/z - tofu\n");
	gone("a/b/tests/two.tofutest.json");
	put("a/b/one.tftest.hcl", "run \"far\" {\n  module {\n    source = \"x/y/z\"\n  }\n}\n");
	CHECK_STR(calls(), "test.one.far x/y/z - terraform\ntest.one.tofutest.hcl.far x/y/z - tofu\n");
	put("a/b/one.tofutest.hcl", "run \"far\" {\n  module {\n    source = var.x\n  }\n}\n");
	CHECK_STR(calls(), "module_unreadable");
	gone("a/b/one.tofutest.hcl");
	gone("a/b/one.tftest.hcl");
	CHECK_STR(calls(), "");
}

static jv list(const char *one, const char *other)
{
	return json_append(json_append(jv_array(), jv_string(one)), jv_string(other));
}

static void test_lists(void)
{
	auto_jv modules = list("git::https://git.example/infra/*", "registry.terraform.io/ns/*/aws");
	auto_jv providers = list("reg.example/acme/*", "registry.terraform.io/hashicorp/aws");
	auto_jv nothing = jv_invalid();

	CHECK(fetch_list_has_module(modules, "git::https://git.example/infra/net.git?ref=v1"));
	CHECK(fetch_list_has_module(modules, "ns/vpc/aws"));
	CHECK(fetch_list_has_module(modules, "registry.terraform.io/ns/vpc/aws//sub"));
	CHECK(!fetch_list_has_module(modules, "git::https://git.example/infra/a/b.git"));
	CHECK(!fetch_list_has_module(modules, "git::https://git.example/other/net.git"));
	CHECK(!fetch_list_has_module(modules, "git::https://git.example/infra/../other/net.git"));
	CHECK(!fetch_list_has_module(modules, "git::https://git.example.evil/infra/net.git"));
	CHECK(!fetch_list_has_module(modules, "https://git.example/infra/net.git"));
	CHECK(!fetch_list_has_module(modules, "ns/vpc/google"));
	CHECK(!fetch_list_has_module(modules, "other.example/ns/vpc/aws"));
	CHECK(!fetch_list_has_module(nothing, "ns/vpc/aws"));
	CHECK(fetch_list_has_provider(providers, "reg.example/acme/thing"));
	CHECK(fetch_list_has_provider(providers, "registry.terraform.io/hashicorp/aws"));
	CHECK(!fetch_list_has_provider(providers, "registry.terraform.io/hashicorp/awscc"));
	CHECK(!fetch_list_has_provider(providers, "reg.example/acme/thing/x"));
	CHECK(!fetch_list_has_provider(nothing, "reg.example/acme/thing"));
	CHECK(fetch_list_is_provider("a.b/c/*") && fetch_list_is_provider("a.b/*/*") && !fetch_list_is_provider("*/c/d"));
	CHECK(!fetch_list_is_provider("a.*/c/d") && !fetch_list_is_provider("a.b/c") && !fetch_list_is_provider("a.b/c/[de]"));
	CHECK(!fetch_list_is_provider("host/c/d") && !fetch_list_is_provider("a.b/c/d/e"));
	CHECK(fetch_list_is_module("git::https://a.b/*") && fetch_list_is_module("https://a.b/c/*.zip") && fetch_list_is_module("a.b/c/d/e"));
	CHECK(!fetch_list_is_module("git::https://*/c") && !fetch_list_is_module("git::ssh://a.b/c") && !fetch_list_is_module("c/d/e"));
	CHECK(!fetch_list_is_module("git::https://a.b/c?ref=*") && !fetch_list_is_module("git::https://a.b") && !fetch_list_is_module("*"));
}

int main(void)
{
	CHECK(mkdtemp(place) != NULL);
	make_dir("a");
	make_dir("a/b");
	make_dir("a/c");
	test_forms();
	test_local();
	test_sources();
	test_same();
	test_symlinks();
	test_tests();
	test_tofu();
	test_lists();
	CHECK(io_remove_tree(AT_FDCWD, place, &err) == 0);
	return unit_done();
}
