/* Signal rules: what each test, path and condition says of a change. */
#include "signal.h"

static void test_is(void)
{
	static const char words[] = "when: {at: a, is: [x, 3, true, 'null', '', '2.50']}";

	CHECK_STR(made(words, "{'a':'x'}"), "yes a");
	CHECK_STR(made(words, "{'a':'X'}"), "no");
	CHECK_STR(made(words, "{'a':'xx'}"), "no");
	CHECK_STR(made(words, "{'a':3}"), "yes a");
	CHECK_STR(made(words, "{'a':'3'}"), "yes a");
	CHECK_STR(made(words, "{'a':3.0}"), "yes a");
	CHECK_STR(made(words, "{'a':'3.0'}"), "yes a");
	CHECK_STR(made(words, "{'a':0.3e1}"), "yes a");
	CHECK_STR(made(words, "{'a':3.00000000000000000000000001}"), "no");
	CHECK_STR(made(words, "{'a':-3}"), "no");
	CHECK_STR(made(words, "{'a':2.5}"), "yes a");
	CHECK_STR(made(words, "{'a':'2.50'}"), "yes a");
	/* Two texts are no numbers: versions. */
	CHECK_STR(made(words, "{'a':'2.5'}"), "no");
	CHECK_STR(made(words, "{'a':true}"), "yes a");
	CHECK_STR(made(words, "{'a':'true'}"), "yes a");
	CHECK_STR(made(words, "{'a':false}"), "no");
	CHECK_STR(made(words, "{'a':null}"), "yes a");
	CHECK_STR(made(words, "{}"), "yes a");
	CHECK_STR(made(words, "{'a':''}"), "yes a");
	CHECK_STR(made(words, "{'a':['x']}"), "no");
	CHECK_STR(made(words, "{'a':{}}"), "no");
	CHECK_STR(made("when: {at: a, is: [false]}", "{'a':'false'}"), "yes a");
	CHECK_STR(made("when: {at: a, is: [false]}", "{}"), "no");
	/* A string with a NUL is not what stands before it. */
	CHECK_STR(made("when: {at: a, is: [x]}", "{'a':'x\\u0000'}"), "no");
	CHECK_STR(made("when: {at: a, is: [9007199254740991]}", "{'a':9007199254740991}"), "yes a");
	CHECK_STR(made("when: {at: a, is: [9007199254740991]}", "{'a':9007199254740991.5}"), "no");
	CHECK_STR(made("when: {at: a, is: ['123456789012345678901234567890']}",
		       "{'a':123456789012345678901234567890}"),
		  "yes a");
	CHECK_STR(made("when: {at: a, is: ['123456789012345678901234567890']}",
		       "{'a':123456789012345678901234567891}"),
		  "no");
}

static void test_like(void)
{
	static const char like[] = "when: {at: a, like: [\"*:Get*\", \"s\\\\*\", a*b*c]}";

	CHECK_STR(made(like, "{'a':'s3:GetObject'}"), "yes a");
	CHECK_STR(made(like, "{'a':':Get'}"), "yes a");
	CHECK_STR(made(like, "{'a':'s3:get'}"), "no");
	CHECK_STR(made(like, "{'a':'s3:PutGet'}"), "no");
	CHECK_STR(made(like, "{'a':'s*'}"), "yes a");
	CHECK_STR(made(like, "{'a':'sx'}"), "no");
	CHECK_STR(made(like, "{'a':'abcbcbc'}"), "yes a");
	CHECK_STR(made(like, "{'a':'abcbcb'}"), "no");
	CHECK_STR(made(like, "{'a':5}"), "no");
	CHECK_STR(made(like, "{}"), "no");
	CHECK_STR(made("when: {at: a, like: ['*']}", "{'a':''}"), "yes a");
	CHECK_STR(made("when: {at: a, like: ['*']}", "{'a':7}"), "no");
	CHECK_STR(made("when: {at: a, like_nocase: ['*:get*']}", "{'a':'s3:GetObject'}"), "yes a");
	CHECK_STR(made("when: {at: a, like_nocase: ['*:GET*']}", "{'a':'s3:getObject'}"), "yes a");
	CHECK_STR(made("when: {at: a, like_nocase: ['*:get*']}", "{'a':'s3:Put'}"), "no");
	/* [ and { are 32 apart, and no letters. */
	CHECK_STR(made("when: {at: a, like_nocase: ['x[']}", "{'a':'X{'}"), "no");
	CHECK_STR(made("when: {at: 'a[*]', unlike: ['Get*', 'List*']}", "{'a':['GetX','Put']}"),
		  "yes a[1]");
	CHECK_STR(made("when: {at: 'a[*]', unlike: ['Get*', 'List*']}", "{'a':['GetX','List']}"),
		  "no");
	CHECK_STR(made("when: {at: 'a[*]', unlike: ['Get*']}", "{'a':['get']}"), "yes a[0]");
	CHECK_STR(made("when: {at: 'a[*]', unlike_nocase: ['Get*']}", "{'a':['get']}"), "no");
	CHECK_STR(made("when: {at: a, unlike_nocase: ['Get*']}", "{}"), "no");
}

