/* Modes of files as users write and read them. There are no groups: a mode is
 * of the owner and of all others.
 *
 *     rwxr-x, rwxrwxt       what is shown; t: sticky
 *     75, 755, 1777         octal: owner, others; a digit between them, for
 *                           those who are used to it, must be the last one
 *     u+w, o-rwx, a=r, +t   changes of a mode, several with commas
 */
#ifndef CLI_FS_MODE_H
#define CLI_FS_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

/* "drwxr-xt" and the like. */
#define FS_MODE_BYTES 9

void fs_mode_put(uint32_t mode, bool is_directory, char out[FS_MODE_BYTES]);
/* Apply @text to *@mode. ERR_INVALID names the accepted forms. */
MUST_CHECK int
fs_mode_change(const char *text, uint32_t *mode, struct err *err);

#endif /* CLI_FS_MODE_H */
