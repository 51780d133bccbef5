/* Changes to a cluster: what is a name, what is secret, what goes with what. */
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "kplan_cascade.h"
#include "kplan_view.h"
#include "plan_value.h"
#include "secret_mask.h"
#include "secret_text.h"
#include "secret_words.h"
#include "unit.h"

static struct sbx_error err;

/* The tree of TEXT; borrowed. */
static const struct plan_tree *tree(const char *text)
{
	static struct plan_tree made = {.text = BUF_INIT(1 << 16)};

	CHECK(plan_tree_parse(&made, text, strlen(text), &err) == 0);
	return &made;
}

static void test_words(void)
{
	static const char *const secret[] = {"password",
					     "DB_PASSWORD",
					     "apiKey",
					     "API-KEY",
					     "token",
					     "clientSecret",
					     "AWS_SECRET_ACCESS_KEY",
					     "private_key",
					     "credentials",
					     "kubeconfig",
					     "DB_PASS",
					     "smtpPass",
					     "pass",
					     "auth",
					     "GITHUB_PAT",
					     "SENTRY_DSN",
					     "AccountKey",
					     "ConnectionStrings__Default",
					     "DB_PASS_2",
					     "DB_PW",
					     "requirepass",
					     "TOKEN_ACCOUNT",
					     "CARD_PIN",
					     "pin",
					     "password_salt",
					     "hashSalt",
					     "STRIPE_KEY",
					     "APP_KEY",
					     "credentials_profile"};
	static const char *const plain[] = {
		"secretName",	 "tokenPath",	"secretRef",  "TOKEN_URL", "imagePullSecretName",
		"name",		 "image",	"compass",    "key",	   "expirationSeconds",
		"BYPASS",	 "author",	"PATH",	      "pat_th",	   "auth-mode",
		"passes",	 "token_count", "secretfile", "jwt-mode",  "http2",
		"serviceAccount", "PIN_COUNT",	"SPIN",	      "pinned",	   "basalt",
		"saltPath",	 "PUBLIC_KEY",	"CACHE_KEY",  "topologyKey", "_KEY",
		"primary_key",	 "KEY"};
	static const char *const values[] = {"-----BEGIN RSA PRIVATE KEY-----\nx",
					     "see postgres://app:hunter2@db/x",
					     "Bearer eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0.c2ln",
					     "db.user=app\ndb.password=hunter2\n",
					     "{\"password\": \"hunter2\"}",
					     "{\"user\":\"app\",\"password\":\"hunter2\"}",
					     "{\"user\":\"app\",\"password\":42}",
					     "\"{\\\"user\\\":\\\"app\\\",\\\"password\\\":\\\"hunter2\\\"}\"",
					     "host=db user=app password=x",
					     "https://db/x?user=app&password=y",
					     "--set=db.password=x",
					     "the password is: hunter2",
					     "a ghp_0123456789abcdefghijABCDEFGHIJ012345 b",
					     "AKIAIOSFODNN7EXAMPLE",
					     "apiVersion: v1\nkind: Secret\ndata: {a: aHVudGVy}\n",
					     "{\"kind\":\"Secret\",\"data\":{\"a\":\"aHVudGVy\"}}",
					     "\"{\\\"kind\\\": \\\"Secret\\\"}\"",
					     "kind: Secret",
					     "H4sIAAAAAAAA/6pW",
					     "SDRzSUFBQUFBQUFBLzZwVw==",
					     "users:\n- name: a\n  user:\n    client-key-data: LS0t\n",
					     "{\"auths\":{\"r\":{\"auth\":\"YTpi\"}}}",
					     "token: x",
					     "mysqladmin --password hunter2 status",
					     "user:hunter2@tcp(db:3306)/x",
					     "port 1\nrequirepass hunter2\n",
					     "machine h login u password hunter2",
					     "<password>hunter2</password>",
					     "curl -u a:b https://x",
					     "sh -c \"curl --user 'app:hunter2' x\"",
					     "curl --proxy-user=a:b x",
					     "https://0123456789abcdef@sentry.test/1",
					     "https://u:p@h/x",
					     "postgres://app:hunter2@db/x",
					     "{\"kind\":\n\"Secret\"}",
					     "cGFzc3dvcmQ6IGh1bnRlcjI=",
					     "YXBpVmVyc2lvbjogdjEKa2luZDogU2VjcmV0CmRhdGE6IHthOiBiMn0K"};
	static const char *const others[] = {"-----BEGIN CERTIFICATE-----",
					     "http://db:5432/x",
					     "postgres://app@db/x",
					     "eyJh",
					     "a.b.c",
					     "http://a:80 b@c",
					     "a\npassword\n",
					     "passwordFile: /run/x",
					     "{\"user\":\"app\",\"passwordFile\":\"/run/x\"}",
					     "host=db user=app sslmode=require",
					     "https://db/x?user=app&tokenType=y",
					     "--set=db.image=registry/token:1.2",
					     "ghp_short",
					     "token-service:1.2",
					     "kind: SecretStore\n",
					     "kind: ConfigMap\nsecretName: a\n",
					     "a kind Secretary",
					     "H4sI",
					     "clusters:\n- cluster: {server: \"https://a\"}\n",
					     "run --password-file /run/x",
					     "run --token --verbose",
					     "auth login",
					     "port 1\nauthor name\nset a password now\n",
					     "app@tcp(db:3306)/x",
					     "<password></password>",
					     "docker run -u 1000:1000 x",
					     "run --user app --group app",
					     "-u",
					     "curl -u a: x",
					     "ssh://git@host/x",
					     "https://host/a@b",
					     "https://h?to=a@b",
					     "mail a@b of https://host",
					     "https://${TOKEN}@host/x",
					     "x -u http://a:80",
					     "dXNlcm5hbWU6IGh1bnRlcjI="};

	for (size_t i = 0; i < ARRAY_LEN(secret); i++)
		CHECK(secret_words_in(secret[i], strlen(secret[i])));
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		CHECK(!secret_words_in(plain[i], strlen(plain[i])));
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		CHECK(secret_text_is(values[i], strlen(values[i])));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		CHECK(!secret_text_is(others[i], strlen(others[i])));
	CHECK(secret_text_argument("--token=x", 9) == ARGUMENT_WITH_SECRET);
	CHECK(secret_text_argument("TOKEN=x", 7) == ARGUMENT_WITH_SECRET);
	CHECK(secret_text_argument("--token", 7) == ARGUMENT_BEFORE_SECRET);
	CHECK(secret_text_argument("--user=a:b", 10) == ARGUMENT_WITH_SECRET);
	CHECK(secret_text_argument("--user=a", 8) == ARGUMENT_PLAIN);
	CHECK(secret_text_argument("-u", 2) == ARGUMENT_BEFORE_ACCOUNT);
	CHECK(secret_text_argument("token", 5) == ARGUMENT_PLAIN);
	CHECK(secret_text_argument("--listen=token", 14) == ARGUMENT_PLAIN);
}

