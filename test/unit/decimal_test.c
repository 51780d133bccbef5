/* Decimal numbers of any size. */
#include "decimal.h"
#include "base.h"
#include "unit.h"

/* Less, equal or greater: "<", "=", ">"; "?" when one is no number. */
static const char *compared(const char *a, const char *b)
{
	struct decimal x, y;

	if (decimal_parse(a, strlen(a), &x) < 0 || decimal_parse(b, strlen(b), &y) < 0)
		return "?";
	int order = decimal_compare(&x, &y), back = decimal_compare(&y, &x);
	return order != -back ? "not symmetric" : order < 0 ? "<" : order > 0 ? ">" : "=";
}

static void test_decimals(void)
{
	static const char *const cases[][3] = {
		{"1", "=", "1.0"},
		{"0", "=", "-0"},
		{"0.0", "=", "0e99"},
		{"1e2", "=", "100"},
		{"100e-2", "=", "1"},
		{"0.001", "=", "1e-3"},
		{"1.5", "<", "1.50001"},
		{"-1", "<", "0"},
		{"-2", "<", "-1"},
		{"9", "<", "10"},
		{"0.1", "<", "0.11"},
		{"0.1", ">", "0.09"},
		{"1e-400", ">", "0"},
		{"1e400", ">", "1e399"},
		{"-1e400", "<", "-1e399"},
		{"123456789012345678901", ">", "123456789012345678900"},
		{"12.5e1", "=", "125"},
		{"1e99999999999999999999", ">", "1"},
		{"1e-99999999999999999999", "<", "1"},
		{"1", "?", ""},
		{"1", "?", "01"},
		{"1", "?", "1."},
		{"1", "?", ".1"},
		{"1", "?", "1e"},
		{"1", "?", "1e+"},
		{"1", "?", "+1"},
		{"1", "?", "0x1"},
		{"1", "?", "1 "},
		{"1", "?", "-"},
		{"1", "?", "1e1.5"},
		{"1", "?", "Infinity"},
		{"0.10", "=", "0.1"},
		{"10", "=", "1E+1"},
		{"-0.5", "<", "0.5"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(compared(cases[i][0], cases[i][2]), cases[i][1]);
}

int main(void)
{
	test_decimals();
	return unit_done();
}
