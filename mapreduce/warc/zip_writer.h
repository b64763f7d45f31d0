/* Writing a ZIP archive front to back (APPNOTE.TXT 6.3): members are stored,
 * with ZIP64 where they need it, and one whose size is not known before its
 * bytes has them behind it. A library that wants its sources at the end would
 * need all of them on the disk as well.
 *
 * Bytes go to a buffer that the caller empties. One thread a writer. Nothing
 * waits.
 *
 * Invariants
 *     INV-1. offset is the number of bytes appended so far.
 *     INV-2. At most one member is open.
 */
#ifndef MAPREDUCE_WARC_ZIP_WRITER_H
#define MAPREDUCE_WARC_ZIP_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

struct zip_writer {
    struct buf central; /* Of the members so far. */
    struct buf name;    /* Of the member that is open. */
    uint64_t offset;
    uint64_t count;
    uint64_t member_at;
    uint64_t member_bytes;
    uint32_t crc;
    uint16_t dos_time; /* Of all members. */
    uint16_t dos_date;
    bool is_open;
};

/* @time_us: of all members. End with zip_writer_close(). */
void zip_writer_init(struct zip_writer *w, int64_t time_us);
void zip_writer_close(struct zip_writer *w);

/* Begin the member @name, add its bytes, and end it. */
void zip_writer_begin(struct zip_writer *w, struct slice name, struct buf *out);
void zip_writer_add(struct zip_writer *w, struct slice bytes, struct buf *out);
void zip_writer_end(struct zip_writer *w, struct buf *out);
/* A whole member, of less than 4 GiB. */
void zip_writer_put(struct zip_writer *w,
                    struct slice name,
                    struct slice bytes,
                    struct buf *out);
/* The directory at the end. */
void zip_writer_finish(struct zip_writer *w, struct buf *out);

#endif /* MAPREDUCE_WARC_ZIP_WRITER_H */