/* What MASK hides in the object TEXT, as JSON. */
static const char *masked(const char *type_name, const char *text)
{
	static struct buf shown = BUF_INIT(1 << 16);
	struct plan_tree mask;
	struct plan_value value;
	const struct plan_secrets none = {.lengths = 0};
	auto_buf type = BUF_INIT(64);

	buf_reset(&shown);
	plan_tree_init(&mask);
	CHECK(buf_add_str(&type, type_name, &err) == 0 && secret_mask(&mask, tree(text), &type, &err) == 0);
	plan_value_take(&value, &mask, plan_tree_root(&mask));
	CHECK(plan_value_show(&value, &none, &shown, &err) == 0);
	plan_tree_clear(&mask);
	return buf_str(&shown);
}

static void test_mask(void)
{
	CHECK_STR(masked("ConfigMap", "{\"data\":{\"a\":\"b\"}}"), "(nothing)");
	CHECK_STR(masked("Secret", "{\"data\":{\"a\":\"b\"}}"),
		  "{\"data\":true,\"stringData\":true,\"metadata\":{\"annotations\":true}}");
	CHECK_STR(masked("ConfigMap", "{\"data\":{\"a\":\"b\",\"password\":\"x\"}}"), "{\"data\":{\"password\":true}}");
	CHECK_STR(masked("Pod", "{\"env\":[{\"name\":\"A\",\"value\":\"b\"},{\"name\":\"TOKEN\",\"value\":\"c\"}]}"),
		  "{\"env\":[false,{\"value\":true}]}");
	CHECK_STR(masked("Pod", "{\"args\":[\"--token\",\"x\",\"y\",\"--key=z\",\"--password=z\"]}"),
		  "{\"args\":[false,true,false,false,true]}");
	CHECK_STR(masked("Pod", "{\"args\":[\"-u\",\"a:b\",\"-u\",\"1000:1000\",\"--user\",\"a\",\"a:b\"]}"),
		  "{\"args\":[false,true,false,false,false,false,false]}");
	CHECK_STR(masked("Pod", "{\"env\":[{\"name\":\"A_URL\",\"value\":\"https://u:p@h\"},{\"name\":\"B_URL\",\"value\":"
				"\"https://h:80/p\"},{\"name\":\"PIN\",\"value\":\"1234\"},{\"name\":\"SPIN\",\"value\":\"1\"}]}"),
		  "{\"env\":[{\"value\":true},false,{\"value\":true},false]}");
	/* Names of secrets are none. */
	CHECK_STR(masked("Pod", "{\"volumes\":[{\"name\":\"token\",\"secret\":{\"secretName\":\"db\"}}]}"),
		  "(nothing)");
	/* A whole object is not hidden because of its name. */
	CHECK_STR(masked("Widget.example.com", "{\"spec\":{\"secret\":{\"size\":1,\"token\":\"x\"}}}"),
		  "{\"spec\":{\"secret\":{\"token\":true}}}");
	CHECK_STR(masked("List.example.com", "{\"items\":[{\"kind\":\"ConfigMap\",\"data\":{\"a\":\"b\"}},"
					     "{\"kind\":\"Secret\",\"data\":{\"a\":\"b\"},\"type\":\"c\"}]}"),
		  "{\"items\":[false,{\"data\":true}]}");
	CHECK_STR(masked("Object.example.com",
			 "{\"spec\":{\"manifest\":{\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"},"
			 "\"stringData\":{\"a\":\"b\"}}}}"),
		  "{\"spec\":{\"manifest\":{\"metadata\":{\"annotations\":true},\"stringData\":true}}}");
	/* What only names one is none. */
	CHECK_STR(masked("Binding.example.com", "{\"spec\":{\"ref\":{\"kind\":\"Secret\",\"name\":\"db\"}}}"),
		  "(nothing)");
	CHECK_STR(masked("ConfigMap",
			 "{\"data\":{\"release\":\"H4sIAAAAAAAA/6pW\",\"a\":\"b\"},\"binaryData\":{\"c\":\"AAEC\"}}"),
		  "{\"data\":{\"release\":true},\"binaryData\":true}");
	CHECK_STR(masked("Pod", "{\"metadata\":{\"annotations\":{\"kapp.k14s.io/original\":\"{}\",\"kapp.k14s.io/"
				"identity\":\"v1\"}}}"),
		  "{\"metadata\":{\"annotations\":{\"kapp.k14s.io/original\":true}}}");
	CHECK_STR(masked("Pod", "{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/"
				"last-applied-configuration\":\"{}\"}}}"),
		  "{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":true}}}");
}

