/* What a configuration starts that no plan shows: found in every form that Terraform reads, and nothing else is. */
#include "unshown.h"

#include "files.h"

static const struct unshown_fetched *fetched; /* NULL: nothing was */

/* The places that are found for envs, a line each. */
static const char *found(void)
{
	static char all[4096];
	auto_jv places = jv_invalid();
	uint64_t size;
	size_t used = 0;

	auto_fd packed = packed_files(&size);
	all[0] = '\0';
	if (unshown_find(packed, size, "envs", fetched, &places, &err) < 0)
		return "failed";
	for (int i = 0; i < json_length(places); i++) {
		auto_jv text = json_at(places, i);
		used += (size_t)snprintf(all + used, sizeof all - used, "%s\n", json_text(text));
	}
	return all;
}

#define REMOVED "envs/main.tf: a provisioner in a removed block\n"
#define PROVIDER "envs/main.tf: a dynamic block in the settings of a provider\n"
#define TERRAFORM "envs/main.tf: a program in the settings of a backend or of terraform\n"
#define MODULE "envs/main.tf: a module that is not in the workspace\n"
#define UNREADABLE "envs/main.tf: a file that cannot be read\n"

static void test_native(void)
{
	static const struct {
		const char *text, *found;
	} cases[] = {
		{"removed {\n  from = a.b\n  lifecycle {\n    destroy = true\n  }\n  provisioner \"local-exec\" {\n    when = "
		 "destroy\n    command = \"x\"\n  }\n}\n",
		 REMOVED},
		{"removed { # {\n  from = a.b\n  /* } */ provisioner local-exec {}\n}\n", REMOVED},
		{"removed {\n  from = a.b\n  lifecycle {\n    destroy = true\n  }\n}\n", ""},
		/* Of a resource it stands in the plan. */
		{"resource \"a\" \"b\" {\n  provisioner \"local-exec\" {\n    command = \"x\"\n  }\n}\n", ""},
		{"locals {\n  removed = <<E\nremoved {\n provisioner \"x\" {}\n}\nE\n}\n", ""},
		{"provider \"kubernetes\" {\n  dynamic \"exec\" {\n    for_each = [1]\n    content {\n      command = \"./x\"\n"
		 "    }\n  }\n}\n",
		 PROVIDER},
		{"provider \"helm\" {\n  dynamic \"kubernetes\" {\n    for_each = [1]\n    content {\n      exec {\n        a = 1\n"
		 "      }\n    }\n  }\n}\n",
		 PROVIDER},
		{"provider \"k\" {\n  dynamic \"\\u0065xec\" {\n  }\n}\n", PROVIDER},
		{"provider \"aws\" {\n  dynamic \"assume_role\" {\n    for_each = [1]\n    content {\n      role_arn = \"a\"\n    }\n"
		 "  }\n}\n",
		 ""},
		/* What stands in the plan is for sbx-plan. */
		{"provider \"k\" {\n  dynamic \"a\" {\n    for_each = {}\n  }\n  exec {\n    command = \"./x\"\n  }\n}\n", ""},
		{"terraform {\n  backend \"kubernetes\" {\n    exec {\n      command = \"./x\"\n    }\n  }\n}\n", TERRAFORM},
		{"terraform {\n  backend \"kubernetes\" {\n    config_path = \"kubeconfig\"\n  }\n}\n", TERRAFORM},
		{"terraform {\n  backend \"kubernetes\" {\n    config_path = \"/run/sbx/cred/0\"\n  }\n}\n", ""},
		{"terraform {\n  backend \"s3\" {\n    shared_config_files = [\"aws.cfg\"]\n  }\n}\n", TERRAFORM},
		{"terraform {\n  backend \"s3\" {\n    shared_credentials_files = [\"aws.creds\"]\n  }\n}\n", TERRAFORM},
		{"terraform {\n  encryption {\n    key_provider \"external\" \"x\" {\n      command = [\"./x\"]\n    }\n  }\n}\n", TERRAFORM},
		{"terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"x\" {\n      passphrase = var.p\n    }\n  }\n}\n", ""},
		{"terraform {\n  encryption {\n    key_provider \"external\" \"a\" {\n      command = [\"./x\"]\n    }\n  }\n}\n",
		 TERRAFORM},
		{"terraform {\n  required_version = \">= 1.0\"\n  required_providers {\n    shell = { source = \"a/shell\" }\n  }\n"
		 "  backend \"kubernetes\" {\n    secret_suffix = \"a\"\n  }\n}\n",
		 ""},
		{"terraform {\n  required_providers {\n    a = {\n      source = \"a/b\"\n    }\n  }\n  backend \"s3\" {\n"
		 "    shared_config_files = [\"x\"]\n  }\n}\n",
		 TERRAFORM},
		{"module \"m\" {\n  source = \"/work/m\"\n}\n", MODULE},
		{"module \"m\" {\n  source = \"../../m\"\n}\n", MODULE},
		{"module \"m\" {\n  source = \"./${var.m}\"\n}\n", MODULE},
		{"module \"m\" {\n  source = var.m\n}\n", MODULE},
		{"module \"m\" {\n  source = \"./m\\u0061\"\n}\n", MODULE},
		{"module \"m\" {\n  source = \"a/b/c\"\n  version = \"1\"\n}\n", MODULE},
		{"module \"m\" {\n  x = 1\n}\n", MODULE},
		{"removed {\n  from = \"x\n", UNREADABLE},
		{"}\n", UNREADABLE},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		printf("# %s\n", cases[i].found);
		put("envs/main.tf", cases[i].text);
		CHECK_STR(found(), cases[i].found);
	}
	gone("envs/main.tf");
}

