/* The backend of a configuration: found among everything else, with its settings, which hold no secret. */
#include "backend.h"

#include "files.h"

static jv parse(const char *text)
{
	jv value = jv_invalid();

	CHECK(json_parse(text, strlen(text), LIMIT_CALL, &value, &err) == 0);
	return value;
}

/* What backend_of says of the files below PLACE for a run in envs. */
static jv found(const char *run_text)
{
	auto_jv run = parse(run_text);
	jv backend = jv_invalid();
	uint64_t size;

	auto_fd packed = packed_files(&size);
	if (backend_of(run, packed, size, &backend, &err) < 0)
		return jv_invalid();
	return backend;
}

static const char plain_run[] = "{\"workspace\":{\"cwd\":\"envs\"},\"steps\":[],\"env\":{}}";

static void is_type(const char *type)
{
	auto_jv backend = found(plain_run);

	CHECK_STR(json_str(backend, "type"), type);
	CHECK(json_has(backend, "config_sha256") == (strcmp(type, "local") != 0 && strcmp(type, "unknown") != 0));
}

/* The digest of the settings of main.tf with TEXT. */
static void config_of(const char *text, char sha256[65])
{
	put("envs/main.tf", text);
	auto_jv backend = found(plain_run);
	CHECK(json_str(backend, "config_sha256") != NULL);
	snprintf(sha256, 65, "%s",
		 json_str(backend, "config_sha256") != NULL ? json_str(backend, "config_sha256") : "");
}

static void test_types(void)
{
	is_type("local");
	put("envs/main.tf", "resource \"x\" \"y\" {\n  backend \"s3\" {\n  }\n}\n# terraform { backend \"s3\" {} }\n"
		       "locals {\n  a = \"terraform { backend \\\"s3\\\" {} }\"\n  b = <<E\nterraform {\nbackend "
		       "\"s3\" {\n}\n}\nE\n}\n");
	is_type("local");
	put("envs/main.tf",
	    "terraform {\n  required_version = \">= 1.0\"\n  required_providers {\n    a = { source = \"a/b\" }\n  }\n"
	    "  backend \"s3\" {\n    bucket = \"b\"\n  }\n}\n");
	is_type("s3");
	put("envs/main.tf", "terraform {\n  cloud {\n    organization = \"o\"\n  }\n}\n");
	is_type("cloud");
	put("envs/main.tf", "terraform {\n  backend \"local\" {\n    path = \"elsewhere.tfstate\"\n  }\n}\n");
	auto_jv backend = found(plain_run);
	CHECK_STR(json_str(backend, "type"), "local");
	CHECK(json_has(backend, "config_sha256"));
	/* Another directory's, a hidden file's, a file of another kind: not this one's. */
	gone("envs/main.tf");
	make_dir("envs/sub");
	put("envs/sub/main.tf", "terraform {\n backend \"s3\" {}\n}\n");
	put("envs/.hidden.tf", "terraform {\n backend \"s3\" {}\n}\n");
	put("envs/note.txt", "terraform {\n backend \"s3\" {}\n}\n");
	is_type("local");
}

/* Terraform passes over a byte order mark, in an override too. */
static void test_byte_order_mark(void)
{
	put("envs/main.tf", "\xef\xbb\xbfterraform {\n  backend \"s3\" {}\n}\n");
	is_type("s3");
	put("envs/a_override.tf", "\xef\xbb\xbfterraform {\n  backend \"gcs\" {}\n}\n");
	is_type("gcs");
	gone("envs/a_override.tf");
	gone("envs/main.tf");
}

/* The first heredoc ends at its first line for Terraform, which sees the block behind it, and that block's own heredoc
 * hides it from a reader for whom the first one goes on. Behind other text the same blanks end nothing. */
static void test_heredocs(void)
{
	static const char *const blanks[] = {"\xc2\xa0", "\xe3\x80\x80", "\v", "\f"};
	char text[256];

	for (size_t i = 0; i < ARRAY_LEN(blanks); i++) {
		snprintf(text, sizeof text,
			 "locals {\n  a = <<E\nE%s\n}\nterraform {\n  backend \"s3\" {}\n}\nlocals {\n  b = <<E\nE\n}\n",
			 blanks[i]);
		put("envs/main.tf", text);
		is_type("unknown");
		snprintf(text, sizeof text,
			 "locals {\n  a = <<E\nx%s\nE\n}\nterraform {\n  backend \"s3\" {}\n}\nlocals {\n  b = <<E\nE\n}\n",
			 blanks[i]);
		put("envs/main.tf", text);
		is_type("s3");
	}
	gone("envs/main.tf");
}

