/* The journal of a running job: another process resumes the job from it when
 * this one has died. It is in the job's directory beside its history.
 *
 *     file   = record*
 *     record = length:u32 crc:u32 type:u8 body        (length of type and body)
 *     begin  = the job's id and time, its options
 *     plan   = a task_spec: splits and number of partitions
 *     cuts   = a task_spec: borders of a total order, number of partitions
 *     end    = kind:varint task:varint attempt:varint report: a task was done
 *     commit = nothing: outputs are being published
 *     resume = nothing: another process took over
 *     sealed = one of the above, its type first, as a unit of
 *              base/crypt/sealer.h (purpose "quarry journal"): all of them
 *              where the job master encrypts what it writes
 *
 * crc is CRC32C of type and body. Reading ends at the first record that is cut
 * or damaged: the records after it count as never written. A record is written
 * when its statement is true of the files, so that a death between the two
 * repeats the work. In the world the journal outlives the process, not the
 * machine: it is not synced, and neither are the spills it names. In the file
 * system of a cell each process that resumes the job writes a file of its own,
 * journal.1 and so on, and takes the one before from its writer (fs_recover()):
 * a master that was cut off and returns can record nothing more. There, records
 * are synced.
 *
 * Invariants
 *     INV-1. Records are in the order of journal_add(); offset is the end of
 *            those that were flushed (journal.c keeps it).
 *     INV-2. The first record is a begin (prepare.c writes it; job_replay.c
 *            checks it as input).
 *
 * One thread; everything parks.
 */
#ifndef MAPREDUCE_MASTER_JOURNAL_H
#define MAPREDUCE_MASTER_JOURNAL_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct file;
struct fs_writer;
struct job_files;
struct unit_sealer;

enum journal_type {
    JOURNAL_BEGIN = 1,
    JOURNAL_PLAN,
    JOURNAL_CUTS,
    JOURNAL_END,
    JOURNAL_COMMIT,
    JOURNAL_RESUME,
    JOURNAL_SEALED
};

struct journal {
    struct file *file;          /* Of the world, or */
    struct fs_writer *stream;   /* of a cell; NULL both: none is kept. */
    struct unit_sealer *sealer; /* NULL: it is not encrypted. Owned. */
    uint64_t offset;            /* Where the next record goes. */
    struct buf waiting;         /* Records that were added, not flushed. */
};

/* Open the journal at @path, made if it is not there, to append at @offset;
 * what is behind it goes. (Or begin the next file of it.) */
MUST_CHECK int journal_open(struct journal *j,
                            const struct job_files *files,
                            const char *path,
                            uint64_t offset,
                            struct err *err);
void journal_close(struct journal *j); /* Also of a zeroed one. */

/* Add a record; nothing if none is kept. Records added together are written,
 * and in a cell synced, at once. */
void journal_add(struct journal *j, enum journal_type type, struct slice body);
/* Write what was added. */
MUST_CHECK int journal_flush(struct journal *j, struct err *err);
/* Both. */
MUST_CHECK int journal_append(struct journal *j,
                              enum journal_type type,
                              struct slice body,
                              struct err *err);

/* Where the journal of job @id is, below the history in @history_dir: appended
 * to @out. */
void journal_path(struct buf *out, const char *history_dir, const char *id);
/* All whole records of the journal at @path, taken from who writes it, opened,
 * appended to @out; *@length: that of the file up to where they end. Errors:
 * ERR_NOTFOUND: there is none, or no whole record in it; ERR_DENIED: there is
 * no key for it. */
MUST_CHECK int journal_load(const struct job_files *files,
                            const char *path,
                            struct buf *out,
                            uint64_t *length,
                            struct err *err);
/* Take the record at *@offset of @bytes and step behind it; false: there is no
 * whole one. */
bool journal_next(struct slice bytes,
                  uint64_t *offset,
                  enum journal_type *type,
                  struct slice *body);

#endif /* MAPREDUCE_MASTER_JOURNAL_H */
