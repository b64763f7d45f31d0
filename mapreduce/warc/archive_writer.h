/* Writing WARC/1.1 (ISO 28500): a gzip member or zstd frame per record, or
 * plain. Bytes go to a buffer that the caller empties. One thread a writer.
 * Nothing waits. */
#ifndef MAPREDUCE_WARC_ARCHIVE_WRITER_H
#define MAPREDUCE_WARC_ARCHIVE_WRITER_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

struct warc_writer;

enum warc_compression {
    WARC_PLAIN,
    WARC_GZIP,
    WARC_ZSTD,
};

struct warc_write_record {
    const char *type; /* "response", … */
    /* Values with control characters are skipped. */
    struct slice uri;          /* "" for a warcinfo. */
    int64_t time_us;           /* Written to the microsecond. */
    struct slice id;           /* "" makes one of the record's digest. */
    struct slice content_type; /* Of the block. */
    struct slice headers; /* More lines, each ending in CR LF; may be "". */
    const struct slice *parts; /* The block, in pieces. */
    size_t part_count;
};

/* @level: of gzip 1 to 12, of zstd 1 to 19; plain takes none. Owned:
 * warc_writer_free(). */
struct warc_writer *warc_writer_new(enum warc_compression compression,
                                    int level);
void warc_writer_free(struct warc_writer *w); /* NULL is allowed. */

/* Append the record @r to @out. */
void warc_writer_put(struct warc_writer *w,
                     const struct warc_write_record *rec,
                     struct buf *out);

/* Append a warcinfo record that names the file and the program. */
void warc_writer_put_info(struct warc_writer *w,
                          const char *file_name,
                          int64_t time_us,
                          struct buf *out);

#endif /* MAPREDUCE_WARC_ARCHIVE_WRITER_H */