static void test_unreadable(void)
{
	static const char *const texts[] = {
		"terraform {\n backend \"s3\" {\n",
		"terraform {\n backend \"s3\" {}\n}\nx = \"",
		"terraform {\n backend {}\n}\n",
		"terraform {\n backend \"s3\" {}\n}\nterraform {\n backend \"gcs\" {}\n}\n",
		"terraform {\n backend = {}\n}\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		put("envs/main.tf", texts[i]);
		auto_jv backend = found(plain_run);
		CHECK_STR(json_str(backend, "type"), "unknown");
	}
	gone("envs/main.tf");
	make_link("envs/main.tf", "nowhere");
	auto_jv backend = found(plain_run);
	CHECK_STR(json_str(backend, "type"), "unknown");
	put("shared", "terraform {\n backend \"s3\" {}\n}\n");
	gone("envs/main.tf");
	make_link("envs/main.tf", "../shared");
	is_type("s3");
	gone("envs/main.tf");
	gone("shared");
}

/* What it says counts, however it is laid out. */
static void test_settings(void)
{
	char one[65], two[65];

	config_of("terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    secret_key = null\n  }\n}\n", one);
	config_of("terraform {\n  # which\n  backend \"s3\" {\n\n    bucket  =  \"b\" // x\n    key = \"k\"\n    secret_key = \"\"\n}\n}\n",
		  two);
	CHECK_STR(two, one);
	config_of("terraform {\n  backend \"s3\" {\n    bucket = \"c\"\n    key = \"k\"\n    secret_key = null\n  }\n}\n", two);
	CHECK(strcmp(one, two) != 0);
	config_of("terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"l\"\n    secret_key = null\n  }\n}\n", two);
	CHECK(strcmp(one, two) != 0);
	config_of("terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n  }\n}\n", two);
	CHECK(strcmp(one, two) != 0);
	config_of("terraform {\n  backend \"s3\" {\n    a = { token = null, b = 1 }\n  }\n}\n", one);
	config_of("terraform {\n  backend \"s3\" {\n    a = { token = \"\", b = 1 }\n  }\n}\n", two);
	CHECK_STR(two, one);
	config_of("terraform {\n  backend \"s3\" {\n    a = { token = null, b = 2 }\n  }\n}\n", two);
	CHECK(strcmp(one, two) != 0);
	gone("envs/main.tf");
}

/* Whatever takes a state to another place, or another identity to it, makes it another backend. */
static void test_every_setting(void)
{
	static const char *const more[] = {
		"profile = \"other\"",
		"shared_config_files = [\"aws.cfg\"]",
		"shared_credentials_files = [\"aws.creds\"]",
		"assume_role = {\n role_arn = \"arn:aws:iam::1:role/other\"\n}",
		"assume_role {\n role_arn = \"arn:aws:iam::1:role/other\"\n}",
		"assume_role_with_web_identity = {\n web_identity_token_file = \"jwt\"\n}",
		"endpoints = { s3 = \"http://127.0.0.1:1\" }",
		"endpoints = { sts = \"http://127.0.0.1:1\" }",
		"sts_region = \"eu-west-1\"",
		"custom_ca_bundle = \"ca.pem\"",
		"ec2_metadata_service_endpoint = \"http://127.0.0.1:1\"",
		"http_proxy = \"http://127.0.0.1:1\"",
		"insecure = true",
		"config_path = \"kubeconfig\"",
		"config_context = \"other\"",
		"host = \"https://127.0.0.1:1\"",
		"exec {\n command = \"./x\"\n}",
		"client_certificate = \"c\"",
		"client_ca_certificate_pem = \"c\"",
		"skip_cert_verification = true",
		"lock_address = \"http://127.0.0.1:1\"",
		"workspace_key_prefix = \"x\"",
	};
	static const char plain[] = "terraform {\n backend \"s3\" {\n bucket = \"b\"\n }\n}\n";
	char text[512], one[65], two[65];

	config_of(plain, one);
	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		snprintf(text, sizeof text, "terraform {\n backend \"s3\" {\n bucket = \"b\"\n %s\n }\n}\n", more[i]);
		config_of(text, two);
		printf("# %s\n", more[i]);
		CHECK(strcmp(one, two) != 0);
	}
	/* From another file, too; what Terraform reads for no backend changes nothing. */
	static const char *const overrides[] = {"override.tf.json", "backend_override.tf.json", "override.tofu.json"};
	config_of(plain, one);
	for (size_t i = 0; i < ARRAY_LEN(overrides); i++) {
		snprintf(text, sizeof text, "envs/%s", overrides[i]);
		put(text, "{\"terraform\":{\"backend\":{\"s3\":{\"bucket\":\"other\"}}}}");
		config_of(plain, two);
		CHECK(strcmp(one, two) != 0);
		gone(text);
	}
	static const char *const others[] = {"x.tfbackend", "terraform.tfvars", "x.auto.tfvars", ".terraformrc", "terraform.rc", "backend.hcl"};
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		snprintf(text, sizeof text, "envs/%s", others[i]);
		put(text, "terraform {\n backend \"http\" {\n password = \"p\"\n }\n}\nbucket = \"other\"\npassword = \"p\"\n");
		config_of(plain, two);
		CHECK_STR(two, one);
		gone(text);
	}
	gone("envs/main.tf");
}

