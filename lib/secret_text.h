/* Texts that look like secrets. */
#ifndef SBX_SECRET_TEXT_H
#define SBX_SECRET_TEXT_H

#include <stddef.h>

/* 1 when a text shows what it is: a shape that only credentials have (scrub_table.c), the manifest of a Secret, what is
 * packed by gzip (as a release of Helm is), or settings, in one line or many, of which the name of one says so by
 * secret_words.h ("password: x", db.password=x, {"user":"a","password":"b"}, ?user=a&token=b, --password x,
 * <password>x, "requirepass x" in a line of its own); and any of these as a whole in base64. */
int secret_text_is(const char *text, size_t len);

/* What an argument of a command has to do with one. */
enum secret_argument { ARGUMENT_PLAIN, ARGUMENT_WITH_SECRET /* --token=x */, ARGUMENT_BEFORE_SECRET /* --token */ };
enum secret_argument secret_text_argument(const char *text, size_t len);

#endif
