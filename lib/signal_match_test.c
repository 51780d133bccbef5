/* Tests of one value. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "signal_match_impl.h"

static const char null_word[] = "null";

static int is_text(const struct plan_node *node)
{
	return node != NULL && (node->kind == PLAN_STRING || node->kind == PLAN_NUMBER);
}

static int to_decimal(const struct plan_tree *tree, const struct plan_node *node,
		      struct decimal *out)
{
	return is_text(node) ? decimal_parse(plan_tree_text(tree, node), node->len, out) : -1;
}

static const char *text_of(const struct signal_matcher *m, const struct signal_value *value)
{
	return m->view.text + value->text.at;
}

static int is_word(const struct signal_matcher *m, const struct signal_value *value,
		   const char *word)
{
	size_t len = strlen(word);

	return value->text.len == len && memcmp(text_of(m, value), word, len) == 0;
}

/* Below, equal or above; 2 when NODE is no number. */
static int compare_with(const struct signal_matcher *m, const struct plan_tree *tree,
			const struct plan_node *node, const struct signal_value *value)
{
	struct decimal a, b;

	if (to_decimal(tree, node, &a) < 0 ||
	    decimal_parse(text_of(m, value), value->text.len, &b) < 0)
		return 2;
	return decimal_compare(&a, &b);
}

/* Equal as text; or as numbers, when one of them is a number and the other one reads as one. */
static int equals(const struct signal_matcher *m, const struct plan_tree *tree,
		  const struct plan_node *node, const struct signal_value *value)
{
	if (node == NULL || node->kind == PLAN_NULL)
		return is_word(m, value, null_word);
	if (node->kind == PLAN_TRUE || node->kind == PLAN_FALSE)
		return is_word(m, value, node->kind == PLAN_TRUE ? "true" : "false");
	if (node->kind == PLAN_STRING && node->len == value->text.len &&
	    memcmp(plan_tree_text(tree, node), text_of(m, value), node->len) == 0)
		return 1;
	return (node->kind == PLAN_NUMBER || value->kind == SIGNAL_NUMBER) &&
	       compare_with(m, tree, node, value) == 0;
}

enum answer { MATCHES_NONE, MATCHES_ONE };

/* NODE is a string, and one of the patterns of TEST is for it, or none. */
static int matches(const struct signal_matcher *m, const struct signal_condition *test,
		   const struct plan_tree *tree, const struct plan_node *node, enum signal_case how,
		   enum answer wanted)
{
	const struct signal_value *values = m->view.values + test->values.first;
	uint32_t i = 0;

	if (node == NULL || node->kind != PLAN_STRING)
		return 0;
	while (i < test->values.count && !signal_glob(text_of(m, &values[i]), values[i].text.len,
						      plan_tree_text(tree, node), node->len, how))
		i++;
	return (i < test->values.count) == (wanted == MATCHES_ONE);
}

/* "/N" to its end, in decimal without a needless 0; -1 for anything else. */
static int prefix_length(const char *text, int max)
{
	int value = 0;

	if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0'))
		return -1;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		value = value * 10 + (*text - '0');
		if (value > max)
			return -1;
	}
	return value;
}

enum { IPV4_BITS = 32, IPV6_BITS = 128, MAPPED_BITS = IPV6_BITS - IPV4_BITS };

/* An address block of fewer than LIMIT bits in IPv4, or four times as many in IPv6. */
/* IPv4 with leading zeros, which some APIs take; inet_pton takes none. */
static int is_ipv4(const char *text)
{
	unsigned parts = 0;

	for (;; text++) {
		char *end;
		if (*text < '0' || *text > '9' || strtoul(text, &end, 10) > 255 || end - text > 8)
			return 0;
		parts++;
		text = end;
		if (*text != '.')
			return *text == '\0' && parts == 4;
	}
}

/* An address block. What has a slash and is none may be one to somebody else. */
enum truth value_is_wide(const char *text, size_t len, uint32_t limit)
{
	static const unsigned char mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	unsigned char address[16];
	char copy[64]; /* the longest block has 49 bytes */

