/* Which segments an index consists of: the one file of it that changes, and is
 * replaced as a whole.
 *
 *     MANIFEST = magic "QRYSRCM1", crc32c le32 of the rest, version u8 (1),
 *                table lslice, next segment varint, updated le64 (µs since
 *                1970), token lslice, count varint, segment*
 *     segment  = number varint, rows varint, documents varint, bytes varint
 *
 * Segments are in the order of their age: what a newer one has of a row hides
 * what older ones have. `token` is the place in the table's changes up to which
 * the index knows them; empty: it is not kept by changes.
 */
#ifndef WEB_SEARCH_SEGMENT_INDEX_MANIFEST_H
#define WEB_SEARCH_SEGMENT_INDEX_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct fs;

#define INDEX_MANIFEST_MAGIC "QRYSRCM1"
#define INDEX_SEGMENTS_MAX   4096

struct index_segment {
    uint64_t number;
    uint64_t rows;
    uint64_t documents;
    uint64_t bytes;
};

struct index_manifest {
    char *table; /* Owned, as all here. */
    uint64_t next_number;
    uint64_t updated_us;
    struct buf token;
    struct index_segment *segments;
    size_t segment_count;
};

/* Read the manifest of the index in @directory. manifest_close() in any case.
 * Parks. Errors: ERR_NOTFOUND (there is no index), ERR_CORRUPT, ERR_DENIED. */
MUST_CHECK int index_manifest_read(struct fs *fs,
                                   const char *directory,
                                   struct index_manifest *out,
                                   struct err *err);
/* Decode @bytes; index_manifest_close() in any case. ERR_CORRUPT. */
MUST_CHECK int index_manifest_decode(struct slice bytes,
                                     struct index_manifest *out,
                                     struct err *err);
/* Publish: atomic and durable. Parks. Errors: those of fs_replace(). */
MUST_CHECK int index_manifest_write(struct fs *fs,
                                    const char *directory,
                                    const struct index_manifest *m,
                                    struct err *err);
void index_manifest_add(struct index_manifest *m,
                        const struct index_segment *s);
/* An own copy of @m. */
void index_manifest_copy(const struct index_manifest *m,
                         struct index_manifest *out);
void index_manifest_close(struct index_manifest *m); /* Also of a zeroed one. */

/* "DIRECTORY/000017.segment" */
void index_segment_path(const char *directory,
                        uint64_t number,
                        struct buf *out);

#endif /* WEB_SEARCH_SEGMENT_INDEX_MANIFEST_H */
