/* Inside of the commit log: what its parts share. commit_log.c has appends and
 * syncs, log_append.c puts records into a segment, log_segments.h has the
 * files.
 *
 * Threads. One writer at a time appends; it alone changes `block`, `cached`,
 * `sealer` and `last_sequence`, and makes a segment `current`. Any thread
 * syncs. Of a segment the writer changes under segments.lock what others read
 * (end, last_sequence). The atomics are any thread's.
 *
 * Invariants, between two appends
 *     INV-1. synced <= position; both only rise. Records that failed never
 *            count in position.
 *     INV-2. current->end == position while there is a current segment with a
 *            file.
 *     INV-3. block holds the bytes of the current file from the beginning of
 *            its last page to its end.
 *     INV-4. Once broken is set, nothing is appended.
 *     INV-5. All records before synced are on the disk, and all entries up to
 *            synced_sequence are in them.
 */
#ifndef BIGTABLE_LOG_COMMIT_LOG_PARTS_H
#define BIGTABLE_LOG_COMMIT_LOG_PARTS_H

#include <stdatomic.h>

#include "base/core/buf.h"
#include "base/runtime/sync.h"
#include "bigtable/log/commit_log.h"
#include "bigtable/log/log_block.h"
#include "bigtable/log/log_format.h"
#include "bigtable/log/log_segments.h"

struct unit_sealer;

/* The most bytes of one write past the page cache. */
#define LOG_DIRECT_BYTES_MAX ((size_t)6 << 20)

struct commit_log {
    struct write_log base;
    struct keyring *keyring;    /* Borrowed; NULL: not encrypted. */
    struct unit_sealer *sealer; /* Of the current segment; NULL likewise. */
    struct log_segments segments;
    uint64_t last_sequence;        /* Appended. */
    struct err error;              /* Why `broken`. */
    atomic_bool broken;            /* Nothing may be appended any more. */
    atomic_ullong position;        /* Behind the last record that counts. */
    atomic_ullong synced;          /* Known to be on the disk up to here, */
    atomic_ullong synced_sequence; /* and up to this entry. */
    atomic_ullong bytes;
    /* The writer's alone: */
    struct log_block block; /* Being put together; between writes, the
                               contents of the last page. */
    bool cached;            /* The page cache has that page. */
};

/* Bytes of @records in the log. */
size_t commit_log__bytes(const struct commit_log *l,
                         const struct log_record *records,
                         size_t count);

/* Write @records, which have @bytes, behind the end of the current segment,
 * which stays where it is. Parks. */
MUST_CHECK int commit_log__write(struct commit_log *l,
                                 const struct log_record *records,
                                 size_t count,
                                 size_t bytes,
                                 struct err *err);
/* The same past the page cache, and synced. PRE: they have at most
 * LOG_DIRECT_BYTES_MAX, and all before them in the segment is on the disk. */
MUST_CHECK int commit_log__write_direct(struct commit_log *l,
                                        const struct log_record *records,
                                        size_t count,
                                        struct err *err);

#endif /* BIGTABLE_LOG_COMMIT_LOG_PARTS_H */
