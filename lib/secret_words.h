/* Names of what is secret, by the words in them: one list for all who hide values by their names. */
#ifndef SBX_SECRET_WORDS_H
#define SBX_SECRET_WORDS_H

#include <stddef.h>

/* 1 when what is called so is a secret: password, apiKey, DB_TOKEN, DB_PASS, client-key-data; not secretName, tokenPath or
 * token_sha256, which only say something about one. A name that is longer than any is (256 bytes) counts as one. */
int secret_words_in(const char *name, size_t len);

#endif
