/* k-gram matching (Rabin-Karp over all windows of all forms at once): what is held back is one window less one byte,
 * however long the secret is, and copies that are cut, wrapped or split are found too. */
#include "scrub_known.h"

#include <stdint.h>
#include <string.h>

#include "digest.h"
#include "json_out.h"

static const char replacement[] = "[REDACTED:credential]";

#define HASH_BASE UINT64_C(0x100000001b3)
#define FILTER_WORDS 4096 /* 32 KiB of bits: stays in the first cache and turns away almost every position */
#define FIRST_SLOTS 1024

/* How many bytes all forms of N bytes of secret take: raw, six of base64, four of hex and percent, two of JSON. */
#define FORMS_FACTOR 32
#define FORMS_EXTRA 64

/* A token of a kilobyte has 18,000 windows, and the memory for this table costs more than all that is done with it: where a
 * window begins, and no more. */
struct slot {
	uint32_t forms : 8; /* from 1; 0: empty */
	uint32_t at : 24;
};
_Static_assert(sizeof(struct slot) == sizeof(uint32_t), "packed");
enum { FORMS_MAX = 255, FORMS_BYTES_MAX = (1 << 24) - 1 };

/* Windows of one length. */
struct group {
	uint64_t top; /* HASH_BASE to the power of the length less one: the weight of the byte that leaves */
	struct secret slots;
	size_t size; /* slots, a power of two; 0: the group is empty */
	size_t used;
};

struct known {
	struct group groups[KNOWN_WINDOW + 1]; /* by length */
	struct secret filter;
	struct secret forms[FORMS_MAX]; /* of one secret each */
	unsigned form_count;
};

static uint64_t mix(uint64_t h)
{
	h ^= h >> 29;
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	return h ^ h >> 32;
}

static uint64_t hash_of(const unsigned char *p, size_t k)
{
	uint64_t h = 0;

	for (size_t i = 0; i < k; i++)
		h = h * HASH_BASE + p[i] + 1;
	return h;
}

struct known *known_new(struct sbx_error *err)
{
	struct known *known = calloc(1, sizeof *known);

	if (known == NULL) {
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	if (secret_alloc(&known->filter, FILTER_WORDS * sizeof(uint64_t), err) < 0) {
		free(known);
		return NULL;
	}
	for (size_t k = KNOWN_SHORTEST; k <= KNOWN_WINDOW; k++) {
		known->groups[k].top = 1;
		for (size_t i = 1; i < k; i++)
			known->groups[k].top *= HASH_BASE;
	}
	return known;
}

void known_free(struct known *known)
{
	if (known == NULL)
		return;
	for (size_t k = 0; k <= KNOWN_WINDOW; k++)
		secret_clear(&known->groups[k].slots);
	for (unsigned i = 0; i < known->form_count; i++)
		secret_clear(&known->forms[i]);
	secret_clear(&known->filter);
	free(known);
}

static uint64_t *filter_word(const struct known *known, uint64_t mixed)
{
	return (uint64_t *)(void *)known->filter.data + (mixed >> 6) % FILTER_WORDS;
}

static struct slot *slots_of(const struct group *group)
{
	return (struct slot *)(void *)group->slots.data;
}

static const unsigned char *window_of(const struct known *known, struct slot slot)
{
	return known->forms[slot.forms - 1].data + slot.at;
}

/* The slot that holds the window, or the empty one where it belongs. */
static struct slot *find(const struct known *known, const struct group *group, uint64_t mixed,
			 const unsigned char *window, size_t k)
{
	for (size_t i = mixed >> 20;; i++) {
		struct slot *slot = &slots_of(group)[i & (group->size - 1)];
		if (slot->forms == 0 || memcmp(window_of(known, *slot), window, k) == 0)
			return slot;
	}
}

static int grow(const struct known *known, struct group *group, size_t size, size_t k, struct sbx_error *err)
{
	struct group old = *group;

	group->slots = (struct secret)SECRET_INIT;
	if (secret_alloc(&group->slots, size * sizeof(struct slot), err) < 0) {
		*group = old;
		return -1;
	}
	group->size = size;
	for (size_t i = 0; i < old.size; i++) {
		const struct slot slot = slots_of(&old)[i];
		if (slot.forms == 0)
			continue;
		const unsigned char *window = window_of(known, slot);
		*find(known, group, mix(hash_of(window, k)), window, k) = slot;
	}
	secret_clear(&old.slots);
	return 0;
}

/* Room for MORE windows, at most half full. */
static int make_room(const struct known *known, struct group *group, size_t more, size_t k, struct sbx_error *err)
{
	size_t size = group->size ? group->size : FIRST_SLOTS;

	while (size < 2 * (group->used + more))
		size *= 2;
	return size == group->size ? 0 : grow(known, group, size, k, err);
}

/* Those of the newest forms from FROM on. */
static void add_windows(struct known *known, size_t from, size_t len)
{
	const unsigned char *form = known->forms[known->form_count - 1].data + from;
	size_t k = len < KNOWN_WINDOW ? len : KNOWN_WINDOW;
	struct group *group = &known->groups[k];

	if (len < KNOWN_SHORTEST)
		return;
	uint64_t hash = hash_of(form, k);
	for (size_t i = 0;; i++) {
		uint64_t mixed = mix(hash);
		struct slot *slot = find(known, group, mixed, form + i, k);
		if (slot->forms == 0) {
			*slot = (struct slot){.forms = known->form_count & FORMS_MAX, .at = (from + i) & FORMS_BYTES_MAX};
			*filter_word(known, mixed) |= UINT64_C(1) << (mixed & 63);
			group->used++;
		}
		if (i + k == len)
			return;
		hash = (hash - group->top * (form[i] + 1u)) * HASH_BASE + form[i + k] + 1;
	}
}

/* Six bits of the secret as they stand in base64 when A bytes of something else come before it. */
static unsigned six_bits(const struct secret *secret, size_t a, size_t j)
{
	size_t first = 6 * j - 8 * a;
	unsigned pair = (unsigned)secret->data[first / 8] << 8;

	if (first / 8 + 1 < secret->len)
		pair |= secret->data[first / 8 + 1];
	return pair >> (10 - first % 8) & 63;
}

/* Of the characters of one alignment only those that the secret alone decides. */
static int put_base64(struct secret *out, const struct secret *secret, size_t a, const char last_two[2],
		      struct sbx_error *err)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t begin = (8 * a + 5) / 6, end = (secret->len + a) * 8 / 6;

