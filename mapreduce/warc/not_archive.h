/* The kind of a file that is not an archive, by its first bytes, decompressed.
 * Pure. */
#ifndef MAPREDUCE_WARC_NOT_ARCHIVE_H
#define MAPREDUCE_WARC_NOT_ARCHIVE_H

#include "base/core/slice.h"

/* "an HTML page"; NULL when @first may still be an archive, damaged at its
 * start. Static. */
const char *not_archive_kind(struct slice first);

#endif /* MAPREDUCE_WARC_NOT_ARCHIVE_H */