static void test_set(void)
{
	static const char set[] = "when: {at: a, set: true}", unset[] = "when: {at: a, set: false}";
	static const char *const nothing[] = {"{}", "{'a':null}", "{'a':''}", "{'a':[]}",
					      "{'a':{}}"};
	static const char *const something[] = {"{'a':false}", "{'a':0}", "{'a':'x'}",
						"{'a':[null]}", "{'a':{'b':null}}"};

	for (size_t i = 0; i < ARRAY_LEN(nothing); i++) {
		CHECK_STR(made(set, nothing[i]), "no");
		CHECK_STR(made(unset, nothing[i]), "yes a");
	}
	for (size_t i = 0; i < ARRAY_LEN(something); i++) {
		CHECK_STR(made(set, something[i]), "yes a");
		CHECK_STR(made(unset, something[i]), "no");
	}
	/* Something in it is not known yet. */
	CHECK_STR(ask(unset, NULL, "{'a':{}}", "{'a':{'b':true}}"), "unknown a");
	CHECK_STR(ask(set, NULL, "{'a':[{}]}", "{'a':[{'b':true}]}"), "yes a");
	CHECK_STR(ask(unset, NULL, "{'a':[{}]}", "{'a':[{'b':true}]}"), "no");
}

static void test_numbers(void)
{
	static const char below[] = "when: {at: a, below: 7}", above[] = "when: {at: a, above: -2}";

	CHECK_STR(made(below, "{'a':6}"), "yes a");
	CHECK_STR(made(below, "{'a':'6'}"), "yes a");
	CHECK_STR(made(below, "{'a':6.999}"), "yes a");
	CHECK_STR(made(below, "{'a':-1e400}"), "yes a");
	CHECK_STR(made(below, "{'a':7}"), "no");
	CHECK_STR(made(below, "{'a':7.0}"), "no");
	CHECK_STR(made(below, "{'a':1e400}"), "no");
	CHECK_STR(made(below, "{'a':'six'}"), "no");
	CHECK_STR(made(below, "{'a':'6 '}"), "no");
	CHECK_STR(made(below, "{'a':'06'}"), "no");
	CHECK_STR(made(below, "{'a':null}"), "no");
	CHECK_STR(made(below, "{'a':false}"), "no");
	CHECK_STR(made(below, "{}"), "no");
	CHECK_STR(made(above, "{'a':-1}"), "yes a");
	CHECK_STR(made(above, "{'a':0}"), "yes a");
	CHECK_STR(made(above, "{'a':-2}"), "no");
	CHECK_STR(made(above, "{'a':'-3'}"), "no");
}

static void test_prefix(void)
{
	static const char wide[] = "when: {at: a, prefix_below: 8}";
	static const char *const yes[] = {
		"0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1", "1.2.3.4/0", "10.0.0.0/7",
		"::/0",	     "2000::/3",  "fd00::/8",	 "::/31",     "::ffff:0.0.0.0/96"};
	static const char *const no[] = {
		"10.0.0.0/8", "10.0.0.0/24", "::/32", "2001:db8::/32", "0.0.0.0", "::", "any", "",
		"::ffff:10.0.0.0/104"};
	/* No block to us, and perhaps one to somebody else. */
	static const char *const odd[] = {"0.0.0.0/", "0.0.0.0/33", "::/129", "0/0", "/0", "0.0.0.0/-1", "::/0/0",
					  "0.0.0.0/0\\u0000"};
	char json[128];

	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		snprintf(json, sizeof json, "{'a':'%s'}", yes[i]);
		CHECK_STR(made(wide, json), "yes a");
	}
	for (size_t i = 0; i < ARRAY_LEN(no); i++) {
		snprintf(json, sizeof json, "{'a':'%s'}", no[i]);
		CHECK_STR(made(wide, json), "no");
	}
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		snprintf(json, sizeof json, "{'a':'%s'}", odd[i]);
		CHECK_STR(made(wide, json), "unknown a");
	}
	CHECK_STR(made(wide, "{'a':0}"), "no");
	CHECK_STR(made(wide, "{}"), "no");
}

