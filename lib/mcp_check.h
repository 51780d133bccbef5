/* sbx-mcp --check: what a client would see, in plain words, by one question to the door. */
#ifndef SBX_MCP_CHECK_H
#define SBX_MCP_CHECK_H

#include "mcp_door.h"

/* Ask DOOR and append the words to OUT, foreign ones made visible. 0: usable; -1: ERR says why not ("not_usable", 78;
 * the words say what is missing), or that the door gave no answer ("door_failed": 69, or the class of the error that it
 * answered with). */
int mcp_check(const struct mcp_door_command *door, struct buf *out, struct sbx_error *err);

#endif