static void test_prune(void)
{
	static const char text[] =
		"{\"status\":{\"a\":[1,2]},\"metadata\":{\"uid\":\"u\",\"name\":\"n\",\"managedFields\":[{}],"
		"\"labels\":{\"b\":\"c\"}},\"spec\":{\"status\":[3,{\"uid\":4}]}}";
	static const char left[] =
		"{\"metadata\":{\"name\":\"n\",\"labels\":{\"b\":\"c\"}},\"spec\":{\"status\":[3,{\"uid\":4}]}}";
	static const char with_status[] =
		"{\"status\":{\"a\":[1,2]},\"metadata\":{\"name\":\"n\",\"labels\":{\"b\":\"c\"}},"
		"\"spec\":{\"status\":[3,{\"uid\":4}]}}";
	struct plan_tree pruned, expected;
	struct kplan_view view = {.tree = {.count = 0}};
	static const char *const spec[] = {"spec", NULL};

	plan_tree_init(&pruned);
	plan_tree_init(&expected);
	CHECK(kplan_prune(&pruned, tree(text), STATUS_GOES, &err) == 0);
	CHECK(plan_tree_parse(&expected, left, sizeof left - 1, &err) == 0);
	CHECK(pruned.count == expected.count);
	CHECK(plan_tree_equal(&pruned, plan_tree_root(&pruned), &expected, plan_tree_root(&expected)));
	/* Byte for byte what a parser would have made: digests of both are the same. */
	CHECK(pruned.text.len == expected.text.len &&
	      memcmp(pruned.text.data, expected.text.data, expected.text.len) == 0);
	CHECK(kplan_prune(&pruned, tree(text), STATUS_STAYS, &err) == 0);
	CHECK(plan_tree_parse(&expected, with_status, sizeof with_status - 1, &err) == 0);
	CHECK(plan_tree_equal(&pruned, plan_tree_root(&pruned), &expected, plan_tree_root(&expected)));
	CHECK(kplan_view_take(&view, &pruned, kplan_at(&pruned, spec), &err) == 0);
	CHECK(view.tree.count == 5 && plan_tree_root(&view.tree)->kind == PLAN_OBJECT);
	CHECK(plan_tree_equal(&view.tree, plan_tree_root(&view.tree), &expected, kplan_at(&expected, spec)));
	CHECK(kplan_view_take(&view, &pruned, NULL, &err) == 0 && plan_tree_root(&view.tree) == NULL);
	kplan_view_clear(&view);
	plan_tree_clear(&pruned);
	plan_tree_clear(&expected);
}