static void test_compared(void)
{
	static const char shrinks[] = "when: {at: 'a[*].n', shrinks: true}",
			  grows[] = "when: {at: a, grows: true}";
	static const char changes[] = "when: {at: a, changes: true}";

	CHECK_STR(ask(shrinks, "{'a':[{'n':5}]}", "{'a':[{'n':4}]}", NULL), "yes a[0].n");
	CHECK_STR(ask(shrinks, "{'a':[{'n':'5'}]}", "{'a':[{'n':'0'}]}", NULL), "yes a[0].n");
	CHECK_STR(ask(shrinks, "{'a':[{'n':'10'}]}", "{'a':[{'n':9}]}", NULL), "yes a[0].n");
	CHECK_STR(ask(shrinks, "{'a':[{'n':5}]}", "{'a':[{'n':5.0}]}", NULL), "no");
	CHECK_STR(ask(shrinks, "{'a':[{'n':5}]}", "{'a':[{'n':6}]}", NULL), "no");
	CHECK_STR(ask(shrinks, "{'a':[{'n':5}]}", "{'a':[{'n':null}]}", NULL), "no");
	CHECK_STR(ask(shrinks, "{'a':[{'n':5}]}", "{'a':[]}", NULL), "no");
	CHECK_STR(ask(shrinks, "{'a':[]}", "{'a':[{'n':1}]}", NULL), "no");
	CHECK_STR(ask(shrinks, "{'a':[{'n':1},{'n':7}]}", "{'a':[{'n':1},{'n':6}]}", NULL),
		  "yes a[1].n");
	CHECK_STR(ask(shrinks, "{'a':{'n':7}}", "{'a':[{'n':6}]}", NULL), "yes a[0].n");
	CHECK_STR(ask(shrinks, "{'a':[{'n':7}]}", "{'a':{'n':6}}", NULL), "yes a.n");
	CHECK_STR(made(shrinks, "{'a':[{'n':1}]}"), "no");
	CHECK_STR(ask_as(shrinks, SIGNAL_ON_REPLACE, "{'a':[{'n':5}]}", "{'a':[{'n':4}]}", NULL),
		  "yes a[0].n");
	CHECK_STR(ask(grows, "{'a':5}", "{'a':6}", NULL), "yes a");
	CHECK_STR(ask(grows, "{'a':6}", "{'a':5}", NULL), "no");
	CHECK_STR(ask(grows, "{'a':null}", "{'a':5}", NULL), "no");

	CHECK_STR(ask(changes, "{'a':{'x':1,'y':2}}", "{'a':{'y':2,'x':1}}", NULL), "no");
	CHECK_STR(ask(changes, "{'a':{'x':1}}", "{'a':{'x':2}}", NULL), "yes a");
	CHECK_STR(ask(changes, "{'a':1}", "{}", NULL), "yes a");
	CHECK_STR(ask(changes, "{}", "{'a':1}", NULL), "yes a");
	CHECK_STR(ask(changes, "{}", "{'a':null}", NULL), "no");
	CHECK_STR(ask(changes, "{'a':''}", "{'a':null}", NULL), "no");
	CHECK_STR(ask(changes, "{'a':3}", "{'a':'3.0'}", NULL), "no");
	CHECK_STR(made(changes, "{'a':1}"), "no");
	CHECK_STR(ask("when: {at: 'a[*]', changes: true}", "{'a':'x'}", "{'a':[]}", NULL), "yes a");
	CHECK_STR(ask("when: {at: 'a[*]', changes: true}", "{'a':'x'}", "{'a':['x']}", NULL), "no");
	CHECK_STR(ask("when: {at: 'a[*]', changes: true}", "{'a':[1,2]}", "{'a':[1]}", NULL),
		  "yes a[1]");
	CHECK_STR(
		ask("when: {at: a.*, changes: true}", "{'a':{'x':1,'y':2}}", "{'a':{'y':2}}", NULL),
		"yes a.x");
	CHECK_STR(ask("when: {at: a.*, changes: true}", "{'a':{'x':1,'y':2}}",
		      "{'a':{'y':2,'x':1}}", NULL),
		  "no");
}

static void test_appears(void)
{
	static const char ports[] = "when: {at: 'allow[*].ports[*]', appears: true}";

	CHECK_STR(ask(ports, "{'allow':[{'ports':['22','80']}]}",
		      "{'allow':[{'ports':['80']},{'ports':['22']}]}", NULL),
		  "no");
	CHECK_STR(ask(ports, "{'allow':[{'ports':['22','80']}]}",
		      "{'allow':[{'ports':['80','443']}]}", NULL),
		  "yes allow[0].ports[1]");
	CHECK_STR(ask(ports, "{'allow':[]}", "{'allow':[{'ports':['80']}]}", NULL),
		  "yes allow[0].ports[0]");
	CHECK_STR(ask(ports, "{'allow':[{'ports':['22']}]}", "{'allow':[{'ports':[]}]}", NULL),
		  "no");
	CHECK_STR(made(ports, "{'allow':[{'ports':['80']}]}"), "no");
	CHECK_STR(ask(ports, "{'allow':[{'ports':['22']}]}", "{'allow':[{'ports':[null]}]}",
		      "{'allow':[{'ports':[true]}]}"),
		  "unknown allow[0].ports[0]");
	CHECK_STR(ask("when: {at: 's[*]', appears: true}", "{'s':[{'a':1,'b':2}]}",
		      "{'s':[{'b':2,'a':1}]}", NULL),
		  "no");
	CHECK_STR(ask("when: {at: 's[*]', appears: true}", "{'s':[{'a':1,'b':2}]}",
		      "{'s':[{'b':2}]}", "{'s':[{'a':true}]}"),
		  "unknown s[0]");
	CHECK_STR(ask("when: {at: 's[*]', appears: true, known: true}", "{'s':[1]}", "{'s':[null]}",
		      "{'s':[true]}"),
		  "no");
	CHECK_STR(ask("when: {at: 'p.@json.S[*]', appears: true}", "{'p':'{`S`:[1,2]}'}",
		      "{'p':'{`S`:[2]}'}", NULL),
		  "no");
	CHECK_STR(ask("when: {at: 'p.@json.S[*]', appears: true}", "{'p':'{`S`:[1,2]}'}",
		      "{'p':'{`S`:[3]}'}", NULL),
		  "yes p");
	CHECK_STR(ask("when: {at: 'p.@json.S[*]', appears: true}", "{'p':'{'}", "{'p':'{`S`:[3]}'}",
		      NULL),
		  "unknown p");
	CHECK_STR(ask("each: 'g[*]', key: [id], when: {at: 'v[*]', appears: true}",
		      "{'g':[{'id':1,'v':[1]},{'id':2,'v':[2]}]}",
		      "{'g':[{'id':2,'v':[2]},{'id':1,'v':[2,1]}]}", NULL),
		  "yes g[1].v[0]");
}

