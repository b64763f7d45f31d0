/* How much of a log there is, in a file beside its segments:
 *
 *     log/synced = slot, zeros up to 4096, slot
 *     slot       = "QRRAFEND" version:le32 crc:le32 of the other bytes,
 *                  segment:le64 position:le64 [ bytes:le64 ]   (32 or 40 bytes)
 *
 * `bytes`, of the segment's file, is in slots of version 2. Of both slots the
 * higher numbers count.
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
 *            larger than a segment (LOG_PAYLOAD_MAX and LOG_SEGMENT_BYTES
 *            exclude it).
 *
 * So a log that was cut is recognised, however and whenever it was cut: by
 * INV-4 its last segment with records is named by a slot that no crash takes
 * back, by INV-5 a cut that takes records makes the file shorter than `bytes`.
 * After a loss of power the position may be old, which does not matter to that;
 * it serves logs whose file has kept its length and lost its contents. One loss
 * remains that the member cannot see: after the last position that reached the
 * disk and the last record that vouches for it, the disk returns zeros for
 * bytes that it had confirmed.
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

/* The contents of a slot; all zeros: nothing is known. */
struct log_reach {
    uint64_t segment;
    uint64_t position;
    uint64_t bytes; /* Of the segment's file, at least. */
};

/* All zeros is a file that is closed: writing does nothing. */
struct log_synced {
    struct file *file; /* Owned. */
    size_t slot;       /* Written last. */
};

/* Does such a file begin with @head? */
bool log_synced_is_one(struct slice head);
/* Merge the slot that @bytes begin with into *@out, if it is whole. Errors:
 * ERR_UNSUPPORTED. */
MUST_CHECK int
log_synced_take(struct slice bytes, struct log_reach *out, struct err *err);

/* Read the file of the log in @directory; *@out is all zeros if there is none,
 * or no whole slot in it. Parks. Errors: ERR_UNSUPPORTED, ERR_IO. */
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
/* Close; nothing if it is closed. */
void log_synced_close(struct log_synced *s);

/* Write a slot. Parks. If it cannot be written, the file says less than it
 * might. PRE: @r is true, and its segment was begun. */
void log_synced_write(struct log_synced *s, const struct log_reach *r);
/* Write a slot and have it on the disk. Parks. */
MUST_CHECK int log_synced_begin(struct log_synced *s,
                                const struct log_reach *r,
                                struct err *err);

#endif /* BASE_REPLICA_LOG_SYNCED_H */
