/* What may be fetched: providers: and modules: of policy.yaml, lists of patterns in which '*' stands for any text
 * without a slash. What is compared is the source as Terraform understands it, without version, revision and
 * subdirectory. */
#ifndef SBX_FETCH_LIST_H
#define SBX_FETCH_LIST_H

#include "json.h"

/* A pattern of providers: HOST/NAMESPACE/TYPE, where HOST is spelt out. A pattern of modules:
 * HOST/NAMESPACE/NAME/SYSTEM (a registry's), git::https://HOST/… or https://HOST/…. 1 when TEXT is one. */
int fetch_list_is_provider(const char *text);
int fetch_list_is_module(const char *text);

enum module_kind {
	MODULE_LOCAL,	 /* ./ or ../ */
	MODULE_REGISTRY, /* PLACE: [HOST/]NAMESPACE/NAME/SYSTEM */
	MODULE_GIT,	 /* PLACE: git::https://HOST/PATH */
	MODULE_ARCHIVE,	 /* PLACE: https://HOST/PATH */
	MODULE_OTHER, /* another transport, a user's name or a port in front, an escape, a part "..", a parameter that
			 is not known */
};
#define MODULE_PLACE_SIZE 512
/* What a module's SOURCE is, and what a pattern is compared with ("" for the first and the last). */
enum module_kind module_source(const char *source, char place[MODULE_PLACE_SIZE]);
/* 1 when both mean the same module in the same revision, however each is written: in a call, or by Terraform. */
int module_source_is_same(const char *source, const char *other);

/* 1 when one of LIST (an array of patterns; invalid: none) has it. A registry's module without a host counts for that
 * of Terraform and that of OpenTofu. */
int fetch_list_has_provider(jv list, const char *source);
int fetch_list_has_module(jv list, const char *source);

/* "provider_not_allowed" and "module_not_allowed" (77), with SOURCE and what to do. */
int fetch_list_refuse_provider(const char *source, struct sbx_error *err);
int fetch_list_refuse_module(const char *source, struct sbx_error *err);

#endif
