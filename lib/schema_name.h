/* Names in a policy: of its files and of what they define. */
#ifndef SBX_SCHEMA_NAME_H
#define SBX_SCHEMA_NAME_H

/* TEXT is WORD of lower-case letters, digits and underscores, beginning with a letter, at most 64 bytes: names of tools
 * and artifacts. Names of parameters may have capitals inside. */
int schema_is_word(const char *text);
int schema_is_param(const char *text);
/* The same with '-' and '.' inside: names of programs, scopes, targets, rules, destinations. */
int schema_is_name(const char *text);

#endif
