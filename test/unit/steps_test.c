/* The step table: what is encoded is decoded; nothing that is out of place is. */
#include "steps.h"

#include "digest.h"
#include "unit.h"

static struct slot argv[] = {
	{SLOT_TEXT, (char *)"terraform"}, {SLOT_TEXT, (char *)"show"}, {SLOT_ARTIFACT, (char *)"plan"}};
static struct slot plan_argv[] = {{SLOT_TEXT, (char *)"terraform"}, {SLOT_TEXT, (char *)"plan"}};
static struct produce produces[] = {{(char *)"plan", (char *)"out/plan.bin"}};
static struct step steps[2];
static struct input inputs[2];
static struct program_digest programs[1];
static struct package_digest packages[1];
static struct slot unlock_argv[5];
static struct dead_call dead[2];
static char *env[] = {(char *)"A=1", (char *)"B=", NULL};

static struct steps sample(void)
{
	struct steps s = {.require = "local",
			  .cwd = (char *)"envs/staging",
			  .env = env,
			  .output_max = 1000,
			  .artifact_max = 2000,
			  .grace_ms = 300,
			  .inputs = inputs,
			  .input_count = 2,
			  .programs = programs,
			  .program_count = 1,
			  .plan = STEPS_SEALED_PLAN,
			  .sealed = {.lock_path = (char *)"envs/staging/.terraform.lock.hcl",
				     .lineage = "one",
				     .serial = 7,
				     .state_sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
				     .packages = packages,
				     .package_count = 1},
			  .steps = steps,
			  .step_count = 2};

	steps[0] = (struct step){.program = (char *)"/opt/terraform",
				 .argv = plan_argv,
				 .argc = 2,
				 .flags = STEP_CREDENTIALS,
				 .produces = produces,
				 .produce_count = 1};
	steps[1] = (struct step){.program = (char *)"/opt/terraform", .argv = argv, .argc = 3, .flags = STEP_ANALYSE};
	inputs[0] = (struct input){.kind = INPUT_TREE, .name = (char *)"", .path = (char *)"", .size = 77};
	inputs[1] = (struct input){
		.kind = INPUT_STATE_READ, .name = (char *)"", .path = (char *)"envs/staging/terraform.tfstate"};
	digest_sha256_hex("a", 1, inputs[0].sha256);
	digest_sha256_hex("b", 1, inputs[1].sha256);
	programs[0] = (struct program_digest){.path = (char *)"/opt/terraform"};
	digest_sha256_hex("c", 1, programs[0].sha256);
	packages[0] = (struct package_digest){
		.path = (char *)"/opt/sbx/.mirror/a", .source = (char *)"a.b/c/d", .hash = "h1:x"};
	digest_sha256_hex("l", 1, s.sealed.lock_sha256);
	produces[0] = (struct produce){(char *)"plan", (char *)"out/plan.bin"};
	argv[2] = (struct slot){SLOT_ARTIFACT, (char *)"plan"};
	for (size_t i = 0; i < STEPS_NAMESPACES; i++)
		s.host_namespaces[i] = 4026531836u + i;
	return s;
}

/* Encode S and decode it again: 0, or -1 with bad_steps or wire_malformed. */
static int passes(const struct steps *s)
{
	auto_buf bytes = BUF_INIT(1 << 20);
	struct sbx_error err = SBX_ERROR_INIT;
	struct steps got;

	CHECK(steps_encode(s, &bytes, &err) == 0);
	if (steps_decode(bytes.data, bytes.len, &got, &err) < 0) {
		CHECK(got.steps == NULL && got.cwd == NULL);
		return strcmp(err.code, "bad_steps") == 0 || strcmp(err.code, "wire_malformed") == 0 ? -1 : -2;
	}
	steps_clear(&got);
	return 0;
}

