/* Signal rules about elements: which ones are new; and the bounds of the work. */
#include "signal.h"

#define OPEN "each: 'in[*]', when: {at: 'cidr[*]', is: [all]}"
#define KEYED "each: 'in[*]', key: [from, to], when: {at: 'cidr[*]', is: [all]}"

static void test_each(void)
{
	CHECK_STR(made(OPEN, "{'in':[{'from':1,'cidr':['x','all']}]}"), "yes in[0].cidr[1]");
	CHECK_STR(made(OPEN, "{'in':[{'from':1,'cidr':['x']}]}"), "no");
	CHECK_STR(made(OPEN, "{'in':[]}"), "no");
	CHECK_STR(made(OPEN, "{}"), "no");
	/* The whole element tells. */
	CHECK_STR(ask(OPEN, "{'in':[{'from':1,'cidr':['all']}]}",
		      "{'in':[{'cidr':['all'],'from':1}],'x':1}", NULL),
		  "no");
	CHECK_STR(ask(OPEN, "{'in':[{'from':1,'cidr':['all']}]}",
		      "{'in':[{'from':2,'cidr':['all']},{'from':1,'cidr':['all']}]}", NULL),
		  "yes in[0].cidr[0]");
	/* The key tells. */
	CHECK_STR(ask(KEYED, "{'in':[{'from':1,'to':1,'cidr':['all']}]}",
		      "{'in':[{'from':1,'to':1,'cidr':['y','all']}]}", NULL),
		  "no");
	CHECK_STR(ask(KEYED, "{'in':[{'from':1,'to':1,'cidr':['x']}]}",
		      "{'in':[{'from':1,'to':1,'cidr':['all']}]}", NULL),
		  "yes in[0].cidr[0]");
	CHECK_STR(ask(KEYED, "{'in':[{'from':1,'to':1,'cidr':['all']}]}",
		      "{'in':[{'from':1,'to':2,'cidr':['all']}]}", NULL),
		  "yes in[0].cidr[0]");
	/* One of several old ones with that key is enough. */
	CHECK_STR(ask(KEYED,
		      "{'in':[{'from':1,'to':1,'cidr':['x']},{'from':1,'to':1,"
		      "'cidr':['all']}]}",
		      "{'in':[{'from':1,'to':1,'cidr':['all','z']}]}", NULL),
		  "no");
	CHECK_STR(ask("each: 'in[*]'", "{'in':[1,2]}", "{'in':[2,1]}", NULL), "no");
	CHECK_STR(ask("each: 'in[*]'", "{'in':[1,2]}", "{'in':[2,3]}", NULL), "yes in[1]");
	CHECK_STR(ask("each: in.*, when: {at: ., is: [all]}", "{'in':{'a':'x'}}",
		      "{'in':{'a':'x','b':'all'}}", NULL),
		  "yes in.b");
	CHECK_STR(made("each: 'in[*]', when: {at: ., prefix_below: 8}",
		       "{'in':['10.0.0.0/8','::/0']}"),
		  "yes in[1]");
	CHECK_STR(made("each: 'in[*]', when: {all: [{at: a, is: [1]}, {at: b, is: [1]}]}",
		       "{'in':[{'a':1,'b':0},{'a':0,'b':1}]}"),
		  "no");
}

static void test_each_document(void)
{
	static const char rule[] = "each: 'p.@json.S[*]', when: {at: E, is: [all]}";

	CHECK_STR(made(rule, "{'p':'{`S`:[{`E`:`all`}]}'}"), "yes p");
	CHECK_STR(ask(rule, "{'p':'{`S`:{`E`:`all`}}'}", "{'p':'{`S`:[{`E`:`all`}]}'}", NULL),
		  "no");
	CHECK_STR(ask(rule, "{'p':'{`S`:{`E`:`all`}}'}", "{'p':'{`S`:[{`E`:`all`,`R`:1}]}'}", NULL),
		  "yes p");
	CHECK_STR(made(rule, "{'p':'{'}"), "unknown p");
	CHECK_STR(ask(rule, "{'p':'{'}", "{'p':'{`S`:[{`E`:`all`}]}'}", NULL), "unknown p");
	CHECK_STR(ask(rule, "{'p':'{','x':1}", "{'p':'{','x':2}", NULL), "no");
	CHECK_STR(made("each: 'p.@json.S[*]', when: {at: D.@json.x, is: [1]}",
		       "{'p':'{`S`:[{`D`:`{~x~:1}`}]}'}"),
		  "yes p");
}

