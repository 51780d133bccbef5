/* The configuration part of the first pass. */
#include "plan_config.h"

#include <string.h>

#include "limit.h"

struct config_pass {
	struct plan_scan *s;
	struct plan_survey *survey;
	struct buf module; /* "module.a.module.b.", of the module being read */
	char prefix[32];   /* "aws_", of the type of the resource being read */
	size_t prefix_len;
};

/* An expression: an object with "references", or with "constant_value", or neither; or the block or blocks below an
 * argument. Its first token was read; NAMES hashes the names on the way to it. 1 when something in it refers to
 * something. */
static int read_expression(struct config_pass *pass, uint64_t config, uint64_t names, struct sbx_error *err);

/* Attributes that name an object which this plan makes: what they will be is no choice of the author. */
static int names_an_object(const char *attribute, size_t len)
{
	static const char *const names[] = {"arn",    "id",	"name",	     "email",	 "member",
					    "bucket", "unique_id", "repository", "self_link"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == len && memcmp(names[i], attribute, len) == 0)
			return 1;
	return 0;
}

/* Whether a reference is to an object of the same provider as a whole, or to what names it: "aws_vpc.a",
 * "aws_vpc.a[0].id". Anything else (a variable, a local, data, a module, terraform_data) may carry any value. */
static int is_plain_reference(const struct config_pass *pass, const char *text, size_t len)
{
	const char *dot = memchr(text, '.', len), *last;

	if (len <= pass->prefix_len || memcmp(text, pass->prefix, pass->prefix_len) != 0 || dot == NULL)
		return 0;
	last = memchr(dot + 1, '.', (size_t)(text + len - dot) - 1);
	if (last == NULL)
		return 1;
	if (memchr(last + 1, '.', (size_t)(text + len - last) - 1) != NULL)
		return 0;
	return names_an_object(last + 1, (size_t)(text + len - last) - 1);
}

/* The references of the argument; [ was read. */
static int read_references(struct config_pass *pass, uint64_t argument, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	int element, plain = 1;

	while ((element = plan_element(s, err)) == 1) {
		plain &= s->token == JSON_STRING && is_plain_reference(pass, s->text, s->len);
		if (plan_skip_rest(s, err) < 0)
			return -1;
	}
	if (element < 0 || hash_set_add(&pass->survey->referring, argument, err) < 0)
		return -1;
	return plain ? 0 : hash_set_add(&pass->survey->opaque, argument, err);
}

/* An expression without constant and references: a function such as timestamp(). */
static int add_function(struct config_pass *pass, uint64_t argument, struct sbx_error *err)
{
	if (hash_set_add(&pass->survey->referring, argument, err) < 0)
		return -1;
	return hash_set_add(&pass->survey->opaque, argument, err);
}

/* So many blocks stand in the configuration; an object with more of them has dynamic ones, which do not stand there. */
static int add_blocks(struct config_pass *pass, uint64_t argument, uint64_t count, struct sbx_error *err)
{
	const struct key_seed *seed = pass->s->seed;

	if (hash_set_add(&pass->survey->blocks, plan_survey_blocks(seed, argument, count), err) < 0)
		return -1;
	return hash_set_add(&pass->survey->blocks, plan_survey_blocks(seed, argument, PLAN_SOME_BLOCKS), err);
}

static int read_expression_member(struct config_pass *pass, uint64_t config, uint64_t names, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	uint64_t argument = plan_survey_argument(s->seed, config, names), below;

	/* A constant is the author's own data, whatever it looks like. */
	if (plan_is(s, "constant_value"))
		return plan_skip(s, err);
	int references = plan_is(s, "references");
	below = plan_hash(s, names);
	if (hash_set_add(&pass->survey->named, plan_survey_argument(s->seed, config, below), err) < 0)
		return -1;
	if (plan_next(s, err) < 0)
		return -1;
	if (!references || s->token != JSON_ARRAY_OPEN)
		return read_expression(pass, config, below, err);
	return read_references(pass, argument, err) < 0 ? -1 : 1;
}