static void test_round(void)
{
	struct steps s = sample(), got;
	auto_buf bytes = BUF_INIT(1 << 20);
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(steps_encode(&s, &bytes, &err) == 0);
	CHECK(steps_decode(bytes.data, bytes.len, &got, &err) == 0);
	CHECK_STR(got.require, "local");
	CHECK_STR(got.cwd, "envs/staging");
	CHECK(memcmp(got.host_namespaces, s.host_namespaces, sizeof s.host_namespaces) == 0);
	CHECK_STR(got.env[0], "A=1");
	CHECK_STR(got.env[1], "B=");
	CHECK(got.env[2] == NULL);
	CHECK(got.output_max == 1000 && got.artifact_max == 2000 && got.grace_ms == 300);
	CHECK(got.input_count == 2 && got.inputs[0].kind == INPUT_TREE && got.inputs[0].size == 77);
	CHECK_STR(got.inputs[1].path, "envs/staging/terraform.tfstate");
	CHECK_STR(got.programs[0].sha256, programs[0].sha256);
	CHECK(got.plan == STEPS_SEALED_PLAN && got.sealed.serial == 7 && got.sealed.package_count == 1);
	CHECK_STR(got.sealed.lock_path, "envs/staging/.terraform.lock.hcl");
	CHECK_STR(got.sealed.lock_sha256, s.sealed.lock_sha256);
	CHECK_STR(got.sealed.lineage, "one");
	CHECK_STR(got.sealed.state_sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	CHECK_STR(got.sealed.packages[0].path, "/opt/sbx/.mirror/a");
	CHECK_STR(got.sealed.packages[0].source, "a.b/c/d");
	CHECK_STR(got.sealed.packages[0].hash, "h1:x");
	CHECK(got.step_count == 2 && got.steps[0].flags == STEP_CREDENTIALS && got.steps[1].flags == STEP_ANALYSE);
	CHECK_STR(got.steps[0].produces[0].path, "out/plan.bin");
	CHECK(got.steps[1].argv[2].kind == SLOT_ARTIFACT);
	CHECK_STR(got.steps[1].argv[2].text, "plan");
	steps_clear(&got);
	/* Cut off anywhere, or with a byte behind it, it is none. */
	for (size_t len = 0; len < bytes.len; len++) {
		sbx_error_clear(&err);
		CHECK(steps_decode(bytes.data, len, &got, &err) == -1);
	}
	buf_add(&bytes, "", 1, &err);
	CHECK(steps_decode(bytes.data, bytes.len, &got, &err) == -1);
}

/* The sample behind a check that takes away locks. */
static struct steps unlocking(void)
{
	struct steps s = sample();
	static struct step three[3];

	unlock_argv[0] = unlock_argv[4] = (struct slot){SLOT_TEXT, (char *)"terraform"};
	unlock_argv[1] = (struct slot){SLOT_TEXT, (char *)"force-unlock"};
	unlock_argv[2] = (struct slot){SLOT_TEXT, (char *)"-force"};
	unlock_argv[3] = (struct slot){SLOT_LOCK, (char *)""};
	memset(dead, 0, sizeof dead);
	memset(dead[0].id, 'a', sizeof dead[0].id - 1);
	memset(dead[1].id, '7', sizeof dead[1].id - 1);
	three[0] = (struct step){.program = (char *)"/opt/terraform", .argv = unlock_argv, .argc = 4, .flags = STEP_CHECK | STEP_CREDENTIALS};
	three[1] = s.steps[0];
	three[2] = s.steps[1];
	s.steps = three;
	s.step_count = 3;
	s.dead = dead;
	s.dead_count = 2;
	return s;
}

static void test_locks(void)
{
	struct steps s = unlocking(), got;
	auto_buf bytes = BUF_INIT(1 << 20);
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(steps_encode(&s, &bytes, &err) == 0 && steps_decode(bytes.data, bytes.len, &got, &err) == 0);
	CHECK(got.dead_count == 2);
	CHECK_STR(got.dead[0].id, dead[0].id);
	CHECK_STR(got.dead[1].id, dead[1].id);
	CHECK(steps_unlocks(&got.steps[0]) && !steps_unlocks(&got.steps[1]) && !steps_unlocks(&got.steps[2]));
	CHECK(got.steps[0].argv[3].kind == SLOT_LOCK);
	steps_clear(&got);
	for (size_t len = 0; len < bytes.len; len++)
		CHECK(steps_decode(bytes.data, len, &got, &err) == -1);
	/* Nobody dead: it is there, and passed over. */
	s.dead_count = 0;
	CHECK(passes(&s) == 0);
	s = unlocking();
	dead[1].id[3] = 'G';
	CHECK(passes(&s) == -1);
	s = unlocking();
	dead[1].id[31] = '\0';
	CHECK(passes(&s) == -1);
	/* Dead calls without such a step. */
	s = unlocking();
	s.steps++;
	s.step_count = 2;
	CHECK(passes(&s) == -1);
	s.dead_count = 0;
	CHECK(passes(&s) == 0);
}

/* Nothing but that one command gets the ID of a lock. */
static void test_lock_places(void)
{
	struct steps s = unlocking();

	s.steps[0].flags = STEP_CREDENTIALS; /* no check */
	CHECK(passes(&s) == -1);
	s.steps[0].flags = STEP_CHECK | STEP_SEALS_STATE;
	CHECK(passes(&s) == -1);
	s.steps[0].flags = STEP_CHECK;
	CHECK(passes(&s) == 0);
	s.steps[0].argc = 5;
	CHECK(passes(&s) == -1);
	s = unlocking();
	s.steps[0].argc = 3;
	CHECK(passes(&s) == -1);
	s.dead_count = 0;
	CHECK(passes(&s) == 0); /* it is then an ordinary check */
	s = unlocking();
	unlock_argv[1].text = (char *)"unlock";
	CHECK(passes(&s) == -1);
	s = unlocking();
	unlock_argv[2].text = (char *)"-f";
	CHECK(passes(&s) == -1);
	s = unlocking();
	unlock_argv[2].kind = SLOT_LOCK;
	CHECK(passes(&s) == -1);
	s = unlocking();
	unlock_argv[3].text = (char *)"x";
	CHECK(passes(&s) == -1);
	/* Two of them. */
	s = unlocking();
	s.steps[1] = s.steps[0];
	s.steps[2] = (struct step){.program = (char *)"/opt/terraform", .argv = plan_argv, .argc = 2};
	CHECK(passes(&s) == -1);
}

/* Checks come first, make nothing, and something comes behind them. */
static void test_checks(void)
{
	struct steps s = sample();

	steps[0].produce_count = 0;
	steps[0].flags = STEP_CHECK | STEP_CREDENTIALS;
	s.inputs[0].kind = INPUT_ARTIFACT; /* what the second step uses */
	s.inputs[0].name = (char *)"plan";
	CHECK(passes(&s) == 0);
	s.step_count = 1;
	CHECK(passes(&s) == -1);
	s.step_count = 2;
	steps[0].flags = STEP_CHECK | STEP_ANALYSE;
	CHECK(passes(&s) == -1);
	steps[0].flags = 0;
	steps[1].flags = STEP_CHECK;
	CHECK(passes(&s) == -1);
	s = sample();
	steps[0].flags = STEP_CHECK; /* it produces */
	CHECK(passes(&s) == -1);
	s = sample();
}

static void test_paths(void)
{
	static const char *const bad[] = {"", "/etc", "..", "../x", "a/../b", "a//b", "a/", "./a", "a/."};
	struct steps s;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		s = sample();
		s.cwd = (char *)bad[i];
		CHECK(passes(&s) == -1);
		s = sample();
		produces[0].path = (char *)bad[i];
		CHECK(passes(&s) == -1);
		s = sample();
		inputs[1].path = (char *)bad[i];
		CHECK(passes(&s) == -1);
	}
	s = sample();
	s.cwd = (char *)".";
	CHECK(passes(&s) == 0);
	s.cwd = (char *)"...";
	CHECK(passes(&s) == 0);
}

