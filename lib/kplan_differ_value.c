/* Values side by side. */
#include "kplan_differ_value.h"

#include <string.h>

#include "limit.h"
#include "plan_path.h"
#include "secret_mask.h"

/* So much of what is the same stands in front of what is not. */
enum { BEFORE_IT = 40 };

/* A text, or a line of one; text NULL: there is none. */
struct piece {
	const char *text;
	size_t len;
};

/* Secrets are looked for in texts of PLAN_SECRET_TEXT bytes: in all of them, each beginning within the one before it by
 * as much as a probe takes, with every byte escaped. */
static int holds_secret(const struct plan_secrets *secrets, const struct piece *piece)
{
	static const size_t step = PLAN_SECRET_TEXT - 6 * PLAN_SECRET_PROBE;

	for (size_t at = 0; at < piece->len; at += step) {
		size_t left = piece->len - at;
		if (plan_secrets_in(secrets, piece->text + at, left < PLAN_SECRET_TEXT ? left : PLAN_SECRET_TEXT))
			return 1;
	}
	return 0;
}

/* The next entry, NULL where it is only counted. */
static int begin(struct plan_differences *list, const struct kplan_sides *sides, const struct kplan_spot *spot,
		 struct plan_difference **d, struct sbx_error *err)
{
	if (plan_differences_add(list, d, err) < 0)
		return -1;
	if (*d == NULL)
		return 0;
	if (sides->address != NULL &&
	    plan_path_cut(&(*d)->address, buf_str(sides->address), sides->address->len, err) < 0)
		return -1;
	return plan_path_cut(&(*d)->path, buf_str(&spot->path), spot->path.len, err);
}

/* The digest of the node, where its text is cut. */
static int digest_node(const struct plan_tree *tree, const struct plan_node *node, char hex[DIGEST_HEX_SIZE],
		       struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_PLAN_TREE);

	if (plan_tree_write(&text, tree, node, NULL, NULL, err) < 0)
		return -1;
	digest_sha256_hex(buf_str(&text), text.len, hex);
	return 0;
}

static int add_whole(struct plan_differences *list, const struct kplan_sides *sides, const struct kplan_spot *spot,
		     const struct plan_value values[PLAN_SIDES], struct sbx_error *err)
{
	struct plan_difference *d;

	if (begin(list, sides, spot, &d, err) < 0)
		return -1;
	for (int side = 0; d != NULL && side < PLAN_SIDES; side++) {
		const struct plan_value *value = &values[side];
		d->values[side] = *value;
		if ((value->is_short || value->kept > PLAN_VALUE_SHOWN) && value->how != PLAN_VALUE_SENSITIVE &&
		    digest_node(sides->trees[side], spot->nodes[side], d->sha256[side], err) < 0)
			return -1;
	}
	return 0;
}

/* Bytes at the beginning that are not shown, since they are the same in both; a character stays whole. */
static size_t same_bytes(const struct piece pieces[PLAN_SIDES])
{
	const struct piece *was = &pieces[PLAN_WAS], *is = &pieces[PLAN_IS];
	size_t same = 0;

	if (was->text == NULL || is->text == NULL)
		return 0;
	while (same < was->len && same < is->len && was->text[same] == is->text[same])
		same++;
	if (same + BEFORE_IT <= PLAN_VALUE_SHOWN)
		return 0;
	same -= BEFORE_IT;
	while (same > 0 && ((unsigned char)was->text[same] & 0xc0) == 0x80)
		same--;
	return same;
}

static int add_pieces(struct plan_differences *list, const struct kplan_sides *sides, const struct kplan_spot *spot,
		      const struct plan_value values[PLAN_SIDES], const struct piece pieces[PLAN_SIDES], uint64_t line,
		      struct sbx_error *err)
{
	struct plan_difference *d;
	size_t from = same_bytes(pieces);

	if (begin(list, sides, spot, &d, err) < 0)
		return -1;
	if (d == NULL)
		return 0;
	d->line = line;
	d->from = from;
	for (int side = 0; side < PLAN_SIDES; side++) {
		const struct piece *piece = &pieces[side];
		if (piece->text == NULL)
			continue;
		plan_value_take_text(&d->values[side], piece->text + from, piece->len - from);
		d->values[side].how = values[side].how;
		if (piece->len > PLAN_VALUE_SHOWN)
			digest_sha256_hex(piece->text, piece->len, d->sha256[side]);
	}
	return 0;
}

