/* Texts that look like secrets. */
#ifndef SBX_KPLAN_WORDS_H
#define SBX_KPLAN_WORDS_H

#include <stddef.h>

/* 1 when a text shows what it is: a shape that only credentials have (scrub_table.c), the manifest of a Secret, what is
 * packed by gzip (as a release of Helm is), or settings, in one line or many, of which the name of one says so by
 * secret_words.h ("password: x", db.password=x, {"user":"a","password":"b"}, ?user=a&token=b, --password x,
 * <password>x, "requirepass x" in a line of its own); and any of these as a whole in base64. */
int kplan_words_value(const char *text, size_t len);

/* What an argument of a command has to do with one. */
enum kplan_argument { ARGUMENT_PLAIN, ARGUMENT_WITH_SECRET /* --token=x */, ARGUMENT_BEFORE_SECRET /* --token */ };
enum kplan_argument kplan_words_argument(const char *text, size_t len);

#endif
