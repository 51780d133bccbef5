/* Decimal numbers as text. */
#include "decimal.h"

/* An exponent beyond it is taken for it. Digits before the point move `point` by less than the
 * length of a text, so two numbers that differ in size still do. */
static const int64_t exponent_max = (int64_t)1 << 60;

static size_t count_digits(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] >= '0' && text[n] <= '9')
		n++;
	return n;
}

/* The whole of TEXT is "e", perhaps a sign, and digits. */
static int parse_exponent(const char *text, size_t len, int64_t *out)
{
	size_t i = 1, sign = len > 1 && (text[1] == '+' || text[1] == '-');
	int64_t value = 0;

	if ((*text != 'e' && *text != 'E') || len < 2 + sign)
		return -1;
	for (i += sign; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		if (value < exponent_max / 16)
			value = value * 10 + (text[i] - '0');
		else
			value = exponent_max;
	}
	*out = sign && text[1] == '-' ? -value : value;
	return 0;
}

/* WHOLE digits, and FRACTION digits behind a point unless that is 0. */
static void normalize(const char *digits, size_t whole, size_t fraction, struct decimal *out)
{
	size_t len = whole + fraction + (fraction > 0), i = 0;

	while (i < len && (digits[i] == '0' || digits[i] == '.'))
		i++;
	out->digits = digits + i;
	out->len = len - i;
	out->point = i <= whole ? (int64_t)(whole - i) : -(int64_t)(i - whole - 1);
	if (i == len)
		out->sign = 0;
}

int decimal_parse(const char *text, size_t len, struct decimal *out)
{
	size_t minus = len > 0 && *text == '-', fraction = 0;
	int64_t exponent = 0;

	text += minus;
	len -= minus;
	size_t whole = count_digits(text, len), used = whole;
	if (whole == 0 || (whole > 1 && *text == '0'))
		return -1;
	if (used < len && text[used] == '.') {
		fraction = count_digits(text + whole + 1, len - whole - 1);
		if (fraction == 0)
			return -1;
		used += 1 + fraction;
	}
	if (used < len && parse_exponent(text + used, len - used, &exponent) < 0)
		return -1;
	out->sign = minus ? -1 : 1;
	normalize(text, whole, fraction, out);
	out->point += exponent;
	return 0;
}

/* Next digit, 0 behind the last. */
static char next_digit(const struct decimal *d, size_t *i)
{
	if (*i < d->len && d->digits[*i] == '.')
		++*i;
	return *i < d->len ? d->digits[(*i)++] : '0';
}

int decimal_compare(const struct decimal *a, const struct decimal *b)
{
	size_t i = 0, j = 0;

	if (a->sign != b->sign)
		return a->sign < b->sign ? -1 : 1;
	if (a->sign == 0)
		return 0;
	if (a->point != b->point)
		return a->point < b->point ? -a->sign : a->sign;
	while (i < a->len || j < b->len) {
		char x = next_digit(a, &i), y = next_digit(b, &j);
		if (x != y)
			return x < y ? -a->sign : a->sign;
	}
	return 0;
}
