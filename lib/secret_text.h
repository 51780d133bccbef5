/* Texts that look like secrets. */
#ifndef SBX_SECRET_TEXT_H
#define SBX_SECRET_TEXT_H

#include <stddef.h>

/* 1 when a text shows what it is: a shape that only credentials have (scrub_table.c), the manifest of a Secret, what is
 * packed by gzip (as a release of Helm is), or settings, in one line or many, of which the name of one says so by
 * secret_words.h ("password: x", db.password=x, {"user":"a","password":"b"}, ?user=a&token=b, --password x,
 * <password>x, "requirepass x" in a line of its own), an account with its password behind an option (-u a:b) or, of a web
 * server, anything in front of its name (https://a@b); and any of these as a whole in base64. */
int secret_text_is(const char *text, size_t len);

/* What an argument of a command has to do with one. */
enum secret_argument {
	ARGUMENT_PLAIN,
	ARGUMENT_WITH_SECRET,	 /* --token=x, --user=a:b */
	ARGUMENT_BEFORE_SECRET,	 /* --token */
	ARGUMENT_BEFORE_ACCOUNT, /* -u, --user: the next one is secret if it is secret_text_account */
};
enum secret_argument secret_text_argument(const char *text, size_t len);

/* 1 for an account with its password (a:b), which the numbers of a user and a group (1000:1000) are not. */
int secret_text_account(const char *text, size_t len);

#endif