/* The plan file would have it. The path of a file is none, and a block that an override replaces counts for nothing. */
static void test_secrets(void)
{
	static const struct {
		const char *file, *text;
		int is_secret;
	} blocks[] = {
		{"main.tf", "backend \"http\" {\n username = \"u\"\n password = \"p\"\n}", 1},
		{"main.tf", "backend \"http\" {\n address = \"https://u:p@h.example/x\"\n}", 1},
		{"main.tf", "backend \"http\" {\n address = \"https://h.example/u:p@x\"\n username = \"u\"\n}", 0},
		{"main.tf", "backend \"http\" {\n client_private_key_pem = <<E\nx\nE\n}", 1},
		{"main.tf", "backend \"s3\" {\n assume_role = { token = \"t\" }\n}", 1},
		{"main.tf", "backend \"s3\" {\n secret_key = var.key\n}", 1},
		{"main.tf", "backend \"s3\" {\n \"secret_key\" = \"k\"\n}", 1},
		{"main.tf", "backend \"s3\" {\n shared_credentials_files = [\"/run/sbx/cred/0\"]\n profile = \"password\"\n}", 0},
		{"main.tf", "backend \"kubernetes\" {\n token = \"t\"\n}", 1},
		{"main.tf", "backend \"kubernetes\" {\n config_path = \"/run/sbx/cred/0\"\n token = null\n}", 0},
		{"main.tf", "backend \"gcs\" {\n credentials = \"{}\"\n}", 1},
		{"main.tf", "backend \"gcs\" {\n credentials = \"account.json\"\n}", 0},
		{"main.tf", "backend \"gcs\" {\n access_token = \"/run/sbx/cred/12\"\n}", 0},
		{"main.tf", "backend \"s3\" {\n sse_customer_key = \"k\"\n}", 1},
		{"main.tf", "backend \"s3\" {\n a = { \"web_identity_token\" : \"t\" }\n}", 1},
		/* A name that nobody can read may be any. */
		{"main.tf", "backend \"s3\" {\n a = { \"web_identity_\\u0074oken\" = \"t\" }\n}", 1},
		{"main.tf", "backend \"s3\" {\n a = { \"${\"token\"}\" = \"t\" }\n}", 1},
		{"main.tf", "backend \"s3\" {\n a = { (\"token\") = \"t\" }\n}", 1},
		{"main.tf", "backend \"s3\" {\n a = { for k in [\"token\"] : k => \"t\" }\n}", 1},
		{"main.tf", "backend \"s3\" {\n a = { \"role_arn\" = \"t\\\\${\"x\"}\" }\n b = [\n \"a\\\\b\",\n \"c\"\n]\n}", 0},
		{"main.tf.json", "{\"backend\":{\"s3\":{\"a\":{\"${\\\"token\\\"}\":\"t\"}}}}", 1},
		{"main.tf", "cloud {\n token = \"t\"\n}", 1},
		{"main.tf.json", "{\"backend\":{\"http\":{\"address\":\"a\",\"password\":\"p\"}}}", 1},
		{"main.tf.json", "{\"backend\":{\"http\":{\"address\":\"https://u@h\"}}}", 1},
		{"main.tf.json", "{\"backend\":{\"s3\":{\"a\":[{\"token\":\"t\"}]}}}", 1},
		{"main.tf.json", "{\"backend\":{\"s3\":{\"bucket\":\"password\",\"secret_key\":null,\"token\":\"\"}}}", 0},
	};
	char path[64], text[512];

	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		int is_json = strcmp(blocks[i].file, "main.tf") != 0;
		snprintf(path, sizeof path, "envs/%s", blocks[i].file);
		snprintf(text, sizeof text, is_json ? "{\"terraform\":%s}" : "terraform {\n%s\n}\n", blocks[i].text);
		put(path, text);
		auto_jv backend = found(plain_run);
		CHECK(jv_is_valid(backend) == !blocks[i].is_secret);
		if (jv_is_valid(backend) == blocks[i].is_secret)
			printf("# %s\n", blocks[i].text);
		if (blocks[i].is_secret) {
			CHECK(err.class == SBX_DENIED);
			CHECK_STR(err.code, "backend_secret");
		}
		sbx_error_clear(&err);
		put("envs/a_override.tf", "terraform {\n backend \"s3\" {}\n}\n");
		is_type("s3");
		gone("envs/a_override.tf");
		gone(path);
	}
}

