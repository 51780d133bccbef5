/* Reading a packed tree, block by block. The bytes are not trusted: every length and every name is checked. */
#include "tree_read.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "limit.h"

int tree_malformed(struct sbx_error *err)
{
	return sbx_fail(err, SBX_PROTOCOL, "bad_tree", "a packed tree is malformed or cut off");
}

int tree_read_piece(struct tree_reader *r, uint64_t len, const unsigned char **bytes, size_t *got, struct sbx_error *err)
{
	if (r->used == r->filled) {
		ssize_t n;
		do
			n = pread(r->fd, r->block, r->left < TREE_BLOCK ? (size_t)r->left : (size_t)TREE_BLOCK, (off_t)r->at);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read a packed tree");
		if (n == 0)
			return tree_malformed(err);
		r->at += (uint64_t)n;
		r->left -= (uint64_t)n;
		r->used = 0;
		r->filled = (size_t)n;
	}
	*got = r->filled - r->used;
	if (*got > len)
		*got = (size_t)len;
	*bytes = r->block + r->used;
	r->used += *got;
	return 0;
}

int tree_read_bytes(struct tree_reader *r, void *out, size_t len, struct sbx_error *err)
{
	unsigned char *to = out;

	while (len > 0) {
		const unsigned char *piece;
		size_t got;
		if (tree_read_piece(r, len, &piece, &got, err) < 0)
			return -1;
		memcpy(to, piece, got);
		to += got;
		len -= got;
	}
	return 0;
}

static int get_number(struct tree_reader *r, size_t bytes, uint64_t *value, struct sbx_error *err)
{
	unsigned char in[8];

	if (tree_read_bytes(r, in, bytes, err) < 0)
		return -1;
	*value = 0;
	for (size_t i = 0; i < bytes; i++)
		*value = *value << 8 | in[i];
	return 0;
}

int tree_read_text(struct tree_reader *r, char out[PATH_MAX], struct sbx_error *err)
{
	uint64_t len;

	if (get_number(r, 4, &len, err) < 0)
		return -1;
	if (len == 0 || len >= PATH_MAX || tree_read_bytes(r, out, (size_t)len, err) < 0)
		return tree_malformed(err);
	out[len] = '\0';
	return memchr(out, '\0', (size_t)len) == NULL ? 0 : tree_malformed(err);
}

static int is_safe_path(const char *path)
{
	for (const char *p = path; p != NULL; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL) {
		size_t len = strcspn(p, "/");
		if (len == 0 || (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
			return 0;
	}
	return 1;
}

int tree_read_head(struct tree_reader *r, struct tree_head *head, struct sbx_error *err)
{
	uint64_t kind;

	if (get_number(r, 4, &kind, err) < 0)
		return -1;
	if (kind > TREE_SYMLINK)
		return tree_malformed(err);
	head->kind = (enum tree_kind)kind;
	head->size = 0;
	if (head->kind == TREE_END)
		return r->left == 0 && r->used == r->filled ? 0 : tree_malformed(err);
	if (tree_read_text(r, head->path, err) < 0)
		return -1;
	if (!is_safe_path(head->path))
		return tree_malformed(err);
	if (head->kind != TREE_FILE && head->kind != TREE_PROGRAM)
		return 0;
	if (get_number(r, 8, &head->size, err) < 0)
		return -1;
	return head->size <= LIMIT_FETCHED_BYTES ? 0 : tree_malformed(err);
}

int tree_read_begin(struct tree_reader *r, int fd, uint64_t at, uint64_t size, struct sbx_error *err)
{
	char magic[sizeof TREE_MAGIC - 1];

	r->fd = fd;
	r->at = at;
	r->left = size;
	r->used = r->filled = 0;
	if (tree_read_bytes(r, magic, sizeof magic, err) < 0)
		return -1;
	return memcmp(magic, TREE_MAGIC, sizeof magic) == 0 ? 0 : tree_malformed(err);
}

int tree_read_skip(struct tree_reader *r, const struct tree_head *head, struct sbx_error *err)
{
	char target[PATH_MAX];
	uint64_t left = head->size, here = r->filled - r->used;

	if (head->kind == TREE_SYMLINK)
		return tree_read_text(r, target, err);
	if (left <= here) {
		r->used += (size_t)left;
		return 0;
	}
	left -= here;
	if (left > r->left)
		return tree_malformed(err);
	r->at += left;
	r->left -= left;
	r->used = r->filled = 0;
	return 0;
}
