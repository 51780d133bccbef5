/* What the readers of the two syntaxes share. */
#ifndef SBX_UNSHOWN_IMPL_H
#define SBX_UNSHOWN_IMPL_H

#include "unshown.h"

struct unshown {
	jv places;		/* array */
	jv modules;		/* array: directories that were looked at, or are to be */
	const char *dir, *file; /* at hand */
	enum {
		UNSHOWN_NOT_FETCHED,
		UNSHOWN_FETCHED,
		UNSHOWN_IN_FETCHED
	} fetched; /* modules from elsewhere; and we are in one */
};

/* WHAT was found in the file at hand. */
void unshown_add(struct unshown *u, const char *what);

/* A module is called: its source as text; NULL when it is no plain one. */
void unshown_module(struct unshown *u, const char *source, size_t len);

#define UNSHOWN_REMOVED "a provisioner in a removed block"
#define UNSHOWN_PROVIDER "a dynamic block in the settings of a provider"
#define UNSHOWN_TERRAFORM "a program in the settings of a backend or of terraform"
#define UNSHOWN_MODULE "a module that is not in the workspace"

/* Look through a file. -1: it cannot be read. */
int unshown_native(struct unshown *u, const char *text, size_t len);
int unshown_json(struct unshown *u, const char *text, size_t len);

#endif