static void test_json(void)
{
	put("envs/main.tf.json",
	    "{\"terraform\":{\"backend\":{\"http\":{\"address\":\"a\",\"password\":null}}},\"x\":1.5}");
	is_type("http");
	auto_jv one = found(plain_run);
	put("envs/main.tf.json", "{\"terraform\":[{\"backend\":{\"http\":{\"password\":\"\",\"address\":\"a\"}}}]}");
	auto_jv two = found(plain_run);
	CHECK_STR(json_str(two, "config_sha256"), json_str(one, "config_sha256"));
	put("envs/main.tf.json", "{\"terraform\":{\"backend\":{\"http\":{\"address\":\"b\"}}}}");
	auto_jv three = found(plain_run);
	CHECK(strcmp(json_str(three, "config_sha256"), json_str(one, "config_sha256")) != 0);
	put("envs/main.tf.json", "{\"terraform\":{\"cloud\":{\"organization\":\"o\"}}}");
	is_type("cloud");
	/* Lists are blocks, wherever they stand. */
	static const char *const lists[] = {
		"[{\"terraform\":{\"backend\":{\"http\":{\"address\":\"a\"}}}},{\"output\":{}}]",
		"{\"terraform\":[[{\"backend\":{\"http\":{\"address\":\"a\"}}}]]}",
		"{\"terraform\":{\"backend\":[{\"http\":{\"address\":\"a\"}}]}}",
		"{\"terraform\":{\"backend\":{\"http\":[{\"address\":\"a\"}]}}}",
	};
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		put("envs/main.tf.json", lists[i]);
		auto_jv listed = found(plain_run);
		CHECK_STR(json_str(listed, "type"), "http");
		CHECK_STR(json_str(listed, "config_sha256"), json_str(one, "config_sha256"));
	}
	put("envs/main.tf.json", "[[{\"terraform\":{\"backend\":{\"http\":{\"address\":\"a\",\"password\":\"p\"}}}}]]");
	auto_jv secret = found(plain_run);
	CHECK(!jv_is_valid(secret));
	CHECK_STR(err.code, "backend_secret");
	sbx_error_clear(&err);
	put("envs/main.tf.json", "{\"terraform\":{\"backend\":{\"a\":{},\"b\":{}}}}");
	auto_jv several = found(plain_run);
	CHECK_STR(json_str(several, "type"), "unknown");
	put("envs/main.tf.json", "{\"terraform\":1}");
	is_type("unknown");
	put("envs/main.tf.json", "{\"terraform\":");
	is_type("unknown");
	gone("envs/main.tf.json");
}

/* A file of overrides wins, whatever stands before or behind it. */
static void test_overrides(void)
{
	put("envs/a_override.tf", "terraform {\n backend \"gcs\" {\n }\n}\n");
	put("envs/main.tf", "terraform {\n backend \"s3\" {\n }\n}\n");
	is_type("gcs");
	gone("envs/a_override.tf");
	put("envs/z_override.tf", "terraform {\n backend \"azurerm\" {\n }\n}\n");
	is_type("azurerm");
	gone("envs/z_override.tf");
	put("envs/noverride.tf", "x = 1\n");
	is_type("s3");
	gone("envs/noverride.tf");
	gone("envs/main.tf");
}

/* OpenTofu reads its own files, in place of Terraform's of the same name: a backend that one of the two does not see, or
 * that another hides from it, is known by nobody unless the programs say who they are. */