static void test_json(void)
{
	static const struct {
		const char *text, *found;
	} cases[] = {
		{"{\"removed\":{\"from\":\"a.b\",\"provisioner\":{\"local-exec\":{\"command\":\"x\"}}}}",
		 "envs/a.tf.json: a provisioner in a removed block\n"},
		{"[{\"removed\":[{\"from\":\"a.b\",\"provisio\\u006eer\":[{\"local-exec\":{}}]}]}]",
		 "envs/a.tf.json: a provisioner in a removed block\n"},
		{"{\"removed\":{\"from\":\"a.b\",\"lifecycle\":{\"destroy\":true}}}", ""},
		{"{\"provider\":{\"k\":[{\"dynamic\":{\"exec\":{\"for_each\":[1],\"content\":{}}}}]}}",
		 "envs/a.tf.json: a dynamic block in the settings of a provider\n"},
		{"{\"provider\":{\"k\":{\"exec\":{\"command\":\"x\"},\"dynamic\":{\"assume_role\":{\"content\":{}}}}}}", ""},
		{"{\"terraform\":{\"backend\":{\"kubernetes\":{\"exec\":{\"command\":\"x\"}}}}}",
		 "envs/a.tf.json: a program in the settings of a backend or of terraform\n"},
		{"[{\"terraform\":[[{\"backend\":[{\"kubernetes\":[{\"exec\":{\"command\":\"x\"}}]}]}]]}]",
		 "envs/a.tf.json: a program in the settings of a backend or of terraform\n"},
		{"{\"terraform\":{\"required_providers\":{\"shell\":{\"source\":\"a/b\"}},\"backend\":{\"s3\":{\"bucket\":\"b\"}}}}", ""},
		{"{\"module\":{\"m\":{\"source\":\"git::file:///m\"}}}", "envs/a.tf.json: a module that is not in the workspace\n"},
		{"{\"removed\":{},\"removed\":{\"provisioner\":{}}}", "envs/a.tf.json: a file that cannot be read\n"},
		{"{", "envs/a.tf.json: a file that cannot be read\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		printf("# %s\n", cases[i].text);
		put("envs/a.tf.json", cases[i].text);
		CHECK_STR(found(), cases[i].found);
	}
	gone("envs/a.tf.json");
}

static const char removed[] = "removed {\n  from = a.b\n  provisioner \"local-exec\" {}\n}\n";

/* What was fetched is looked at in whole, and then a module from elsewhere is no unknown one. */
static void test_fetched(void)
{
	struct unshown_fetched all = {.fd = io_memfd("modules", &err), .dirs = jv_array()};
	char sha256[DIGEST_HEX_SIZE];

	make_dir("fetched");
	make_dir("fetched/net");
	make_dir("fetched/app");
	put("fetched/net/main.tf", "module \"up\" {\n  source = \"../../m\"\n}\nmodule \"far\" {\n  source = \"a/b/c\"\n}\n");
	put("fetched/app/main.tf", removed);
	auto_fd dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC), modules = openat(dir, "fetched", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(tree_pack(modules, all.fd, sha256, &all.size, &err) == 0);
	put("envs/main.tf", "module \"m\" {\n  source = \"a/b/c\"\n}\n");
	CHECK_STR(found(), MODULE);
	fetched = &all;
	all.dirs = json_append(all.dirs, jv_string("net"));
	CHECK_STR(found(), "");
	all.dirs = json_append(all.dirs, jv_string("app"));
	CHECK_STR(found(), ".terraform/modules/app/main.tf: a provisioner in a removed block\n");
	all.dirs = json_append(all.dirs, jv_string("none"));
	CHECK_STR(found(), ".terraform/modules/app/main.tf: a provisioner in a removed block\n"
			   ".terraform/modules/none/: a module that is not in the workspace\n");
	put("envs/main.tf", "module \"m\" {\n  source = var.m\n}\n");
	CHECK(strstr(found(), MODULE) != NULL);
	fetched = NULL;
	jv_free(all.dirs);
	base_close_fd(&all.fd);
	gone("envs/main.tf");
	gone("fetched/net/main.tf");
	gone("fetched/app/main.tf");
}

/* Modules are followed as far as they go, each once; directories that nothing calls are not looked at. */
static void test_modules(void)
{
	char target[256];

	make_dir("m");
	make_dir("m/n");
	make_dir("other");
	put("other/main.tf", removed);
	put("m/n/main.tf", removed);
	put("m/main.tf", "module \"n\" {\n  source = \"./n\"\n}\nmodule \"back\" {\n  source = \"../envs\"\n}\n");
	put("envs/main.tf", "module \"a\" {\n  source = \"../m\"\n}\nmodule \"b\" {\n  source = \"./.././m/\"\n}\n");
	CHECK_STR(found(), "m/n/main.tf: a provisioner in a removed block\n");
	gone("m/n/main.tf");
	put("m/n/main.tf", "");
	CHECK_STR(found(), "");
	/* A symlink to a module is one that cannot be read; so is a symlink to a file. */
	snprintf(target, sizeof target, "%s/link", place);
	CHECK(symlink("other", target) == 0);
	put("envs/main.tf", "module \"a\" {\n  source = \"../link\"\n}\n");
	CHECK_STR(found(), "link/: a module that is not in the workspace\n");
	snprintf(target, sizeof target, "%s/envs/b.tf", place);
	put("envs/main.tf", "");
	CHECK(symlink("../other/main.tf", target) == 0);
	CHECK_STR(found(), "envs/b.tf: a file that cannot be read\n");
	gone("envs/b.tf");
	gone("link");
	put("envs/.hidden.tf", removed);
	put("envs/note.txt", removed);
	CHECK_STR(found(), "");
	/* OpenTofu's. */
	put("envs/c.tofu", removed);
	CHECK_STR(found(), "envs/c.tofu: a provisioner in a removed block\n");
}

static void test_many(void)
{
	char name[32];
	unsigned lines = 0;

	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof name, "envs/x%d.tf", i);
		put(name, removed);
	}
	for (const char *at = found(); (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	CHECK(lines == UNSHOWN_PLACES + 1);
	CHECK(strstr(found(), "\nmore places, which are not shown\n") != NULL);
}

int main(void)
{
	CHECK(mkdtemp(place) != NULL);
	make_dir("envs");
	test_native();
	test_json();
	test_fetched();
	test_modules();
	test_many();
	CHECK(io_remove_tree(AT_FDCWD, place, &err) == 0);
	return unit_done();
}
