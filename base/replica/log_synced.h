/* How much of a log there is, in a file beside its segments:
 *
 *     log/synced = slot, zeros up to 4096, slot
 *     slot       = "QRRAFEND" version:le32 crc:le32 of the other bytes,
 *                  segment:le64 position:le64 [ bytes:le64 ]   (32 or 40 bytes)
 *
 * `bytes`, which belongs to the segment, is in slots of version 2. Of both
 * slots the higher numbers count.
 *
 * A slot is written after each sync of the log, one after the other, and synced
 * itself when a segment is begun, so that it costs a commit no wait.
 *
 * Invariants: of a slot that is read, at any time and after any crash,
 *     INV-1. Segment `segment` is there, or a later one. It is begun before the
 *            slot is written, and released after the slot of a later one has
 *            reached the disk.
 *     INV-2. The file of `segment` has `bytes` bytes or more. It has them on
 *            the disk before the slot is written, and nothing makes it shorter.
 *     INV-3. All records before `position` are on the disk.
 *     INV-4. No record is written to a segment before a slot that names it, or
 *            a later one, is on the disk.
 *     INV-5. Records lie before `bytes` of their file, but for one that is
 *            larger than a segment (LOG_PAYLOAD_MAX and LOG_SEGMENT_BYTES do
 * not let that happen).
 *
 * So a log that was cut is told, whoever cut it and whenever: by INV-4 its last
 * segment with records is named by a slot that no crash takes back, by INV-5 a
 * cut that takes records makes the file shorter than `bytes`. That the position
 * may be old after a loss of power (INV-3 says no more than it says) does not
 * matter to that; it serves logs whose file has kept its length and lost its
 * contents. There remains one loss that the member cannot see: behind the last
 * position that reached the disk, and behind the last record that vouches for
 * it, the disk gives back zeros for what it had confirmed.
 *
 * Threads: one at a time. Private to log*.c.
 */
#ifndef BASE_REPLICA_LOG_SYNCED_H
#define BASE_REPLICA_LOG_SYNCED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct file;
struct world;

#define LOG_SYNCED_STEP  ((size_t)4096) /* From slot to slot. */
#define LOG_SYNCED_SLOTS 2
#define LOG_SYNCED_BYTES ((size_t)4136) /* Of the file. */

/* What a slot says; zeros say nothing. */
struct log_reach {
    uint64_t segment;
    uint64_t position;
    uint64_t bytes; /* Of the segment's file, at least. */
};

/* Zeros are one that is closed: writing does nothing. */
struct log_synced {
    struct file *file; /* Owned. */
    size_t slot;       /* Written last. */
};

/* Is this how the file begins? */
bool log_synced_is_one(struct slice head);
/* Add to *@out what the slot says that @bytes begin with, if it is whole.
 * Errors: ERR_UNSUPPORTED. */
MUST_CHECK int
log_synced_take(struct slice bytes, struct log_reach *out, struct err *err);

/* What the file of the log in @directory says; zeros if there is none, or
 * nothing whole in it. Parks. Errors: ERR_UNSUPPORTED, ERR_IO. */
MUST_CHECK int log_synced_read(struct world *w,
                               const char *directory,
                               struct log_reach *out,
                               struct err *err);

/* Open the file of the log in @directory to write; make it if it is missing.
 * Parks. */
MUST_CHECK int log_synced_open(struct log_synced *s,
                               struct world *w,
                               const char *directory,
                               struct err *err);
void log_synced_close(struct log_synced *s);

/* Write a slot. Parks. If it cannot be written, the file says less than it
 * might. PRE: @r is true, and its segment was begun. */
void log_synced_write(struct log_synced *s, const struct log_reach *r);
/* Write a slot and have it on the disk. Parks. */
MUST_CHECK int log_synced_begin(struct log_synced *s,
                                const struct log_reach *r,
                                struct err *err);

#endif /* BASE_REPLICA_LOG_SYNCED_H */