static void test_each_unknown(void)
{
	CHECK_STR(ask(OPEN, NULL, "{}", "{'in':true}"), "unknown in");
	CHECK_STR(ask(OPEN, "{'in':[]}", "{'in':[{'from':1}]}", "{'in':[{'cidr':true}]}"),
		  "unknown in[0].cidr");
	CHECK_STR(ask(OPEN, "{'in':[]}", "{'in':[{'from':1,'cidr':[null,'all']}]}",
		      "{'in':[{'cidr':[true,false]}]}"),
		  "yes in[0].cidr[1]");
	/* It may be the one that was there. */
	CHECK_STR(ask(OPEN, "{'in':[{'from':1,'cidr':['all']}]}", "{'in':[{'cidr':['all']}]}",
		      "{'in':[{'from':true}]}"),
		  "unknown in[0].cidr[0]");
	/* It is another one, whatever comes out. */
	CHECK_STR(ask(OPEN, "{'in':[{'from':1,'to':1,'cidr':['all']}]}",
		      "{'in':[{'to':2,'cidr':['all']}]}", "{'in':[{'from':true}]}"),
		  "yes in[0].cidr[0]");
	CHECK_STR(ask(KEYED, "{'in':[{'from':1,'to':1,'cidr':['all']}]}",
		      "{'in':[{'to':1,'cidr':['all']}]}", "{'in':[{'from':true}]}"),
		  "unknown in[0].cidr[0]");
	CHECK_STR(ask(KEYED, "{'in':[{'from':1,'to':1,'cidr':['all']}]}",
		      "{'in':[{'to':2,'cidr':['all']}]}", "{'in':[{'from':true}]}"),
		  "yes in[0].cidr[0]");
	/* The one that was open stays; nothing is known about a condition that held already. */
	CHECK_STR(ask(KEYED, "{'in':[{'from':1,'to':1,'cidr':['all']}]}",
		      "{'in':[{'from':1,'to':1}]}", "{'in':[{'cidr':true}]}"),
		  "no");
	source = from_provider;
	CHECK_STR(ask(OPEN, "{'in':[{'id':7,'cidr':['all']}]}", "{'in':[{'cidr':['all']}]}",
		      "{'in':[{'id':true}]}"),
		  "no");
	CHECK_STR(ask(OPEN, "{'in':[{'id':7,'cidr':['x']}]}", "{'in':[{'cidr':['all']}]}",
		      "{'in':[{'id':true}]}"),
		  "yes in[0].cidr[0]");
	CHECK_STR(ask(OPEN, NULL, "{}", "{'in':true}"), "no");
	source = NULL;
}