/* A state that the driver mounts has no bytes among the inputs, where the ones after it would be looked for. */
static void test_mounted_state(void)
{
	struct steps s = sample();

	inputs[1].size = 5;
	CHECK(passes(&s) == 0);
	inputs[1].kind = INPUT_STATE_WRITE;
	CHECK(passes(&s) == -1);
	inputs[1].size = 0;
	CHECK(passes(&s) == 0);
}

static void test_sealed(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf bytes = BUF_INIT(1 << 20);
	struct steps s = sample(), got;

	s.sealed.lock_path = (char *)"../lock";
	CHECK(passes(&s) == -1);
	s = sample();
	s.sealed.lock_sha256[0] = 'G';
	CHECK(passes(&s) == -1);
	s = sample();
	packages[0].path = (char *)"opt";
	CHECK(passes(&s) == -1);
	/* No lock file, no state, no provider. */
	s = sample();
	s.sealed = (struct sealed_parts){.lock_path = (char *)"l", .serial = -1};
	CHECK(steps_encode(&s, &bytes, &err) == 0 && steps_decode(bytes.data, bytes.len, &got, &err) == 0);
	CHECK(got.sealed.serial == -1 && got.sealed.lock_sha256[0] == '\0' && got.sealed.lineage[0] == '\0');
	steps_clear(&got);
	/* No plan: nothing of it is written. */
	buf_reset(&bytes);
	s = sample();
	s.plan = STEPS_NO_PLAN;
	CHECK(steps_encode(&s, &bytes, &err) == 0 && steps_decode(bytes.data, bytes.len, &got, &err) == 0);
	CHECK(got.plan == STEPS_NO_PLAN && got.sealed.lock_path == NULL && got.sealed.package_count == 0);
	steps_clear(&got);
}