/* Owners in a chain of COUNT objects, the last of which is given first: the work grows with their number. */
static void test_long_chain(void)
{
	enum { COUNT = 20000 };
	auto_buf text = BUF_INIT(64 << 20);
	struct kplan_cascade cascade;
	struct kplan_entry entry;
	struct kplan_lines lines;
	struct kplan_way way;
	int going = 0, noted = 0;

	for (int i = COUNT; i > 0; i--)
		buf_addf(&text, &err,
			 "{\"beside\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c%d\","
			 "\"uid\":\"%d\","
			 "\"ownerReferences\":[{\"uid\":\"%d\",\"name\":\"c%d\"}]}}}\n",
			 i, i, i - 1, i - 1);
	buf_add_str(&text,
		    "{\"live\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c0\",\"uid\":"
		    "\"0\"}},\"planned\":null}\n",
		    &err);
	auto_fd fd = io_sealed_memfd("changes", text.data, text.len, &err);
	kplan_entry_init(&entry);
	kplan_cascade_init(&cascade);
	for (int pass = 0; pass < 2; pass++) {
		CHECK(kplan_lines_init(&lines, fd, &err) == 0);
		while (kplan_entry_read(&entry, &lines, &err) == 1)
			if (pass == 0)
				noted += kplan_cascade_note(&cascade, &entry, &err) == 0;
			else if (entry.kind == KPLAN_BESIDE)
				going += kplan_cascade_takes(&cascade, &entry, &way, &err);
		CHECK(err.class == SBX_OK);
		CHECK(kplan_cascade_settle(&cascade, &err) == 0);
		kplan_lines_clear(&lines);
	}
	CHECK(noted == COUNT + 1 && going == COUNT);
	CHECK(way.count == 4 && way.places[2].index == 0 && strcmp(way.places[3].name, "name") == 0);
	kplan_cascade_clear(&cascade);
	kplan_entry_clear(&entry);
}

int main(void)
{
	test_words();
	test_mask();
	test_prune();
	test_long_chain();
	return unit_done();
}
