/* The commit log of an embedded store: one for all its tablets.
 *
 *     log/00000007.log    segments, in order of their numbers
 *     segment = header record…
 *     header  = "QRYCMLOG" version:le32 crc:le32 of the rest,
 *               number:le64 base:le64                         (32 bytes)
 *     record  = crc:le32 of (segment number:le64, rest), length:le32,
 *               sequence:le64, synced:le64, count:le32, zero:le32,
 *               payload                                       (32 + length)
 *
 * Positions count the bytes of records over all segments: `base` is that of a
 * segment's first record, and a segment ends where the next one's base says. A
 * record tells by `synced` the position up to which the log was known to be on
 * the disk when it was written.
 *
 * After a crash. Records are read until one is not whole. Everything that
 * was acknowledged as synced lies before any record whose `synced` is beyond
 * the bad one: if there is such a record anywhere behind, bytes that had been
 * safe are damaged, which is reported and refused. If there is none, the bad
 * record was being written when the power went, nobody was told that it is
 * safe, and the log ends there. A new segment then takes over at exactly that
 * position, so that what lies behind is never read.
 *
 * Segments have ascending numbers and are released from the oldest. The
 * manifest lists those there are, and how long their files are (struct
 * log_extent): files get their length before they take records, so that one
 * that is missing, or was cut, is refused by name, whether the store was
 * closed, killed or lost power (log_segments.h has the argument). In stores of
 * format 1 nothing is listed; there, what lies before a gap in the numbers has
 * been released.
 *
 * Segments whose entries are all in SSTables are kept as spares and written
 * again from the start: overwriting blocks that a file has already costs
 * neither page allocation nor a journal commit, a third of the time of an
 * append. Each checksum covers the segment's number, so that an old record is
 * never taken for a new one.
 *
 * The log reaches the disk through the world and not through fs.h, whose files
 * can only grow.
 *
 * Threads: append belongs to one writer at a time (the leader of a group
 * commit); sync, release and the figures are any thread's: a flush syncs the
 * log on its own task (open_tablet.c). Nobody else uses a log that is opened
 * or closed.
 */
#ifndef BIGTABLE_LOG_COMMIT_LOG_H
#define BIGTABLE_LOG_COMMIT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/log/write_log.h"

struct commit_log;
struct keyring;
struct world;

#define LOG_SEGMENT_HEADER_BYTES ((size_t)32)
#define LOG_RECORD_HEADER_BYTES  ((size_t)32)
#define LOG_SEGMENT_BYTES        ((uint64_t)64 << 20)
#define LOG_SEGMENT_BYTES_MIN    ((uint64_t)64 << 10)

/* A segment as it is recorded. */
struct log_named_segment {
    uint64_t number;
    uint64_t bytes; /* The file has at least these; 0: not recorded. */
};

/* The least that the log consists of. INV-1: the name, the header and the bytes
 * of every segment listed are on the disk. INV-2: all records before `position`
 * that are not released are on the disk. */
struct log_extent {
    const struct log_named_segment *segments; /* By their numbers. */
    size_t count; /* 0: there is none, or nobody knows. */
    uint64_t position;
};

/* Record @e durably in the place of what was recorded before. Parks. */
typedef int (*log_name_fn)(void *ctx,
                           const struct log_extent *e,
                           struct err *err);

struct commit_log_options {
    struct world *world;     /* Borrowed. */
    struct keyring *keyring; /* Borrowed; NULL: nothing is encrypted. */
    const char *dir;         /* Of the segments; copied. Made if missing. */
    uint64_t segment_bytes;  /* 0: LOG_SEGMENT_BYTES. */
    struct log_extent named; /* As recorded last; borrowed. */
    log_name_fn name;        /* NULL: it is recorded nowhere. */
    void *name_ctx;
};

/* Where a log continues: what log_read() found. */
struct log_end {
    uint64_t segment;      /* Number of the segment it ends in; 0: none. */
    uint64_t next_segment; /* Number of the next segment. */
    uint64_t position;
    uint64_t last_sequence; /* Of the newest record; 0: none. */
};

/* Called for each record in order. @payload is borrowed. An error ends the
 * reading. */
typedef int (*log_record_fn)(void *ctx,
                             uint64_t sequence,
                             uint32_t count,
                             struct slice payload,
                             struct err *err);

/* Read all segments in @dir. With @repair, damage is not refused: the log ends
 * there. Parks. Errors: ERR_CORRUPT (segment and offset), ERR_UNSUPPORTED
 * (newer format), ERR_IO. */
MUST_CHECK int log_read(const struct commit_log_options *opts,
                        bool repair,
                        log_record_fn fn,
                        void *ctx,
                        struct log_end *end,
                        struct err *err);

/* The lowest number of a segment in @dir; 0: there is none. It grows when
 * segments are released, which the writer does with @dir locked for itself:
 * a reader that shares that lock (dir_lock()) keeps all there are. Parks. */
MUST_CHECK int log_oldest_segment(struct world *world,
                                  const char *dir,
                                  uint64_t *number,
                                  struct err *err);

/* Open for writing behind @end; the first append begins a segment, so that who
 * only reads leaves no trace. The segments there are stay until they are
 * released; those that lie behind @end are removed. Parks. */
MUST_CHECK int commit_log_open(const struct commit_log_options *opts,
                               const struct log_end *end,
                               struct commit_log **out,
                               struct err *err);
/* As the store writes it: closing it closes the log. */
struct write_log *commit_log_writer(struct commit_log *l);
/* Syncs, records where the log ends, and cuts the last segment to what it
 * holds. NULL is allowed. Parks. */
void commit_log_close(struct commit_log *l);
/* Segments that hold something no SSTable has yet, and the current one. */
size_t commit_log_segment_count(struct commit_log *l);

/* Write @records behind each other, at once. They survive the process. Parks.
 * On error none of them counts, and the next append takes their place. After
 * ERR_UNKNOWN_OUTCOME they may be read all the same by the next open; after
 * another error they are not, and after ERR_FULL the log still works. */
MUST_CHECK int commit_log_append(struct commit_log *l,
                                 const struct log_record *records,
                                 size_t count,
                                 struct err *err);
/* The same, and they survive the machine, as all before them. */
MUST_CHECK int commit_log_append_synced(struct commit_log *l,
                                        const struct log_record *records,
                                        size_t count,
                                        struct err *err);
/* Everything appended before the call survives the machine. Parks. After an
 * error nothing is known about what was appended since the last sync, and
 * nothing more can be appended until the log is opened again: a later sync that
 * succeeds would prove nothing. */
MUST_CHECK int commit_log_sync(struct commit_log *l, struct err *err);

/* Every entry up to this sequence number survives the machine. */
uint64_t commit_log_synced_sequence(const struct commit_log *l);

/* All entries up to and with @sequence are in SSTables: release segments
 * that hold no others, unless a reader has locked the directory. Parks. */
void commit_log_release(struct commit_log *l, uint64_t sequence);

/* Bytes in segments that are not released. */
uint64_t commit_log_bytes(const struct commit_log *l);
#endif /* BIGTABLE_LOG_COMMIT_LOG_H */