static int read_expression(struct config_pass *pass, uint64_t config, uint64_t names, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	uint64_t argument = plan_survey_argument(s->seed, config, names);
	int array = s->token == JSON_ARRAY_OPEN, refers = 0, more;
	uint64_t members = 0;

	if (!array && s->token != JSON_OBJECT_OPEN)
		return 0;
	while ((more = array ? plan_element(s, err) : plan_key(s, err)) == 1) {
		int inner = array ? read_expression(pass, config, names, err)
				  : read_expression_member(pass, config, names, err);
		if (inner < 0)
			return -1;
		refers |= inner;
		members++;
	}
	if (more < 0)
		return -1;
	if (array && add_blocks(pass, argument, members, err) < 0)
		return -1;
	if (!array && members == 0 && names != PLAN_HASH_PATH) {
		refers = 1;
		if (add_function(pass, argument, err) < 0)
			return -1;
	}
	if (refers && hash_set_add(&pass->survey->above_referring, argument, err) < 0)
		return -1;
	return refers;
}

/* Provisioners: an array; 1 when there is one in it. */
static int read_provisioners(struct plan_scan *s, struct sbx_error *err)
{
	int element, some = 0;

	if (plan_expect(s, JSON_ARRAY_OPEN, "provisioners that are no array", err) < 0)
		return -1;
	while ((element = plan_element(s, err)) == 1) {
		some = 1;
		if (plan_skip_rest(s, err) < 0)
			return -1;
	}
	return element < 0 ? -1 : some;
}

/* The last token is the address of a resource: its provider's prefix. One that is too long is no prefix of anything. */
static void take_prefix(struct config_pass *pass)
{
	const struct plan_scan *s = pass->s;
	const char *end = memchr(s->text, '_', s->len);
	size_t len = end == NULL ? 0 : (size_t)(end - s->text) + 1;

	pass->prefix_len = len == 0 || len > sizeof pass->prefix ? sizeof pass->prefix : len;
	memset(pass->prefix, 0, sizeof pass->prefix);
	if (len <= sizeof pass->prefix)
		memcpy(pass->prefix, s->text, len);
}

/* The address of a resource within its module, as the hash of its whole address. */
static int read_address(struct config_pass *pass, uint64_t *config, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	size_t module_len = pass->module.len;

	if (plan_expect(s, JSON_STRING, "an address that is no string", err) < 0 ||
	    buf_add(&pass->module, s->text, s->len, err) < 0)
		return -1;
	take_prefix(pass);
	*config = key_hash(s->seed, PLAN_HASH_CONFIG, buf_str(&pass->module), pass->module.len);
	pass->module.len = module_len;
	return hash_set_add(&pass->survey->configured, *config, err);
}

/* One resource; its { was read. Terraform writes the address first; one that comes later is refused rather than
 * guessed. */
static int read_resource(struct config_pass *pass, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	uint64_t config = 0;
	int key, result = 0;

	while ((key = plan_key(s, err)) == 1) {
		int provisioners = plan_is(s, "provisioners"), expressions = plan_is(s, "expressions");
		if ((provisioners || expressions) && config == 0)
			return plan_refuse(s, "plan_malformed", "a resource whose address does not come first", err);
		if (plan_is(s, "address"))
			result = read_address(pass, &config, err);
		else if (provisioners)
			result = read_provisioners(s, err);
		else if (expressions)
			result = plan_next(s, err) < 0 ? -1 : read_expression(pass, config, PLAN_HASH_PATH, err);
		else
			result = plan_skip(s, err);
		if (result < 0 ||
		    (provisioners && result == 1 && hash_set_add(&pass->survey->provisioned, config, err) < 0))
			return -1;
	}
	return key;
}

/* Outputs or variables of the root module; right behind the key: the names of the sensitive ones go into SENSITIVE. */
static int read_sensitive(struct plan_scan *s, enum plan_hash_kind kind, struct hash_set *sensitive,
			  struct sbx_error *err)
{
	int entry, key = 0, is_sensitive;

	if (plan_expect(s, JSON_OBJECT_OPEN, "outputs or variables that are no object", err) < 0)
		return -1;
	while ((entry = plan_key(s, err)) == 1) {
		uint64_t name = plan_hash(s, kind);
		if (plan_expect(s, JSON_OBJECT_OPEN, "an output or variable that is no object", err) < 0)
			return -1;
		while ((key = plan_key(s, err)) == 1) {
			is_sensitive = 0;
			if ((plan_is(s, "sensitive")
				     ? plan_bool(s, &is_sensitive, "a sensitive that is no truth value", err)
				     : plan_skip(s, err)) < 0 ||
			    (is_sensitive && hash_set_add(sensitive, name, err) < 0))
				return -1;
		}
		if (key < 0)
			return -1;
	}
	return entry;
}