static void test_paths(void)
{
	CHECK_STR(made("when: {at: a.b, is: [1]}", "{'a':{'b':1}}"), "yes a.b");
	CHECK_STR(made("when: {at: a.b, is: [1]}", "{'a':[{'b':1}]}"), "no");
	CHECK_STR(made("when: {at: 'a[*].b', is: [1]}", "{'a':[{'b':0},{'b':1}]}"), "yes a[1].b");
	CHECK_STR(made("when: {at: 'a[*].b', is: [1]}", "{'a':{'b':1}}"), "yes a.b");
	CHECK_STR(made("when: {at: 'a[*]', is: [1]}", "{'a':1}"), "yes a");
	CHECK_STR(made("when: {at: 'a[*]', is: [1]}", "{'a':[[1]]}"), "no");
	CHECK_STR(made("when: {at: 'a[1]', is: [1]}", "{'a':[0,1]}"), "yes a[1]");
	CHECK_STR(made("when: {at: 'a[1]', is: [1]}", "{'a':[1]}"), "no");
	CHECK_STR(made("when: {at: a.*, is: [1]}", "{'a':{'x':0,'y':1}}"), "yes a.y");
	CHECK_STR(made("when: {at: a.*, is: [1]}", "{'a':[1]}"), "no");
	CHECK_STR(made("when: {at: .*, is: [1]}", "{'z':1}"), "yes z");
	CHECK_STR(made("when: {at: \"a[\\\"b.c\\\"]\", is: [1]}", "{'a':{'b.c':1}}"), "yes a.b.c");
	CHECK_STR(made("when: {at: \"[\\\"a\\\\\\\"]\\\"].b\", is: [1]}", "{'a`]':{'b':1}}"),
		  "yes a\"].b");
	CHECK_STR(made("when: {at: a-b, is: [1]}", "{'a-b':1}"), "yes a-b");
	CHECK_STR(made("when: {at: ., set: true}", "{'a':1}"), "yes");
	/* Nothing there, and nothing in it, are the same. */
	CHECK_STR(made("when: {at: 'a[*].b', set: false}", "{'a':[]}"), "yes a");
	CHECK_STR(made("when: {at: 'a[*].b', set: false}", "{'a':null}"), "yes a");
	CHECK_STR(made("when: {at: 'a[*].b', set: false}", "{}"), "yes a");
	CHECK_STR(made("when: {at: 'a[*].b', set: false}", "{'a':[{'b':1}]}"), "no");
	CHECK_STR(made("when: {at: 'a[*].b', set: false}", "{'a':[{'b':1},{}]}"), "yes a[1].b");
	CHECK_STR(made("when: {at: a.*.b, set: false}", "{'a':{}}"), "yes a");
}

