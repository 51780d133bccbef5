/* What the readers of the two syntaxes share. */
#ifndef SBX_MODULE_CALLS_IMPL_H
#define SBX_MODULE_CALLS_IMPL_H

#include "json.h"
#include "tf_reader.h"

/* A directory that is to be looked at: the local modules that were found, and what is read. */
struct module_search {
	int tree_fd;
	uint64_t size;
	jv places; /* array of {dir, key, reader}: the directory itself, then local modules */
	jv calls;
	/* Where we are. */
	const char *dir, *key;
	const char *file, *file_dir;
	enum tf_reader reader, place_reader; /* of the file at hand; of the local module that it is in */
	jv tofu;				 /* tf_reader_names of the directory at hand */
	unsigned files;				 /* of it */
	const char *block; /* whose label is a call's name: "module", in a file of tests "run" */
};

/* One call; VERSION may be NULL. */
int module_call(struct module_search *s, const char *name, const char *source, const char *version, struct sbx_error *err);

/* A text that means just what stands there. */
int module_is_plain(const char *text, size_t len);

/* "module_unreadable": in the file at hand WHY. Returns -1. */
int module_unreadable(const struct module_search *s, const char *why, struct sbx_error *err);

/* The calls of a file in JSON. */
int module_json(struct module_search *s, const char *text, size_t len, struct sbx_error *err);

#endif