/* The first line of REST, which loses it; its line feed belongs to it. */
static struct piece take_line(struct piece *rest)
{
	const char *end = rest->len > 0 ? memchr(rest->text, '\n', rest->len) : NULL;
	struct piece line = {.text = rest->len > 0 ? rest->text : NULL,
			     .len = end != NULL ? (size_t)(end + 1 - rest->text) : rest->len};

	rest->text += line.len;
	rest->len -= line.len;
	return line;
}

static struct piece last_line(const struct piece *rest)
{
	size_t at = rest->len > 0 ? rest->len - 1 : 0;

	while (at > 0 && rest->text[at - 1] != '\n')
		at--;
	return (struct piece){.text = rest->text + at, .len = rest->len - at};
}

static int are_equal(const struct piece *a, const struct piece *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->text, b->text, a->len) == 0);
}

/* Without their line feeds, unless these are all that the two differ in. */
static void strip(struct piece pieces[PLAN_SIDES])
{
	struct piece bare[PLAN_SIDES] = {pieces[PLAN_WAS], pieces[PLAN_IS]};

	for (int side = 0; side < PLAN_SIDES; side++)
		if (bare[side].text != NULL && bare[side].text[bare[side].len - 1] == '\n')
			bare[side].len--;
	if (pieces[PLAN_WAS].text == NULL || pieces[PLAN_IS].text == NULL ||
	    !are_equal(&bare[PLAN_WAS], &bare[PLAN_IS]))
		memcpy(pieces, bare, sizeof bare);
}

static int add_lines(struct plan_differences *list, const struct kplan_sides *sides, const struct kplan_spot *spot,
		     const struct plan_value values[PLAN_SIDES], struct piece rests[PLAN_SIDES], struct sbx_error *err)
{
	struct piece *was = &rests[PLAN_WAS], *is = &rests[PLAN_IS];
	uint64_t line = 1;

	for (; was->len > 0 && is->len > 0; line++) {
		struct piece x = *was, y = *is, first = take_line(&x), second = take_line(&y);
		if (!are_equal(&first, &second))
			break;
		*was = x;
		*is = y;
	}
	while (was->len > 0 && is->len > 0) {
		const struct piece first = last_line(was), second = last_line(is);
		if (!are_equal(&first, &second))
			break;
		was->len -= first.len;
		is->len -= second.len;
	}
	for (; was->len > 0 || is->len > 0; line++) {
		struct piece pieces[PLAN_SIDES] = {take_line(was), take_line(is)};
		if (are_equal(&pieces[PLAN_WAS], &pieces[PLAN_IS]))
			continue;
		strip(pieces);
		if (add_pieces(list, sides, spot, values, pieces, line, err) < 0)
			return -1;
	}
	return 0;
}

/* Has it more than one line? */
static int has_lines(const struct piece *piece)
{
	return piece->len > 1 && memchr(piece->text, '\n', piece->len - 1) != NULL;
}

/* The value of one side as it is shown, and its text; 0 when nothing of it may be cut out. */
static int take_side(const struct kplan_sides *sides, const struct kplan_spot *spot, int side, struct plan_value *value,
		     struct piece *piece)
{
	const struct plan_tree *tree = sides->trees[side];
	const struct plan_node *node = spot->nodes[side];

	*piece = (struct piece){.text = NULL};
	*value = secret_mask_value(tree, node, sides->masks[side], spot->ways[side], spot->depth);
	if (node == NULL)
		return 1;
	if (node->kind == PLAN_NULL) {
		plan_value_take_text(value, "null", 4);
		value->is_text = 0;
	}
	if (value->how == PLAN_VALUE_SENSITIVE || !value->is_text)
		return 0;
	*piece = (struct piece){.text = plan_tree_text(tree, node), .len = node->len};
	if (value->how != PLAN_VALUE_PLAIN || !holds_secret(sides->secrets, piece))
		return 1;
	value->how = PLAN_VALUE_SENSITIVE;
	return 0;
}

int kplan_differ_value(struct plan_differences *list, const struct kplan_sides *sides, const struct kplan_spot *spot,
		       struct sbx_error *err)
{
	struct plan_value values[PLAN_SIDES];
	struct piece pieces[PLAN_SIDES];
	int are_texts = 1;

	for (int side = 0; side < PLAN_SIDES; side++)
		are_texts &= take_side(sides, spot, side, &values[side], &pieces[side]);
	if (!are_texts)
		return add_whole(list, sides, spot, values, err);
	if (has_lines(&pieces[PLAN_WAS]) || has_lines(&pieces[PLAN_IS]))
		return add_lines(list, sides, spot, values, pieces, err);
	return add_pieces(list, sides, spot, values, pieces, 0, err);
}