static void test_contents(void)
{
	struct steps s = sample();

	argv[2].text = (char *)"nothing";
	CHECK(passes(&s) == -1);
	s = sample();
	steps[0].produce_count = 0; /* the slot of step 2 is left without a maker */
	CHECK(passes(&s) == -1);
	s = sample();
	steps[1].produces = produces; /* made twice */
	steps[1].produce_count = 1;
	CHECK(passes(&s) == -1);
	s = sample();
	inputs[0] = (struct input){.kind = INPUT_ARTIFACT, .name = (char *)"plan", .path = (char *)""};
	digest_sha256_hex("a", 1, inputs[0].sha256);
	CHECK(passes(&s) == -1); /* given and made */
	steps[0].produce_count = 0;
	CHECK(passes(&s) == 0);
	inputs[0].name = (char *)"pl/an";
	CHECK(passes(&s) == -1);
	s = sample();
	steps[0].program = (char *)"terraform";
	CHECK(passes(&s) == -1);
	s = sample();
	steps[0].argc = 0;
	CHECK(passes(&s) == -1);
	s = sample();
	steps[0].flags = 64;
	CHECK(passes(&s) == -1);
	s = sample();
	s.sealed.state_sha256[3] = 'G';
	CHECK(passes(&s) == -1);
	s = sample();
	inputs[0].sha256[3] = 'G';
	CHECK(passes(&s) == -1);
	s = sample();
	s.env = (char *[]){(char *)"=x", NULL};
	CHECK(passes(&s) == -1);
	s.env = (char *[]){(char *)"novalue", NULL};
	CHECK(passes(&s) == -1);
	s.env = NULL;
	CHECK(passes(&s) == 0);
}

int main(void)
{
	test_round();
	test_locks();
	test_lock_places();
	test_checks();
	test_paths();
	test_mounted_state();
	test_sealed();
	test_contents();
	return unit_done();
}