static void test_tofu(void)
{
	static const char tofu_run[] = "{\"workspace\":{\"cwd\":\"envs\"},\"steps\":[],\"env\":{},"
				       "\"programs\":{\"terraform\":{\"path\":\"/usr/bin/tofu\"}}}";
	static const char s3[] = "terraform {\n backend \"s3\" {\n }\n}\n", gcs[] = "terraform {\n backend \"gcs\" {\n }\n}\n",
			  password[] = "terraform {\n backend \"http\" {\n password = \"p\"\n }\n}\n", nothing[] = "# nothing\n";
	static const struct {
		const char *files[6]; /* NAME, TEXT … */
		const char *type, *by_tofu;
	} cases[] = {
		{{"m.tofu", s3}, "s3", "s3"},
		{{"m.tf", s3, "n.tofu", nothing}, "s3", "s3"},
		{{"m.tf", s3, "m.tofu", s3}, "s3", "s3"},
		{{"m.tf", s3, "m.tofu", nothing}, "unknown", "local"},
		{{"m.tf", s3, "m.tofu", gcs}, "unknown", "gcs"},
		{{"m.tf", nothing, "n.tofu", s3}, "unknown", "s3"},
		{{"m.tf", s3, "n.tofu", gcs}, "unknown", "unknown"},
		{{"m.tf.json", "{}", "m.tofu.json", "{\"terraform\":{\"backend\":{\"s3\":{}}}}"}, "unknown", "s3"},
		/* The other program's override. */
		{{"m.tf", s3, "o_override.tf", gcs, "o_override.tofu", nothing}, "unknown", "s3"},
		{{"m.tf", password, "o_override.tf", gcs, "o_override.tofu", nothing}, "backend_secret", "backend_secret"},
		{{"m.tf", password, "o_override.tf", gcs}, "gcs", "gcs"},
		{{"m.tf", s3, "m.tofu", password}, "backend_secret", "backend_secret"},
		/* Terraform alone reads it, and does not come here. */
		{{"m.tf", password, "m.tofu", s3}, "backend_secret", "s3"},
	};
	char path[64];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t k = 0; k < ARRAY_LEN(cases[i].files) && cases[i].files[k] != NULL; k += 2) {
			snprintf(path, sizeof path, "envs/%s", cases[i].files[k]);
			put(path, cases[i].files[k + 1]);
		}
		printf("# case %zu\n", i);
		auto_jv either = found(plain_run);
		CHECK_STR(jv_is_valid(either) ? json_str(either, "type") : err.code, cases[i].type);
		sbx_error_clear(&err);
		auto_jv by_tofu = found(tofu_run);
		CHECK_STR(jv_is_valid(by_tofu) ? json_str(by_tofu, "type") : err.code, cases[i].by_tofu);
		sbx_error_clear(&err);
		for (size_t k = 0; k < ARRAY_LEN(cases[i].files) && cases[i].files[k] != NULL; k += 2) {
			snprintf(path, sizeof path, "envs/%s", cases[i].files[k]);
			gone(path);
		}
	}
	/* What is not known changes the digest all the same. */
	char one[65], two[65];
	put("envs/m.tofu", gcs);
	config_of("terraform {\n backend \"s3\" {\n bucket = \"b\"\n }\n}\n", one);
	config_of("terraform {\n backend \"s3\" {\n bucket = \"c\"\n }\n}\n", two);
	CHECK(strcmp(one, two) != 0);
	gone("envs/m.tofu");
	gone("envs/main.tf");
}

static void test_run(void)
{
	static const char *const refused[] = {"-backend-config=x.hcl", "--backend-config=bucket=b", "-backend-config"};
	char run[256];

	auto_jv named = found("{\"workspace\":{\"cwd\":\"envs\"},\"steps\":[],\"env\":{\"TF_WORKSPACE\":\"prod\"}}");
	CHECK_STR(json_str(named, "workspace"), "prod");
	auto_jv plain = found(plain_run);
	CHECK_STR(json_str(plain, "workspace"), "default");
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		snprintf(run, sizeof run,
			 "{\"workspace\":{\"cwd\":\"envs\"},\"steps\":[{\"argv\":[\"terraform\",\"init\",\"%s\"]}]}",
			 refused[i]);
		auto_jv none = found(run);
		CHECK(!jv_is_valid(none) && err.class == SBX_CONFIG);
		CHECK_STR(err.code, "backend_config");
		sbx_error_clear(&err);
	}
	auto_jv allowed = found("{\"workspace\":{\"cwd\":\"envs\"},\"steps\":[{\"argv\":[\"terraform\",\"init\","
				"\"-backend=false\",{\"artifact\":\"plan\"}]}]}");
	CHECK(jv_is_valid(allowed));
}

int main(void)
{
	if (mkdtemp(place) == NULL)
		return 1;
	make_dir("envs");
	test_types();
	test_byte_order_mark();
	test_heredocs();
	test_unreadable();
	test_settings();
	test_every_setting();
	test_secrets();
	test_json();
	test_overrides();
	test_tofu();
	test_run();
	io_remove_tree(AT_FDCWD, place, &err);
	return unit_done();
}