	for (; len > 0 && (*text == ' ' || *text == '\t'); len--)
		text++;
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	if (memchr(text, '/', len) == NULL)
		return TRUTH_NO;
	if (len >= sizeof copy || memchr(text, '\0', len) != NULL)
		return TRUTH_UNKNOWN;
	memcpy(copy, text, len);
	copy[len] = '\0';
	char *slash = strchr(copy, '/');
	*slash = '\0';
	const char *prefix = slash + 1 + (slash[1] == '+');
	while (prefix[0] == '0' && prefix[1] != '\0')
		prefix++;
	if (is_ipv4(copy)) {
		int bits = prefix_length(prefix, IPV4_BITS);
		return bits < 0 ? TRUTH_UNKNOWN : (uint32_t)bits < limit ? TRUTH_YES : TRUTH_NO;
	}
	int bits = prefix_length(prefix, IPV6_BITS);
	if (inet_pton(AF_INET6, copy, address) != 1 || bits < 0)
		return TRUTH_UNKNOWN;
	if (memcmp(address, mapped, sizeof mapped) == 0 && bits >= MAPPED_BITS)
		return (uint32_t)(bits - MAPPED_BITS) < limit ? TRUTH_YES : TRUTH_NO;
	return (uint32_t)bits < 4 * limit ? TRUTH_YES : TRUTH_NO;
}

int value_is_unset(const struct plan_tree *tree, const struct plan_node *node)
{
	if (node == NULL || node->kind == PLAN_NULL)
		return 1;
	if (node->kind == PLAN_STRING)
		return node->len == 0;
	return (node->kind == PLAN_OBJECT || node->kind == PLAN_ARRAY) &&
	       plan_tree_first(tree, node) == NULL;
}

int value_compare(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
		  const struct plan_node *y)
{
	struct decimal p, q;

	return to_decimal(a, x, &p) < 0 || to_decimal(b, y, &q) < 0 ? 2 : decimal_compare(&p, &q);
}

int value_same(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
	       const struct plan_node *y)
{
	int no_x = value_is_unset(a, x), no_y = value_is_unset(b, y);

	if (no_x || no_y)
		return no_x && no_y;
	if (x->kind == PLAN_NUMBER || y->kind == PLAN_NUMBER)
		return value_compare(a, x, b, y) == 0;
	return plan_tree_equal(a, x, b, y);
}

int value_meets(const struct signal_matcher *m, const struct signal_condition *test,
		const struct plan_tree *tree, const struct plan_node *node)
{
	const struct signal_value *values = m->view.values + test->values.first;
	uint32_t i = 0, count = test->values.count;

	switch ((enum signal_test)test->test) {
	case SIGNAL_IS:
		while (i < count && !equals(m, tree, node, &values[i]))
			i++;
		return i < count;
	case SIGNAL_LIKE:
		return matches(m, test, tree, node, SIGNAL_EXACT_CASE, MATCHES_ONE);
	case SIGNAL_LIKE_NOCASE:
		return matches(m, test, tree, node, SIGNAL_ANY_CASE, MATCHES_ONE);
	case SIGNAL_UNLIKE:
		return matches(m, test, tree, node, SIGNAL_EXACT_CASE, MATCHES_NONE);
	case SIGNAL_UNLIKE_NOCASE:
		return matches(m, test, tree, node, SIGNAL_ANY_CASE, MATCHES_NONE);
	case SIGNAL_SET:
		return value_is_unset(tree, node) != (int)test->number;
	case SIGNAL_BELOW:
		return compare_with(m, tree, node, values) == -1;
	case SIGNAL_ABOVE:
		return compare_with(m, tree, node, values) == 1;
	case SIGNAL_PREFIX_BELOW: /* value_is_wide */
	case SIGNAL_SHRINKS:
	case SIGNAL_GROWS:
	case SIGNAL_CHANGES:
	case SIGNAL_APPEARS:
	case SIGNAL_TESTS:
		break;
	}
	return 0;
}