static void test_documents(void)
{
	static const char allow[] = "when: {at: 'policy.@json.Statement[*].Effect', is: [Allow]}";
	static const char two[] = "when: {at: 'a[*].@json.b.@json.c', is: [1]}";

	CHECK_STR(made(allow, "{'policy':'{`Statement`:[{`Effect`:`Allow`}]}'}"), "yes policy");
	CHECK_STR(made(allow, "{'policy':'{`Statement`:{`Effect`:`Allow`}}'}"), "yes policy");
	CHECK_STR(made(allow, "{'policy':'{`Statement`:[{`Effect`:`Deny`}]}'}"), "no");
	CHECK_STR(made(allow, "{'policy':{'Statement':{'Effect':'Allow'}}}"), "yes policy");
	CHECK_STR(made(allow, "{'policy':'{`Statement`:['}"), "unknown policy");
	CHECK_STR(made(allow, "{'policy':'Allow'}"), "unknown policy");
	/* Two readers may take different ones of two equal names. */
	CHECK_STR(made(allow, "{'policy':'{`Statement`:[],`Statement`:[]}'}"), "unknown policy");
	CHECK_STR(made(allow, "{'policy':''}"), "no");
	CHECK_STR(made(allow, "{'policy':null}"), "no");
	CHECK_STR(made(allow, "{}"), "no");
	CHECK_STR(ask(allow, "{'policy':'{}'}", "{}", "{'policy':true}"), "unknown policy");
	CHECK_STR(ask(allow, "{'policy':'{`Statement`:{`Effect`:`Allow`}}'}", "{}",
		      "{'policy':true}"),
		  "no");
	CHECK_STR(ask(allow, "{'policy':'nonsense','x':1}", "{'policy':'nonsense','x':2}", NULL),
		  "no");
	CHECK_STR(ask(allow, "{'policy':'nonsense'}",
		      "{'policy':'{`Statement`:{`Effect`:`Allow`}}'}", NULL),
		  "unknown policy");
	CHECK_STR(ask(allow, "{'policy':'nonsense'}", "{'policy':'{}'}", NULL), "no");
	CHECK_STR(made(two, "{'a':['{`b`:`{~c~:0}`}','{`b`:"
			    "`{~c~:1}`}']}"),
		  "yes a[1]");
	CHECK_STR(made(two, "{'a':['{`b`:`{~c~:0}`}']}"), "no");
	CHECK_STR(ask("when: {at: p.@json.n, shrinks: true}", "{'p':'{`n`:5}'}", "{'p':'{`n`:4}'}",
		      NULL),
		  "yes p");
	CHECK_STR(ask("when: {at: p.@json.n, shrinks: true}", "{'p':'{`n`:5}'}", "{'p':'{`n`:5}'}",
		      NULL),
		  "no");
	CHECK_STR(ask("when: {at: p.@json, changes: true}", "{'p':'{`n`:5}'}", "{'p':'{ `n`: 5 }'}",
		      NULL),
		  "no");
	CHECK_STR(ask("when: {at: p.@json, changes: true}", "{'p':'{`n`:5}'}", "{'p':'{}'}", NULL),
		  "yes p");
}

static void test_conditions(void)
{
	static const char all[] = "when: {all: [{at: a, is: [1]}, {at: b, is: [1]}]}";
	static const char any[] = "when: {any: [{at: a, is: [1]}, {at: b, is: [1]}]}";
	static const char none[] = "when: {none: [{at: a, is: [1]}, {at: b, is: [1]}]}";

	CHECK_STR(made(all, "{'a':1,'b':1}"), "yes b");
	CHECK_STR(made(all, "{'a':1,'b':0}"), "no");
	CHECK_STR(made(any, "{'a':0,'b':1}"), "yes b");
	CHECK_STR(made(any, "{'a':1,'b':1}"), "yes a");
	CHECK_STR(made(any, "{'a':0,'b':0}"), "no");
	CHECK_STR(made(none, "{'a':0,'b':0}"), "yes");
	CHECK_STR(made(none, "{'a':0,'b':1}"), "no");
	/* What is not known matters only where it decides. */
	CHECK_STR(ask(all, NULL, "{'a':0}", "{'b':true}"), "no");
	CHECK_STR(ask(all, NULL, "{'a':1}", "{'b':true}"), "unknown b");
	CHECK_STR(ask(any, NULL, "{'a':1}", "{'b':true}"), "yes a");
	CHECK_STR(ask(any, NULL, "{'a':0}", "{'b':true}"), "unknown b");
	CHECK_STR(ask(none, NULL, "{'a':1}", "{'b':true}"), "no");
	CHECK_STR(ask(none, NULL, "{'a':0}", "{'b':true}"), "unknown b");
	/* Of two places that are needed both, the one that changes is shown. */
	CHECK_STR(ask(all, "{'a':0,'b':1}", "{'a':1,'b':1}", NULL), "yes a");
	CHECK_STR(ask(all, "{'a':1,'b':0}", "{'a':1,'b':1}", NULL), "yes b");
	CHECK_STR(made("when: {all: [{any: [{all: [{none: [{at: a, is: [2]}]}]}]}, {at: a, is: "
		       "[1]}]}",
		       "{'a':1}"),
		  "yes a");
}

static void test_newly(void)
{
	static const char rule[] = "when: {at: a, is: [1]}";
	static const char was[] = "when: {all: [{was: a, is: [0]}, {at: a, is: [1]}]}";

	CHECK_STR(ask(rule, "{'a':0}", "{'a':1}", NULL), "yes a");
	CHECK_STR(ask(rule, "{'a':1,'b':0}", "{'a':1,'b':1}", NULL), "no");
	CHECK_STR(ask(rule, "{'a':1}", "{'a':0}", NULL), "no");
	CHECK_STR(ask(rule, "null", "{'a':1}", NULL), "yes a");
	CHECK_STR(ask_as(rule, SIGNAL_ON_REPLACE, "{'a':0}", "{'a':1}", NULL), "yes a");
	CHECK_STR(ask_as(rule, SIGNAL_ON_REPLACE, "{'a':1}", "{'a':1}", NULL), "no");
	CHECK_STR(ask(rule, "{'a':0}", "{}", "{'a':true}"), "unknown a");
	CHECK_STR(ask(rule, "{'a':1}", "{}", "{'a':true}"), "no");
	CHECK_STR(ask(was, "{'a':0}", "{'a':1}", NULL), "yes a");
	CHECK_STR(ask(was, "{'a':2}", "{'a':1}", NULL), "no");
	CHECK_STR(made(was, "{'a':1}"), "no");
	/* With was the rule says itself what is new. */
	CHECK_STR(ask("when: {was: a, is: [1]}", "{'a':1}", "{'a':1}", NULL), "yes a");
	CHECK_STR(made("when: {was: a, set: false}", "{'a':1}"), "yes a");
	/* Without a condition a rule is met by every change. */
	CHECK_STR(ask("actions: [update]", "{'a':1}", "{'a':1}", NULL), "yes");
}

