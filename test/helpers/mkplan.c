/* mkplan: a plan of some size, as terraform show -json writes one: objects of several types in
 * modules, each in planned_values, resource_changes and prior_state, and the configuration that
 * they come from.
 *
 *   mkplan BYTES > plan.json
 *
 * The same BYTES give the same plan. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mkplan_kinds.h"

enum { OBJECTS_OF_MODULE = 120, SAMPLE = 1200, BLOCK = 1 << 20 };

enum action { NO_OP, UPDATE, CREATE, REPLACE, DELETE };
static const char *const action_words[] = {"'no-op'", "'update'", "'create'", "'delete','create'",
					   "'delete'"};

static uint64_t written;
static FILE *out; /* NULL: only count */

static void put(const char *text, size_t len)
{
	written += len;
	if (out != NULL && fwrite(text, 1, len, out) != len) {
		perror("mkplan");
		exit(74);
	}
}

static uint32_t mixed(uint32_t n)
{
	n = (n ^ n >> 16) * 0x45d9f3bu;
	n = (n ^ n >> 16) * 0x45d9f3bu;
	return n ^ n >> 16;
}

/* A template for object number N; CHANGED stands for ~. */
static void expand(const char *form, uint32_t n, int changed)
{
	char text[32];

	while (*form != '\0') {
		size_t plain = strcspn(form, "'`|@#~");
		put(form, plain);
		form += plain;
		switch (*form) {
		case '\0':
			return;
		case '\'':
			put("\"", 1);
			break;
		case '`':
			put("\\\"", 2);
			break;
		case '|':
			put("\\n", 2);
			break;
		case '@':
			put(text, (size_t)snprintf(text, sizeof text, "%" PRIu32, n));
			break;
		case '#':
			put(text, (size_t)snprintf(text, sizeof text, "%08" PRIx32 "%08" PRIx32,
						   mixed(n), mixed(~n)));
			break;
		default:
			put(changed ? "2" : "1", 1);
		}
		form++;
	}
}

/* Most objects of a large plan stay as they are. */
static enum action action_of(uint32_t n)
{
	uint32_t part = mixed(n * 7 + 3) % 100;

	return part < 60   ? NO_OP
	       : part < 82 ? UPDATE
	       : part < 94 ? CREATE
	       : part < 97 ? REPLACE
			   : DELETE;
}

static void put_head(const struct kind *kind, uint32_t n)
{
	char text[512];

	snprintf(text, sizeof text,
		 "{'address':'module.stack[`region-%" PRIu32 "`].%s.%s[%" PRIu32 "]',",
		 n / OBJECTS_OF_MODULE, kind->type, names[kind - kinds], n % OBJECTS_OF_MODULE);
	expand(text, n, 0);
	snprintf(text, sizeof text,
		 "'mode':'managed','type':'%s','name':'%s','index':%" PRIu32
		 ",'provider_name':'registry.terraform.io/%s',",
		 kind->type, names[kind - kinds], n % OBJECTS_OF_MODULE, kind->provider);
	expand(text, n, 0);
}

/* An object of planned_values, or of prior_state. */
static void put_object(const struct kind *kind, uint32_t n, int planned)
{
	put_head(kind, n);
	expand("'schema_version':1,'values':{", n, 0);
	if (!planned || action_of(n) < CREATE)
		expand(kind->computed, n, 0);
	expand(kind->given, n, planned && action_of(n) != NO_OP);
	expand("},'sensitive_values':{", n, 0);
	expand(kind->sensitive, n, 0);
	expand(planned ? "}}" : "},'depends_on':['data.aws_caller_identity.current']}", n, 0);
}

