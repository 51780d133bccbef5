/* The signed text of a call, which sbx-approve left beside it (signed_text.h), as an input of the run. */
#ifndef SBX_SANDBOX_SIGNED_H
#define SBX_SANDBOX_SIGNED_H

#include "sandbox.h"

/* Whether driver NAME has an image, which may want to see what people signed. The local one has none. */
int sandbox_has_image(const char *driver);

/* Fill FILE, whose descriptor is then the caller's; it stays SANDBOX_NO_FILE where CALL claimed no approval, where
 * nothing was left, and for a driver without an image. "approval_mismatch" (77): it is not the text that the approval
 * names. */
int sandbox_signed(jv call, const char *driver, int run_fd, struct sandbox_file *file, struct sbx_error *err);

#endif