static void test_actions(void)
{
	static const char gone[] = "actions: [delete], when: {at: a, is: [1]}",
			  upd[] = "actions: [update], when: {at: a, is: [1]}";

	CHECK_STR(ask("when: {at: a, is: [1]}", "{'a':1}", NULL, NULL), "no");
	CHECK_STR(ask(gone, "{'a':1}", NULL, NULL), "yes a");
	CHECK_STR(ask(gone, "{'a':0}", NULL, NULL), "no");
	CHECK_STR(ask(gone, "{'a':0}", "{'a':1}", NULL), "no");
	CHECK_STR(ask("actions: [delete], when: {was: a, is: [1]}", "{'a':1}", NULL, NULL), "yes a");
	CHECK_STR(ask("actions: [delete], each: 'a[*]', when: {at: ., is: [1]}", "{'a':[0,1]}", NULL,
		      NULL),
		  "yes a[1]");
	CHECK_STR(ask("actions: [delete], each: 'a[*]', key: [id], when: {was: v, is: [1]}",
		      "{'a':[{'v':1}]}", NULL, NULL),
		  "yes a[0].v");
	CHECK_STR(ask("actions: [delete]", "{'a':1}", NULL, NULL), "yes");
	CHECK_STR(ask("actions: [delete], when: {at: a, changes: true}", "{'a':1}", NULL, NULL), "no");
	CHECK_STR(ask(upd, "{'a':0}", "{'a':1}", NULL), "yes a");
	CHECK_STR(made(upd, "{'a':1}"), "no");
	CHECK_STR(ask_as(upd, SIGNAL_ON_REPLACE, "{'a':0}", "{'a':1}", NULL), "no");
	CHECK_STR(ask_as("actions: [replace], when: {at: a, is: [1]}", SIGNAL_ON_REPLACE, "{'a':0}",
			 "{'a':1}", NULL),
		  "yes a");
}

static void test_unknown(void)
{
	static const char rule[] = "when: {at: 'a[*].b', is: [1]}",
			  shrinks[] = "when: {at: a, shrinks: true}";

	CHECK_STR(ask(rule, NULL, "{}", "{'a':true}"), "unknown a");
	CHECK_STR(ask(rule, NULL, "{'a':[{}]}", "{'a':[{'b':true}]}"), "unknown a[0].b");
	CHECK_STR(ask(rule, NULL, "{'a':[null]}", "{'a':[true]}"), "unknown a[0]");
	CHECK_STR(ask(rule, NULL, "{'a':[]}", "{'a':[true]}"), "unknown a[0]");
	CHECK_STR(ask(rule, NULL, "{'a':[{},{'b':1}]}", "{'a':[{'b':true},{}]}"), "yes a[1].b");
	CHECK_STR(ask(rule, NULL, "{'a':[{'b':0}]}", "{'a':[{'c':true}],'d':true}"), "no");
	CHECK_STR(ask("when: {at: a.*, is: [1]}", NULL, "{'a':{'x':0}}", "{'a':{'y':true}}"),
		  "unknown a.y");
	CHECK_STR(ask("when: {at: a.*, is: [1]}", NULL, "{'a':{'x':0}}", "{'a':{'y':false}}"),
		  "no");
	CHECK_STR(ask("when: {at: a, set: false}", NULL, "{}", "{'a':true}"), "unknown a");
	CHECK_STR(ask("when: {at: a, set: true, known: true}", NULL, "{}", "{'a':true}"), "no");
	CHECK_STR(ask("when: {at: a, set: true, known: true}", NULL, "{'a':1}", NULL), "yes a");
	CHECK_STR(ask("when: {at: a, changes: true}", "{'a':1}", "{}", "{'a':true}"), "unknown a");
	CHECK_STR(ask("when: {at: a, changes: true}", "{'a':{'x':1}}", "{'a':{}}",
		      "{'a':{'x':true}}"),
		  "unknown a");
	CHECK_STR(ask("when: {at: a, changes: true, known: true}", "{'a':1}", "{}", "{'a':true}"),
		  "no");
	CHECK_STR(ask("when: {at: a, changes: true}", NULL, "{}", "{'a':true}"), "no");
	CHECK_STR(ask(shrinks, "{'a':5}", "{}", "{'a':true}"), "unknown a");
	CHECK_STR(ask(shrinks, "{'a':null}", "{}", "{'a':true}"), "no");
	CHECK_STR(ask(shrinks, NULL, "{}", "{'a':true}"), "no");
	/* Old values are always known. */
	CHECK_STR(ask("when: {was: a, is: [1]}", "{'a':1}", "{}", "{'a':true}"), "yes a");
	/* What the provider chooses is no setting of the plan. */
	source = from_provider;
	CHECK_STR(ask(rule, NULL, "{}", "{'a':true}"), "no");
	CHECK_STR(ask("when: {at: a, set: false}", NULL, "{}", "{'a':true}"), "no");
	CHECK_STR(ask("when: {at: a, is: [1]}", NULL, "{'a':1}", "{'b':true}"), "yes a");
	/* What may be anything is not excused by what only the author says of it. */
	source = from_anything;
	CHECK_STR(ask("when: {at: a, set: true, known: true}", NULL, "{}", "{'a':true}"), "unknown a");
	CHECK_STR(ask("when: {at: a, changes: true, known: true}", "{'a':1}", "{}", "{'a':true}"), "unknown a");
	CHECK_STR(ask("when: {at: a, is: [1], known: true}", NULL, "{'a':2}", NULL), "no");
	source = NULL;
}

