/* Up to where a log is on the disk, in a file beside its segments:
 *
 *     log/synced = slot, zeros up to 4096, slot
 *     slot       = "QRRAFEND" version:le32 crc:le32 of the other bytes,
 *                  segment:le64 position:le64                    (32 bytes)
 *
 * It is written after each sync of the log, one slot after the other, and
 * synced itself only when a segment is begun, so that it costs no wait. What it
 * says was true when it was written: a log that ends before that has lost
 * something. After the end of a process it is exact; after a loss of power it
 * may be old, but for the segment, or not whole, and then says less.
 *
 * Threads: one at a time. Private to log*.c.
 */
#ifndef BASE_REPLICA_LOG_SYNCED_H
#define BASE_REPLICA_LOG_SYNCED_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct file;
struct world;

/* Zeros are one that is closed: writing does nothing. */
struct log_synced {
    struct file *file; /* Owned. */
    size_t slot;       /* Written last. */
};

/* What the file of the log in @directory says; zeros if there is none, or
 * nothing whole in it. Parks. Errors: ERR_UNSUPPORTED, ERR_IO. */
MUST_CHECK int log_synced_read(struct world *w,
                               const char *directory,
                               uint64_t *segment,
                               uint64_t *position,
                               struct err *err);

/* Open the file of the log in @directory to write; make it if it is missing.
 * Parks. */
MUST_CHECK int log_synced_open(struct log_synced *s,
                               struct world *w,
                               const char *directory,
                               struct err *err);
void log_synced_close(struct log_synced *s);

/* All records before @position, which lies in segment @segment, are on the
 * disk. Parks. If this cannot be written, the file says less than it might. */
void log_synced_write(struct log_synced *s,
                      uint64_t segment,
                      uint64_t position);
/* What was written is on the disk. Parks. */
MUST_CHECK int log_synced_sync(struct log_synced *s, struct err *err);

#endif /* BASE_REPLICA_LOG_SYNCED_H */
