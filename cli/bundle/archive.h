/* A tar archive, compressed by gzip, written from the front to the end:
 *
 *     quarry-bundle/NAME for each entry, regular files of mode 0600
 *
 * Threads: one.
 */
#ifndef CLI_BUNDLE_ARCHIVE_H
#define CLI_BUNDLE_ARCHIVE_H

#include <stdint.h>
#include <stdio.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct archive;

/* Of the name of an entry, without the directory. */
#define ARCHIVE_NAME_MAX 85

/* Write to @out, which is borrowed. *@archive is owned. */
MUST_CHECK int archive_open(FILE *out,
                            uint64_t now_us,
                            struct archive **archive,
                            struct err *err);
/* Add @content as @name. PRE: @name has at most ARCHIVE_NAME_MAX bytes.
 * Errors: ERR_IO and others of writing. */
MUST_CHECK int archive_add(struct archive *a,
                           const char *name,
                           struct slice content,
                           struct err *err);
/* Write the end, unless @code, the outcome so far, is an error; free @a, NULL
 * is allowed. Returns @code, or what went wrong here. */
MUST_CHECK int archive_close(struct archive *a, int code, struct err *err);

#endif /* CLI_BUNDLE_ARCHIVE_H */