static void put_change(const struct kind *kind, uint32_t n)
{
	enum action action = action_of(n);

	put_head(kind, n);
	expand("'change':{'actions':[", n, 0);
	expand(action_words[action], n, 0);
	expand(action == CREATE ? "],'before':null" : "],'before':{", n, 0);
	if (action != CREATE) {
		expand(kind->computed, n, 0);
		expand(kind->given, n, 0);
	}
	expand(action == CREATE ? ",'after':" : "},'after':", n, 0);
	expand(action == DELETE ? "null" : "{", n, 0);
	if (action < CREATE)
		expand(kind->computed, n, 0);
	if (action != DELETE)
		expand(kind->given, n, action != NO_OP);
	expand(action == DELETE ? ",'after_unknown':{" : "},'after_unknown':{", n, 0);
	expand(action == CREATE || action == REPLACE ? kind->unknown : "", n, 0);
	expand(action == CREATE ? "},'before_sensitive':false" : "},'before_sensitive':{", n, 0);
	expand(action == CREATE ? "" : kind->sensitive, n, 0);
	expand(action == CREATE ? ",'after_sensitive':" : "},'after_sensitive':", n, 0);
	expand(action == DELETE ? "false" : "{", n, 0);
	expand(action == DELETE ? "" : kind->sensitive, n, 0);
	expand(action == DELETE ? "}" : "}}", n, 0);
	if (action == REPLACE)
		expand(",'action_reason':'replace_because_cannot_update'", n, 0);
	expand("}", n, 0);
}

/* The modules of planned_values or prior_state. */
static void put_modules(uint32_t count, int planned)
{
	for (uint32_t n = 0; n < count; n += OBJECTS_OF_MODULE) {
		const char *comma = "";
		char text[64];
		expand(n == 0 ? "{'resources':[" : ",{'resources':[", n, 0);
		for (uint32_t i = n; i < count && i < n + OBJECTS_OF_MODULE; i++) {
			if (action_of(i) == (planned ? DELETE : CREATE))
				continue;
			expand(comma, i, 0);
			put_object(&kinds[i % KINDS], i, planned);
			comma = ",";
		}
		snprintf(text, sizeof text, "],'address':'module.stack[`region-%" PRIu32 "`]'}",
			 n / OBJECTS_OF_MODULE);
		expand(text, n, 0);
	}
}

static void put_configuration(void)
{
	expand("'configuration':{'provider_config':{'aws':{'name':'aws','full_name':'registry."
	       "terraform.io/hashicorp/aws',"
	       "'expressions':{'region':{'references':['var.region']}}}},'root_module':{'module_"
	       "calls':{'stack':{'source':"
	       "'./"
	       "stack','for_each_expression':{'references':['var.regions']},'module':{'resources':"
	       "[",
	       0, 0);
	for (size_t k = 0; k < KINDS; k++) {
		char text[256];
		snprintf(text, sizeof text,
			 "%s{'address':'%s.%s','mode':'managed','type':'%s','name':'%s','provider_"
			 "config_key':"
			 "'module.stack:aws','expressions':{",
			 k == 0 ? "" : ",", kinds[k].type, names[k], kinds[k].type, names[k]);
		expand(text, 0, 0);
		expand(kinds[k].expressions, 0, 0);
		expand("},'schema_version':1,'count_expression':{'references':['var.count']}}", 0,
		       0);
	}
	expand("],'variables':{'count':{},'image':{},'kms_key':{},'tag':{'default':'1.42'}}}}}}}",
	       0, 0);
}

static void put_plan(uint32_t count)
{
	expand("{'format_version':'1.2','terraform_version':'1.11.4','variables':{'region':{'value'"
	       ":'eu-central-1'}},"
	       "'planned_values':{'root_module':{'child_modules':[",
	       0, 0);
	put_modules(count, 1);
	expand("]}},'resource_changes':[", 0, 0);
	for (uint32_t n = 0; n < count; n++) {
		if (n > 0)
			put(",", 1);
		put_change(&kinds[n % KINDS], n);
	}
	expand("],'prior_state':{'format_version':'1.0','terraform_version':'1.11.4','values':{'"
	       "root_module':{"
	       "'child_modules':[",
	       0, 0);
	put_modules(count, 0);
	expand("]}}},", 0, 0);
	put_configuration();
	expand(",'timestamp':'2026-11-29T22:15:00Z','applyable':true,'complete':true,'errored':"
	       "false}",
	       0, 0);
	put("\n", 1);
}

int main(int argc, char **argv)
{
	uint64_t bytes = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;

	if (bytes == 0) {
		fputs("usage: mkplan BYTES > plan.json\n", stderr);
		return 64;
	}
	put_plan(SAMPLE);
	uint64_t count = bytes * SAMPLE / written;
	out = stdout;
	setvbuf(out, NULL, _IOFBF, BLOCK);
	put_plan(count == 0 ? 1 : (uint32_t)count);
	return fflush(out) == 0 ? 0 : 74;
}
