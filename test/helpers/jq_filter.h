/* The filters of jq.c as a tree, and what they give: for one input an array of values. An input is consumed. What they
 * do not know for certain they hand over. */
#ifndef JQ_FILTER_H
#define JQ_FILTER_H

#include <jv.h>
#include <string.h>

/* To jq itself, because of WHY. */
static _Noreturn void hand_over(const char *why);

/* VALUE, which must be one. */
static jv sure(jv value)
{
	if (!jv_is_valid(value))
		hand_over("an error");
	return value;
}

static void expect(jv value, jv_kind kind)
{
	if (jv_get_kind(value) != kind)
		hand_over("a value of another kind");
}

static int is_true(jv value)
{
	jv_kind kind = jv_get_kind(value);

	jv_free(value);
	return kind != JV_KIND_FALSE && kind != JV_KIND_NULL;
}

struct node {
	jv (*give)(const struct node *n, jv input);
	const struct node *a, *b;
	jv value;
};

static jv give(const struct node *n, jv input)
{
	return n->give(n, input);
}

/* The one value that N gives for INPUT, which stays the caller's. */
static jv one(const struct node *n, jv input)
{
	jv all = give(n, jv_copy(input));

	if (jv_array_length(jv_copy(all)) != 1)
		hand_over("not one value");
	return jv_array_get(all, 0);
}

static jv give_this(const struct node *n, jv input)
{
	(void)n;
	return JV_ARRAY(input);
}

static jv give_value(const struct node *n, jv input)
{
	jv_free(input);
	return JV_ARRAY(jv_copy(n->value));
}

/* [a]; [] when there is no a */
static jv give_array(const struct node *n, jv input)
{
	if (n->a != NULL)
		return JV_ARRAY(give(n->a, input));
	jv_free(input);
	return JV_ARRAY(jv_array());
}

/* a[value] */
static jv give_item(const struct node *n, jv input)
{
	jv from = give(n->a, input), out = jv_array();

	jv_array_foreach(from, i, value) out = jv_array_append(out, sure(jv_get(value, jv_copy(n->value))));
	jv_free(from);
	return out;
}

/* a[] */
static jv give_items(const struct node *n, jv input)
{
	jv from = give(n->a, input), out = jv_array();

	jv_array_foreach(from, i, value)
	{
		expect(value, JV_KIND_ARRAY);
		out = jv_array_concat(out, value);
	}
	jv_free(from);
	return out;
}

/* a | b */
static jv give_behind(const struct node *n, jv input)
{
	jv from = give(n->a, input), out = jv_array();

	jv_array_foreach(from, i, value) out = jv_array_concat(out, give(n->b, value));
	jv_free(from);
	return out;
}

/* a, b */
static jv give_both(const struct node *n, jv input)
{
	jv first = give(n->a, jv_copy(input));

	return jv_array_concat(first, give(n->b, input));
}

/* a // b: what is true of a; where nothing is, b */
static jv give_else(const struct node *n, jv input)
{
	jv from = give(n->a, jv_copy(input)), out = jv_array();

	jv_array_foreach(from, i, value)
	{
		if (is_true(jv_copy(value)))
			out = jv_array_append(out, jv_copy(value));
		jv_free(value);
	}
	jv_free(from);
	if (jv_array_length(jv_copy(out)) == 0)
		return give(n->b, input);
	jv_free(input);
	return out;
}

/* The right side of these is not always looked at. */
static jv give_or(const struct node *n, jv input)
{
	int truth = is_true(one(n->a, input)) || is_true(one(n->b, input));

	jv_free(input);
	return JV_ARRAY(jv_bool(truth));
}

static jv give_and(const struct node *n, jv input)
{
	int truth = is_true(one(n->a, input)) && is_true(one(n->b, input));

	jv_free(input);
	return JV_ARRAY(jv_bool(truth));
}

static jv give_same(const struct node *n, jv input)
{
	int same = jv_equal(one(n->a, input), one(n->b, input));

	jv_free(input);
	return JV_ARRAY(jv_bool(same));
}

static jv give_other(const struct node *n, jv input)
{
	int same = jv_equal(one(n->a, input), one(n->b, input));

	jv_free(input);
	return JV_ARRAY(jv_bool(!same));
}