/* One part of an any that held before excuses no other. */
static void test_parts(void)
{
	static const char either[] = "when: {any: [{at: a, is: [1]}, {at: b, is: [1]}]}";

	CHECK_STR(ask(either, "{'a':1}", "{'a':1,'b':1}", NULL), "yes b");
	CHECK_STR(ask(either, "{'a':1}", "{'a':1,'b':2}", NULL), "no");
	CHECK_STR(ask(either, "{'a':1,'b':1}", "{'a':1,'b':1}", NULL), "no");
	CHECK_STR(ask(either, "{'a':1}", "{'a':1}", "{'b':true}"), "unknown b");
}

/* How address blocks are written elsewhere. */
static void test_blocks(void)
{
	static const char *const cases[][2] = {
		{" 0.0.0.0/0", "yes a"}, {"0.0.0.0/00", "yes a"}, {"000.0.0.0/0 ", "yes a"}, {"0.0.0.0/+0", "yes a"},
		{"010.0.0.0/08", "no"},	 {"10.0.0.0/8", "no"},	  {"10.0.0.0", "no"},	     {"sg-1/2/3", "unknown a"},
		{"::/0", "yes a"},	 {"::/00", "yes a"},	  {"10.0.0.256/8", "unknown a"}, {"Internet", "no"},
		{"0.0.0.0/x", "unknown a"},
	};
	char after[64];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(after, sizeof after, "{'a':'%s'}", cases[i][0]);
		CHECK_STR(ask("when: {at: a, prefix_below: 8}", NULL, after, NULL), cases[i][1]);
	}
}

/* What need not be asked because nothing changes there, and what has to be all the same. */
static void test_unchanged(void)
{
	static const char null[] = "when: {at: a, is: ['null']}", json[] = "when: {at: a.@json.b, changes: true}",
			  none[] = "when: {none: [{at: a, changes: true}]}",
			  both[] = "when: {all: [{at: a, is: [1]}, {at: b, changes: true}]}",
			  either[] = "when: {any: [{at: a, changes: true}, {at: b, grows: true}]}",
			  each[] = "each: 'l[*]', key: [k], when: {at: v, grows: true}";

	/* The same value of another spelling is asked about: null is not "". */
	CHECK_STR(ask(null, "{'a':''}", "{'a':null}", NULL), "yes a");
	CHECK_STR(ask(null, "{'a':''}", "{}", NULL), "yes a");
	CHECK_STR(ask(null, "{'a':null}", "{'a':null}", NULL), "no");
	CHECK_STR(ask(null, "{}", "{}", NULL), "no");
	CHECK_STR(ask("when: {at: a, like: ['5']}", "{'a':5}", "{'a':'5'}", NULL), "yes a");
	/* Members in another order, and objects of no order that fits. */
	CHECK_STR(ask("when: {at: c, is: [1]}", "{'c':2,'b':1,'a':1}", "{'a':1,'b':1,'c':1}", NULL), "yes c");
	CHECK_STR(ask("when: {at: c, is: [1]}", "{'c':1,'b':1,'a':1}", "{'a':1,'b':1,'c':1}", NULL), "no");
	/* A document that nobody can read is an answer, changed or not; without one there is none. */
	CHECK_STR(ask(json, "{'a':'x'}", "{'a':'x'}", NULL), "unknown a");
	CHECK_STR(ask(json, "{'a':'{}'}", "{'a':'{}'}", NULL), "no");
	CHECK_STR(ask(json, "{'a':'{}'}", "{'a':'{`b`:1}'}", NULL), "yes a");
	/* That nothing changes can be what is asked for. */
	CHECK_STR(ask(none, "{'a':1}", "{'a':1}", NULL), "yes");
	CHECK_STR(ask(none, "{'a':1}", "{'a':2}", NULL), "no");
	CHECK_STR(ask(both, "{'a':1,'b':1}", "{'a':1,'b':1}", NULL), "no");
	CHECK_STR(ask(both, "{'a':1,'b':1}", "{'a':1,'b':2}", NULL), "yes b");
	CHECK_STR(ask(both, "{'a':1,'b':1}", "{'a':1,'b':1}", "{'b':true}"), "unknown b");
	CHECK_STR(ask(both, "{'a':1,'b':1}", "{'a':1}", "{'b':true}"), "unknown b");
	CHECK_STR(ask(either, "{'a':1,'b':1}", "{'a':1,'b':2}", NULL), "yes b");
	CHECK_STR(ask(either, "{'a':1,'b':1}", "{'a':1,'b':1}", NULL), "no");
	CHECK_STR(ask(either, NULL, "{'a':1,'b':1}", NULL), "no");
	CHECK_STR(ask(each, "{'l':[{'k':1,'v':1}],'z':1}", "{'l':[{'k':1,'v':1}],'z':2}", NULL), "no");
	CHECK_STR(ask(each, "{'l':[{'k':1,'v':1}],'z':1}", "{'l':[{'k':1,'v':2}],'z':2}", NULL), "yes l[0].v");
	/* More members that change than are remembered. */
	auto_buf before = BUF_INIT(8192), after = BUF_INIT(8192);
	buf_add_str(&before, "{", &err);
	buf_add_str(&after, "{", &err);
	for (int i = 10; i < 90; i++) {
		buf_addf(&before, &err, "'m%d':1,", i);
		buf_addf(&after, &err, "'m%d':2,", i);
	}
	buf_add_str(&before, "'z':1}", &err);
	buf_add_str(&after, "'z':1}", &err);
	CHECK_STR(ask("when: {at: m89, is: [2]}", buf_str(&before), buf_str(&after), NULL), "yes m89");
	CHECK_STR(ask("when: {at: z, is: [1]}", buf_str(&before), buf_str(&after), NULL), "no");
}