static int read_module(struct config_pass *pass, struct sbx_error *err);

/* Calls of modules; right behind the key. */
static int read_calls(struct config_pass *pass, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	size_t module_len = pass->module.len;
	int call, key = 0;

	if (plan_expect(s, JSON_OBJECT_OPEN, "module calls that are no object", err) < 0)
		return -1;
	while ((call = plan_key(s, err)) == 1) {
		if (buf_add_str(&pass->module, "module.", err) < 0 ||
		    buf_add(&pass->module, s->text, s->len, err) < 0 || buf_add_str(&pass->module, ".", err) < 0 ||
		    plan_expect(s, JSON_OBJECT_OPEN, "a module call that is no object", err) < 0)
			return -1;
		while ((key = plan_key(s, err)) == 1) {
			int module = plan_is(s, "module");
			if ((module ? plan_expect(s, JSON_OBJECT_OPEN, "a module that is no object", err)
				    : plan_skip(s, err)) < 0 ||
			    (module && read_module(pass, err) < 0))
				return -1;
		}
		if (key < 0)
			return -1;
		pass->module.len = module_len;
	}
	return call;
}

static int read_resources(struct config_pass *pass, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	int element;

	if (plan_expect(s, JSON_ARRAY_OPEN, "resources that are no array", err) < 0)
		return -1;
	while ((element = plan_element(s, err)) == 1) {
		if (s->token != JSON_OBJECT_OPEN)
			return plan_refuse(s, "plan_kind", "a resource that is no object", err);
		if (read_resource(pass, err) < 0)
			return -1;
	}
	return element;
}

/* Its { was read. Recursion is bounded by the depth of the text. */
static int read_module(struct config_pass *pass, struct sbx_error *err)
{
	struct plan_scan *s = pass->s;
	int key, result;

	while ((key = plan_key(s, err)) == 1) {
		if (plan_is(s, "resources"))
			result = read_resources(pass, err);
		else if (plan_is(s, "module_calls"))
			result = read_calls(pass, err);
		else if (plan_is(s, "outputs") && pass->module.len == 0)
			result = read_sensitive(s, PLAN_HASH_OUTPUT, &pass->survey->sensitive_outputs, err);
		else if (plan_is(s, "variables") && pass->module.len == 0)
			result = read_sensitive(s, PLAN_HASH_INPUT, &pass->survey->sensitive_inputs, err);
		else
			result = plan_skip(s, err);
		if (result < 0)
			return -1;
	}
	return key;
}

int plan_config_read(struct plan_scan *s, struct plan_survey *survey, struct sbx_error *err)
{
	struct config_pass pass = {.s = s, .survey = survey, .module = BUF_INIT(LIMIT_PLAN_ADDRESS)};
	int key, result = 0;

	if (plan_expect(s, JSON_OBJECT_OPEN, "a configuration that is no object", err) < 0)
		return -1;
	while (result >= 0 && (key = plan_key(s, err)) == 1) {
		if (!plan_is(s, "root_module"))
			result = plan_skip(s, err);
		else if (plan_expect(s, JSON_OBJECT_OPEN, "a root module that is no object", err) < 0)
			result = -1;
		else
			result = read_module(&pass, err);
	}
	buf_clear(&pass.module);
	return result < 0 ? -1 : key;
}

/* The length of the index that begins at TEXT ("[0]", "[\"a]\"]"), at most LEN. */
static size_t index_length(const char *text, size_t len)
{
	size_t i = 1;

	if (i < len && text[i] == '"') {
		for (i++; i < len && text[i] != '"'; i++)
			i += text[i] == '\\';
	}
	while (i < len && text[i] != ']')
		i++;
	return i < len ? i + 1 : len;
}

uint64_t plan_config_hash(const struct key_seed *seed, const char *address, size_t len, struct buf *scratch,
			  struct sbx_error *err)
{
	buf_reset(scratch);
	for (size_t i = 0; i < len;) {
		const char *index = memchr(address + i, '[', len - i);
		size_t plain = index == NULL ? len - i : (size_t)(index - address) - i;
		if (buf_add(scratch, address + i, plain, err) < 0)
			return 0;
		i += plain;
		if (i < len)
			i += index_length(address + i, len - i);
	}
	return key_hash(seed, PLAN_HASH_CONFIG, buf_str(scratch), scratch->len);
}