/* a + b, of two strings */
static jv give_sum(const struct node *n, jv input)
{
	jv left = one(n->a, input), right = one(n->b, input);

	jv_free(input);
	expect(left, JV_KIND_STRING);
	expect(right, JV_KIND_STRING);
	return JV_ARRAY(jv_string_concat(left, right));
}

/* --- functions; b is the argument --- */

static jv give_nothing(const struct node *n, jv input)
{
	(void)n;
	jv_free(input);
	return jv_array();
}

static jv give_starts(const struct node *n, jv input)
{
	jv start = one(n->b, input);

	expect(input, JV_KIND_STRING);
	expect(start, JV_KIND_STRING);
	size_t len = (size_t)jv_string_length_bytes(jv_copy(start));
	int starts = (size_t)jv_string_length_bytes(jv_copy(input)) >= len &&
		     memcmp(jv_string_value(input), jv_string_value(start), len) == 0;
	jv_free(start);
	jv_free(input);
	return JV_ARRAY(jv_bool(starts));
}

static jv give_length(const struct node *n, jv input)
{
	jv_kind kind = jv_get_kind(input);

	(void)n;
	if (kind == JV_KIND_ARRAY)
		return JV_ARRAY(jv_number(jv_array_length(input)));
	if (kind == JV_KIND_OBJECT)
		return JV_ARRAY(jv_number(jv_object_length(input)));
	expect(input, JV_KIND_STRING);
	return JV_ARRAY(jv_number(jv_string_length_codepoints(input)));
}

static jv give_keys(const struct node *n, jv input)
{
	(void)n;
	expect(input, JV_KIND_OBJECT);
	return JV_ARRAY(jv_keys(input));
}

static jv give_type(const struct node *n, jv input)
{
	jv name = jv_string(jv_kind_name(jv_get_kind(input)));

	(void)n;
	jv_free(input);
	return JV_ARRAY(name);
}

static jv give_json(const struct node *n, jv input)
{
	(void)n;
	return JV_ARRAY(jv_dump_string(input, 0));
}

static jv as_string(jv value)
{
	return jv_get_kind(value) == JV_KIND_STRING ? value : jv_dump_string(value, 0);
}

static jv give_string(const struct node *n, jv input)
{
	(void)n;
	return JV_ARRAY(as_string(input));
}

static jv give_has(const struct node *n, jv input)
{
	jv key = one(n->b, input);

	return JV_ARRAY(sure(jv_has(input, key)));
}

static jv give_map(const struct node *n, jv input)
{
	jv out = jv_array();

	expect(input, JV_KIND_ARRAY);
	jv_array_foreach(input, i, value) out = jv_array_concat(out, give(n->b, value));
	jv_free(input);
	return JV_ARRAY(out);
}

static jv give_selected(const struct node *n, jv input)
{
	if (is_true(one(n->b, input)))
		return JV_ARRAY(input);
	jv_free(input);
	return jv_array();
}

static jv give_joined(const struct node *n, jv input)
{
	jv between = one(n->b, input), out = jv_string("");

	expect(input, JV_KIND_ARRAY);
	expect(between, JV_KIND_STRING);
	jv_array_foreach(input, i, value)
	{
		jv_kind kind = jv_get_kind(value);
		if (kind == JV_KIND_ARRAY || kind == JV_KIND_OBJECT)
			hand_over("a value that cannot be joined");
		if (i > 0)
			out = jv_string_concat(out, jv_copy(between));
		if (kind != JV_KIND_NULL)
			out = jv_string_concat(out, as_string(value));
	}
	jv_free(between);
	jv_free(input);
	return JV_ARRAY(out);
}

static const struct function {
	const char *name;
	int has_argument;
	jv (*give)(const struct node *n, jv input);
} functions[] = {
	{"length", 0, give_length}, {"keys", 0, give_keys},	  {"type", 0, give_type},
	{"tojson", 0, give_json},   {"tostring", 0, give_string}, {"has", 1, give_has},
	{"map", 1, give_map},	    {"select", 1, give_selected}, {"join", 1, give_joined},
	{"empty", 0, give_nothing}, {"startswith", 1, give_starts},
};

#endif