struct shown {
	const struct signal_subject *subject;
	struct buf text;
};

/* The value at the places of HIT. */
static void show(struct shown *shown, const struct plan_tree *tree, const struct signal_hit *hit)
{
	const struct plan_node *node = plan_place_find(tree, hit->places, hit->place_count);

	if (node == NULL)
		buf_addf(&shown->text, &err, " nothing");
	else
		buf_addf(&shown->text, &err, " %.*s", (int)node->len, plan_tree_text(tree, node));
}

static int show_hit(void *context, const struct signal_hit *hit, struct sbx_error *e)
{
	struct shown *shown = context;

	(void)e;
	buf_addf(&shown->text, &err, "%u %s %s:", hit->rule, hit->signal,
		 hit->unknown ? hit->doubt : hit->text);
	show(shown, shown->subject->before, hit);
	show(shown, shown->subject->after, hit);
	return 0;
}

static int refuse(void *context, const struct signal_hit *hit, struct sbx_error *e)
{
	(void)context;
	(void)hit;
	return sbx_fail(e, SBX_BUG, "stop", "stop");
}

static void test_hits(void)
{
	static const char rule[] = "when: {at: 'a[*].@json.b', is: [1]}";
	struct shown shown = {.text = BUF_INIT(4096)};
	auto_buf block = BUF_INIT(SIGNAL_TABLE_MAX);
	struct signal_table table = {.block = NULL};
	struct plan_tree before, after, unknown;

	parse(&before, "{'a':['{}']}");
	parse(&after, "{'a':['{ }','{`b`:1}']}");
	plan_tree_init(&unknown);
	const struct signal_subject subject = {.type = "t",
					       .type_len = 1,
					       .action = SIGNAL_ON_UPDATE,
					       .before = &before,
					       .after = &after,
					       .unknown = &unknown};
	shown.subject = &subject;
	CHECK(make_rule(rule, &block) == 0);
	CHECK(signal_table_use(block.data, block.len, &table, &err) == 0);
	struct signal_matcher *m = signal_matcher_new(&table, &err);
	CHECK(signal_match(m, &subject, show_hit, &shown, &err) == 0);
	CHECK_STR(buf_str(&shown.text), "0 found does it: nothing {\"b\":1}");
	CHECK(signal_match(m, &subject, refuse, NULL, &err) < 0);
	CHECK_STR(err.code, "stop");
	buf_reset(&shown.text);
	plan_tree_clear(&after);
	parse(&after, "{'a':['{']}");
	CHECK(signal_match(m, &subject, show_hit, &shown, &err) == 0);
	CHECK_STR(buf_str(&shown.text), "0 found what decides cannot be read: {} {");
	buf_reset(&shown.text);
	parse(&unknown, "{'a':[true]}");
	CHECK(signal_match(m, &subject, show_hit, &shown, &err) == 0);
	CHECK_STR(buf_str(&shown.text), "0 found what decides is known after apply only: {} {");
	signal_matcher_free(m);
	plan_tree_clear(&unknown);
	plan_tree_clear(&before);
	plan_tree_clear(&after);
	buf_clear(&shown.text);
}

int main(void)
{
	test_is();
	test_like();
	test_set();
	test_numbers();
	test_prefix();
	test_compared();
	test_appears();
	test_paths();
	test_documents();
	test_conditions();
	test_newly();
	test_actions();
	test_unknown();
	test_unchanged();
	test_hits();
	test_parts();
	test_blocks();
	return unit_done();
}