	for (size_t j = begin; j < end; j++) {
		unsigned value = six_bits(secret, a, j);
		char c = value < 62 ? digits[value] : last_two[value - 62];
		if (secret_append(out, &c, 1, err) < 0)
			return -1;
	}
	return 0;
}

static int put_hex(struct secret *out, const struct secret *secret, const char *digits, struct sbx_error *err)
{
	for (size_t i = 0; i < secret->len; i++) {
		char pair[2] = {digits[secret->data[i] >> 4], digits[secret->data[i] & 15]};
		if (secret_append(out, pair, sizeof pair, err) < 0)
			return -1;
	}
	return 0;
}

/* RFC 3986: everything but the unreserved characters. */
static int put_percent(struct secret *out, const struct secret *secret, const char *digits, struct sbx_error *err)
{
	for (size_t i = 0; i < secret->len; i++) {
		unsigned char c = secret->data[i];
		char text[3] = {'%', digits[c >> 4], digits[c & 15]};
		int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    (c != '\0' && strchr("-_.~", c) != NULL);
		if (secret_append(out, plain ? (const char *)&c : text, plain ? 1 : sizeof text, err) < 0)
			return -1;
	}
	return 0;
}

/* As the inside of a JSON string; LOUD like the writers that also escape "/", "<", ">" and "&". */
enum json_form { JSON_PLAIN, JSON_LOUD };
static int put_json(struct secret *out, const struct secret *secret, enum json_form form, struct sbx_error *err)
{
	static const char hex[] = "0123456789abcdef", names[] = "\bb\ff\nn\rr\tt\"\"\\\\";

	for (size_t i = 0; i < secret->len; i++) {
		unsigned char c = secret->data[i];
		char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
		size_t len = c < 0x20 || c == 0x7f || (form == JSON_LOUD && (c == '<' || c == '>' || c == '&')) ? 6 : 1;
		if (len == 1)
			text[0] = (char)c;
		for (size_t n = 0; n < sizeof names - 1; n += 2)
			if (c == (unsigned char)names[n]) {
				text[0] = '\\';
				text[1] = names[n + 1];
				len = 2;
			}
		if (form == JSON_LOUD && c == '/') {
			text[0] = '\\';
			text[1] = '/';
			len = 2;
		}
		if (secret_append(out, text, len, err) < 0)
			return -1;
	}
	return 0;
}

enum form {
	FORM_RAW,
	FORM_BASE64,
	FORM_BASE64_LAST = FORM_BASE64 + 5,
	FORM_HEX,
	FORM_HEX_UPPER,
	FORM_PERCENT,
	FORM_PERCENT_LOWER,
	FORM_JSON,
	FORM_JSON_LOUD,
	FORMS
};

static int put_form(struct secret *out, const struct secret *secret, unsigned form, struct sbx_error *err)
{
	static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";

	switch (form) {
	case FORM_RAW:
		return secret_append(out, secret->data, secret->len, err);
	case FORM_HEX:
		return put_hex(out, secret, lower, err);
	case FORM_HEX_UPPER:
		return put_hex(out, secret, upper, err);
	case FORM_PERCENT:
		return put_percent(out, secret, upper, err);
	case FORM_PERCENT_LOWER:
		return put_percent(out, secret, lower, err);
	case FORM_JSON:
		return put_json(out, secret, JSON_PLAIN, err);
	case FORM_JSON_LOUD:
		return put_json(out, secret, JSON_LOUD, err);
	default:
		return put_base64(out, secret, (form - FORM_BASE64) / 2, (form - FORM_BASE64) % 2 ? "-_" : "+/", err);
	}
}