static void test_each_compared(void)
{
	static const char shrinks[] = "each: 'g[*]', key: [name], when: {at: v, shrinks: true}";

	CHECK_STR(ask(shrinks, "{'g':[{'name':'a','v':5},{'name':'b','v':2}]}",
		      "{'g':[{'name':'b','v':2},{'name':'a','v':5}]}", NULL),
		  "no");
	CHECK_STR(ask(shrinks, "{'g':[{'name':'a','v':5},{'name':'b','v':2}]}",
		      "{'g':[{'name':'b','v':1},{'name':'a','v':5}]}", NULL),
		  "yes g[0].v");
	CHECK_STR(ask(shrinks, "{'g':[{'name':'a','v':5}]}", "{'g':[{'name':'c','v':1}]}", NULL),
		  "no");
	/* The second with this name is the second that had it. */
	CHECK_STR(ask(shrinks, "{'g':[{'name':'a','v':2},{'name':'a','v':5}]}",
		      "{'g':[{'name':'a','v':2},{'name':'a','v':5}]}", NULL),
		  "no");
	CHECK_STR(ask(shrinks, "{'g':[{'name':'a','v':2},{'name':'a','v':5}]}",
		      "{'g':[{'name':'a','v':2},{'name':'a','v':4}]}", NULL),
		  "yes g[1].v");
	CHECK_STR(ask(shrinks, "{'g':[{'name':'a','v':2}]}", "{'g':[{'v':1}]}",
		      "{'g':[{'name':true}]}"),
		  "unknown g[0]");
	CHECK_STR(ask("each: 'g[*]', key: [name], when: {all: [{was: s, is: ['on']}, {at: s, "
		      "is: ['off']}]}",
		      "{'g':[{'name':'a','s':'on'}]}",
		      "{'g':[{'name':'b','s':'off'},{'name':'a','s':'off'}]}", NULL),
		  "yes g[1].s");
	CHECK_STR(ask("each: 'g[*]', key: [name], when: {all: [{was: s, is: ['on']}, {at: s, "
		      "is: ['off']}]}",
		      "{'g':[{'name':'a','s':'on'}]}",
		      "{'g':[{'name':'b','s':'off'},{'name':'a','s':'on'}]}", NULL),
		  "no");
}

/* {"in":[ELEMENT, …]} with COUNT elements; %u in ELEMENT is the number of it plus START. */
static char *many(unsigned count, unsigned start, const char *before_number,
		  const char *behind_number)
{
	struct buf text = BUF_INIT((size_t)64 << 20);

	buf_addf(&text, &err, "{'in':[");
	for (unsigned i = 0; i < count; i++)
		buf_addf(&text, &err, "%s%s%u%s", i > 0 ? "," : "", before_number, start + i,
			 behind_number);
	buf_addf(&text, &err, "]}");
	return buf_take(&text);
}

static void test_bounds(void)
{
	static const unsigned count = 20000;
	auto_free char *old = many(count, 0, "{'from':", ",'cidr':['all']}"),
		       *same = many(count, 0, "{'cidr':['all'],'from':", "}"),
		       *other = many(count, 1, "{'from':", ",'cidr':['all']}");
	auto_free char *twins = many(count, 0, "{'to':1,'from':1,'x':", ",'cidr':['all']}"),
		       *more = many(count, 0, "{'to':1,'from':1,'y':", ",'cidr':['all']}");
	auto_free char *huge = many(200000, 0, "{'from':", ",'cidr':['none']}");

	/* Each element has its own key: time grows with their number. */
	CHECK_STR(ask(OPEN, old, same, NULL), "no");
	CHECK_STR(ask(OPEN, old, other, NULL), "yes in[19999].cidr[0]");
	/* All have one key, and the first one decides. */
	CHECK_STR(ask(KEYED, twins, more, NULL), "no");
	/* A pair for each of them would take the square. */
	CHECK_STR(ask("each: 'in[*]', key: [from], when: {at: size, shrinks: true}", twins, more,
		      NULL),
		  "unknown");
	/* Too much to look at in time, and none of it was seen to be harmless. */
	CHECK_STR(made(OPEN, huge), "unknown");
	CHECK_STR(ask(OPEN, huge, huge, NULL), "no");
	/* Nothing is taken for one that was there because the work ended. */
	auto_free char *open = many(150000, 0, "{\"from\":", ",\"cidr\":[\"all\"]}"),
		       *wider = many(150001, 0, "{\"from\":", ",\"cidr\":[\"all\"]}");
	CHECK_STR(ask(OPEN, open, wider, NULL), "unknown");
	CHECK_STR(ask(KEYED, open, wider, NULL), "unknown");
}

int main(void)
{
	test_each();
	test_each_document();
	test_each_unknown();
	test_each_compared();
	test_bounds();
	return unit_done();
}
