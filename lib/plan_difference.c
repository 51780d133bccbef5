/* Differences in a list. */
#include "plan_difference.h"

#include <stdlib.h>

#include "json_out.h"
#include "plan_path.h"

enum { SHOWN_BYTES = 8 * PLAN_VALUE_KEPT }; /* of a value, with its escapes */

void plan_differences_init(struct plan_differences *d, unsigned max)
{
	*d = (struct plan_differences){.max = max};
}

void plan_differences_clear(struct plan_differences *d)
{
	for (unsigned i = 0; i < d->kept; i++) {
		buf_clear(&d->list[i].address);
		buf_clear(&d->list[i].path);
	}
	free(d->list);
	plan_differences_init(d, d->max);
}

/* Room for one more: grows by doubling at 8, 16, 32, … */
static int make_room(struct plan_differences *d, struct sbx_error *err)
{
	unsigned room = d->kept;

	if (room != 0 && (room < 8 || (room & (room - 1)) != 0))
		return 0;
	struct plan_difference *grown = realloc(d->list, (room == 0 ? 8 : (size_t)room * 2) * sizeof *grown);
	if (grown == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	d->list = grown;
	return 0;
}

int plan_differences_add(struct plan_differences *d, struct plan_difference **difference, struct sbx_error *err)
{
	*difference = NULL;
	d->total++;
	if (d->kept == d->max)
		return 0;
	if (make_room(d, err) < 0)
		return -1;
	*difference = &d->list[d->kept++];
	**difference = (struct plan_difference){.address = BUF_INIT(PLAN_TEXT_MAX), .path = BUF_INIT(PLAN_TEXT_MAX)};
	return 0;
}

/* The digest of what is secret could be tried against. */
static const char *digest_of(const struct plan_difference *d, enum plan_side side, const struct plan_secrets *secrets)
{
	return plan_value_is_hidden(&d->values[side], secrets) ? "" : d->sha256[side];
}

static int say_side(const struct plan_difference *d, enum plan_side side, const struct plan_secrets *secrets,
		    struct buf *out, struct sbx_error *err)
{
	const char *digest = digest_of(d, side, secrets);

	if (plan_value_show(&d->values[side], secrets, out, err) < 0)
		return -1;
	return digest[0] == '\0' ? 0 : buf_addf(out, err, " (sha256 %s)", digest);
}

int plan_difference_say(const struct plan_difference *d, const struct plan_secrets *secrets, struct buf *out,
			struct sbx_error *err)
{
	int are_hidden = plan_value_is_hidden(&d->values[PLAN_WAS], secrets) &&
			 plan_value_is_hidden(&d->values[PLAN_IS], secrets);

	if (plan_value_quote(out, buf_str(&d->path), d->path.len, err) < 0 ||
	    (d->line > 0 && buf_addf(out, err, ", line %llu", (unsigned long long)d->line) < 0) ||
	    (d->from > 0 && buf_addf(out, err, ", from byte %llu", (unsigned long long)d->from) < 0) ||
	    buf_add_str(out, " (", err) < 0 || say_side(d, PLAN_WAS, secrets, out, err) < 0 ||
	    buf_add_str(out, are_hidden ? " -> another " : " -> ", err) < 0 ||
	    say_side(d, PLAN_IS, secrets, out, err) < 0)
		return -1;
	return buf_add(out, ")", 1, err);
}

static int write_text(const char *key, const char *text, size_t len, struct buf *out, struct sbx_error *err)
{
	return json_out_key(out, key, err) < 0 ? -1 : plan_value_quote(out, text, len, err);
}

static int write_side(const struct plan_difference *d, enum plan_side side, const struct plan_secrets *secrets,
		      struct buf *out, struct sbx_error *err)
{
	static const char *const values[] = {"before", "after"}, *const digests[] = {"before_sha256", "after_sha256"};
	const char *digest = digest_of(d, side, secrets);
	auto_buf shown = BUF_INIT(SHOWN_BYTES);

	if (d->values[side].how == PLAN_VALUE_ABSENT)
		return 0;
	if (plan_value_show(&d->values[side], secrets, &shown, err) < 0 ||
	    write_text(values[side], buf_str(&shown), shown.len, out, err) < 0)
		return -1;
	return digest[0] == '\0' ? 0 : json_out_member(out, digests[side], digest, err);
}

int plan_difference_write(const struct plan_difference *d, const struct plan_secrets *secrets, struct buf *out,
			  struct sbx_error *err)
{
	if (buf_add(out, "{", 1, err) < 0 ||
	    write_text("address", buf_str(&d->address), d->address.len, out, err) < 0 ||
	    write_text("path", buf_str(&d->path), d->path.len, out, err) < 0 ||
	    (d->line > 0 && json_out_member_int(out, "line", (int64_t)d->line, err) < 0) ||
	    (d->from > 0 && json_out_member_int(out, "from", (int64_t)d->from, err) < 0) ||
	    write_side(d, PLAN_WAS, secrets, out, err) < 0 || write_side(d, PLAN_IS, secrets, out, err) < 0)
		return -1;
	return buf_add(out, "}", 1, err);
}
