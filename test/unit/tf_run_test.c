/* tf_run: which steps are Terraform or OpenTofu, by what the policy and what the file is called. */
#include "tf_run.h"

#include <string.h>

#include "unit.h"

static int is(const char *text, unsigned step, const char *word)
{
	auto_jv run = jv_invalid();
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(json_parse(text, strlen(text), 4096, &run, &err) == 0);
	return tf_run_step_is(run, step, word);
}

int main(void)
{
	static const char by_name[] = "{\"steps\":[{\"program\":\"true\",\"argv\":[\"true\"]},"
				      "{\"program\":\"terraform\",\"argv\":[\"terraform\",\"init\",{\"artifact\":\"plan\"}]},"
				      "{\"program\":\"tofu\",\"argv\":[\"tofu\"]}]}";
	static const char by_file[] = "{\"programs\":{\"tf\":{\"path\":\"/opt/tofu/1.10/tofu\"},\"x\":{\"path\":\"/usr/bin/terraform-x\"},"
				      "\"y\":{\"path\":\"terraform\"},\"z\":{\"path\":\"/usr/bin/terraform\"}},"
				      "\"steps\":[{\"program\":\"tf\",\"argv\":[\"tf\",\"init\"]},{\"program\":\"x\",\"argv\":[\"x\",\"init\"]},"
				      "{\"program\":\"y\",\"argv\":[\"y\"]},{\"program\":\"z\",\"argv\":[\"z\",{\"artifact\":\"plan\"}]}]}";

	CHECK(!is(by_name, 1, NULL) && is(by_name, 2, NULL) && is(by_name, 2, "init") && !is(by_name, 2, "apply"));
	CHECK(is(by_name, 3, NULL) && !is(by_name, 3, "init"));
	/* No step, none of that number. */
	CHECK(!is(by_name, 0, NULL) && !is(by_name, 4, NULL) && !is("{}", 1, NULL));
	CHECK(is(by_file, 1, "init") && !is(by_file, 2, "init") && !is(by_file, 3, NULL));
	CHECK(is(by_file, 4, NULL) && !is(by_file, 4, "init"));
	return unit_done();
}