/* Room for all windows of the forms at once: growing step by step would cost more than all the rest. */
static int make_room_for_all(struct known *known, const size_t *ends, struct sbx_error *err)
{
	size_t more[KNOWN_WINDOW + 1] = {0};

	for (unsigned form = FORM_RAW; form < FORMS; form++) {
		size_t len = ends[form + 1] - ends[form], k = len < KNOWN_WINDOW ? len : KNOWN_WINDOW;
		if (len > 0)
			more[k] += len - k + 1;
	}
	for (size_t k = KNOWN_SHORTEST; k <= KNOWN_WINDOW; k++)
		if (more[k] > 0 && make_room(known, &known->groups[k], more[k], k, err) < 0)
			return -1;
	return 0;
}

/* A form that is the same as the first or the one before (nothing to escape, nothing but letters and digits) need not
 * be searched for twice. */
static void drop_copy(struct secret *bytes, const size_t *ends, unsigned form)
{
	size_t start = ends[form], len = bytes->len - start, before = form > FORM_RAW ? ends[form - 1] : 0;

	if (form > FORM_RAW && ((len == ends[1] && memcmp(bytes->data, bytes->data + start, len) == 0) ||
				(len == start - before && memcmp(bytes->data + before, bytes->data + start, len) == 0)))
		bytes->len = start;
}

int known_add(struct known *known, const struct secret *secret, struct sbx_error *err)
{
	struct secret *forms = &known->forms[known->form_count];
	size_t ends[FORMS + 1] = {0};

	if (known->form_count == FORMS_MAX || secret->len > (FORMS_BYTES_MAX - FORMS_EXTRA) / FORMS_FACTOR)
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "these are more secrets, or longer ones, than can be looked for");
	if (secret_alloc(forms, FORMS_FACTOR * secret->len + FORMS_EXTRA, err) < 0)
		return -1;
	known->form_count++; /* now its memory is given back by known_free, whatever follows */
	for (unsigned form = FORM_RAW; form < FORMS; form++) {
		if (put_form(forms, secret, form, err) < 0)
			return -1;
		drop_copy(forms, ends, form);
		ends[form + 1] = forms->len;
	}
	if (make_room_for_all(known, ends, err) < 0)
		return -1;
	for (unsigned form = FORM_RAW; form < FORMS; form++)
		add_windows(known, ends[form], ends[form + 1] - ends[form]);
	return 0;
}

/* Mark what lies in a window that ends at FROM or later. */
static void mark_group(const struct known *known, const struct group *group, size_t k, struct known_stream *stream,
		       size_t from, size_t len)
{
	const unsigned char *p = stream->bytes;
	size_t i = from >= k ? from - k + 1 : 0;

	if (group->used == 0 || len < k)
		return;
	for (uint64_t hash = hash_of(p + i, k);; i++) {
		uint64_t mixed = mix(hash);
		if (*filter_word(known, mixed) >> (mixed & 63) & 1 &&
		    find(known, group, mixed, p + i, k)->forms != 0)
			memset(stream->covered + i, 1, k);
		if (i + k == len)
			return;
		hash = (hash - group->top * (p[i] + 1u)) * HASH_BASE + p[i + k] + 1;
	}
}

static int emit(struct known_stream *stream, size_t len, struct buf *out, struct sbx_error *err)
{
	for (size_t i = 0; i < len;) {
		size_t start = i;
		while (i < len && stream->covered[i] == stream->covered[start])
			i++;
		if (!stream->covered[start]) {
			stream->in_run = 0;
			if (buf_add(out, stream->bytes + start, i - start, err) < 0)
				return -1;
		} else if (!stream->in_run) {
			stream->in_run = 1;
			if (buf_add_str(out, replacement, err) < 0)
				return -1;
		}
	}
	return 0;
}

int known_feed(const struct known *known, struct known_stream *stream, const void *bytes, size_t len, struct buf *out,
	       struct sbx_error *err)
{
	size_t from = stream->held, all = from + len;

	memcpy(stream->bytes + from, bytes, len);
	memset(stream->covered + from, 0, len);
	for (size_t k = KNOWN_SHORTEST; k <= KNOWN_WINDOW && len > 0; k++)
		mark_group(known, &known->groups[k], k, stream, from, all);
	size_t hold = all < KNOWN_WINDOW - 1 ? all : KNOWN_WINDOW - 1;
	if (emit(stream, all - hold, out, err) < 0)
		return -1;
	memmove(stream->bytes, stream->bytes + all - hold, hold);
	memmove(stream->covered, stream->covered + all - hold, hold);
	stream->held = hold;
	return 0;
}

int known_finish(struct known_stream *stream, struct buf *out, struct sbx_error *err)
{
	int result = emit(stream, stream->held, out, err);

	stream->held = 0;
	return result;
}
