/* Produced files that a tool shows ("shown" of a call's result), as blocks beside the text of an answer. Pure
 * functions. */
#ifndef SBX_MCP_CONTENT_H
#define SBX_MCP_CONTENT_H

#include "mcp.h"
#include "words.h"

/* Consumes CONTENT; appends a block for each file of SHOWN (invalid: none): an image, audio (from 2025-03-26 on), or an
 * embedded resource sbx://calls/CALL/NAME, whose text is made visible as words_show does. CALL may be NULL. */
jv mcp_content_add(jv content, enum mcp_version version, jv shown, const char *call);

/* A line for each file, and one for each that is missing. */
void mcp_content_say(struct words *w, jv shown);

/* Consumes DATA; the names and media types of RESULT's files as "shown". */
jv mcp_content_names(jv data, jv result);

#endif
