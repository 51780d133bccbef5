/* Words of a scope: what one is, what it becomes in a Role, and what it gives away. */
#include "permission.h"

#include "unit.h"

static void test_words(void)
{
	static const struct {
		const char *word, *resource, *group, *verb; /* RESOURCE NULL: it is none */
	} rows[] = {
		{"pods:get", "pods", "", "get"},
		{"pods/log:get", "pods/log", "", "get"},
		{"deployments.apps:patch", "deployments", "apps", "patch"},
		{"deployments.apps/scale:update", "deployments/scale", "apps", "update"},
		{"ingresses.networking.k8s.io:list", "ingresses", "networking.k8s.io", "list"},
		{"*:get", NULL, NULL, NULL},
		{"pods:*", NULL, NULL, NULL},
		{"pods", NULL, NULL, NULL},
		{":get", NULL, NULL, NULL},
		{"pods:", NULL, NULL, NULL},
		{"pods:get:list", NULL, NULL, NULL},
		{"pods/:get", NULL, NULL, NULL},
		{"pods.:get", NULL, NULL, NULL},
		{"pods/a/b:get", NULL, NULL, NULL},
		{"pods:get list", NULL, NULL, NULL},
		{"Pods:get", NULL, NULL, NULL},
		{"pods:GET", NULL, NULL, NULL},
		{"pods\n:get", NULL, NULL, NULL},
		{"", NULL, NULL, NULL},
	};
	struct permission permission;
	char longest[PERMISSION_MAX + 8];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int result = permission_parse(rows[i].word, &permission);
		CHECK(result == (rows[i].resource != NULL ? 0 : -1));
		if (result < 0 || rows[i].resource == NULL)
			continue;
		CHECK_STR(permission.resource, rows[i].resource);
		CHECK_STR(permission.group, rows[i].group);
		CHECK_STR(permission.verb, rows[i].verb);
	}
	CHECK(permission_parse(NULL, &permission) < 0);
	memset(longest, 'a', sizeof longest);
	memcpy(longest + PERMISSION_MAX - 5, ":get", 5);
	CHECK(permission_parse(longest, &permission) == 0);
	memset(longest, 'a', sizeof longest);
	memcpy(longest + PERMISSION_MAX - 4, ":get", 5);
	CHECK(permission_parse(longest, &permission) < 0);
}

static void test_kinds(void)
{
	static const struct {
		const char *word;
		int only_reads, reads_secrets;
	} rows[] = {
		{"pods:get", 1, 0},
		{"pods:list", 1, 0},
		{"pods:watch", 1, 0},
		{"pods:delete", 0, 0},
		{"deployments.apps:patch", 0, 0},
		{"secrets:get", 1, 1},
		{"secrets:list", 1, 1},
		{"secrets:create", 0, 0},
		{"pods/exec:get", 0, 1},
		{"pods/exec:create", 0, 1},
		{"pods/log:get", 1, 0},
		{"serviceaccounts/token:create", 0, 1},
		{"services/proxy:get", 0, 0},
	};
	struct permission permission;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK(permission_parse(rows[i].word, &permission) == 0);
		CHECK(permission_only_reads(&permission) == rows[i].only_reads);
		CHECK(permission_reads_secrets(&permission) == rows[i].reads_secrets);
	}
}

static void test_rules(void)
{
	static const char *const words[] = {"pods:get", "deployments.apps:get", "pods:list", "*",
					    "pods.example.com:get"};
	jv list = jv_array();
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf out = BUF_INIT(1000);

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		list = json_append(list, jv_string(words[i]));
	auto_jv owned = list, rules = permission_rules(owned);
	CHECK(json_write(rules, &out, &err) == 0);
	CHECK_STR(buf_str(&out), "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\",\"list\"]},"
				 "{\"apiGroups\":[\"apps\"],\"resources\":[\"deployments\"],\"verbs\":[\"get\"]},"
				 "{\"apiGroups\":[\"example.com\"],\"resources\":[\"pods\"],\"verbs\":[\"get\"]}]");
}

int main(void)
{
	test_words();
	test_kinds();
	test_rules();
	return unit_done();
}
